"""Metrics of an environment and of the advantage estimate, from the transitions that training collects.

While the policy is constant, none of these numbers may change over time. Only numpy is needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

WINDOW = 128  #: steps of all environments in one window
LAGS = 8  #: an effect of an action is searched within this number of steps
CLEAR = 0.9  #: share explained at once from which later steps are not tested
SEEN = 0.2  #: smallest share at which an action has a measurable effect
FREE = 0.05  #: share of an action's size that must be independent of the state, to separate its effect from the state's
FAR = 10.0  #: size of a mean from which an offset is measured
COMPONENTS = 16  #: largest number of components of an observation, evenly spread
CHOICES = 32  #: more discrete actions are treated as one number


class Transitions:
    """Collects the steps of a vectorised environment, and computes metrics for each `WINDOW` of steps."""

    def __init__(self, action_space: Any = None) -> None:
        low, high = (np.asarray(getattr(action_space, end, np.nan), float) for end in ("low", "high"))
        bounded = low.size > 0 and np.isfinite(low).all() and np.isfinite(high).all() and (high > low).all()
        self.centre: Any = (high + low).ravel() / 2
        self.half: Any = (high - low).ravel() / 2 if bounded else None  #: None without a finite range
        self.steps: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []  #: observation, action, done
        self.rewards: list[float] = []  #: of the current window
        self.ages: Any = 0  #: length of each current episode, shape (environments,)
        self.limit = 0  #: longest episode that ended at a time limit
        self.early = 0  #: episodes that ended at a shorter time limit
        #: the component with the largest effect of the actions, chosen at the first effect
        self.mover: int | None = None
        #: actions of a window -> the effect of each on each component in their first window, and where it was clear
        self.effects: dict[bytes, tuple[np.ndarray, np.ndarray]] = {}
        #: (actions, components): in the first window with these actions, in the last one
        self.effect: dict[str, np.ndarray] = {}

    def add(
        self, before: Any, actions: Any, dones: np.ndarray, infos: Sequence[Any], rewards: Any = ()
    ) -> dict[str, float]:
        """Add one step of all environments. Returns the metrics if the step completes a window, otherwise nothing."""
        self.rewards.extend(np.ravel(rewards).tolist())
        limited = [bool(done and info.get("TimeLimit.truncated")) for done, info in zip(dones, infos, strict=True)]
        self.pass_over(dones, np.array(limited, dtype=bool))
        self.steps.append((_columns(before), _features(actions), dones.copy()))
        if len(self.steps) <= WINDOW:
            return {}
        described = self._described() | {"limits_early": float(self.early), "episode_age": float(np.max(self.ages))}
        if self.rewards:
            earned = np.array(self.rewards)
            described |= {"step_reward": float(earned.mean()), "reward_size": float(np.sqrt((earned**2).mean()))}
        self.steps, self.early, self.rewards = [], 0, []
        return described

    def pass_over(self, dones: np.ndarray, limited: np.ndarray, steps: int = 1) -> None:
        """Count steps of all environments without measuring them. `limited`: whose episode a time limit ended in the last one."""
        self.ages = self.ages + np.full(len(dones), steps)
        self.limit = max([self.limit, *self.ages[limited].tolist()])
        self.early += int((self.ages[limited] < self.limit).sum())
        self.ages[dones] = 0

    def _described(self) -> dict[str, float]:
        seen, acted, done = (np.stack(part) for part in zip(*self.steps, strict=True))
        actions = acted
        chosen = acted.any((0, 1))
        changes, acted, done = np.diff(seen, axis=0), acted[:-1, :, chosen], done[:-1]
        starts = seen[1:][done]
        rows = seen.reshape(-1, seen.shape[-1])
        spread, middle = rows.std(0), np.abs(rows.mean(0))
        apart = (spread > 0) & (middle > FAR)
        numbers = {
            "observation_constant": float((spread == 0).mean()),
            "observation_size": float(np.sqrt((rows**2).mean(0)).max()),
            "observation_offset": float((middle[apart] / spread[apart]).max(initial=0.0)),
            "episodes_ended": float(done.sum()),
        }
        if self.half is not None and actions.shape[-1] == len(self.half):
            numbers["action_use"] = float((np.sqrt(((actions - self.centre) ** 2).mean((0, 1))) / self.half).max())
        if len(starts) >= 4:
            numbers["start_spread"] = float(np.sqrt((starts.std(0) ** 2).mean()))
        if not _free(seen[:-1], acted):
            return numbers
        at_once, effect = _lagged(seen[:-1], changes, acted, done, 0)
        later = (_lagged(seen[:-1], changes, acted, done, lag)[0] for lag in range(1, LAGS))
        numbers["action_shown_at_once"] = numbers["action_shown"] = float(at_once.max())
        if numbers["action_shown"] < CLEAR:
            numbers["action_shown"] = max(numbers["action_shown"], *(float(share.max()) for share in later))
        numbers["action_shown_any"] = numbers["action_shown"]
        if numbers["action_shown"] < SEEN:  # an effect that depends on the state
            numbers["action_shown_any"] = max(numbers["action_shown"], _in_its_state(seen[:-1], changes, acted, done))
        if self.mover is None and at_once.max() > SEEN:
            self.mover = int(at_once.argmax())
        if self.mover is None:
            return numbers
        numbers["action_effect"] = float(effect[0, self.mover])
        first, clear = self.effects.setdefault(chosen.tobytes(), (effect, at_once > CLEAR))
        self.effect = {"first": first, "last": effect}
        both = clear & (at_once > CLEAR)  # elsewhere the effect depends on the state, in one of the two windows
        apart = np.abs(effect - first)[:, both] / np.maximum(np.abs(first).max(0)[both], 1e-12)
        return numbers | ({"action_effect_moved": float(apart.max())} if apart.size else {})


def _free(seen: np.ndarray, acted: np.ndarray) -> bool:
    """Whether actions vary independently of the state. Otherwise their effect cannot be separated from the state's."""
    known = np.column_stack([np.ones(seen.shape[0] * seen.shape[1]), seen.reshape(-1, seen.shape[-1])])
    chosen = acted.reshape(len(known), -1)
    left = _rest(chosen, known)
    return bool((left**2).mean() > FREE**2 * (chosen**2).mean())


