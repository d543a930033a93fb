"""Ledgers to write into: a file, and a real PostgreSQL."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.conftest import IN_CI
from tests.evals import servers


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a server that lives as long as the tests."""
    folder = servers.programs()
    lacks = (
        "psycopg" if importlib.util.find_spec("psycopg") is None else "a PostgreSQL server" if folder is None else None
    )
    if lacks or folder is None:
        missing = f"{lacks} is not installed (apt-get install postgresql; pip install 'firstbreak[eval]')"
        if IN_CI:
            pytest.fail(missing)
        pytest.skip(missing)
    with servers.postgresql(folder) as url:
        yield url


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where an empty ledger can be made."""
    if request.param == "sqlite":
        return str(tmp_path / "ledger.db")
    import psycopg

    url: str = request.getfixturevalue("postgresql")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP TABLE IF EXISTS firstbreak_ledger")
    return url
