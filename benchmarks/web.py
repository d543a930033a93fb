"""How soon a page is there, how soon it follows, how much an installation weighs: `make bench-web`."""

import contextlib
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import zipfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright
from tests.make import write_jsonl
from tests.web.serving import HOSTILE_NAME, write_hostile

from benchmarks.machine import environment
from benchmarks.size import place, sized
from firstbreak.cli.demo import RUN

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "web.json"
METRICS, POINTS = sized((100, 10_000), (10, 500))
MANY = sized(1000, 30)
MILLION, ZOOMS = sized((1_000_000, 13), (5_000, 2))
REPEATS = sized(5, 1)
CHART_LIBRARY = "uPlot"
PATIENCE = 180_000  # milliseconds for one page, on a busy machine
IN_VIEW_DRAWN = """(() => {
  const seen = [...document.querySelectorAll(".plot[data-seen='1']")]
  return seen.length > 0 && seen.every((plot) => plot.querySelector("canvas"))
})()"""


def main() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        runs = folder / "runs"
        _write_runs(runs)
        with chromium() as browser:
            figures = {
                **_paint(browser, runs),
                **_live(browser, runs),
                **_million(browser, runs),
                **_many(browser, folder / "many"),
                **_axe(browser, runs),
            }
        figures |= _package(folder)
    result = place(RESULT)
    result.write_text(
        json.dumps(
            {**environment("make bench-web", ("firstbreak", "numpy", "starlette", "uvicorn")), **figures}, indent=2
        )
        + "\n"
    )
    print(result.read_text())


def _write_runs(runs: Path) -> None:
    shutil.copytree(RUN, runs / "demo")
    write_hostile(runs)
    write_jsonl(runs / "growing" / "metrics.jsonl", 200)
    rng = np.random.default_rng(0)
    names = ["reward", "kl", "entropy", "loss", "grad_norm", *(f"custom/metric_{i}" for i in range(METRICS - 5))]
    _write_rows(
        runs / "wide" / "metrics.jsonl", names, 1 + 0.01 * rng.standard_normal((POINTS, METRICS)).cumsum(axis=0)
    )
    _write_rows(
        runs / "long" / "metrics.jsonl", ["reward"], 1 + 0.001 * rng.standard_normal((MILLION, 1)).cumsum(axis=0)
    )


def _write_rows(path: Path, names: list[str], values: np.ndarray) -> None:
    path.parent.mkdir(parents=True)
    with path.open("w") as file:
        for step, row in enumerate(values.tolist()):
            file.write(json.dumps({"step": step, **dict(zip(names, row, strict=True))}) + "\n")


# --- the page ---------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """The Chromium of this machine."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))))
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield browser
        browser.close()


@contextlib.contextmanager
def server(runs: Path) -> Iterator[str]:
    """The address of `firstbreak serve`, in a process of its own as a user starts it."""
    command = [
        sys.executable,
        "-c",
        "from firstbreak.cli import main; main()",
        "serve",
        str(runs),
        "--port",
        "0",
        "--no-token",
    ]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        found = re.search(r"http://\S+/", process.stderr.readline())
        threading.Thread(target=process.stderr.read, daemon=True).start()
        assert found is not None
        try:
            yield found[0]
        finally:
            process.terminate()


def _paint(browser: Browser, runs: Path) -> dict[str, Any]:
    """Seconds from the request to the first painted content, and to the curves in view."""
    with server(runs) as address:
        cold = _painted(browser, f"{address}run/wide")
        warm = [_painted(browser, f"{address}run/wide") for _ in range(REPEATS)]
        drawn = [_until_drawn(browser, f"{address}run/wide#curves") for _ in range(REPEATS)]
        _painted(browser, f"{address}run/long")
        million = [_painted(browser, f"{address}run/long") for _ in range(REPEATS)]
    return {
        "metrics": METRICS,
        "points": POINTS,
        "first_paint_s": round(statistics.median(warm), 3),
        "first_paint_after_start_s": round(cold, 3),
        "curves_drawn_s": round(statistics.median(drawn), 3),
        "million_first_paint_s": round(statistics.median(million), 3),
    }


