"""The audit on a terminal and as JSON. Nothing is decided here, and text from samples is escaped."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import orjson
from rich.console import RenderableType
from rich.table import Table as Grid
from rich.text import Text

from firstbreak.audit.audit import Audit
from firstbreak.audit.judge import Verdicts
from firstbreak.audit.marks import key_of
from firstbreak.audit.scoring import Agreement
from firstbreak.audit.sections import AuditTable, line, tables
from firstbreak.audit.selection import ALIKE, SelectedSample
from firstbreak.audit.shift import SideMetric
from firstbreak.audit.split_truth import PolicySample
from firstbreak.model import Finding, Outcome, Series, Status
from firstbreak.reports import content, sparkline
from firstbreak.reports.terminal import named
from firstbreak.reports.terminal_style import Page, TerminalStyle
from firstbreak.reports.text import count
from firstbreak.words import link_word, moment, number

SCHEMA = "firstbreak.audit/1"
_STATUS = {
    Status.OK: "nothing found",
    Status.NOT_MEASURED: "not measured",
    Status.NOT_APPLICABLE: "does not apply",
    Status.CRASHED: "failed",
}


# JSON ---------------------------------------------------------------------------------------------------------------


def render_json(audit: Audit, verdicts: Verdicts | None = None) -> str:
    """One object; see docs/audit.md. Numbers that are not finite are null."""
    options = orjson.OPT_INDENT_2 | orjson.OPT_SERIALIZE_NUMPY
    return orjson.dumps(_plain(as_dict(audit, verdicts)), option=options).decode()


def as_dict(audit: Audit, verdicts: Verdicts | None = None) -> dict[str, Any]:
    """The audit in plain data."""
    table, hacking_test = audit.table, audit.hacking_test
    return {
        "schema": SCHEMA,
        "path": audit.path,
        "samples": table.samples,
        "steps": [table.rows[0][0], table.rows[-1][0]],
        "findings": [_finding_dict(outcome) for outcome in audit.findings],
        "quiet": {o.detector: {"status": o.status.value, "why": o.note} for o in audit.outcomes if o.finding is None},
        "truths": [
            {
                "name": p.truth.name,
                "course": p.course,
                "parted": p.step,
                "interval": p.interval,
                "before": p.change.before,
                "after": p.change.after,
                "change": p.change.interval,
                "reward_before": p.proxy.before,
                "reward_after": p.proxy.after,
            }
            for p in hacking_test.comparisons
        ],
        "sides": [_side_dict(side) for side in hacking_test.sides],
        "components": [vars(part) for part in hacking_test.parts],
        "agreement": [_agreement_dict(agreement) for agreement in hacking_test.agreements],
        "diversity": None if audit.diversity is None else _diversity_dict(audit),
        "judge": None if verdicts is None else verdicts.as_dict(),
        "read": [_selected_dict(chosen) for chosen in audit.selected],
        "notes": list(audit.notes),
    }


def _plain(value: Any) -> Any:
    """The value without what JSON cannot hold: non-finite numbers, lone surrogates."""
    if isinstance(value, Mapping):
        return {_plain(str(key)): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _fields(thing: object, *names: str) -> dict[str, Any]:
    return {name: getattr(thing, name) for name in names}


def _finding_dict(outcome: Outcome) -> dict[str, Any]:
    finding = content.found(outcome)
    return {
        "id": outcome.detector,
        "link": outcome.link.value,
        "severity": finding.severity.value,
        "confidence": finding.confidence.value,
        **_fields(finding, "metric", "onset", "interval", "message"),
        "facts": dict(finding.numbers),
    }


def _side_dict(side: SideMetric) -> dict[str, Any]:
    curve = side.curve
    return {
        "id": side.metric.id,
        **_fields(side, "early", "late", "effect", "shifted", "interval"),
        "onset": side.step,
        "paid": side.rewarded,
        "in_group": None if side.in_group is None else vars(side.in_group),
        "same_answer": None if side.same_answer is None else vars(side.same_answer),
        **{name: array.tolist() for name, array in vars(curve).items()},
    }


def _agreement_dict(agreement: Agreement) -> dict[str, Any]:
    mismatches = [{**_sample_dict(m.sample), "reward": m.reward, "truth": m.truth} for m in agreement.mismatches]
    return {**vars(agreement), "mismatches": mismatches}


def _diversity_dict(audit: Audit) -> dict[str, Any]:
    found = audit.diversity
    assert found is not None
    return {
        "steps": found.texts.steps.tolist(),
        "distinct_texts": found.texts.values.tolist(),
        "strategies": found.strategies.values.tolist(),
        **_fields(found, "commonest", "share"),
        "onset": found.step,
        "interval": found.interval,
    }


def _selected_dict(chosen: SelectedSample) -> dict[str, Any]:
    sample = chosen.sample
    about = {"kind": chosen.kind, "why": chosen.why, "reward": sample.reward, "rewards": dict(sample.rewards)}
    return {**_sample_dict(sample), **about}


def _sample_dict(sample: PolicySample) -> dict[str, Any]:
    return {"key": key_of(sample), "step": sample.step, "prompt": sample.prompt, "completion": sample.completion}


# Terminal -----------------------------------------------------------------------------------------------------------


def renderable(audit: Audit, verdicts: Verdicts | None = None) -> Page:
    """The report for `rich.print`."""
    return Page(partial(_parts, audit, verdicts))


def _parts(audit: Audit, verdicts: Verdicts | None, how: TerminalStyle) -> Iterator[RenderableType]:
    table = audit.table
    first, last = table.rows[0][0], table.rows[-1][0]
    yield how.text(audit.path, "bold")
    yield how.text(f"{count(table.samples, 'sample')}, steps {number(first)} to {number(last)}", "dim")
    for note in audit.notes:
        yield how.bullet(note)
    yield Text()
    if not audit.findings:
        yield how.text("Nothing was found. The checks that could not be made are below.", "bold")
    for i, outcome in enumerate(audit.findings):
        if i:
            yield Text()
        yield from _finding(outcome, (first, last), how)
    for part in tables(audit):
        yield from _section(part.title, _table(part, how), how)
    yield from _section("The judge", map(how.bullet, verdicts.lines() if verdicts is not None else ()), how)
    yield from _section("Read these", _reading(audit, how), how)
    quiet = (outcome for outcome in audit.outcomes if outcome.finding is None)
    yield from _section("Without finding", (how.bullet(_without(outcome)) for outcome in quiet), how)


def _section(title: str, parts: Iterator[RenderableType], how: TerminalStyle) -> Iterator[RenderableType]:
    """A heading with its content, or nothing."""
    for i, part in enumerate(parts):
        if not i:
            yield from how.section(title)
        yield part


def _finding(outcome: Outcome, domain: tuple[float, float], how: TerminalStyle) -> Iterator[RenderableType]:
    finding = content.found(outcome)
    yield named(outcome, how)
    since = moment("step", finding.onset, finding.interval)
    facts = (link_word(outcome.link), f"since {since}" if since else "", finding.confidence.phrase)
    yield how.indented(how.text(", ".join(filter(None, facts)), "dim"))
    yield how.indented(how.text(finding.message))
    for evidence in finding.evidence:
        if evidence.series is not None and len(evidence.series) > 1:
            yield how.indented(how.text(f"{evidence.series.name}: {evidence.text}", "dim"))
            yield how.wide(how.indented(_plot(evidence.series, finding, domain, how)))


def _plot(series: Series, finding: Finding, domain: tuple[float, float], how: TerminalStyle) -> Text:
    reach = min(domain[0], float(series.steps[0])), max(domain[1], float(series.steps[-1]))
    return how.lines(sparkline.draw(series, reach, how.screen - 2, finding.onset, finding.interval, how.ink), "cyan")


def _grid(how: TerminalStyle, head: tuple[str, ...], rows: Sequence[tuple[str, ...]], words: int) -> RenderableType:
    """A table whose first `words` columns are text and whose others are numbers."""
    grid = Grid.grid(padding=(0, 2))
    for i, title in enumerate(head):
        grid.add_column(how.text(title, "dim"), justify="left" if i < words else "right", overflow="fold")
    grid.add_row(*(how.text(title, "dim") for title in head))
    for row in rows:
        grid.add_row(*(how.text(cell) for cell in row))
    return grid


def _table(table: AuditTable, how: TerminalStyle) -> Iterator[RenderableType]:
    if table.rows:
        yield _grid(how, table.head, table.rows, table.words)
    yield from (how.bullet(said) for said in table.lines)
    yield from (how.text(said, "dim") for said in table.notes)


def _reading(audit: Audit, how: TerminalStyle) -> Iterator[RenderableType]:
    for kind in dict.fromkeys(chosen.kind for chosen in audit.selected):
        selected = [chosen for chosen in audit.selected if chosen.kind == kind]
        alike = selected[0].why == ALIKE
        if alike:
            yield how.text(f"all samples of the step have one reward, {number(selected[0].sample.reward)}")
        for sample in (chosen.sample for chosen in selected[: 3 if alike else 1]):
            at = "" if sample.step is None else f", step {number(sample.step)}"
            yield how.bullet(f"{kind} ({len(selected)}){at}, reward {number(sample.reward)}: {line(sample.completion)}")
            if sample.prompt:
                yield how.indented(how.text(f"prompt: {line(sample.prompt)}", "dim"))
    if audit.selected:
        yield how.text("firstbreak audit PATH --format html -o samples.html has all of them, to read and mark", "dim")


def _without(outcome: Outcome) -> str:
    word = "unusual, and expected" if outcome.expected else _STATUS[outcome.status]
    return f"{outcome.detector} ({word}){f': {outcome.note}' if outcome.note else ''}"


def alone(outcome: Outcome) -> Page:
    """What one row of an audit says."""
    return Page(partial(_alone, outcome))


def _alone(outcome: Outcome, how: TerminalStyle) -> Iterator[RenderableType]:
    if outcome.finding is None:
        yield how.text(_without(outcome))
        return
    steps = [s for e in outcome.finding.evidence if e.series is not None and len(e.series) for s in e.series.steps]
    yield from _finding(outcome, (min(steps, default=0.0), max(steps, default=0.0)), how)
