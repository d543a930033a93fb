"""The mean advantage of a prompt's completions is not 0.

Looks for: The largest absolute mean advantage over the prompts of a batch (`advantage.of_prompt_absmax`), in
group-relative methods, against the spread of the advantages: above `max_share` of the spread for most of the run. Where
no such curve is logged, the dumped samples give it: those of whole groups, with as many samples of one prompt at one
step as the group has. Or a smallest advantage that is never below 0. Or samples that have the best reward of their step and an
advantage below 0, or the worst and one above: no baseline of a group does that.
Why: A group baseline is the mean reward of the prompt's own completions, so the mean of its advantages is 0. If the
mean is not 0, completions are compared with those of other prompts: easy prompts get positive advantages, not good
answers.
False alarm: Leave-one-out baselines scaled by G / (G - 1) still have a mean of 0. Filters that drop completions after
the advantage was computed leave a small mean.
Fix:
- Check the index that assigns completions to prompts, after every shuffle, filter and gather.
- Compute the baseline before anything changes the order of the batch.
Experiment: Print group id, prompt and advantage of one batch: the advantages of each prompt must sum to 0.
References: https://arxiv.org/abs/2402.03300 https://github.com/PeterGriffinJin/Search-R1/pull/88
"""

import math
from collections import defaultdict
from itertools import islice

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import Seen, at, seen_since, warning
from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.model import Confidence, Config, Finding, NotApplicable, NotMeasured, Role, Samples, Series
from firstbreak.words import percent

ROLES = (Role.RELATION,)
MOST = 4000  #: samples that are read
SAMPLES, SMALL = 30, 0.1  #: at an end of the rewards; and of the spread, an advantage that is hardly one (convention)
FAMILIES = only(Method.GROUP_RELATIVE, UNKNOWN, why="only where the baseline is the mean reward of a group of samples")


def detect(
    config: Config,
    advantage_of_prompt_absmax: Series | None = None,
    advantage_std: Series | None = None,
    advantage_min: Series | None = None,
    advantage_max: Series | None = None,
    samples: Samples | None = None,
    *,
    max_share: float = at(0.4, "share", "Filters after the advantage was computed leave a smaller mean."),
    min_spread: float = at(0.5, "advantage", "A smaller spread is taken for this one, so that rounding is no finding."),
    early_share: float = at(0.25, "share", "Later, rewards can be equal and only the KL penalty is left."),
    max_kl_coef: float = at(0.2, "coefficient", "A larger KL penalty is part of advantages, and its mean is not 0."),
    min_turned: float = at(0.1, "share", "Penalties beside the reward turn a few advantages."),
    min_points: int = at(5, "points", "In fewer batches, a large mean can be chance."),
) -> Finding | NotApplicable | NotMeasured | None:
    if (config.number("kl_coef") or 0.0) > max_kl_coef:
        return NotApplicable(
            "a strong KL penalty is part of the advantages, so the mean of a prompt's advantages need not be 0"
        )
    if advantage_min is not None and advantage_max is not None:
        least, most = advantage_min.finite, advantage_max.finite
        if len(least) >= min_points and float(least.values.min()) >= 0 < float(most.values.max()):
            return _never_negative(least, most)
    largest, n = advantage_of_prompt_absmax, 0
    if samples is not None and (turned := _wrong_side(samples, min_turned)):
        return turned
    if largest is None and samples is not None:
        largest, n = _of_samples(samples, config.number("group_size"))
    if largest is None:
        return NotMeasured(
            "no mean advantage of a prompt is logged, and no samples of whole groups with their advantages"
        )
    rest = largest.finite
    if max(n, len(rest)) < min_points:
        return NotMeasured(f"{len(rest)} values are too few (needs {min_points})")
    # The early spread: when all rewards have become equal, what is left of the advantages is the penalty's share.
    scale = (
        float(np.median(advantage_std.finite.head(early_share).values))
        if advantage_std is not None and len(advantage_std.finite)
        else 1.0
    )
    limit = max_share * max(scale, min_spread)
    late = float(np.median(rest.tail(0.5).values))
    if late <= limit:
        return None
    since = first_sustained(rest, lambda values: values > limit)
    return warning(
        "the largest mean advantage of a prompt's completions is typically {late}{beside} instead of 0: completions are "
        "compared with those of other prompts; check the index that assigns completions to groups",
        seen_since(rest, "largest mean advantage of a prompt", since, level=limit),
        late=facts.median(rest.tail(0.5)),
        beside=facts.tell(" (spread {spread})", spread=facts.median(advantage_std.finite.head(early_share)))
        if advantage_std is not None and len(advantage_std.finite)
        else "",
        numbers={"rest": late / scale if scale > 0 else late},
    )


def _wrong_side(samples: Samples, min_turned: float) -> Finding | None:
    """Samples with the best reward of their step and a negative advantage, or with the worst and a positive one."""
    steps: dict[float, list[tuple[float, float]]] = defaultdict(list)
    for sample in islice(samples, MOST):
        if sample.step is not None and sample.advantage is not None and sample.reward is not None:
            steps[sample.step].append((sample.reward, sample.advantage))
    rows = [(min(r for r, _ in of), max(r for r, _ in of), *pair) for of in steps.values() for pair in of]
    low, high, rewards, advantages = np.array(rows).T if rows else np.empty((4, 0))
    ends = (high > low) & ((rewards == low) | (rewards == high)) & np.isfinite(advantages)
    if ends.sum() < SAMPLES:
        return None
    side = np.where(rewards == high, 1.0, -1.0)[ends]
    turned = advantages[ends] * side < -SMALL * np.std(advantages[ends])
    share, first = float(turned.mean()), min(steps)
    if share < min_turned:
        return None
    return warning(
        "{share} of {n} samples with the best reward of their step have a negative advantage, or with the worst a positive one: "
        "no baseline of their own group gives that; check which rewards make the group of a sample",
        Seen(metric="advantage.mean", onset=first, interval=None, evidence=()),
        share=percent(share),
        n=f"{int(ends.sum())}",
        confidence=Confidence.HIGH,
        numbers={"turned": share},
    )


def _never_negative(least: Series, most: Series) -> Finding:
    """No advantage of any batch is below 0, though some are above: what a mean baseline makes impossible."""
    return warning(
        "no advantage of {n} batches is below 0 ({least} at least, {most} at most): no baseline is subtracted, or each "
        "completion is a group of its own; check the index that assigns completions to groups",
        seen_since(least, "smallest advantage", float(least.steps[0]), level=0.0),
        n=facts.count(least),
        least=facts.lowest(least),
        most=facts.highest(most),
    )


def _of_samples(samples: Samples, group: float | None) -> tuple[Series | None, int]:
    """The largest absolute mean advantage of a prompt at each step, of the groups that are whole, and how many these are."""
    if not group or group < 2:
        return None, 0
    sums: dict[tuple[float, str], list[float]] = defaultdict(list)
    for sample in islice(samples, MOST):
        if sample.step is not None and sample.advantage is not None and math.isfinite(sample.advantage):
            sums[sample.step, sample.prompt].append(sample.advantage)
    means: dict[float, float] = {}
    whole = {key: advantages for key, advantages in sums.items() if len(advantages) % group == 0}
    for (step, _), advantages in whole.items():
        means[step] = max(means.get(step, 0.0), abs(sum(advantages) / len(advantages)))
    if not means:
        return None, 0
    steps = sorted(means)
    values = np.array([means[step] for step in steps])
    name = "advantage.of_prompt_absmax"
    return Series(name=name, steps=np.array(steps), values=values, note="of the dumped samples"), len(whole)
