"""A row of a replay buffer is a step that the environment made: its action, its reward, what came next and whether it ended."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.identities.executed import actions_apart
from firstbreak.live.recorder.measuring import Reading

MIN_ROWS = 16
AHEAD = 64  #: steps: targets of several steps have a later observation (convention)
DISTINCT = 0.95  #: share of the observations: of a task with fewer, older steps may have had the same (convention)
_MIXED = np.random.default_rng(0).integers(1, 2**63, 4096, dtype=np.uint64) | np.uint64(1)


def measure(
    row_obs: np.ndarray,
    past: Mapping[str, np.ndarray],
    row_actions: np.ndarray | None = None,
    row_next: np.ndarray | None = None,
    td_rewards: np.ndarray | None = None,
    td_ended: np.ndarray | None = None,
) -> Mapping[str, Reading]:
    """`row_obs` and `row_next` (m, d), `row_actions` (m, k), the others (m,); `past`: the last steps of the environment
    (T, n, ...), `whole` where no step was made before these.

    Rows are found again by their observation, where it was seen once, and older steps have no such ones; observations that are
    scaled are not found, and nothing is said. row_other: share of the rows that are all one, or whose next observation came
    before theirs, long after or to another copy; next_begun: of the rows that a time limit ended, and that are stored as no end,
    the share with the next episode's first observation; end_missed, action_other, reward_moved: as of a rollout."""
    seen, after = past.get("obs"), past.get("after")
    if len(row_obs) < MIN_ROWS or seen is None or after is None or seen.shape[-1] != row_obs.shape[-1]:
        return {}
    shown = _keys(seen)
    different = len(np.unique(shown)) / len(shown)
    if not np.ptp(row_obs, axis=0).any() and different > 0.5:
        return {
            "row_other": (1.0, f"all {len(row_obs)} rows have one observation: look for an array that is overwritten")
        }
    if not past["whole"].all() and different < DISTINCT:
        return {}
    copies, at = seen.shape[1], _places(_keys(row_obs), shown)
    known = np.flatnonzero(at >= 0)
    if len(known) < MIN_ROWS:
        return {}
    at, flat = at[known], {name: table.reshape(-1, *table.shape[2:]) for name, table in past.items() if name != "whole"}
    found: dict[str, Reading] = {}
    if row_actions is not None and "action" in flat and flat["action"].shape[-1] == row_actions.shape[-1]:
        found["action_other"] = actions_apart(row_actions[known], flat["action"][at])
    ended = np.zeros(len(at), bool) if td_ended is None else td_ended[known] != 0
    failed = flat["failed"][at] != 0
    limited = (flat["cut"][at] != 0) & ~failed & ~ended
    missed = failed & ~ended
    if row_next is not None:
        own = _keys(row_next[known])
        came = _places(own, _keys(after))
        off = came // copies - at // copies
        there = (came >= 0) & ~ended
        other = there & ((came % copies != at % copies) | (off < 0) | (off > AHEAD))
        # what began after an end is the next step's observation, of the same copy
        begun = limited & (own == shown[np.minimum(at + copies, len(shown) - 1)])
        begun &= own != _keys(flat["after"][at])
        if limited.any():
            said = f"row {known[int(np.argmax(begun))]}: its next observation is the first one of the next episode"
            found["next_begun"] = (float(begun.sum() / limited.sum()), said) if begun.any() else 0.0
        if (there & ~begun).sum() >= MIN_ROWS:
            share = float((other & ~begun).sum() / (there & ~begun).sum())
            said = f"row {known[int(np.argmax(other))]}: its next observation came before its own, or long after, or elsewhere"
            found["row_other"] = (share, said) if share else 0.0
        same = (came == at) & there
        if td_rewards is not None and same.sum() >= MIN_ROWS and np.ptp(flat["reward"]) > 0:
            found["reward_moved"] = _of_others(td_rewards[known][same], flat["reward"][at][same], flat["reward"])
    if td_ended is not None and failed.any():
        said = f"row {known[int(np.argmax(missed))]}: its step terminated an episode, and no end is stored"
        found["end_missed"] = (float(missed.sum() / failed.sum()), said) if missed.any() else 0.0
    return found


def _of_others(stored: np.ndarray, own: np.ndarray, every: np.ndarray) -> Reading:
    """The share of rewards that are not the step's, where all are rewards of the environment: others are scaled or shaped."""
    apart = ~np.isclose(stored, own, rtol=1e-4, atol=1e-6)
    if not apart.any() or not np.isin(stored.astype(np.float32), every).all():
        return 0.0
    i = int(np.argmax(apart))
    return float(
        apart.mean()
    ), f"a step was given the reward {own[i]:.4g} by the environment, and {stored[i]:.4g} is stored"


def _keys(rows: np.ndarray) -> np.ndarray:
    """A number for each row (..., d), equal where the rows are, in single precision."""
    bits = np.ascontiguousarray(rows, np.float32) + np.float32(0)  # -0 is 0
    flat = bits.reshape(-1, rows.shape[-1]).view(np.uint32).astype(np.uint64)
    with np.errstate(over="ignore"):
        mixed = flat * _MIXED[: flat.shape[1]]
        return np.asarray((mixed ^ (mixed >> np.uint64(29))).sum(1))


def _places(keys: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Where each key stands among others; -1 where it does not, or more than once."""
    values, first, times = np.unique(among, return_index=True, return_counts=True)
    i = np.searchsorted(values, keys).clip(max=len(values) - 1)
    return np.where((values[i] == keys) & (times[i] == 1), first[i], -1)
