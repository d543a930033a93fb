"""What an environment and an advantage estimate do, measured on the transitions that a training collects anyway.

While the policy stands still none of these numbers may drift, and some have a level of their own. numpy only.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

WINDOW = 128  #: steps of all environments that one description rests on
LAGS = 8  #: an action that shows, shows within so many steps
CLEAR = 0.9  #: share explained at once, of which no later step needs to be looked at
SEEN = 0.2  #: share from which on an action has an effect that can be followed
FREE = 0.05  #: of its size that an action has to vary by itself, for its effect to be told from the state's
COMPONENTS = 16  #: of an observation that are looked at, evenly spread over it
CHOICES = 32  #: more discrete actions than these are taken for one number


class Transitions:
    """Collects the steps of a vectorised environment, and describes each `WINDOW` of them."""

    def __init__(self) -> None:
        self.steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  #: observation, action, done
        self.rewards: list[float] = []  #: of the running window
        self.ages: Any = 0  #: steps of each running episode, shape (environments,)
        self.limit = 0  #: longest episode that a time limit has ended
        self.early = 0  #: episodes that a time limit has ended before that
        self.mover: int | None = None  #: the component that actions moved most, when they first moved any

    def add(
        self, before: Any, actions: Any, dones: np.ndarray, infos: Sequence[Any], rewards: Any = ()
    ) -> dict[str, float]:
        """One step of all environments; the description of the window that it completes, else nothing."""
        self.rewards.extend(np.ravel(rewards).tolist())
        self.ages = self.ages + np.ones(len(dones), dtype=int)
        limited = [bool(done and info.get("TimeLimit.truncated")) for done, info in zip(dones, infos, strict=True)]
        self.limit = max([self.limit, *self.ages[limited].tolist()])
        self.early += int((self.ages[limited] < self.limit).sum())
        self.ages[dones] = 0
        self.steps.append((_columns(before), _features(actions), dones.copy()))
        if len(self.steps) <= WINDOW:
            return {}
        described = self._described() | {"limits_early": float(self.early)}
        if self.rewards:
            earned = np.array(self.rewards)
            described |= {"step_reward": float(earned.mean()), "reward_size": float(np.sqrt((earned**2).mean()))}
        self.steps, self.early, self.rewards = [], 0, []
        return described

    def _described(self) -> dict[str, float]:
        seen, acted, done = (np.stack(part) for part in zip(*self.steps, strict=True))
        changes, acted, done = np.diff(seen, axis=0), acted[:-1, :, acted.any((0, 1))], done[:-1]
        starts = seen[1:][done]
        told = {"observation_constant": float((seen.reshape(-1, seen.shape[-1]).std(0) == 0).mean())}
        if len(starts) >= 4:
            told["start_spread"] = float(np.sqrt((starts.std(0) ** 2).mean()))
        if not _free(seen[:-1], acted):
            return told
        at_once, effect = _lagged(seen[:-1], changes, acted, done, 0)
        later = (_lagged(seen[:-1], changes, acted, done, lag)[0] for lag in range(1, LAGS))
        told["action_shown_at_once"] = told["action_shown"] = float(at_once.max())
        if told["action_shown"] < CLEAR:
            told["action_shown"] = max(told["action_shown"], *(float(share.max()) for share in later))
        if self.mover is None and at_once.max() > SEEN:
            self.mover = int(at_once.argmax())
        return told if self.mover is None else told | {"action_effect": float(effect[self.mover])}


def _free(seen: np.ndarray, acted: np.ndarray) -> bool:
    """Whether actions are more than the state says: what a policy does that is certain of itself cannot be told from it."""
    known = np.column_stack([np.ones(seen.shape[0] * seen.shape[1]), seen.reshape(-1, seen.shape[-1])])
    chosen = acted.reshape(len(known), -1)
    left = _rest(chosen, known)
    return bool((left**2).mean() > FREE**2 * (chosen**2).mean())


def _lagged(
    before: np.ndarray, change: np.ndarray, acted: np.ndarray, done: np.ndarray, lag: int
) -> tuple[np.ndarray, np.ndarray]:
    """How the observation changes with the action of `lag` steps ago: (share explained, effect) of each component."""
    n = len(done) - lag
    alive = ~np.any([done[i : i + n] for i in range(lag + 1)], axis=0)  # no episode ended in between
    known = np.column_stack([np.ones(int(alive.sum())), before[lag:][alive]])
    change, acted = _rest(change[lag:][alive], known), _rest(acted[:n][alive], known)
    effect = np.linalg.lstsq(acted, change, rcond=None)[0]
    total, spare = (change**2).sum(0), max(1, len(change) - known.shape[1] - acted.shape[1])
    unexplained = ((change - acted @ effect) ** 2).sum(0) / np.where(total > 0, total, 1)
    share = np.maximum(0.0, 1 - unexplained * (len(change) - known.shape[1]) / spare)  # of chance alone, 0 on average
    return np.where(total > 1e-12, share, 0.0), effect[0]


def _rest(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """What is left of the values when all that is linear in the known is taken away."""
    return np.asarray(values - known @ np.linalg.lstsq(known, values, rcond=None)[0])


def _columns(observation: Any) -> np.ndarray:
    """Numbers of an observation, shape (environments, at most COMPONENTS); the first part of one that is a dict."""
    first = next(iter(observation.values())) if isinstance(observation, dict) else observation
    flat = np.asarray(first, dtype=float).reshape(len(first), -1)
    return flat[:, np.unique(np.linspace(0, flat.shape[1] - 1, COMPONENTS).astype(int))].copy()


def _features(actions: Any) -> np.ndarray:
    """Actions as numbers, shape (environments, features): discrete ones as one column for each choice."""
    given = np.asarray(actions)
    if given.ndim == 1 and given.dtype.kind in "iu" and given.max() < CHOICES:
        return np.asarray(np.eye(CHOICES)[given])
    return given.reshape(len(given), -1).astype(float)


def advantages(
    rewards: np.ndarray, values: np.ndarray, last: np.ndarray, dones: np.ndarray, gamma: float, decay: float
) -> np.ndarray:
    """Generalised advantage estimates (arXiv:1506.02438), all of shape (steps, environments), `last` (environments,)."""
    found, ahead, following = np.zeros_like(rewards), np.zeros_like(last), last
    for t in reversed(range(len(rewards))):
        alive = 1.0 - dones[t]
        ahead = rewards[t] + gamma * alive * following - values[t] + gamma * decay * alive * ahead
        found[t], following = ahead, values[t]
    return found


def compared(held: np.ndarray, own: np.ndarray) -> dict[str, float]:
    """Advantages that a trainer holds against those worked out again: relative error, and the share that is turned round."""
    size = float(np.sqrt((own**2).mean())) or 1.0
    return {
        "advantage_error": float(np.sqrt(((held - own) ** 2).mean())) / size,
        "advantage_turned": float((np.abs(held + own) < 1e-3 * np.abs(own)).mean()),
    }
