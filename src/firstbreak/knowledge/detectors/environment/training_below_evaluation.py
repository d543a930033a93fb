"""The untrained policy scores far less in training than in the evaluation.

Looks for: The training reward of the first steps against the first evaluations, before training can have made a
difference. A finding is an evaluation of at least `min_ratio` times the training reward.
Why: At the start both numbers measure the same policy. A policy that does well in the evaluation and fails in training
gets another task in training: another prompt template, a stricter verifier or one with the wrong references, a smaller
length limit, or harder prompts. The policy then learns something that is not evaluated.
False alarm: Training on harder problems than those of the evaluation, on purpose.
Fix:
- Print one training prompt and one evaluation prompt as the model gets them, with special tokens.
- Score the evaluation's problems with the workflow, settings and verifier of training: the numbers must agree.
Experiment: Put the evaluation's problems through one training rollout without an update, and compare the scores.
References: https://arxiv.org/abs/2503.20783
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.points import median
from firstbreak.knowledge.detectors._start import lowest_first, starts
from firstbreak.model import Confidence, Finding, NotApplicable, NotMeasured, Role, Series

ROLES = (Role.RELATION,)
FAMILIES = only(Policy.TEXT, why="only where training and evaluation grade answers alike")


def detect(
    eval_score: Series | None = None,
    eval_reward: Series | None = None,
    reward_mean: Series | None = None,
    reward_component_mean: dict[str, Series] | None = None,
    *,
    min_ratio: float = at(2.5, "ratio", "training prompts may be harder than the evaluation's, but hardly so much"),
    min_gap: float = at(0.1, "share", "of right answers: small shares differ by a large factor by chance"),
    first_share: float = at(0.04, "share", "so early the policy has hardly learned anything"),
    first_points: int = at(3, "points", "with fewer rewards the mean is mostly noise"),
) -> Finding | NotApplicable | NotMeasured | None:
    found = starts((eval_score, eval_reward), reward_mean, reward_component_mean, first_share, first_points)
    if isinstance(found, NotMeasured):
        return found
    trained, evaluated, curve = found
    if evaluated - trained < min_gap or trained * min_ratio > evaluated:
        return None
    if median(curve.tail(0.25).values) * min_ratio > evaluated:
        return None  # one task: training, which samples, has come near to the evaluation since
    return warning(
        "at the start the policy scores {evaluated} in the evaluation and {trained} in training: training gives the "
        "policy another task; put the evaluation's problems through one training rollout, and compare the scores",
        seen_in(curve, "training", beside={"evaluation": eval_score}),
        evaluated=facts.first(lowest_first((eval_score, eval_reward))),
        trained=facts.mean(curve.head(max(first_points, round(first_share * len(curve))) / len(curve))),
        confidence=Confidence.MEDIUM,
        numbers={"trained": trained, "evaluated": evaluated},
    )
