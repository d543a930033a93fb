"""The terminal, the page and the Markdown tell the same facts in the same order."""

import dataclasses
import math
import re
from collections.abc import Callable, Iterator
from html.parser import HTMLParser

import pytest

from firstbreak.model import Diagnosis, Evidence, Finding, Interval, Link
from firstbreak.reports import content, html, markdown, terminal
from firstbreak.reports.text import shorter
from firstbreak.words import link_word, moment, percent
from tests.reports import fixtures
from tests.there import there


def facts(dx: Diagnosis) -> Iterator[str]:
    """Everything that a report has to say, in the order in which it has to say it."""
    yield from (dx.verdict.summary, dx.verdict.do_first)
    yield from (f"{link_word(link)} ({status}): {why}" for link, status, why in content.link_reasons(dx))
    yield from (fact.text for fact in (*content.first_break(dx), *content.outlook(dx)))
    for outcome in dx.findings:
        assert outcome.finding is not None
        yield from (outcome.detector, *content.finding_facts(dx, outcome), outcome.finding.message)
        yield from (content.caption(exhibit) for exhibit in content.exhibits(dx, outcome.finding))
    for cause in content.remedies(dx):
        yield from (cause.title, *cause.fix)
        if cause.experiment is not None:
            yield from (fact.text for fact in content.experiment(dx.run, cause.experiment))
    yield from dx.expected
    yield from (fact.text for fact in content.unmeasured_links(dx))
    yield from (*content.further_unmeasured(dx), *content.damage(dx))
    yield from (fact.text for fact in content.read(dx))


