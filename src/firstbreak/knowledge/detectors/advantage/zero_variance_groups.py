"""Zero-variance groups carry no training signal.

Looks for: The share of prompt groups whose completions all got the same reward: its mean over the second half of the
run, and the step from which it stays above `share_warning`. Where only the spread within groups is logged, a spread of
exactly 0 counts as such a step. Whether these groups are right or wrong follows from the mean reward: with a mean m,
where rewards go from 0 to 1, at most 1 - m of the groups are all wrong; so does the part of the reward that checks the
answer. Also normalised advantages that lose their spread although fewer groups than that are equal; and prompts of which
some are answered rightly and others not, in groups that never differ: their completions are copies of each other.
Why: A group-relative advantage is the reward minus the mean of the group. Where all rewards of a group are equal, the
advantage is 0 and the group adds nothing to the gradient. The batch becomes smaller, and no message says so.
False alarm: The task is solved: all answers are right, and the score is at its highest possible value. While the score
rises, the groups that are left are enough: then compute is wasted, but nothing is broken. Dynamic sampling drops such
groups on purpose; then the share counts what was dropped, not what was trained on.
Fix:
- All wrong: easier prompts, a longer {max_new_tokens}, partial credit, or supervised warm-up first.
- All right: harder prompts.
- Copies: a {temperature} above 0, no top_k of 1, and random numbers of its own for each completion.
- Raise {group_size}: with success rate p, a share p^G + (1-p)^G of the groups has zero variance.
- Filter such groups ({dynamic_sampling}).
Experiment: Sample one batch of prompts with four times the group size. If the share does not fall, the reward cannot
tell the completions apart. If the share falls, the groups are too small.
References: https://arxiv.org/abs/2503.14476 https://github.com/huggingface/trl/issues/3857
"""

import enum

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, from_point, graded, seen_since, warning
from firstbreak.engine.stats.changes import turned
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import median, quantile
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.words import number, percent

MORE_THAN_ALL = 1.5  #: groups of each: what is logged then is a number, and no share (convention)
ALL = 0.99  #: share of the groups of every batch: where anything is sampled, some group differs (convention)
MIXED = 0.1  #: share of right answers, and of wrong ones: groups of prompts that are known or beyond reach are equal (convention)


class Place(enum.Enum):
    """What most answers in zero-variance groups are, as far as the mean reward shows."""

    RIGHT = enum.auto()
    WRONG = enum.auto()
    COPIES = (
        enum.auto()
    )  #: the completions of a prompt are one text: prompts differ in their rewards, and groups never do
    ALIKE = enum.auto()  #: one reward for a whole batch, neither the lowest nor the highest that was given before
    UNKNOWN = enum.auto()


ADVICE = {
    Place.RIGHT: "use harder prompts: in most of these groups all answers are right",
    Place.WRONG: "use easier prompts, or check the verifier: in most of these groups all answers are wrong",
    Place.COPIES: "sample the completions of a prompt apart, with a temperature above 0, no top_k of 1 and random numbers of "
    "their own: some prompts are answered rightly by all of them and the others by none",
    Place.ALIKE: "print the rewards of one batch and their parts: all completions get about the same, and others got more and "
    "less before",
    Place.UNKNOWN: "check whether the answers of these groups are all right or all wrong, then change the prompts or the "
    "group size",
}


def detect(
    zero_variance_groups: Series,
    reward_mean: Series | None = None,
    reward_min: Series | None = None,
    reward_max: Series | None = None,
    solved: bool | None = None,
    trajectory: Trajectory | None = None,
    advantage_std: Series | None = None,
    truth: Series | None = None,
    answer_parts: dict[str, Series] | None = None,
    *,
    share_warning: float = at(0.5, "share", "With fewer such groups, most of the batch still teaches something."),
    share_critical: float = at(0.8, "share", "From here on, less than a fifth of the batch is left to learn from."),
    normal: float = at(0.5, "standard deviations", "Normalised advantages have about 1, less where groups are equal."),
    faded: float = at(0.2, "standard deviations", "Nine groups in ten would have to be equal."),
    unpaid: float = at(0.9, "share", "Of the batches at the lowest reward, from the start: the reward is what fails."),
    min_points: int = at(8, "points", "With fewer points, the finding has low confidence."),
) -> Finding | Expected | NotMeasured | None:
    if len(zero_variance_groups.finite) and quantile(zero_variance_groups.finite.values, 0.9) > MORE_THAN_ALL:
        return NotMeasured("a number of groups is logged, and not the share")
    late = zero_variance_groups.tail(0.5).finite
    share = float(np.mean(late.values)) if len(late) else 0.0
    began = turned(zero_variance_groups.finite.values >= share_warning)
    if began is not None:
        late = zero_variance_groups.finite.between(float(zero_variance_groups.finite.steps[began]))
        share = float(np.mean(late.values))
    equal = zero_variance_groups.finite
    if advantage_std is not None and not solved and (gone := _faded(advantage_std.finite, equal, normal, faded)):
        return gone
    if share < share_warning:
        return None
    if solved:
        return Expected(f"{percent(share)} of the groups have equal rewards because the score is at its highest value")
    onset = first_sustained(zero_variance_groups, lambda values: values >= share_warning)
    few = len(zero_variance_groups) < min_points
    learns = trajectory is not None and trajectory.learned and not trajectory.lost
    severity = Severity.CRITICAL if share >= share_critical else Severity.WARNING
    place = _place(share, float(late.steps[0]), reward_mean, reward_min, reward_max)
    if place is Place.UNKNOWN and any(
        _place(share, float(late.steps[0]), part, None, None) is Place.RIGHT for part in (answer_parts or {}).values()
    ):
        place = Place.RIGHT
    right = 0.0 if truth is None else median(truth.tail(0.25).finite.values)
    if learns and place is Place.UNKNOWN and 1 - MIXED / 2 <= right <= 1:
        place = Place.RIGHT
    if len(equal) >= min_points and equal.values.min() > ALL and _mixed(reward_mean):
        place, learns = Place.COPIES, False
    if (
        place is Place.WRONG
        and onset is not None
        and onset <= equal.steps[0]
        and _unpaid(reward_mean, reward_min, unpaid)
    ):
        return Expected("in nearly all groups the rewards are equal because nothing is ever rewarded")
    if learns or place is Place.RIGHT:  # wasteful, but enough groups are left, or little is left to learn
        wasteful = share >= share_critical or began is not None
        severity = Severity.WARNING if wasteful and place is not Place.RIGHT else Severity.NOTICE
    stuck = trajectory is not None and trajectory.kind == "flat"
    sure = share >= share_critical or began is not None or stuck
    confidence = Confidence.LOW if few else Confidence.HIGH if sure else Confidence.MEDIUM
    said = f"zero-variance groups, {number(share)} on average in the second half"
    return graded(
        severity,
        "in {share:%} of the groups all rewards are equal, so these groups teach nothing; {advice}",
        seen_since(zero_variance_groups, said, onset, level=share_critical, beside={"mean reward": reward_mean}),
        share=facts.mean(equal if onset is None else equal.between(onset)),
        advice=_common(equal, reward_mean, min_points) or ADVICE[place] if place is Place.UNKNOWN else ADVICE[place],
        confidence=confidence,
        numbers={"share": share},
    )


