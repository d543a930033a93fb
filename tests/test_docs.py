"""Pages that are made from code and figures say what these say, and what the README shows is what the program prints."""

import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from click.testing import CliRunner

from firstbreak.cli import app
from firstbreak.cli.demo import RUN
from firstbreak.cli.diagnose import command as diagnose_command
from firstbreak.engine.diagnose import diagnose
from firstbreak.readers.read import read
from firstbreak.reports import screen
from firstbreak.values import replace
from tests.every import every
from tests.lazy import lazy

benchmarks = lazy("benchmarks")
docs = lazy("benchmarks.docs")

ROOT = Path(__file__).parent.parent
SVG = "{http://www.w3.org/2000/svg}"


def _long() -> set[str]:
    """Pages that take a minute to make, for a picture of a run at each name, and all but each 24th picture."""
    drawn = [name for name in benchmarks.docs.PAGES if re.match("pictures/(detectors|causes)/", name)]
    return {"reference/detectors.md", "reference/causes.md", "gallery.md", *drawn} - {*drawn[::24]}


@pytest.mark.parametrize("long", [False, pytest.param(True, marks=pytest.mark.thorough)])
def test_a_made_page_is_up_to_date(long: bool) -> None:
    def up_to_date(name: str) -> None:
        assert (ROOT / "docs" / name).read_text() == benchmarks.docs.PAGES[name]().rstrip() + "\n", "run `make docs`"

    taking_long = _long()
    every([name for name in benchmarks.docs.PAGES if (name in taking_long) == long], up_to_date)


def test_a_page_does_not_depend_on_what_was_called_before_it_was_made() -> None:
    """click keeps a command's `--help` under the names that its first caller asked for."""
    made = benchmarks.docs.PAGES["reference/cli.md"]()
    CliRunner().invoke(app, ["diagnose", "--help"])
    CliRunner().invoke(diagnose_command, ["--help"])
    assert benchmarks.docs.PAGES["reference/cli.md"]() == made


PICTURES = ROOT / "docs" / "pictures"


def test_the_picture_of_the_demo_shows_what_the_demo_prints() -> None:
    assert "(docs/pictures/demo.svg)" in (ROOT / "README.md").read_text()
    assert "(pictures/demo.svg)" in (ROOT / "docs" / "index.md").read_text()
    lines: dict[str, dict[float, str]] = {}
    for text in ElementTree.parse(PICTURES / "demo.svg").iter(f"{SVG}text"):
        if y := text.get("y"):
            lines.setdefault(y, {})[float(text.get("x", 0))] = text.text or ""
    shown = ["".join("".join(part for _, part in sorted(line.items())).split()) for line in lines.values()]
    printed = "".join(
        screen.render(replace(diagnose(read(RUN)), run=replace(read(RUN), path="my-run")), width=80).split()
    )
    assert len(shown) > 20
    assert [line for line in shown if line and line not in printed] == ["firstbreakdemo", "$firstbreakdemo"]


def test_every_picture_is_shown_and_every_shown_picture_is_there() -> None:
    pages_ = (ROOT / "docs" / "reference" / "detectors.md", ROOT / "docs" / "reference" / "causes.md")
    shown = {name for page in pages_ for name in re.findall(r"\(\.\./pictures/([\w/-]+\.svg)\)", page.read_text())}
    assert shown == {str(path.relative_to(PICTURES)) for path in PICTURES.glob("*/*.svg")}
    gallery = (ROOT / "docs" / "gallery.md").read_text()
    assert {f"causes/{p.name}" for p in PICTURES.glob("causes/*.svg")} == set(
        re.findall(r"\(pictures/([\w/-]+\.svg)\)", gallery)
    )


def test_the_report_in_the_docs_names_no_machine_and_runs_nothing() -> None:
    report = (PICTURES / "demo-report.html").read_text()
    assert str(ROOT) not in report.replace("<wbr>", "")
    assert "<script" not in report
    assert not re.search(r"src=\"(?!data:image/svg)", report)
    assert not re.search(r"href=\"(?!#|https://)", report)


