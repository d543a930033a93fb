"""Completions suddenly become much shorter or longer.

Looks for: A mean length that changes by a factor of `min_ratio` or more within a small part of the run, after its first
steps, and keeps its new level. Where there is an independent evaluation, the change counts only if the evaluation does
not rise after it.
Why: A better policy changes its length little by little. A jump says that the policy has found another way to be paid:
short junk that avoids a negative reward, or padding that a length bonus pays. The reward rises as well, so that only
the length and the samples show it.
False alarm: A new stage of a curriculum, other prompts, or another limit ({max_new_tokens}). A chat model that drops
its chatter in the first steps; these are left out. Steady growth or shrinking is another finding.
Fix:
- Read ten completions from before and ten from after the jump, with their rewards.
- Score an empty completion, and one that is padded: neither may have more than a right answer.
- Remove the length bonus or penalty from the reward, or cap it.
Experiment: Score completions of the checkpoint before the jump with padding added, and cut to a third: if the reward
rises, the length was the shortcut.
References: https://arxiv.org/abs/2310.03716 https://arxiv.org/abs/2209.13085
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import median, medians
from firstbreak.model import Confidence, Finding, NotMeasured, Series

FAMILIES = only(Policy.TEXT)
PLACES = 1000  #: at which the level of a curve is asked (convention)


def detect(
    length_mean: Series | None = None,
    length_total_mean: Series | None = None,
    truth: Series | None = None,
    reward_mean: Series | None = None,
    length_prompt_mean: Series | None = None,
    *,
    min_ratio: float = at(1.8, "ratio", "batches of other prompts change the mean length by less"),
    sudden: float = at(0.06, "share", "of the run: what takes longer is learned little by little"),
    window: float = at(0.12, "share", "of the run: the levels before and after the jump"),
    beginning: float = at(0.15, "share", "of the run: a policy first settles into a style"),
    most: float = at(0.6, "share", "of the whole change of the run: a jump that is less belongs to a steady change"),
    min_size: float = at(5.0, "standard deviations", "of the length from step to step"),
    min_points: int = at(30, "points", "with fewer a jump cannot be told from a slope"),
) -> Finding | NotMeasured | None:
    lengths = [s.finite for s in (length_mean, length_total_mean) if s is not None and len(s.finite) >= min_points]
    if not lengths:
        return NotMeasured(f"needs {min_points} mean lengths")
    length = lengths[0]
    if length.values.min() <= 0:
        return None
    logs = np.log(length.values)
    each = -(-len(logs) // PLACES)  # a level is asked at each of so many points
    wide, gap = (each * -(-max(least, round(share * len(logs))) // each) for least, share in ((4, window), (2, sudden)))
    levels = medians(np.lib.stride_tricks.sliding_window_view(logs, wide)[::each])
    places = np.arange(-(-max(wide, round(beginning * len(logs))) // each), len(levels) - gap // each)
    if not len(places):
        return None
    jumps = levels[places + gap // each] - levels[places - wide // each]
    at = int(np.argmax(np.abs(jumps)))
    jump, start = float(jumps[at]), int(places[at]) * each
    before, after, end = levels[places[at] - wide // each], levels[places[at] + gap // each], median(logs[-wide:])
    ends = levels[[0, -1]]
    if (
        abs(jump) < max(np.log(min_ratio), min_size * noise_scale(logs))
        or abs(jump) < most * float(max(np.ptp(levels), abs(ends[1] - ends[0])))
        or (end - before) * np.sign(jump) < most * abs(jump)
        or _prompts_changed(length_prompt_mean, float(length.steps[start]), float(np.log(min_ratio)) / 2)
    ):
        return None
    near = length.between(float(length.steps[start - wide]), float(length.steps[start + gap + wide - 1]))
    middle, sign = float(before + after) / 2, float(np.sign(jump))
    found = first_sustained(near, lambda values: (np.log(values) - middle) * sign > 0)
    step = float(length.steps[start]) if found is None else found
    if truth is not None and _same(truth, reward_mean):
        truth = None  # the reward under another name judges nothing
    if truth is not None and _rose(truth.finite, step):
        return None
    how = "longer" if jump > 0 else "shorter"
    unseen = ", and no independent evaluation shows whether they got better" if truth is None else ""
    interval = (float(length.between(-np.inf, step).steps[-2]), step)
    return warning(
        "completions suddenly became {how}: from {before} to {after} tokens around {step}{unseen}; the policy may have found "
        "a shortcut in the reward (junk that avoids a penalty, or padding that a length bonus pays): read completions from "
        "before and after",
        seen_since(length, f"{how} since {facts.at(length, step)}", step, interval),
        how=how,
        before=facts.median(length.between(float(length.steps[start - wide]), float(length.steps[start - 1]))),
        after=facts.median(
            length.between(float(length.steps[start + gap]), float(length.steps[start + gap + wide - 1]))
        ),
        step=facts.at(length, step),
        unseen=unseen,
        confidence=Confidence.MEDIUM,
        sudden=True,
        numbers={"ratio": float(np.exp(jump))},
    )


def _prompts_changed(prompts: Series | None, step: float, least: float) -> bool:
    """Whether the prompts changed at the same time: other prompts have other answers."""
    if prompts is None:
        return False
    before, after = prompts.finite.between(-np.inf, step), prompts.finite.between(step)
    if not len(before) or not len(after) or min(median(before.values), median(after.values)) <= 0:
        return False
    return abs(float(np.log(median(after.values) / median(before.values)))) >= least


def _same(truth: Series, reward: Series | None) -> bool:
    """Whether the two are one curve."""
    if reward is None or len(reward.finite) != len(truth.finite):
        return False
    return bool(np.allclose(reward.finite.values, truth.finite.values))


def _rose(truth: Series, step: float) -> bool:
    """The evaluations after the change are better than the last ones before it, beyond their noise."""
    before, after = truth.between(-np.inf, step).tail(0.5).values, truth.between(step).tail(0.5).values
    if not len(before) or not len(after):
        return False
    error = noise_scale(truth.values) * float(np.sqrt(1 / len(before) + 1 / len(after)))
    return float(np.mean(after) - np.mean(before)) > 2 * error
