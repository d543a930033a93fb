"""The policy becomes more random and its score does not improve.

Looks for: Entropy, or the standard deviation of the actions, that grows to `growth_with_drop` times its start while the
score falls; or a standard deviation of the actions that grows to `growth_alone` times its start while the score is flat
or is not recorded; or one that multiplies by `growth_certain` under an entropy bonus while the score does not rise any
more (from the entropy, if that begins as for Gaussian actions with a standard deviation of 1); or the entropy of a text
that grows to `growth_text` times its start while an evaluation gains nothing since.
Why: The policy loses what it knew. Either the entropy bonus is stronger than the reward, or the updates destroy what
was learned (too large steps, old data), and only randomness is left. Actions have bounds: noise that is several times
wider than at the start is clipped at the bounds, so the policy acts at full strength in a random direction.
False alarm: Entropy that rises while the score rises: a policy that starts late begins to explore, or a policy that was
too certain becomes less certain.
Fix:
- Lower {entropy_coef}, to 0 for continuous actions. Bound the standard deviation of the actions.
- Lower {learning_rate}, and check the age of the rollouts.
Experiment: {entropy_coef} = 0 from before the onset for a tenth of the run: if the entropy still grows, the bonus is
not the reason.
References: https://arxiv.org/abs/2006.05990
"""

import math

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_since
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.stats.direction import departure, rises
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.knowledge.detectors.exploration._words import entropy_weight
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Series, Severity

FEW = 4  #: evaluations: fewer show no rise (convention)
NORMAL = 1.419  #: nats: entropy of a normal distribution with a standard deviation of 1
FIRST = 3  #: points of the start: a bonus that is too strong has had its effect within a tenth of a run


def detect(
    trajectory: Trajectory | None = None,
    policy_entropy: Series | None = None,
    action_std: Series | None = None,
    method: Method | None = None,
    policy: Policy = Policy.TEXT,
    eval_score: Series | None = None,
    config: Config | None = None,
    *,
    growth_with_drop: float = at(1.5, "ratio", "Half as much again as at the start, while the score falls."),
    growth_alone: float = at(4.0, "ratio", "Noise this much wider than at the start is clipped at the bounds."),
    growth_text: float = at(2.5, "ratio", "It falls, or grows by half where that is encouraged."),
    growth_certain: float = at(8.0, "ratio", "Twice as much as is reported by itself."),
    min_points: int = at(20, "points", "Fewer values show no trend."),
) -> Finding | NotMeasured | None:
    curves = [s.finite for s in (policy_entropy, action_std) if s is not None and len(s.finite) >= min_points]
    if not curves:
        return NotMeasured(
            f"neither entropy nor the standard deviation of the actions is logged for {min_points} updates"
        )
    got_worse = trajectory is not None and (trajectory.lost or trajectory.kind == "declining")
    stands_still = trajectory is None or trajectory.kind in ("flat", "oscillating")
    for curve in curves:
        start, late = median(curve.values[:FIRST]), median(curve.tail(0.2).values)
        lost = got_worse and late >= growth_with_drop * start
        noise = stands_still and curve.name == "action.std" and late >= growth_alone * start
        wild = policy is Policy.TEXT and late >= growth_text * start and eval_score is not None
        paid = config is not None and (config.number("entropy_coef") or 0) > 0 and policy is Policy.CONTROL
        wide = (
            paid
            and trajectory is not None
            and trajectory.kind != "rising"
            and _wider(curve, start, late) >= growth_certain
        )
        if start <= 0 or not (lost or noise or wild or wide) or not rises(curve):
            continue
        since = departure(curve)
        if wild and not (lost or noise) and (since is None or _gains(eval_score, since[0])):
            continue
        return graded(
            Severity.CRITICAL if lost else Severity.WARNING,
            "{curve} grew from {start} to {late} {meanwhile}",
            seen_since(curve, curve.name, *(since or (None, None))),
            curve=curve.name,
            start=facts.median(curve.head(FIRST / len(curve))),
            late=facts.median(curve.tail(0.2)),
            meanwhile=_meanwhile(trajectory, lost, wild, wide and not noise, method),
            confidence=Confidence.HIGH if wide or late >= growth_certain * start else Confidence.MEDIUM,
        )
    return None


def _wider(curve: Series, start: float, late: float) -> float:
    """How many times as wide the actions became; by their entropy, where it begins near that of normal distributions."""
    if curve.name == "action.std":
        return late / start if start > 0 else 1.0
    return math.exp((late - start) / max(1, round(start / NORMAL))) if start > 0.7 * NORMAL else 1.0


def _gains(evaluation: Series | None, since: float) -> bool:
    """Whether an evaluation rises from a step on, or has too few points since then to tell."""
    late = evaluation.finite.between(since) if evaluation is not None else None
    return late is None or len(late) < FEW or rises(late)


def _meanwhile(trajectory: Trajectory | None, lost: bool, wild: bool, wide: bool, method: Method | None) -> str:
    weight = entropy_weight(method)
    if lost:
        return f"while the score fell: the policy forgets; lower the {weight} or the learning rate"
    if wild:
        return (
            "and the evaluation gains nothing since: the text may have become incoherent; read some completions of the last "
            f"steps, then lower the {weight} or the learning rate"
        )
    if wide:
        return (
            f"and the score rises no more: the {weight} widens the actions beyond their bounds; lower it, to 0 at first"
        )
    score = "no score is recorded" if trajectory is None else "the score is flat"
    return f"and {score}: the actions are noise that is clipped at their bounds; lower the {weight}, to 0 at first"
