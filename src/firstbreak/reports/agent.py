"""A diagnosis as plain text for whoever reasons about the run further, such as a coding agent: at most 6,000 characters.

The most telling first: what was read, the score, relations between numbers, settings, events, findings in order of onset,
suspects with what they rest on and where in code to look, commands. What room is left shows the curves in numbers.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from firstbreak.engine.registry import causes, sections
from firstbreak.engine.stats.points import median
from firstbreak.model import Diagnosis, Outcome, RankedCause, Role, Series, Severity, WeightKind
from firstbreak.reports import brief, content
from firstbreak.reports.text import count, shorter, visible
from firstbreak.words import number, percent, shortened, step_word

MOST = 6_000  #: characters of the whole
LONGEST = 420  #: of a line
NAMES = 150  #: of names that are left out
WORDS = 42  #: of a finding
MOST_GROUNDS = 4  #: findings that one suspect rests on
FIRST = 3  #: values of a curve as they are
PARTS = 4  #: stretches of a curve of which the median is given
ROWS = 8  #: that are equal by more than chance
BESIDE = 5  #: settings in one line
CLOCKS = ("time", "per_second", "progress.", "tokens", "epoch")
CODE = "Where in code to look"


def render(dx: Diagnosis) -> str:
    """The text. A section that has no room for all of its lines says how many it left out."""
    left, said = MOST, []
    for heading, share, lines in SECTIONS:
        room = left - 1 if share is None else min(share, left - 1)
        if text := _fitting(heading, [shortened(visible(shorter(line)), LONGEST) for line in lines(dx)], room):
            said.append(text)
            left -= len(text) + 1
    return "\n".join(said)


def _fitting(heading: str, lines: Sequence[str], room: int) -> str:
    """A section of at most `room` characters, or nothing."""
    if not lines:
        return ""
    for kept in range(len(lines), 0, -1):
        more = [f"  ... and {len(lines) - kept} more{_names(lines[kept:])}"] if kept < len(lines) else []
        text = "\n".join([heading, *(f"  {line}" for line in lines[:kept]), *more])
        if len(text) <= room:
            return text
    return ""


def _names(lines: Sequence[str]) -> str:
    """The names that lines begin with, such as those of findings and curves."""
    names = [name for line in lines if (name := re.match(r"(\S+)(?= \(|:)", line))]
    return f": {shortened(', '.join(name[1] for name in names), NAMES)}" if names else ""


# sections ---------------------------------------------------------------------------------------------------------------


def _read(dx: Diagnosis) -> Iterator[str]:
    run = dx.run
    yield f"{run.path}: {content.title(run) or 'trainer not recognised'}"
    yield f"{count(len(run.series), 'metric')} from {', '.join(content.first(list(run.files), 6))}"
    if run.unknown:
        yield f"not understood: {', '.join(content.first(list(run.unknown), 12))}"
    yield from (f"could not be read: {part}" for part in content.first(list(run.damage), 2))
    yield from content.first(list(run.notes), 3)


def _verdict(dx: Diagnosis) -> Iterator[str]:
    yield f"{content.ACTION_WORD[content.mark(dx.verdict)]}. {dx.verdict.summary}"
    if dx.verdict.do_first:
        yield f"do first: {dx.verdict.do_first}"


def _score(dx: Diagnosis) -> Iterator[str]:
    score = dx.score
    if score is None:
        yield "none was recorded"
        return
    axis = step_word(dx.run.axis_of(score.metric))
    known = np.isfinite(score.error) and score.error > 1e-6 * max(abs(score.start), abs(score.end))
    error = f", standard error of a level {number(score.error)}" if known else ""
    fell = score.course in ("peaked", "declining", "collapsed") and 0 < score.lost < np.inf
    lost = f", {percent(score.lost)} of the gain is lost" if fell else ""
    yield (
        f"{score.metric} ({score.why}): {score.course}, {number(score.start)} at first, best {number(score.best)} at {axis} "
        f"{number(score.best_step)}, {number(score.end)} at the end{lost}{error}"
    )
    yield from (f"{name}: {course}" for name, course in score.others.items())


def _relations(dx: Diagnosis) -> Iterator[str]:
    hold, _ = content.relations(dx.outcomes)
    for outcome in dx.findings:
        if Role.RELATION in outcome.roles and outcome.detector not in hold:
            yield _finding(dx, outcome)
    if hold:
        yield f"{count(len(hold), 'relation')} checked and found to hold: {', '.join(hold)}"


def _settings(dx: Diagnosis) -> Iterator[str]:
    """Those with a meaning first, by the run's own names; what the trainer's defaults would be is left out."""
    config = dx.run.config
    own = {
        config.option(n): config.raw.get(config.option(n), v)
        for n, v in config.values.items()
        if n not in config.defaulted
    }
    shown = own | {name: v for name, v in config.raw.items() if name not in own and _plain(v)}
    values = ((name, number(v) if isinstance(v, float) else shortened(str(v), 40)) for name, v in shown.items())
    texts = [f"{name}={value}" for name, value in values]
    yield from ("; ".join(texts[i : i + BESIDE]) for i in range(0, len(texts), BESIDE))


def _plain(value: object) -> bool:
    return isinstance(value, (bool, int, float)) or (isinstance(value, str) and 0 < len(value) <= 40)


def _events(dx: Diagnosis) -> Iterator[str]:
    for event in dx.run.events:
        where = (
            "before the first step" if event.step is None else f"after {step_word(dx.run.axis)} {number(event.step)}"
        )
        yield f"{where}{' (nothing was logged after it)' if event.last else ''}: {event.text}"


def _findings(dx: Diagnosis) -> Iterator[str]:
    """By onset; notices last."""
    told = [o for o in dx.findings if Role.RELATION not in o.roles or o.detector in content.relations(dx.outcomes)[0]]
    yield from (brief.clipped(_finding(dx, outcome), WORDS) for outcome in sorted(told, key=_onset))


def _onset(outcome: Outcome) -> tuple[bool, float]:
    finding = content.found(outcome)
    return finding.severity is Severity.NOTICE, np.inf if finding.onset is None else finding.onset


def _finding(dx: Diagnosis, outcome: Outcome) -> str:
    finding = content.found(outcome)
    facts = ", ".join([content.SEVERITY_WORD[finding.severity], *content.finding_facts(dx, outcome)])
    return f"{outcome.detector} ({facts}): {finding.message}"


def _suspects(dx: Diagnosis) -> Iterator[str]:
    """What the probability of each rests on, what would tell it from the others, and where in code to look."""
    for cause in content.causes(dx):
        place = f" ({content.cause_place(cause)})" if cause.link is not None else ""
        yield f"{percent(cause.probability)} {cause.title}{place}; rests on {_grounds(cause)}{_told_apart(cause)}"
        if cause.id in causes():
            yield f"  look at: {' '.join(sections(causes()[cause.id].doc).get(CODE, '').split())}"


def _grounds(cause: RankedCause) -> str:
    weights = sorted((w for w in cause.evidence if w.weight > 0), key=lambda w: -w.weight)
    found = [w.finding for w in weights if w.kind in (WeightKind.FOUND, WeightKind.PROVED)]
    settings = [w.text for w in weights if w.kind is WeightKind.CONFIGURATION]
    return ", ".join(dict.fromkeys(found[:MOST_GROUNDS] + settings[:1])) or "how common it is"


def _told_apart(cause: RankedCause) -> str:
    plan = cause.experiment
    return f"; told apart by {plan.id or plan.text}: {plan.if_cause}" if plan is not None and plan.if_cause else ""


def _commands(dx: Diagnosis) -> Iterator[str]:
    run = dx.run
    yield from (line.text for line in brief.rest(dx) if line.label == "Evidence")
    plans = [c.experiment for c in content.likely_causes(dx) if c.experiment is not None and c.experiment.id]
    yield from dict.fromkeys(content.command(run, plan) for plan in plans)
    yield from (f"log {name}: {how}" for name, how in brief.to_log(dx))


def _curves(dx: Diagnosis) -> Iterator[str]:
    """First three values, medians of the quarters, last value: scores and findings' first, what counts time last,
    constants in one line. By the log's own names; beside those that findings speak of, the name that they use.
    """
    run, scores = dx.run, [dx.score.metric, *dx.score.others] if dx.score else []
    asked = [*scores, *(content.found(o).metric or "" for o in dx.findings)]
    named = dict(run.series) | dict(run.unknown)
    order = [name for name in dict.fromkeys(asked) if name in named]
    order += sorted(
        named.keys() - set(order), key=lambda name: (_late(f"{name} {named[name].raw}"), list(named).index(name))
    )
    moving, constant = [], []
    for name in order:
        finite, own = named[name].finite, named[name].raw or name
        if len(finite) and np.ptp(finite.values) == 0:
            constant.append(f"{own} {number(finite.values[0])}")
        else:
            called = f"{name} [{own}]" if name in asked and own != name else own
            moving.append(f"{called}: {_course(finite, len(named[name]) - len(finite))}")
    yield from (f"equal in every row: {', '.join(names)}" for names in _equal(named))
    yield from moving
    if constant:
        yield f"constant: {', '.join(constant)}"


def _equal(named: Mapping[str, Series]) -> Iterator[list[str]]:
    """The names of curves that have one and the same value in each of many rows, and not the same in all."""
    alike: dict[tuple[bytes, bytes], list[str]] = {}
    for name, s in named.items():
        if len(s.finite) >= ROWS and not name.startswith(("time.", "progress.")) and np.ptp(s.finite.values) > 0:
            alike.setdefault((s.steps.tobytes(), s.values.tobytes()), []).append(s.raw or name)
    yield from (names for names in alike.values() if len(names) > 1)


def _late(name: str) -> int:
    """What to leave out first where there is no room: clocks and counters, then details of evaluations."""
    words = name.lower()
    return 2 if any(word in words for word in CLOCKS) else int(words.startswith("eval"))


def _course(series: Series, lost: int) -> str:
    gaps = f", {lost} not finite" if lost else ""
    if not len(series):
        return f"no value is finite{gaps}"
    quarters = [median(part) for part in np.array_split(series.values, PARTS) if len(part)]
    first, last = " ".join(map(number, series.values[:FIRST])), number(series.values[-1])
    long = len(series) > 2 * PARTS
    shown = f"{first} | {' '.join(map(number, quarters))} | {last}" if long else " ".join(map(number, series.values))
    extremes = f"min {number(series.values.min())}, max {number(series.values.max())}"
    return f"{shown} ({extremes}, n={len(series)}{gaps})"


#: heading, characters that it may fill (None: what is left), its lines
SECTIONS: tuple[tuple[str, int | None, Callable[[Diagnosis], Iterator[str]]], ...] = (
    ("READ", 600, _read),
    ("VERDICT", 700, _verdict),
    ("SCORE", 450, _score),
    ("RELATIONS between the numbers that do not hold", 900, _relations),
    ("SETTINGS of the run", 700, _settings),
    ("EVENTS in lines of text", 450, _events),
    ("FINDINGS by onset", 1_100, _findings),
    ("SUSPECTS", 1_100, _suspects),
    ("COMMANDS that tell more", 400, _commands),
    ("CURVES in numbers: first three values | medians of four quarters | last value", None, _curves),
)
