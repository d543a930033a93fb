"""The discount is too small for the length of an episode or completion.

Looks for: The horizon 1 / (1 - {gamma}) against the length of the episodes that the policy reaches: below `max_share`
of the length, and shorter than `usual_horizon`. In text, where a token is a step, any horizon below `max_share` of a
completion.
Why: Rewards beyond the horizon count for nothing: the policy learns what is rewarded at once. Scores rise a little and
then stay far below what the task allows.
False alarm: Tasks whose reward follows the action at once, where a short horizon only removes noise. Long games: 0.99
is usual where episodes last thousands of steps (Atari, locomotion), and 0.98 occurs among tuned options, so neither is
reported.
Fix:
- Set {gamma} to 1 - 1 / (length of an episode), or to 0.99 where the length is unknown; to 1 for completions with one
  reward at the end.
- Look for a second discount, in a wrapper that shapes or normalises the reward.
Experiment: Train with {gamma} = 0.99 for a tenth of the run, with the same seed: the score must become better than the
old one.
References: https://arxiv.org/abs/1506.02438
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, warning
from firstbreak.engine.families import Method, Policy, without
from firstbreak.model import Confidence, Config, Finding, NotApplicable, NotMeasured, Series
from firstbreak.words import number

FAMILIES = without(
    Method.GROUP_RELATIVE,
    Method.PREFERENCE,
    why="each token gets the reward of its whole completion, without a discount",
)


def detect(
    config: Config,
    episode_length: Series | None = None,
    length_mean: Series | None = None,
    solved: bool | None = None,
    policy: Policy = Policy.CONTROL,
    *,
    max_share: float = at(0.04, "share", "A longer horizon covers enough of the length to learn from."),
    usual_horizon: float = at(50.0, "steps", "A discount of 0.98 is tuned for episodes of a thousand.", "RL Zoo"),
) -> Finding | NotApplicable | NotMeasured | None:
    gamma = config.recorded("gamma")
    if gamma is None:
        return NotMeasured("the discount is not recorded")
    if gamma >= 1:
        return None
    samples = "completions" if policy is Policy.TEXT else "episodes"
    lengths = next((s.finite for s in (episode_length, length_mean) if s is not None and len(s.finite)), None)
    if lengths is None:
        return NotMeasured(f"the length of {samples} is not logged")
    length, horizon = float(np.max(lengths.values)), 1 / (1 - gamma)
    enough = min(max_share * length, usual_horizon) if lengths.name == "episode.length" else max_share * length
    if horizon > 0.99 * enough or solved:
        return None
    return warning(
        "a discount of {gamma} looks {horizon} steps ahead, and {samples} have up to {length}: later rewards count for "
        "nothing; try {other}",
        seen_in(lengths, f"length of {samples}", level=horizon),
        gamma=facts.setting(config, "gamma"),
        horizon=number(horizon),
        samples=samples,
        length=facts.highest(lengths),
        other="1" if policy is Policy.TEXT else "0.99",
        confidence=Confidence.HIGH if horizon < max_share * length / 2 else Confidence.MEDIUM,
        numbers={"horizon": horizon, "length": length},
    )