def _painted(browser: Browser, address: str, what: str = "article") -> float:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.goto(address, timeout=PATIENCE)
    until(
        page, f"performance.getEntriesByName('first-contentful-paint').length > 0 && !!document.querySelector('{what}')"
    )
    paint: float = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime") / 1000
    page.close()
    return paint


def _until_drawn(browser: Browser, address: str) -> float:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    start = time.perf_counter()
    page.goto(address, timeout=PATIENCE)
    until(page, IN_VIEW_DRAWN)
    seconds = time.perf_counter() - start
    page.close()
    return seconds


def _live(browser: Browser, runs: Path) -> dict[str, Any]:
    """Seconds from a line in the log to the new diagnosis on the page."""
    seconds = []
    with server(runs) as address:
        page = browser.new_page()
        page.goto(f"{address}run/growing", timeout=PATIENCE)
        for i in range(REPEATS):
            start, rows = time.perf_counter(), 200 + 10 * i
            write_jsonl(runs / "growing" / "metrics.jsonl", 10, start=rows)
            until(page, f"document.querySelector('article .verdict').textContent.includes('to {rows + 9}')")
            seconds.append(time.perf_counter() - start)
        page.close()
    return {"live_update_s": round(statistics.median(seconds), 3), "live_update_worst_s": round(max(seconds), 3)}


def _million(browser: Browser, runs: Path) -> dict[str, Any]:
    """Seconds of one zoom into a curve of a million points, and whether its points are then exact."""
    with server(runs) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(f"{address}run/long#curves", timeout=PATIENCE)
        until(page, "document.querySelectorAll('.plot canvas').length >= 1")
        seconds = []
        for _ in range(ZOOMS):  # each press halves the view, down to some hundred points
            before = page.locator("#range").inner_text()
            start = time.perf_counter()
            page.keyboard.press("+")
            until(page, f"document.querySelector('#range').textContent !== {json.dumps(before)}")
            until(
                page, "document.querySelector('.plot').dataset.drawn === document.querySelector('#range').textContent"
            )
            seconds.append(time.perf_counter() - start)
        exact = page.evaluate("!document.querySelector('.plot').classList.contains('thinned')")
        page.close()
    return {"million_points_zoom_s": round(statistics.median(seconds), 3), "million_points_exact_after_zoom": exact}


def _many(browser: Browser, runs: Path) -> dict[str, Any]:
    """Seconds to the first paint of a list of many runs, and the longest time that filtering and sorting it hold the page."""
    for i in range(MANY):
        write_jsonl(runs / f"group-{i % 10}-seed-{i:04}" / "metrics.jsonl", 5)
    with server(runs) as address:
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address, timeout=PATIENCE)
        until(page, f"document.querySelectorAll('.runs tbody tr').length === {MANY}")
        until(page, "!document.querySelector('#tally').textContent.includes('being read')", limit=600)
        page.close()
        paint = [_painted(browser, address, "tbody tr") for _ in range(REPEATS)]
        page = browser.new_page(viewport={"width": 1280, "height": 900})
        page.goto(address, timeout=PATIENCE)
        until(page, f"document.querySelectorAll('.runs tbody tr').length === {MANY}")
        page.evaluate(_WATCH_TASKS)
        for text in ("group-3", "group-3 seed-01", ""):
            page.locator("#filter").fill(text)
            page.wait_for_timeout(200)
        for key in page.locator("[data-sort]").all():
            key.click()
            page.wait_for_timeout(200)
        longest: float = page.evaluate("Math.max(0, ...window.tasks)") / 1000
        page.close()
    return {
        "many_runs": MANY,
        "many_first_paint_s": round(statistics.median(paint), 3),
        "many_longest_task_s": round(longest, 3),
    }


#: a task of the page of more than 50 ms is "long": nothing is drawn and no key is answered meanwhile
_WATCH_TASKS = """() => {
  window.tasks = []
  new PerformanceObserver(list => window.tasks.push(...list.getEntries().map(e => e.duration))).observe({type: "longtask"})
}"""


