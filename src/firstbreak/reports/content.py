"""The content of a report: its sections, their order and their sentences. All reports share this module.

A report goes through `sections(dx)` and shows the sentences and lists below. This module decides nothing about the run. It
only puts a Diagnosis into words.
"""

from __future__ import annotations

import enum
import math
import shlex
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import PurePath
from typing import Any

import numpy as np

from firstbreak.dialects.hyperparameters import HYPERPARAMETERS, own_option, relative, spoken
from firstbreak.engine.catalogue import catalogue
from firstbreak.engine.common_settings import set_to
from firstbreak.engine.inputs import COMPUTED, Inputs
from firstbreak.engine.judgement import RESTATE
from firstbreak.engine.verdict import GUESS, causes_in_question, in_short, warnings
from firstbreak.model import (
    Action,
    BreakKind,
    Confidence,
    Cost,
    Departure,
    Diagnosis,
    Evidence,
    Experiment,
    Finding,
    FirstBreak,
    Forecast,
    Interval,
    Link,
    LinkStatus,
    Outcome,
    RankedCause,
    Role,
    Run,
    Sample,
    Series,
    Severity,
    Status,
    TunedSettings,
    Verdict,
    Weight,
    WeightKind,
)
from firstbreak.readers import Unreadable
from firstbreak.reports import curves
from firstbreak.reports.text import count, shorter
from firstbreak.values import dataclass, replace
from firstbreak.words import axis_word, first_few, joined, link_word, lowered, moment, number, percent, step_word

MOST_NAMED = 5  # earlier runs, departures
MOST_CAUSES = 5  # causes with a line of their own
SMALL = 0.1  # nats: what changes the odds by less than a tenth is no evidence
STRONG, FAIR = 20.0, 3.0  # odds: evidence is strong or fair from here on (Kass and Raftery 1995)
#: what says nothing of one cause: what held before anything was looked at, and how far curves are to be trusted
WITHOUT_SIDE = frozenset({WeightKind.PRIOR, WeightKind.SURE, WeightKind.DOUBT, WeightKind.UNEXPLAINED})
MOST_REMEDIES = 2  # remedies for one link that was not measured
MOST_NAMES = 12  # entries of a list that can be long


class Section(enum.StrEnum):
    """The sections of a report in order: what to do, then why, then the evidence. Each has its heading."""

    heading: str

    def __new__(cls, name: str, heading: str) -> Section:
        """A section by its name."""
        section = str.__new__(cls, name)
        section._value_, section.heading = name, heading
        return section

    VERDICT = "verdict", "Verdict"
    DO_FIRST = "do_first", "Do this first"
    LOOP = "loop", "The training loop"
    FIRST_BREAK = "first_break", "First break"
    BASELINE = "baseline", "Beside your earlier healthy runs"
    OUTLOOK = "outlook", "If the run continues"
    FINDINGS = "findings", "What was found"
    CAUSES = "causes", "Probable causes"
    TUNED = "tuned", "Beside tuned settings for this task"
    REMEDY = "remedy", "Fix and smallest experiment"
    EXPECTED = "expected", "Unusual, but expected"
    NOT_MEASURED = "not_measured", "Not measured"
    DAMAGE = "damage", "Could not be read"
    READ = "read", "What was read"


def sections(dx: Diagnosis) -> tuple[Section, ...]:
    """The sections with content. A healthy run has few."""
    said = {
        Section.DO_FIRST: bool(dx.verdict.do_first),
        Section.FIRST_BREAK: dx.first_break is not None,
        Section.BASELINE: dx.baseline is not None,
        Section.OUTLOOK: bool(outlook(dx)),
        Section.FINDINGS: bool(dx.findings),
        Section.CAUSES: bool(dx.causes) and dx.verdict.known,
        Section.TUNED: bool(dx.tuned) and dx.verdict.action is not Action.CONTINUE,
        Section.REMEDY: bool(remedies(dx)),
        Section.EXPECTED: bool(dx.expected),
        Section.NOT_MEASURED: bool(unmeasured_links(dx) or further_unmeasured(dx)),
        Section.DAMAGE: bool(dx.run.damage),
    }
    return tuple(section for section in Section if said.get(section, True))


@dataclass(frozen=True)
class ReportLine:
    """A label with its text. `literal`: the text is a name from the log. `copied`: to be typed, and so to be copied."""

    label: str
    text: str
    literal: bool = False
    copied: bool = False


ACTION_WORD: dict[Action | LinkStatus, str] = {
    LinkStatus.NOT_MEASURED: "Cannot tell yet",
    Action.CONTINUE: "Continue",
    Action.WATCH: "Watch",
    Action.STOP: "Stop",
    Action.ROLLBACK: "Roll back",
}
STATUS_WORD = {
    LinkStatus.OK: "ok",
    LinkStatus.BROKEN: "broken",
    LinkStatus.SUSPECT: "suspect",
    LinkStatus.NOT_MEASURED: "not measured",
    LinkStatus.NOT_APPLICABLE: "not relevant",
}
SEVERITY_WORD = {Severity.CRITICAL: "critical", Severity.WARNING: "warning", Severity.NOTICE: "notice"}


