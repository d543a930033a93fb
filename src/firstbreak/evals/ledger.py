"""An append-only record. Each row holds the hash of the row before it, so a later change of a row is detected.

One table of five columns and four SQL statements, the same for SQLite (a file, the default) and PostgreSQL (a URL, for a
team). There is no object-relational mapper: `sqlite3` is part of Python, so a ledger works with a plain install, and
psycopg has the same `connection.execute`.
"""

from __future__ import annotations

import datetime
import getpass
import json
import os
import platform
import sqlite3
import uuid
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from firstbreak.evals.canonical import canonical, digest
from firstbreak.readers import Unreadable
from firstbreak.readers._sqlite import database
from firstbreak.values import dataclass

GENESIS = "0" * 64  #: `previous` of the first row
PATIENCE = 120  #: seconds that a writer waits for its turn
LOCK = 0x66627265616B  #: advisory lock of PostgreSQL: "fbreak"

TABLE = "firstbreak_ledger"
_TABLE = """CREATE TABLE IF NOT EXISTS firstbreak_ledger (
    number INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    previous TEXT NOT NULL UNIQUE,
    hash TEXT NOT NULL,
    body TEXT NOT NULL
)"""  # `previous` is unique: two rows after one row would be a fork
_COLUMNS = "number, key, previous, hash, body"


@dataclass(frozen=True)
class LedgerEntry:
    """One row. `body` is canonical JSON; `hash` covers it, the number, the key and the hash of the row before."""

    number: int  #: 1 for the first
    key: str  #: a record with a known key is not written again
    previous: str
    hash: str
    body: str

    @property
    def data(self) -> dict[str, Any]:
        """The body as a mapping: `kind`, `at`, `who` and the fields of the kind."""
        data: dict[str, Any] = json.loads(self.body)
        return data


@dataclass(frozen=True)
class Broken:
    """The first row at which the chain of hashes is broken."""

    number: int
    problem: str


class Conflict(ValueError):
    """A key that is already used for another record."""


class Ledger:
    """An open ledger. Use it in a `with` block; one object serves one thread of one process."""

    def __init__(self, place: str | Path, *, reads: bool = False) -> None:
        """`place`: a file, or `postgresql://user@host/database`, made where it is missing. `reads`: no file is written."""
        self.place = str(place)
        self._team = self.place.startswith(("postgresql://", "postgres://"))
        self._mark = "%s" if self._team else "?"
        self._stack = ExitStack()
        if reads and not self._team:
            self._connection: Any = self._stack.enter_context(database(Path(place), TABLE))
            return
        with self._written():
            self._connection = _postgresql(self.place) if self._team else _sqlite(Path(place))
        self._stack.callback(self._connection.close)
        with self._locked():
            self._connection.execute(_TABLE)

    def __enter__(self) -> Ledger:
        return self

    def __exit__(self, *error: Any) -> None:
        self._stack.__exit__(*error)

    def close(self) -> None:
        """Close the connection."""
        self._stack.close()

    def append(self, kind: str, body: Mapping[str, Any], key: str | None = None) -> LedgerEntry:
        """Write one record and return it. The record survives a crash of this process. See `extend`."""
        return self.extend([(kind, body, key)])[0]

    def extend(self, records: Sequence[tuple[str, Mapping[str, Any], str | None]]) -> list[LedgerEntry]:
        """Write (kind, body, key) records in one transaction: all of them or none.

        A record with a known key is not written again; the existing row is returned. A writer that was killed does not know
        whether its last record was kept, and can repeat the record. Raises `Conflict` where the existing row says something
        else, and ValueError where a body holds a value that cannot be recorded.
        """
        stamped = [(key or uuid.uuid4().hex, {"kind": kind, **_origin(), **body}) for kind, body, key in records]
        bodies = [(key, canonical(data)) for key, data in stamped]  # before the lock is taken: others are waiting
        with self._locked():
            last = self._row(f"SELECT {_COLUMNS} FROM firstbreak_ledger ORDER BY number DESC LIMIT 1")
            written = []
            for key, body in bodies:
                row = self._row(f"SELECT {_COLUMNS} FROM firstbreak_ledger WHERE key = {self._mark}", key)
                if row is None:
                    last = row = _after(last, key, body)
                    values = (row.number, row.key, row.previous, row.hash, row.body)
                    marks = ", ".join([self._mark] * len(values))
                    self._connection.execute(f"INSERT INTO firstbreak_ledger ({_COLUMNS}) VALUES ({marks})", values)
                elif _content(row.body) != _content(body):
                    raise Conflict(f"the key {key} is already used for another record (row {row.number})")
                written.append(row)
        return written

    def __iter__(self) -> Iterator[LedgerEntry]:
        """All rows in order."""
        for row in self._connection.execute(f"SELECT {_COLUMNS} FROM firstbreak_ledger ORDER BY number"):
            yield LedgerEntry(*row)

    def verify(self, holds: str | None = None) -> Broken | None:
        """The first row at which the chain of hashes is broken, or None.

        `holds` is the hash of a row that was seen before. Without it, a cut at the end cannot be detected.
        """
        previous, number, seen = GENESIS, 0, holds is None
        for entry in self:
            number += 1
            if entry.number != number:
                return Broken(number, f"row {number} is missing, the next one is {entry.number}")
            if entry.previous != previous:
                return Broken(number, f"row {number} does not follow the row before it")
            if entry.hash != _hash(entry):
                return Broken(number, f"row {number} was changed after it was written")
            previous = entry.hash
            seen = seen or entry.hash == holds
        return None if seen else Broken(number + 1, f"no row has the hash {holds}: rows after {number} were cut off")

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """A lock for writing and a transaction. A block that fails is rolled back."""
        begin = ("BEGIN ISOLATION LEVEL READ COMMITTED", f"SELECT pg_advisory_xact_lock({LOCK})")
        with self._written():
            for statement in begin if self._team else ("BEGIN IMMEDIATE",):
                self._connection.execute(statement)
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._team or self._connection.in_transaction:  # a full disk has ended it
                    self._connection.execute("ROLLBACK")
                raise

    @contextmanager
    def _written(self) -> Iterator[None]:
        """What SQLite objects to, in one line."""
        try:
            yield
        except sqlite3.Error as error:
            problem = "cannot be written" if isinstance(error, sqlite3.OperationalError) else "is not a ledger"
            remedy = "give the path of a ledger, or of a new file, where there is room and you may write"
            raise Unreadable(self.place, f"{problem} ({error})", remedy) from None

    def _row(self, statement: str, *values: object) -> LedgerEntry | None:
        row = self._connection.execute(statement, values).fetchone()
        return None if row is None else LedgerEntry(*row)


