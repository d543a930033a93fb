"""Pages that are made from code and figures say what these say, and what the README shows is what the program prints."""

import fnmatch
import os
import re
import shutil
import subprocess
import sys
from functools import cache
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

docs = lazy("benchmarks.docs")

ROOT = Path(__file__).parent.parent
SVG = "{http://www.w3.org/2000/svg}"


def documentation(folder: Path) -> Path:
    """The pages of the site: the committed ones, and those that are made for it, without that of a rule that is gone."""
    shutil.copytree(ROOT / "docs", folder)
    (folder / "reference" / "causes").mkdir(parents=True, exist_ok=True)
    (folder / "reference" / "causes" / "gone.md").touch()
    docs.site.write(folder)
    return folder


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return documentation(tmp_path_factory.mktemp("documentation") / "docs")


def test_a_committed_page_is_up_to_date() -> None:
    def up_to_date(name: str) -> None:
        assert (ROOT / "docs" / name).read_text() == docs.PAGES[name]().rstrip() + "\n", "run `make docs`"

    every(docs.PAGES, up_to_date)


def test_a_page_of_the_site_alone_is_not_committed() -> None:
    ignored = re.findall(r"^/docs/(\S+)$", (ROOT / ".gitignore").read_text(), re.MULTILINE)
    hidden = {name for name in docs.BUILT for one in ignored if fnmatch.fnmatch(name, one + "*" * one.endswith("/"))}
    assert hidden == docs.BUILT.keys()
    assert [name for name in docs.PAGES for one in ignored if fnmatch.fnmatch(name, f"{one}*")] == []


def test_each_rule_has_a_page_and_a_line_in_the_list_of_its_kind(pages: Path) -> None:
    def told(name: str) -> None:
        kind, rule = re.findall(r"reference/(.+)/(.+)\.md", name)[0]
        assert (pages / name).read_text().startswith(f"# {rule}\n\n")
        assert f"| [{rule}]({kind}/{rule}.md) | " in (pages / "reference" / f"{kind}.md").read_text()

    every(docs.RULES, told)
    assert {str(page.relative_to(pages)) for page in pages.glob("reference/*/*.md")} == docs.RULES.keys()


def test_a_page_does_not_depend_on_what_was_called_before_it_was_made() -> None:
    """click keeps a command's `--help` under the names that its first caller asked for."""
    made = docs.BUILT["reference/cli.md"]()
    CliRunner().invoke(app, ["diagnose", "--help"])
    CliRunner().invoke(diagnose_command, ["--help"])
    assert docs.BUILT["reference/cli.md"]() == made


def test_the_picture_of_the_demo_shows_what_the_demo_prints() -> None:
    assert "(docs/pictures/demo.svg)" in (ROOT / "README.md").read_text()
    assert "(pictures/demo.svg)" in (ROOT / "docs" / "index.md").read_text()
    lines: dict[str, dict[float, str]] = {}
    for text in ElementTree.parse(ROOT / "docs/pictures/demo.svg").iter(f"{SVG}text"):
        if y := text.get("y"):
            lines.setdefault(y, {})[float(text.get("x", 0))] = text.text or ""
    shown = ["".join("".join(part for _, part in sorted(line.items())).split()) for line in lines.values()]
    printed = "".join(
        screen.render(replace(diagnose(read(RUN)), run=replace(read(RUN), path="my-run")), width=80).split()
    )
    assert len(shown) > 20
    assert [line for line in shown if line and line not in printed] == ["firstbreakdemo", "$firstbreakdemo"]


def test_every_picture_is_on_the_page_of_its_rule_and_those_of_causes_in_the_gallery(pages: Path) -> None:
    gallery = (pages / "gallery.md").read_text()

    def shown(picture: Path) -> None:
        kind, name = picture.parent.name, picture.stem
        page = (pages / "reference" / kind / f"{name}.md").read_text()
        assert re.search(rf"!\[.+ healthy twin\]\(\.\./\.\./pictures/{kind}/{name}\.svg\)\n\n(Here: |Made by )", page)
        assert kind == "detectors" or f"(pictures/{kind}/{name}.svg)" in gallery

    every(sorted((pages / "pictures").glob("*/*.svg")), shown)


@cache
def anchors(page: Path) -> set[str]:
    """The headings of a page, as the site names them."""
    found = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", heading).strip().lower()) for heading in found}


def test_links_between_pages_lead_somewhere(pages: Path) -> None:
    def linked(page: Path) -> None:
        for name, anchor in re.findall(r"\]\((?!https?:|mailto:)([^)#]*)#?([^)]*)\)", page.read_text()):
            target = page.parent / name if name else page
            assert target.exists(), name
            assert not anchor or anchor in anchors(target), f"{name}#{anchor}"

    every(sorted(pages.glob("**/*.md")), linked, name=lambda page: page.relative_to(pages))


def test_the_pages_at_the_root_lead_to_what_is_committed() -> None:
    """They are read without the site."""
    text = "\n".join(page.read_text() for page in ROOT.glob("*.md"))
    targets = set(re.findall(r"\]\((?!https?:|#|mailto:)([^)#]+)", text))
    assert len(targets) > 15
    assert {name for name in targets if not (ROOT / name).exists()} == set()
    assert targets & {f"docs/{name}" for name in docs.BUILT} == set()


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
    "how often is it wrong": "evidence.md",
    "what does the recorder do": "recorder.md",
    "notebook": "quickstart.md",
    "pull request": "ci.md",
}


def test_a_page_is_found_by_the_words_of_people_and_begins_with_a_command() -> None:
    def found(words: str) -> None:
        page = (ROOT / "docs" / ASKED[words]).read_text()
        headings = [line.lower() for line in page.splitlines() if line.startswith("#")]
        assert any(all(word in heading for word in words.split()) for heading in headings)
        assert f"({ASKED[words]}" in (ROOT / "docs" / "index.md").read_text()  # one click from the first page
        assert ASKED[words] == "evidence.md" or re.search(r"```[^`]*(firstbreak|pip install)", page[:900])

    every(ASKED, found)


def test_the_recorders_page_says_of_each_kind_of_script_what_was_tested() -> None:
    page = (ROOT / "docs" / "recorder.md").read_text()
    table = page.partition("| your script | the line | tested with |")[2].partition("\n\n")[0]
    adapters = "TRL Stable-Baselines3 record.batch record.env record.transitions verl OpenRLHF AReaL RLlib"
    assert [name for name in adapters.split() if name not in table] == []
    assert all(len(row.split("|")) == 5 and row.split("|")[3].strip() for row in table.strip().splitlines())


def test_the_navigation_is_made_of_the_pages(pages: Path) -> None:
    present = (ROOT / "mkdocs.yml").read_text()
    there = {str(page.relative_to(pages)) for page in pages.glob("**/*.md")}
    assert present == docs.navigation.configuration(present, there), "run `make docs`"
    listed = re.findall(r"^ +- ([\w/.-]+\.md)$", present, re.MULTILINE)
    assert sorted(listed) == sorted(there - docs.RULES.keys())  # each page once; lists name the rules


def test_a_new_page_gets_into_the_navigation_by_itself(pages: Path) -> None:
    present = (ROOT / "mkdocs.yml").read_text()
    there = {str(page.relative_to(pages)) for page in pages.glob("**/*.md")}
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