def mark(verdict: Verdict) -> Action | LinkStatus:
    """What gives a verdict its word, colour and sign: the action; nothing where the log is too short to tell."""
    return verdict.action if verdict.known else LinkStatus.NOT_MEASURED


def status_word(dx: Diagnosis, link: Link) -> str:
    """'broken'; "one of two" where the break is in one of two links; "too short" where nothing can be told yet."""
    if one_of_two(dx, link):
        return "one of two"
    status = dx.links[link].status
    few = status is LinkStatus.NOT_MEASURED and not dx.verdict.known and measured(dx, link)
    return "too short" if few else STATUS_WORD[status]


def one_of_two(dx: Diagnosis, link: Link) -> bool:
    """Whether the first break is in this link or in one other."""
    return dx.first_break is not None and dx.first_break.also is not None and link in dx.first_break.links


def measured(dx: Diagnosis, link: Link) -> bool:
    """Whether a check of this link had its inputs."""
    return any(o.link is link and o.status in (Status.OK, Status.FOUND) for o in dx.outcomes)


def headline(dx: Diagnosis) -> str:
    """The picture of the loop in one line."""
    if dx.first_break is not None:
        where = place(dx) if dx.first_break.also is None else links(dx.first_break)
        return f"{kind_of_break(dx)}: {where}"
    if not dx.verdict.known:
        return "cannot tell yet: too few points"
    unseen = len(_unseen(dx))
    return f"no break found; {unseen} of {len(Link)} links not measured" if unseen else "no break found"


def best_score(dx: Diagnosis) -> float | None:
    """The best score, as a table shows it: that of the best checkpoint, where it is of the same curve."""
    best = dx.best_checkpoint
    if dx.score is None or math.isnan(dx.score.best):
        return None
    return best.value if best is not None and best.metric == dx.score.metric else dx.score.best


def kind_of_break(dx: Diagnosis) -> str:
    """'first sign' of what has done no harm yet, else 'first break'."""
    sign = dx.first_break is not None and dx.first_break.kind is BreakKind.FIRST_SIGN
    return "first sign" if sign else "first break"


def marks(dx: Diagnosis) -> list[tuple[str, str, str]]:
    """(kind, name, place) of what is marked beside the curves of the score: the break where it lies on their steps, the best."""
    first, best, drawn = dx.first_break, dx.best_checkpoint, scores(dx)
    found = []
    if drawn and first is not None and dx.run.axis_of(first.metric) == (axis := drawn[0].axis):
        found.append(("break", kind_of_break(dx), shorter(moment(axis, first.step, first.interval))))
    if drawn and best is not None:
        name = "best checkpoint" if best.path else "best score"
        found.append(("best", name, shorter(moment(drawn[0].axis, best.back_to, None))))
    return found


def links(first: FirstBreak) -> str:
    """'advantage', or two that cannot be told apart: 'advantage or rollout'."""
    return " or ".join(map(link_word, first.links))


def place(dx: Diagnosis) -> str:
    """'advantage, or earlier'."""
    first = dx.first_break
    assert first is not None
    return links(first) + (", or earlier" if first.or_earlier else "")


def first_break(dx: Diagnosis) -> tuple[ReportLine, ...]:
    """The first break: link, metric and step."""
    first = dx.first_break
    if first is None:
        return ()
    lines = [ReportLine("Link", place(dx)), ReportLine("Probability", _likely(first))]
    if first.metric:
        lines.append(ReportLine("Shown by", first.metric, literal=True))
        raw = logged_as(dx.run, first.metric)
        if raw:
            lines.append(ReportLine("Logged as", raw, literal=True))
    time = moment(dx.run.axis_of(first.metric), first.step, first.interval)
    return (*lines, ReportLine("Since", time)) if time else tuple(lines)


def _likely(first: FirstBreak) -> str:
    """'41 % that it is one of these, if something is broken: undecided'."""
    which = "this link" if first.also is None else "one of these"
    undecided = ": which link it is remains undecided" if first.undecided else ""
    return f"{percent(first.probability)} that it is {which}, if something is broken{undecided}"


def reason(dx: Diagnosis) -> str:
    """Why a run has its verdict, for one row of a list: the probable causes, or what the score does."""
    warned = warnings(dx.outcomes)
    if dx.first_break is None and warned and dx.verdict.action is not Action.CONTINUE:
        return in_short(warned[0])
    if dx.first_break is None:
        verdict, _, rest = dx.verdict.summary.partition(". ")
        return (verdict.partition(": ")[2] or rest.partition(". ")[0] or verdict).rstrip(".")
    causes = causes_in_question(dx.causes, dx.first_break)[:2]
    if not causes:
        own = (o.finding for o in dx.findings if o.detector == dx.first_break.detector and o.finding is not None)
        return next((in_short(finding) for finding in own), "no cause stands out")
    return ", or ".join(f"{lowered(c.title)} ({percent(c.probability)} likely)" for c in causes)


