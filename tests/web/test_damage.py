"""What is damaged beside the runs costs one line of a page, and no more."""

import contextlib
import json
import os
import re
import sqlite3
from pathlib import Path

import pytest

from firstbreak.evals.ledger import Ledger
from firstbreak.preflight.memory import drawing
from firstbreak.serve.web.app import LEDGER_FILE, MARKS_FILE
from tests.make import write_jsonl
from tests.web.serving import Served, serving


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name in ("demo", "other"):
        write_jsonl(tmp_path / "runs" / name / "metrics.jsonl", 40)
    sample = {"step": 1, "prompt": "2 + 2", "completion": "4", "reward": 1.0}
    (tmp_path / "runs" / "demo" / "completions.jsonl").write_text(json.dumps(sample) + "\n")
    return tmp_path / "runs"


def lines(served: Served, path: str = "/run/demo") -> list[str]:
    """What the page says cannot be shown. The rest of it is there."""
    status, _, body = served.get(path)
    assert status == 200
    assert b"sample-" in body
    return re.findall(r'<p class="problem">(.*?)</p>', body.decode(), re.DOTALL)


def view(path: Path, endless: str) -> None:
    with contextlib.closing(sqlite3.connect(path)) as database:
        database.execute(f"CREATE VIEW firstbreak_ledger AS {endless}")


RECURSIVE = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS number, 'a' AS body FROM n"


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_bytes(b"no database"),
        lambda path: path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000),
        lambda path: view(path, RECURSIVE),
        lambda path: view(path, "SELECT * FROM firstbreak_ledger"),
        lambda path: path.symlink_to("/etc/passwd"),
        lambda path: row(path, "[1]"),
        lambda path: row(path, "not JSON"),
    ],
    ids=["text", "garbage", "endless view", "view of itself", "link", "list", "no JSON"],
)
def test_a_damaged_ledger_is_one_line(folder: Path, spoil: object) -> None:
    spoil(folder / LEDGER_FILE)  # type: ignore[operator]
    with serving(folder) as served:
        (said,) = lines(served)
        assert LEDGER_FILE in said


def row(path: Path, body: str) -> None:
    Ledger(path).close()
    with contextlib.closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("INSERT INTO firstbreak_ledger VALUES (1, 'k', 'p', 'h', ?)", (body,))


def test_odd_values_of_a_row_are_left_out(folder: Path) -> None:
    scores = {"good": 0.25, "text": "x", "list": [1], "none": None, "huge": 10**400}
    row(folder / LEDGER_FILE, json.dumps({"kind": "evaluation", "run": "demo", "scores": scores, "step": "soon"}))
    before = (folder / LEDGER_FILE).read_bytes()
    with serving(folder) as served:
        assert lines(served) == []
        page = served.get("/run/demo")[2].decode()
        assert "good 0.25" in page
        assert not re.search(
            "text x|list|huge 1|soon", page.partition('id="evaluations"')[2].partition("</section>")[0]
        )
    assert (folder / LEDGER_FILE).read_bytes() == before


ENTRY = {"place": "trainer", "phase": "update", "moment": "loss", "role": "actor", "kind": "weights", "bytes": 1e9}


def plan(memory: object, **entry: object) -> str:
    return json.dumps({"numbers": {"gpu_memory": memory, "entries": [ENTRY | entry]}})


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_text("{"),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text("[1]"),
        lambda path: path.write_text(plan(80e9, bytes=-1)),
        lambda path: path.write_text(plan(80e9, bytes=float("nan"))),
        lambda path: path.write_text(plan(10**400)),
        lambda path: path.write_text(plan(80e9, place="host")),
        lambda path: path.write_bytes(b" " * (2 << 20)),
        lambda path: path.symlink_to("/etc/passwd"),
    ],
    ids=["cut", "deep", "list", "negative", "not finite", "huge", "nothing on a GPU", "large", "link"],
)
def test_a_damaged_plan_of_the_memory_is_one_line(folder: Path, spoil: object) -> None:
    spoil(folder / "demo" / drawing.FILE)  # type: ignore[operator]
    with serving(folder) as served:
        (said,) = lines(served)
        assert drawing.FILE in said


def test_a_plan_of_the_memory_is_drawn_on_the_page_of_its_run(folder: Path) -> None:
    (folder / "demo" / drawing.FILE).write_text(plan(2**31, kind="</svg><script>"))
    with serving(folder) as served:
        assert lines(served) == []
        page = served.get("/run/demo")[2].decode()
    section = page.partition('id="memory"')[2].partition("</section>")[0]
    assert "0.9 GiB, 1.1 free" in section
    assert "capacity, 2 GiB" in section
    assert "&lt;/svg&gt;&lt;script&gt;" in section


@pytest.mark.parametrize(
    "spoil",
    [
        lambda path: path.write_text("{"),
        lambda path: path.write_text("[" * 100_000),
        lambda path: path.write_text('{"schema": "firstbreak.marks/1", "marks": {"a": {"mark": ["x"]}}}'),
        lambda path: path.symlink_to("/etc/passwd"),
        lambda path: path.symlink_to("nowhere"),
        lambda path: path.mkdir(),
        os.mkfifo,
    ],
    ids=["cut", "deep", "no word", "link", "dangling link", "folder", "pipe"],
)
def test_a_damaged_marks_file_is_one_line_and_is_kept(folder: Path, spoil: object) -> None:
    spoil(folder / MARKS_FILE)  # type: ignore[operator]
    with serving(folder) as served:
        for path in ("/run/demo", "/samples/demo"):
            (said,) = lines(served, path)
            assert MARKS_FILE in said
        status, _, body = served.get("/marks/demo", method="POST", body=b'{"place": 0, "mark": "keep"}')
        assert (status, MARKS_FILE.encode() in body) == (409, True)
    assert os.path.lexists(folder / MARKS_FILE)
    assert (
        os.path.islink(folder / MARKS_FILE)
        or not (folder / MARKS_FILE).is_file()
        or b"keep" not in (folder / MARKS_FILE).read_bytes()
    )