def _common(equal: Series, reward: Series | None, min_points: int) -> str:
    """The one reward that most batches of equal groups have: which answers these are. Empty where they have several."""
    if reward is None:
        return ""
    _, rows, same = np.intersect1d(equal.steps, reward.finite.steps, return_indices=True)
    paid = reward.finite.values[same][equal.values[rows] > ALL]
    if len(paid) < min_points:
        return ""
    values, counts = np.unique(np.round(paid, 6), return_counts=True)
    most = int(np.argmax(counts))
    if counts[most] <= len(paid) / 2:
        return ""
    told = f"in {counts[most]} of {len(paid)} such steps every reward is {number(values[most])}"
    return f"{told}: print these completions, and change the prompts, the reward or the group size"


def _unpaid(reward: Series | None, lowest: Series | None, share: float) -> bool:
    """Whether nearly all batches from the first one on have the lowest reward there is, of which 0 is the highest."""
    values = reward.finite.values if reward is not None else np.zeros(0)
    least = min([0.0, *values, *(lowest.finite.values if lowest is not None else ())])
    return len(values) > 0 and float(np.mean(values == least)) >= share


def _faded(spread: Series, equal: Series, normal: float, faded: float) -> Finding | None:
    """Normalised advantages that lost their spread: where a share z of the groups is equal, sqrt(1 - z) is left."""
    first = turned(spread.values <= faded)
    if first is None or median(spread.values[:first]) < normal:
        return None
    since = float(spread.steps[first])
    left = equal.between(since)
    share = median(left.values) if len(left) else 0.0
    if median(spread.values[first:]) > 0.5 * (1 - share) ** 0.5:
        return None  # so many groups are equal
    return warning(
        "the standard deviation of the advantages was {before} and is {now} since {since}: the rewards within groups hardly "
        "differ any more, or the advantages are divided by something large; print the rewards of one group",
        seen_since(spread, "spread of the advantages", *from_point(spread, first)),
        before=facts.median(spread.between(-np.inf, float(spread.steps[first - 1]))),
        now=facts.median(spread.between(since)),
        since=facts.at(spread, since),
    )


def _mixed(mean: Series | None) -> bool:
    """Whether many answers are right and many are wrong, in every batch."""
    values = mean.finite.values if mean is not None else np.zeros(0)
    return len(values) > 0 and float(values.min()) >= MIXED and float(values.max()) <= 1 - MIXED


def _place(share: float, since: float, mean: Series | None, lowest: Series | None, highest: Series | None) -> Place:
    """What most of a share of equal groups are. With a mean reward m in a range from 0 to 1, at most 1 - m are all wrong."""
    if mean is None or not len(rewards := mean.finite.between(since)):
        return Place.UNKNOWN
    low, high = (
        (0.0, 1.0)
        if lowest is None or highest is None or not min(len(lowest.finite), len(highest.finite))
        else (float(lowest.finite.values.min()), float(highest.finite.values.max()))
    )
    if lowest is not None and highest is not None and low < high:
        batch = median(highest.finite.between(since).values) - median(lowest.finite.between(since).values)
        middle = low + MIXED * (high - low) < median(rewards.values) < high - MIXED * (high - low)
        if middle and batch <= MIXED * (high - low):
            return Place.ALIKE
    if high <= low or mean.finite.values.min() < low or mean.finite.values.max() > high:
        return Place.UNKNOWN
    right = (float(np.mean(rewards.values)) - low) / (high - low)
    if 1 - right <= share / 2:
        return Place.RIGHT
    return Place.WRONG if right <= share / 2 else Place.UNKNOWN