def logged_as(run: Run, metric: str) -> str:
    """The trainer's own name of a signal, if it differs."""
    series = run.series.get(metric)
    return series.raw if series is not None and series.raw != metric else ""


def baseline(dx: Diagnosis) -> tuple[ReportLine, ...]:
    """The earlier runs, the score beside theirs, the first departure from their band and the next, and what a band is worth."""
    found = dx.baseline
    if found is None:
        return ()
    n = len(found.runs)
    names = [PurePath(run).name for run in found.runs]
    lines = [ReportLine("Earlier runs", f"{n}: {first_few(names, MOST_NAMED)}" if n else "none")]
    if found.left_out:
        lines.append(ReportLine("Left out", first_few(found.left_out, MOST_NAMED, "; ")))
    if found.false_alarms is None:
        return (
            *lines,
            ReportLine("Band", f"{count(n, 'earlier run')} {'makes' if n == 1 else 'make'} no band; give 3 or more"),
        )
    if found.score is not None:
        lines.append(ReportLine("Score", f"{_compared(found.score, dx)}, {found.score.side} their band"))
    if found.departures:
        first, *others = found.departures
        lines.append(ReportLine("First departure", f"{link_word(first.link)}: {_compared(first, dx)}, {first.side}"))
        then = [f"{d.metric} {d.side} from {number(d.step)} on" for d in others]
        lines += [ReportLine("Then", first_few(then, MOST_NAMED, "; "))] if then else []
    else:
        lines.append(
            ReportLine("First departure", f"none: all of the {count(found.compared, 'curve')} stay in the band")
        )
    worth = f"of {n} runs, {count(found.compared, 'curve')}; {percent(found.false_alarms)} of healthy runs leave such a band"
    return (*lines, ReportLine("Band", f"{worth} somewhere (counted on held-out runs of the lab)"))


def _compared(place: Departure, dx: Diagnosis) -> str:
    low, high = place.seen
    at = f"{step_word(dx.run.axis_of(place.metric))} {number(place.step)}"
    return f"{place.metric} {number(place.value)} at {at}, theirs {number(low)} to {number(high)}"


def tuned(dx: Diagnosis) -> tuple[ReportLine, ...]:
    """What RL Zoo and CleanRL set otherwise for the same algorithm and task, with the file that says so, and what it is worth."""
    lines = [ReportLine(of.source, _tuned(of, dx)) for of in dx.tuned]
    worth = "none in the ranking: these settings worked for this task, and others may as well"
    return (*lines, ReportLine("Weight", worth)) if lines else ()


def _tuned(of: TunedSettings, dx: Diagnosis) -> str:
    apart = [f"{b.option} {number(b.tuned)} (here {number(b.value)})" for b in of.differ]
    found = [first_few(apart, MOST_NAMED)] if apart else []
    if of.same:
        found.append(f"the same: {first_few(of.same, MOST_NAMED)}")
    end = dx.run.last_step
    if of.steps and end and dx.run.axis == "env_steps":
        found.append(f"trained for {number(of.steps)} environment steps (here {number(end)})")
    return f"{(dx.run.algorithm or '').upper()} on {of.task} ({of.place}): {'; '.join(found)}"


def outlook(dx: Diagnosis) -> tuple[ReportLine, ...]:
    """Upside, risk, best checkpoint, cost since the break, and forecasts."""
    shown_by = dx.first_break.metric if dx.first_break else None
    lines = (
        ReportLine("Upside", dx.verdict.upside),
        ReportLine("Risk", dx.verdict.risk),
        ReportLine("Best checkpoint" if dx.best_checkpoint and dx.best_checkpoint.path else "Best score", _best(dx)),
        ReportLine("Spent since the break", _cost(dx.cost, dx.run.axis_of(shown_by))),
        ReportLine("Forecast", "; ".join(_forecast(forecast, dx) for forecast in dx.forecasts)),
    )
    return tuple(line for line in lines if line.text)


def _best(dx: Diagnosis) -> str:
    best = dx.best_checkpoint
    if best is None:
        return ""
    axis = step_word(dx.run.axis_of(best.metric))
    peak = f"{axis} {number(best.step)}, {best.metric} {number(best.value)}"
    if best.before is not None:
        peak += f", the best before numbers are not finite from {axis} {number(best.before)} on"
    if not best.path:
        return f"{peak} ({'every saved model is worse' if dx.run.checkpoints else 'no saved model is known'})"
    if best.back_to == best.step:
        return f"{best.path}: {peak}"
    return f"{best.path} of {axis} {number(best.back_to)}; the score was best at {peak}, where no model was saved"


