"""What one screen says of a run: the first of each kind, in few words, and how much more there is."""

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import accumulate

import numpy as np

from firstbreak import dialects
from firstbreak.dialects import signals
from firstbreak.engine.families import for_family
from firstbreak.engine.inputs import DERIVED, GIVEN, Inputs
from firstbreak.engine.registry import detectors
from firstbreak.engine.verdict import cannot_tell_about, causes_in_question, in_short, unmeasured, unproven
from firstbreak.model import (
    Action,
    Diagnosis,
    Finding,
    Link,
    LinkStatus,
    Outcome,
    RankedCause,
    Role,
    Run,
    Severity,
    Status,
    WeightKind,
)
from firstbreak.readers import Unreadable
from firstbreak.reports import content
from firstbreak.reports.content import Exhibit, ReportLine
from firstbreak.reports.text import count, shorter
from firstbreak.words import first_few, joined, link_word, moment, number, percent, shortened, step_word

MOST_FINDINGS = 2
MOST_CAUSES = 3
MOST_NAMED = 2  # findings that a cause explains, or that are left out
MOST_OF_A_VERDICT = 60  # words
LETTERS = 9  # of a word and a space, at most on average: more are those of names
IN_A_LIST = 28  # words of a message in a list of findings
FEWEST_CHECKS = 2  # that a signal must enable to be worth a line
LONGEST = 100  # letters of a name
NARROW = 70  # of a name and what the trainer calls it
SCORE = "the score"
BESIDE = 2  # rows before an onset and after it
#: what the statistics of a stretch are called, before its steps
STRETCH = {
    "median": "median of",
    "level": "median of",
    "mean": "mean of",
    "change": "change over",
    "course": "mean round",
}


