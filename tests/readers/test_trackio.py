import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstbreak.readers import Unreadable, trackio
from tests.waiting import until

pytestmark = pytest.mark.slow  # real loggers write the data

ANY_FILE = settings(suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)

WRITER = """if True:
    import trackio
    trackio.init(project="proj", name="first", config={"lr": 1e-3, "optimizer": {"name": "adam"}}, auto_log_gpu=False)
    for i in range(300):
        trackio.log({"loss": 1 / (i + 1), "n": {"x": i}}, step=i * 10)
    trackio.log({"loss": float("nan"), "kl": float("inf"), "stage": "end"})
    trackio.finish()
    for value in (1, 2):
        trackio.init(project="proj", name="again", auto_log_gpu=False)
        trackio.log({"loss": value})
        trackio.finish()
"""
KILLED = """if True:
    import time, trackio
    trackio.init(project="proj", name="killed", auto_log_gpu=False)
    for i in range(10**9):
        trackio.log({"i": i}, step=i)
        time.sleep(0.002)
"""


def start(folder: Path, program: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "TRACKIO_DIR": str(folder), "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder)}
    return subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, env=environment)


@pytest.fixture(scope="module")
def project(tmp_path_factory) -> Path:
    pytest.importorskip("trackio")
    folder = tmp_path_factory.mktemp("trackio")
    child = start(folder, WRITER)
    child.communicate()
    assert child.returncode == 0
    return folder / "proj.db"


def written(project: Path) -> int:
    """How many points of a live run have reached its database."""
    try:
        return len(trackio.read(project).curves["i"].values)
    except (FileNotFoundError, KeyError, Unreadable):
        return 0


def run(project: Path, name: str) -> Path:
    return project.with_name(f"{project.name}#{name}")


def test_a_real_run(project):
    assert trackio.sniff(project, project.read_bytes()[:4096])
    recording = trackio.read(run(project, "first"))
    curves = recording.curves
    np.testing.assert_array_equal(curves["step"].values, [*range(0, 3000, 10), 2991])
    np.testing.assert_array_equal(curves["loss"].values, [*1 / np.arange(1, 301), np.nan])
    np.testing.assert_array_equal(curves["n/x"].values, np.arange(300))
    assert curves["kl"].values.tolist() == [np.inf]
    assert curves["kl"].index.tolist() == [300]
    assert curves["loss"].times[0] > 1.7e9
    assert recording.config == {"lr": 1e-3, "optimizer.name": "adam", "stage": "end"}
    assert recording.indexed_by == "row"


def test_runs_of_one_name_are_told_apart_by_their_ids(project):
    first, *others = trackio.runs(project)
    assert first == "first"
    assert [trackio.read(run(project, name)).curves["loss"].values.tolist() for name in others] == [[1], [2]]


@pytest.mark.parametrize(("name", "problem"), [("", "holds 3 runs"), ("#again", "holds 3 runs"), ("#x", "no run 'x'")])
def test_an_undecided_choice_names_the_runs(project, name, problem):
    with pytest.raises(Unreadable, match=problem) as refused:
        trackio.read(Path(f"{project}{name}"))
    for candidate in trackio.runs(project)[1:]:
        assert f"proj.db#{candidate}" in str(refused.value)


def test_a_killed_run(tmp_path):
    pytest.importorskip("trackio")
    child = start(tmp_path, KILLED)
    try:
        assert until(lambda: written(tmp_path / "proj.db") >= 100)
    finally:
        child.kill()
    child.communicate()
    values = trackio.read(tmp_path / "proj.db").curves["i"].values
    np.testing.assert_array_equal(values, np.arange(len(values)))


# --- what the format allows ------------------------------------------------------------------------------------------

OLD = (
    "CREATE TABLE {} (id INTEGER PRIMARY KEY AUTOINCREMENT, timestamp TEXT, run_name TEXT, step INTEGER, metrics TEXT)"
)


def old_project(path: Path, cells: list[object]) -> sqlite3.Connection:
    """A database of the time before run ids, with its log in a WAL that is not merged yet."""
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA journal_mode = WAL")
    db.execute(OLD.format("metrics"))
    db.execute("CREATE TABLE configs (id INTEGER PRIMARY KEY, run_name TEXT, config TEXT, created_at TEXT)")
    append(db, cells)
    return db


def append(db: sqlite3.Connection, cells: list[object]) -> None:
    rows = [("2026-01-01T00:00:00", "only", i, cell) for i, cell in enumerate(cells)]
    db.executemany("INSERT INTO metrics (timestamp, run_name, step, metrics) VALUES (?, ?, ?, ?)", rows)