def _forecast(forecast: Forecast, dx: Diagnosis) -> str:
    axis = dx.run.axis_of(forecast.metric)
    earliest, latest = forecast.within
    when = (
        f"in {number(earliest)} to {count_steps(latest, axis)}"
        if math.isfinite(latest)
        else f"in {count_steps(earliest, axis)} or later"
    )
    return f"{forecast.metric} reaches {number(forecast.level)}, {forecast.name}, {when}"


def _cost(cost: Cost | None, axis: str) -> str:
    if cost is None:
        return ""
    said = []
    if cost.steps is not None:
        said.append(count_steps(cost.steps, axis))
    if cost.fraction is not None and math.isfinite(cost.fraction):
        said.append(f"{percent(cost.fraction)} of the run")
    if cost.hours is not None:
        said.append(duration(cost.hours))
    if cost.money is not None:
        said.append(f"{cost.money:,.2f} at the price given")
    return ", ".join(said)


def duration(hours: float) -> str:
    """'23 seconds', '1 minute', '4.2 hours'."""
    unit, length = ("hour", 1.0) if hours >= 1 else ("minute", 1 / 60) if hours >= 1 / 60 else ("second", 1 / 3600)
    amount = f"{hours / length:.3g}"
    return f"{amount} {unit if amount == '1' else unit + 's'}"


def count_steps(steps: float, axis: str) -> str:
    """'288 steps'."""
    return f"{number(steps)} {step_word(axis)}{'' if steps == 1 else 's'}"


def link_reasons(dx: Diagnosis) -> tuple[tuple[Link, str, str], ...]:
    """(link, status word, reason) of every broken or suspect link, unless a finding has the same text."""
    said = {outcome.finding.message for outcome in dx.findings if outcome.finding is not None}
    verdicts = ((link, dx.links[link]) for link in Link)
    return tuple(
        (link, status_word(dx, link), verdict.why)
        for link, verdict in verdicts
        if verdict.status in (LinkStatus.BROKEN, LinkStatus.SUSPECT) and verdict.why and verdict.why not in said
    )


@dataclass(frozen=True, eq=False)
class Exhibit:
    """One curve that shows a finding, with the marks to draw on the curve."""

    text: str
    series: Series | None
    onset: float | None
    interval: Interval | None
    since: float | None = None
    until: float | None = None
    level: float | None = None


def exhibits(dx: Diagnosis, finding: Finding) -> tuple[Exhibit, ...]:
    """The evidence of a finding. Without a curve in the evidence, the curve of the metric is shown."""
    axis = dx.run.axis_of(finding.metric)

    def exhibit(evidence: Evidence) -> Exhibit:
        series = evidence.series if _drawable(evidence.series) else None
        # An onset is a step on the axis of the metric, and is not drawn on a curve with another axis.
        onset = (finding.onset, began(dx, finding)) if series is None or series.axis == axis else (None, None)
        return Exhibit(evidence.text, series, *onset, evidence.since, evidence.until, evidence.level)

    shown = tuple(exhibit(evidence) for evidence in finding.evidence)
    own = dx.run.series.get(finding.metric) if finding.metric else None
    if own is None or not _drawable(own) or any(item.series is not None for item in shown):
        return shown
    return (exhibit(Evidence(text="", series=own)), *shown)


def began(dx: Diagnosis, finding: Finding) -> Interval | None:
    """Between which steps it began; of the finding that shows the first break, between which the fault did."""
    first = dx.first_break
    shows = first is not None and (first.metric, first.step) == (finding.metric, finding.onset)
    return first.interval if first is not None and shows else finding.interval


def scores(dx: Diagnosis) -> tuple[Series, ...]:
    """The training reward and the independent score, as far as they are recorded on one axis."""
    inputs = Inputs(dx.run)
    found = [s for s in (inputs.training_score, inputs.eval_score) if s is not None and _drawable(s)]
    return tuple(s for s in found if s.axis == found[-1].axis)


MOST_SAMPLES = 20_000  #: samples that are looked through for the two beside the break


def guilty(dx: Diagnosis) -> tuple[Sample, Sample] | None:
    """The best-rewarded sample since the break and the best-rewarded one before it, where samples of both sides are logged."""
    first = dx.first_break
    if first is None or first.step is None or dx.run.samples is None or dx.run.axis_of(first.metric) != "step":
        return None
    best: dict[bool, tuple[float, float, Sample]] = {}  #: since the break? -> reward, step, sample
    try:
        for sample in islice(dx.run.samples, MOST_SAMPLES):
            if sample.step is None or sample.reward is None or sample.meta.get("split") == "eval":
                continue
            late, rank = sample.step >= first.step, (sample.reward, sample.step)
            if math.isfinite(sample.reward) and (late not in best or rank > best[late][:2]):
                best[late] = (*rank, sample)
    except Unreadable:  # the files may have changed since they were read
        return None
    return (best[True][2], best[False][2]) if len(best) == 2 else None


