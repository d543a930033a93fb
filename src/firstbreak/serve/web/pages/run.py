"""The page of one run: the report, with curves, samples, experiments, evaluations, memory and checkpoints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeGuard
from weakref import WeakKeyDictionary

from firstbreak.experiments.plan import reported
from firstbreak.model import Diagnosis, Experiment, Link, Series
from firstbreak.preflight import Stacks
from firstbreak.reports import content, html, inspection, preflight_html
from firstbreak.reports.content import Section
from firstbreak.reports.markup import Markup, element, join
from firstbreak.serve.web.curves import axes
from firstbreak.serve.web.pages import explanation
from firstbreak.serve.web.pages.frame import address, frame, problem, section
from firstbreak.serve.web.pages.plots import plot, plots
from firstbreak.serve.web.pages.samples import sample
from firstbreak.serve.web.run_store import Placed, RunSummary
from firstbreak.values import dataclass
from firstbreak.words import link_word, number, percent, step_word

MOST_EXPERIMENTS = 6
MOST = 1e300  #: a number beyond it is none
_LISTED = {Section.BASELINE, Section.FINDINGS, Section.CAUSES, Section.REMEDY, Section.NOT_MEASURED, Section.READ}


def page(
    summary: RunSummary,
    dx: Diagnosis,
    live: str,
    to_read: Sequence[Placed],
    marks: Mapping[str, str],
    evaluations: Sequence[EvaluationRow],
    problems: Sequence[str] = (),
    history: Sequence[tuple[float | None, str]] = (),
    plan: Stacks | None = None,
) -> str:
    """The report, with curves, samples, experiments, evaluations, memory and checkpoints, and what cannot be read."""
    of_diagnosis = _diagnosis_parts(summary.name, dx)
    parts = [
        ("curves", "Curves", of_diagnosis.curves),
        ("samples", "Samples", _samples(summary.name, to_read, marks)),
        ("experiments", "Experiments", of_diagnosis.experiments),
        ("evaluations", "Evaluations", _evaluations(evaluations)),
        ("memory", "Memory as planned", _memory(dx, plan)),
        ("checkpoints", "Checkpoints", _checkpoints(dx)),
    ]
    sections = (section(key, title, content) for key, title, content in parts if content)
    listed = [s for s in content.sections(dx) if s in _LISTED]
    contents = element(
        "nav",
        *(element("a", s.heading, href=f"#run-{s.value}") for s in listed),
        *(element("a", title, href=f"#{key}") for key, title, content in parts if content),
        class_="contents",
        aria_label="Parts of this page",
    )
    trail = (element("h1", html.literal(summary.name)), _exports(summary.name))
    return frame(
        f"{content.ACTION_WORD[content.mark(dx.verdict)]}: {summary.name}",
        trail,
        contents,
        *map(problem, problems),
        _history(dx, history),
        of_diagnosis.article,
        *sections,
        live=live,
        changed=summary.changed,
    )


@dataclass(frozen=True)
class _DiagnosisParts:
    """What depends on the diagnosis alone."""

    article: Markup
    curves: Markup | None
    experiments: Markup | None


_KEPT: WeakKeyDictionary[Diagnosis, _DiagnosisParts] = WeakKeyDictionary()  #: as long as the diagnosis is held


def _diagnosis_parts(name: str, dx: Diagnosis) -> _DiagnosisParts:
    found = _KEPT.get(dx)
    if found is None:
        found = _DiagnosisParts(html.article(dx, "run", explanation.address_of), _curves(name, dx), _experiments(dx))
        _KEPT[dx] = found
    return found


def _history(dx: Diagnosis, history: Sequence[tuple[float | None, str]]) -> Markup:
    """How the verdict has changed since the page is served; empty where it has not."""
    axis = step_word(dx.run.axis)
    said = [word if step is None else f"{word} at {axis} {number(step)}" for step, word in history]
    text = f"The verdict so far: {', then '.join(said)}." if len(said) > 1 else ""
    return element("p", text, id="verdicts", class_="facts")


def _exports(name: str) -> Markup:
    kinds = (
        ("HTML", "report", "The report as one self-contained file"),
        ("JSON", "diagnosis", "The diagnosis for programs"),
        ("CSV", "csv", "Every value of every curve"),
    )
    links = (element("a", word, href=address(kind, name), download=True, title=what) for word, kind, what in kinds)
    return element("span", *links, class_="exports")


def unreadable(summary: RunSummary, live: str) -> str:
    """A run that cannot be read (yet), with the reason. Reading is tried again while the page is open."""
    text = summary.problem or "This run is being read."
    return frame(summary.name, (element("h1", html.literal(summary.name)),), problem(text), live=live)


def _curves(name: str, dx: Diagnosis) -> Markup | None:
    """A placeholder for every curve. The curves that show findings come first."""
    groups = [(title, [_plot(dx, series) for series in members]) for title, members in _grouped(dx)]
    first, best = dx.first_break, dx.best_checkpoint
    return plots(
        [name],
        groups,
        onset=first.step if first else None,
        interval=first.interval if first else None,
        axis=dx.run.axis_of(first.metric) if first else None,
        shown_by=first.metric if first else None,
        best=best.back_to if best else None,
        axes=axes([dx.run], [*dx.run.series, *dx.run.unknown]),
    )


def _grouped(dx: Diagnosis) -> Iterator[tuple[str, list[Series]]]:
    shown = dict.fromkeys(o.finding.metric for o in dx.findings if o.finding is not None and o.finding.metric)
    first = [dx.run.series[name] for name in shown if name in dx.run.series]
    yield "Curves of the findings", first
    rest = [series for series in dx.run.series.values() if series not in first and len(series)]
    for link in Link:
        yield link_word(link).capitalize(), [s for s in rest if inspection.link_of(s) is link]
    yield "Outside the vocabulary", [s for s in rest if inspection.link_of(s) is None]
    yield "Not understood", [series for series in dx.run.unknown.values() if len(series)]


def _plot(dx: Diagnosis, series: Series) -> Markup:
    finding = next((o.finding for o in dx.findings if o.finding is not None and o.finding.metric == series.name), None)
    low, high = (None, None) if finding is None or finding.interval is None else finding.interval
    level = next((e.level for e in finding.evidence if e.level is not None), None) if finding is not None else None
    onset = finding.onset if finding else None
    return plot(series, content.domain(dx, series), onset=onset, low=low, high=high, level=level)


def _samples(name: str, to_read: Sequence[Placed], marks: Mapping[str, str]) -> Markup | None:
    if not to_read:
        return None
    hint = element("p", "Samples of the latest step, the highest reward first.", class_="facts")
    more = element("p", element("a", "Read all samples", href=address("samples", name)))
    return join(hint, *(sample(name, s, i, marks, level=3) for i, s in to_read), more)


def _experiments(dx: Diagnosis) -> Markup | None:
    """The experiments that separate the causes best, per minute of compute. The page starts none of them."""
    rows = [
        (
            p.design.title,
            element("span", html.literal(content.command(dx.run, Experiment(id=p.design.id))), class_="copied"),
            f"{p.bits:.2f} bits",
            percent(p.share) + ("" if p.minutes is None else f", {content.duration(p.minutes / 60)}"),
        )
        for p in reported(dx)
        if not p.cannot
    ][:MOST_EXPERIMENTS]
    if not rows:
        return None
    hint = element("p", "Run one of these: the next diagnosis uses its answer.", class_="facts")
    return join(html.table(("Experiment", "Run", "Information", "Cost, share of this run"), rows), hint)


@dataclass(frozen=True)
class EvaluationRow:
    """A row of the ledger, as far as it is shown."""

    split: str
    at: str
    use: str
    fed: str
    scores: dict[str, float]
    step: float | None


def evaluation(row: Mapping[str, Any]) -> EvaluationRow:
    """What a row says, whoever wrote it: a number that is none is left out."""
    scores, step = row.get("scores"), row.get("step")
    split, at, use, fed = (str(row.get(name, "")) for name in ("split", "at", "use", "fed"))
    found = {name: value for name, value in scores.items() if _is_number(value)} if isinstance(scores, dict) else {}
    return EvaluationRow(split, at[:16], use, fed, found, step if _is_number(step) else None)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, int | float) and abs(value) < MOST


def _evaluations(evaluations: Sequence[EvaluationRow]) -> Markup | None:
    """The evaluations of this run in the ledger."""
    if not evaluations:
        return None
    rows = (
        (
            join(html.literal(record.split), element("span", record.at, class_="about")),
            record.use,
            ", ".join(f"{name} {number(value)}" for name, value in record.scores.items()),
            "" if record.step is None else number(record.step),
            record.fed,
        )
        for record in evaluations
    )
    return html.table(("Split", "Purpose", "Scores", "At step", "Decision"), rows)


def _memory(dx: Diagnosis, plan: Stacks | None) -> Markup | None:
    """The saved plan of the memory, and how much the run has taken."""
    if plan is None:
        return None
    taken = (
        f"{name}: at most {number(float(dx.run.series[name].finite.values.max()))} GB"
        for name in ("memory.gpu", "memory.gpu_reserved")
        if name in dx.run.series and len(dx.run.series[name].finite)
    )
    said = "; ".join(taken)
    recorded = element("p", f"Recorded by the run: {said}.", class_="facts") if said else None
    return join(preflight_html.drawn(plan), recorded)


def _checkpoints(dx: Diagnosis) -> Markup | None:
    if not dx.run.checkpoints:
        return None
    best = dx.best_checkpoint and dx.best_checkpoint.path
    rows = ((number(c.step), html.literal(c.path), "best" if c.path == best else "") for c in dx.run.checkpoints)
    return html.table(("Step", "Saved as", ""), rows)
