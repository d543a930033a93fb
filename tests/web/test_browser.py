"""The page in a real browser: what a person sees, and what an attacker would like it to do."""

from __future__ import annotations

import csv
import json
import math
import os
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

import pytest

from firstbreak.audit.marks import load
from firstbreak.engine.diagnose import diagnose
from firstbreak.evals.ledger import Ledger
from firstbreak.evals.splits import Split, declare
from firstbreak.readers.read import read
from firstbreak.reports import html
from tests.make import write_jsonl
from tests.waiting import PATIENCE
from tests.web.conftest import opened
from tests.web.serving import HOSTILE_NAME, Served, serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
AXE = (Path(__file__).parent / "axe.min.js").read_text()
PAGES = {
    "list": "/",
    "run": "/run/demo",
    "collapse": "/run/sb3",
    "samples": "/samples/demo",
    "compare": "/compare?run=demo&run=large",
    "explanation": "/explain/length-runaway",
    "explanation of a metric": "/explain/kl.ref",
    "explanation of two tables": "/explain/truncation",
    "missing": "/run/nothing",
    "hostile": f"/run/{quote(HOSTILE_NAME)}",
}


def until(page: Page, condition: str) -> None:
    """Wait until the page says so. Asked from outside: a function that waits inside is eval, which the policy forbids."""
    end = time.monotonic() + PATIENCE
    while not page.evaluate(condition):
        assert time.monotonic() < end, f"never came true: {condition}"
        page.wait_for_timeout(50)


def drawn(page: Page, at_least: int = 1) -> None:
    """Wait until curves that are in view are drawn."""
    until(page, f"document.querySelectorAll('.plot canvas').length >= {at_least}")


def open_list(page: Page, site: Served) -> None:
    """The list of the runs, once all of them are read."""
    page.goto(site.address)
    until(page, "!document.querySelector('#tally').textContent.includes('being read')")


def open_curves(page: Page, site: Served, run: str) -> None:
    page.goto(f"{site.address}/run/{run}")
    page.locator("#curves").scroll_into_view_if_needed()
    page.evaluate("document.querySelector('#curves').scrollIntoView()")
    drawn(page)


def test_the_list_shows_what_needs_attention_first(page: Page, site: Served) -> None:
    open_list(page, site)
    rows = [row.inner_text() for row in page.locator(".runs tbody tr").all()]
    assert len(rows) == 5
    verdicts = [re.search(r"Roll back|Stop|Watch|Continue", row)[0] for row in rows]
    rank = {"Roll back": 0, "Stop": 0, "Watch": 1, "Continue": 3}
    assert [rank[v] for v in verdicts] == sorted(rank[v] for v in verdicts)
    demo = next(row for row in rows if "demo" in row)
    assert "reward" in demo
    assert "61" in demo
    page.fill("#filter", "sb3")
    assert page.locator(".runs tbody tr:visible").count() == 1


def test_the_run_page_tells_the_diagnosis(page: Page, site: Served, runs: Path) -> None:
    dx = diagnose(read(runs / "demo"))
    page.goto(f"{site.address}/run/demo")
    assert page.locator("article h2").first.inner_text() == "Roll back"
    assert page.locator("article.rollback .ring .link.broken .name").text_content() == "reward"
    assert page.locator(".finding").count() == len(dx.findings)
    assert page.locator(".plot").count() == len(
        [s for s in (*dx.run.series.values(), *dx.run.unknown.values()) if len(s)]
    )
    assert page.locator(".sample").count() == 3


def test_all_curves_zoom_together_and_become_exact(page: Page, site: Served) -> None:
    open_curves(page, site, "large")
    plot = page.locator(".plot").first
    assert "thinned" in plot.get_attribute("class")
    box = plot.locator(".u-over").bounding_box()
    y = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + 0.50 * box["width"], y)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.53 * box["width"], y, steps=4)
    page.mouse.up()
    until(page, "[...document.querySelectorAll('.plot:has(canvas)')].every(p => !p.matches('.thinned'))")
    low, high = (float(part) for part in page.locator("#range").inner_text().split(" to "))
    assert 2300 < low < high < 2800
    assert [low, high] == [round(low), round(high)]  # a view begins and ends at a point
    page.locator("[data-zoom=all]").click()
    until(page, "document.querySelector('.plot').matches('.thinned')")
    assert page.locator("#range").inner_text() == ""


def test_everything_can_be_done_with_the_keyboard(page: Page, site: Served) -> None:
    open_list(page, site)
    page.keyboard.press("j")
    page.keyboard.press("j")
    assert page.locator("tr.current").count() == 1
    page.keyboard.press("Enter")
    page.wait_for_url("**/run/**")
    page.keyboard.press("j")
    assert page.locator(".finding.current").count() <= 1
    page.keyboard.press("c")
    drawn(page)
    page.keyboard.press("+")
    until(page, "document.querySelector('#range').textContent.includes(' to ')")
    page.keyboard.press("0")
    until(page, "document.querySelector('#range').textContent === ''")
    page.keyboard.press("?")
    assert page.locator("dialog[open]").is_visible()
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    page.wait_for_url(f"{site.address}/")


@pytest.mark.thorough
def test_the_theme_is_kept(page: Page, site: Served) -> None:
    page.emulate_media(color_scheme="light")
    page.goto(f"{site.address}/run/demo")
    paper = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(paper)
    page.keyboard.press("t")
    assert page.evaluate(paper) == light
    page.keyboard.press("t")
    dark = page.evaluate(paper)
    assert dark != light
    page.reload()
    assert page.evaluate(paper) == dark


