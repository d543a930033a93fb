"""One signal in several files: the best axis counts, and a console log beside a log with steps changes nothing."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Run
from firstbreak.readers.read import read
from tests.make import some_quick

Rows = list[dict[str, float]]


def grpo(seed: int, breaks_at: int | None, n: int = 80, every: int = 10) -> Rows:
    """GRPO that learns, and whose policy falls apart at a row of the log."""
    rng = np.random.default_rng(seed)
    rows = []
    for i in range(n):
        broken = max(0, i - breaks_at) if breaks_at is not None else 0
        rows.append(
            {
                "step": (i + 1) * every,
                "epoch": (i + 1) / n,
                "loss": rng.normal(0.01, 0.002),
                "reward": max(0.0, 0.2 + 0.006 * i - 0.03 * broken) + rng.normal(0, 0.01),
                "reward_std": 0.3 * 0.9**broken + rng.uniform(0, 0.02),
                "kl": 0.0005 * i * 1.3 ** min(broken, 20) + rng.uniform(0, 1e-4),
                "grad_norm": rng.uniform(0.5, 0.8) * (1 + broken),
                "entropy": 1.2 * 0.85**broken + rng.uniform(0, 0.02),
                "completion_length": rng.normal(150, 5),
                "learning_rate": 1e-6,
            }
        )
    return rows


def write_jsonl(folder: Path, rows: Rows) -> None:
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def write_csv(folder: Path, rows: Rows) -> None:
    lines = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")


def write_trainer_state(folder: Path, rows: Rows) -> None:
    state = {"global_step": rows[-1]["step"], "log_history": rows}
    (folder / "trainer_state.json").write_text(json.dumps(state))


def printed(rows: Rows, kind: str, digits: int) -> str:
    """What the same trainer prints."""
    lines = []
    for row in rows:
        shown = {name: round(value, digits) for name, value in row.items() if name != "step"}
        if kind == "step":
            lines.append(str({"step": int(row["step"]), **shown}))
        elif kind == "bar":
            lines.append(f" 10%|█         | {int(row['step'])}/{int(rows[-1]['step'])} [00:10<10:00,  2.4s/it]")
            lines.append(str(shown))
        elif kind == "pairs":
            lines.append(", ".join(f"{name}: {value}" for name, value in shown.items() if name != "epoch"))
        else:
            lines.append(str(shown))
    return "\n".join(lines) + "\n"


def steps_of(run: Run) -> dict[str, list[float]]:
    return {name: series.steps.tolist() for name, series in run.series.items()}


def onsets(run: Run) -> list[tuple[str, object, object]]:
    found = [o for o in diagnose(run).outcomes if o.finding is not None]
    return [(o.detector, o.finding.onset, o.finding.interval) for o in found]


def cases(count: int = 24) -> list[tuple[object, ...]]:
    """Runs, the form of their log, and of the console log beside it."""
    draw = np.random.default_rng(0).choice
    choices: tuple[list[object], ...] = (
        [None, 25, 50],
        [write_jsonl, write_csv, write_trainer_state],
        ["step", "bar", "epoch", "pairs"],
        [2, 4],
        [1, 3],
        ["a.log", "z.log"],
    )
    return [(seed, *(options[draw(len(options))] for options in choices)) for seed in range(count)]


@pytest.mark.parametrize(("seed", "breaks_at", "write", "kind", "digits", "thin", "name"), some_quick(cases(), 6))
def test_a_console_log_beside_another_log_changes_no_step_and_no_onset(
    tmp_path: Path,
    seed: int,
    breaks_at: int | None,
    write: Callable[[Path, Rows], None],
    kind: str,
    digits: int,
    thin: int,
    name: str,
) -> None:
    folder = tmp_path
    rows = grpo(seed, breaks_at)
    write(folder, rows)
    alone = read(folder)
    (folder / name).write_text(printed(rows[::thin], kind, digits))
    both = read(folder)
    assert len(both.files) == 2
    assert steps_of(both).items() >= steps_of(alone).items()
    assert onsets(both) == onsets(alone)
    (folder / name).unlink()
    assert steps_of(read(folder)) == steps_of(alone)


def test_what_only_the_console_holds_takes_the_steps_of_the_file_that_has_them(tmp_path: Path) -> None:
    rows = grpo(1, None)
    write_csv(tmp_path, [{name: row[name] for name in ("step", "reward", "loss")} for row in rows])
    (tmp_path / "train.log").write_text(printed(rows, "epoch", 4))
    run = read(tmp_path)
    assert run.series["kl.ref"].axis == "step"
    assert run.series["kl.ref"].steps.tolist() == [row["step"] for row in rows]
    assert {series.axis for series in run.series.values()} == {"step"}


def test_a_console_without_a_copy_keeps_its_own_axis(tmp_path: Path) -> None:
    rows = grpo(1, None)
    (tmp_path / "train.log").write_text(printed(rows, "epoch", 4))
    run = read(tmp_path)
    assert run.axis == "epoch"
    assert run.series["reward.mean"].steps[-1] == pytest.approx(1.0)


def test_of_equal_copies_the_one_that_was_not_rounded_counts(tmp_path: Path) -> None:
    rows = grpo(1, None)
    write_jsonl(tmp_path, rows)
    (tmp_path / "a.log").write_text(printed(rows, "step", 2))
    run = read(tmp_path)
    assert run.series["kl.ref"].source == "metrics.jsonl"
    assert [s.source for s in run.duplicates if s.name == "kl.ref"] == ["a.log"]


MONITOR = ['#{"t_start": 100.0}', "r,l,t"]


@pytest.mark.parametrize("change", ["twice", "shuffled", "backup"])
@pytest.mark.parametrize("name", ["progress.csv", "0.monitor.csv"])
def test_rows_that_stand_twice_or_in_another_order_and_a_backup_change_nothing(tmp_path: Path, name: str, change: str):
    if name == "progress.csv":
        head, rows = ["total_timesteps,ep_rew_mean"], [f"{(i + 1) * 64},{i % 7 + i / 10}" for i in range(12)]
    else:
        head, rows = MONITOR, [f"{i % 7 + i / 10},{10 + i},{i + 0.5}" for i in range(12)]
    other = {
        "twice": [row for row in rows for _ in range(2)],
        "shuffled": list(np.random.default_rng(3).permutation(rows)),
    }
    curves = []
    for folder, lines in (("a", rows), ("b", other.get(change, rows))):
        (tmp_path / folder / "backup").mkdir(parents=True)
        (tmp_path / folder / name).write_text("\n".join([*head, *lines]) + "\n")
        if folder == "b" and change == "backup":
            (tmp_path / folder / "backup" / name).write_text("\n".join([*head, *lines]) + "\n")
        curves.append(read(tmp_path / folder).series)
    assert curves[0].keys() == curves[1].keys()
    for own, same in ((curve, curves[1][signal]) for signal, curve in curves[0].items()):
        assert own.axis == same.axis == "env_steps"
        assert own.steps.tolist() == same.steps.tolist()
        assert own.values.tolist() == same.values.tolist()
