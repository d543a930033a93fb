"""The rewards of the given samples: their shape, their direction, and how much signal a group of them carries."""

import math
from collections import defaultdict
from collections.abc import Sequence

import numpy as np

from firstbreak.model import Interval, NotApplicable, NotMeasured
from firstbreak.preflight import Answer, critical, intervals, warning
from firstbreak.preflight.reward.items import Item
from firstbreak.preflight.reward.references import answered
from firstbreak.words import number, percent

MIN_SAMPLES = 20  #: samples: fewer show no distribution (convention)
NEARLY_ALL = 0.95  #: share of samples with one reward (convention)
TAIL_SHARE = 0.5  #: share of all deviation from the median that the largest 1 % have (convention)
FEW, FEW_HOLD = 0.05, 0.8  #: so few samples, which have so much of the deviation, are a tail as well (convention)
#: deviation of the farthest sample by that of the next farther ones, where there are few values (convention)
TAIL_RATIO = 20.0
MAX_REWARD = 1000.0  #: typical size of a reward: values and gradients of this size leave the range of usual settings (convention)
MAX_LENGTH = 0.4  #: rank correlation with length, lower end of its interval (convention)
MIN_GROUPS = 0.2  #: share of groups with different rewards: with fewer, most of a batch has no gradient (convention)
MIN_CORRELATION = 0.3  #: rank correlation with human scores: less is a weak agreement (convention)


def finite(rewards: np.ndarray) -> Answer:
    """Every sample gets a number."""
    bad = int(np.sum(~np.isfinite(rewards)))
    if bad:
        return critical(
            f"{bad} of {len(rewards)} rewards ({percent(bad / len(rewards))}) are None, NaN or infinite: TRL ignores such a "
            "sample, and other trainers turn every advantage of its group into NaN; return a number for every completion",
            share=bad / len(rewards),
        )
    return f"{len(rewards)} rewards, all finite"


def shape(rewards: np.ndarray) -> Answer:
    """Rewards are not all equal, and a few samples do not decide every update."""
    values = rewards[np.isfinite(rewards)]
    if len(values) < MIN_SAMPLES:
        return NotMeasured(f"{len(values)} samples are too few; give at least {MIN_SAMPLES}")
    found, counts = np.unique(values, return_counts=True)
    distinct, common, share = len(found), float(found[np.argmax(counts)]), counts.max() / len(values)
    at = number(common)
    if share >= NEARLY_ALL:
        if common == values.max() and common > values.min():
            return critical(
                f"almost all rewards are {at}, the highest ({percent(share)} of {len(values)}): the reward accepts too much, or "
                "the prompts are too easy; make the task harder, or score its parts"
            )
        if distinct == 1 and common > 0:
            return critical(
                f"all {len(values)} rewards are {at}: the reward cannot separate good from bad; read ten completions and "
                "score them by hand"
            )
        return critical(
            f"almost all rewards are {at} ({percent(share)} of {len(values)}): too sparse, so most updates have no gradient; "
            "give partial rewards, start with easier prompts, or fine-tune on solutions first"
        )
    deviation = np.sort(np.abs(values - np.median(values)))[::-1]
    top = max(1, math.ceil(len(values) / 100))
    held = float(deviation[:top].sum() / deviation.sum())
    farthest = float(values[np.argmax(np.abs(values - np.median(values)))])
    # of a few values the rarest holds much of the deviation, which is usual: 0, 0.1 for the form, 1 for the answer
    nearer = deviation[deviation < 0.5 * deviation[0]].max(initial=0.0)
    apart = distinct > 3 or deviation[0] > TAIL_RATIO * nearer > 0
    few = max(top, math.ceil(len(values) * FEW))
    middle = float(np.median(deviation))  # 0 where most rewards are equal: then they are sparse, and no tail
    if held <= TAIL_SHARE and deviation[0] > TAIL_RATIO * middle > 0:
        top, held = few, float(deviation[:few].sum() / deviation.sum())
        apart = held > FEW_HOLD
    if held > TAIL_SHARE and apart:
        return warning(
            f"a long tail: {top} of {len(values)} samples hold {percent(held)} of all deviation from the median, the farthest "
            f"is {number(farthest)}: a few samples decide every update; clip or normalise the reward",
            held=held,
        )
    return f"mean {number(float(values.mean()))}, {distinct} distinct values, the most common one in {percent(share)}"


def scale(rewards: np.ndarray) -> Answer:
    """Rewards of a usual size."""
    values = rewards[np.isfinite(rewards)]
    if len(values) < MIN_SAMPLES:
        return NotMeasured(f"{len(values)} samples are too few; give at least {MIN_SAMPLES}")
    typical = float(np.quantile(np.abs(values), 0.75))
    if typical > MAX_REWARD:
        return warning(
            f"a quarter of the rewards is larger than {number(typical)}: advantages, value targets and their gradients take this "
            "scale unless they are normalised, and a KL penalty beside it counts nothing; divide the reward by a constant",
            typical=typical,
        )
    return f"three quarters of the rewards are no larger than {number(typical)}"


def density(items: Sequence[Item], rewards: np.ndarray, group_size: int) -> Answer:
    """The share of groups of the planned size in which rewards differ: the others have no gradient in GRPO."""
    groups: dict[str, list[float]] = defaultdict(list)
    for item, reward in zip(items, rewards, strict=True):
        if np.isfinite(reward):
            groups[item.group].append(float(reward))
    several = [np.array(values) for values in groups.values() if len(values) > 1]
    if not several:
        return NotMeasured("no prompt has several completions; give several for each prompt")
    share = float(np.mean([with_signal(values, group_size) for values in several]))
    said = (
        f"{percent(share)} of groups of {group_size} have different rewards, estimated from {len(several)} prompts with "
        f"{number(float(np.mean([len(v) for v in several])))} completions each"
    )
    if share < MIN_GROUPS:
        return warning(
            f"{said}: the others have zero variance and no gradient; filter prompts that are always or never solved, raise the "
            "group size, or give partial rewards",
            share=share,
        )
    return said


