"""What one screen says of a run: the first of each kind, in few words, and how much more there is."""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterable, Iterator

from firstbreak import dialects
from firstbreak.dialects import signals
from firstbreak.engine.inputs import DERIVED, GIVEN, Inputs
from firstbreak.engine.registry import detectors
from firstbreak.engine.verdict import cannot_tell_about, unmeasured
from firstbreak.model import (
    Action,
    Diagnosis,
    Finding,
    Link,
    LinkStatus,
    Outcome,
    RankedCause,
    Role,
    Severity,
    Status,
)
from firstbreak.reports import content
from firstbreak.reports.content import Exhibit, ReportLine, Section
from firstbreak.reports.text import count, shorter
from firstbreak.words import joined, link_word, percent

MOST_FINDINGS = 2
MOST_SIGNALS = 2  # that are to be logged
MOST_WORDS = 40  # of one text


def clipped(text: str, most: int = MOST_WORDS) -> str:
    """The text as far as a clause ends within `most` words; "..." says that it goes on."""
    words = shorter(text).split(" ")
    if len(words) <= most:
        return " ".join(words)
    kept = next((n for n in range(most, most // 2, -1) if words[n - 1][-1:] in ".;:,"), most)
    return f"{' '.join(words[:kept]).rstrip('.;:,')} ..."


def summary(dx: Diagnosis) -> str:
    """The verdict, without the links that nothing was measured of: they are marked in the loop."""
    return shorter(
        dx.verdict.summary.removesuffix(cannot_tell_about([link_word(link) for link in unmeasured(dx.outcomes)]))
    )


def title(dx: Diagnosis) -> str:
    """What was read: trainer, algorithm, steps, how many metrics, how many names that are not understood."""
    run = dx.run
    unknown = f", {count(len(run.unknown), 'name')} not understood" if run.unknown else ""
    metrics = f"{count(len(run.series), 'metric')} read{unknown}"
    return "; ".join(filter(None, (shorter(content.title(run)), metrics)))


def marks(dx: Diagnosis) -> tuple[tuple[LinkStatus, str], ...]:
    """Each mark of the loop that needs a word, with the word."""
    seen = ((dx.links[link].status, content.status_word(dx, link)) for link in Link)
    return tuple(dict.fromkeys(one for one in seen if one[0] is not LinkStatus.OK))


def findings(dx: Diagnosis) -> tuple[Outcome, ...]:
    """What broke: the worst findings, that of the first break first. Notices are no news of a run that goes on."""
    first = dx.first_break

    def later(outcome: Outcome) -> bool:
        return first is None or outcome.link not in first.links

    serious = [o for o in dx.findings if o.finding is not None and o.finding.severity is not Severity.NOTICE]
    return tuple(sorted(serious, key=later)[:MOST_FINDINGS])


def curve(dx: Diagnosis, finding: Finding) -> Exhibit | None:
    """The one curve of a finding: that of its own metric, else the first."""
    drawn = [exhibit for exhibit in content.exhibits(dx, finding) if exhibit.series is not None]
    own = (e for e in drawn if e.series is not None and e.series.name == finding.metric)
    return next(own, drawn[0] if drawn else None)


def score(dx: Diagnosis) -> Exhibit | None:
    """The curve of the score, for a run of which nothing is said to be broken."""
    found = content.scores(dx)
    return Exhibit("the score", found[-1], None, None) if found else None


def place(dx: Diagnosis, outcome: Outcome) -> str:
    """'reward, since step 60 (between 50 and 70)'."""
    link, when, *_ = content.finding_facts(dx, outcome)
    return shorter(f"{link}, {when}" if when.startswith("since") else link)


def causes(dx: Diagnosis) -> tuple[tuple[RankedCause, str], ...]:
    """The causes in question, each with the strongest reason for it. None for a run that goes on."""
    asked = content.likely_causes(dx) if dx.findings and dx.verdict.action is not Action.CONTINUE else ()
    return tuple((cause, _why(cause)) for cause in asked)


def _why(cause: RankedCause) -> str:
    best = max((w for w in cause.evidence if w.text), key=lambda w: w.weight, default=None)
    return clipped(f"{best.finding}: {best.text}", 20) if best is not None and best.weight > 0 else ""


def to_log(dx: Diagnosis) -> tuple[tuple[str, int, str], ...]:
    """The signals that would tell most: name, how many of the checks that lack something ask for it, how to log it."""
    inputs, known = Inputs(dx.run), detectors()
    blind = (o for o in dx.outcomes if o.status is Status.NOT_MEASURED and Role.PROOF not in o.roles)
    asked = Counter(
        signal
        for outcome in blind
        if outcome.detector in known
        for signal in _lacking(known[outcome.detector].needs, inputs)
    )
    return tuple((name, n, dialects.how_to_log(dx.run.trainer, name)) for name, n in asked.most_common(MOST_SIGNALS))


def _lacking(needs: Iterable[str], inputs: Inputs) -> set[str]:
    """The signals that a check lacks and this trainer can log: of several that would do, the first."""
    found: set[str] = set()
    for name in needs:
        if name in GIVEN or inputs.ask(name) is not None:
            continue
        if name not in DERIVED:
            found |= {signals.BY_PARAMETER[name].name} if _loggable(name, inputs) else set()
        elif DERIVED[name].needs:
            found |= _lacking(DERIVED[name].needs, inputs)
        else:
            found |= set(sorted(_lacking(DERIVED[name].uses, inputs))[:1])
    return found


def _loggable(name: str, inputs: Inputs) -> bool:
    how = dialects.how_to_log(inputs.run.trainer, signals.BY_PARAMETER[name].name)
    return bool(how) and not how.startswith("not logged")


def left_out(dx: Diagnosis) -> str:
    """What one screen does not say: '3 more findings, fixes and an experiment, 4 notes'."""
    more = len(dx.findings) - len(findings(dx))
    counted = (
        (more, "more finding"),
        (len(content.crashed(dx)), "crashed check"),
        (len(dx.thresholds), "threshold of yours"),
        (len(dx.run.notes), "note"),
    )
    said = [
        count(n, noun, "thresholds of yours" if n and noun.startswith("threshold") else "") for n, noun in counted if n
    ]
    return joined([*said, *(words for section, words in _REST.items() if section in content.sections(dx))])


#: sections of which one screen says little or nothing, and what they hold
_REST = {
    Section.OUTLOOK: "what more steps gain and cost",
    Section.CAUSES: "the weights of the causes",
    Section.REMEDY: "fixes",
    Section.TUNED: "tuned settings of others",
    Section.EXPECTED: "what is odd and right",
    Section.NOT_MEASURED: "what else to log",
    Section.READ: "the checks",
}


def rest(dx: Diagnosis) -> tuple[ReportLine, ...]:
    """The causes in question, what to log, what could not be read, and where the rest is said."""
    lines = [ReportLine("Cause", said) for said in _causes(dx)]
    lines += [ReportLine(line.label, shorter(line.text)) for line in content.baseline(dx)]
    lines += [
        ReportLine("Log next", f"{name} ({count(n, 'check')}): {clipped(how, 20)}") for name, n, how in to_log(dx)
    ]
    lines += [ReportLine("Not read", clipped(part, 20)) for part in dx.run.damage[:1]]
    lines.append(ReportLine("--full", left_out(dx)))
    if names := [o.detector for o in findings(dx)]:
        lines.append(ReportLine("Evidence", shlex.join(["firstbreak", "explain", dx.run.path, names[0]])))
    return tuple(lines)


def _causes(dx: Diagnosis) -> Iterator[str]:
    for cause, why in causes(dx):
        place = content.cause_place(cause)
        yield (
            f"{percent(cause.probability)} {cause.title}"
            + (f" ({place})" if place else "")
            + (f"; {why}" if why else "")
        )
