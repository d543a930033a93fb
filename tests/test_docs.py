"""Pages that are made from code and figures say what these say, and what the README shows is what the program prints."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from benchmarks import pages

from firstbreak.demo import RUN
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.read import read
from firstbreak.reports import terminal

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("name", pages.PAGES)
def test_a_made_page_is_up_to_date(name: str) -> None:
    assert (ROOT / "docs" / name).read_text() == pages.PAGES[name]().rstrip() + "\n", "run `make docs`"


def test_the_sample_in_the_readme_is_real() -> None:
    sample = re.search(r"```\n( ↶ ROLL BACK.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert sample is not None
    printed = [line.rstrip() for line in terminal.render(diagnose(read(RUN)), width=80, color=False).splitlines()]
    shown = [line.rstrip() for line in sample[1].splitlines()[1:]]  # the first line names the folder of the machine
    assert [line for line in shown if line and line not in printed] == []


@pytest.mark.parametrize("page", [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")], ids=lambda p: p.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target
