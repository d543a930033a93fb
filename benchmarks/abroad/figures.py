"""The figures of the rows, and the tables that show them.

A fault counts where it can be seen (visible.py). A fault that leaves no mark is counted apart: there the right answer is that
nothing is accused. Strict: the link of the fault. Accepted: the link, or one that the fault declares in ACCEPTED.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from firstbreak_lab.bench import calibration
from firstbreak_lab.catalogue import catalogue
from firstbreak_lab.running import Label

from benchmarks.abroad.answers import STEPS, Answer, Row
from benchmarks.abroad.visible import FALSE_DISCOVERIES, discoveries
from firstbreak.model import Link
from firstbreak.preflight.intervals import wilson

ALWAYS = Link.POLICY_UPDATE.value  #: the answer of a baseline that does not look
BINS = 5  #: of the stated probability


@dataclass(frozen=True)
class Judged:
    """A row with the truth about it."""

    row: Row
    label: Label
    visible: bool  #: False for a healthy run

    @property
    def faulty(self) -> bool:
        """Whether the run has a fault."""
        return self.label.link is not None

    def right(self, link: str | None, *, strict: bool) -> bool:
        """Whether this is the link of the fault, or without `strict` one that is accepted beside it."""
        accepted = () if strict else catalogue()[self.label.variant].accepted
        return link is not None and (link == self.label.link or link in accepted)


def judged(rows: Sequence[Row], labels: Mapping[str, Label]) -> list[Judged]:
    """Every row with its label, and whether its fault can be seen."""
    tested = [row for row in rows if row.p is not None]
    seen = discoveries([row.p for row in tested if row.p is not None])
    visible = {(row.archive, row.number) for row, found in zip(tested, seen, strict=True) if found}
    return [Judged(row, labels[row.archive], (row.archive, row.number) in visible) for row in rows]


# Answers of one run -----------------------------------------------------------------------------------------------------


def by_cause(answer: Answer) -> list[str]:
    """The links, that of the most probable cause first."""
    return sorted(answer.links, key=lambda link: -answer.links[link][1])


def by_mass(answer: Answer) -> list[str]:
    """The links, the one whose causes are the most probable together first."""
    return sorted(answer.links, key=lambda link: -answer.links[link][0])


def first(links: Sequence[str]) -> str | None:
    """The first one, if there is any."""
    return next(iter(links), None)


#: figure -> (what it is called, how an answer and the truth count in it), over faults that can be seen
OF_FAULTS: Mapping[str, tuple[str, Callable[[Judged, Answer], bool]]] = {
    "found": ("found", lambda one, said: said.link is not None),
    "forced": ("forced choice, strict", lambda one, said: one.right(first(by_cause(said)), strict=True)),
    "forced_accepted": ("forced choice, accepted", lambda one, said: one.right(first(by_cause(said)), strict=False)),
    "abstaining": ("first break named, strict", lambda one, said: one.right(said.link, strict=True)),
    "abstaining_accepted": ("first break named, accepted", lambda one, said: one.right(said.link, strict=False)),
    "mass": ("by probability of links, strict", lambda one, said: one.right(first(by_mass(said)), strict=True)),
    "mass_accepted": (
        "by probability of links, accepted",
        lambda one, said: one.right(first(by_mass(said)), strict=False),
    ),
    "two": (
        "among two links, strict",
        lambda one, said: any(one.right(link, strict=True) for link in by_mass(said)[:2]),
    ),
    "two_accepted": (
        "among two links, accepted",
        lambda one, said: any(one.right(link, strict=False) for link in by_mass(said)[:2]),
    ),
    "always": (f"always {ALWAYS}, strict", lambda one, said: one.right(ALWAYS, strict=True)),
    "always_accepted": (f"always {ALWAYS}, accepted", lambda one, said: one.right(ALWAYS, strict=False)),
}


# All runs ---------------------------------------------------------------------------------------------------------------


def figures(every: Sequence[Judged]) -> dict[str, Any]:
    """All figures, by step where they differ from step to step."""
    visible = [one for one in every if one.visible]
    invisible = [one for one in every if one.faulty and not one.visible]
    return {
        "n_faulty": len(visible) + len(invisible),
        "n_visible": len(visible),
        "false_discoveries": FALSE_DISCOVERIES,
        "steps": {step: at(step, every) for step in STEPS},
        "invisible": {
            "n": len(invisible),
            "by_link": _counts(one.label.link for one in invisible),
            "accused": share([one.row.answers["abroad"].link is not None for one in invisible]),
            "stopped": share([one.row.answers["abroad"].stop for one in invisible]),
            "link_said_to_be_blind": share([one.label.link in one.row.answers["abroad"].blind for one in invisible]),
        },
        "links": _parts(visible, lambda one: one.label.link or ""),
        "trainers": _parts(visible, lambda one: one.row.trainer),
        "cadences": _parts(visible, lambda one: str(one.row.cadence)),
    }


def at(step: str, every: Sequence[Judged]) -> dict[str, Any]:
    """The figures of one step."""
    visible = [(one, one.row.answers[step]) for one in every if one.visible]
    healthy = [one.row.answers[step] for one in every if not one.faulty]
    accused, stopped = [said.link is not None for said in healthy], [said.stop for said in healthy]
    stated = [
        (said.links[by_mass(said)[0]][0], one.right(first(by_mass(said)), strict=True))
        for one, said in visible
        if said.links
    ]
    error, bins = calibration(stated, BINS)
    return {
        **{name: share([counts(one, said) for one, said in visible]) for name, (_, counts) in OF_FAULTS.items()},
        "healthy_accused": share(accused),
        "healthy_accused_bound": wilson(sum(accused), len(accused))[1],
        "healthy_stopped": share(stopped),
        "healthy_stopped_bound": wilson(sum(stopped), len(stopped))[1],
        "n_healthy": len(healthy),
        "calibration_error": error,
        "calibration": [{**one, "interval": wilson(round(one["right"] * one["n"]), one["n"])} for one in bins],
    }


def share(hits: Sequence[bool]) -> float | None:
    """None where there is no run."""
    return sum(hits) / len(hits) if hits else None


def _counts(names: Any) -> dict[str, int]:
    counted: dict[str, int] = {}
    for name in names:
        counted[name] = counted.get(name, 0) + 1
    return counted


def _parts(visible: Sequence[Judged], key: Callable[[Judged], str]) -> dict[str, dict[str, Any]]:
    """The figures abroad for each part of the runs."""
    shown = ("found", "forced", "forced_accepted", "abstaining", "two_accepted")
    parts: dict[str, dict[str, Any]] = {}
    for name in dict.fromkeys(map(key, visible)):
        part = at("abroad", [one for one in visible if key(one) == name])
        parts[name] = {"n": sum(key(one) == name for one in visible)} | {figure: part[figure] for figure in shown}
    return parts
