"""Counting how often each detector reports a finding."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from firstbreak.engine import likelihood
from tests.lazy import lazy

weights = lazy("firstbreak_lab.weights")
build = lazy("firstbreak_lab.population.build")
population_family = lazy("firstbreak_lab.population.family")
runs = lazy("tests.lab.runs")


def test_only_the_training_split_is_counted_and_harmless_faults_are_left_out(tmp_path: Path) -> None:
    runs.small(tmp_path)
    for seed in range(6):
        runs.write(tmp_path, runs.label("groups-mixed", seed), loss=float("nan"))
    checked = list(weights.examine(tmp_path))
    counts = weights.count(checked)
    assert {run.label.seed % 2 for run in checked} == {0}
    assert counts["groups-mixed"]["non-finite-values"] == [3, 3, 3]
    assert counts["healthy"]["non-finite-values"] == [0, 0, 3]
    calm = weights.count(weights.examine(tmp_path, harmless=lambda label: True))
    assert set(calm) == {"healthy"}


def test_what_is_written_is_what_the_ranking_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likelihood, "MEASURED", tmp_path / "measured.json")
    path = weights.write(runs.small(tmp_path / "corpus"), {"command": "a test"})
    written = json.loads(path.read_text())
    assert written["runs"] == {"groups-mixed": 3, "healthy": 3}
    assert runs.label("groups-mixed").cause in written["counts"]


def a_population(folder: Path) -> Path:
    """Five healthy runs of each of two families, those of the second with a loss that is no number; and a broken one."""
    seed = 0
    for family, loss in (("sb3-ppo", 0.5), ("trl-grpo", float("nan"))):
        for i in range(6):
            write_drawn(folder / str(seed), family, None if i else "advantage", loss)
            seed += 1
    build.pack(folder, 0, range(seed))
    return folder


def write_drawn(folder: Path, family: str, link: str | None, loss: float) -> None:
    """A run of a family, as the population stores it."""
    (folder / "run").mkdir(parents=True)
    rows = [{"step": step, "loss": loss, "reward": 0.1 + step / 60} for step in range(40)]
    (folder / "run" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    about = {"variant": "healthy" if link is None else "a-fault", "base": f"{family}/grid", "seed": int(folder.name)}
    numbers = {"severity": 0.0, "onset": None, "steps": 40, "score": 0.5, "reported": 0.5, "seconds": 1.0}
    costs = {"cpu_seconds": 1.0, "peak_gb": 0.0, "harm": 0.0, "twin": 0.5, "start": 0.0, "best": 1.0}
    truth = {"link": link, "cause": link and "done-mask-wrong", "accepted": [], "harmful": link is not None}
    made = population_family.PopulationLabel(**about, **numbers, **costs, **truth, family=family, settings={})
    (folder / "label.json").write_text(json.dumps(asdict(made)))


def test_healthy_runs_of_the_population_count_and_their_family_can_be_left_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(likelihood, "MEASURED", tmp_path / "measured.json")
    likelihood.written.cache_clear()
    likelihood.counts.cache_clear()
    drawn = list(weights.population(a_population(tmp_path / "population")))
    assert len(drawn) == 10
    weights.write(runs.small(tmp_path / "corpus"), {"command": "a test"}, drawn)
    try:
        assert likelihood.counts().cells["healthy"]["non-finite-values"] == (5, 5, 13)
        assert weights.of_population()["trl-grpo"]["non-finite-values"] == (5, 5, 5)
        assert weights.without_family("trl-grpo")["healthy"]["non-finite-values"] == (0, 0, 8)
        assert weights.without_family("sb3-ppo")["healthy"]["non-finite-values"] == (5, 5, 8)
    finally:
        likelihood.written.cache_clear()
        likelihood.counts.cache_clear()
