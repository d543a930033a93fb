"""Whole reports, kept as files. `make golden` writes them again; read the difference before you commit it."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from firstbreak.model import Diagnosis
from firstbreak.reports import json, markdown, screen, terminal
from tests.reports import fixtures

GOLDEN = Path(__file__).parent / "golden"
REPORTS: dict[str, Callable[[Diagnosis], str]] = {
    "txt": terminal.render,
    "screen.txt": screen.render,
    "ascii.txt": lambda dx: terminal.render(dx, encoding="ascii"),
    "md": markdown.render,
    "json": json.render,
}


@pytest.mark.parametrize("suffix", sorted(REPORTS))
@pytest.mark.parametrize("name", sorted(fixtures.ALL))
def test_report_is_the_golden_one(name: str, suffix: str) -> None:
    path = GOLDEN / f"{name}.{suffix}"
    report = REPORTS[suffix](fixtures.ALL[name]()) + "\n"
    if os.environ.get("GOLDEN") == "write":
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(report.encode())
    assert path.exists(), "run `make golden`"
    assert report == path.read_bytes().decode(), "run `make golden` and read the difference"


def test_no_golden_report_is_left_behind() -> None:
    expected = {f"{name}.{suffix}" for name in fixtures.ALL for suffix in REPORTS}
    assert {path.name for path in GOLDEN.iterdir()} == expected
