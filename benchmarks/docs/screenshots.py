"""Pictures of the real pages for the documentation: `python -m benchmarks.docs.screenshots [NAME ...]` (Chromium, a minute).

Each shot opens a page of `firstbreak serve` over runs of the corpus, or a report as a file, does what a person would do, says
which words must then be seen, and takes the picture. A shot whose words are not there fails, so that none goes stale unseen.
"""

from __future__ import annotations

import io
import json
import shutil
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from firstbreak_lab.corpus import opened
from PIL import Image
from playwright.sync_api import Browser, Page

import firstbreak
from benchmarks.docs.pictures import CORPUS
from benchmarks.size import place, sized
from benchmarks.web import chromium, server, until
from firstbreak.cli.demo import RUN
from firstbreak.reports import html

FOLDER = Path(__file__).resolve().parents[2] / "docs" / "screens"
COLORS = 255  #: of a picture: with fewer, green becomes blue
PATIENCE = 120_000  #: milliseconds for one page, on a busy machine
#: name on the page -> archive of the corpus
RUNS = {
    **{f"length-bonus-seed{i}": f"pays-for-length/trl-grpo-sort-0.06-{i}.tar.xz" for i in range(3)},
    **{f"baseline-seed{i}": f"untouched/trl-grpo-sort-0-{i}.tar.xz" for i in range(3)},
    "ppo-large-steps": "learning-rate-too-high/language-grpo-sort-30-4.tar.xz",
    "sort-sign": "reward-sign-flipped/language-grpo-sort-0.7-2.tar.xz",
    "agent-claims": "claims-are-believed/agent-grpo-registers-1-0.tar.xz",
    "async-stale": "treated-as-on-policy/language-async-sort-16-0.tar.xz",
    "cartpole-time-limits": "ends-taken-for-time-limits/classic-ppo-cartpole-1-1.tar.xz",
    "warm-up": "untouched/language-grpo-sort-0-0.tar.xz",
}


#: the names of the folder of this machine are left out, and the time since the last write
_PLACES = """folder => {
  for (const code of document.querySelectorAll("code"))
    if (code.textContent.includes(folder)) code.textContent = code.textContent.replaceAll(folder, "")
  document.querySelector("#live")?.remove()
}"""


def _nothing(page: Page) -> None:
    """What is seen first."""


@dataclass(frozen=True)
class Shot:
    """One picture: where, in which window, what is done, and what must then be seen."""

    path: str  #: of the served page; "file:NAME" is a report that `_files` has written
    says: tuple[str, ...]  #: words of the page, without which the picture shows something else
    act: Callable[[Page], None] = _nothing
    width: int = 1440
    height: int = 900
    scheme: str = "light"


def _curves(page: Page) -> None:
    """The onset framed, and the curves smoothed."""
    page.locator("#curves").scroll_into_view_if_needed()
    page.locator("[data-zoom=onset]").click()
    page.select_option("#smooth", "0.6")
    _to(page, "#curves")
    until(page, "document.querySelectorAll('.plot canvas').length >= 6")
    until(page, "document.querySelectorAll('.plot[data-drawn*=\" to \"]').length >= 6")


def _to(page: Page, selector: str) -> None:
    page.evaluate("s => document.querySelector(s).scrollIntoView()", selector)


def _filtered(page: Page) -> None:
    page.locator("#filter").fill("trl seed")


def _drawn(page: Page) -> None:
    until(page, "document.querySelectorAll('.tall .plot canvas').length >= 2")


def _marked(page: Page) -> None:
    page.locator(".sample [data-mark=hack]").first.click()
    until(page, "document.querySelector('[aria-pressed=true][data-mark=hack]')")


def _opened(page: Page) -> None:
    """A name of the report, clicked, which opens its page at the end of the file."""
    page.locator(".finding", has_text="length-runaway").locator(".meaning").click()
    page.locator("#names").evaluate("e => e.scrollIntoView()")