def with_signal(values: np.ndarray, size: int) -> float:
    """Probability that `size` completions of this prompt, drawn from these rewards (n,), do not all get the same.

    Drawn without replacement where there are enough, which makes the estimate unbiased; else with replacement.
    """
    counts, n = np.unique(values, return_counts=True)[1], len(values)
    if n >= size:
        return float(1 - sum(math.comb(int(c), size) for c in counts) / math.comb(n, size))
    return float(1 - np.sum((counts / n) ** size))


def human(items: Sequence[Item], rewards: np.ndarray) -> Answer:
    """The reward agrees with what people say."""
    rows = [(i.human, r) for i, r in zip(items, rewards, strict=True) if i.human is not None and np.isfinite(r)]
    if len(rows) < MIN_SAMPLES:
        some = f"{len(rows)} samples have" if rows else "no sample has"
        return NotMeasured(f"{some} a human score; score {MIN_SAMPLES} by hand and give them as --column human=NAME")
    people, scores = np.array(rows).T
    if np.ptp(people) == 0 or np.ptp(scores) == 0:
        return NotMeasured("the scores of people, or the rewards, are all the same")
    rho, (low, high) = correlation(people, scores)
    said = f"rank correlation {rho:.2f} with {len(rows)} human scores (95 % interval {low:.2f} to {high:.2f})"
    if high < 0:
        return critical(
            f"{said}: the sign is reversed, and good completions are punished; check the sign and the order of the rows"
        )
    if low <= 0 or rho < MIN_CORRELATION:
        return critical(
            f"{said}: the reward does not measure what people want, and training moves away from that; rewrite the reward, or "
            "calibrate it on the human scores",
            rho=rho,
        )
    return said


def length(items: Sequence[Item], rewards: np.ndarray) -> Answer:
    """The reward does not rise with length."""
    keep = np.isfinite(rewards)
    lengths = np.array([len(item.completion) for item in items], float)[keep]
    scores = rewards[keep]
    if len(scores) < MIN_SAMPLES or np.ptp(lengths) == 0 or np.ptp(scores) == 0:
        return NotMeasured("needs samples whose lengths and rewards differ")
    rho, (low, high) = correlation(lengths, scores)
    said = f"rank correlation {rho:+.2f} with length (95 % interval {low:+.2f} to {high:+.2f})"
    if low > MAX_LENGTH and (alike := _of_equal_answers(items, lengths, rewards, keep)) is not None and alike[0] <= 0:
        return f"{said}: right answers are longer than wrong ones, and among these length does not pay"
    if low > MAX_LENGTH:
        return warning(
            f"{said}: longer completions get a higher reward, and a policy learns that first; compare the lengths of right and "
            "wrong answers, then remove length from the reward",
            rho=rho,
        )
    return said


def _of_equal_answers(
    items: Sequence[Item], lengths: np.ndarray, rewards: np.ndarray, keep: np.ndarray
) -> Interval | None:
    """The interval of the correlation among right and among wrong answers; None where too few can be told apart."""
    pairs = [answered(item) for item, kept in zip(items, keep, strict=True) if kept]
    known = np.array([bool(reference) for _, reference in pairs])
    right = np.array([said == reference for said, reference in pairs])
    if (known & right).sum() < MIN_SAMPLES or (known & ~right).sum() < MIN_SAMPLES:
        return None
    x, y = ranks(lengths), ranks(rewards[keep])
    for side in (known & right, known & ~right):
        x[side], y[side] = x[side] - x[side].mean(), y[side] - y[side].mean()
    if np.ptp(x[known]) == 0 or np.ptp(y[known]) == 0:
        return 0.0, 0.0
    return correlation(x[known], y[known])[1]


def correlation(x: np.ndarray, y: np.ndarray) -> tuple[float, Interval]:
    """Spearman's rank correlation of two arrays (n,) and its 95 % bootstrap interval."""
    a, b = ranks(x), ranks(y)
    draws = intervals.resamples(len(a))
    u, v = a[draws], b[draws]
    u, v = u - u.mean(axis=1, keepdims=True), v - v.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        rhos = (u * v).sum(axis=1) / np.sqrt((u**2).sum(axis=1) * (v**2).sum(axis=1))
    return float(np.corrcoef(a, b)[0, 1]), intervals.percentile(rhos[np.isfinite(rhos)])


def ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, ties sharing their mean."""
    _, place, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return (ends - (counts - 1) / 2)[place]


def direction(items: Sequence[Item], rewards: np.ndarray) -> Answer:
    """Rewards of both signs mean something: positive for what people call good."""
    values = rewards[np.isfinite(rewards)]
    if not (values < 0).any() or not (values > 0).any():
        return NotApplicable("all rewards have one sign")
    pairs = zip(items, rewards, strict=True)
    rows = [(i.human, r) for i, r in pairs if i.human is not None and np.isfinite(r) and r != 0]
    if len(rows) < MIN_SAMPLES:
        return NotMeasured("rewards have both signs; human scores would show whether the sign separates good from bad")
    people, scores = np.array(rows).T
    good = people > np.median(people)
    confused = float(np.mean((scores > 0) != good))
    if confused > 0.35:
        return warning(
            f"sign confusion: {percent(confused)} of {len(rows)} rewards have the sign that the human score does not (above or "
            "below its median); read some of each and define what a negative reward means"
        )
    return f"the sign agrees with people's scores in {percent(1 - confused)}"