def test_a_finding_has_an_address(page: Page, site: Served) -> None:
    page.goto(f"{site.address}/run/demo")
    link = page.locator(".finding .permalink").last
    address = link.get_attribute("href")
    assert re.fullmatch(r"#run-findings-[a-z-]+", address)
    page.goto(f"{site.address}/run/demo{address}")
    assert page.locator(".finding").last.locator("h3").bounding_box()["y"] < 900
    assert page.evaluate("scrollY") > 0


def test_the_page_follows_a_run_that_grows(page: Page, site: Served, runs: Path) -> None:
    page.goto(f"{site.address}/run/growing")
    assert "steps 0 to 99" in page.locator("article .verdict").inner_text()
    page.evaluate("document.querySelector('#curves').scrollIntoView()")
    drawn(page)
    page.evaluate("window.kept = document.querySelector('.plot canvas')")
    page.locator(".not-measured summary").click()
    page.locator(".plot .enlarge").first.click()
    page.evaluate("getSelection().selectAllChildren(document.querySelector('article h2'))")
    write_jsonl(runs / "growing" / "metrics.jsonl", 50, start=100)
    until(page, "document.querySelector('article .verdict').textContent.includes('steps 0 to 149')")
    assert page.evaluate("kept.isConnected")  # the curves were extended, not thrown away
    assert page.locator(".not-measured details[open]").count() == 1
    assert page.locator(".plot.large .enlarge:focus").inner_text() == "Smaller"
    assert page.evaluate("String(getSelection())") == "Continue"
    until(page, "document.querySelector('.plot').dataset.to === '149.0'")


@pytest.mark.thorough
def test_the_list_follows_new_runs(page: Page, site: Served, runs: Path) -> None:
    open_list(page, site)
    page.check("[name=run][value=demo]")
    page.locator("#chip-rollback").click()
    page.locator("#chip-rollback").click()
    write_jsonl(runs / "newcomer" / "metrics.jsonl", 60)
    page.wait_for_selector("a[href='/run/newcomer']")
    assert page.locator("#chip-rollback:focus").count() == 1
    assert page.locator("[name=run]:checked").get_attribute("value") == "demo"
    (runs / "newcomer" / "metrics.jsonl").unlink()
    (runs / "newcomer").rmdir()
    page.wait_for_selector("a[href='/run/newcomer']", state="detached")


def test_the_report_is_exported_as_it_is(site: Served, runs: Path) -> None:
    dx = diagnose(read(runs / "demo"))
    status, headers, body = site.get("/report/demo")
    assert (status, headers["content-disposition"]) == (200, 'attachment; filename="diagnosis.html"')
    assert body.decode().partition("<main>")[2] == html.render(dx).partition("<main>")[2]
    assert json.loads(site.get("/diagnosis/demo")[2])["verdict"]["action"] == "rollback"


def test_samples_are_read_page_by_page_and_found(page: Page, site: Served) -> None:
    page.goto(f"{site.address}/samples/demo")
    assert page.locator(".sample").count() == 20
    page.locator("a[rel=next]").click()
    assert page.locator(".sample h2").first.inner_text() == "Sample 21"
    page.fill("#filter", "no such text")
    page.keyboard.press("Enter")
    page.wait_for_url("**q=no+such+text*")
    assert page.locator(".sample").count() == 0


def test_the_run_page_shows_what_is_rewarded_last(page: Page, site: Served, runs: Path) -> None:
    samples = list(read(runs / "demo").samples)
    latest = [s for s in samples if s.step == max(s.step for s in samples)]
    page.goto(f"{site.address}/run/demo")
    shown = [s.inner_text() for s in page.locator(".sample header").all()]
    assert len(shown) == 3
    assert all(f"step {latest[0].step:g}" in text for text in shown)
    assert f"reward {max(s.reward for s in latest):.4g}" in shown[0]
    place = int(page.locator(".sample .marks").first.get_attribute("data-place"))
    assert samples[place].completion in page.locator(".sample .completion").first.inner_text()


def test_runs_are_compared_side_by_side(page: Page, site: Served) -> None:
    open_list(page, site)
    for name in ("large", "growing"):
        page.check(f"[name=run][value={name}]")
    page.click("#compare")
    page.wait_for_url("**/compare?run=*&run=*")
    assert page.locator(".sides tbody tr").count() == 2
    assert page.locator("#differences").inner_text()
    drawn(page)
    box = page.locator(".plot .u-over").first.bounding_box()
    page.mouse.move(box["x"] + 1, box["y"] + 20)
    values = page.locator(".plot output").first.inner_text().partition(": ")[2].split(", ")
    assert len(values) == 2  # one of each run, at the same step
    assert "-" not in values


def test_a_mark_is_kept_and_taken_back(page: Page, site: Served, runs: Path) -> None:
    page.goto(f"{site.address}/samples/demo")
    first = page.locator(".sample").first
    first.get_by_role("button", name="Hack").click()
    until(page, "document.querySelector('[data-mark=hack]').getAttribute('aria-pressed') === 'true'")
    kept = load(runs / "marks.json")
    assert list(kept.values()) == ["hack"]
    page.reload()
    assert first.get_by_role("button", name="Hack").get_attribute("aria-pressed") == "true"
    page.keyboard.press("j")
    page.keyboard.press("2")  # the same again, by key: taken back
    until(page, "document.querySelector('[data-mark=hack]').getAttribute('aria-pressed') === 'false'")
    assert load(runs / "marks.json") == {}
    page.goto(site.address)
    assert page.locator(".runs tbody tr").count() == 5  # the file of marks is no run, and hides none


def test_the_evaluations_of_a_run_are_those_of_the_ledger(page: Page, site: Served, runs: Path) -> None:
    page.goto(f"{site.address}/run/sb3")
    assert page.locator("#evaluations").count() == 0
    with Ledger(runs / "firstbreak-ledger.db") as ledger:
        declare(ledger, Split(name="dev", kind="dev", allowed=None))
        for run, score in (("sb3", 9.5), ("demo", 0.18)):
            ledger.append("evaluation", {"split": "dev", "use": "tune", "scores": {"return": score}, "run": run})
    page.reload()
    assert page.locator("#evaluations tbody tr").count() == 1
    assert "return 9.5" in page.locator("#evaluations").inner_text()
    page.goto(site.address)
    assert page.locator(".runs tbody tr").count() == 5  # the ledger is no run, and hides none


