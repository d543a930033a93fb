"""What was written stays written, once, in one order, and a change is noticed: in SQLite and in a real PostgreSQL."""

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstbreak.evals.ledger import GENESIS, Conflict, Ledger, newest
from firstbreak.readers import Unreadable, _sqlite
from tests.waiting import PATIENCE

#: argv: place, number of writers, records of each. All write at once; each key is printed once it is known to be kept.
WRITERS = """
import os, sys
from firstbreak.evals.ledger import Ledger
place, writers, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
Ledger(place).close()
start, go = os.pipe()
children = []
for w in range(writers):
    children.append(os.fork())
    if not children[-1]:
        os.close(go)
        os.read(start, 1)
        with Ledger(place) as ledger:
            for i in range(count):
                ledger.append("evaluation", {"writer": w, "i": i}, key=f"{os.getpid()}-{i}")
                os.write(1, f"{os.getpid()}-{i}\\n".encode())
        os._exit(0)
os.close(go)
sys.exit(any(os.waitpid(child, 0)[1] for child in children))
"""


def writers(place: str, number: int, each: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", WRITERS, place, str(number), str(each)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)


def keys(place: str) -> list[str]:
    with Ledger(place) as ledger:
        assert ledger.verify() is None
        return [entry.key for entry in ledger]


def test_records_come_back_in_order_with_their_chain(place: str) -> None:
    with Ledger(place) as ledger:
        first = ledger.append("split", {"split": "dev", "size": 100})
        second = ledger.append("evaluation", {"scores": {"accuracy": 0.5}, "text": "\x00 \ud800 ✓"})
        rows = list(ledger)
    assert rows == [first, second]
    assert (first.previous, second.previous) == (GENESIS, first.hash)
    assert second.data["text"] == "\x00 \ud800 ✓"
    assert {"at", "who", "kind"} <= second.data.keys()


def test_a_repeated_key_writes_nothing_and_gives_the_row_that_is_there(place: str) -> None:
    with Ledger(place) as ledger:
        once = ledger.append("evaluation", {"score": 1}, key="same")
        assert ledger.append("evaluation", {"score": 1}, key="same") == once
        with pytest.raises(Conflict, match="row 1"):
            ledger.append("evaluation", {"score": 2}, key="same")
        assert len(list(ledger)) == 1


def test_a_batch_is_kept_whole_or_not_at_all(place: str) -> None:
    with Ledger(place) as ledger:
        ledger.append("evaluation", {"score": 1}, key="taken")
        with pytest.raises(Conflict):
            ledger.extend([("evaluation", {"score": 3}, "new"), ("evaluation", {"score": 2}, "taken")])
        assert [entry.key for entry in ledger] == ["taken"]


def test_what_cannot_be_recorded_is_refused_before_anything_is_written(place: str) -> None:
    with Ledger(place) as ledger:
        with pytest.raises(ValueError, match="nan"):
            ledger.extend([("evaluation", {"score": 1.0}, None), ("evaluation", {"score": float("nan")}, None)])
        assert list(ledger) == []


@pytest.mark.parametrize(
    ("damage", "row", "problem"),
    [
        ("UPDATE firstbreak_ledger SET body = '{\"score\":9}' WHERE number = 2", 2, "was changed"),
        ("UPDATE firstbreak_ledger SET key = 'other' WHERE number = 2", 2, "was changed"),
        ("DELETE FROM firstbreak_ledger WHERE number = 2", 2, "is missing"),
        ("UPDATE firstbreak_ledger SET previous = 'x' WHERE number = 3", 3, "does not follow"),
        ("UPDATE firstbreak_ledger SET number = -1 WHERE number = 3", 1, "is missing"),
    ],
)
def test_a_change_is_reported_with_its_row(place: str, damage: str, row: int, problem: str) -> None:
    with Ledger(place) as ledger:
        for i in range(3):
            ledger.append("evaluation", {"score": i})
        ledger._connection.execute(damage)
        broken = ledger.verify()
    assert broken is not None
    assert (broken.number, problem in broken.problem) == (row, True)


def test_a_cut_off_end_is_noticed_by_whoever_has_seen_it(place: str) -> None:
    with Ledger(place) as ledger:
        last = [ledger.append("evaluation", {"score": i}) for i in range(3)][-1]
        assert ledger.verify(last.hash) is None
        ledger._connection.execute("DELETE FROM firstbreak_ledger WHERE number = 3")
        assert ledger.verify() is None
        broken = ledger.verify(last.hash)
    assert broken is not None
    assert "rows after 2 were cut off" in broken.problem


@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(scores=st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=2, max_size=6), data=st.data())
def test_no_recomputed_row_can_replace_another(scores: list[float], data: st.DataObject, tmp_path: Path) -> None:
    """Whoever rewrites one row consistently breaks the next one."""
    place = tmp_path / f"{time.monotonic_ns()}.db"
    with Ledger(place) as ledger:
        rows = ledger.extend([("evaluation", {"score": score}, None) for score in scores])
        victim = data.draw(st.integers(0, len(rows) - 2))
        with Ledger(tmp_path / f"{time.monotonic_ns()}.db") as forgery:
            forged = forgery.extend(
                [(e.data["kind"], {"score": 0.125 if i == victim else scores[i]}, e.key) for i, e in enumerate(rows)]
            )[victim]
        body = forged.body
        ledger._connection.execute(
            "UPDATE firstbreak_ledger SET body = ?, hash = ? WHERE number = ?", (body, forged.hash, forged.number)
        )
        broken = ledger.verify()
    assert broken is not None
    assert broken.number in (victim + 1, victim + 2)