def test_a_live_database_without_run_ids(tmp_path):
    path = tmp_path / "p.db"
    db = old_project(path, ['{"loss": 1}', '{"loss": "NaN", "table": {"_type": "trackio.table", "rows": 3}}'])
    assert (tmp_path / "p.db-wal").stat().st_size > 0
    assert trackio.sniff(path, path.read_bytes()[:4096])
    first = trackio.read(path)
    np.testing.assert_array_equal(first.curves["loss"].values, [1, np.nan])
    assert first.notes == ["not numbers, left out: table"]
    append(db, ['{"loss": 2}'])
    second = trackio.read(path, resume=first.resume)
    assert second.curves["loss"].values.tolist() == [2]
    assert second.curves["loss"].index.tolist() == [2]
    assert not second.replaces
    assert trackio.read(path, resume=second.resume).curves == {}
    db.close()


def test_a_database_that_was_started_anew(tmp_path):
    path = tmp_path / "p.db"
    old_project(path, ['{"loss": 1}'] * 5).close()
    resume = trackio.read(path).resume
    path.unlink()
    old_project(path, ['{"loss": 7}']).close()
    recording = trackio.read(path, resume=resume)
    assert recording.replaces
    assert recording.curves["loss"].values.tolist() == [7]


def test_a_folder_that_cannot_be_written_to(tmp_path, monkeypatch):
    db = old_project(tmp_path / "p.db", ['{"loss": 1}'])
    connect = sqlite3.connect

    def refuse_here(database: str, **options: object) -> sqlite3.Connection:
        if str(tmp_path) in database:
            raise sqlite3.OperationalError("unable to open database file")
        return connect(database, **options)

    monkeypatch.setattr(sqlite3, "connect", refuse_here)
    assert trackio.read(tmp_path / "p.db").curves["loss"].values.tolist() == [1]
    db.close()


def test_names_with_slashes_and_hashes(tmp_path):
    folder = tmp_path / "sweep#1"
    folder.mkdir()
    db = old_project(folder / "p.db", ['{"loss": 1}'])
    db.execute("INSERT INTO metrics (run_name, step, metrics) VALUES ('a/b#2', 0, '{\"loss\": 2}')")
    db.close()
    assert trackio.runs(folder / "p.db") == ["only", "a/b#2"]
    assert trackio.read(folder / "p.db#a/b#2").curves["loss"].values.tolist() == [2]


def test_a_name_of_several_lines_is_listed_on_one(tmp_path):
    db = old_project(tmp_path / "p.db", ['{"loss": 1}'])
    db.execute("INSERT INTO metrics (run_name, step, metrics) VALUES ('a\nb', 0, '{}')")
    db.close()
    with pytest.raises(Unreadable, match="holds 2 runs") as refused:
        trackio.read(tmp_path / "p.db")
    assert "\n" not in str(refused.value)


def test_rows_that_hold_no_object_cost_themselves(tmp_path):
    cells = ['{"loss": 1}', "[1]", "{", b"\xff\xfe", None, 7, "1}, {", '{"loss": 2, "big": 1' + "0" * 400 + "}"]
    old_project(tmp_path / "p.db", cells).close()
    recording = trackio.read(tmp_path / "p.db")
    assert recording.curves["loss"].values.tolist() == [1, 2]
    assert recording.curves["big"].values.tolist() == [np.inf]
    assert "6 rows" in recording.damage[0]


# --- any file --------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def whole(tmp_path_factory) -> bytes:
    path = tmp_path_factory.mktemp("whole") / "p.db"
    old_project(path, [f'{{"loss": {i}, "pad": "{"x" * 50}"}}' for i in range(200)]).close()
    return path.read_bytes()


@ANY_FILE
@given(st.data())
def test_a_damaged_database_is_read_or_refused(tmp_path, whole, data):
    path = tmp_path / "p.db"
    content = bytearray(whole)
    for _ in range(data.draw(st.integers(1, 5))):
        at = data.draw(st.integers(16, len(content) - 1))
        content[at : at + 8] = data.draw(st.binary(min_size=8, max_size=8))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        assert trackio.sniff(path, path.read_bytes()[:4096]) in (True, False)
        trackio.read(path)
    except Unreadable as error:
        assert "\n" not in str(error)  # noqa: PT017


def test_no_database(tmp_path):
    path = tmp_path / "p.db"
    path.write_bytes(b"SQLite format 3\0" + bytes(5000))
    for ask in (trackio.read, lambda path: trackio.sniff(path, path.read_bytes()[:4096])):
        with pytest.raises(Unreadable, match="cannot be read"):
            ask(path)
    with pytest.raises(Unreadable, match="no file"):
        trackio.read(tmp_path / "absent.db")


def test_a_view_in_place_of_the_table_is_not_run(tmp_path):
    """A view that counts for ever must not hang the reader."""
    db = sqlite3.connect(tmp_path / "p.db")
    endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT"
    db.execute(
        f"CREATE VIEW metrics AS {endless} i AS id, 'x' AS run_name, i AS step, '' AS timestamp, '{{}}' AS metrics FROM n"
    )
    db.execute("CREATE TABLE configs (run_name TEXT, config TEXT, created_at TEXT)")
    db.commit()
    db.close()
    assert not trackio.sniff(tmp_path / "p.db", (tmp_path / "p.db").read_bytes()[:4096])
    with pytest.raises(Unreadable):
        trackio.read(tmp_path / "p.db")
