"""The policy uses next to nothing of the range of its actions.

## What it looks for
The size of the actions over half of the range that they may have: below `max_use` in the first quarter of the run, where the
policy explores most.

Without recorded transitions: the spread of a Gaussian policy (`train/std`), or the largest actions, against the range of actions
in the configuration.

## Why it matters
Actions between -1 and 1 that nobody rescales do next to nothing in a range of 5,000.
A Gaussian policy starts with a standard deviation of 1. In a range of 1,000 that is no exploration at all: nearly all that
the environment can do is never tried, and the steps of the update are as small.

## When it is a false alarm
A policy that was trained before, and holds still; a range that is declared far too wide while only a small part makes sense.

## Fix
- Declare actions between -1 and 1, and rescale inside of the environment (gymnasium.wrappers.RescaleAction).
- Or raise the initial standard deviation (log_std_init).

## Smallest experiment
`firstbreak check env` on the environment: which share of the range does a new policy cover?

## References
https://stable-baselines3.readthedocs.io/en/master/guide/rl_tips.html
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Role, Run, Series, Severity
from firstbreak.patterns import pattern
from firstbreak.words import number

ROLES = (Role.RELATION,)
BOX = pattern(r"Box\((?:low=)?\[?(-?[\d.]+)[^,\]]*\]?, ?(?:high=)?\[?([\d.]+)(?:.*\) *\((\w+))?")
HIGH = pattern(r"action_?(?:high|max|limit|bound)$|max_?action$", re.IGNORECASE)
FAMILIES = only(Policy.CONTROL, why="only for policies that act in an environment")


def detect(
    env_action_use: Series | None = None,
    action_std: Series | None = None,
    action_max: Series | None = None,
    run: Run | None = None,
    config: Config | None = None,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    *,
    max_use: float = at(0.02, "share", "a new Gaussian policy in a range of 50 to each side"),
    min_points: int = at(4, "points", "with fewer windows no level is known"),
) -> Finding | NotMeasured | None:
    if env_action_use is None:
        highest, first = (None, "") if config is None else _range(config)
        named = (s for name, s in run.unknown.items() if first and name.startswith(first)) if run is not None else ()
        largest = action_max or next((s for s in named if s.name.rstrip(")").lower().endswith("max")), None)
        size = action_std or largest
        if size is None or highest is None or len(size.finite) < min_points:
            return NotMeasured("neither the actions, nor their spread beside a recorded range, are known")
        rising = trajectory is not None and trajectory.kind == "rising"
        return None if solved or rising else _beside(size.finite, highest, max_use)
    used = env_action_use.finite
    if len(used) < min_points:
        return NotMeasured(f"{len(used)} windows of transitions are too few (needs {min_points})")
    early = used.head(0.25)
    if float(np.max(early.values)) > max_use:
        return None
    return Finding(
        message=facts.tell(
            "at first, the actions have {most:%} of the size of their range at most: the policy explores next to nothing of what "
            "it may do; declare actions between -1 and 1, and rescale them inside of the environment",
            most=facts.highest(early),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        **seen_in(used, "size of the actions over their range", level=max_use),
        numbers={"use": float(np.max(early.values))},
    )


def _range(config: Config) -> tuple[float | None, str]:
    """Half of the range of an action that the configuration records, from its middle to each side, and the action's name."""
    for name, value in config.raw.items():
        if isinstance(value, str) and "act" in name.lower() and (box := BOX.search(value)):
            return (float(box[2]) - float(box[1])) / 2, box[3] or ""
        if HIGH.search(name) and isinstance(value, int | float) and not isinstance(value, bool) and value > 0:
            return float(value), ""
    return None, ""


def _beside(spread: Series, highest: float, max_use: float) -> Finding | None:
    """The spread of a Gaussian policy, or its largest actions, against the range of its actions."""
    if float(np.max(spread.values)) > max_use * highest:
        return None
    return Finding(
        message=facts.tell(
            "the actions {are} {spread} at most, in a range of {highest} to each side of its middle: the policy explores "
            "next to nothing of what it may do; declare actions between -1 and 1, and rescale them inside of the environment",
            are="spread by" if spread.name == "action.std" else "are",
            spread=facts.highest(spread),
            highest=number(highest),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        **seen_in(spread, "spread of the actions"),
        numbers={"use": float(np.max(spread.values)) / highest},
    )
