"""Pages that are made from code and figures say what these say, and what the README shows is what the program prints."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

from benchmarks import docs as pages
from benchmarks.docs import navigation
from click.testing import CliRunner

from firstbreak.cli import app
from firstbreak.cli.demo import RUN
from firstbreak.cli.diagnose import command as diagnose_command
from firstbreak.diagnosis.diagnose import diagnose
from firstbreak.readers.read import read
from firstbreak.reports import terminal
from tests.every import every

ROOT = Path(__file__).parent.parent


def test_a_made_page_is_up_to_date() -> None:
    def up_to_date(name: str) -> None:
        assert (ROOT / "docs" / name).read_text() == pages.PAGES[name]().rstrip() + "\n", "run `make docs`"

    every(pages.PAGES, up_to_date)


def test_a_page_does_not_depend_on_what_was_called_before_it_was_made() -> None:
    """click keeps a command's `--help` under the names that its first caller asked for."""
    made = pages.PAGES["reference/cli.md"]()
    CliRunner().invoke(app, ["diagnose", "--help"])
    CliRunner().invoke(diagnose_command, ["--help"])
    assert pages.PAGES["reference/cli.md"]() == made


def test_the_sample_in_the_readme_is_real() -> None:
    sample = re.search(r"```\n( ↶ ROLL BACK.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)
    assert sample is not None
    printed = [line.rstrip() for line in terminal.render(diagnose(read(RUN)), width=80, color=False).splitlines()]
    shown = [line.rstrip() for line in sample[1].splitlines()[1:]]  # the first line names the folder of the machine
    assert [line for line in shown if line and line not in printed] == []


def test_links_between_pages_lead_somewhere() -> None:
    def linked(page: Path) -> None:
        targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text())
        assert [target for target in targets if not (page.parent / target).exists()] == []

    every([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")], linked, name=lambda p: p.relative_to(ROOT))


def test_the_navigation_is_made_of_the_pages() -> None:
    present = (ROOT / "mkdocs.yml").read_text()
    there = {str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")}
    assert present == navigation.configuration(present, there), "run `make docs`"
    listed = re.findall(r"^ +- ([\w/.-]+\.md)$", present, re.MULTILINE)
    assert sorted(listed) == sorted(there)  # each page once


def test_a_new_page_gets_into_the_navigation_by_itself() -> None:
    present = (ROOT / "mkdocs.yml").read_text()
    there = {str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")}
    made = navigation.configuration(present, there | {"trainers/my_trainer.md", "my-page.md"})
    assert set(made.splitlines()) - set(present.splitlines()) == {
        "      - trainers/my_trainer.md",
        "      - my-page.md",
    }


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
