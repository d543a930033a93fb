"""The policy stays as random as it began.

Looks for: Entropy that never falls by more than `max_fall` of its first level, while the score is flat and no training
reward rises.
Why: Learning makes a policy more certain somewhere. If neither entropy nor score changes, the reward does not reach the
weights: the signal is too weak or too noisy, or the entropy bonus outweighs it.
False alarm: Short runs. A policy that starts nearly certain (a fine-tuned model) has little entropy to lose. If the log
begins in mid-run, its first level is not that of a random policy, and nothing is reported.
Fix:
- Lower {entropy_coef}. Check that the reward differs between good and bad behaviour.
- Raise {learning_rate}. Use a larger {batch_size} if the advantages are noisy.
Experiment: {entropy_coef} = 0 for a tenth of the run: if the entropy now falls and the score rises, the bonus was too
strong.
References: https://arxiv.org/abs/2006.05990
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, seen_in, warning
from firstbreak.engine.families import Method, without
from firstbreak.engine.stats.direction import rises
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.knowledge.detectors._start import continued
from firstbreak.model import Confidence, Finding, NotMeasured, Series
from firstbreak.words import percent

FAMILIES = without(Method.SUPERVISED, Method.PREFERENCE, why="no policy acts in this kind of training")


def detect(
    policy_entropy: Series,
    trajectory: Trajectory,
    second_score: Series | None = None,
    solved: bool | None = None,
    *,
    max_fall: float = at(0.05, "share", "A fall of a twentieth or less is hardly any."),
    min_entropy: float = at(0.1, "nats", "A policy that starts nearly certain has little entropy to lose."),
    min_points: int = at(30, "points", "In a shorter run the entropy may yet fall."),
) -> Finding | NotMeasured | None:
    entropy = enough(policy_entropy.finite, min_points, "values of the entropy")
    first = float(entropy.steps[0])
    if continued(entropy):
        return NotMeasured(f"the log begins at {facts.at(entropy, first)}: the entropy of the start is not in it")
    start, late = median(entropy.head(0.1).values), median(entropy.tail(0.2).values)
    if solved or trajectory.kind != "flat" or start <= min_entropy or late < (1 - max_fall) * start:
        return None
    if second_score is not None and rises(second_score):  # something was learned, which a few noisy evaluations hide
        return None
    interval = (first, float(entropy.steps[len(entropy) // 2]))
    return warning(
        "entropy is {late} nats at the end of {n} logged updates, {share} of its start, and the score is flat: the policy "
        "is as undecided as at its start; check that good and bad behaviour get different rewards, then raise the "
        "learning rate or use larger batches",
        seen_in(policy_entropy, "entropy", first, interval, metric="policy.entropy", level=start),
        late=facts.median(entropy.tail(0.2)),
        n=facts.count(entropy),
        share=percent(late / start),
        confidence=Confidence.MEDIUM,
    )
