"""The untrained policy scores far more in training than in the evaluation.

Looks for: The training reward of the first steps against the first evaluations, before training can have made a
difference. A finding is a training reward of at least `min_ratio` times the evaluation.
Why: At the start both numbers measure the same policy. Where training scores higher, one of these differs: training
samples at a lower temperature or top-p than the evaluation (or than the log-probabilities are computed with), has
easier prompts, or rewards something else than the answer.
False alarm: Training on easier problems, or with partial credit, on purpose. A gap that the noise of single evaluations
explains is not reported.
Fix:
- Compare {temperature}, {top_p}, {max_new_tokens} and the verifier of training with those of the evaluation.
- Evaluate once with the sampling settings of training.
Experiment: Put the evaluation's problems through one training rollout without an update, and compare the scores.
References: https://arxiv.org/abs/2503.20783
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.points import median
from firstbreak.knowledge.detectors._start import lowest_first, starts
from firstbreak.model import Confidence, Finding, NotApplicable, NotMeasured, Role, Series

ROLES = (Role.RELATION,)
MOSTLY = 0.5  #: of right answers in training: what lies lower may be partial credit (convention)
FAMILIES = only(Policy.TEXT, why="only where training and evaluation grade answers alike")


def detect(
    eval_score: Series | None = None,
    eval_reward: Series | None = None,
    reward_mean: Series | None = None,
    reward_rollout_mean: Series | None = None,
    reward_component_mean: dict[str, Series] | None = None,
    *,
    min_ratio: float = at(1.35, "ratio", "a factor that the noise of the first batches hardly makes"),
    min_gap: float = at(0.12, "share", "of right answers: small shares differ by a large factor by chance"),
    min_size: float = at(3.0, "standard errors", "of the gap: an evaluation and first batches differ so by chance"),
    far: float = at(2.5, "ratio", "From the start to the end: no difference of difficulty that nobody planned."),
    first_share: float = at(0.04, "share", "so early the policy has hardly learned anything"),
    first_points: int = at(3, "points", "with fewer rewards the mean is mostly noise"),
) -> Finding | NotApplicable | NotMeasured | None:
    # a filter decides the reward of the trained samples
    rewards = reward_mean if reward_rollout_mean is None else reward_rollout_mean
    found = starts((eval_score, eval_reward), rewards, reward_component_mean, first_share, first_points)
    if isinstance(found, NotMeasured):
        return found
    trained, evaluated, curve = found
    if trained - evaluated < min_gap or trained < min_ratio * evaluated:
        return None
    points = max(first_points, round(first_share * len(curve)))
    noises = [_noise(s.finite.values) for s in (eval_score, eval_reward) if s is not None]
    error = float(np.hypot(max(noises), noise_scale(curve.values) / np.sqrt(points)))
    if trained - evaluated < min_size * error:
        return None
    late = max((median(s.finite.tail(0.25).values) for s in (eval_score, eval_reward) if s is not None), default=0.0)
    apart = trained > max(far * evaluated, MOSTLY) and median(curve.tail(0.25).values) > far * late  # to the end
    return warning(
        "at the start the policy scores {trained} in training and {evaluated} in the evaluation: training samples or "
        "rewards in another way; evaluate once with the sampling settings of training",
        seen_in(curve, "training", beside={"evaluation": eval_score}),
        trained=facts.mean(curve.head(points / len(curve))),
        evaluated=facts.first(lowest_first((eval_score, eval_reward))),
        confidence=Confidence.HIGH if apart else Confidence.MEDIUM,
        numbers={"trained": trained, "evaluated": evaluated},
    )


def _noise(evaluations: np.ndarray) -> float:
    """Standard deviation of one evaluation. Few evaluations tell it badly, so that the larger of two estimates counts."""
    return max(
        noise_scale(evaluations),
        float(np.std(np.diff(evaluations))) / float(np.sqrt(2)) if len(evaluations) > 1 else 0.0,
    )