@pytest.mark.parametrize("kind", ["run", "samples"])
def test_nothing_from_a_log_runs(page: Page, site: Served, kind: str) -> None:
    """Metric names, samples and the folder's own name are attacks. The page reports no refused script either: escaping held."""
    open_list(page, site)
    page.goto(f"{site.address}/{kind}/{quote(HOSTILE_NAME)}")
    assert "evil.example" in page.content()  # the attack is on the page, as text
    if kind == "run":
        page.evaluate("document.querySelector('#curves').scrollIntoView()")
        drawn(page, 3)
        page.locator(".plot").last.hover()
    page.wait_for_timeout(300)
    assert page.evaluate("document.documentElement.id") == ""
    assert page.locator("main script, main img, main [onload], main [onerror], main a[href^=javascript]").count() == 0


def test_the_policy_stops_what_escaping_would_miss(chromium: Browser, site: Served) -> None:
    tab = opened(chromium)
    tab.goto(f"{site.address}/run/demo")
    for attack in (
        "<img src=x onerror=\"document.documentElement.id='broken'\">",
        "<iframe srcdoc=\"<script>parent.document.documentElement.id='broken'</script>\"></iframe>",
        "<style>body{display:none}</style>",
    ):
        tab.evaluate("html => document.querySelector('main').insertAdjacentHTML('beforeend', html)", attack)
    tab.evaluate("""() => {
        const script = document.createElement('script')
        script.textContent = "document.documentElement.id = 'broken'"
        document.body.append(script)
    }""")
    tab.wait_for_timeout(300)
    assert tab.evaluate("document.documentElement.id") == ""
    assert tab.evaluate("getComputedStyle(document.body).display") == "block"
    tab.close()


def test_no_request_leaves_the_machine(page: Page, site: Served) -> None:
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for path in ("/", "/run/demo", "/samples/demo"):
        page.goto(site.address + path)
        page.wait_for_timeout(200)
    assert asked
    assert [url for url in asked if not url.startswith(site.address)] == []


PHONE, SCREEN = (390, "dark"), (1280, "light")  # `make bench-web` looks at all four


@pytest.mark.parametrize(
    ("name", "width", "scheme"),
    [
        pytest.param(
            name, *seen, marks=[] if i % 2 == 0 and (seen == PHONE) == (i % 4 == 0) else [pytest.mark.thorough]
        )
        for i, name in enumerate(PAGES)
        for seen in (PHONE, SCREEN)
    ],
)
def test_the_page_is_accessible_and_does_not_scroll_sideways(
    chromium: Browser, site: Served, name: str, width: int, scheme: str
) -> None:
    tab = opened(chromium, viewport={"width": width, "height": 844}, color_scheme=scheme, bypass_csp=True)
    tab.goto(site.address + PAGES[name])
    tab.wait_for_timeout(300)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.evaluate("document.querySelector('.masthead').offsetHeight") <= 64  # one line, however long a name is
    if name == "compare":  # every run keeps its column on a narrow screen
        for folded in tab.locator("#differences summary").all():
            folded.click()
        assert tab.locator("#differences tbody td").first.is_visible()
    tab.evaluate(AXE)
    found = tab.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    tab.close()
    assert {v["id"]: [n["html"][:120] for n in v["nodes"]][:3] for v in found} == {}


def write_score(path: Path, **curves: list[float | None]) -> None:
    """A run with these curves, from step 1 on; None where a step has no value."""
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = zip(*curves.values(), strict=True)
    lines = (
        {"step": i, **{k: v for k, v in zip(curves, row, strict=True) if v is not None}}
        for i, row in enumerate(rows, 1)
    )
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))


