"""The page: nothing in it acts, nothing leaves the machine, and marks are saved."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from firstbreak.audit.audit import Audit, audit
from firstbreak.audit.marks import load
from firstbreak.audit.page import render
from firstbreak.audit.report import renderable
from firstbreak.model import Sample
from tests.audit import browser
from tests.audit.dumps import by_length, dump, longer_and_longer
from tests.there import there

BREAK = "document.documentElement.id='broken'"
HOSTILE = (
    f'</pre></article><script>{BREAK}</script><img src=x onerror="{BREAK}"><svg onload="{BREAK}">'
    "\x1b[31mred\x1b[0m\x00\u202eevil\udcff<style>*{display:none}</style>{{7*7}}"
)


@pytest.fixture(scope="module")
def found() -> Audit:
    return audit(dump(longer_and_longer, by_length, skill=lambda t: 0.6 - 0.4 * t, steps=16), path="runs/one")


@pytest.fixture(scope="module")
def hostile() -> Audit:
    samples = (
        Sample(
            step=float(i // 8), prompt=HOSTILE, completion=f"{i}{HOSTILE}", reward=float(i % 2), rewards={HOSTILE: 1.0}
        )
        for i in range(64)
    )
    return audit(samples, path=HOSTILE)


def test_nothing_of_a_sample_becomes_markup(hostile: Audit) -> None:
    page = render(hostile)
    assert page.count("<script>") == 1
    assert page.count("<style>") == 1
    assert "<img" not in page
    assert 'onerror="' not in page
    assert not re.search("[\x00\x1b\u202e\udcff]", page)
    assert r"\x1b[31m" in page


def test_the_report_has_every_table_of_the_terminal_open(found: Audit) -> None:
    page = render(found)
    headings = ["The reward and independent scores", "Behaviour over the run", "Reward components", "Diversity"]
    printed = renderable(found).string()
    shown = [heading for heading in headings if heading in printed]
    assert len(shown) >= 3
    assert re.findall("<h2>([^<]+)</h2>", page) == [*shown, "Read and mark", "Evidence"]
    for cell in ("length", "up, rewarded", "effective number of strategies"):
        assert f">{cell}</td>" in page
    folded = re.findall("<details(?! open)[^>]*>", page)
    assert set(folded) == {'<details class="earned">'}  # only what would influence the reader of a sample


def test_the_page_asks_for_nothing_and_allows_nothing(found: Audit) -> None:
    page = render(found)
    policy = there(re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page))
    assert policy[1].startswith("default-src &#x27;none&#x27;")
    assert "unsafe" not in policy[1]
    assert "connect-src" not in policy[1]
    assert not re.search(r'(?:src|href)="', page)


def test_the_reward_is_folded_away_and_the_kinds_are_shuffled(found: Audit) -> None:
    page = render(found)
    assert page.count('<details class="earned">') == len(found.selected)
    kinds = re.findall(r"\. (Highest|Lowest|Suspicious|Surprising|Random|Beginning): ", page)
    assert len(kinds) == len(found.selected)
    assert kinds != [chosen.kind.capitalize() for chosen in found.selected]


def test_a_long_completion_is_cut_and_the_page_says_so() -> None:
    found = audit(Sample(step=1.0, prompt=str(i), completion="word " * 300_000, reward=0.0) for i in range(3))
    page = render(found)
    assert "characters left out" in page
    assert len(page) < 200_000


# In a browser -------------------------------------------------------------------------------------------------------


@pytest.fixture
def tab(tmp_path: Path) -> Iterator[browser.Page]:
    if browser.chromium() is None:
        missing = "no Chromium on this machine"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    with browser.page(tmp_path) as tab:
        yield tab


@pytest.fixture
def page(found: Audit, tmp_path: Path) -> str:
    """The address of the page on disk."""
    path = tmp_path / "page.html"
    path.write_text(render(found), encoding="utf-8")
    return path.as_uri()


@pytest.mark.browser
def test_a_person_marks_with_the_keyboard(tab: browser.Page, page: str, found: Audit) -> None:
    tab.open(page)
    total = len(found.selected)
    assert tab.ask("document.querySelectorAll('article.sample').length") == total
    assert tab.ask("[...document.querySelectorAll('article.sample')].filter(a => a.offsetParent).length") == 1
    for i, key in enumerate("123", 2):
        tab.press(key)
        tab.until(f"document.querySelector('.place').textContent.startsWith('{i} of')")
    assert tab.ask("document.querySelector('.place').textContent") == f"4 of {total}, 3 marked"
    tab.press("ArrowLeft")
    tab.press("r")
    assert tab.ask("document.querySelector('article.current details').open")
    assert tab.ask("document.querySelector('nav [aria-pressed=true]').dataset.mark") == "unsure"
    tab.press("3")  # the same key again takes the mark back
    tab.until("document.querySelector('.place').textContent.endsWith('2 marked')")
    assert tab.complaints() == []


@pytest.mark.browser
@pytest.mark.parametrize(("width", "mobile"), [(360, True), (1280, False)])
def test_the_page_fits_and_its_buttons_can_be_hit(tab: browser.Page, page: str, width: int, mobile: bool) -> None:
    tab.size(width, 740, mobile)
    tab.open(page)
    assert tab.ask("document.documentElement.scrollWidth - document.documentElement.clientWidth") == 0
    sizes = "[...document.querySelectorAll('.marking button')].map(b => b.getBoundingClientRect())"
    assert tab.ask(f"{sizes}.every(r => r.height >= 40 && r.width >= 40 && r.right <= innerWidth)")
    assert tab.ask(f"new Set({sizes}.map(r => r.top)).size") == 1
    tab.ask("document.querySelector('.marking').scrollIntoView({block: 'end'})")
    tab.click("nav [data-mark=hack]")
    tab.until("document.querySelector('.place').textContent.endsWith('1 marked')")


@pytest.mark.browser
def test_marks_are_saved_as_a_download(tab: browser.Page, page: str, tmp_path: Path) -> None:
    tab.open(page)
    for key in ("1", "2", "s"):
        tab.press(key)
    tab.until("document.querySelector('.saved').textContent === 'saved as a download'")
    for _ in range(200):
        if (tmp_path / "marks.json").exists() and (tmp_path / "marks.json").stat().st_size:
            break  # Chromium reserves the name with an empty file
        tab.ask("new Promise(r => setTimeout(r, 50))")
    assert sorted(load(tmp_path / "marks.json").values()) == ["hack", "keep"]
    assert tab.complaints() == []
    assert [url for url in tab.requests() if not url.startswith(("file:", "blob:"))] == []


@pytest.mark.browser
def test_nothing_of_a_hostile_sample_runs(tab: browser.Page, hostile: Audit, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    page = render(hostile)
    path.write_text(page, encoding="utf-8")
    tab.open(path.as_uri())
    assert tab.ask("document.documentElement.id") == ""
    assert tab.ask("document.querySelectorAll('article.sample').length") == len(hostile.selected)
    assert tab.complaints() == []
    path.write_text(re.sub(r"<meta http-equiv[^>]*>", "", page), encoding="utf-8")
    tab.open(path.as_uri())
    assert tab.ask("document.documentElement.id") == "", "escaping alone has to hold"


@pytest.mark.browser
def test_the_attack_would_work_where_nothing_is_escaped(tab: browser.Page, tmp_path: Path) -> None:
    path = tmp_path / "page.html"
    path.write_text(f"<!DOCTYPE html><html><body>{HOSTILE.encode('utf-8', 'replace').decode()}", encoding="utf-8")
    tab.open(path.as_uri())
    tab.until("document.documentElement.id === 'broken'")
