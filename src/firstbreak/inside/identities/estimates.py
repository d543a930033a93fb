"""Advantages and critic targets are what rewards, values and ends of episodes give, step by step."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from firstbreak.guard.hooks.firstbreak_loop import advantages
from firstbreak.inside.batch import Reading

TOLERANCE = 0.005  #: relative: single precision gives 1e-6, 16 bits 4e-3; a forgotten discount of 0.99 nearly 0.01
SAME = 0.9999  #: correlation


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
    taken: np.ndarray | None = None,
    whitened: str = "no",
) -> Mapping[str, Reading]:
    """All arrays (T, n): T steps of n environments, or tokens of n completions; `last_values` (n,): after the last step.

    `ended`: 1 where the step ended an episode, `begun`: where it began one, `taken`: where it counts. `whitened`: "batch" where
    the advantages were shifted and scaled over all steps, "scaled" where they were only scaled by a positive number.
    `step_targets`: of the critic.
    """
    used = np.ones(step_rewards.shape, bool) if taken is None else taken != 0
    given = [step_advantages[used], step_rewards[used], step_values[used]]
    if not used.any() or not all(np.isfinite(values).all() for values in given):
        return {}

    def estimated(rewards: np.ndarray, values: np.ndarray, ends: np.ndarray, last: np.ndarray) -> np.ndarray:
        return advantages(rewards, values, last, ends, gamma, gae_lambda)

    own = estimated(step_rewards, step_values, ended, last_values)
    found = _compared(step_advantages, own, used, whitened, "advantage")
    inside = bool((ended[:-1] != 0).any() or ((ended[-1] != 0) & (last_values != 0)).any())
    wrong = {name: value for name, value in found.items() if isinstance(value, tuple)}
    if inside:
        late = [] if begun is None else [begun, np.concatenate([begun[:-1], ended[-1:]])]
        others = [estimated(step_rewards, step_values, ends, last_values) for ends in (np.zeros_like(ended), *late)]
        through = wrong and any(_error(step_advantages, o, used, whitened) <= TOLERANCE for o in others)
        found["through_ends"] = _ends_named(ended) if through else 0.0
    if step_targets is not None:
        found |= _target(step_targets, own + step_values, used)
    return found


def _compared(given: np.ndarray, own: np.ndarray, used: np.ndarray, whitened: str, what: str) -> dict[str, Reading]:
    error = _error(given, own, used, whitened)
    found: dict[str, Reading] = {"advantage_turned": 0.0, "advantage_moved": 0.0, "advantage_error": error}
    if error <= TOLERANCE:
        return found
    a, b = _alike(given[used], own[used], whitened)
    off = np.zeros(given.shape)
    off[used] = np.abs(a - b)
    t, i = np.unravel_index(int(np.argmax(off)), off.shape)
    said = f"row {i}: step {t} has the advantage {given[t, i]:.4g}, and from rewards and values {own[t, i]:.4g}"
    near = TOLERANCE * max(float(np.abs(b).max()), 1e-12)
    if np.ptp(a) and np.ptp(b) and (np.corrcoef(a, b)[0, 1] < -SAME or np.allclose(a, np.abs(b), atol=near)):
        found["advantage_turned"] = float((np.sign(a) == -np.sign(b)).mean()), said
    elif np.allclose(np.sort(a), np.sort(b), atol=near):
        found["advantage_moved"] = float((np.abs(a - b) > near).mean()), said
    return found | {"advantage_error": (error, said)}


def _alike(given: np.ndarray, own: np.ndarray, whitened: str) -> tuple[np.ndarray, np.ndarray]:
    """Both, with the shift and the scale that do not matter taken off."""
    if whitened == "no":
        return given, own
    a, b = (v - v.mean() if whitened == "batch" else v for v in (given, own))
    sizes = [max(float(np.sqrt((v**2).mean())), 1e-12) for v in (a, b)]
    return a * sizes[1] / sizes[0], b


def _error(given: np.ndarray, own: np.ndarray, used: np.ndarray, whitened: str) -> float:
    """Relative distance of the advantages from their own."""
    a, b = _alike(given[used], own[used], whitened)
    return float(np.linalg.norm(a - b)) / max(float(np.linalg.norm(b)), float(np.linalg.norm(a)), 1e-12)


def _target(given: np.ndarray, own: np.ndarray, used: np.ndarray) -> dict[str, Reading]:
    off = np.abs(given - own) * used
    error = float(np.linalg.norm(off)) / max(float(np.linalg.norm(own * used)), 1e-12)
    t, i = np.unravel_index(int(np.argmax(off)), off.shape)
    said = f"row {i}: step {t} has the target {given[t, i]:.4g}, and from rewards and values {own[t, i]:.4g}"
    return {"target_error": (error, said) if error > TOLERANCE else error}


def _ends_named(ended: np.ndarray) -> Reading:
    t, i = np.argwhere(ended != 0)[0]
    return float((ended != 0).sum()), f"row {i}: step {t} ends an episode, and what follows it is added"
