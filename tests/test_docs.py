"""Pages that are made from code and figures say what these say, and what the README shows is what the program prints."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
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


@pytest.mark.parametrize(
    "page", [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")], ids=lambda p: str(p.relative_to(ROOT))
)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_page_is_in_the_table_of_contents() -> None:
    listed = set(re.findall(r"^ +- ([\w/.-]+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE))
    assert listed == {str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")}


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    """Broken links and headings that do not exist included; in a copy, since the builder writes beside the configuration."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copy(ROOT / "mkdocs.yml", tmp_path)
    build = [Path(sys.executable).parent / "zensical", "build", "--strict"]
    done = subprocess.run(build, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    page = (tmp_path / "site" / "quickstart" / "index.html").read_text()
    assert "firstbreak demo" in page
    fetched = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page)
    assert [address for address in fetched if "canonical" not in address] == []  # the site asks nobody else
