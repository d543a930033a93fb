"""The same completion gets the same reward: in a second call, and alone."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import row, total
from firstbreak.live.recorder.identities.preferred_texts import Score
from firstbreak.live.recorder.measuring import Reading

TOLERANCE = 1e-4
ALONE = 6  #: completions that are scored by themselves


def measure(
    score: Score, rewards: np.ndarray, reward_weights: np.ndarray | None = None, prompts: Sequence[str] | None = None
) -> Mapping[str, Reading]:
    """`score(rows, other)` scores these rows of the batch once more, with other texts where they are given, shape (m, k).

    reward_noisy: share of the completions that a second call scores otherwise; reward_moved: share whose score is that of
    another row, or depends on the rows beside it.
    """
    known = total(rewards, reward_weights)
    again = total(score(range(len(known)), {}), reward_weights)
    order = np.argsort(np.nan_to_num(known))
    rows = sorted({int(order[k]) for k in np.linspace(0, len(order) - 1, ALONE).round().astype(int)})
    groups = [[j for j in range(len(known)) if prompts and prompts[j] == prompts[i]] or [i] for i in rows]
    alone = np.array([_alone(score, i, group, reward_weights) for i, group in zip(rows, groups, strict=True)])
    differs, apart = ~_same(again, known), ~_same(alone, known[rows])
    found: dict[str, Reading] = {"reward_noisy": 0.0, "reward_moved": 0.0}
    if not apart.any() and not differs.any():
        return found
    i = rows[int(np.argmax(apart))] if apart.any() else int(np.argmax(differs))
    scored = alone[rows.index(i)] if apart.any() else again[i]
    said = row(i, prompts, f" got {known[i]:.4g} in the batch and {scored:.4g} when it was scored again")
    shuffled = bool(differs.any()) and bool(_same(np.sort(again), np.sort(known)).all())
    repeats = not differs.any()
    if shuffled or repeats:
        share = float(apart.mean()) if repeats else float(differs.mean())
        return found | {"reward_moved": (share, said)}
    return found | {"reward_noisy": (float(differs.mean()), said)}


def _alone(score: Score, i: int, group: Sequence[int], weights: np.ndarray | None) -> float:
    """The reward of a completion by itself, or with those of its prompt: some functions divide by the number of groups."""
    try:
        return float(total(score([i], {}), weights)[0])
    except Exception:  # the user's own function; what it raises for its whole group is told by who asks
        return float(total(score(group, {}), weights)[group.index(i)])


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.isclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
