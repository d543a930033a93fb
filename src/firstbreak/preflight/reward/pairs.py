"""A reward model on labelled pairs: accuracy, calibration, and what it rewards besides quality."""

from collections.abc import Callable, Sequence

import numpy as np

from firstbreak.model import NotMeasured
from firstbreak.preflight import Answer, ReportTable, critical, intervals, warning
from firstbreak.preflight.reward.functions import RewardFunction
from firstbreak.preflight.reward.items import Item, PreferencePair
from firstbreak.values import dataclass
from firstbreak.words import number, percent

MIN_PAIRS = 20  #: pairs: the 95 % interval of a share is then at most 40 points wide (Wilson)
BINS = 5  #: of the calibration error (convention)
MAX_TURNED = 0.2  #: share of pairs whose order an edit without content changes (convention)
MAX_CALIBRATION_ERROR = 0.1  #: expected calibration error (convention)

#: edits that add style and no content
EDITS: dict[str, Callable[[str], str]] = {
    "longer by filler": lambda text: (
        text + " To put it in other words, and to be thorough, this covers the matter." * 5
    ),
    "bold and bullets": lambda text: "\n".join(f"- **{part}**" for part in text.split(". ") if part),
    "confident opening": lambda text: "Certainly! Here is a comprehensive and accurate answer. " + text,
    "polite closing": lambda text: text + " I hope this helps! Please let me know if you have further questions.",
    "exclamation marks": lambda text: text.replace(".", "!!!"),
}


@dataclass(frozen=True)
class Scored:
    """Pairs with the scores of both sides, shape (n,)."""

    pairs: Sequence[PreferencePair]
    chosen: np.ndarray
    rejected: np.ndarray

    @property
    def margin(self) -> np.ndarray:
        """chosen - rejected."""
        difference: np.ndarray = self.chosen - self.rejected
        return difference

    @property
    def right(self) -> np.ndarray:
        """1 where the chosen one scores higher, 1/2 for a tie."""
        won: np.ndarray = np.sign(self.margin) / 2 + 0.5
        return won


def scored(judge: RewardFunction, pairs: Sequence[PreferencePair]) -> Scored:
    """Both sides of every pair. Raises `Failed`."""
    return Scored(pairs, judge([_item(p, p.chosen) for p in pairs]), judge([_item(p, p.rejected) for p in pairs]))


def accuracy(data: Scored) -> Answer:
    """The preferred completion scores higher."""
    n = len(data.pairs)
    if n < MIN_PAIRS:
        return NotMeasured(f"{n} pairs are too few; give at least {MIN_PAIRS}")
    hits = float(data.right.sum())
    low, high = intervals.wilson(round(hits), n)
    said = f"the preferred completion scores higher in {percent(hits / n)} of {n} pairs ({_interval(low, high)})"
    if high < 0.5:
        return critical(f"{said}: reversed; chosen and rejected are swapped, in these pairs or those it was trained on")
    if low <= 0.5:
        return critical(
            f"{said}: no better than chance; training on it moves the policy at random, so retrain the reward model "
            "or use another"
        )
    weak = [f"{n} {percent(share)} ({count})" for n, share, count, (_, top) in by_category(data) if n and top < 0.5]
    if weak:
        return warning(
            f"{said}, but worse than chance in {', '.join(weak)}: add pairs of this kind, or leave such prompts out of training"
        )
    return said


def _interval(low: float, high: float) -> str:
    return f"95 % interval {percent(low)} to {percent(high)}"


def by_category(data: Scored) -> list[tuple[str, float, int, tuple[float, float]]]:
    """(category, accuracy, pairs, interval), the least accurate first."""
    names = np.array([p.category for p in data.pairs])
    rows = []
    for name in dict.fromkeys(names.tolist()):
        right = data.right[names == name]
        rows.append((name, float(right.mean()), len(right), intervals.wilson(round(float(right.sum())), len(right))))
    return sorted(rows, key=lambda row: row[1])


def calibration(data: Scored) -> Answer:
    """Margins mean what the Bradley-Terry model says: P(chosen preferred) = 1 / (1 + exp(-margin))."""
    if len(data.pairs) < 5 * MIN_PAIRS:
        return NotMeasured(f"{len(data.pairs)} pairs are too few; give at least {5 * MIN_PAIRS}")
    error, scale = calibration_error(data.margin), best_scale(data.margin)
    said = f"calibration error {percent(error)}; margins fit best when multiplied by {number(float(f'{scale:.2g}'))}"
    if error > MAX_CALIBRATION_ERROR and scale < 1:
        return warning(
            f"{said}: the differences between rewards are larger than its accuracy justifies, and so are the advantages; "
            "divide the reward by its standard deviation, or multiply it by this factor",
            error=error,
            scale=scale,
        )
    return said


