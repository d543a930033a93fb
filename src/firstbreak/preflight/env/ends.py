"""How episodes end: by the task, by a time limit, or not at all."""

from collections.abc import Sequence

import numpy as np

from firstbreak.model import NotMeasured
from firstbreak.preflight import Answer, critical, notice, warning
from firstbreak.preflight.env.episodes import Score
from firstbreak.words import number, percent

MIN_EPISODES = 5  #: episodes: fewer show no pattern in their ends (convention)
MIN_LIMIT = 10  #: steps: shorter episodes have the same length by chance (convention)
SLOW_HOURS = 3.0  #: hours for a million steps on one core: more dominate most training runs (convention)


def ends(scores: Sequence[Score]) -> Answer:
    """Episodes end, and the flag says why."""
    over = [s for s in scores if s.terminated or s.truncated]
    if not over:
        steps = sum(s.length for s in scores)
        return critical(
            f"no episode ended within {steps} random steps: no return is ever complete, so values cannot be checked against one; "
            "end the task, or add a time limit (gymnasium.wrappers.TimeLimit)",
            steps=steps,
        )
    if len(over) < MIN_EPISODES:
        return NotMeasured(f"{len(over)} episodes ended, too few to show how episodes end; raise --steps")
    lengths = np.array([s.length for s in over])
    terminated = np.array([s.terminated for s in over])
    truncated = np.array([s.truncated for s in over])
    if lengths.max() == 1:
        return warning(
            f"all {len(over)} episodes ended after their first step: unless this is a bandit, the end condition is true at the "
            "start; print what sets the condition"
        )
    both = int(np.sum(terminated & truncated))
    if both > 2 and both / len(over) > 0.2:
        return warning(
            f"{both} of {len(over)} episodes are terminated and truncated at once: trainers then treat the end as a failure "
            "and do not bootstrap; set truncated only where the time limit ended the episode"
        )
    limit, at_limit = int(lengths.max()), int(np.sum(lengths == lengths.max()))
    if not truncated.any() and limit >= MIN_LIMIT and at_limit >= 3 and at_limit / len(over) >= 0.05:
        return warning(
            f"{at_limit} of {len(over)} episodes are terminated at exactly {limit} steps, none is truncated: a time limit "
            "that is reported as a failure teaches that good states are worth nothing; report it as truncated, or put the "
            "remaining time into the observation",
            limit=limit,
        )
    if truncated.all() and np.ptp(lengths) > 0 and len(np.unique(lengths)) > len(over) / 4:
        return warning(
            f"all {len(over)} episodes are truncated, after {lengths.min()} to {limit} steps: a failure that is reported "
            "as a time limit is bootstrapped, and costs nothing; report ends by the task as terminated"
        )
    clock = f", {percent(float(truncated.mean()))} by the time limit" if truncated.any() else ""
    return f"{len(over)} random episodes of {lengths.min()} to {limit} steps{clock}"


def throughput(seconds_per_step: float) -> Answer:
    """How long the environment itself takes for a million steps."""
    hours = 1e6 * seconds_per_step / 3600
    said = f"{number(float(f'{1 / seconds_per_step:.3g}'))} steps a second on one core, random actions included"
    if hours > SLOW_HOURS:
        return notice(
            f"{said}: a million steps take {hours:.1f} hours before anything is learned; profile step(), or run copies in "
            "parallel"
        )
    return said