SHOTS: dict[str, Shot] = {
    "first-screen": Shot("run/demo", ("Roll back", "Do this first", "First break", "reward-up-evaluation-down")),
    "first-screen-dark": Shot(
        "run/agent-claims", ("Roll back", "one of two", "grad-norm-explosion"), width=1024, scheme="dark"
    ),
    "first-screen-phone": Shot("run/demo", ("Roll back", "The training loop"), width=390, height=844),
    "healthy": Shot("run/baseline-seed0", ("If the run continues", "eval.reward.component.accuracy.mean"), height=760),
    "too-short": Shot("run/two-points", ("Cannot tell yet", "too short"), width=1024, height=560),
    "curves": Shot("run/demo", ("Curves of the findings",), _curves),
    "compare": Shot(
        "compare?" + "&".join(f"run={side}-seed{i}" for side in ("baseline", "length-bonus") for i in range(3)),
        ("The runs", "length-bonus", "baseline"),
        _drawn,
    ),
    "list": Shot("", ("Roll back", "Continue", "longer completions get more reward"), scheme="dark"),
    "list-filtered": Shot("", ("length-bonus-seed1",), _filtered, width=390, height=844),
    "samples": Shot("samples/demo?finding=reward-proxy-only&once=1", ("Thoroughness from", "Hack"), _marked),
    "explanation": Shot("explain/zero-variance-groups", ("What it looks for", "When it is a false alarm")),
    "report-names": Shot("file:report.html", ("What the names mean", "When it is a false alarm"), _opened),
    "notebook": Shot("file:notebook.html", ("dx = firstbreak.diagnose(run)", "Roll back"), width=1024, height=980),
}


def main(names: list[str]) -> None:
    """Take the shots with these names; all of them without one."""
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        folder = Path(scratch)
        write_runs(folder / "runs")
        _files(folder)
        with server(folder / "runs") as address:
            for name in names or sized(list(SHOTS), list(SHOTS)[:2]):
                picture = place(FOLDER / f"{name}.webp")
                picture.parent.mkdir(parents=True, exist_ok=True)
                picture.write_bytes(reduced(taken(browser, SHOTS[name], address, folder)))
                print(f"docs/screens/{picture.name}: {picture.stat().st_size / 1024:.0f} KiB")


def write_runs(folder: Path) -> None:
    """The runs that the pages show."""
    shutil.copytree(RUN, folder / "demo")
    for name, archive in RUNS.items():
        with opened(CORPUS, archive) as (run, _):
            shutil.copytree(run, folder / name)
    short = folder / "two-points" / "metrics.jsonl"
    short.parent.mkdir()
    short.write_text("".join(json.dumps({"step": i, "reward": 0.1 * i, "loss": 0.5}) + "\n" for i in range(2)))


def _files(folder: Path) -> None:
    """A report as a file, and a cell of a notebook with its output, in the frame without scripts that notebooks use."""
    dx = firstbreak.diagnose(replace(firstbreak.read(folder / "runs" / "demo"), path="runs/demo"))
    (folder / "report.html").write_text(html.render(dx))
    (folder / "cell.html").write_text(dx._repr_html_())
    code = "import firstbreak<br>run = firstbreak.read('runs/demo')<br>dx = firstbreak.diagnose(run)<br>dx"
    style = "body{margin:16px;font:15px sans-serif}pre{background:#f3f3f3;padding:12px}iframe{border:0;width:100%;height:840px}"
    (folder / "notebook.html").write_text(
        f"<!DOCTYPE html><title>A notebook</title><style>{style}</style><pre>[1]: {code}</pre>"
        '<iframe sandbox src="cell.html" title="Output"></iframe>'
    )


def taken(browser: Browser, shot: Shot, address: str, folder: Path) -> bytes:
    """The picture as PNG. Raises LookupError where the page does not say what the picture is to show."""
    page = browser.new_page(viewport={"width": shot.width, "height": shot.height}, color_scheme=shot.scheme)
    page.set_default_timeout(PATIENCE)
    kind, _, file = shot.path.partition(":")
    page.goto((folder / file).as_uri() if kind == "file" else address + shot.path)
    until(page, "!document.querySelector('#tally')?.textContent.includes('being read')")
    shot.act(page)
    page.evaluate(_PLACES, f"{folder.resolve()}/")
    said = " ".join(" ".join(frame.locator("body").inner_text() for frame in page.frames).split())
    if missing := [words for words in shot.says if words not in said]:
        raise LookupError(f"{shot.path or 'the list'} does not say {missing}: {said[:400]}")
    page.evaluate("document.fonts.ready")
    picture = page.screenshot()
    page.close()
    return picture


def reduced(png: bytes) -> bytes:
    """A PNG with few colours as lossless WebP: a fifth of its size, with text as sharp."""
    image = Image.open(io.BytesIO(png)).convert("RGB").quantize(COLORS, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    image.convert("RGB").save(buffer, "WEBP", lossless=True, method=6)
    return buffer.getvalue()


if __name__ == "__main__":
    main(sys.argv[1:])