LEVELS = {"reward_std": 0.3, "entropy": 1.0, "grad_norm": 0.5, "completions/mean_length": 200.0, "learning_rate": 1e-6}


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One point, a reward that rises while the evaluation falls, and a folder without a log."""
    folder = tmp_path_factory.mktemp("cases")
    write_score(folder / "one-point" / "metrics.jsonl", reward=[0.3], kl=[0.01], grad_norm=[0.5])
    wobble = [0.02 * math.sin(17.0 * i) for i in range(200)]
    write_score(
        folder / "over-optimised" / "metrics.jsonl",
        reward=[0.2 + 0.004 * i + wobble[i] for i in range(200)],
        eval_reward=[None if i % 10 else 0.6 - 0.004 * max(0, i - 80) + wobble[i] / 2 for i in range(200)],
        kl=[0.01 + wobble[i] / 10 for i in range(200)],
        **{name: [level * (1 + w) for w in wobble] for name, level in LEVELS.items()},
    )
    (folder / "notes").mkdir()
    (folder / "notes" / "README.md").write_text("what I tried\n")
    with serving(folder) as served:
        yield served


def test_one_point_is_grey_and_says_that_it_cannot_tell(page: Page, cases: Served) -> None:
    page.goto(f"{cases.address}/run/one-point")
    assert page.locator("article h2").first.inner_text() == "Cannot tell yet"
    assert page.locator(".ring .ok").count() == 0
    grey = page.locator(".ring .not_measured circle").first.evaluate("e => getComputedStyle(e).stroke")
    assert page.locator("article h2").first.evaluate("e => getComputedStyle(e).color") == grey


def test_the_headline_names_step_and_both_causes(page: Page, cases: Served) -> None:
    page.goto(f"{cases.address}/run/over-optimised")
    said = page.locator(".summary").inner_text()
    assert re.search(r", step \d+ of \d+\.", said)
    assert "Undecided between two causes: " in said
    drawn = page.locator(".ring .broken .name, .ring .first .name").all_text_contents()
    assert drawn
    assert all(f"First break at {name}" in said for name in drawn[:1])


def test_the_break_is_drawn_on_the_first_screen(page: Page, cases: Served) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    page.goto(f"{cases.address}/run/over-optimised")
    box = page.locator(".overlay svg.curve").last.bounding_box()
    assert box["y"] + box["height"] < 900
    assert page.locator(".overlay .edges").count() == 2  # each curve has its own scale
    assert page.locator(".overlay .trace").count() == 2
    assert page.locator(".overlay .key code").all_inner_texts() == ["reward.mean", "eval.reward"]
    onset = page.locator(".overlay .onset line").first.bounding_box()["x"]
    band = page.locator(".overlay .band").first.bounding_box()
    assert band["x"] <= onset <= band["x"] + band["width"]
    assert page.locator(".overlay line.best").count() == 2
    starts = [bar.bounding_box()["x"] for bar in page.locator(".cascade .lane rect:last-child").all()]
    assert len(starts) > 1
    assert starts == sorted(starts)


@pytest.mark.thorough
def test_a_click_on_link_finding_and_cause_goes_there(page: Page, cases: Served) -> None:
    page.goto(f"{cases.address}/run/over-optimised")
    for what in (".ring a.broken circle", ".cascade a >> nth=0", ".summary a >> nth=0", ".cause dd a >> nth=0"):
        page.locator(what).click()
        target = page.locator(f"[id='{page.url.partition('#')[2]}']")
        assert 0 <= target.bounding_box()["y"] < 900
        page.goto(page.url)  # the address can be sent to somebody
        assert 0 <= target.bounding_box()["y"] < 900
    assert "#run-findings-" in page.url


@pytest.mark.thorough
def test_a_command_is_copied(chromium: Browser, cases: Served) -> None:
    context = chromium.new_context(permissions=["clipboard-read", "clipboard-write"])
    tab = context.new_page()
    tab.goto(f"{cases.address}/run/over-optimised")
    place = tab.locator(".copied", has_text="firstbreak experiment run").first
    place.get_by_role("button").click()
    until(tab, "document.querySelector('#said').textContent.startsWith('Copied')")
    assert tab.evaluate("navigator.clipboard.readText()") == place.locator("code").inner_text()
    context.close()


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Eight runs with long names, one of one point, and two folders without a log."""
    folder = tmp_path_factory.mktemp("many")
    for i in range(8):
        method = ("grpo", "ppo")[i % 2]
        rise = [min(1.0, 0.01 * step) + 0.02 * math.sin(7.0 * step) for step in range(120)]
        flat = [0.0] * 120
        curves = {"reward": flat if i == 3 else rise, "kl": [0.01] * 120}
        write_score(folder / f"{method}-{'a-very-long-setting-' * 4}seed{i}" / "metrics.jsonl", **curves)
    write_score(folder / "one-point" / "metrics.jsonl", reward=[0.3], kl=[0.01])
    for name in ("notes", "weights"):
        (folder / name).mkdir()
        (folder / name / "readme.md").write_text("nothing to read\n")
    with serving(folder) as served:
        yield served


def shown_names(page: Page) -> list[str]:
    shown = "rows => rows.filter(row => row.checkVisibility()).map(row => row.dataset.name)"
    return list(page.eval_on_selector_all(".runs tbody tr", shown))


@pytest.mark.thorough
def test_runs_are_ordered_by_when_they_broke_and_those_without_a_break_come_last(page: Page, many: Served) -> None:
    open_list(page, many)
    for _ in range(2):  # earliest first, then latest first
        page.locator("[data-sort=since]").click()
        since = [row.get_attribute("data-since") for row in page.locator(".runs tbody tr:visible").all()]
        known = [float(share) for share in since if share]
        assert since[: len(known)] == [share for share in since if share]
        assert known == sorted(known, reverse="sort=-since" in page.url)
        assert page.locator(".runs .sorted").count() == 1


@pytest.mark.thorough
def test_a_run_that_was_started_a_moment_ago_has_a_page(page: Page, site: Served, runs: Path) -> None:
    open_list(page, site)
    page.goto("about:blank")
    write_jsonl(runs / "just-now" / "metrics.jsonl", 60)
    page.goto(f"{site.address}/run/just-now")
    assert "steps 0 to 59" in page.locator("article .verdict").inner_text()
    (runs / "just-now" / "metrics.jsonl").unlink()
    (runs / "just-now").rmdir()


@pytest.mark.thorough
def test_on_a_phone_the_names_of_the_curves_stand_above_them(chromium: Browser, site: Served) -> None:
    tab = opened(chromium, viewport={"width": 390, "height": 844}, bypass_csp=True)
    tab.goto(f"{site.address}/run/demo")
    legend, plot = (tab.locator(f".overlay {part}").first.bounding_box() for part in ("ul", ".curve"))
    assert legend is not None
    assert plot is not None
    assert legend["width"] > 300
    assert plot["y"] >= legend["y"] + legend["height"] - 25  # the flag of the onset may reach up


