"""Preference pairs: is the better answer really under `chosen`, and does more than its length distinguish it?"""

from collections.abc import Callable, Sequence

from firstbreak.model import NotApplicable, NotMeasured
from firstbreak.preflight import Answer, critical, notice, warning
from firstbreak.preflight.data.rows import Row
from firstbreak.preflight.intervals import wilson
from firstbreak.readers._samples import as_text
from firstbreak.values import dataclass
from firstbreak.words import number, percent

#: share of pairs in which the longer (or shorter) answer is chosen; its interval lies above (convention)
MAX_PREDICTED = 0.6
MAX_JUDGED = 200  #: pairs that are given to a judge (convention)
SCORES = (("score_chosen", "score_rejected"), ("chosen_score", "rejected_score"), ("chosen_rating", "rejected_rating"),
          ("chosen_reward", "rejected_reward"))  # fmt: skip


@dataclass(frozen=True)
class TextPair:
    """One pair as text; `row` is its number, from 1."""

    row: int
    prompt: str
    chosen: str
    rejected: str


def pairs(rows: Sequence[Row]) -> list[TextPair]:
    """The rows that hold `chosen` and `rejected`, as text."""
    return [
        TextPair(i, as_text(r.get("prompt")), as_text(r["chosen"]), as_text(r["rejected"]))
        for i, r in enumerate(rows, 1)
        if r.get("chosen") is not None and r.get("rejected") is not None
    ]


def identical(found: Sequence[TextPair]) -> Answer:
    """Pairs with two equal answers teach nothing, and reduce the margin."""
    same = [pair.row for pair in found if pair.chosen.strip() == pair.rejected.strip()]
    empty = [pair.row for pair in found if not pair.chosen.strip()]
    if empty:
        return critical(
            f"the chosen answer is empty in {_of(empty, found)} (first: row {empty[0]}): training would teach "
            "empty answers. Remove the rows.",
            rows=empty[:20],
        )
    if same:
        return warning(
            f"chosen and rejected are the same text in {_of(same, found)} (first: row {same[0]}): their gradient is "
            "only noise. Remove the rows.",
            rows=same[:20],
        )
    return f"chosen and rejected differ in all {len(found)} pairs"


def duplicates(found: Sequence[TextPair]) -> Answer:
    """Repeated pairs, and pairs that contradict each other."""
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
            f"{_of(against, found)} are the opposite of another pair (row {against[0]} against row "
            f"{seen[first.prompt, first.rejected, first.chosen]}): part of the data is swapped. Check where the data was merged.",
            rows=against[:20],
        )
    if again:
        return warning(f"{_of(again, found)} are repeated (first: row {again[0]}). Remove repeats.", rows=again[:20])
    return "no pair is repeated"


def swapped(found: Sequence[TextPair], rows: Sequence[Row], judge: Callable[[str, str], float] | None) -> Answer:
    """Is the answer under `chosen` the better one: according to the scores in the data, or to a judge of the user."""
    names = next((n for n in SCORES if n[0] in rows[0] and n[1] in rows[0]), None)
    if judge is not None:
        asked = found[:: max(1, len(found) // MAX_JUDGED)][:MAX_JUDGED]
        gaps = [judge(p.prompt, p.chosen) - judge(p.prompt, p.rejected) for p in asked]
        source = "the judge"
    elif names is not None:
        gaps = [_number(row.get(names[0])) - _number(row.get(names[1])) for row in rows]
        source = f"`{names[0]}` and `{names[1]}`"
    else:
        return NotMeasured(
            "the data does not say which answer is better: give scores (score_chosen, score_rejected), or --judge "
            "module:function of (prompt, completion)"
        )
    decided = [gap for gap in gaps if gap == gap and gap != 0]
    if not decided:
        return NotMeasured(f"{source} are equal for both answers")
    wrong = sum(gap < 0 for gap in decided)
    low, high = wilson(wrong, len(decided))
    interval = f"{percent(low)} to {percent(high)}"
    said = f"by {source} the rejected answer is the better one in {wrong} of {len(decided)} pairs ({interval})"
    if low > 0.5:
        return critical(f"{said}: chosen and rejected are swapped. Swap the columns.", share=wrong / len(decided))
    if low > 0.05:
        return warning(f"{said}. Read these pairs, or remove those with close scores.", share=wrong / len(decided))
    return said


def length_leak(found: Sequence[TextPair]) -> Answer:
    """How often the longer answer is the chosen one: DPO learns length first."""
    lengths = [(len(p.chosen), len(p.rejected)) for p in found if len(p.chosen) != len(p.rejected)]
    if len(lengths) < 20:
        return NotMeasured(f"{len(lengths)} pairs of different length are too few")
    longer = sum(a > b for a, b in lengths)
    low, high = wilson(longer, len(lengths))
    chosen, rejected = (sorted(len(getattr(p, s)) for p in found)[len(found) // 2] for s in ("chosen", "rejected"))
    share = longer / len(lengths)
    said = (
        f"the chosen answer is the longer one in {percent(share)} ({percent(low)} to {percent(high)}), median "
        f"{number(chosen)} against {number(rejected)} characters"
    )
    if low > MAX_PREDICTED:
        return warning(f"{said}: length alone predicts the choice, and answers will get longer. Balance lengths, or use a "
                       "length-normalised loss (SimPO, `ld_alpha`).", share=share)  # fmt: skip
    if high < 1 - MAX_PREDICTED:
        return warning(f"{said}: length alone predicts the choice; answers will shorten. Balance lengths.", share=share)
    return said


def implicit_prompt(rows: Sequence[Row], found: Sequence[TextPair]) -> Answer:
    """Chats that have the prompt in both answers: both must begin with the same turns."""
    if all(pair.prompt for pair in found):
        return NotApplicable("the prompt has a column of its own")
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
            "different prompts. Match the answers by prompt again.",
            rows=apart[:20],
        )
    if not any(isinstance(row.get("chosen"), list) for row in rows):
        return warning("the pairs have no prompt: the loss covers the whole text. Name the column `prompt`.")
    return notice("the prompt is the part that both chats share; the trainer must remove it from the loss (TRL does).")


def _of(rows: Sequence[int], found: Sequence[TextPair]) -> str:
    return f"{len(rows)} of {len(found)} pairs"


def _number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]  # anything that a file may hold
    except (TypeError, ValueError):
        return float("nan")
