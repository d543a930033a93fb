"""Does the reward of a step pay for that step, or for an earlier one?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from firstbreak.model import NotApplicable, NotMeasured
from firstbreak.preflight import Answer, timing, warning
from firstbreak.preflight.env.contract import no_reward
from firstbreak.preflight.env.episodes import Episode
from firstbreak.words import percent

NOISE = 0.02  #: share of the variance: less is what a fit on other rows explains of noise (convention)
MAX_WIDTH = 2000  #: numbers of a step: more are not even kept to see which of them move (convention)


def reward_timing(episodes: Sequence[Episode], env: Any) -> Answer:
    """The step that explains a reward best is its own."""
    from gymnasium.spaces.utils import flatdim

    if any(no_reward(r) for e in episodes for r in e.rewards):
        return NotMeasured("needs rewards that are numbers")
    try:
        width = 2 * flatdim(env.observation_space) + flatdim(env.action_space)
    except (NotImplementedError, ValueError):
        return NotApplicable("the spaces cannot be written as one vector")
    if width > MAX_WIDTH:
        return NotMeasured("observations are too large for a fit")
    played = [e for e in episodes if e.rewards]
    try:
        parts = [_flat(env.observation_space, [o for e in played for o in e.observations[:-1]]),
                 _flat(env.action_space, [a for e in played for a in e.actions]),
                 _flat(env.observation_space, [o for e in played for o in e.observations[1:]])]  # fmt: skip
    except (ValueError, TypeError, KeyError, IndexError):
        return NotMeasured("needs observations that are in their space")
    if not all(np.isfinite(part).all() for part in parts):
        return NotMeasured("needs finite observations")
    if width > timing.MAX_COLUMNS:  # of a small picture most cells stay empty, or are one number many times
        parts = [np.unique(part[:, np.ptp(part, axis=0) > 0], axis=1) for part in parts]
    numbers = np.repeat(np.arange(len(played)), [len(e.rewards) for e in played])
    found = timing.fits(parts, np.array([float(r) for e in played for r in e.rewards]), numbers)
    if isinstance(found, str):
        return NotMeasured(found)
    shift, own = found.best, found.explained(0)
    steps = f"{abs(shift)} step{'s' * (abs(shift) > 1)}"
    if shift > 0:
        return warning(
            f"the reward comes {steps} late: what happened then explains {percent(found.explained(shift))} of it, "
            f"and its own step {percent(own)}: it is credited to the wrong actions; return the reward of the step that earned it",
            late=shift,
        )
    if shift < 0:
        return warning(
            f"the reward belongs to what is seen {steps} later, which explains {percent(found.explained(shift))} of it, "
            f"and its own step {percent(own)}: observations or actions come late; return the state after the step",
            late=shift,
        )
    rewards = np.array([float(r) for e in played for r in e.rewards])
    if len(np.unique(rewards)) > len(rewards) / 2 and max(map(found.explained, found.halves[0])) < NOISE:
        return warning(
            "no observation or action explains the reward of a step, or of one near it: it is noise to a policy, which can only "
            "learn how long an episode lasts; print the parts of the reward beside the observation"
        )
    return f"the step of a reward explains {percent(own)} of it, and no other step explains clearly more"


def _flat(space: Any, values: Sequence[Any]) -> np.ndarray:
    from gymnasium.spaces.utils import flatten

    return np.stack([np.asarray(flatten(space, value), float) for value in values])