def _lagged(
    before: np.ndarray, change: np.ndarray, acted: np.ndarray, done: np.ndarray, lag: int
) -> tuple[np.ndarray, np.ndarray]:
    """How the observation changes with the action `lag` steps before: share explained, effect of each action."""
    n = len(done) - lag
    alive = ~np.any([done[i : i + n] for i in range(lag + 1)], axis=0)  # no episode ended between
    known = np.column_stack([np.ones(int(alive.sum())), before[lag:][alive]])
    change, acted = _rest(change[lag:][alive], known), _rest(acted[:n][alive], known)
    effect = np.linalg.lstsq(acted, change, rcond=None)[0]
    total, spare = (change**2).sum(0), max(1, len(change) - known.shape[1] - acted.shape[1])
    unexplained = ((change - acted @ effect) ** 2).sum(0) / np.where(total > 0, total, 1)
    share = np.maximum(0.0, 1 - unexplained * (len(change) - known.shape[1]) / spare)  # 0 on average without an effect
    return np.where(total > 1e-12, share, 0.0), effect


def _in_its_state(before: np.ndarray, change: np.ndarray, acted: np.ndarray, done: np.ndarray) -> float:
    """The most of a component's change, or of its size, that actions and their products with the state explain."""
    scaled = (before - before.mean((0, 1))) / np.where(before.std((0, 1)) > 0, before.std((0, 1)), 1.0)
    products = (acted[..., :, None] * scaled[..., None, :]).reshape(*acted.shape[:2], -1)
    both = np.concatenate([acted, products], axis=-1)
    if both.shape[-1] * 4 > both.shape[0] * both.shape[1]:
        return 0.0
    return max(float(_lagged(before, what, both, done, 0)[0].max()) for what in (change, np.abs(change)))


def _rest(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """The residuals of the values after a linear regression on `known`."""
    return np.asarray(values - known @ np.linalg.lstsq(known, values, rcond=None)[0])


def _columns(observation: Any) -> np.ndarray:
    """Components of an observation, shape (environments, at most COMPONENTS). Of a dict, the first entry."""
    first = next(iter(observation.values())) if isinstance(observation, dict) else observation
    flat = np.asarray(first, dtype=float).reshape(len(first), -1)
    return flat[:, np.unique(np.linspace(0, flat.shape[1] - 1, COMPONENTS).astype(int))].copy()


def _features(actions: Any) -> np.ndarray:
    """Actions as numbers, shape (environments, features). Discrete actions are one-hot columns."""
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
    """Compare a trainer's advantages with recomputed ones: relative error, and the share with the opposite sign."""
    size = float(np.sqrt((own**2).mean())) or 1.0
    return {
        "advantage_error": float(np.sqrt(((held - own) ** 2).mean())) / size,
        "advantage_turned": float((np.abs(held + own) < 1e-3 * np.abs(own)).mean()),
    }