@dataclass(frozen=True)
class Bar:
    """A finding in time: from its onset to the end, with the interval of the onset, as places in 0..1 of the run."""

    outcome: Outcome
    start: float
    interval: Interval | None
    since: str


def cascade(dx: Diagnosis) -> tuple[Bar, ...]:
    """The findings whose onset is known, in order of time."""
    bars = []
    for outcome in dx.findings:
        finding = outcome.finding
        if finding is None or finding.onset is None or not math.isfinite(finding.onset):
            continue
        axis = dx.run.axis_of(finding.metric)
        drawn = [s for s in dx.run.series.values() if s.axis == axis and len(s)]
        if not drawn:
            continue
        span = domain(dx, drawn[0])
        low, high = began(dx, finding) or (finding.onset, finding.onset)
        start, early, late = (float(curves.across(step, span)) for step in (finding.onset, low, high))
        bars.append(
            Bar(outcome, start, (early, late) if began(dx, finding) else None, moment(axis, finding.onset, None))
        )
    return tuple(sorted(bars, key=lambda bar: bar.start))


def exhibits_once(dx: Diagnosis, finding: Finding) -> tuple[Exhibit, ...]:
    """The evidence of a finding, in which a metric that an earlier finding of the report has drawn is not drawn again."""
    drawn: dict[str, str] = {}
    for outcome in dx.findings:
        if outcome.finding is finding:
            break
        for exhibit in exhibits(dx, outcome.finding) if outcome.finding else ():
            if exhibit.series is not None:
                drawn.setdefault(exhibit.series.name, outcome.detector)
    return tuple(
        exhibit
        if exhibit.series is None or exhibit.series.name not in drawn
        else Exhibit(f"{caption(exhibit)}; drawn above, at {drawn[exhibit.series.name]}", None, None, None)
        for exhibit in exhibits(dx, finding)
    )


def summary_table(dx: Diagnosis) -> tuple[ReportLine, ...]:
    """The verdict in a few lines, for who reads nothing else."""
    count_of = Counter(o.finding.severity for o in dx.findings if o.finding is not None)
    found = ", ".join(f"{count_of[s]} {SEVERITY_WORD[s]}" for s in SEVERITY_WORD if count_of[s])
    unseen = ", ".join(map(link_word, _unseen(dx)))
    first = dx.first_break
    broke = headline(dx).removeprefix(f"{kind_of_break(dx)}: ")
    if first is not None and (time := moment(dx.run.axis_of(first.metric), first.step, first.interval)):
        broke += f", since {time}"
    spent = next((line.text for line in outlook(dx) if line.label == "Spent since the break"), "")
    best = next((line for line in outlook(dx) if line.label.startswith("Best")), ReportLine("Best score", ""))
    lines = (
        ReportLine("Run", title(dx.run)),
        ReportLine(kind_of_break(dx).capitalize(), broke),
        ReportLine("Why", reason(dx)),
        ReportLine("Do this first", dx.verdict.do_first),
        ReportLine("Found", found),
        best,
        ReportLine("Spent since the break", spent),
        ReportLine("Not measured", unseen),
    )
    return tuple(line for line in lines if line.text)


def caption(exhibit: Exhibit) -> str:
    """The caption of a curve: the signal, the trainer's name, the evidence, the level, non-finite values."""
    series = exhibit.series
    if series is None:
        return exhibit.text
    name = f"{series.name}{origin(series)}"
    said = name if exhibit.text in ("", series.name) else f"{name}: {exhibit.text}"
    if exhibit.level is not None:
        said += f"; {number(exhibit.level)} is the level that it is compared with"
    gaps = len(series) - len(series.finite)
    return f"{said}; {gaps} of {count(len(series), 'value')} not finite" if gaps else said


def origin(series: Series) -> str:
    """' (logged as kl)', ' (computed from completion_length)'; nothing for a curve that the log calls as it is called here."""
    if series.raw in ("", series.name):
        return ""
    return f" ({series.raw})" if series.raw.startswith(COMPUTED) else f" (logged as {series.raw})"


def own_name(series: Series) -> str:
    """What the trainer calls a curve; what it is called here where it is computed."""
    return series.name if series.raw.startswith(COMPUTED) else series.raw or series.name


def _drawable(series: Series | None) -> bool:
    return series is not None and len(series) > 1


def domain(dx: Diagnosis, series: Series) -> Interval:
    """The first and last step of all curves with the same axis, so that all curves of a report share one x axis."""
    drawn = [s for s in dx.run.series.values() if s.axis == series.axis and len(s)]
    ends = [(float(s.steps[0]), float(s.steps[-1])) for s in [*drawn, series]]
    return min(start for start, _ in ends), max(end for _, end in ends)