@pytest.mark.thorough
def test_many_runs_are_filtered_sorted_and_kept_in_the_address(page: Page, many: Served) -> None:
    open_list(page, many)
    assert len(shown_names(page)) == 9
    page.fill("#filter", "ppo SEED5")  # two words, in any place of the row
    assert [name[-5:] for name in shown_names(page)] == ["seed5"]
    page.fill("#filter", "grpo seed")
    page.locator("[data-sort=name]").click()
    page.locator("[data-sort=name]").click()
    assert [name[-1] for name in shown_names(page)] == ["6", "4", "2", "0"]
    address = page.url
    assert "q=grpo+seed" in address
    page.goto("about:blank")
    page.goto(address)
    assert [name[-1] for name in shown_names(page)] == ["6", "4", "2", "0"]
    page.fill("#filter", "no such run")
    assert page.locator("#none").is_visible()
    page.fill("#filter", "reward.mean")  # the title of each small curve is not on the screen
    assert not shown_names(page)
    page.locator("#unfilter").click()
    assert len(shown_names(page)) == 9
    page.locator("[data-verdict=not_measured].chip").click()
    assert shown_names(page) == ["one-point"]
    page.reload()
    assert shown_names(page) == ["one-point"]


@pytest.mark.thorough
def test_every_row_has_a_reason_a_unit_and_both_ends_of_its_name(page: Page, many: Served) -> None:
    open_list(page, many)
    whys = page.locator(".runs [data-label=Why]").all_inner_texts()
    assert len(whys) == 9
    assert "1 score is too few to see a shape" in whys
    for row in page.locator(".runs tbody tr:not([data-name=one-point])").all():
        said = row.locator("th a").inner_text()
        assert re.fullmatch(r"g?r?ppo-a-very.*\.\.\..*seed\d|grpo-a-very.*\.\.\..*seed\d", said)
        assert row.locator("th a").get_attribute("title") == row.get_attribute("data-name")
        place = row.get_attribute("data-place")
        assert not place or re.search(r"step \d+$", place)
    assert page.locator(".bare").inner_text().startswith("2 folders without a known log")
    page.locator(".bare summary").click()
    assert page.locator(".bare li").all_inner_texts() == ["notes", "weights"]


@pytest.mark.thorough
def test_the_selection_is_bounded_before_the_button(page: Page, many: Served) -> None:
    open_list(page, many)
    page.locator("#compare").evaluate("button => (button.dataset.most = 6)")
    for box in page.locator("[name=run]").all()[:7]:
        box.check()
    assert page.locator("#compare").is_disabled()
    assert page.locator("#compare").inner_text() == "Select at most 6 runs"


@pytest.mark.thorough
def test_the_page_says_whether_it_is_live(chromium: Browser, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "one" / "metrics.jsonl", 60)
    tab = opened(chromium)
    with serving(tmp_path) as served:
        tab.goto(f"{served.address}/run/one")
        until(tab, "/^live, (\\d+ s|1 minute) ago$/.test(document.querySelector('#live').textContent)")
        two_hours_ago = time.time() - 7300
        os.utime(tmp_path / "one" / "metrics.jsonl", (two_hours_ago, two_hours_ago))
        tab.reload()
        until(tab, "document.querySelector('#live').textContent === 'connected, last written 2 hours ago'")
        write_jsonl(tmp_path / "one" / "metrics.jsonl", 5, start=60)
        until(tab, "/^live, \\d+ s ago$/.test(document.querySelector('#live').textContent)")
    until(tab, "document.querySelector('#live').textContent.startsWith('disconnected')")
    assert "Disconnected" in (tab.locator("#said").text_content() or "")
    tab.close()


def lines(page: Page) -> str:
    """What the first curve looks like."""
    return str(page.locator(".plot canvas").first.evaluate("canvas => canvas.toDataURL()"))


@pytest.mark.thorough
def test_smoothing_and_axis_are_kept_in_the_address_with_the_zoom(page: Page, site: Served) -> None:
    open_curves(page, site, "demo")
    raw = lines(page)
    page.select_option("#smooth", "0.9")
    until(page, "document.querySelector('.plot').dataset.kind.startsWith('true')")
    smooth = lines(page)
    assert smooth != raw
    page.check("#log")
    page.keyboard.press("+")
    until(page, "document.querySelector('#range').textContent.includes(' to ')")
    seen = page.locator("#range").inner_text()
    assert all(part in page.url for part in ("smooth=0.9", "log=1", "zoom="))
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.evaluate("document.querySelector('#curves').scrollIntoView()")
    drawn(page)
    assert page.locator("#range").inner_text() == seen
    assert page.locator("#smooth").input_value() == "0.9"
    assert page.locator("#log").is_checked()
    page.locator(".plot .u-over").first.dblclick()
    until(page, "document.querySelector('#range').textContent === ''")
    assert "zoom=" not in page.url


def test_a_broken_address_breaks_no_page(page: Page, site: Served) -> None:
    page.goto(f"{site.address}/run/demo?zoom=%5B%5B1&smooth=x&log=9&hide=,,&q=%00")
    page.fill("#filter", "")
    page.evaluate("document.querySelector('#curves').scrollIntoView()")
    drawn(page)


@pytest.mark.thorough
def test_the_legend_hides_and_shows_a_run(page: Page, site: Served) -> None:
    page.goto(f"{site.address}/compare?run=demo&run=large")
    drawn(page)
    both = lines(page)
    page.locator(".legend button").nth(1).click()
    until(page, "document.querySelectorAll('.legend [aria-pressed=false]').length === 1")
    page.wait_for_timeout(200)
    assert lines(page) != both
    page.reload()
    assert page.locator(".legend [aria-pressed=false]").inner_text() == "large"
    page.locator(".legend button").nth(1).click()
    assert page.locator(".legend [aria-pressed=false]").count() == 0