def clipped(text: str, most: int) -> str:
    """The text as far as a clause ends within `most` words of usual length; "..." says that it goes on."""
    words = [shortened(word, LONGEST) for word in shorter(text).split(" ")]
    fitting = sum(letters <= LETTERS * most for letters in accumulate(len(word) + 1 for word in words))
    most = kept = min(most, max(fitting, 1))  # names of a log may be long
    if len(words) > most:
        kept = next((n for n in range(most, most // 2, -1) if words[n - 1][-1:] in ".;:,"), most)
        words[kept - 1] = words[kept - 1].rstrip(".;:,") + " ..."
    return " ".join(words[:kept])


def summary(dx: Diagnosis) -> str:
    """The verdict, without what the loop marks: the links that nothing was measured of, a missing evaluation among them."""
    blind = unmeasured(dx.outcomes)
    said = dx.verdict.summary.removesuffix(cannot_tell_about([link_word(link) for link in blind]))
    if Link.EVALUATION in blind:
        said = said.replace(unproven(Inputs(dx.run)), "")
    return clipped(said, MOST_OF_A_VERDICT)


def title(dx: Diagnosis) -> str:
    """What was read: trainer, algorithm, steps, and how many names are not understood."""
    run = dx.run
    unknown = f"{count(len(run.unknown), 'name')} not understood" if run.unknown else ""
    return "; ".join(filter(None, (shortened(shorter(content.title(run)), LONGEST), unknown)))


def marks(dx: Diagnosis) -> tuple[tuple[LinkStatus, str], ...]:
    """Each mark of the loop that needs a word, with the word."""
    words = {dx.links[link].status: content.status_word(dx, link) for link in Link if not content.one_of_two(dx, link)}
    seen = {link.status for link in dx.links.values()} - {LinkStatus.OK}
    return tuple((status, words.get(status, content.STATUS_WORD[status])) for status in LinkStatus if status in seen)


def findings(dx: Diagnosis) -> tuple[Outcome, ...]:
    """What broke: the finding of the first break, then the worst. Notices are no news of a run that goes on."""
    first = dx.first_break
    links, its = (first.links, first.detector) if first is not None else ((), "")
    return tuple(sorted(_serious(dx), key=lambda o: (o.detector != its, o.link not in links))[:MOST_FINDINGS])


def _serious(dx: Diagnosis) -> list[Outcome]:
    return [o for o in dx.findings if o.finding is not None and o.finding.severity is not Severity.NOTICE]


def curve(dx: Diagnosis, finding: Finding) -> Exhibit | None:
    """The one curve of a finding: that of its own metric, else the first."""
    drawn = [exhibit for exhibit in content.exhibits(dx, finding) if exhibit.series is not None]
    own = (e for e in drawn if e.series is not None and e.series.name == finding.metric)
    return next(own, drawn[0] if drawn else None)


def score(dx: Diagnosis) -> Exhibit | None:
    """The curve of the score, for a run of which nothing is said to be broken."""
    found = content.scores(dx)
    return Exhibit(SCORE, found[-1], None, None) if found else None


def message(finding: Finding) -> str:
    """What was found. What to do about it is left out: one screen says one thing to do, and `explain` the rest."""
    return finding.message.partition("; ")[0]


def beyond_summary(dx: Diagnosis, finding: Finding) -> str:
    """What was found, unless the summary says it."""
    return "" if in_short(finding).lower() in dx.verdict.summary.lower() else message(finding)


def place(dx: Diagnosis, outcome: Outcome) -> str:
    """'reward, since step 60'."""
    finding = content.found(outcome)
    within = finding.interval if finding.onset is None else None
    since = moment(dx.run.axis_of(finding.metric), finding.onset, within)
    return shorter(", since ".join(filter(None, (content.finding_place(outcome), since))))


def caption(exhibit: Exhibit) -> str:
    """The signal, and what the trainer calls it."""
    series = exhibit.series
    assert series is not None
    said = f": {exhibit.text}" if exhibit.text == SCORE else ""
    name = f"{series.name}{content.origin(series)}"
    return f"{name if len(name) <= NARROW else shortened(series.raw or series.name, NARROW)}{said}"


def causes(dx: Diagnosis) -> tuple[tuple[RankedCause, str], ...]:
    """The causes in question that the summary does not name, each with its strongest reason. None for a run that goes on."""
    asked = (
        content.likely_causes(dx)
        if (dx.findings or dx.first_break) and dx.verdict.action is not Action.CONTINUE
        else ()
    )
    said = causes_in_question(dx.causes, dx.first_break)
    known = [cause for cause in asked if cause.link is not None and cause not in said]
    return tuple((cause, _why(dx, cause)) for cause in known[:MOST_CAUSES])


def _why(dx: Diagnosis, cause: RankedCause) -> str:
    """Which of the findings on this screen a cause explains, where it is not all of them; else the setting behind it."""
    explained = _kept(dx, cause, WeightKind.FOUND, WeightKind.PROVED)
    if explained:
        return "" if len(explained) == len(findings(dx)) else f"explains {first_few(explained, MOST_NAMED)}"
    return next((w.text for w in cause.evidence if w.kind is WeightKind.CONFIGURATION and w.weight > 0), "")


def _kept(dx: Diagnosis, cause: RankedCause, *kinds: WeightKind) -> list[str]:
    """The findings of this screen among the evidence of these kinds, the weightiest first."""
    serious = {o.detector for o in findings(dx)}
    weights = sorted(
        (w for w in cause.evidence if w.finding in serious and w.kind in kinds), key=lambda w: -abs(w.weight)
    )
    return list(dict.fromkeys(w.finding for w in weights))


def to_log(dx: Diagnosis) -> tuple[tuple[str, str], ...]:
    """The signal that most of the checks in question ask for, and how to log it; none that one check alone lacks.

    In question are those of the first break's links; without one, those of the links that nothing was measured of.
    """
    inputs, known = Inputs(dx.run), detectors()
    links = unmeasured(dx.outcomes) if dx.first_break is None else dx.first_break.links
    unseen = (o for o in dx.outcomes if o.status is Status.NOT_MEASURED and o.link in links)
    blind = (o for o in unseen if Role.PROOF not in o.roles)
    needs = (known[outcome.detector].needs for outcome in blind if outcome.detector in known)
    asked = Counter(signal for names in needs for signal in _lacking(names, inputs))
    return tuple((name, _how(name, inputs)) for name, n in asked.most_common(1) if n >= FEWEST_CHECKS)


def _how(signal: str, inputs: Inputs) -> str:
    """How this trainer is made to log it. What only another of its algorithms may write under some name is no help."""
    run = inputs.run
    if not dialects.logs(run.trainer, run.algorithm, signal):
        return ""
    return for_family(dialects.option_to_log(run.trainer, signal), inputs.family) or ""


def _lacking(needs: Iterable[str], inputs: Inputs) -> set[str]:
    """The signals that a check lacks and this trainer can log: of several that would do, the first."""
    found: set[str] = set()
    for name in needs:
        if name in GIVEN or inputs.ask(name) is not None:
            continue
        if name not in DERIVED:
            signal = signals.BY_PARAMETER[name].name
            found |= {signal} if _how(signal, inputs) else set()
        elif DERIVED[name].needs:
            found |= _lacking(DERIVED[name].needs, inputs)
        else:
            found |= next(filter(None, (_lacking([use], inputs) for use in DERIVED[name].uses)), set())
    return found


def left_out(dx: Diagnosis) -> str:
    """What one screen does not say: '3 more findings (kl-spike, slow-steps and 1 more), 4 notes and the whole report'."""
    shown = findings(dx)
    names = [o.detector for o in dx.findings if o not in shown]
    more = f"{count(len(names), 'more finding')} ({first_few(names, MOST_NAMED)})" if names else ""
    counted = (
        (len(dx.run.damage) - 1, "more damaged part"),
        (len(content.crashed(dx)), "crashed check"),
        (len(dx.thresholds), "changed threshold"),
        (len(dx.run.notes), "note"),
    )
    return joined([*([more] if more else []), *(count(n, noun) for n, noun in counted if n > 0), "the whole report"])


def rest(dx: Diagnosis) -> tuple[ReportLine, ...]:
    """The causes in question, what to log, what could not be read, and where the rest is said."""
    log = [f"{name}: {clipped(how, 12)}" for name, how in to_log(dx)]
    also = "Also" if causes_in_question(dx.causes, dx.first_break) else "Causes"
    lines = [*content.under(also, _causes(dx)), *content.under("Log next", log)]
    lines += [ReportLine(line.label, shorter(line.text)) for line in content.baseline(dx)]
    lines += [ReportLine("Not read", shorter(part)) for part in dx.run.damage[:1]]
    lines.append(ReportLine("--full", left_out(dx)))
    if names := [o.detector for o in findings(dx)]:
        path = dx.run.path if len(dx.run.path) <= LONGEST else "RUN"
        command = shlex.join(["firstbreak", "explain", path, names[0]])
        lines.append(ReportLine("Evidence", command, literal=True, copied=True))
    return tuple(lines)


def _causes(dx: Diagnosis) -> Iterator[str]:
    for cause, why in causes(dx):
        place = content.cause_place(cause)
        head = f"{percent(cause.probability)} {clipped(cause.title, 20)}" + (f" ({place})" if place else "")
        yield f"{head}: {why}" if why else head


def named(dx: Diagnosis, name: str) -> Outcome | RankedCause | Link:
    """The check, cause or link of that name. Raises `Unreadable` with those that found something, and the causes."""
    known: dict[str, Outcome | RankedCause | Link] = {name: link for link in Link for name in (link, link_word(link))}
    known |= {cause.id: cause for cause in dx.causes}
    known |= {outcome.detector: outcome for outcome in dx.outcomes}
    if name not in known:
        near = [o.detector for o in dx.findings] + [cause.id for cause in content.causes(dx)]
        raise Unreadable(name, f"{dx.run.path} has no finding or cause of that name", f"it has {first_few(near, 12)}")
    return known[name]


def explainable(dx: Diagnosis, only: Link | None = None) -> dict[str, tuple[ReportLine, ...]]:
    """What can be explained of a run, or of one link of it, by heading; headings with nothing under them are left out."""
    found = [(o, message(content.found(o))) for o in dx.findings if only in (None, o.link)]
    unseen = [o for o in dx.outcomes if (o.status, o.link) == (Status.NOT_MEASURED, only) and Role.PROOF not in o.roles]
    parts = {
        "Findings": [ReportLine(o.detector, clipped(said, IN_A_LIST)) for o, said in found],
        "Causes": [
            ReportLine(cause.id, f"{percent(cause.probability)} {cause.title}")
            for cause in content.causes(dx)
            if cause.link is not None and only in (None, cause.link)
        ],
        "Links": [ReportLine(link.value, content.status_word(dx, link)) for link in Link if only is None],
        "Not measured": [ReportLine(o.detector, clipped(o.note, IN_A_LIST)) for o in unseen],
    }
    return {heading: tuple(lines) for heading, lines in parts.items() if lines}


def numbers(run: Run, finding: Finding) -> str:
    """What the numbers of a message are where they are those of a stretch, and the last value beside them."""
    said: dict[str, str] = {}
    for fact in (fact for fact in finding.stated if fact.statistic in STRETCH):
        (start, end), unit = fact.window, step_word(fact.axis)
        place = f"{unit} {number(end)}" if start == -math.inf else f"{unit}s {number(start)} to {number(end)}"
        for text in (f"{fact:%}", f"{fact}"):
            if re.search(rf"(?<![\w.]){re.escape(text)}(?!\w|\.\d)", finding.message):
                said.setdefault(text, f"{text}: {STRETCH[fact.statistic]} {place}")
    curve = run.series.get(finding.metric or "")
    now = [f"last value: {number(float(curve.values[-1]))}"] if said and curve is not None else []
    return "; ".join([*said.values(), *now])


def rows(dx: Diagnosis, finding: Finding) -> str:
    """What was logged just before and after the onset of a finding: "step 118: 0.4, step 120: 3.2"."""
    shown = curve(dx, finding)
    if shown is None or shown.series is None or finding.onset is None or not len(points := shown.series.finite):
        return ""
    place = int(np.searchsorted(points.steps, finding.onset))
    near = range(max(0, place - BESIDE), min(len(points), place + BESIDE + 1))
    return ", ".join(f"{step_word(points.axis)} {number(points.steps[i])}: {number(points.values[i])}" for i in near)


def weighed(dx: Diagnosis, outcome: Outcome) -> tuple[ReportLine, ...]:
    """Which of the causes that have a line of their own a finding speaks for or against, and how strongly."""
    return tuple(
        ReportLine(percent(cause.probability), f"{cause.title} ({content.strength(weight)} evidence {side} it)")
        for cause in content.causes(dx)
        for weight in content.by_finding(cause)
        if weight.finding == outcome.detector and abs(weight.weight) >= content.SMALL
        if cause.link is not None and weight.kind is not WeightKind.UNEXPLAINED
        for side in ("for" if weight.weight > 0 else "against",)
    )
