"""Damaged, locked and empty files, and what lies beside a run: read, or named, and never a reason to go on."""

from pathlib import Path

import pytest

from firstbreak.readers import _sqlite
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read
from tests.lazy import lazy
from tests.make import some_quick, write_jsonl

damage = lazy("benchmarks.attack.damage")
growth = lazy("benchmarks.attack.growth")
commands = lazy("benchmarks.attack.commands")

LOGS = ("JSONL", "CSV", "TSV", "TensorBoard", "npz", "console", "trainer_state", "JSON list", "wandb", "SwanLab", "MLflow",
        "trackio", "parquet", "gzip", "bzip2", "notebook")  # fmt: skip


@pytest.mark.parametrize("log", some_quick(LOGS, 8))
def test_no_damage_hides_a_broken_run(tmp_path: Path, log: str) -> None:
    assert set(LOGS) == set(damage.LOGS)
    name, make = damage.LOGS[log]
    for number, (kind, harm) in enumerate(damage.DAMAGES.items()):
        data = harm(damage.as_bytes(make(damage.broken())))
        hidden = damage.hidden(tmp_path / str(number), name, data, missing=damage.is_missing(log, kind))
        assert list(hidden) == [], kind


@pytest.mark.slow
def test_a_database_that_is_locked_or_cut_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_sqlite, "_TIMEOUT", 0.05)
    tally = damage.databases(len(damage.STATES))
    assert not tally.fell, tally.first


@pytest.mark.slow
def test_what_lies_beside_a_run_changes_nothing() -> None:
    tally = damage.beside(len(damage.BESIDE))
    assert not tally.fell, tally.first


def test_an_empty_file_is_said_to_be_empty_and_hides_nothing(tmp_path: Path) -> None:
    write_jsonl(tmp_path / "metrics.jsonl", 40)
    (tmp_path / "train.log").touch()
    run = read(tmp_path)
    assert run.unread == run.damage == ()
    assert any("train.log: the file is empty" in note for note in run.notes)
    assert find_runs(tmp_path) == [tmp_path]


@pytest.mark.parametrize(
    ("name", "data"),
    [("history.json", b'ep": 1, "reward": 2}]'), ("x.npz", b"\0" * 99), ("mlflow.db", b"mat 3\0" + bytes(99)),
     ("history.parquet", b"1" * 9), ("eval.jsonl.gz", b"\1\0" * 20)],
)  # fmt: skip
def test_a_log_without_its_beginning_is_named(tmp_path: Path, name: str, data: bytes) -> None:
    write_jsonl(tmp_path / "train.jsonl", 40)
    (tmp_path / name).write_bytes(data)
    assert read(tmp_path).unread == (name,)


@pytest.mark.parametrize("name", ["best.json", "version.json"])
def test_a_number_or_a_text_in_json_is_no_damaged_log(tmp_path: Path, name: str) -> None:
    write_jsonl(tmp_path / "train.jsonl", 40)
    (tmp_path / name).write_text('"1.0"' if name == "version.json" else "0.93")
    assert read(tmp_path).unread == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    "what", ["TOML, a dotted key", "TOML, names", "console, names", "CSV, in reverse", "wandb, false beginnings"]
)
def test_time_and_memory_grow_with_the_size(what: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(growth, "FILES", {what: growth.FILES[what]})
    tally = growth.growth(1)
    assert not tally.fell, tally.first


@pytest.mark.slow
@pytest.mark.parametrize(("attack", "count"), [("signals", 23), ("outputs", 9), ("surroundings", 9)])
def test_no_command_falls(attack: str, count: int) -> None:
    """Ctrl-C, a file of its own to write over, and streams, disks, users and variables that are not as usual."""
    tally = getattr(commands, attack)(count)
    assert not tally.fell, tally.first
