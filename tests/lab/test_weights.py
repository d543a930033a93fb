"""Counting, and the limits below which a run is accused and stopped."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import numpy as np
import pytest

from firstbreak.engine import likelihood
from tests.lazy import lazy

weights = lazy("firstbreak_lab.weights")
build = lazy("firstbreak_lab.population.build")
population_family = lazy("firstbreak_lab.population.family")
runs = lazy("tests.lab.runs")


@pytest.mark.parametrize(("healthy", "share"), [(40, 0.05), (99, 0.05), (120, 0.02)])
def test_a_new_healthy_run_lies_below_the_limit_no_more_often_than_promised(healthy: int, share: float) -> None:
    rng = np.random.default_rng(0)
    below = [rng.random() <= weights.conformal_limit(list(rng.random(healthy)), share) for _ in range(4000)]
    assert 0.2 * share < np.mean(below) < share + 3 * np.sqrt(share / len(below))


def test_too_few_healthy_runs_promise_nothing() -> None:
    assert weights.conformal_limit([0.9] * 10, 0.05) == 0.0


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


def test_healthy_runs_are_also_checked_at_earlier_steps(tmp_path: Path) -> None:
    for run in weights.examine(runs.small(tmp_path)):
        ends = [one.run.last_step for one in run.earlier]
        shares = np.arange(1, weights.CHECKS) / weights.CHECKS
        assert ends == ([] if run.label.link else [np.floor(runs.STEPS * share) for share in shares])


def test_more_checks_need_a_stricter_limit(tmp_path: Path) -> None:
    checked = list(weights.examine(runs.small(tmp_path)))
    once = weights.healthy_probabilities(checked, weights.at_the_end)
    often = weights.healthy_probabilities(checked, weights.at_every_check)
    assert len(once) == len(often) == sum(run.label.link is None for run in checked)
    assert all(a <= b for a, b in zip(often, once, strict=True))


def test_what_is_written_is_what_the_ranking_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(likelihood, "MEASURED", tmp_path / "measured.json")
    path = weights.write(runs.small(tmp_path / "corpus"), {"command": "a test"})
    written = json.loads(path.read_text())
    assert written["runs"] == {"groups-mixed": 3, "healthy": 3}
    assert written["calibrated_on"] == 3
    assert written["accuse_below"] == written["stop_below"] == 0.0  # three runs promise nothing
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
    likelihood._measured.cache_clear()
    likelihood.counts.cache_clear()
    drawn = list(weights.population(a_population(tmp_path / "population")))
    assert len(drawn) == 10
    weights.write(runs.small(tmp_path / "corpus"), {"command": "a test"}, drawn)
    try:
        assert likelihood.counts().cells["healthy"]["non-finite-values"] == (5, 5, 13)
        assert likelihood.population()["trl-grpo"]["non-finite-values"] == (5, 5, 5)
        assert likelihood.without_family("trl-grpo")["healthy"]["non-finite-values"] == (0, 0, 8)
        assert likelihood.without_family("sb3-ppo")["healthy"]["non-finite-values"] == (5, 5, 8)
    finally:
        likelihood._measured.cache_clear()
        likelihood.counts.cache_clear()


def test_a_family_is_judged_without_its_own_counts(tmp_path: Path) -> None:
    drawn = list(weights.population(a_population(tmp_path)))
    healthy = weights.healthy_probabilities(drawn, weights.at_the_end)  # family by family, in order of their names
    assert max(healthy[5:]) < min(healthy[:5])  # no other family shows such losses
    assert not weights.healthy_probabilities(drawn, weights.at_every_check)  # checked at their end only
