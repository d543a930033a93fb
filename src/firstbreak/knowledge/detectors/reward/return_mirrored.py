"""Training returns are those of the evaluation with the opposite sign.

Looks for: The training return around each evaluation. The check reports where the two have opposite signs and similar
sizes (within a factor of `max_ratio`) in at least `min_share` of the evaluations from some evaluation on.
Why: The training environment rewards the opposite of what the evaluation environment rewards: a wrapper multiplies by
-1, or a cost is used as a reward. The policy learns well, but away from the goal.
False alarm: Returns that cross zero while the policy improves, and that differ because training explores: then their
sizes differ as well. An evaluation that stands still while training moves mirrors nothing. With fewer than
`min_returns` training returns, all evaluations are compared with the same ones.
Fix:
- Step both environments with the same actions and print both rewards.
- Compare the wrappers of the two environments.
Experiment: One episode with fixed actions in both environments: the returns must be equal.
References: https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import quantile
from firstbreak.model import Confidence, Finding, NotApplicable, NotMeasured, Role, Series, Severity
from firstbreak.values import replace
from firstbreak.words import number, percent

MANY = 0.3  #: of the actions, in a quarter of the run (convention)
ROLES = (Role.RELATION,)
FAMILIES = only(Policy.CONTROL, why="rewards of text are often weighted sums that the evaluation does not share")


def detect(
    eval_reward: Series,
    reward_episode: Series | None = None,
    reward_mean: Series | None = None,
    epsilon: Series | None = None,
    *,
    max_ratio: float = at(3.0, "ratio", "Exploration makes training returns smaller, but by less than this."),
    min_share: float = at(0.8, "share", "Single evaluations may differ by chance."),
    min_evaluations: int = at(4, "evaluations", "Fewer evaluations can have the opposite sign by chance."),
    near: float = at(0.3, "share", "of the first training returns or their change: such an evaluation stands."),
    min_returns: int = at(9, "points", "So many training returns around an evaluation show the level of training."),
) -> Finding | NotApplicable | NotMeasured | None:
    trained = next(
        (s.finite for s in (reward_episode, reward_mean) if s is not None and len(s.finite) >= min_returns), None
    )
    scores = eval_reward.finite
    if not eval_reward.name.startswith("eval.reward"):
        return NotMeasured(f"{eval_reward.name} is no return: its sign says nothing about that of the reward")
    if trained is None or len(scores) < min_evaluations:
        return NotMeasured(f"fewer than {min_returns} training returns or {min_evaluations} evaluations")
    if epsilon is not None and len(epsilon.finite) and quantile(epsilon.finite.values, 0.75) > MANY:
        return NotMeasured("many actions of training are random: its returns are not those of the policy")
    there = np.array([np.median(_around(trained, step, min_returns).values) for step in scores.steps])
    ratio = there / np.where(scores.values == 0, np.nan, scores.values)
    mirrored = replace(scores, values=((-max_ratio < ratio) & (ratio < -1 / max_ratio)).astype(float))
    step = first_sustained(mirrored, lambda values: values > 0, min_evaluations, min_share)
    if step is None or float(mirrored.between(step).values.mean()) < min_share:
        return None
    before = scores.steps[scores.steps < step]
    first = float(np.median(trained.values[:min_returns]))
    risen = float(np.median(there[scores.steps >= step])) > first
    if risen and abs(float(np.median(scores.values)) - first) <= near * abs(first):
        return None  # the evaluation is where training began: training learned what the evaluation does not show
    gained = float(there[-1]) - first
    if np.ptp(scores.between(step).values) < near * max(np.ptp(there[scores.steps >= step]), gained):
        return None  # what training gains the evaluation would lose
    agreed = bool(np.median(ratio[scores.steps < step]) > 0) if len(before) else False
    since = float(before[-1]) if len(before) else float(trained.steps[0])
    return Finding(
        message=facts.tell(
            "training returns have the opposite sign of the evaluation ({there} against {scores}, in {share} of the evaluations "
            "from {step} on); look for a wrong minus sign in the reward of the training environment",
            there=number(float(np.median(there[scores.steps >= step]))),
            scores=facts.median(scores.between(step)),
            share=percent(float(mirrored.between(step).values.mean())),
            step=facts.at(scores, step),
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH if agreed or not len(before) else Confidence.MEDIUM,
        **seen_since(trained, "training return", step, (since, step), along={"evaluation": scores}),
    )


def _around(curve: Series, step: float, points: int) -> Series:
    """The training returns nearest to a step."""
    place = int(np.searchsorted(curve.steps, step))
    part = slice(max(0, min(place - points // 2, len(curve) - points)), max(points, place + points // 2 + 1))
    return replace(curve, steps=curve.steps[part], values=curve.values[part])