def in_words(series: Series) -> str:
    """A description of a curve for readers who cannot see it: start, end, extremes."""
    finite = series.finite
    if not len(finite):
        return "no value is finite"
    low, high = int(np.argmin(finite.values)), int(np.argmax(finite.values))
    word = step_word(series.axis)
    return (
        f"from {number(finite.values[0])} at {word} {number(finite.steps[0])} "
        f"to {number(finite.values[-1])} at {word} {number(finite.steps[-1])}; "
        f"lowest {number(finite.values[low])} at {number(finite.steps[low])}, "
        f"highest {number(finite.values[high])} at {number(finite.steps[high])}"
    )


def found(outcome: Outcome) -> Finding:
    """What an outcome found that did find something."""
    assert outcome.finding is not None
    return outcome.finding


def finding_facts(dx: Diagnosis, outcome: Outcome) -> tuple[str, ...]:
    """Link, onset and confidence of a finding."""
    finding = found(outcome)
    time = moment(dx.run.axis_of(finding.metric), finding.onset, began(dx, finding))
    since = f"since {time}" if finding.onset is not None else time
    return tuple(filter(None, (finding_place(outcome), since, finding.confidence.phrase)))


def finding_place(outcome: Outcome) -> str:
    """The link of a finding; the score for one that says what it did, and not why."""
    return "the score" if outcome.roles & RESTATE else link_word(outcome.link)


def causes(dx: Diagnosis) -> tuple[RankedCause, ...]:
    """The causes with a line of their own: the first, and every other one with a probability of at least 5 %."""
    ranked = sorted(dx.causes, key=lambda cause: -cause.probability)[:MOST_CAUSES]
    return tuple(c for i, c in enumerate(ranked) if i == 0 or c.probability >= 0.05)


def other_causes(dx: Diagnosis) -> str:
    """The probability of all other candidates together."""
    rest = 1 - sum(cause.probability for cause in causes(dx))
    return f"all other candidates together: {percent(rest)}" if rest >= 0.005 else ""


def cause_place(cause: RankedCause) -> str:
    """The link of a cause. Empty for "healthy" and "none of these"."""
    return "" if cause.link is None else link_word(cause.link)


def likely_causes(dx: Diagnosis) -> tuple[RankedCause, ...]:
    """Those that the summary names, and further ones at least half as probable as the first and no guesses: up to three."""
    ranked = causes(dx)
    named = causes_in_question(dx.causes, dx.first_break)
    least = max(GUESS, min([0.5 * ranked[0].probability, *(c.probability for c in named)]))
    others = [c for c in ranked if c.probability >= least and c not in named]
    return tuple(sorted([*named, *others][:3], key=lambda cause: -cause.probability))


def argued(dx: Diagnosis) -> tuple[RankedCause, ...]:
    """The leading causes whose evidence is shown. Empty for a run without findings."""
    return tuple(cause for cause in likely_causes(dx) if cause.evidence and dx.findings)


def strength(weight: Weight) -> str:
    """ "strong", "fair" or "weak"."""
    odds = math.exp(abs(weight.weight))
    return "strong" if odds >= STRONG else "fair" if odds >= FAIR else "weak"


def evidence(dx: Diagnosis, cause: RankedCause) -> tuple[ReportLine, ...]:
    """What speaks for a cause and against it, the strongest first, and the findings that any fault may show."""
    said = {o.detector: in_short(found(o)) for o in dx.findings}
    own = [w for w in by_finding(cause) if w.kind not in WITHOUT_SIDE and abs(w.weight) >= SMALL]
    own.sort(key=lambda w: -abs(w.weight))
    sides = {"For": [w for w in own if w.weight > 0], "Against": [w for w in own if w.weight < 0]}
    neither = [w.finding for w in cause.evidence if w.kind is WeightKind.UNEXPLAINED]
    told = [line for label, weights in sides.items() for line in under(label, (_told(w, said) for w in weights))]
    return (*told, *under("Neither", [f"{joined(neither)}: found with other causes as well"] if neither else []))


def by_finding(cause: RankedCause) -> list[Weight]:
    """One weight for each finding, and the others as they are: a finding does not speak for a cause and against it."""
    found = {w.finding: w for w in cause.evidence if w.kind in (WeightKind.FOUND, WeightKind.PROVED)}
    net = {name: math.fsum(w.weight for w in cause.evidence if w.finding == name) for name in found}
    rest = [w for w in cause.evidence if w.finding not in found]
    return [*(replace(w, weight=net[name]) for name, w in found.items()), *rest]


def _told(weight: Weight, said: Mapping[str, str]) -> str:
    return f"{weight.finding}: {said.get(weight.finding, weight.text)} ({strength(weight)})"


def under(label: str, lines: Iterable[str]) -> Iterator[ReportLine]:
    """Lines of which the first has the label."""
    return (ReportLine("" if i else label, line) for i, line in enumerate(lines))


EXPLAINED = "`firstbreak explain NAME` says what a name looks for, and when it is a false alarm."


