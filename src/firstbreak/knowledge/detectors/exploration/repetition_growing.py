"""More and more completions repeat themselves.

Looks for: The share of completions that repeat themselves: it rises, and ends at `min_share` or more and at
`growth_warning` times its early level or more. If the score fell as well, the finding is surer.
Why: A policy that repeats itself has found a loop that the reward does not punish, or has lost its language. Both show
here before they show in the mean reward.
False alarm: Tasks whose right answers repeat by nature: tables, lists, code with many equal lines. Longer completions
contain more repeated n-grams.
Fix:
- Read ten of these completions, and compare their rewards with those of completions that do not repeat.
- Lower {learning_rate} or raise {kl_coef}; go back to a checkpoint from before the rise.
- Punish repetition in the reward only if the reward pays for it.
Experiment: Score a completion, and the same completion with its last sentence three times: the second may not have the
higher reward.
References: https://arxiv.org/abs/1904.09751
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, seen_since, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.changes import settled, turned
from firstbreak.engine.stats.direction import departure, rises
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Finding, Series
from firstbreak.words import percent

EITHER_SCORE = True
FAMILIES = only(Policy.TEXT)


def detect(
    text_repetition_frac: Series,
    trajectory: Trajectory | None = None,
    *,
    min_share: float = at(0.1, "share", "Fewer completions are accidents of sampling."),
    growth_warning: float = at(2.0, "ratio", "Twice the early share: more than longer answers explain."),
    sure_share: float = at(0.3, "share", "A third of the completions is no accident, whatever the score does."),
    min_points: int = at(20, "points", "Fewer values show no trend."),
) -> Finding | None:
    share = enough(text_repetition_frac.finite, min_points, "shares of repetitive completions")
    late = settled(share)
    if late < min_share or not rises(share):
        return None
    began = departure(share)
    since = began[0] if began else float(share.steps[0])
    before = share.between(-np.inf, since)
    early = float(np.median(before.values)) if len(before) else 0.0
    if late < growth_warning * early:
        return None
    lost = trajectory is not None and trajectory.lost
    return warning(
        "{late:%} of the completions repeat themselves, {early} did before; read ten of them, and compare their rewards "
        "with those of the others",
        seen_since(share, "share of repetitive completions", since, began[1] if began else None, level=min_share),
        late=facts.settled(share),
        early=facts.tell("{before:%}", before=facts.median(before)) if len(before) else percent(early),
        confidence=Confidence.HIGH if lost or turned(share.values >= sure_share) is not None else Confidence.MEDIUM,
        numbers={"early": early, "late": late},
    )