def _axe(browser: Browser, runs: Path) -> dict[str, Any]:
    """Serious and critical problems that axe-core finds, over pages, widths and themes."""
    script = (ROOT / "tests" / "web" / "axe.min.js").read_text()
    paths = (
        "",
        "run/demo",
        "samples/demo",
        f"run/{quote(HOSTILE_NAME)}",
        "compare?run=demo&run=growing",
        "compare?run=demo&run=growing&run=wide",
        "explain/length-runaway",
        "explain/reward-pays-for-length",
        "explain/kl.ref",
        "run/nothing",
    )
    found: list[str] = []
    looked = 0
    with server(runs) as address:
        for path in sized(paths, paths[:1]):
            for width in (390, 1280):
                for scheme in ("light", "dark"):
                    page = browser.new_page(
                        viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True
                    )
                    answer = page.goto(address + path, timeout=PATIENCE)
                    if answer is None or answer.status >= 500:  # a page that is not there has no problems
                        raise RuntimeError(f"{path} cannot be shown")
                    page.wait_for_timeout(300)
                    page.evaluate(script)
                    violations = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
                    found += [
                        f"{path} {width} {scheme}: {v['id']}"
                        for v in violations
                        if v["impact"] in ("serious", "critical")
                    ]
                    looked += 1
                    page.close()
    return {"axe_serious": len(found), "axe_found": found, "axe_pages": looked}


def until(page: Page, condition: str, limit: float = PATIENCE / 1000) -> None:
    end = time.perf_counter() + limit
    while not page.evaluate(condition):
        if time.perf_counter() > end:
            raise TimeoutError(condition)
        page.wait_for_timeout(5)


# --- the package ------------------------------------------------------------------------------------------------------


def _package(folder: Path) -> dict[str, Any]:
    """Size of the wheel without the chart library, of an installation with all it depends on, and the time of an import."""
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--outdir", folder / "dist", ROOT], check=True, capture_output=True
    )
    (wheel,) = (folder / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        items = archive.infolist()
    chart = sum(item.compress_size for item in items if CHART_LIBRARY in item.filename)
    parts: Counter[str] = Counter()
    for item in items:
        package, *folders, _ = item.filename.split("/")
        parts[f"{package}/{folders[0]}" if folders and package == "firstbreak" else "other"] += item.compress_size
    parts["names and places of the files"] = wheel.stat().st_size - sum(item.compress_size for item in items)
    subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
    python = folder / "venv" / "bin" / "python"
    site = Path(_run(python, "import sysconfig; print(sysconfig.get_path('purelib'))"))
    before = set(site.rglob("*"))
    subprocess.run([python, "-m", "pip", "install", "--quiet", "--no-compile", wheel], check=True)
    weights: Counter[str] = Counter()
    for path in set(site.rglob("*")) - before:
        if path.is_file() and path.suffix != ".pyc":  # bytecode is a cache, made by whoever runs first
            weights[_project(path.relative_to(site).parts[0])] += path.stat().st_size
    demo = subprocess.run(
        [folder / "venv" / "bin" / "firstbreak", "demo", "--format", "json"], capture_output=True, check=False
    )
    timed = "import time; t = time.{clock}(); import firstbreak; print(time.{clock}() - t)"
    return {
        "core_wheel_kb": round((wheel.stat().st_size - chart) / 1024),
        "chart_library_kb": round(chart / 1024),
        "core_wheel_files": len(items),
        "core_wheel_parts_kb": {name: round(size / 1024) for name, size in parts.most_common()},
        "core_install_mb": round(sum(weights.values()) / 1e6, 1),
        "core_install_parts_mb": {name: round(size / 1e6, 2) for name, size in weights.most_common()},
        **{
            key: round(statistics.median(float(_run(python, timed.format(clock=clock))) for _ in range(2 * REPEATS)), 4)
            for key, clock in (("import_s", "perf_counter"), ("import_cpu_s", "process_time"))
        },
        "demo_runs_from_wheel": json.loads(demo.stdout)["verdict"]["action"] == "rollback",
    }


def _run(python: Path, code: str) -> str:
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _project(folder: str) -> str:
    """The project to which a folder of site-packages belongs: numpy, numpy.libs and numpy-2.4.6.dist-info are numpy's."""
    return re.split(r"[-.]", folder)[0].lstrip("_").lower()


if __name__ == "__main__":
    main()
