"""The documentation's site: it builds without a warning, and its search answers what people ask for."""

import re
import shutil
import subprocess
import sys
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from firstbreak.engine import registry
from firstbreak.reports import reference
from tests.every import every
from tests.lazy import lazy
from tests.test_docs import ASKED, ROOT, documentation

playwright = lazy("playwright.sync_api")

pytestmark = [pytest.mark.thorough, pytest.mark.slow]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """In a copy, since the builder writes beside the configuration. Broken links, and headings that do not exist, fail it."""
    folder = tmp_path_factory.mktemp("documentation")
    documentation(folder / "docs")
    shutil.copy(ROOT / "mkdocs.yml", folder)
    build = [Path(sys.executable).parent / "zensical", "build", "--strict"]
    done = subprocess.run(build, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "site"


def test_the_links_of_reports_lead_to_it_and_it_asks_nobody_else(built: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(reference.SITE, built.as_uri())

    def found(name: str) -> None:
        assert name in Path((reference.address(name) or "").removeprefix("file://")).read_text()

    every([*registry.detectors(), *registry.causes()], found)
    page = (built / "quickstart" / "index.html").read_text()
    assert "firstbreak demo" in page
    fetched = re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(https?:[^"]+)"', page)
    assert [address for address in fetched if "canonical" not in address] == []


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1440])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_home_page_is_accessible(built: Path, chromium: playwright.Browser, width: int, scheme: str) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(built)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tab = chromium.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    tab.goto(f"http://127.0.0.1:{server.server_port}/", wait_until="networkidle")
    tab.evaluate((ROOT / "tests" / "web" / "axe.min.js").read_text())
    found = tab.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    server.shutdown()
    assert {v["id"]: v["nodes"][0]["html"] for v in found} == {}


@pytest.mark.browser
def test_the_first_answer_of_the_search_is_the_page_that_answers(built: Path, chromium: playwright.Browser) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(built)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    tab = chromium.new_page()

    def first(words: str) -> None:
        tab.goto(f"http://127.0.0.1:{server.server_port}/")
        tab.locator("button.md-search__button").click()
        tab.keyboard.type(words)
        answer, address, before = tab.locator("mark").first.locator("xpath=ancestor::a"), "", None
        while address != before:  # each letter is an answer of its own, on a busy machine a late one
            before, address = address, answer.get_attribute("href") or ""
            tab.wait_for_timeout(500)
        assert f"/{ASKED[words].removesuffix('.md')}/" in address

    every(ASKED, first)
    server.shutdown()
