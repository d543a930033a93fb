"""What decodes to more than a run may take costs one line, and the other files of the run are read."""

from pathlib import Path

import pytest

from firstbreak.readers import Unreadable, budget, parquet
from firstbreak.readers.follow import Follower
from firstbreak.readers.read import read
from tests.attack.bombs import BOMBS
from tests.test_cli import healthy

SMALL = 1 / 64  #: GiB
WANTED = 1 << 25  #: bytes; twice as much
NUMBERS = sorted(BOMBS.keys() - {"completions", "hole"})


@pytest.fixture(autouse=True)
def little_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(budget.MEMORY, str(SMALL))


@pytest.mark.parametrize("name", NUMBERS)
def test_a_bomb_is_one_line(name: str, tmp_path: Path) -> None:
    bomb = BOMBS[name](tmp_path, WANTED)
    assert bomb.stat().st_size < WANTED / 10
    with pytest.raises(Unreadable, match=r"decodes to more than 0\.0078125 GiB") as refused:
        read(tmp_path)
    assert "\n" not in str(refused.value)
    assert budget.MEMORY in str(refused.value)


def test_the_files_beside_a_bomb_are_read_and_nothing_is_called_healthy(tmp_path: Path) -> None:
    BOMBS["arrays"](healthy(tmp_path).parent, WANTED)
    run = read(tmp_path)
    assert "reward.mean" in run.series
    assert run.unread == ("evaluations.npz",)
    assert [line for line in run.damage if "decodes to more" in line]


def test_files_share_the_budget_of_their_run(tmp_path: Path) -> None:
    for part in range(4):
        (tmp_path / str(part)).mkdir()
        BOMBS["lines"](tmp_path / str(part), 1 << 22).rename(tmp_path / f"progress{part}.csv.gz")
    with_all = read(tmp_path)
    assert 0 < len(with_all.unread) < 4
    follower = Follower(tmp_path)
    follower.update()
    assert follower.run().unread == with_all.unread


def test_an_array_may_be_packed(tmp_path: Path) -> None:
    BOMBS["one_array"](tmp_path, 1 << 14)
    run = read(tmp_path)
    assert [len(series) for series in (*run.series.values(), *run.unknown.values())] == [1 << 10]


def test_a_text_that_a_parquet_file_keeps_once_is_not_multiplied(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = BOMBS["completions"](tmp_path, WANTED)
    assert sum(1 for _ in parquet.samples(path)) == 64
    monkeypatch.setattr(parquet, "_MOST", 1 << 18)
    with pytest.raises(Unreadable, match="a row group decodes to"):
        list(parquet.samples(path))
