"""The tasks of docs/web.md that no other test does: what a person comes to the page for, done in a real browser."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.readers.read import read
from firstbreak.reports import content, html
from tests.make import write_jsonl
from tests.there import there
from tests.web.conftest import opened
from tests.web.serving import Served, serving
from tests.web.test_browser import drawn, open_curves, open_list, shown_names, until, write_score

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.browser
ROOT = Path(__file__).parents[2]


def framed(page: Page, site: Served, runs: Path) -> tuple[float, float]:
    """The curves of a run, after a click on its onset, whose interval it is."""
    open_curves(page, site, "demo")
    page.locator("[data-zoom=onset]").click()
    return there(there(diagnose(read(runs / "demo")).first_break).interval)


def test_the_onset_is_framed_and_the_address_keeps_it(page: Page, site: Served, runs: Path) -> None:
    earliest, latest = framed(page, site, runs)
    until(page, "document.querySelector('#range').textContent.includes(' to ')")
    low, high = (float(part) for part in page.locator("#range").inner_text().split(" to "))
    assert low <= earliest + 1
    assert latest - 1 <= high < 160  # not the whole run
    address = page.url
    page.goto("about:blank")
    page.goto(address)
    page.evaluate("document.querySelector('#curves').scrollIntoView()")
    drawn(page)
    assert page.locator("#range").inner_text() == f"{low:g} to {high:g}"


def test_the_onset_button_shows_the_interval_that_the_report_says_and_steps_can_be_written(
    page: Page, site: Served, runs: Path
) -> None:
    low, high = framed(page, site, runs)
    fields = [page.locator("#from"), page.locator("#to")]
    assert [float(field.input_value()) for field in fields] == [math.floor(low), math.ceil(high)]
    fields[0].fill("20")
    fields[1].fill("40")
    fields[1].press("Tab")
    until(page, "document.querySelector('.plot').dataset.drawn === '20 to 40'")


def test_a_drawing_leads_to_its_curve_at_the_onset_large(page: Page, site: Served, runs: Path) -> None:
    page.goto(f"{site.address}/run/demo")
    page.locator(".overlay .opens").click()
    until(page, "document.querySelector('.plot.large canvas')?.clientWidth > 900")
    first = there(diagnose(read(runs / "demo")).first_break)
    assert page.locator(".plot.large figcaption code").inner_text() == first.metric
    assert page.locator(".plot.large").bounding_box()["y"] < 900  # in view
    assert "zoom=" in page.url
    page.locator(".plot.large .enlarge").click()
    until(page, "[...document.querySelectorAll('.plot canvas')].every(canvas => canvas.clientWidth < 600)")


def test_the_longest_sample_of_some_steps_is_found(page: Page, site: Served) -> None:
    page.goto(f"{site.address}/samples/demo")
    page.fill("[name=step]", "40")
    page.fill("[name=until]", "80")
    page.get_by_role("button", name="Find").click()
    page.wait_for_url("**until=80**")
    page.select_option("[name=sort]", "length")
    page.wait_for_url("**sort=length**")
    facts = page.locator(".sample header .facts").all_inner_texts()
    steps, lengths = (
        [float(re.search(pattern, text)[1]) for text in facts]  # type: ignore[index]
        for pattern in (r"step (\d+)", r"(\d+) characters")
    )
    assert all(40 <= step <= 80 for step in steps)
    assert lengths == sorted(lengths, reverse=True)


def test_the_list_finds_verdicts_counts_what_is_shown_and_opens_a_run_by_its_row(page: Page, site: Served) -> None:
    open_list(page, site)
    word = page.locator(".runs tbody tr[data-name=demo] .badge").inner_text()
    page.fill("#filter", f"demo {word.lower()}")
    assert page.locator(".runs tbody tr:visible").count() == 1
    assert re.fullmatch(r"1 of \d+ runs shown", page.locator("#shown").inner_text())
    page.locator(".runs tbody tr[data-name=demo] [data-label=Why]").click()
    page.wait_for_url("**/run/demo")


def test_the_guilty_sample_is_read_beside_an_early_one(page: Page, site: Served, runs: Path) -> None:
    found = there(content.guilty(diagnose(read(runs / "demo"))))
    page.goto(f"{site.address}/run/demo")
    texts = page.locator(".pair .text").all_inner_texts()
    assert [text.strip() for text in texts] == [sample.completion.strip() for sample in found]
    assert len(texts[0]) > 2 * len(texts[1])  # what the reward paid for
    asked = page.locator(".pair .asked").all_inner_texts()
    assert [text.removeprefix("Prompt: ").removeprefix("... ")[-40:].strip() for text in asked] == [
        sample.prompt[-40:].strip() for sample in found
    ]
    assert "thoroughness" in page.locator(".pair").inner_text()


@pytest.mark.thorough
def test_the_worst_of_1000_runs_is_found(page: Page, tmp_path: Path) -> None:
    for i in range(1000):
        rise = [0.1 * step for step in range(5)]
        write_score(tmp_path / f"seed-{i:03}" / "metrics.jsonl", reward=rise)
    wobble = [0.02 * math.sin(17.0 * i) for i in range(200)]
    lost = [0.2 + 0.004 * min(i, 80) - 0.006 * max(0, i - 80) + wobble[i] for i in range(200)]
    write_score(tmp_path / "seed-417" / "metrics.jsonl", reward=lost, kl=[0.01 + w / 10 for w in wobble])
    with serving(tmp_path) as served:
        page.goto(served.address)
        listed = "document.querySelectorAll('.runs tbody tr').length === 1000"
        until(page, f"{listed} && !document.querySelector('#tally').textContent.includes('being read')")
        assert shown_names(page)[0] == "seed-417"
        page.locator(".runs tbody tr th a").first.click()
        page.wait_for_url("**/run/seed-417")
        assert page.locator("article h2").first.inner_text() in ("Stop", "Roll back", "Watch")
        page.goto("about:blank")


@pytest.mark.thorough
def test_a_live_run_is_followed_through_a_disconnect(chromium: Browser, tmp_path: Path) -> None:
    log = tmp_path / "one" / "metrics.jsonl"
    write_jsonl(log, 60)
    tab = opened(chromium)
    verdict = "document.querySelector('article .verdict').textContent"
    with serving(tmp_path) as served:
        tab.goto(f"{served.address}/run/one")
        until(tab, f"{verdict}.includes('steps 0 to 59')")
        until(tab, "document.querySelector('#live').textContent.startsWith('live')")
    until(tab, "document.querySelector('#live').textContent.startsWith('disconnected')")
    write_jsonl(log, 40, start=60)  # the run goes on meanwhile
    with serving(tmp_path, port=served.port):
        until(tab, "document.querySelector('#live').textContent.startsWith('live')")
        until(tab, f"{verdict}.includes('steps 0 to 99')")
        write_jsonl(log, 20, start=100)
        until(tab, f"{verdict}.includes('steps 0 to 119')")
        tab.close()


@pytest.mark.thorough
def test_a_page_goes_on_after_a_server_with_another_token_has_answered(chromium: Browser, tmp_path: Path) -> None:
    """The browser gives up after an answer of 401; the page does not."""
    write_jsonl(tmp_path / "one" / "metrics.jsonl", 60)
    tab = opened(chromium)
    live = "document.querySelector('#live').textContent"
    with serving(tmp_path, token="mine") as served:
        tab.goto(f"{served.address}/run/one?token=mine")
        until(tab, f"{live}.startsWith('live')")
    with serving(tmp_path, token="another", port=served.port):
        until(tab, f"{live}.startsWith('disconnected')")
        tab.wait_for_timeout(2000)
        assert tab.evaluate(live).startswith("disconnected")
        assert float(tab.evaluate("getComputedStyle(document.querySelector('article')).opacity")) < 1
    with serving(tmp_path, token="mine", port=served.port):
        until(tab, f"{live}.startsWith('live')")
        tab.close()


def test_the_plan_of_the_memory_is_seen_against_the_capacity(page: Page, site: Served) -> None:
    page.goto(f"{site.address}/run/demo")
    page.locator(".contents a", has_text="Memory as planned").click()
    bar = page.locator("#memory .stack").first
    assert bar.is_visible()
    box, line, part = (found.bounding_box() for found in (bar, bar.locator("line"), bar.locator("[class^=part]").first))
    assert box is not None
    assert line is not None
    assert part is not None
    assert line["x"] == pytest.approx(box["x"] + box["width"], abs=2)  # what fits ends at the capacity
    assert part["width"] < 0.1 * box["width"]
    assert "capacity, 80 GiB" in page.locator("#memory").inner_text()


def test_a_name_leads_to_what_it_means_with_a_picture(page: Page, site: Served) -> None:
    page.goto(f"{site.address}/run/demo")
    page.locator(".finding", has_text="length-runaway").locator("h3 .meaning").click()
    page.wait_for_url("**/explain/length-runaway")
    until(page, "document.querySelector('.drawn img').naturalWidth > 600")
    assert "When it is a false alarm" in page.locator(".explained").inner_text()
    page.get_by_role("link", name="reward-pays-for-length").click()
    page.wait_for_url("**/explain/reward-pays-for-length")
    assert "What it shows, in order" in page.locator(".explained").inner_text()
    for link in page.locator(".explained a[href^='/explain']").all():
        assert site.get(link.get_attribute("href") or "")[0] == 200
    assert site.get("/explain/no-such-name")[0] == 404


def test_the_file_opens_the_page_of_a_name(page: Page, tmp_path: Path, runs: Path) -> None:
    report = tmp_path / "report.html"
    report.write_text(html.render(diagnose(read(runs / "demo"))))
    page.goto(report.as_uri())
    assert not page.locator("#about-length-runaway").is_visible()
    page.locator(".finding", has_text="length-runaway").locator(".meaning").click()
    until(page, "document.querySelector('#about-length-runaway').checkVisibility()")
    until(page, "document.querySelector('details:has(#about-length-runaway) img').naturalWidth > 600")


def test_samples_are_sorted_as_soon_as_it_is_chosen(page: Page, site: Served) -> None:
    page.goto(f"{site.address}/samples/demo")
    page.select_option("[name=sort]", "thoroughness")
    page.wait_for_url("**sort=thoroughness**")
    facts = page.locator(".sample header .facts").all_inner_texts()
    paid = [float(re.search(r"thoroughness (-?[\d.]+)", text)[1]) for text in facts]  # type: ignore[index]
    assert paid == sorted(paid, reverse=True)
    assert page.get_by_label("Thoroughness from").is_visible()


def test_a_curve_that_cannot_be_logarithmic_says_so(page: Page, site: Served) -> None:
    open_curves(page, site, "demo")
    page.locator("#log").check()
    thoroughness = "document.querySelector('[data-metric*=thoroughness]')"
    until(page, f"{thoroughness}.classList.contains('linear')")  # it begins at 0
    until(page, "!document.querySelector('[data-metric*=\"length.mean\"]').classList.contains('linear')")


def test_a_healthy_run_shows_its_score_on_the_first_screen(page: Page, site: Served) -> None:
    page.goto(f"{site.address}/run/large")
    assert page.locator(".outlook .overlay .trace").count() == 1
    assert "reward" in page.locator(".outlook .key").first.inner_text()


def test_the_history_of_the_verdict_is_told_while_a_run_goes_on(page: Page, tmp_path: Path) -> None:
    log = tmp_path / "one" / "metrics.jsonl"
    write_jsonl(log, 3)
    with serving(tmp_path) as served:
        page.goto(f"{served.address}/run/one")
        assert page.locator("#verdicts").inner_text() == ""
        write_jsonl(log, 60, start=3)
        until(page, "document.querySelector('#verdicts').textContent.includes('then Continue')")
        assert "Cannot tell yet at step 2" in page.locator("#verdicts").inner_text()
        page.goto("about:blank")
