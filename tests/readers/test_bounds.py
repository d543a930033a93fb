"""Limits of what is read: names, dots, seconds, and what a setting of the limit may say."""

import os
from pathlib import Path

import pytest

from firstbreak.readers import Unreadable, _options, budget, config_file
from firstbreak.readers import read as readers_read
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.opening import piped
from tests.make import write_jsonl

read = readers_read.read


def test_metrics_beyond_the_limit_are_left_out_and_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(readers_read, "MOST_NAMES", 3)
    (tmp_path / "progress.csv").write_text("step,a,b,c,reward\n" + "1,2,3,4,5\n" * 9)
    run = read(tmp_path)
    assert len({**run.series, **run.unknown}) <= 3
    assert "5 metrics: 3 are read" in run.damage[0]
    assert run.unread == ("progress.csv",)


def test_a_key_of_many_dots_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "rl.toml"
    path.write_text("a." * 50_000 + "a = 1\n")
    with pytest.raises(Unreadable, match="more than 200 dots"):
        config_file.read(path)
    assert _options.toml(b'a.b.c = "1. 2. 3."') == {"a": {"b": {"c": "1. 2. 3."}}}


def test_a_file_that_takes_too_long_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(budget, "SECONDS", -1.0)
    write_jsonl(tmp_path / "metrics.jsonl", 40)
    with pytest.raises(Unreadable, match="takes more than -1 s to read"):
        read(tmp_path)


@pytest.mark.parametrize("written", ["abc", "-1", "nan", "0", "inf"])
def test_a_limit_that_is_no_number_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv(budget.MEMORY, written)
    write_jsonl(tmp_path / "metrics.jsonl", 40)
    with pytest.raises(Unreadable, match=f"FIRSTBREAK_MEMORY={written}: is no number of GiB"):
        read(tmp_path)


@pytest.mark.skipif(not Path("/dev/fd").exists(), reason="the system has no /dev/fd")
@pytest.mark.parametrize(
    "text", ['{"step": 1, "reward": 2.0}\n' * 9, "step,reward\n" + "1,2\n" * 9, "step: 1, reward: 2.0\n" * 9]
)
def test_a_pipe_is_read_once_and_by_its_content(text: str) -> None:
    out, into = os.pipe()
    os.write(into, text.encode())
    os.close(into)
    path = f"/dev/fd/{out}"
    try:
        assert find_runs(path) == [Path(path)]
        assert "reward.mean" in read(path).series
    finally:
        os.close(out)


def test_a_pipe_with_a_name_may_have_no_writer(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    assert piped(str(tmp_path / "pipe")) is None
