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
    another row, or depends on its place; reward_relative: share whose score depends on which rows are beside it, in any order.
    """
    known = total(rewards, reward_weights)
    again = total(score(range(len(known)), {}), reward_weights)
    order = np.argsort(np.nan_to_num(known))
    rows = sorted({int(order[k]) for k in np.linspace(0, len(order) - 1, ALONE).round().astype(int)})
    alone = np.array([float(total(score([i], {}), reward_weights)[0]) for i in rows])
    places, back = _elsewhere(prompts, len(known)), np.empty(len(known))
    back[places] = total(score(places, {}), reward_weights)
    differs, placed = ~_same(again, known), ~_same(back, known)
    apart = np.zeros_like(differs)
    apart[rows] = ~_same(alone, known[rows])
    shuffled = bool(differs.any()) and bool(_same(np.sort(again), np.sort(known)).all())
    found: dict[str, Reading] = {"reward_noisy": 0.0, "reward_moved": 0.0, "reward_relative": 0.0}
    for name, wrong, of, scored in (
        ("reward_moved" if shuffled else "reward_noisy", differs, len(known), again),
        ("reward_moved", placed, len(known), back),
        ("reward_relative", apart, len(rows), dict(zip(rows, alone, strict=True))),
    ):
        if wrong.any():
            i = int(np.argmax(wrong))
            said = row(i, prompts, f" got {known[i]:.4g} in the batch and {scored[i]:.4g} when it was scored again")
            return found | {name: (float(wrong.sum()) / of, said)}
    return found


def _elsewhere(prompts: Sequence[str] | None, n: int) -> list[int]:
    """The rows in another order, those of a prompt side by side: some functions divide by the number of groups."""
    draw = np.random.default_rng(0)
    keys = {prompt: draw.random() for prompt in prompts or ()}
    return sorted(draw.permutation(n).tolist(), key=lambda i: keys[prompts[i]] if prompts else 0.0)


def _same(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.asarray(np.isclose(a, b, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True))