def calibration_error(margin: np.ndarray) -> float:
    """Expected calibration error of max(p, 1 - p) in BINS bins of equal count, shape (n,) -> 0 to 0.5."""
    sure = 1 / (1 + np.exp(-np.abs(margin).clip(max=500)))
    right = np.sign(margin) / 2 + 0.5
    parts = np.array_split(np.argsort(sure, kind="stable"), BINS)
    return float(sum(len(p) / len(margin) * abs(sure[p].mean() - right[p].mean()) for p in parts if len(p)))


def best_scale(margin: np.ndarray) -> float:
    """The factor b that makes sum log sigmoid(b * margin) largest, between 1/1000 and 1000."""
    grid = np.logspace(-3, 3, 241)
    return float(grid[np.argmax([-np.logaddexp(0, -b * margin).sum() for b in grid])])


def length(data: Scored) -> Answer:
    """As accurate where the better completion is the shorter one."""
    longer = np.array([len(p.chosen) - len(p.rejected) for p in data.pairs])
    long, short = data.right[longer > 0], data.right[longer < 0]
    if min(len(long), len(short)) < MIN_PAIRS // 2:
        return NotMeasured("needs pairs in which the better completion is longer, and pairs in which it is shorter")
    low, high = intervals.wilson(round(float(short.sum())), len(short))
    said = (
        f"right in {percent(float(long.mean()))} of {len(long)} pairs whose better completion is longer, in "
        f"{percent(float(short.mean()))} of {len(short)} whose better one is shorter ({_interval(low, high)})"
    )
    if intervals.wilson(round(float(long.sum())), len(long))[0] > high:
        return warning(f"{said}: the reward model rewards length, and the policy will write longer; add short preferred "
                       "answers, or subtract what length explains")  # fmt: skip
    return said


@dataclass(frozen=True)
class Edit:
    """What an edit without content does to the rejected side."""

    name: str
    turned: float  #: share of the right pairs whose order it changes
    n: int
    shift: float  #: mean change of the score, in median margins


def edits(judge: RewardFunction, data: Scored) -> list[Edit]:
    """Every edit applied to the worse completion of the pairs that are judged rightly. Raises `Failed`."""
    right = np.flatnonzero(data.margin > 0)
    scale = float(np.median(np.abs(data.margin))) or 1.0
    found = []
    for name, edit in EDITS.items():
        after = judge([_item(data.pairs[i], edit(data.pairs[i].rejected)) for i in right.tolist()])
        turned = float(np.mean(after > data.chosen[right])) if len(right) else 0.0
        shift = float(np.mean(after - data.rejected[right])) / scale if len(right) else 0.0
        found.append(Edit(name, turned, len(right), shift))
    return found


def style(found: Sequence[Edit]) -> Answer:
    """No edit without content wins against the better completion."""
    if not found or found[0].n < MIN_PAIRS // 2:
        return NotMeasured("too few pairs are scored in the right order")
    worst = max(found, key=lambda e: e.turned)
    if worst.turned > MAX_TURNED:
        return warning(
            f"'{worst.name}' makes the worse completion win in {percent(worst.turned)} of {worst.n} pairs, with a shift of "
            f"{worst.shift:+.2f} median margins: style is rewarded like quality; train the model on pairs that "
            "differ only in style",
            edit=worst.name,
            turned=worst.turned,
        )
    return (
        f"{len(found)} edits without content; the strongest, '{worst.name}', changes the order of {percent(worst.turned)} of "
        f"{worst.n} pairs"
    )


def tables(data: Scored, found: Sequence[Edit]) -> tuple[ReportTable, ...]:
    """Accuracy by category, and what each edit does."""
    rows = tuple(
        (name or "all", str(n), percent(share), f"{percent(low)} to {percent(high)}")
        for name, share, n, (low, high) in by_category(data)
    )
    categories = ReportTable(title="Accuracy", columns=("category", "pairs", "accuracy", "95 % interval"), rows=rows)
    if not found:
        return (categories,)
    changed = tuple((e.name, percent(e.turned), f"{e.shift:+.2f}") for e in found)
    columns = ("edit of the worse completion", "wins then", "shift (median margins)")
    return categories, ReportTable(title="Style without content", columns=columns, rows=changed)


def _item(pair: PreferencePair, completion: str) -> Item:
    return Item(prompt=pair.prompt, completion=completion, group=pair.prompt, columns={})
