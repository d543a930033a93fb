"""Every tutorial runs as it stands, and prints what it shows. `make docs` writes the output anew."""

import re
from pathlib import Path

import pytest

from tests.lazy import lazy

benchmarks = lazy("benchmarks")

pytestmark = pytest.mark.slow


#: tutorials whose commands take a quarter of a minute, and are those of other tests
LONG = ("guard", "closeout", "preflight")
PAGES = [
    pytest.param(page, id=page.stem, marks=[pytest.mark.thorough] if page.stem in LONG else [])
    for page in benchmarks.tutorials.pages()
]


@pytest.mark.parametrize("page", PAGES)
def test_a_tutorial_prints_what_it_shows(page: Path) -> None:
    told = page.read_text()
    assert re.search(r"^\$ ", told, re.MULTILINE)
    assert benchmarks.tutorials.retold(told) == told


def test_a_changed_output_would_be_seen() -> None:
    page = "```console\n$ echo one\ntwo\n```"
    assert benchmarks.tutorials.retold(page) == "```console\n$ echo one\none\n```"