def remedies(dx: Diagnosis) -> tuple[RankedCause, ...]:
    """The leading causes with a fix or an experiment. One experiment stands once, at the first cause that it tests."""
    found, seen = [], set()
    for cause in likely_causes(dx):
        plan = cause.experiment
        found.append(replace(cause, experiment=None) if plan is not None and plan.text in seen else cause)
        seen.add(plan.text if plan is not None else "")
    return tuple(cause for cause in found if cause.fix or cause.experiment is not None)


def experiment(run: Run, plan: Experiment) -> tuple[ReportLine, ...]:
    """An experiment: the text, the command, the options in the trainer's own names, the metric to check, and the expected
    result if the cause is right.
    """
    lines = [ReportLine("Experiment", plan.text), ReportLine("Run", command(run, plan), literal=True, copied=True)]
    if plan.id:
        started = shlex.join(["firstbreak", "experiment", "init", "--run", run.path, "SCRIPT"])
        lines.append(ReportLine("Once before", started, literal=True, copied=True))
    lines += [
        ReportLine("Set", f"{option} = {value}", literal=True, copied=True) for option, value in settings(run, plan)
    ]
    lines += [ReportLine("Write", line, literal=True) for line in code(run, plan).splitlines()]
    lines += [ReportLine("Measure", plan.measure, literal=True), ReportLine("If this is the cause", plan.if_cause)]
    return tuple(line for line in lines if line.text)


def settings(run: Run, plan: Experiment) -> tuple[tuple[str, Any], ...]:
    """The options of the run's own trainer that an experiment changes, with plain values. What hooks change is no option."""
    found = []
    for name, wanted in plan.overrides.items():
        if name not in HYPERPARAMETERS:
            found += [] if plan.id in catalogue() else [(name, wanted)]
        elif (option := own_option(name, run)) is not None:
            value = relative(name, wanted, set_to(run, name))
            if value is None:
                value = f"its value {wanted}" if wanted is not None else None
            elif isinstance(value, str) and value.startswith("@"):
                value = f"your {value[1:].replace('_', ' ')}"
            found.append((option, spoken(name, option, value)))
    return tuple(found)


def code(run: Run, plan: Experiment) -> str:
    """What the user's script needs, where the trainer has no option for it. Or empty."""
    design = catalogue().get(plan.id)
    return design.code.get(run.trainer or "", "") if design else ""


def command(run: Run, plan: Experiment) -> str:
    """The command that runs the experiment on the user's trainer. Empty if the experiment is not in the catalogue."""
    return shlex.join(["firstbreak", "experiment", "run", plan.id, run.path]) if plan.id else ""


def unmeasured_links(dx: Diagnosis) -> tuple[ReportLine, ...]:
    """The links that were not measured: what is missing, and how to log it."""
    return tuple(
        ReportLine(link_word(link), "; ".join(n.removesuffix(".") for n in _lacking(dx, link))) for link in _unseen(dx)
    )


def _unseen(dx: Diagnosis) -> list[Link]:
    return [link for link in Link if dx.links[link].status is LinkStatus.NOT_MEASURED]


def _lacking(dx: Diagnosis, link: Link) -> list[str]:
    """The missing inputs of the checks of a link, first those with a remedy. Else the reason of the link."""
    if measured(dx, link):
        return [dx.links[link].why]
    said = {o.note for o in dx.outcomes if o.link is link and o.status is Status.NOT_MEASURED and o.note}
    notes: list[str] = []
    for note in sorted(said, key=lambda note: (": " not in note, len(note), note)):
        if not any(shorter in note for shorter in notes):
            notes.append(note)
    return first(notes or [dx.links[link].why], MOST_REMEDIES)


def unmeasured_checks(dx: Diagnosis) -> str:
    """The number of checks that could not be made, of links that were measured by other checks."""
    unseen = _unseen(dx)
    missing = [o for o in dx.outcomes if o.status is Status.NOT_MEASURED and o.link not in unseen]
    if not missing:
        return ""
    links = ", ".join(link_word(link) for link in Link if any(o.link is link for o in missing))
    verb = "was" if len(missing) == 1 else "were"
    return f"{count(len(missing), 'further check')} {verb} not possible ({links}); the JSON report names the missing inputs"


def missing_inputs(dx: Diagnosis) -> tuple[ReportLine, ...]:
    """What the checks of each link lack that could not be made. Proofs lack a recorder, which is said elsewhere."""
    missing = [o for o in dx.outcomes if o.status is Status.NOT_MEASURED and o.note and Role.PROOF not in o.roles]
    lacking = {link: sorted({o.note for o in missing if o.link is link}) for link in Link}
    return tuple(ReportLine(link_word(link), note) for link, notes in lacking.items() for note in notes)


