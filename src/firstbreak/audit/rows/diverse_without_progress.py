"""Behaviour is diverse, and no progress is made.

The policy tries many strategies, the reward stays where it was, and no strategy is paid more than another: exploration is
there, and the reward does not tell what it finds apart. Harmless where the reward is at its best already.
"""

import numpy as np

from firstbreak.audit.rows import AuditInputs, Found
from firstbreak.audit.table import REWARD
from firstbreak.engine.checks import seen_as, warning
from firstbreak.engine.stats.direction import falls, rises
from firstbreak.model import Confidence, Link, NotMeasured, Series
from firstbreak.words import number, percent

LINK = Link.EXPLORATION
FEWEST = 20  #: steps: fewer show no course of the reward
SHARE = 0.4  #: effective number of strategies, of the samples of a step
TOLD = 0.1  #: correlation of the reward with a behaviour
MATERIAL = 0.5  #: of the spread of the rewards: a smaller move of their mean is no progress
SMALL = 0.15  #: spread of the late rewards, of their mean: a reward that is nearly constant tells nothing apart


def examine(evidence: AuditInputs) -> Found:
    curve = evidence.table.curve(REWARD)
    reward = Series(name=f"samples.{REWARD}", steps=curve.steps, values=curve.mean)
    found = evidence.diversity
    if found is None or len(reward) < FEWEST:
        return NotMeasured(f"needs {FEWEST} steps with rewards to show whether diversity leads anywhere")
    kept = [sample for _, row in evidence.table.late() for sample in row.kept if sample.reward is not None]
    sizes = [len(row.kept) for _, row in evidence.table.late()]
    strategies = float(np.median(found.strategies.tail(0.25).values))
    if strategies < max(3.0, SHARE * float(np.median(sizes))) or len(kept) < 2 * FEWEST:
        return None
    rewards = np.array([sample.reward for sample in kept])
    spread, level = float(rewards.std()), float(rewards.mean())
    moved = abs(float(reward.tail(0.25).values.mean() - reward.head(0.25).values.mean()))
    if (moved > MATERIAL * spread and (rises(reward) or falls(reward))) or any(map(rises, evidence.answers.values())):
        return None
    if spread > SMALL * abs(level) or any(s.in_group and s.in_group.sure > TOLD for s in evidence.sides.values()):
        return None
    return warning(
        f"behaviour stays diverse ({number(strategies)} strategies in effect at a step) and the reward stays at "
        f"{number(level)} with a spread of {percent(spread / abs(level))}: no strategy is paid more than another. "
        "Score by hand a good and a bad completion of one prompt: the reward must tell them apart",
        seen_as("samples.strategies", float(reward.steps[0])),
        confidence=Confidence.MEDIUM,
        numbers={"strategies": strategies, "reward": level, "spread": spread},
    )
