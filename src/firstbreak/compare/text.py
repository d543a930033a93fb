"""A comparison as text, for a terminal, a pipe or a page."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from firstbreak.compare.arms import Arm, differences
from firstbreak.compare.first_difference import FirstDifference, earliest, first_differences
from firstbreak.compare.judge import Judgement, judge
from firstbreak.compare.statistics import Estimate
from firstbreak.reports.story import link_word
from firstbreak.reports.text import visible
from firstbreak.words import number

MOST_ROWS = 12  #: rows for one part of the differences; packages alone can be hundreds
WIDEST = 26  #: characters of a cell


def render(compared: Sequence[Arm]) -> str:
    """The complete text: the arms, what differs, and each arm against the first."""
    parts = [_arms(compared), _differences(compared)]
    for other in compared[1:]:
        parts += [_against(compared[0], other)]
    return "\n\n".join(parts)


def _arms(compared: Sequence[Arm]) -> str:
    rows = [("", "runs", "seeds", "final score (mean of the last tenth)")]
    for arm in compared:
        seeds = sorted({str(member.seed) for member in arm.members if member.seed is not None})
        scores = ["?" if member.final is None else number(member.final) for member in arm.members]
        shown = scores if len(scores) <= 6 else [*scores[:5], f"... ({len(scores)})"]
        rows.append((arm.name, str(len(arm.members)), ",".join(seeds[:6]) or "?", "  ".join(shown)))
    said = [line for arm in compared for note in arm.notes for line in wrap(note, 80, subsequent_indent="  ")]
    return "\n".join([table(rows), *map(visible, said)])


def _differences(compared: Sequence[Arm]) -> str:
    found = differences(compared)
    unrecorded = not any(member.settings for arm in compared for member in arm.members)
    if not found and unrecorded:
        return "No run records its configuration, so it is unknown what differs."
    if not found:
        return "No recorded setting differs: configuration, code and data are the same."
    rows = [("what differs", "", *(arm.name for arm in compared))]
    for part in dict.fromkeys(d.part for d in found):
        here = [d for d in found if d.part == part]
        rows += [(part if i == 0 else "", d.name, *_cells(d.values)) for i, d in enumerate(here[:MOST_ROWS])]
        if len(here) > MOST_ROWS:
            rows.append(("", f"... and {len(here) - MOST_ROWS} more", *("" for _ in compared)))
    logged = ["No run records its configuration; this was read off the curves."] if unrecorded else []
    return "\n".join([table(rows), *logged])


def _cells(values: Sequence[Any]) -> list[str]:
    """Each value in the width of a column; of long ones that begin alike, the part in which they differ."""
    texts = [_cell(value) for value in values]
    cut = [text if len(text) <= WIDEST else text[: WIDEST - 3] + "..." for text in texts]
    if len(set(cut)) > 1:
        return cut
    shared = next((i for i, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), 0)
    alike = max(0, shared - WIDEST // 3)
    ends = [f"...{text[alike:]}" for text in texts]
    return [end if len(end) <= WIDEST else end[: WIDEST - 3] + "..." for end in ends]


def _cell(value: Any) -> str:
    return "not recorded" if value is None else number(value) if isinstance(value, float) else str(value)


def _against(left: Arm, right: Arm) -> str:
    found = first_differences(left, right)
    judgement = judge(left, right)
    lines = [
        f"{left.name} -> {right.name}",
        *_first_differences(left, right, found),
        "",
        *_judged(left, right, judgement),
    ]
    return "\n".join(lines)


def _first_differences(left: Arm, right: Arm, found: Sequence[FirstDifference]) -> list[str]:
    if not found:
        return ["No curve differs: no signal that both sides record stays outside its noise."]
    first = earliest(found)
    rows = [("first difference", "signal", "at step", left.name, right.name, "")]
    rows += [
        (link_word(p.link), p.metric, number(p.step), number(p.left), number(p.right), "<- first" if p is first else "")
        for p in found
    ]
    single = min(len(left.members), len(right.members)) == 1
    note = "With one run on a side, two seeds of the same setting can differ like this." if single else ""
    return [table(rows), *([note] if note else [])]


def _judged(left: Arm, right: Arm, judgement: Judgement | None) -> list[str]:
    if judgement is None:
        return ["The sides record no common score on the same task, so it is unknown which side is better."]
    rows = [
        (f"score of {left.name}", _estimate(judgement.left)),
        (f"score of {right.name}", _estimate(judgement.right)),
        ("difference", _estimate(judgement.difference, sign=True)),
        (f"P({right.name} beats {left.name})", _estimate(judgement.improvement)),
    ]
    scale = " of scores scaled to 0..1 for each task" if len(judgement.tasks) > 1 else ""
    return [table(rows), f"Interquartile means{scale}, 95 % intervals.", *wrap(_verdict(right, judgement), 80)]


def _verdict(right: Arm, judgement: Judgement) -> str:
    few = min(judgement.runs)
    if judgement.real is None:
        return (
            f"{few} run{'' if few == 1 else 's'} on each side cannot show whether the setting or the seed causes the difference. "
            "Train at least two more seeds of each."
        )
    if judgement.real:
        better = "better" if judgement.difference.value > 0 else "worse"
        return f"The difference is real: {right.name} is {better}, by more than seeds explain."
    few_seeds = f"{few} seeds are not enough to decide."
    if judgement.needed is None:
        return f"{few_seeds} A possible difference is so small that showing it would take more than 10,000 runs."
    return (
        f"{few_seeds} If the difference is as large as observed, about {judgement.needed} runs on each side would show it "
        f"(normal theory, 80 % power). {few} runs show a difference of {number(judgement.visible)} or more."
    )


def _estimate(estimate: Estimate, sign: bool = False) -> str:
    value = f"{'+' if sign and estimate.value > 0 else ''}{number(estimate.value)}"
    if estimate.interval is None:
        return f"{value}  (no interval from single runs)"
    return f"{value}  [{number(estimate.interval[0])}, {number(estimate.interval[1])}]"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns with two spaces between them, aligned to the left. Control characters from logs are made visible."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "\n".join("  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in shown)
