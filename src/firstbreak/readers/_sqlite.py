"""SQLite databases that loggers write: opened read-only while the writer lives, one run chosen out of several."""

import os
import shutil
import sqlite3
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import Any

from firstbreak.readers import Unreadable
from firstbreak.readers.opening import open_raw

MAGIC = b"SQLite format 3\0"
_TIMEOUT = 3.0  # seconds to wait for a writer that holds the lock
_MAX_CELL = 1 << 26  # bytes; a larger value is an attack or a blob, never a row of metrics
_LISTED = 8
_ERRORS = (sqlite3.Error, OSError, UnicodeDecodeError)  # the text of an error may quote damaged bytes


def split(path: Path) -> tuple[Path, str | None]:
    """`runs.db#name` as the file and the name of one of its runs; None where no run is named."""
    whole = str(path)
    marks = [] if path.exists() else [i for i, character in enumerate(whole) if character == "#"]
    file = next((i for i in marks if Path(whole[:i]).is_file()), None)
    return (path, None) if file is None else (Path(whole[:file]), whole[file + 1 :])


@contextmanager
def database(path: Path, *tables: str) -> Iterator[sqlite3.Connection]:
    """A read-only connection to a database with these tables. Whatever SQLite objects to becomes Unreadable."""
    if not path.is_file():
        raise Unreadable(path, "is no file", "check the path")
    with ExitStack() as stack:
        checked = stack.enter_context(open_raw(path))
        try:
            connection = stack.enter_context(closing(_connect(path, stack)))
            if not os.path.samestat(os.fstat(checked.fileno()), path.stat()):  # SQLite opens by path
                raise Unreadable(path, "was replaced while it was opened", "try again")
            for table in tables:
                if not columns(connection, table):
                    raise Unreadable(path, f"has no table {table!r}", "give a tracking database")
            yield connection
        except _ERRORS as error:
            locked = "locked" in str(error) or "busy" in str(error)
            remedy = "try again when its writer is done" if locked else "copy it again, together with its -wal file"
            raise Unreadable(path, f"is a database that cannot be read ({_one_line(error)})", remedy) from None


def _connect(path: Path, stack: ExitStack) -> sqlite3.Connection:
    """Opens the file where it lies; where its folder cannot be written to, which a WAL needs, opens a copy."""
    try:
        return _opened(path)
    except sqlite3.OperationalError as error:
        beside = [part for end in ("-wal", "-journal") if (part := path.with_name(path.name + end)).exists()]
        if "readonly" not in str(error) and not any(part.name.endswith("-wal") for part in beside):
            raise
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="firstbreak-")))
        for part in (path, *beside):
            with open_raw(part) as file, (scratch / part.name).open("wb") as copy:
                shutil.copyfileobj(file, copy)
        return _opened(scratch / path.name)


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True, timeout=_TIMEOUT)
    try:
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _MAX_CELL)
        connection.execute("PRAGMA trusted_schema = OFF")
        connection.set_authorizer(_no_view)
        connection.execute("SELECT name FROM sqlite_master LIMIT 1")  # the first statement that touches the file
    except _ERRORS:
        connection.close()
        raise
    return connection


def _no_view(action: int, first: str | None, second: str | None, database: str | None, view: str | None) -> int:
    """Refuses what a view or trigger asks for: it could compute for ever."""
    return sqlite3.SQLITE_DENY if view else sqlite3.SQLITE_OK


def batches(rows: sqlite3.Cursor, size: int, damage: list[str]) -> Iterator[list[Any]]:
    """The rows, `size` at a time, up to where the database is damaged."""
    try:
        while batch := rows.fetchmany(size):
            yield batch
    except _ERRORS as error:
        damage.append(
            f"the database is damaged, rows behind that place are lost ({_one_line(error)}); copy it again with its -wal"
        )


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def has_tables(path: Path, head: bytes, *tables: str) -> bool:
    """Whether the file is a database with these tables. Raises Unreadable where it is one that cannot be read."""
    if not head.startswith(MAGIC):
        return False
    with database(path) as connection:
        return all(columns(connection, table) for table in tables)


def columns(connection: sqlite3.Connection, table: str) -> set[str]:
    """The columns of a table; none where it does not exist, or is a view, which could compute anything."""
    found = connection.execute("SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?", (table,)).fetchone()
    if found is None:
        return set()
    return {name for (name,) in connection.execute("SELECT name FROM pragma_table_info(?)", (table,))}


def labels(runs: dict[str, str]) -> dict[str, str]:
    """What to call each run, by its id: its name, or the id where the name is shared, empty or not printable."""
    count = Counter(runs.values())
    return {key: name if name and count[name] == 1 and str(name).isprintable() else key for key, name in runs.items()}


def choose(path: Path, wanted: str | None, runs: dict[str, str]) -> str:
    """The id of the run that is wanted by id or name, or of the only one. `runs` maps ids to names."""
    matches = [key for key, name in runs.items() if wanted is None or wanted in (key, name)]
    if len(matches) == 1:
        return matches[0]
    problem = f"holds {len(runs)} runs" if wanted is None or matches else f"holds no run {wanted!r}"
    called = labels(runs)
    names = [called[key] for key in (matches or runs)]
    more = f", ... ({len(names) - _LISTED} more)" if len(names) > _LISTED else ""
    listed = repr(", ".join(f"{path.name}#{name}" for name in names[:_LISTED]))[1:-1] + more  # names are data
    raise Unreadable(path, problem, f"choose one of {listed}" if names else "give another file")
