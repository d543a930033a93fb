"""A filter decides the reward of the trained samples, and hides the others.

Looks for: The mean reward of what was trained on beside that of everything that was generated. Where they differ,
groups are left out before training (dynamic sampling, `dynamic_filter_fn`), and the reward of the rest stays near the
middle whatever the policy does. A reward of all rollouts that falls by `material` of its level, while the trained one
does not follow, is a warning.
Why: A filter that keeps only groups with right and wrong answers keeps the trained reward near one half. It hides
prompts that are too hard or too easy, prompts that get harder, and a policy that gets worse.
False alarm: A curriculum that draws harder prompts on purpose.
Fix:
- Read the reward of all rollouts and an evaluation on fixed prompts; the trained reward is no measure of progress.
- Compare the prompts of the first and the last steps: source, difficulty, order of the data.
- Generate again from the first prompts with the latest policy: if the old reward comes back, the prompts changed and not the
  policy.
Experiment: Score the latest policy on the prompts of the first ten steps, without training.
References: https://arxiv.org/abs/2503.14476 https://inclusionai.github.io/AReaL/
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_in
from firstbreak.engine.stats.direction import departure
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.trend import trend
from firstbreak.model import Finding, NotMeasured, Role, Series, Severity

ROLES = (Role.RELATION,)


def detect(
    reward_rollout_mean: Series,
    reward_mean: Series,
    *,
    apart: float = at(3.0, "standard deviations", "Of the noise of both: a smaller gap is no filter."),
    material: float = at(1 / 3, "share", "Of its first level: so large a fall is not left to a filter."),
    follows: float = at(0.5, "share", "Of that fall: a trained reward that loses as much shows it itself."),
    min_points: int = at(20, "points", "Fewer rewards show no course."),
) -> Finding | NotMeasured | None:
    rollouts, trained = reward_rollout_mean.finite, reward_mean.finite
    if min(len(rollouts), len(trained)) < min_points:
        return NotMeasured(f"fewer than {min_points} rewards of all rollouts and of the trained ones")
    gap = np.interp(rollouts.steps, trained.steps, trained.values) - rollouts.values
    noise = float(np.hypot(noise_scale(rollouts.values), noise_scale(trained.values)))
    if abs(median(gap)) <= apart * noise:
        return None
    first, last = rollouts.head(0.1), rollouts.tail(0.1)
    lost = median(first.values) - median(last.values)
    falls = trend(rollouts).falling and lost >= material * abs(median(first.values))
    hidden = falls and -trend(trained).change < follows * lost
    left = departure(rollouts, direction=-1) if hidden else None
    text = (
        "the reward of all rollouts fell from {first} to {last} while the filter holds that of the trained ones at {trained}: "
        "the prompts got harder, or the policy worse; compare the prompts of the first and the last steps"
        if hidden
        else "the filter holds the reward of the trained samples at {trained} while all rollouts get {last}: it is no measure "
        "of progress; read the reward of all rollouts, and an evaluation"
    )
    return graded(
        Severity.WARNING if hidden else Severity.NOTICE,
        text,
        seen_in(rollouts, "all rollouts", *(left or (None, None)), beside={"trained samples": trained}),
        first=facts.median(first),
        last=facts.median(last),
        trained=facts.median(trained.tail(0.1)),
        numbers={"gap": median(gap), "lost": lost},
    )
