"""Advantages and critic targets are what rewards, values and ends of episodes give, step by step."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.hooks.firstbreak_loop import advantages
from firstbreak.live.recorder.identities._estimates import TOLERANCE, distance, size_of, target
from firstbreak.live.recorder.measuring import Reading

SAME = 0.9999  #: correlation
ROW = "row {at[1]}: step {at[0]}"


def measure(
    step_advantages: np.ndarray,
    step_rewards: np.ndarray,
    step_values: np.ndarray,
    ended: np.ndarray,
    last_values: np.ndarray,
    gamma: float,
    gae_lambda: float,
    step_targets: np.ndarray | None = None,
    begun: np.ndarray | None = None,
    ended_else: np.ndarray | None = None,
    cut: np.ndarray | None = None,
) -> Mapping[str, Reading]:
    """All arrays (T, n): T steps of n environments; `last_values` (n,): after the last step.

    `ended`: 1 where the step ended an episode, `begun`: where it began one. `step_targets`: of the critic. `ended_else`: the
    ends in another reading of what is stored; two_readings: their share of the steps, where only in this one all is right.
    `cut`: 1 where a time limit ended an episode, if the environment was seen. A loop may add the value of the last state there,
    which is not given: a difference that one value at each such end explains is none. Targets are the advantages plus the
    values, or the sums of the rewards.
    """
    if not all(np.isfinite(values).all() for values in (step_advantages, step_rewards, step_values)):
        return {}

    def estimated(ends: np.ndarray) -> np.ndarray:
        return advantages(step_rewards, step_values, last_values, ends, gamma, gae_lambda)

    def fits(ends: np.ndarray, first: int = 0) -> bool:
        return distance(step_advantages[first:], estimated(ends)[first:]) <= TOLERANCE

    # whether the first step began an episode, which only its own estimate shows
    guessed = int(begun is None and len(ended) > 1)
    begun = _later(ended) if begun is None else begun
    late = [begun, np.concatenate([begun[:-1], ended[-1:]])]
    found: dict[str, Reading] = {}
    if ended_else is not None:
        late.append(_later(ended_else))
        found["two_readings"] = 0.0
        if fits(ended_else) and not fits(ended):
            said = "the advantages are right if `dones[t]`, and not `dones[t + 1]`, says that step t ended"
            ended = ended_else
            found["two_readings"] = float((ended != 0).mean()), said
    own = estimated(ended)
    through = not fits(ended) and (fits(np.zeros_like(ended)) or any(fits(ends, guessed) for ends in late))
    open_ = ended * (0.0 if through else 1.0 if cut is None else cut)
    step_advantages = _bootstrapped(step_advantages, own, ended, open_, gamma * gae_lambda)
    found |= _compared(step_advantages, own)
    if (ended[:-1] != 0).any() or ((ended[-1] != 0) & (last_values != 0)).any():
        found["through_ends"] = _ends_named(ended) if through else 0.0
    if step_targets is not None:
        sums = advantages(step_rewards, np.zeros_like(step_values), last_values, ended, gamma, 1.0)
        made = [(own + step_values, gamma * gae_lambda), (sums, gamma)]
        errors = [target(_bootstrapped(step_targets, one, ended, open_, decay), one, ROW) for one, decay in made]
        found |= min(filter(None, errors), key=lambda error: size_of(error["target_error"]), default={})
    return found


def _bootstrapped(given: np.ndarray, own: np.ndarray, ended: np.ndarray, open_: np.ndarray, decay: float) -> np.ndarray:
    """Without what one value that is added at each of the `open_` ends explains, if that is all of the difference.

    A value added at step t counts decay ** k for the step k before it, back to the end before.
    """
    rest = given - own
    if distance(given, own) <= TOLERANCE or not open_.any():
        return given
    for i in range(rest.shape[1]):
        begin = 0
        for at in map(int, np.flatnonzero(ended[:, i])):
            if open_[at, i]:
                part, weight = rest[begin : at + 1, i], decay ** np.arange(at - begin, -1.0, -1.0)
                part -= weight * (part @ weight) / (weight @ weight)
            begin = at + 1
    return own + rest if distance(own + rest, own) <= TOLERANCE else given


def _later(ends: np.ndarray) -> np.ndarray:
    return np.concatenate([np.zeros_like(ends[:1]), ends[:-1]])


def _compared(given: np.ndarray, own: np.ndarray) -> dict[str, Reading]:
    error = distance(given, own)
    found: dict[str, Reading] = {"advantage_turned": 0.0, "advantage_moved": 0.0, "advantage_error": error}
    if error <= TOLERANCE:
        return found
    off, near = np.abs(given - own), TOLERANCE * max(float(np.abs(own).max()), 1e-12)
    t, i = np.unravel_index(int(np.argmax(off)), off.shape)
    said = f"row {i}: step {t} has the advantage {given[t, i]:.4g}, and from rewards and values {own[t, i]:.4g}"
    negated = np.ptp(given) and np.ptp(own) and np.corrcoef(given.ravel(), own.ravel())[0, 1] < -SAME
    if negated or np.allclose(given, np.abs(own), atol=near):
        found["advantage_turned"] = float((np.sign(given) == -np.sign(own)).mean()), said
    elif np.allclose(np.sort(given, None), np.sort(own, None), atol=near):
        found["advantage_moved"] = float((off > near).mean()), said
    return found | {"advantage_error": (error, said)}


def _ends_named(ended: np.ndarray) -> Reading:
    t, i = np.argwhere(ended != 0)[0]
    return float((ended != 0).sum()), f"row {i}: step {t} ends an episode, and what follows it is added"
