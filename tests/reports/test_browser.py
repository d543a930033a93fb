"""The page in a real browser: nothing runs, nothing overflows."""

import os
import re
import shutil
import subprocess
from html import escape
from pathlib import Path

import pytest

from firstbreak.reports import html
from tests.reports import fixtures
from tests.waiting import PATIENCE

pytestmark = pytest.mark.browser
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--virtual-time-budget=2000",
)  # fmt: skip
BROKEN = re.compile(r"<html[^>]* id=\"broken\"")


@pytest.fixture(scope="module")
def chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        missing = "no Chromium on this machine"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    return found


def dom(chromium: str, page: str, folder: Path, width: int = 1280) -> str:
    """The document after everything that would run has run."""
    path = folder / "page.html"
    path.write_text(page, encoding="utf-8")
    size = f"--window-size={width},900"
    profile = f"--user-data-dir={folder / 'profile'}"
    command = [chromium, *FLAGS, profile, size, "--dump-dom", path.as_uri()]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout


def test_the_attack_works_where_nothing_is_escaped(chromium: str, tmp_path: Path) -> None:
    """Else the tests below would prove nothing."""
    page = f"<!DOCTYPE html><html><body>{fixtures.HOSTILE.encode('utf-8', 'replace').decode()}</body></html>"
    assert BROKEN.search(dom(chromium, page, tmp_path))


def test_nothing_from_a_log_runs(chromium: str, tmp_path: Path) -> None:
    seen = dom(chromium, html.render(fixtures.hostile()), tmp_path)
    assert "</article>" in seen
    assert not BROKEN.search(seen)


def test_nothing_from_a_log_runs_without_the_policy_either(chromium: str, tmp_path: Path) -> None:
    """A notebook has no Content-Security-Policy: escaping alone has to hold."""
    page = f"<!DOCTYPE html><html><body>{html.fragment(fixtures.hostile())}</body></html>"
    seen = dom(chromium, page, tmp_path)
    assert "</article>" in seen
    assert not BROKEN.search(seen)


def test_the_policy_stops_scripts(chromium: str, tmp_path: Path) -> None:
    page = html.render(fixtures.healthy()).replace(
        "<main>", "<main><script>document.documentElement.id='broken'</script>"
    )
    assert not BROKEN.search(dom(chromium, page, tmp_path))


MEASURE = """<script>onload = () => {
  const root = document.documentElement, seen = top.document.documentElement.dataset
  const wide = [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > root.clientWidth + 1)
  seen.width = innerWidth
  seen.overflow = root.scrollWidth - root.clientWidth
  seen.wide = wide.map(e => e.tagName).join()
  seen.styled = getComputedStyle(document.querySelector("article")).display
}</script>"""


NARROW = {("grpo_truncation", 360), ("hostile", 360), ("hostile", 1280), ("healthy", 768)}  #: what `make test` looks at


@pytest.mark.parametrize(
    ("name", "width"),
    [
        pytest.param(name, width, marks=[] if (name, width) in NARROW else [pytest.mark.thorough])
        for name in sorted(fixtures.ALL)
        for width in (360, 768, 1280)
    ],
)
def test_no_page_scrolls_sideways(chromium: str, tmp_path: Path, name: str, width: int) -> None:
    """Measured in a frame, since a window of a headless browser is at least 500 pixels wide."""
    page = re.sub(r"<meta http-equiv[^>]*>", MEASURE, html.render(fixtures.ALL[name]()))
    frame = f'<!DOCTYPE html><html><body><iframe width="{width}" height="900" frameborder="0" srcdoc="{escape(page)}">'
    seen = dom(chromium, frame, tmp_path)
    assert f'data-width="{width}" data-overflow="0" data-wide="" data-styled="grid"' in seen


def test_the_style_sheet_passes_its_own_policy(chromium: str, tmp_path: Path) -> None:
    """The browser computes the hash of the style sheet itself: a page without styles would still pass every other test."""
    picture = tmp_path / "page.png"
    path = tmp_path / "page.html"
    path.write_text(html.render(fixtures.healthy()), encoding="utf-8")
    profile = f"--user-data-dir={tmp_path / 'profile'}"
    log = subprocess.run(
        [chromium, *FLAGS, "--enable-logging=stderr", profile, f"--screenshot={picture}", path.as_uri()],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=True,
    ).stderr
    assert "Content Security Policy" not in log
    assert picture.stat().st_size > 10_000