@pytest.fixture(scope="module")
def seeds(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Two settings with three seeds each, which only names and first lines tell; 20 single runs, and one that is cut off."""
    folder = tmp_path_factory.mktemp("seeds")
    for rate in ("1e-5", "1e-6"):
        for seed in range(3):
            place = folder / f"grpo-lr{rate}-seed{seed}"
            place.mkdir()
            rows = [
                {
                    "loss": 0.1,
                    "reward": (0.004 if rate == "1e-5" else 0.002) * step + 0.05 * seed,
                    "num_tokens": 1000 * step,
                }
                for step in range(100)
            ]
            first = f"Namespace(model='org/model-{rate}', seed={seed})\n"
            (place / "train.log").write_text(first + "".join(f"{row}\n" for row in rows))
    (folder / "cut-off").mkdir()
    (folder / "cut-off" / "metrics.jsonl").write_text('{"step": 1, "reward": ')
    for i in range(20):
        write_score(folder / f"other-{chr(97 + i)}" / "metrics.jsonl", reward=[0.01 * i * step for step in range(60)])
    with serving(folder) as served:
        yield served


SIX = "&".join(f"run=grpo-lr{rate}-seed{seed}" for rate in ("1e-5", "1e-6") for seed in range(3))


def test_seeds_are_one_band_over_steps_or_tokens_before_every_table(page: Page, seeds: Served) -> None:
    page.goto(f"{seeds.address}/compare?{SIX}")
    drawn(page)
    legend = page.locator(".legend button").all_inner_texts()
    assert [text.strip() for text in legend] == ["grpo-lr1e-5 (3 runs)", "grpo-lr1e-6 (3 runs)"]
    plot = page.locator(".plot").first
    assert plot.bounding_box()["y"] + plot.bounding_box()["height"] < 900  # seen without scrolling
    assert plot.bounding_box()["y"] < page.locator("#runs").bounding_box()["y"]
    box = plot.locator(".u-over").bounding_box()
    page.mouse.move(box["x"] + box["width"] - 1, box["y"] + 20)
    said = plot.locator("output").inner_text()
    assert "grpo-lr1e-5 (3 runs) 0.446 (0.396 to 0.496)" in said
    assert "grpo-lr1e-6 (3 runs) 0.248 (0.198 to 0.298)" in said
    bands = lines(page)
    page.check("#single")
    until(page, "document.querySelector('.plot').dataset.kind.endsWith('12')")
    assert lines(page) != bands
    page.select_option("#x", "tokens")
    until(page, "document.querySelector('.plot').dataset.kind.includes('tokens')")
    page.mouse.move(box["x"] + box["width"] - 2, box["y"] + 20)
    assert plot.locator("output").inner_text().startswith("tokens 99000: ")
    assert "x=tokens" in page.url
    assert page.locator("#x option[value=time]").inner_text() == "hours: not recorded by all"
    page.reload()
    drawn(page)
    assert page.locator("#x").input_value() == "tokens"
    assert "org/model-1e-5" in page.locator("#differences").inner_text()
    assert "first lines of the logs" in page.locator("#differences").inner_text()
    assert "is worse, by more than seeds explain" in page.locator("#real").inner_text()


def test_a_screen_shows_25_runs_with_the_columns_that_were_chosen(page: Page, seeds: Served) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    open_list(page, seeds)
    boxes = [row.bounding_box() for row in page.locator(".runs tbody tr").all()]
    assert sum(box["y"] + box["height"] <= 900 for box in boxes) >= 25
    assert len({box["height"] for box in boxes}) == 1  # the one that cannot be read is in one line as well
    assert "no file in it is a training log" in page.locator("tr[data-name=cut-off]").inner_text()
    page.locator("#columns summary").click()
    page.check("[name=column][value=learning_rate]")
    page.check("[name=column][value='reward.mean']")
    row = page.locator("tr[data-name=grpo-lr1e-5-seed2]")
    row.locator("[data-label='reward.mean']", has_text="best 0.496").wait_for()
    assert row.locator("[data-label=learning_rate]").inner_text() == "1e-05"
    last, best = (float(row.locator(f"[data-label={of}]").inner_text()) for of in ("Last", "Best"))
    assert last <= best == 0.492
    assert page.locator("#columns[open]").count() == 1
    page.keyboard.press("Escape")
    page.locator("thead button", has_text="learning_rate").click()
    assert shown_names(page)[:4][3].startswith("grpo-lr1e-5")  # after three of 1e-6
    page.fill("#filter", "^grpo.*seed[01]$")
    assert len(shown_names(page)) == 4
    page.fill("#filter", "^grpo.*seed[")
    assert page.get_attribute("#filter", "aria-invalid") == "true"
    assert "^grpo.*seed[ is not a regular expression" in page.locator("#shown").inner_text()


def test_a_name_keeps_its_width_beside_columns_that_are_found_by_name(page: Page, seeds: Served) -> None:
    page.set_viewport_size({"width": 1024, "height": 900})
    open_list(page, seeds)
    wide = "() => document.querySelector('.runs').scrollWidth - document.querySelector('.runs').clientWidth"
    assert page.evaluate(wide) <= 0
    page.locator("#columns summary").click()
    page.fill("#find-column", "LEARN rate")
    assert page.locator("#columns label:has([name=column]):visible").all_inner_texts() == ["learning_rate"]
    page.check("[name=column][value=learning_rate]")
    page.fill("#find-column", "")
    for name in ("model", "reward.mean", "loss.total", "progress.tokens"):
        if page.locator(f"[name=column][value='{name}']").count():
            page.check(f"[name=column][value='{name}']")
    page.locator("thead button", has_text="reward.mean").wait_for()
    names = page.locator(".runs tbody th").all()
    assert all(name.bounding_box()["width"] >= 240 for name in names)
    assert page.evaluate(wide) > 0
    page.evaluate("document.querySelector('.runs').scrollLeft = 300")
    assert names[0].bounding_box()["x"] == page.locator(".runs").bounding_box()["x"]  # the name stays
    assert page.evaluate("document.documentElement.scrollWidth") <= 1024


def test_the_step_of_a_break_and_a_column_that_is_added_are_in_sight(page: Page, site: Served) -> None:
    page.set_viewport_size({"width": 1440, "height": 900})
    open_list(page, site)
    cell = page.locator(".runs [data-label='First break']:has(span + span)").first
    cell.evaluate("cell => (cell.firstElementChild.textContent = 'a link or another one with a long name,')")
    inside, step = cell.bounding_box(), cell.locator("span").last.bounding_box()
    assert step["x"] + step["width"] <= inside["x"] + inside["width"]
    page.locator("#columns summary").click()
    for name in ("reward.mean", "kl.ref", "loss.total", "lr"):
        page.check(f"[name=column][value='{name}']")
    page.locator("thead button", has_text="lr").wait_for()
    until(
        page,
        "(t => t.scrollLeft > 0 && t.scrollLeft + t.clientWidth >= t.scrollWidth - 1)(document.querySelector('.runs'))",
    )


def test_all_that_are_shown_and_a_range_are_selected(page: Page, seeds: Served) -> None:
    open_list(page, seeds)
    page.fill("#filter", "^other")
    page.check("#all")
    assert page.locator("#compare").inner_text() == "Compare 20 runs"
    page.uncheck("#all")
    boxes = page.locator("[name=run]:visible")
    boxes.nth(2).check()
    boxes.nth(6).click(modifiers=["Shift"])
    assert page.locator("#compare").inner_text() == "Compare 5 runs"
    assert page.evaluate("document.querySelector('#all').indeterminate")
    boxes.nth(6).click()
    boxes.nth(3).click(modifiers=["Shift"])
    assert page.locator("[name=run]:checked").count() == 1


def test_a_column_chosen_while_the_page_of_another_one_arrives_stays_chosen(page: Page, seeds: Served) -> None:
    open_list(page, seeds)
    page.evaluate("""() => {
      const text = Response.prototype.text
      window.held = []
      Response.prototype.text = async function () {
        const all = await text.call(this)
        await new Promise((release) => window.held.push(release))
        return all
      }
    }""")
    page.locator("#columns summary").click()
    page.check("[name=column][value=learning_rate]")
    until(page, "window.held.length === 1")
    page.check("[name=column][value='reward.mean']")
    page.evaluate("() => { held[0](); return new Promise(requestAnimationFrame) }")
    assert page.is_checked("[name=column][value='reward.mean']")
    until(page, "window.held.length > 1")
    page.evaluate("setInterval(() => held.forEach((release) => release()))")
    page.locator("thead button", has_text="reward.mean").wait_for()
    assert page.is_checked("[name=column][value=learning_rate]")
    assert page.is_checked("[name=column][value='reward.mean']")


def save(page: Page, kind: str, folder: Path) -> bytes:
    """The first curve as a file."""
    with page.expect_download() as saved:
        page.locator(f".plot:has(canvas) [data-save={kind}]").first.click()
    saved.value.save_as(folder / kind)
    return (folder / kind).read_bytes()


def test_a_saved_picture_says_what_it_shows(page: Page, site: Served, tmp_path: Path) -> None:
    open_curves(page, site, "demo")
    texts = re.findall(r"<text[^>]*>([^<]*)", save(page, "svg", tmp_path).decode())
    assert texts[0].endswith(" of demo")
    said = " | ".join(texts)
    assert re.search(r"between step \d+ and \d+ \| onset, step \d+ \| best checkpoint, step \d+", said)
    assert int.from_bytes(save(page, "png", tmp_path)[16:20]) >= 1600  # pixels across


def test_few_points_are_steps_as_in_the_report(page: Page, tmp_path: Path) -> None:
    for name, n in (("few", 20), ("many", 80)):
        write_score(tmp_path / name / "metrics.jsonl", reward=[0.1 + (i % 7) / 10 for i in range(n)])
    with serving(tmp_path) as served:
        for name, steps in (("few", True), ("many", False)):
            open_curves(page, served, name)
            path = re.findall(r'<path[^>]*d="(M[^"]{60,})"', save(page, "svg", tmp_path).decode())[-1]
            assert ("H" in path) is steps
            page.goto("about:blank")  # before its server ends


def test_a_curve_is_drawn_over_another_one_and_saved(page: Page, site: Served, runs: Path, tmp_path: Path) -> None:
    open_curves(page, site, "demo")
    page.select_option("#x", label="kl.ref")
    until(page, "document.querySelector('.plot').dataset.kind?.includes('kl.ref')")
    page.locator(".plot .u-over").first.hover()
    assert page.locator(".plot output").first.inner_text().startswith("kl.ref 0.")
    for kind, begin in (("png", b"\x89PNG"), ("svg", b"<svg")):
        assert save(page, kind, tmp_path).startswith(begin)
    table = list(csv.DictReader(site.get("/csv/demo")[2].decode().splitlines()))
    curve = read(runs / "demo").series["reward.mean"]
    assert [float(row["reward.mean"]) for row in table if row["reward.mean"]] == curve.values.tolist()


def test_of_many_sides_the_means_alone_are_drawn(page: Page, tmp_path: Path) -> None:
    for side in range(6):
        for seed in range(2):
            run = tmp_path / f"run{2 * side + seed}"
            write_score(run / "metrics.jsonl", reward=[0.01 * side * step + seed for step in range(50)])
            (run / "config.json").write_text(json.dumps({"learning_rate": 1e-4 * (side + 1), "seed": seed}))
    with serving(tmp_path) as served:
        for sides, areas in ((4, 4), (6, 0)):
            page.goto(f"{served.address}/compare?{'&'.join(f'run=run{i}' for i in range(2 * sides))}")
            drawn(page)
            assert save(page, "svg", tmp_path).decode().count('fill-opacity="0.22"') == areas
            names = page.locator(".legend button").all_inner_texts()
            assert [name.strip() for name in names][1] == "learning_rate=0.0002 (2 runs)"


def test_two_kinds_of_steps_have_two_figures(page: Page, site: Served) -> None:
    page.goto(f"{site.address}/compare?run=demo&run=large&run=sb3")
    drawn(page, 2)
    kinds = page.locator(".plot[data-tall]").evaluate_all("all => all.map(figure => figure.dataset.axis)")
    assert {"step", "env_steps"} <= set(kinds)
    for plot in page.locator(".plot[data-tall]").all():
        plot.locator(".u-over").hover()
        own = {"step": {"demo", "large"}, "env_steps": {"sb3"}}[plot.get_attribute("data-axis")]
        said = dict(part.rsplit(" ", 1) for part in plot.locator("output").inner_text().partition(": ")[2].split(", "))
        assert all(said[name] == "-" for name in said.keys() - own)
    assert page.evaluate("document.documentElement.scrollHeight") < 4000


@pytest.mark.thorough
def test_a_hundred_runs_are_compared(page: Page, tmp_path: Path) -> None:
    for i in range(100):
        write_score(tmp_path / f"run{i:02}" / "metrics.jsonl", reward=[0.01 * i * step for step in range(40)])
    with serving(tmp_path) as served:
        page.goto(f"{served.address}/compare?{'&'.join(f'run=run{i:02}' for i in range(100))}")
        drawn(page)
        assert page.locator("h1").first.inner_text() == "100 runs compared"
        assert page.locator(".sides .members li").count() == 100
        assert page.evaluate("document.documentElement.scrollHeight") < 8000
        page.locator(".plot .u-over").first.hover()
        assert page.locator(".plot output").first.inner_text().count(",") == 0  # of many runs, the nearest


def rewards_of(page: Page) -> list[float]:
    return [float(re.search(r"reward (-?[\d.]+)", s.inner_text())[1]) for s in page.locator(".sample header").all()]


def test_a_finding_leads_to_its_samples_which_are_sorted_filtered_and_counted(page: Page, site: Served) -> None:
    page.goto(f"{site.address}/run/demo")
    page.locator(".finding", has_text="reward-proxy-only").first.locator(".reads").click()
    page.wait_for_url("**/samples/demo?finding=reward-proxy-only*")
    facts = page.locator(".sample header .facts").all_inner_texts()
    assert all(float(re.search(r"step (\d+)", text)[1]) >= 61 for text in facts)
    paid = [float(re.search(r"thoroughness (-?[\d.]+)", text)[1]) for text in facts]
    assert paid == sorted(paid, reverse=True)
    assert page.locator("[name=sort]").input_value() == "thoroughness"
    assert page.locator("[name=once]").is_checked()
    page.goto(f"{site.address}/samples/demo?sort=reward&order=rising&least=0.5&most=1.5")
    found = rewards_of(page)
    assert found == sorted(found)
    assert 0.5 <= found[0] <= found[-1] <= 1.5
    page.select_option("[name=order]", "")
    page.get_by_role("button", name="Find").click()
    page.wait_for_url("**order=&**")
    assert rewards_of(page)[0] == max(rewards_of(page))


def test_the_last_mark_is_followed_by_a_summary(page: Page, tmp_path: Path) -> None:
    write_jsonl(tmp_path / "one" / "metrics.jsonl", 60)
    rows = [{"step": i, "prompt": "p", "completion": ["same", "other"][i == 2], "reward": 1.0} for i in range(3)]
    (tmp_path / "one" / "completions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with serving(tmp_path) as served:
        page.goto(f"{served.address}/samples/one?once=1")
        assert page.locator("#found").inner_text() == "3 samples, 2 different texts"
        assert "this text 2 times" in page.locator(".sample").first.inner_text()
        page.keyboard.press("j")
        page.keyboard.press("1")
        until(page, "document.querySelectorAll('[aria-pressed=true]').length === 1")
        assert page.locator("#read").inner_text() == ""
        page.keyboard.press("j")
        page.keyboard.press("2")
        until(page, "document.querySelector('#read').textContent === 'All 2 on this page are marked: 1 keep, 1 hack.'")
        page.goto("about:blank")


WHOLE = """box => {
  const { left, right, top, bottom } = box.getBoundingClientRect()
  return [[left + 2, top + 2], [right - 2, bottom - 2]].every(([x, y]) => document.elementFromPoint(x, y) === box)
}"""


@pytest.mark.parametrize("width", [900, 1440])
def test_why_score_heads_and_buttons_stay_in_sight(page: Page, seeds: Served, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 500})
    open_list(page, seeds)
    for label in ("Why", "Last", "Best"):
        box = page.locator(f".runs tbody [data-label={label}]").first.bounding_box()
        assert box["x"] + box["width"] <= width, label
    reason = "cell => cell.scrollWidth <= cell.clientWidth"
    assert width > 900 or page.locator(".runs tbody [data-label=Why]").first.evaluate(reason)
    page.mouse.move(width / 2, 400)
    page.mouse.wheel(0, 10_000)
    until(page, "document.querySelector('.runs').scrollTop > 200")
    for seen in ("#filter", "#compare", ".runs thead th"):
        box = page.locator(seen).first.bounding_box()
        assert 0 <= box["y"] < 400, seen


def test_a_card_of_the_list_is_short_and_its_box_is_whole(chromium: Browser, seeds: Served) -> None:
    tab = opened(chromium, viewport={"width": 380, "height": 900})
    open_list(tab, seeds)
    heights = [row.bounding_box()["height"] for row in tab.locator(".runs tbody tr").all()[:10]]
    assert max(heights) <= 120
    assert tab.locator(".runs tbody [name=run]:enabled").first.evaluate(WHOLE)
    for box in tab.locator(".runs tbody [name=run]:enabled").all()[:2]:
        box.check()
    tab.evaluate("scrollTo(0, 2000)")
    assert 0 < tab.locator("#compare").bounding_box()["y"] < 900
    tab.close()
