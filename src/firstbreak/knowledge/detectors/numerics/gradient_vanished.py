"""The gradient has shrunk to nothing although the task is not solved.

Looks for: The gradient norm over the last quarter: exactly 0 in most updates, or a share of `max_share` of its own
early level. Where it fell at one step, and the score neither rises nor falls since, `sudden_share` is
enough. An update in which
all groups were zero-variance groups has no gradient by construction. Such updates are left out, if others are left.
Why: Without a gradient the remaining steps cost compute and change nothing. Either the training signal no longer
separates good from bad, or it no longer reaches the weights.
False alarm: The task is solved: all groups are right, and nothing is left to learn. A log that prints four decimals
shows small norms as 0.
Fix:
- Group-relative methods: check the share of zero-variance groups first. With equal rewards the advantage is 0.
- Check the spread of the advantages: if advantages differ and there is no gradient, a mask or a detached loss is the
  reason.
- Check that the trainable parameters (adapters) are in the graph and in the optimizer.
Experiment: One update on one batch with hand-made advantages of +1 and -1: if the gradient is still 0, it is cut off
from the loss. If the gradient is not 0, the advantages were empty.
References: https://github.com/huggingface/trl/issues/3857 https://arxiv.org/abs/2503.14476
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, seen_since, warning
from firstbreak.engine.families import Method
from firstbreak.engine.stats.changes import departed, for_good
from firstbreak.engine.stats.direction import falls, rises
from firstbreak.engine.stats.points import median
from firstbreak.model import Confidence, Expected, Finding, Series, Statistic
from firstbreak.values import replace

AT_ONCE = 0.05  #: of the run, within which half of the fall is done (convention)


def detect(
    grad_norm: Series,
    zero_variance_groups: Series | None = None,
    solved: bool | None = None,
    method: Method | None = None,
    eval_score: Series | None = None,
    training_score: Series | None = None,
    *,
    max_share: float = at(1e-2, "share", "A hundredth of the early gradient norm is left."),
    sudden_share: float = at(0.1, "share", "Of the norm before: convergence is slower."),
    min_zero_share: float = at(0.5, "share", "Most of the late updates have no gradient."),
    min_end: float = at(0.1, "share", "Of the updates: the last few of a schedule are no loss."),
    min_zero_variance_share: float = at(0.8, "share", "So many zero-variance groups explain a missing gradient."),
    min_points: int = at(10, "points", "Fewer norms show no level."),
) -> Finding | Expected | None:
    norms = enough(_with_a_signal(grad_norm.finite, zero_variance_groups, min_points), min_points, "gradient norms")
    early = median(norms.head(0.25).values)
    end = max(min_points, min_end * len(norms))
    first = for_good(norms.values <= max_share * early, min_zero_share)
    if first is None or len(norms) - first < end:
        first = _sudden(norms, sudden_share, (eval_score, training_score))
    if first is None or len(norms) - first < end:
        return None
    onset, zeros = float(norms.steps[first]), float(np.mean(norms.values[first:] == 0))
    starts = [facts.median(norms.head(0.25)), *([facts.median(norms.head(first / len(norms)))] if first else [])]
    if solved:
        return Expected("the gradient is gone because the score is at its ceiling")
    if (
        zero_variance_groups is not None
        and len(zero_variance_groups.finite)
        and float(np.mean(zero_variance_groups.finite.tail(0.25).values)) >= min_zero_variance_share
    ):
        return Expected("the gradient is gone because the rewards within nearly every group are equal")
    fell = facts.tell(
        "fell from {early} to {late} in most updates since {onset}",
        early=min(starts, key=lambda fact: fact.value),
        late=facts.median(norms.between(onset)),
        onset=facts.at(norms, onset),
    )
    exact = facts.tell(
        "is exactly 0 in {zeros:%} of the updates since {onset}",
        zeros=facts.of(Statistic.EQUAL, norms.between(onset)),
        onset=facts.at(norms, onset),
    )
    return warning(
        "the gradient norm {course} and the task is not solved: these updates change nothing; check {place}",
        seen_since(
            grad_norm, "gradient norm", onset, level=0.0, beside={"share of zero-variance groups": zero_variance_groups}
        ),
        course=exact if zeros >= min_zero_share else fell,
        place=_first_place(method),
        confidence=Confidence.HIGH if zeros >= min_zero_share else Confidence.MEDIUM,
        numbers={"zeros": zeros},
    )


def _sudden(norms: Series, share: float, scores: tuple[Series | None, ...]) -> int | None:
    """The index at which the norm fell to this share at once and for good, where a score neither rises nor falls since."""
    fall = departed(norms, log=True)
    at_once = fall is not None and fall.interval[1] - fall.step <= AT_ONCE * (norms.steps[-1] - norms.steps[0])
    if fall is None or fall.ratio > share or not at_once:
        return None
    since = [score.finite.between(fall.step) for score in scores if score is not None]
    if all(map(rises, since)) or any(map(falls, since)):
        return None  # a score that moves on its way down is moved by these updates
    return int(np.searchsorted(norms.steps, fall.step))


def _first_place(method: Method | None) -> str:
    """Where to look first for what cuts the gradient off."""
    if method in (Method.VALUE_BASED, Method.PREFERENCE, Method.SUPERVISED):
        return "whether the trainable parameters are connected to the loss"
    return "the spread of the advantages"


def _with_a_signal(norms: Series, zero_variance_groups: Series | None, min_points: int) -> Series:
    """The updates in which the rewards of some group differed; all updates where these are too few to judge."""
    if zero_variance_groups is None or not np.array_equal(zero_variance_groups.steps, norms.steps):
        return norms
    some = zero_variance_groups.values < 1
    return replace(norms, steps=norms.steps[some], values=norms.values[some]) if some.sum() >= min_points else norms
