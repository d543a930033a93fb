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


@pytest.mark.parametrize("heading", ["## Different protocols are not compared", "## Test problems in training data"])
def test_the_page_on_evaluation_shows_what_its_commands_print(heading: str) -> None:
    page = (Path(__file__).parents[1] / "docs" / "evaluation.md").read_text()
    section = page.partition(heading)[2].partition("\n## ")[0]
    assert "```console" in section
    assert benchmarks.tutorials.retold(section) == section
