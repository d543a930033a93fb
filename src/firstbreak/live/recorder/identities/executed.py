"""The actions, rewards and ends that a rollout is trained on are those of the environment, step by step."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.identities._estimates import size_of
from firstbreak.live.recorder.measuring import Reading

APART = 0.5  #: correlation of ranks: clipping, squashing and scaling keep the order of actions (convention)
MIN_ROWS = 16


def measure(
    stored_actions: np.ndarray | None = None,
    done_actions: np.ndarray | None = None,
    stored_rewards: np.ndarray | None = None,
    done_rewards: np.ndarray | None = None,
    flagged: tuple[np.ndarray, ...] | None = None,
    failed: np.ndarray | None = None,
) -> Mapping[str, Reading]:
    """All (T, n) of one rollout, actions (T, n) or (T, n, k). action_other: share of the actions that another one was executed
    for than mostly (a loop may number them in its own way); of continuous ones, 1 where they are not related.
    reward_moved: share of the rewards that are the environment's in another order. end_missed: share of the terminations
    (`failed`) that are no end in any of the readings `flagged` of what is stored."""
    found: dict[str, Reading] = {}
    if stored_actions is not None and done_actions is not None and stored_actions.shape == done_actions.shape:
        found["action_other"] = actions_apart(stored_actions, done_actions)
    if stored_rewards is not None and done_rewards is not None and np.ptp(done_rewards) > 0:
        found["reward_moved"] = _moved(stored_rewards, done_rewards)
        if size_of(found["reward_moved"]) > 0 and size_of(found.get("action_other", 0.0)) > 0:
            return {}  # these are other steps, and each may be right
    if flagged is not None and failed is not None and (failed != 0).any():
        missed = min(((failed != 0) & (ends == 0) for ends in flagged), key=np.count_nonzero)
        t, k = np.argwhere(missed)[0] if missed.any() else (0, 0)
        said = f"row {k}: step {t} terminated an episode in the environment, and no end is stored there"
        share = float(missed.sum() / (failed != 0).sum())
        found["end_missed"] = (share, said) if share else 0.0
    return found


def actions_apart(stored: np.ndarray, done: np.ndarray) -> Reading:
    """The share of the stored actions that are not the executed ones, both (T, n) or (T, n, k)."""
    if (stored == done).all():
        return 0.0
    if (stored == np.rint(stored)).all() and (done == np.rint(done)).all() and stored.ndim == 2:
        usual = {a: _most(done[stored == a]) for a in np.unique(stored)}
        apart = np.argwhere(done != np.vectorize(usual.get)(stored))
    else:
        rows = [np.argsort(np.argsort(table.reshape(len(stored), -1), 0), 0) for table in (stored, done)]
        related = [abs(float(np.corrcoef(a, b)[0, 1])) for a, b in zip(rows[0].T, rows[1].T, strict=True)]
        same = np.isclose(stored, done, rtol=1e-4, atol=1e-6)
        other = len(stored) >= MIN_ROWS and max(related) < APART and same.mean() < APART
        apart = np.argwhere(~same & np.bool_(other))
    if not len(apart):
        return 0.0
    at = tuple(int(i) for i in apart[0])
    said = f"step {at[0]}, environment {at[1]}: action {stored[at]:.4g} is stored, {done[at]:.4g} executed"
    return len(apart) / stored.size, said


def _most(values: np.ndarray) -> float:
    found, times = np.unique(values, return_counts=True)
    return float(found[np.argmax(times)])


def _near(one: np.ndarray, other: np.ndarray) -> bool:
    return bool(np.allclose(one, other, rtol=1e-4, atol=1e-6))


def _moved(stored: np.ndarray, done: np.ndarray) -> Reading:
    """Scaled, clipped and shaped rewards are left out: only the same numbers in another order are proved."""
    apart = ~np.isclose(stored, done, rtol=1e-4, atol=1e-6)
    turned = _near(stored - stored.mean(), done.mean() - done)
    reordered = _near(np.sort(stored, None), np.sort(done, None)) and not turned
    lagged = len(stored) > MIN_ROWS and (_near(stored[1:], done[:-1]) or _near(stored[:-1], done[1:]))
    if not apart.any() or not (reordered or lagged):
        return 0.0
    t, k = (int(i) for i in np.argwhere(apart)[0])
    said = f"row {k}: step {t} got the reward {done[t, k]:.4g} of the environment, and {stored[t, k]:.4g} is stored"
    return float(apart.mean()), said