def test_links_between_pages_lead_somewhere() -> None:
    def linked(page: Path) -> None:
        targets = re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", page.read_text())
        assert [target for target in targets if not (page.parent / target).exists()] == []

    every([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")], linked, name=lambda p: p.relative_to(ROOT))


def test_what_refers_to_the_log_names_a_heading_of_it() -> None:
    files = [*ROOT.glob("src/**/*.py"), *ROOT.glob("docs/*.md")]
    named = {name for file in files for name in re.findall(r"LOG\.md[,:]?\s\(?([A-Z][\w -]+)", file.read_text())}
    assert "Detectors" in named
    assert named <= {*re.findall(r"^## (.+)$", (ROOT / "LOG.md").read_text(), re.MULTILINE)}


#: what people ask for, and the page that answers; tests/web/test_site.py asks the search of the site for the same
ASKED = {
    "false alarm rate": "evidence.md",
    "github actions": "ci.md",
    "recorder": "recorder.md",
    "verl cluster": "cluster.md",
    "wandb": "readers.md",
    "install": "quickstart.md",
    "what is a link": "concepts.md",
    "stable-baselines3": "trainers/sb3.md",
    "slack": "alerts.md",
    "mcp": "agents.md",
}


def test_a_page_is_found_by_the_words_of_people_and_begins_with_a_command() -> None:
    def found(words: str) -> None:
        page = (ROOT / "docs" / ASKED[words]).read_text()
        headings = [line.lower() for line in page.splitlines() if line.startswith("#")]
        assert any(all(word in heading for word in words.split()) for heading in headings)
        assert f"({ASKED[words]}" in (ROOT / "docs" / "index.md").read_text()  # one click from the first page
        assert words == "false alarm rate" or re.search(r"```[^`]*(firstbreak|pip install)", page[:900])

    every(ASKED, found)


def test_the_recorders_page_says_of_each_kind_of_script_what_was_tested() -> None:
    page = (ROOT / "docs" / "recorder.md").read_text()
    table = page.partition("| your script | the line | tested with |")[2].partition("\n\n")[0]
    adapters = "TRL Stable-Baselines3 record.batch record.env record.transitions verl OpenRLHF AReaL RLlib"
    assert [name for name in adapters.split() if name not in table] == []
    assert all(len(row.split("|")) == 5 and row.split("|")[3].strip() for row in table.strip().splitlines())


def test_the_navigation_is_made_of_the_pages() -> None:
    present = (ROOT / "mkdocs.yml").read_text()
    there = {str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")}
    assert present == docs.navigation.configuration(present, there), "run `make docs`"
    listed = re.findall(r"^ +- ([\w/.-]+\.md)$", present, re.MULTILINE)
    assert sorted(listed) == sorted(there)  # each page once


def test_a_new_page_gets_into_the_navigation_by_itself() -> None:
    present = (ROOT / "mkdocs.yml").read_text()
    there = {str(page.relative_to(ROOT / "docs")) for page in ROOT.glob("docs/**/*.md")}
    made = docs.navigation.configuration(present, there | {"trainers/my_trainer.md", "my-page.md"})
    assert set(made.splitlines()) - set(present.splitlines()) == {
        "      - trainers/my_trainer.md",
        "      - my-page.md",
    }


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.browser
def test_the_screenshots_can_be_taken_and_show_what_they_are_for(tmp_path: Path) -> None:
    """By the command, in a process of its own: each shot fails where the page does not say what the picture is to show."""
    command = [sys.executable, "-m", "benchmarks.docs.screenshots", *docs.screenshots.SHOTS]
    environment = {**os.environ, "SMALLEST": str(tmp_path)}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    taken = {path.stem for path in (tmp_path / "docs" / "screens").iterdir()}
    assert taken == set(docs.screenshots.SHOTS)