def newest(path: Path, most: int) -> list[dict[str, Any]]:
    """The bodies of the newest `most` rows of a ledger in a file, in order; nothing is written. Raises Unreadable."""
    with database(path, TABLE) as connection:
        rows = connection.execute(f"SELECT body FROM {TABLE} ORDER BY number DESC LIMIT ?", (most,)).fetchall()
    try:
        bodies = [json.loads(body) for (body,) in reversed(rows)]
    except (TypeError, ValueError, RecursionError):
        bodies = [None]
    if not all(isinstance(body, dict) for body in bodies):
        raise Unreadable(path, "holds rows that are no records", "`firstbreak eval verify` says which")
    return bodies


def _sqlite(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")  # readers do not block the writer
    # A returned row survives kill -9. A power cut can lose the last rows, but no row in the middle. With an fsync for
    # every row (FULL), a busy disk writes a hundredth as many rows.
    connection.execute("PRAGMA synchronous = NORMAL")
    return connection


def _postgresql(url: str) -> Any:
    try:
        import psycopg
    except ModuleNotFoundError:
        raise Unreadable(_public(url), "PostgreSQL needs psycopg", "pip install 'firstbreak[eval]'") from None
    try:
        return psycopg.connect(url, autocommit=True)
    except psycopg.Error as error:
        problem = str(error).strip().splitlines()[-1]
        raise Unreadable(_public(url), f"cannot be opened ({problem})", "check host, database and password") from None


def _public(url: str) -> str:
    """The URL without its password, because errors are written to logs."""
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.rpartition('@')[2]}"


def _after(last: LedgerEntry | None, key: str, body: str) -> LedgerEntry:
    number, previous = (1, GENESIS) if last is None else (last.number + 1, last.hash)
    entry = LedgerEntry(number, key, previous, "", body)
    return LedgerEntry(number, key, previous, _hash(entry), body)


def _hash(entry: LedgerEntry) -> str:
    return digest(entry.previous, canonical([entry.number, entry.key]), canonical(entry.body))


def _origin() -> dict[str, str]:
    now = datetime.datetime.now(datetime.UTC)
    try:
        user = getpass.getuser()
    except (KeyError, OSError):  # a container whose user has no name
        user = f"user {os.getuid()}"
    return {"at": now.isoformat(timespec="milliseconds"), "who": f"{user}@{platform.node()}"}


def _content(body: str) -> dict[str, Any]:
    """The content of a record without the time and the author."""
    return {name: value for name, value in json.loads(body).items() if name not in ("at", "who")}
