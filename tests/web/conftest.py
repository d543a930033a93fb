"""One server over one folder of runs, and one browser, for all tests of the page."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from firstbreak.cli.demo import RUN
from firstbreak.preflight import memory
from firstbreak.preflight.memory import drawing
from firstbreak.reports import preflight
from firstbreak.reports.json import dump
from tests.conftest import IN_CI
from tests.lazy import lazy
from tests.make import write_jsonl
from tests.waiting import PATIENCE

pytest.importorskip("uvicorn", reason="`make setup-test` brings it")

from tests.web.serving import ROOT, Served, serving, write_hostile

playwright = lazy("playwright.sync_api")


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A broken run with a plan of its memory, a healthy one, a large one, one that cannot be read, and an attack."""
    folder = tmp_path_factory.mktemp("served") / "runs"
    shutil.copytree(RUN, folder / "demo")
    planned = memory.check("mlp", algo="sac", observation="17", actions=6)
    (folder / "demo" / drawing.FILE).write_text(dump(preflight.payload(planned)))
    shutil.copytree(ROOT / "data" / "sb3_ppo_learning_rate", folder / "sb3")
    write_jsonl(folder / "large" / "metrics.jsonl", 5000)
    write_jsonl(folder / "growing" / "metrics.jsonl", 100)
    write_hostile(folder)
    return folder


@pytest.fixture(scope="session")
def site(runs: Path) -> Iterator[Served]:
    with serving(runs) as served:
        yield served


@pytest.fixture(scope="module")  # the driver's event loop runs in this thread: no other module may meet it
def chromium() -> Iterator[playwright.Browser]:
    found = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if found is None:
        if IN_CI:
            pytest.fail("no Chromium on this machine")
        pytest.skip("no Chromium on this machine")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"], timeout=1000 * PATIENCE)
        yield browser
        browser.close()


def opened(chromium: playwright.Browser, **options: Any) -> playwright.Page:
    """A fresh tab, in which a slow machine is waited for, and whose pages are used when their keys work."""
    tab = chromium.new_page(**options)
    tab.set_default_timeout(1000 * PATIENCE)

    def usable(load: Callable[..., Any]) -> Callable[..., Any]:
        def loaded(*given: Any, **more: Any) -> Any:
            answer = load(*given, **more)
            if options.get("java_script_enabled", True) and tab.locator("#theme").count():
                tab.locator("html[data-ready]").wait_for(state="attached")
            return answer

        return loaded

    tab.goto, tab.reload = usable(tab.goto), usable(tab.reload)  # type: ignore[method-assign]
    tab.wait_for_url = usable(tab.wait_for_url)  # type: ignore[method-assign]
    return tab


@pytest.fixture
def page(chromium: playwright.Browser) -> Iterator[playwright.Page]:
    """A fresh tab in which any complaint of the browser fails the test."""
    tab = opened(chromium, viewport={"width": 1280, "height": 900})
    complaints: list[str] = []
    tab.on("console", lambda m: complaints.append(m.text) if m.type in ("error", "warning") else None)
    tab.on("pageerror", lambda error: complaints.append(str(error)))
    tab.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
    yield tab
    tab.close()
    assert complaints == []
