"""Why each wrong answer abroad is wrong: one class for each run whose first break is not the link of its fault.

invisible        its curves do not differ from those of its healthy twins; nothing can be right but silence
debatable        the link that was named is one that the fault accepts
abstained        the most probable cause is of the right link (or an accepted one), and the run was not called broken
weighed wrongly  a detector of the right link found something, and another link won
blocked          a detector of the right link could not look, and finds something at a later step towards home
quiet            a detector of the right link looked and saw nothing, and finds something at a later step
no detector      no detector of the right link finds anything at any step, and the answer at home is wrong as well
not understood   none of these: at home the answer is right although no detector of that link speaks
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from benchmarks.abroad.answers import STEPS, Answer
from benchmarks.abroad.figures import Judged, by_cause, first
from firstbreak.engine.registry import detectors

CLASSES = (
    "weighed wrongly",
    "blocked",
    "quiet",
    "no detector",
    "abstained",
    "debatable",
    "not understood",
    "invisible",
)


@dataclass(frozen=True, kw_only=True)
class Miss:
    """One wrong answer abroad."""

    why: str  #: one of CLASSES
    run: str  #: its archive
    draw: int
    shown: str  #: trainer, share of the run, cadence
    right: str  #: link of the fault
    said: str  #: the link that was named, or the most probable one in brackets, with the most probable cause
    detail: str  #: the findings, or the detectors that would have spoken
    at: str = ""  #: the step at which they do


def misses(every: Sequence[Judged]) -> list[Miss]:
    """All of them, class by class."""
    found = [miss(one) for one in every if one.faulty and not one.right(one.row.answers["abroad"].link, strict=True)]
    return sorted(found, key=lambda one: (CLASSES.index(one.why), one.right, one.run, one.draw))


def miss(one: Judged) -> Miss:
    """The class of one wrong answer, and what a reader needs to look it up."""
    said = one.row.answers["abroad"]
    why, detail, at = _why(one, said)
    guess = first(by_cause(said))
    return Miss(
        why=why,
        run=one.row.archive,
        draw=one.row.number,
        shown=f"{one.row.trainer}, {one.row.end:.0%}, every {one.row.cadence}" + ", evaluated" * one.row.evaluated,
        right=str(one.label.link),
        said=f"{said.link or f'[{guess}]'} by {said.cause}, healthy {said.healthy:.0%}",
        detail=detail,
        at=at,
    )


def _why(one: Judged, said: Answer) -> tuple[str, str, str]:
    link, home = str(one.label.link), one.row.answers["home"]
    if not one.visible:
        return "invisible", "blind" if link in said.blind else "", ""
    if one.right(said.link, strict=False):
        return "debatable", _words(said.spoke), ""
    if said.link is None and one.right(first(by_cause(said)), strict=False):
        return "abstained", _words(said.spoke), ""
    if own := _own(link, said.spoke):
        return (
            "weighed wrongly",
            f"{_words(own)} against {_words([name for name in said.spoke if name not in own])}",
            "",
        )
    for step in STEPS[1:]:
        if speak := _own(link, one.row.answers[step].spoke):
            blocked = [name for name in speak if name in said.mute]
            return ("blocked" if blocked else "quiet"), _words(blocked or speak), step
    if one.right(home.link, strict=True):
        return "not understood", _words(home.spoke), "home"
    return "no detector", _words(said.spoke), ""


def counted(missed: Sequence[Miss]) -> dict[str, dict[str, int]]:
    """Class -> step at which the right detector speaks, "" where none does -> number of misses."""
    steps = {why: [one.at for one in missed if one.why == why] for why in CLASSES}
    return {why: {at: found.count(at) for at in ("", *STEPS) if at in found} for why, found in steps.items()}


def _own(link: str, spoke: Iterable[str]) -> list[str]:
    """The detectors of this link."""
    return [name for name in spoke if detectors()[name].link == link]


def _words(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"
