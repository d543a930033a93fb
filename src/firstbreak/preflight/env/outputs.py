"""The actions that an expert or a policy really gives, held against the action space."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from firstbreak.model import NotMeasured
from firstbreak.preflight import Answer, critical, notice, warning
from firstbreak.preflight.env import contract
from firstbreak.preflight.env.episodes import Policy, short
from firstbreak.words import number, percent

KEPT = 5000  #: actions (convention)
FAR = 1.5  #: in half ranges, exceeded by a quarter of the actions: a Gaussian of standard deviation 1 in [-1, 1] stays below
SMALL = 0.02  #: in half ranges: three quarters of the actions are smaller (convention)


class Watched:
    """A policy whose first actions are kept."""

    def __init__(self, policy: Policy) -> None:
        self.policy = policy
        self.actions: list[Any] = []

    def __call__(self, observation: Any, info: Any) -> Any:
        """Acts as the policy does."""
        action = self.policy(observation, info)
        if len(self.actions) < KEPT:
            self.actions.append(np.copy(action) if isinstance(action, np.ndarray) else action)
        return action


def inside(actions: Sequence[Any], space: Any, whose: str) -> Answer:
    """The actions are members of the space, and use its range."""
    from gymnasium import spaces

    if not actions:
        return NotMeasured(f"{whose} gave no action")
    match space:
        case spaces.Discrete():
            return _discrete(actions, space, whose)
        case spaces.Box():
            return _box(actions, space, whose)
    wrong = [problem for action in actions if (problem := contract.why_not(space, action))]
    if wrong:
        return critical(
            f"{len(wrong)} of {len(actions)} actions of {whose} are not in the action space: {wrong[0]}; return members of it"
        )
    return f"{len(actions)} actions of {whose}, all in the space"


def _discrete(actions: Sequence[Any], space: Any, whose: str) -> Answer:
    wrong = [action for action in actions if not _member(action, space)]
    if wrong:
        return critical(
            f"{len(wrong)} of {len(actions)} actions of {whose} are not in the action space {space}, first {short(wrong[0])}: "
            "what the environment makes of these is chance (a truth value, a rounded number); return an int of the space"
        )
    return f"{len(actions)} actions of {whose}, all in {space}"


def _member(action: Any, space: Any) -> bool:
    value = np.asarray(action)
    whole = value.size == 1 and value.dtype.kind in "iub"
    return whole and bool(space.start <= int(value.reshape(())) < space.start + space.n)


def _box(actions: Sequence[Any], space: Any, whose: str) -> Answer:
    try:
        table = np.stack([np.asarray(action, float).reshape(space.shape) for action in actions])
    except (TypeError, ValueError):
        return critical(
            f"the actions of {whose} cannot be read as the action space {space}: {short(actions[0])}; return an array of shape "
            f"{space.shape}"
        )
    if not np.isfinite(table).all():
        return critical(f"{whose} gives actions that are not finite: {short(actions[0])}; look for a division by 0")
    if not (np.isfinite(space.low).all() and np.isfinite(space.high).all()) or (space.low == space.high).any():
        return NotMeasured("the action space has no finite range")
    half = (space.high - space.low) / 2
    reach = np.abs(table - (space.high + space.low) / 2) / half
    outside = float(np.mean((reach > 1 + 1e-6).reshape(len(table), -1).any(axis=1)))
    typical, most = float(np.quantile(reach, 0.75)), float(reach.max())
    said = f"{percent(outside)} of {len(table)} actions of {whose} leave the action space, by up to {number(most)} half ranges"
    if typical > FAR:
        return warning(
            f"{said}: what is executed is the bound, whatever the policy wants, and log-probabilities belong to other actions; "
            "squash the output (tanh) and rescale it to the space",
            outside=outside,
            reach=most,
        )
    if outside:
        return notice(f"{said}: they are clipped by the environment or the trainer, or not at all; clip them yourself")
    if typical < SMALL:
        return notice(
            f"three quarters of the actions of {whose} are below {percent(typical)} of the range of the action space: right for "
            "a policy at its start, else its output is in another unit"
        )
    return f"{len(table)} actions of {whose}, all in the space; three in four are below {percent(typical)} of its range"
