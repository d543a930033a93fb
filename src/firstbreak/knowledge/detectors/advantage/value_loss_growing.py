"""The value loss grows and does not come back.

Looks for: A value loss that leaves its level, wherever in the run, and ends at least `growth_warning` times as high,
while the score does not rise.
Why: The targets of the critic grow faster than the critic can learn them. Its values become noise. Where policy and
critic share layers or one gradient clip, the gradient of the critic leaves little to the policy.
False alarm: Returns that grow because the policy improves: the loss grows with the square of the values. A score at its
highest possible value. The first updates, when the critic begins at zero.
Fix:
- Scale rewards down or normalise returns; lower {gamma}.
- Lower the critic's learning rate; clip its gradient separately from the policy's.
- For DQN-like methods: update the target network less often ({target_update_interval}).
Experiment: Freeze the policy and one batch of rollouts, and train the critic alone. If the loss still grows, the target
is wrong.
References: https://arxiv.org/abs/1812.02648
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, seen_since, warning
from firstbreak.engine.stats.changes import changes
from firstbreak.engine.stats.direction import departure, rises
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Finding, Series

HARMED = frozenset({"peaked", "collapsed", "declining", "flat", "oscillating"})


def detect(
    value_loss: Series,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    score: Series | None = None,
    *,
    growth_warning: float = at(5.0, "ratio", "A smaller growth occurs while the policy improves."),
    min_points: int = at(20, "points", "Fewer points do not show a growth that lasts."),
) -> Finding | None:
    loss = enough(value_loss.finite, min_points, "values of the critic's loss")
    if solved or (trajectory is not None and trajectory.kind not in HARMED) or loss.values.min() <= 0:
        return None
    grown = (c for c in changes(loss, kinds=("level", "slope"), log=True) if c.direction > 0 and c.lasting)
    if jump := next(grown, None):
        since, past = (jump.step, jump.interval), facts.settled(loss, jump.step)
    elif rises(loss) and (left := departure(loss)):
        # as smooth as a healthy curve: against what it was for half of the run
        since, past = left, facts.median(loss.head(0.5))
    else:
        return None
    now = facts.settled(loss)
    early, late = past.value, now.value
    if late < growth_warning * early:
        return None
    judged = score if trajectory is not None else None
    beside = f"{judged.name} did not rise" if judged is not None else "no score shows whether returns grew too"
    return warning(
        "the value loss grew by a factor of {times}, from {early} to {late}, and {beside}: the critic's targets may be "
        "wrong; check the scale of returns and the bootstrap target",
        seen_since(value_loss, "value loss", *since),
        times=facts.times(now, past),
        early=past,
        late=now,
        beside=beside,
        confidence=Confidence.MEDIUM if trajectory is not None else Confidence.LOW,
        numbers={"growth": late / early},
    )
