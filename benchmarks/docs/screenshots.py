"""Pictures of the real pages for the documentation: `python -m benchmarks.docs.screenshots [NAME ...]` (Chromium, a minute).

Each shot opens a page of `firstbreak serve` over runs of the corpus, or a report as a file, does what a person would do, says
which words must then be seen, and takes the picture. A shot whose words are not there fails, so that none goes stale unseen.
"""

import io
import json
import os
import shutil
import sys
import tempfile
import time
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
from firstbreak.audit.audit import audit
from firstbreak.audit.page import render as audit_page
from firstbreak.cli.demo import RUN
from firstbreak.preflight import memory
from firstbreak.preflight.memory import drawing
from firstbreak.reports import html, preflight, preflight_html
from firstbreak.reports.json import dump

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


def _memory(page: Page) -> None:
    _to(page, "#memory")


def _opened(page: Page) -> None:
    """A name of the report, clicked, which opens its page at the end of the file."""
    page.locator(".finding", has_text="length-runaway").locator(".meaning").click()
    page.locator("#names").evaluate("e => e.scrollIntoView()")


SHOTS: dict[str, Shot] = {
    "first-screen": Shot("run/demo", ("Roll back", "Do this first", "First break", "reward-up-evaluation-down")),
    "first-screen-dark": Shot(
        "run/agent-claims", ("Roll back", "First break at reward", "grad-norm-explosion"), width=1024, scheme="dark"
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
    "audit": Shot("file:audit.html", ("What the audit found", "reward-hacking", "Behaviour over the run"), height=1080),
    "memory": Shot(
        "file:memory.html", ("Do not train yet", "Memory of one GPU by phase", "capacity, 80 GiB"), width=1024
    ),
    "memory-run": Shot(
        "run/length-bonus-seed0",
        ("Memory as planned", "capacity, 24 GiB"),
        _memory,
        width=390,
        height=844,
        scheme="dark",
    ),
    "notebook": Shot("file:notebook.html", ("dx = firstbreak.diagnose(run)", "Roll back"), width=1024, height=980),
}


def main(names: list[str]) -> None:
    """Take the shots with these names; all of them without one."""
    with tempfile.TemporaryDirectory() as scratch, chromium() as browser:
        folder = Path(scratch)
        write_runs(folder / "runs")
        _files(folder)
        _aged(folder / "runs")
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


def _aged(runs: Path) -> None:
    """The first run as if written an hour ago, the next two hours ago, so that the list says the same whenever it is taken."""
    for hours, run in enumerate(sorted(runs.iterdir()), 1):
        for file in run.rglob("*"):
            os.utime(file, (time.time() - 3600 * hours,) * 2)


#: a model of 8 billion parameters, whose plan does not fit, and a small one that does
LARGE = {"model_type": "llama", "vocab_size": 128_256, "hidden_size": 4096, "intermediate_size": 14_336, "num_hidden_layers": 32,
         "num_attention_heads": 32, "num_key_value_heads": 8}  # fmt: skip
SMALL = {"model_type": "qwen2", "vocab_size": 151_936, "hidden_size": 896, "intermediate_size": 4864, "num_hidden_layers": 24,
         "num_attention_heads": 14, "num_key_value_heads": 2, "tie_word_embeddings": True}  # fmt: skip


def _planned(folder: Path) -> None:
    """A plan of the memory as a file, and one beside a run."""
    model = folder / "config.json"
    model.write_text(json.dumps(LARGE))
    report = memory.check(
        str(model), algo="grpo", gpus=2, micro_batch=4, shard="zero2", engine="colocated", engine_share=0.3
    )
    (folder / "memory.html").write_text(preflight_html.render(replace(report, target="llama-8b, grpo, 2 x 80 GiB")))
    model.write_text(json.dumps(SMALL))
    report = memory.check(str(model), algo="grpo", gpu_memory=24, micro_batch=4)
    (folder / "runs" / "length-bonus-seed0" / drawing.FILE).write_text(dump(preflight.payload(report)))


def _files(folder: Path) -> None:
    """Reports as files, and a cell of a notebook with its output, in the frame without scripts that notebooks use."""
    _planned(folder)
    run = replace(firstbreak.read(folder / "runs" / "demo"), path="runs/demo")
    (folder / "audit.html").write_text(audit_page(audit(run.samples or (), path=run.path, run=run)))
    dx = firstbreak.diagnose(run)
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