class _Text(HTMLParser):
    """What a reader of the page reads."""

    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in ("meta", "wbr"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        self._inside.pop()

    def handle_data(self, data: str) -> None:
        if not {"style", "title", "svg"} & set(self._inside):
            self.seen.append(data)


def from_html(dx: Diagnosis) -> str:
    parser = _Text()
    parser.feed(html.render(dx))
    return "".join(parser.seen)


def from_markdown(dx: Diagnosis) -> str:
    return re.sub(r"\\(?=\W|_)|\*\*|`", "", markdown.render(dx))


REPORTS: dict[str, Callable[[Diagnosis], str]] = {
    "terminal": lambda dx: terminal.render(dx, width=100),
    "html": from_html,
    "markdown": from_markdown,
}


def squeeze(text: str) -> str:
    return re.sub(r"\s+", "", text)


@pytest.mark.parametrize("report", sorted(REPORTS))
def test_every_fact_is_told_in_order(calm: Diagnosis, report: str) -> None:
    text, place = squeeze(REPORTS[report](calm)), 0
    for fact in facts(calm):
        said = (squeeze(way).replace("`", "").replace("**", "") for way in (fact, shorter(fact)))  # a page writes 612K
        found = max(text.find(way, place) for way in said)
        assert found >= 0, f"missing or out of order: {fact!r}"
        place = found


@pytest.mark.parametrize("report", sorted(REPORTS))
def test_every_cause_stands_with_its_probability(calm: Diagnosis, report: str) -> None:
    text = squeeze(REPORTS[report](calm))
    for cause in content.causes(calm):
        at = text.find(squeeze(percent(cause.probability)))
        assert at >= 0
        assert squeeze(cause.title) in text[at:]


@pytest.mark.parametrize("report", sorted(REPORTS))
def test_evidence_stands_with_its_side_and_strength(report: str) -> None:
    dx = fixtures.nan_ridden()
    text = squeeze(REPORTS[report](dx))
    for cause in content.argued(dx):
        for line in content.evidence(dx, cause):
            assert squeeze(line.text) in text


def test_evidence_is_strong_from_odds_of_twenty_on_and_weak_below_three() -> None:
    nats = {"strong": math.log(200), "fair": math.log(0.1), "weak": math.log(2)}
    assert {name: content.strength(fixtures.weighs("found", weight)) for name, weight in nats.items()} == {
        n: n for n in nats
    }


def test_sections_come_in_the_order_in_which_a_reader_needs_them() -> None:
    assert [section.value for section in content.sections(fixtures.hostile())] == [
        "verdict",
        "do_first",
        "loop",
        "first_break",
        "outlook",
        "findings",
        "causes",
        "remedy",
        "expected",
        "not_measured",
        "damage",
        "read",
    ]


@pytest.mark.parametrize("report", sorted(REPORTS))
def test_a_break_below_a_blind_link_may_lie_earlier(report: str) -> None:
    assert squeeze("rollout, or earlier") in squeeze(REPORTS[report](fixtures.grpo_truncation()))
    assert squeeze("or earlier") not in squeeze(REPORTS[report](fixtures.sb3_collapse()))


def test_a_link_does_not_repeat_what_a_finding_says() -> None:
    dx = fixtures.grpo_truncation()
    message = dx.findings[0].finding.message if dx.findings[0].finding else ""
    assert len(content.link_reasons(dx)) == 3
    repeated = dict(dx.links) | {Link.ROLLOUT: dataclasses.replace(dx.links[Link.ROLLOUT], why=message)}
    assert [link for link, _, _ in content.link_reasons(dataclasses.replace(dx, links=repeated))] == [
        Link.REWARD,
        Link.ADVANTAGE,
    ]


def test_a_healthy_report_is_short_and_makes_no_case() -> None:
    dx = fixtures.healthy()
    assert len(terminal.render(dx).splitlines()) < 50
    assert "Why" not in terminal.render(dx)
    assert set(content.sections(dx)) == {
        content.Section.VERDICT,
        content.Section.DO_FIRST,
        content.Section.LOOP,
        content.Section.OUTLOOK,
        content.Section.CAUSES,
        content.Section.EXPECTED,
        content.Section.READ,
    }


def test_a_blind_report_says_so_and_how_to_see() -> None:
    text = terminal.render(fixtures.cannot_tell(), width=100)
    assert "no break found; 8 of 10 links not measured" in text
    assert "log the reward's mean and spread for each step" in text


def test_what_to_log_stands_before_what_is_merely_missing() -> None:
    dx = fixtures.cannot_tell()
    notes = (
        "no rewards", "reward is not logged: set x.", "reward is not logged: set x.; neither is y", "no z at all",
        "no w at all",
    )  # fmt: skip
    outcomes = tuple(fixtures.unseen(f"d{i}", Link.REWARD, note) for i, note in enumerate(notes))
    facts = {fact.label: fact.text for fact in content.unmeasured_links(dataclasses.replace(dx, outcomes=outcomes))}
    assert facts["reward"] == "reward is not logged: set x; no rewards; and 2 more"
    assert facts["advantage"] == "none of its signals is in the log"


def test_an_onset_on_another_axis_is_not_marked() -> None:
    """Step 193 of the trainer is no place on a curve that counts episodes."""
    dx = fixtures.grpo_truncation()
    finding = there(dx.findings[0].finding)
    episodes = fixtures.curve("reward.episode", fixtures.noise(50), axis="episode")
    elsewhere = Finding(
        message="",
        severity=finding.severity,
        metric=finding.metric,
        onset=193,
        evidence=(Evidence(text="", series=episodes), *finding.evidence),
    )
    other, own = content.exhibits(dx, elsewhere)[:2]
    assert other.onset is None
    assert own.onset == 193


@pytest.mark.parametrize(
    ("onset", "interval", "said"),
    [
        (5.0, (4.0, 7.0), "step 5 (between 4 and 7)"),
        (5.0, None, "step 5"),
        (30720.0, (24338.4, 30720.0), "step 30720 (between 24338 and 30720)"),
        (9.0, (6.843, 9.5), "step 9 (between 6 and 10)"),
        (0.1406, (0.1049, 0.1406), "step 0.1406 (between 0.1049 and 0.1406)"),
        (None, (4.0, 7.0), "step between 4 and 7"),
        (5.0, (5.0, 5.0), "step 5"),
        (5.0, (4.0, float("inf")), "step 5 (not before 4)"),
        (None, None, ""),
    ],
)
def test_a_time_is_as_precise_as_it_is_known(onset: float | None, interval: Interval | None, said: str) -> None:
    assert moment("step", onset, interval) == said


@pytest.mark.parametrize(
    ("hours", "said"),
    [(4.25, "4.25 hours"), (0.62, "37.2 minutes"), (0.0065, "23.4 seconds"), (1.0, "1 hour"), (0.0, "0 seconds")],
)
def test_time_is_told_in_the_unit_that_fits(hours: float, said: str) -> None:
    assert content.duration(hours) == said
