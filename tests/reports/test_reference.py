"""Every name in a report leads to its page, and no link leads nowhere."""

import json
import re
from dataclasses import replace
from functools import cache

import pytest

from firstbreak.cli.demo import RUN
from firstbreak.engine import registry
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Diagnosis
from firstbreak.readers.read import read
from firstbreak.reports import ci, html, markdown, reference, terminal
from firstbreak.reports import json as json_report
from tests.every import every
from tests.lazy import lazy
from tests.there import there

docs = lazy("benchmarks.docs")
jsonschema = lazy("jsonschema")

SITE = "https://docs.example.org/firstbreak"
NAMES = [*registry.detectors(), *registry.causes()]


@cache
def demo() -> Diagnosis:
    return diagnose(replace(read(RUN), path="my-run"))


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv(reference.SITE, f"{SITE}/")
    return SITE


def test_every_detector_and_cause_has_a_page_with_its_text() -> None:
    def told(name: str) -> None:
        page = reference.entry(name)
        item = there(reference.known(name))
        assert html.prose(item.title.split("`")[0]) in page
        assert page.count("<h3>") >= 3

    every(NAMES, told)


def test_every_address_is_a_page_of_the_documentation(site: str) -> None:
    def there(name: str) -> None:
        page = (reference.address(name) or "").removeprefix(f"{site}/").replace("/index.html", ".md")
        assert page in docs.RULES

    every(NAMES, there)


@pytest.mark.parametrize("value", ["", "javascript:alert(1)//", "docs"])
def test_without_a_site_there_is_no_address(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv(reference.SITE, value)
    assert reference.address("length-runaway") is None
    assert "\x1b]8" not in terminal.render(demo(), color=True)
    assert '"doc"' not in json_report.render(demo())
    assert "firstbreak explain NAME" in terminal.render(demo())
    assert "firstbreak explain NAME" in markdown.render(demo())


def test_a_plugins_check_has_no_page_on_the_site(site: str, monkeypatch: pytest.MonkeyPatch) -> None:
    own = replace(registry.detectors()["length-runaway"], id="of-a-plugin")
    monkeypatch.setattr(registry, "detectors", lambda: {"of-a-plugin": own})
    assert reference.known("of-a-plugin")
    assert reference.address("of-a-plugin") is None


def test_every_name_is_a_link_where_the_site_is_known(site: str) -> None:
    shown = terminal.render(demo(), color=True), markdown.render(demo()), html.fragment(demo()), ci.sarif([demo()])
    addresses = {reference.address(o.detector) for o in demo().findings}
    assert len(addresses) > 5
    for text in shown:
        assert addresses <= set(re.findall(rf"{site}/[^\s>;\"\x1b\\]+", text))
    payload = json.loads(json_report.render(demo()))
    jsonschema.validate(payload, json_report.schema())
    assert {finding["doc"] for finding in payload["findings"]} == addresses
    assert payload["causes"][0]["doc"] == f"{site}/reference/causes/reward-pays-for-length/index.html"


def test_the_html_report_carries_the_pages_that_it_links_to() -> None:
    page = html.render(demo())
    targets, ids = re.findall(r'href="#([^"]+)"', page), re.findall(r'\bid="([^"]+)"', page)
    assert set(targets) <= set(ids)
    assert {f"about-{name}" for name in reference.named(demo())} <= set(targets)
    assert len(ids) == len(set(ids))
    assert page.count('src="data:image/svg+xml') >= 5
    assert len(page) < 400_000


@pytest.mark.parametrize("each", [24, pytest.param(1, marks=pytest.mark.thorough)])  # all: a minute
def test_the_packed_pictures_are_those_of_the_chosen_runs(each: int) -> None:
    chosen = [(kind, name) for kind in ("detectors", "causes") for name in docs.pictures.chosen(kind)]
    assert {name for _, name in chosen} == reference.pictures().keys()

    def drawn(picture: tuple[str, str]) -> None:
        assert docs.pictures.drawn(*picture) == reference.picture(picture[1]), "run `make docs`"

    every(chosen[::each], drawn)
