"""A run beside the user's earlier healthy runs."""

import json
from pathlib import Path

import numpy as np
import pytest

from firstbreak.cli.diagnose import command
from firstbreak.compare import baseline
from firstbreak.compare.baseline import MOST, depart, earlier_runs, limit, stand
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Diagnosis, Run, Series
from firstbreak.readers.read import read
from firstbreak.reports import json as report
from tests.command import printed
from tests.lazy import lazy

jsonschema = lazy("jsonschema")

pytestmark = pytest.mark.slow


def write(folder: Path, *, seed: int, level: float = 0.8, kl_from: int | None = None, env: str = "") -> Path:
    """A run that learns: reward and evaluation rise to `level` alike. From step `kl_from` on its divergence grows fast."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(
        json.dumps({"seed": seed, "train_dataset": {"path": env}} if env else {"seed": seed})
    )
    end = level + 0.02 * rng.normal()  # seeds differ by more than the noise of a curve
    rows = []
    for step in range(1, 121):
        risen = end * (1 - np.exp(-step / 30))
        grown = 0.01 * (step - kl_from) if kl_from is not None and step > kl_from else 0.0
        rows.append(
            {
                "step": step,
                "eval-rollout/reward": risen + 0.02 * rng.normal(),
                "ppo_actor/task_reward/avg": risen + 0.02 * rng.normal(),
                "kl.ref.k1": 0.02 * (1 - np.exp(-step / 30)) + grown + 0.0005 * rng.normal(),
                "policy.entropy": 1 - 0.4 * risen + 0.01 * rng.normal(),
                "ppo_actor/update/actor_loss/avg": 0.01 * rng.normal(),
            }
        )  # fmt: skip
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return folder


@pytest.fixture(scope="module")
def known() -> dict[bytes, Diagnosis]:
    """Content of an earlier run -> its diagnosis."""
    return {}


@pytest.fixture(autouse=True)
def _each_earlier_run_is_diagnosed_once(known: dict[bytes, Diagnosis], monkeypatch: pytest.MonkeyPatch) -> None:
    def diagnosed_once(run: Run) -> Diagnosis:
        content = b"".join(file.read_bytes() for file in sorted(Path(run.path).iterdir()))
        if content not in known:
            known[content] = diagnose(run)
        return known[content]

    monkeypatch.setattr(baseline, "diagnose", diagnosed_once)


@pytest.fixture
def history(tmp_path: Path) -> Path:
    for seed in range(5):
        write(tmp_path / "old" / f"s{seed}", seed=seed)
    return tmp_path / "old"


def diagnosed(*arguments: object) -> str:
    return " ".join(printed(command, *arguments, "--fail-on", "never").split())


def test_a_run_like_the_others_stays_in_their_band(tmp_path: Path, history: Path) -> None:
    said = diagnosed(write(tmp_path / "new", seed=9), "--baseline", history)
    assert "Earlier runs 5: " in said
    assert "inside their band" in said
    assert "none: all of the 5 curves stay in the band" in said
    assert "7 % of healthy runs leave such a band" in said


def test_the_first_departure_is_named_with_its_step(tmp_path: Path, history: Path) -> None:
    new = write(tmp_path / "new", seed=9, kl_from=40, level=0.5)
    (found, *others) = stand(read(new), earlier_runs(read(new), history)[0]).departures
    kl = next(d for d in (found, *others) if d.metric == "kl.ref.k1")
    assert 40 <= kl.step <= 55
    assert kl.side == "above"
    assert kl.value > kl.band[1] > kl.seen[1]
    score = next(d for d in (found, *others) if d.metric == "eval.reward")
    assert score.side == "below"
    assert (found.side, found.step <= score.step < kl.step) == ("below", True)


def test_the_band_is_as_rarely_left_as_is_said(tmp_path: Path) -> None:
    """On runs that differ only by chance, of a kind that the limits were not chosen on."""
    runs = [read(write(tmp_path / f"s{seed}", seed=seed)) for seed in range(24)]
    left = [bool(stand(runs[i], runs[i + 1 : i + 4]).departures) for i in range(0, 24, 4)]
    assert sum(left) <= 1


def test_rounding_is_no_departure_and_another_setting_is_one() -> None:
    """TensorBoard keeps 32 bits, a console three digits: 0.0003 is the same rate in all of them."""
    steps = np.arange(40.0)
    theirs = [Series(name="lr", steps=steps, values=np.full(40, np.float32(3e-4), dtype=float))] * 3
    same, other = (Series(name="lr", steps=steps, values=np.full(40, rate)) for rate in (3e-4, 4e-4))
    assert depart("lr", same, theirs) is None
    assert depart("lr", other, theirs) is not None


def test_two_runs_make_no_band(tmp_path: Path, history: Path) -> None:
    for seed in (2, 3, 4):
        for file in (history / f"s{seed}").iterdir():
            file.unlink()
        (history / f"s{seed}").rmdir()
    said = diagnosed(write(tmp_path / "new", seed=9, level=0.1), "--baseline", history)
    assert "2 earlier runs make no band; give 3 or more" in said
    assert "First departure" not in said


def test_what_is_no_healthy_run_of_the_task_is_left_out(tmp_path: Path, history: Path) -> None:
    write(history / "elsewhere", seed=7, env="Pong")
    (history / "other").mkdir()
    rows = ({"step": i, "reward": float(np.sin(i)), "kl": 0.1, "completion_length": 9.0} for i in range(60))
    (history / "other" / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (history / "again").mkdir()
    for file in (history / "s1").iterdir():
        (history / "again" / file.name).write_bytes(file.read_bytes())
    run = read(write(tmp_path / "new", seed=9, env="Qbert"))
    kept, left_out = earlier_runs(run, history)
    assert len(kept) == 5
    assert {line.partition(":")[2].strip().partition(" (")[0] for line in left_out} == {
        "another task", "another trainer or algorithm", "a copy",
    }  # fmt: skip
    mine = read(history / "s0")
    assert Path(mine.path) not in [Path(other.path) for other in earlier_runs(mine, history)[0]]


def test_the_newest_are_taken(tmp_path: Path) -> None:
    for seed in range(MOST + 2):
        write(tmp_path / "old" / f"s{seed}", seed=seed)
    kept, left_out = earlier_runs(read(write(tmp_path / "new", seed=99)), tmp_path / "old")
    assert len(kept) == MOST
    assert left_out == [f"older runs than the newest {MOST}"]
    assert limit(MOST) == limit(4) < limit(3)


def test_json_holds_it_under_the_schema(tmp_path: Path, history: Path) -> None:
    new = write(tmp_path / "new", seed=9, kl_from=40)
    payload = json.loads(printed(command, new, "--baseline", history, "--format", "json", "--fail-on", "never"))
    jsonschema.validate(payload, report.schema())
    assert payload["baseline"]["departures"][0]["metric"] == "kl.ref.k1"
    assert len(payload["baseline"]["runs"]) == 5
    assert "earlier healthy runs" in diagnosed(new, "--baseline", history, "--format", "html")
