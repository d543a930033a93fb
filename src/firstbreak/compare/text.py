"""A comparison as text, for a terminal, a pipe or a page."""

from collections.abc import Sequence
from textwrap import wrap
from typing import Any

from firstbreak.compare import sentences
from firstbreak.compare.arms import Arm
from firstbreak.compare.first_difference import earliest, first_differences
from firstbreak.compare.judge import Judgement, judge
from firstbreak.compare.statistics import Estimate
from firstbreak.model import Link
from firstbreak.reports.text import visible
from firstbreak.words import first_few, joined, link_word, number

MOST_ROWS = 12  #: rows for one part of the differences; packages alone can be hundreds
WIDEST = 26  #: characters of a cell


def render(compared: Sequence[Arm]) -> str:
    """The complete text: the arms, what differs, and each arm against the first."""
    parts = [_arms(compared), _differences(compared)]
    for other in compared[1:]:
        parts += [_against(compared[0], other)]
    return "\n\n".join(parts)


def _arms(compared: Sequence[Arm]) -> str:
    best, names = sentences.best_of(compared), {joined(arm.measured) for arm in compared if arm.measured}
    score = names.pop() if len(names) == 1 else ""
    rows = [("", "runs", "seeds", f"final {score or 'score'} ({sentences.FINAL})", "" if score else "of")]
    for arm in compared:
        seeds, name = sentences.seeds(arm), "" if score else joined(arm.measured)
        rows.append((arm.name, str(len(arm.members)), first_few(seeds, 4, ",") or "?", sentences.finals(arm), name))
    notes = [best, *(note for arm in compared for note in arm.notes)]
    said = [line for note in notes for line in wrap(note, 80, subsequent_indent="  ")]
    return "\n".join([table(rows), *map(visible, said)])


def _differences(compared: Sequence[Arm]) -> str:
    found, folded = sentences.parted(compared)
    if not (found or folded):
        return "\n".join(wrap(sentences.no_difference(compared), 80))
    rows = [("what differs", "", *(arm.name for arm in compared))]
    for part in dict.fromkeys(d.part for d in found):
        here = [d for d in found if d.part == part]
        rows += [(part if i == 0 else "", d.name, *_cells(d.values)) for i, d in enumerate(here[:MOST_ROWS])]
        if len(here) > MOST_ROWS:
            rows.append(("", f"... and {len(here) - MOST_ROWS} more: --format html", *("" for _ in compared)))
    logged = wrap(sentences.INFERRED, 80) if sentences.is_inferred(compared) else []
    only = [f"{said} ({first_few([d.name for d in group], 3)}): --format html" for said, group in folded.items()]
    return "\n".join([table(rows), *(visible(line) for text in only for line in wrap(text, 80)), *logged])


def _cells(values: Sequence[Any]) -> list[str]:
    """Each value in the width of a column; of long ones that begin alike, the part in which they differ."""
    texts = [sentences.cell(value) for value in values]
    cut = [text if len(text) <= WIDEST else text[: WIDEST - 3] + "..." for text in texts]
    if len(set(cut)) > 1:
        return cut
    shared = next((i for i, letters in enumerate(zip(*texts, strict=False)) if len(set(letters)) > 1), 0)
    alike = max(0, shared - WIDEST // 3)
    ends = [f"...{text[alike:]}" for text in texts]
    return [end if len(end) <= WIDEST else end[: WIDEST - 3] + "..." for end in ends]


def _against(left: Arm, right: Arm) -> str:
    found, judged = _first_differences(left, right), _judged(left, right, judge(left, right))
    return "\n".join([f"{left.name} -> {right.name}", *found, "", *judged])


def _first_differences(left: Arm, right: Arm) -> list[str]:
    if not (found := first_differences(left, right)):
        return wrap(sentences.no_curve(left, right), 80)
    first = [p for p in found if p.step == earliest(found).step and (p.link is not Link.SYSTEMS or len(found) == 1)]
    rows = [("first difference", "signal", "at step", left.name, right.name, "")]
    rows += [
        (link_word(p.link), p.metric, number(p.step), number(p.left), number(p.right), "<- first" if p in first else "")
        for p in found
    ]
    return [table(rows), *filter(None, [sentences.single(left, right)])]


def _judged(left: Arm, right: Arm, judgement: Judgement | None) -> list[str]:
    said = wrap(sentences.verdict(left, right, judgement), 80)
    if judgement is None:
        return said
    name = joined(left.measured)
    rows = [
        (f"{name} of {left.name}", _estimate(judgement.left)),
        (f"{name} of {right.name}", _estimate(judgement.right)),
        ("difference", _estimate(judgement.difference, sign=True)),
    ]
    if judgement.improvement is not None:
        rows.append((f"P({right.name} beats {left.name})", _estimate(judgement.improvement)))
    scale = " of scores scaled to 0..1 for each task" if len(judgement.tasks) > 1 else ""
    return [table(rows), f"Interquartile means{scale}, 95 % intervals.", *said]


def _estimate(value: Estimate, sign: bool = False) -> str:
    shown, interval = sentences.estimate(value, sign)
    return f"{shown}  ({interval})" if value.interval is None else f"{shown}  [{interval}]"


def table(rows: Sequence[Sequence[str]]) -> str:
    """Columns with two spaces between them, aligned to the left. Control characters from logs are made visible."""
    shown = [[visible(cell) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    return "\n".join("  ".join(f"{cell:{w}}" for cell, w in zip(row, widths, strict=True)).rstrip() for row in shown)
