"""The training reward is one and the same number from some step on.

Looks for: A reward that differed from point to point, and from some point to the end is exactly one value, below the
best that it had, for so long that chance hardly makes it. It must come at once, not at the end of a slide, and the
policy must go on as before: its entropy, its distance from the reference and the lengths do not jump there, and at
least one of them still moves.
Why: A reward that is the same for every answer carries no information: advantages are 0, or only noise and penalties
move the policy. A verifier that fails and returns a default, a service that is gone, or a column that is no longer
filled look like this, while every curve of the policy looks healthy.
False alarm: A policy that has collapsed gets the same reward each time as well: then its entropy or its lengths jump or
stand still, and nothing is reported here. A task that is solved has its highest reward, which is not reported.
Fix:
- Call the reward function by hand on completions or transitions from before and after that step.
- Look for caught exceptions that return a default, and for a service, a file or a sandbox that is gone since then.
- Go back to the checkpoint before that step: what came later learned nothing from the reward.
Experiment: Score the stored samples of an earlier step again: if they get the constant now, the reward function is
broken, and not the policy.
References: https://andyljones.com/posts/rl-debugging.html
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, from_point, graded, seen_since
from firstbreak.engine.families import Method, Policy, without
from firstbreak.engine.stats.changes import lapses
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.model import Finding, NotMeasured, Series, Severity
from firstbreak.values import replace

FAMILIES = without(Method.SUPERVISED)
AROUND = 3  #: points on each side of the step that say whether the policy jumps


def detect(
    reward_mean: Series | None = None,
    reward_episode: Series | None = None,
    policy_entropy: Series | None = None,
    kl_ref: Series | None = None,
    length_mean: Series | None = None,
    episode_length: Series | None = None,
    policy: Policy = Policy.TEXT,
    *,
    max_p_value: float = at(1e-4, "probability", "Of so long a stretch of equal rewards by chance."),
    min_share: float = at(0.1, "share", "Of the points: fewer may be a stretch of hard prompts."),
    min_points: int = at(8, "points", "Of each side: fewer rewards may be equal."),
    at_once: float = at(0.5, "share", "Of the usual level: what the last rewards before it still had."),
    jump: float = at(6.0, "standard deviations", "Of the noise: the policy itself has changed there."),
) -> Finding | NotMeasured | None:
    rewards = [s.finite for s in (reward_mean, reward_episode) if s is not None and len(s.finite) >= 2 * min_points]
    if not rewards:
        return NotMeasured(f"fewer than {2 * min_points} training rewards are logged")
    behaviour = [s.finite for s in (policy_entropy, kl_ref, length_mean, episode_length) if s is not None]
    for curve in rewards:
        first = _constant_from(curve, max_p_value)
        if first is None or min(first, len(curve) - first) < max(min_points, min_share * len(curve)):
            continue
        since, value = float(curve.steps[first]), float(curve.values[-1])
        earlier = curve.values[:first]
        near = max(min_points, len(curve) // 20)
        usual, last = float(np.median(earlier[-3 * near :])), float(np.mean(earlier[-near:]))
        if value >= float(earlier.max()) or usual <= value or last - value < at_once * (usual - value):
            continue
        moving = [s for s in behaviour if len(s.between(since)) > AROUND and np.ptp(s.between(since).values) > 0]
        if not moving or any(_jumps(s, since, jump) for s in behaviour):
            continue
        after = curve.between(since)
        return graded(
            Severity.CRITICAL if policy is Policy.TEXT else Severity.WARNING,
            "{curve} is {value} at all {n} points from {since} on and was {usual} before, while {moving} goes on as before: "
            "no answer can earn more; call the reward function by hand on samples of that step",
            seen_since(curve, f"{curve.name}", *from_point(curve, first), level=value),
            curve=curve.name,
            value=facts.last(after),
            n=facts.count(after),
            since=facts.at(curve, since),
            usual=facts.median(
                curve.between(float(curve.steps[max(0, first - 3 * near)]), float(curve.steps[first - 1]))
            ),
            moving=moving[0].name,
            numbers={"value": value, "usual": usual},
        )
    return None


def _constant_from(curve: Series, max_p_value: float) -> int | None:
    """The first point of an unlikely stretch of equal values that lasts to the end."""
    same = replace(curve, values=curve.values - curve.values[-1])
    found = next((c for c in lapses(same, level=max_p_value) if c.kind == "zero" and c.returned is None), None)
    return None if found is None else int(np.searchsorted(curve.steps, found.step))


def _jumps(curve: Series, step: float, limit: float) -> bool:
    """Whether a curve of the policy changes at this step by more than its noise explains."""
    at = int(np.searchsorted(curve.steps, step))
    before, after = curve.values[max(0, at - AROUND) : at], curve.values[at : at + AROUND]
    if not len(before) or not len(after):
        return False
    moved = abs(float(np.median(after)) - float(np.median(before)))
    return moved > limit * noise_scale(curve.values[:at]) and moved > 1e-9
