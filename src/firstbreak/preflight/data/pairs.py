"""Preference pairs: is the better answer really under `chosen`, and is there more to it than length?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from firstbreak.model import NotApplicable, NotMeasured
from firstbreak.preflight import Answer, critical, notice, warning
from firstbreak.preflight.data.rows import Row
from firstbreak.preflight.intervals import wilson
from firstbreak.readers._samples import as_text
from firstbreak.words import number, percent

LEAKS = 0.6  #: length says which answer is chosen more often than this, beyond doubt
JUDGED = 200  #: pairs that a judge is asked about
SCORES = (("score_chosen", "score_rejected"), ("chosen_score", "rejected_score"), ("chosen_rating", "rejected_rating"),
          ("chosen_reward", "rejected_reward"))  # fmt: skip


@dataclass(frozen=True)
class Pair:
    """One pair as text; `row` is its number, from 1."""

    row: int
    prompt: str
    chosen: str
    rejected: str


def pairs(rows: Sequence[Row]) -> list[Pair]:
    """The rows that hold `chosen` and `rejected`, as text."""
    return [
        Pair(i, as_text(r.get("prompt")), as_text(r["chosen"]), as_text(r["rejected"]))
        for i, r in enumerate(rows, 1)
        if r.get("chosen") is not None and r.get("rejected") is not None
    ]


def identical(found: Sequence[Pair]) -> Answer:
    """Pairs whose answers are the same teach nothing, and pull the margin to 0."""
    same = [pair.row for pair in found if pair.chosen.strip() == pair.rejected.strip()]
    empty = [pair.row for pair in found if not pair.chosen.strip()]
    if empty:
        return critical(
            f"the chosen answer is empty in {_of(empty, found)} (first: row {empty[0]}): training would teach to say "
            "nothing. Remove the rows.",
            rows=empty[:20],
        )
    if same:
        return warning(
            f"chosen and rejected are the same text in {_of(same, found)} (first: row {same[0]}): no gradient comes of "
            "them but noise. Remove the rows.",
            rows=same[:20],
        )
    return f"chosen and rejected differ in all {len(found)} pairs"


def duplicates(found: Sequence[Pair]) -> Answer:
    """The same pair again, and pairs that contradict each other."""
    seen: dict[tuple[str, str, str], int] = {}
    again, against = [], []
    for pair in found:
        key = (pair.prompt, pair.chosen, pair.rejected)
        if (pair.prompt, pair.rejected, pair.chosen) in seen and pair.chosen != pair.rejected:
            against.append(pair.row)
        elif key in seen:
            again.append(pair.row)
        seen.setdefault(key, pair.row)
    if against:
        first = next(p for p in found if p.row == against[0])
        return critical(
            f"{_of(against, found)} say the opposite of another pair (row {against[0]} against row "
            f"{seen[first.prompt, first.rejected, first.chosen]}): part of the data is swapped. Look at where it was merged.",
            rows=against[:20],
        )
    if again:
        return warning(f"{_of(again, found)} are there before (first: row {again[0]}). Remove them.", rows=again[:20])
    return "no pair is there twice"


def swapped(found: Sequence[Pair], rows: Sequence[Row], judge: Callable[[str, str], float] | None) -> Answer:
    """Is the answer under `chosen` the better one: by the scores beside it, or by a judge of the user's."""
    names = next((n for n in SCORES if n[0] in rows[0] and n[1] in rows[0]), None)
    if judge is not None:
        asked = found[:: max(1, len(found) // JUDGED)][:JUDGED]
        gaps = [judge(p.prompt, p.chosen) - judge(p.prompt, p.rejected) for p in asked]
        source = "the judge"
    elif names is not None:
        gaps = [_number(row.get(names[0])) - _number(row.get(names[1])) for row in rows]
        source = f"`{names[0]}` and `{names[1]}`"
    else:
        return NotMeasured(
            "nothing beside the pairs says which answer is better: give scores (score_chosen, score_rejected), or "
            "--judge module:function of (prompt, completion)"
        )
    decided = [gap for gap in gaps if gap == gap and gap != 0]
    if not decided:
        return NotMeasured(f"{source} give both answers the same")
    wrong = sum(gap < 0 for gap in decided)
    low, high = wilson(wrong, len(decided))
    interval = f"{percent(low)} to {percent(high)}"
    said = f"by {source} the rejected answer is the better one in {wrong} of {len(decided)} pairs ({interval})"
    if low > 0.5:
        return critical(f"{said}: chosen and rejected are swapped. Swap the columns.", share=wrong / len(decided))
    if low > 0.05:
        return warning(f"{said}. Look at these pairs, or drop the ones that are close.", share=wrong / len(decided))
    return said


def length_leak(found: Sequence[Pair]) -> Answer:
    """How often the longer answer is the chosen one: what DPO learns first is length."""
    lengths = [(len(p.chosen), len(p.rejected)) for p in found if len(p.chosen) != len(p.rejected)]
    if len(lengths) < 20:
        return NotMeasured(f"{len(lengths)} pairs of different length are too few")
    longer = sum(a > b for a, b in lengths)
    low, high = wilson(longer, len(lengths))
    chosen, rejected = (
        sorted(len(getattr(p, side)) for p in found)[len(found) // 2] for side in ("chosen", "rejected")
    )
    share = longer / len(lengths)
    said = (
        f"the chosen answer is the longer one in {percent(share)} ({percent(low)} to {percent(high)}), median "
        f"{number(chosen)} against {number(rejected)} characters"
    )
    if low > LEAKS:
        return warning(f"{said}: length alone tells them apart, and answers will grow. Balance lengths, or use a "
                       "length-normalised loss (SimPO, `ld_alpha`).", share=share)  # fmt: skip
    if high < 1 - LEAKS:
        return warning(f"{said}: length alone tells them apart, and answers will shrink. Balance lengths.", share=share)
    return said


def implicit_prompt(rows: Sequence[Row], found: Sequence[Pair]) -> Answer:
    """Chats that hold the prompt in both answers: they must begin alike."""
    if all(pair.prompt for pair in found):
        return NotApplicable("every pair has a prompt of its own")
    apart = [
        i
        for i, row in enumerate(rows, 1)
        if isinstance(row.get("chosen"), list)
        and isinstance(row.get("rejected"), list)
        and row["chosen"][:1] != row["rejected"][:1]
    ]
    if apart:
        return critical(
            f"chosen and rejected begin with different turns in {_of(apart, found)} (first: row {apart[0]}): they answer "
            "different prompts. Pair them by prompt again.",
            rows=apart[:20],
        )
    if not any(isinstance(row.get("chosen"), list) for row in rows):
        return warning("the pairs have no prompt: the loss covers everything. Name the column `prompt`.")
    return notice("the prompt is the part that both chats share; the trainer has to take it out (TRL does).")


def _of(rows: Sequence[int], found: Sequence[Pair]) -> str:
    return f"{len(rows)} of {len(found)} pairs"


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]  # anything that a file may hold
    except (TypeError, ValueError):
        return float("nan")