def test_64_writers_lose_and_duplicate_nothing(place: str) -> None:
    process = writers(place, 64, 3)
    out, _ = process.communicate(timeout=PATIENCE)
    assert process.returncode == 0
    assert len(out.split()) == 64 * 3
    assert sorted(keys(place)) == sorted(out.split())


def test_killed_writers_lose_nothing_that_they_were_told_is_kept(place: str) -> None:
    rng = random.Random(0)
    confirmed: list[str] = []
    for _ in range(4):
        process = writers(place, 4, 100_000)
        assert process.stdout is not None
        first = process.stdout.readline()  # they are writing
        time.sleep(0.1 * rng.random())
        os.killpg(process.pid, signal.SIGKILL)
        rest, _ = process.communicate(timeout=PATIENCE)
        confirmed += (first + rest).splitlines()
    kept = keys(place)
    assert len(kept) == len(set(kept))
    assert set(confirmed) <= set(kept)
    for writer in {key.partition("-")[0] for key in kept}:
        numbers = [int(key.partition("-")[2]) for key in kept if key.startswith(f"{writer}-")]
        assert numbers == list(range(len(numbers)))  # nothing between was lost, nothing came out of order


def test_a_file_that_is_no_ledger_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database, and long enough not to be taken for an empty one" * 50)
    with pytest.raises(Unreadable, match="is not a ledger"):
        Ledger(tmp_path / "notes.txt")


def test_a_ledger_that_may_only_be_read_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "ledger.db"
    with Ledger(path) as ledger:
        ledger.append("note", {"text": "one"})
    before = {file.name: file.read_bytes() for file in tmp_path.iterdir()}
    opened = _sqlite._opened

    def refused(place: Path) -> sqlite3.Connection:
        if place == path:  # what SQLite says of a ledger in a folder that this user may not write to
            raise sqlite3.OperationalError("attempt to write a readonly database")
        return opened(place)

    monkeypatch.setattr(_sqlite, "_opened", refused)
    with Ledger(path, reads=True) as ledger:
        assert [entry.data["text"] for entry in ledger] == ["one"]
        assert ledger.verify() is None
        with pytest.raises(Unreadable, match=r"ledger\.db: cannot be written \(attempt .*; give .* you may write$"):
            ledger.append("note", {"text": "two"})
    assert newest(path, 9)[0]["text"] == "one"
    assert {file.name: file.read_bytes() for file in tmp_path.iterdir()} == before


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as ledger:
        ledger._connection.execute("PRAGMA max_page_count = 1")
        with pytest.raises(Unreadable, match=r"cannot be written \(.*is full"):
            ledger.append("note", {"text": "x" * 100_000})
        assert list(ledger) == []


def test_a_password_is_never_in_the_message() -> None:
    pytest.importorskip("psycopg")
    with pytest.raises(Unreadable) as error:
        Ledger("postgresql://me:secret@127.0.0.1:1/none")
    assert "secret" not in str(error.value)
    assert "127.0.0.1:1/none" in str(error.value)


def test_the_body_of_a_row_is_canonical_json(place: str) -> None:
    with Ledger(place) as ledger:
        body: dict[str, Any] = {"b": 1.0, "a": [2, {"z": None, "y": "é"}]}
        text = ledger.append("evaluation", body).body
    assert text.isascii()
    assert json.loads(text)["a"] == [2, {"y": "é", "z": None}]
    assert '"b":1,' in text