def relations(outcomes: Iterable[Outcome]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The relations between numbers that could be checked: those that hold, and those that are surely broken."""
    checked = [o for o in outcomes if Role.RELATION in o.roles and o.status in (Status.OK, Status.FOUND)]
    hold = [o.detector for o in checked if o.finding is None or o.finding.severity is Severity.NOTICE]
    sure = [o.detector for o in checked if o.finding is not None and o.finding.confidence is Confidence.HIGH]
    return tuple(hold), tuple(name for name in sure if name not in hold)


def relations_line(dx: Diagnosis) -> str:
    """'22 relations between the numbers checked: they hold', or which of them are broken; empty where none was checked."""
    hold, broken = relations(dx.outcomes)
    found = [o.detector for o in dx.outcomes if Role.RELATION in o.roles and o.finding is not None]
    doubtful = [name for name in found if name not in hold + broken]
    if not (n := len(hold) + len(broken) + len(doubtful)):
        return ""
    told = [f"{what}: {', '.join(names)}" for what, names in (("broken", broken), ("in doubt", doubtful)) if names]
    told += [f"{len(hold)} hold" if told else "it holds" if n == 1 else "they hold"] if hold else []
    return f"{count(n, 'relation')} between the numbers checked: {'; '.join(told)}"


def crashed(dx: Diagnosis) -> tuple[str, ...]:
    """The checks that crashed, one line for each."""
    return tuple(f"check {o.detector} crashed: {o.note}" for o in dx.outcomes if o.status is Status.CRASHED)


def further_unmeasured(dx: Diagnosis) -> tuple[str, ...]:
    """Other missing results: single checks without inputs, and checks that crashed."""
    return tuple(filter(None, (unmeasured_checks(dx), *crashed(dx))))


def damage(dx: Diagnosis) -> tuple[str, ...]:
    """The parts of the log that could not be read, each with its place and remedy."""
    return tuple(first(list(dx.run.damage), MOST_NAMES))


def title(run: Run) -> str:
    """The run in one line: trainer, algorithm, steps."""
    steps = ""
    if run.first_step is not None and run.last_step is not None:
        steps = f"{axis_word(run.axis)}s {number(run.first_step)} to {number(run.last_step)}"
    return ", ".join(filter(None, (run.trainer, run.algorithm, steps)))


def about(run: Run) -> tuple[ReportLine, ...]:
    """The facts about a run: path, format, trainer, algorithm, steps, metrics."""
    lines = [
        ReportLine("Run", run.path, literal=True),
        ReportLine("Format", ", ".join(run.formats) or "none"),
        ReportLine("Trainer", run.trainer or "not recognised"),
        ReportLine("Algorithm", run.algorithm or "not recognised"),
    ]
    if run.first_step is not None and run.last_step is not None:
        axis = axis_word(run.axis)
        lines.append(ReportLine(f"{axis.capitalize()}s", f"{number(run.first_step)} to {number(run.last_step)}"))
    return (*lines, ReportLine("Metrics", f"{len(run.series)} understood, {len(run.unknown)} not understood"))


def read(dx: Diagnosis) -> tuple[ReportLine, ...]:
    """The facts about a run, unknown metrics, the number of checks, and notes."""
    run, lines = dx.run, list(about(dx.run))
    if run.unknown:
        lines.append(ReportLine("Not understood", ", ".join(first(list(run.unknown), MOST_NAMES)), literal=True))
    lines.append(ReportLine("Checks", _tally(dx)))
    lines.extend(ReportLine("Note", note) for note in first(list(run.notes), MOST_NAMES))
    changed = (f"{t.detector}.{t.name} = {t.value:g} (default {t.default:g})" for t in dx.thresholds)
    lines.extend(ReportLine("Set by you", line) for line in changed)
    return tuple(lines)


def first(items: list[str], most: int) -> list[str]:
    """The first entries of a list, and the number of further entries."""
    more = len(items) - most
    return items[:most] + ([f"and {more} more"] if more > 0 else [])


OUTCOME_WORD = {
    Status.FOUND: "found something",
    Status.OK: "found nothing",
    Status.NOT_MEASURED: "not measured",
    Status.NOT_APPLICABLE: "did not apply",
    Status.CRASHED: "crashed",
}


def _tally(dx: Diagnosis) -> str:
    tally = Counter(outcome.status for outcome in dx.outcomes)
    said = [f"{tally[status]} {word}" for status, word in OUTCOME_WORD.items() if tally[status]]
    return ", ".join(said) or "none"


#: sections that are nothing but lines with a label
LABELLED: Mapping[Section, Callable[[Diagnosis], Sequence[ReportLine]]] = {
    Section.FIRST_BREAK: first_break,
    Section.BASELINE: baseline,
    Section.OUTLOOK: outlook,
    Section.TUNED: tuned,
    Section.READ: read,
}
#: sections that are nothing but a list
LISTED: Mapping[Section, Callable[[Diagnosis], Sequence[str]]] = {
    Section.EXPECTED: lambda dx: dx.expected,
    Section.DAMAGE: damage,
}
