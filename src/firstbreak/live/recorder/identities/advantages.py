"""Advantages are what the estimator makes of the rewards, row by row."""

import warnings
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities._rows import members, row, total
from firstbreak.live.recorder.measuring import Reading

TOLERANCE = 0.01  #: relative: single precision gives 1e-6, a reward that is kept in 16 bits 1e-3
EPSILON = 1e-4  #: TRL adds it to the standard deviation; verl adds 1e-6
SMALLEST = 0.1  #: of an advantage that says something: rounding, divided by a spread of 0, makes others (convention)
SAME = 0.9999  #: correlation
SAID = ("advantage_turned", "advantage_moved", "advantage_regrouped", "advantage_raw", "advantage_error")

Groups = Sequence[np.ndarray]


def measure(
    advantages: np.ndarray,
    rewards: np.ndarray,
    group: float | Sequence[str] | np.ndarray,
    reward_weights: np.ndarray | None = None,
    estimator: str = "group",
    scaled: str | None = None,
    penalty: np.ndarray | None = None,
    summed: np.ndarray | None = None,
    tokens: np.ndarray | None = None,
    uneven: np.ndarray | None = None,
    epsilon: float = EPSILON,
    moved: np.ndarray | None = None,
    prompts: Sequence[str] | None = None,
) -> Mapping[str, Reading]:
    """`scaled` is what the centred rewards are divided by: "group", "batch", "none"; None: a positive number for each group;
    "tokens": they are centred over all tokens once more, and divided by a positive number.

    `estimator` is one of `BASELINES`, or "functions" (each function's reward is normalised first); `penalty` (n,) is taken off
    the reward. `summed` (n,): the reward that is used, where it is not the weighted sum of the functions'. `tokens` (n,): of each
    completion. `uneven` (n,): the largest distance of a token's advantage from that of its row, which should be 0. `epsilon`:
    what is added to a standard deviation. `moved` (n,): where the batch holds the tokens of another row than the one that was
    scored.
    """
    groups = members(group, len(advantages))
    if advantages.ndim != 1 or not any(len(rows) > 1 for rows in groups):
        return {}
    summed = total(rewards, reward_weights) if summed is None else summed
    if penalty is not None:
        summed = summed - penalty
    if not np.isfinite(advantages).all() or not np.ptp(np.nan_to_num(summed)):
        return {}
    table = rewards if estimator == "functions" else None
    count = np.ones(len(summed)) if tokens is None else tokens
    kept = np.concatenate([rows for rows in groups if len(rows) > 1])  # alone in its group, a row has no baseline
    alone = np.setdiff1d(np.arange(len(summed)), kept)

    def expected(scale: str | None) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a group in which no completion was scored
            own: np.ndarray = np.nan_to_num(
                _expected(summed, table, reward_weights, groups, estimator, scale, count, epsilon)
            )
        own[alone] = 0.0
        return own

    given = advantages.copy()
    given[alone] = 0.0
    own = expected(scaled)
    used = given if scaled not in (None, "tokens") else _unscaled(given, own, groups if scaled is None else [kept])
    # of an advantage that says something
    usual = 1.0 if scaled in ("group", "batch") else float(np.ptp(np.nan_to_num(summed)))
    least = SMALLEST * usual * len(own) ** 0.5
    error = float(np.linalg.norm(used - own)) / max(float(np.linalg.norm(own)), float(np.linalg.norm(used)), least)
    if moved is not None and moved.any():  # advantages that moved as well are another order's, which is not known
        said = row(
            int(np.argmax(moved)),
            prompts,
            ": its tokens are another row's since they were scored, its advantage is not",
        )
        return {"advantage_moved": (float(moved.mean()), said)} if error <= TOLERANCE else {}
    if error <= TOLERANCE:
        return dict.fromkeys(SAID, 0.0) | {"advantage_error": error} | _apart(own, uneven, prompts)
    if _ordered(given, summed, groups):
        return {}
    scales = (scaled,) if scaled is not None else ("none", "group", "batch")
    reordered = any(_reordered(given, expected(scale)) for scale in scales)
    return _named(given, used, own, summed, groups, error, reordered=reordered, prompts=prompts)


def _ordered(given: np.ndarray, summed: np.ndarray, groups: Groups) -> bool:
    """Whether advantages rise with the rewards of their group and have a mean of 0 there: an estimator that is not known."""
    near = TOLERANCE * max(float(np.abs(given).max()), 1e-12)
    for rows in groups:
        order = np.argsort(summed[rows], kind="stable")
        steps, rises = np.diff(given[rows][order]), np.diff(summed[rows][order])
        if np.isnan(rises).any() or abs(float(given[rows].mean())) > near:
            return False
        if (steps < -near).any() or (np.abs(steps[rises == 0]) > near).any():
            return False
    return bool(np.abs(given).max() > 0)


def _apart(own: np.ndarray, uneven: np.ndarray | None, prompts: Sequence[str] | None) -> dict[str, Reading]:
    """Whether tokens of one completion have several advantages."""
    size = max(float(np.abs(own).max()), 1e-12)
    if uneven is None or float(uneven.max()) <= TOLERANCE * size:
        return {}
    i = int(np.argmax(uneven))
    said = row(i, prompts, f": its tokens' advantages differ by {uneven[i]:.4g}, and its reward is one number")
    return {"advantage_error": (float(uneven[i]) / size, said)}


def _named(
    given: np.ndarray,
    used: np.ndarray,
    own: np.ndarray,
    summed: np.ndarray,
    groups: Groups,
    error: float,
    *,
    reordered: bool,
    prompts: Sequence[str] | None,
) -> dict[str, Reading]:
    """What the wrong advantages are instead."""
    size = float(np.abs(own).max())
    near = TOLERANCE * max(size, 1e-12)
    clear = np.abs(own) > 1e-3 * max(size, 1e-12)
    turned = clear & (np.sign(own) == -np.sign(used))
    wrong = np.abs(used - own) > near
    i = int(np.argmax(wrong))
    factor = (
        ""
        if np.array_equal(given, used)
        else f" (or {given[i] / used[i] * own[i]:.4g}, scaled as it is)"
        if used[i]
        else ""
    )
    shown = row(i, prompts, f": advantage {given[i]:.4g}, from its group's rewards {own[i]:.4g}{factor}")
    negated = bool(np.corrcoef(used, own)[0, 1] < -SAME) if size and np.ptp(used) else False
    moved = reordered and not negated
    absolute = np.allclose(used, np.abs(own), atol=near)
    by_column = False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        raw = np.nan_to_num(summed - np.nanmean(summed))
        if len({len(rows) for rows in groups}) == 1:  # the batch was laid out the other way round
            columns = _expected(summed, None, None, list(np.stack(groups).T), "group", "group", np.ones(len(used)))
            by_column = np.allclose(used, np.nan_to_num(columns), atol=near)
    alike = bool(np.corrcoef(used, raw)[0, 1] > SAME) if np.ptp(used) and np.ptp(raw) else False
    centred = abs(float(used.mean())) < TOLERANCE * float(np.abs(used).max())
    regrouped = (alike and centred) or by_column
    shares = {
        "advantage_turned": float(turned.sum() / max(clear.sum(), 1)) if negated or absolute else 0.0,
        "advantage_moved": float(wrong.mean()) if moved and not regrouped else 0.0,
        "advantage_regrouped": float(wrong.mean()) if regrouped else 0.0,
        "advantage_raw": float(wrong.mean()) if alike and not centred else 0.0,
        "advantage_error": error,
    }
    return {name: (value, shown) if value else value for name, value in shares.items()}


def _best(values: np.ndarray, count: np.ndarray) -> np.ndarray:
    """The best one's distance from the second best; 0 for the others."""
    order, apart = np.argsort(values, kind="stable"), np.zeros(len(values))
    if len(values) > 1:
        first = int(np.argmax(values))
        apart[first] = values[first] - values[order[-2]]
    return apart


#: estimator -> the rewards of one group, less what they are compared with
BASELINES: Mapping[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "group": lambda values, count: np.asarray(values - np.nanmean(values)),
    "leave-one-out": lambda values, count: values - (np.nansum(values) - values) / ((~np.isnan(values)).sum() - 1),
    "by-length": lambda values, count: np.asarray(values - (values * count).sum() / count.sum()),
    "best": _best,
    "own": lambda values, count: values,
}


def _expected(
    summed: np.ndarray,
    rewards: np.ndarray | None,
    weights: np.ndarray | None,
    groups: Groups,
    estimator: str,
    scaled: str | None,
    count: np.ndarray,
    epsilon: float = EPSILON,
) -> np.ndarray:
    """The advantages of the estimator; of "functions", where `rewards` is their table."""
    if rewards is not None:
        table = rewards.reshape(len(rewards), -1)
        each = [_each(groups, column, lambda v, _: (v - np.nanmean(v)) / (_spread(v) + epsilon)) for column in table.T]
        own = total(np.stack(each, 1), weights)
        if scaled != "tokens":
            return np.asarray((own - np.nanmean(own)) / (_spread(own) + epsilon))
    else:
        own = _each(groups, summed, BASELINES[estimator], count)
    if scaled == "group":
        own = own / (_each(groups, summed, lambda v, _: np.full(len(v), _spread(v))) + epsilon)
    elif scaled == "batch":
        whole = own - np.nanmean(own) if estimator == "leave-one-out" else own
        own = whole / (_spread(own if estimator == "leave-one-out" else summed) + epsilon)
    elif scaled == "tokens":
        own = own - np.nansum(own * count) / count.sum()
    return own


def _reordered(advantages: np.ndarray, own: np.ndarray) -> bool:
    """Whether the advantages are the own ones in another order, but for one factor."""
    size, length = float(np.linalg.norm(own)), float(np.linalg.norm(advantages))
    return size > 0 < length and float(np.linalg.norm(np.sort(advantages) / length - np.sort(own) / size)) < TOLERANCE


def _each(
    groups: Groups,
    values: np.ndarray,
    function: Callable[[np.ndarray, np.ndarray], np.ndarray],
    count: np.ndarray | None = None,
) -> np.ndarray:
    """The function's values on each group of at least two, in the rows' places."""
    out, counts = np.zeros(len(values)), np.ones(len(values)) if count is None else count
    for rows in groups:
        if len(rows) > 1:
            out[rows] = function(values[rows], counts[rows])
    return out


def _spread(values: np.ndarray) -> float:
    return float(np.nanstd(values, ddof=1))


def _unscaled(advantages: np.ndarray, own: np.ndarray, groups: Groups) -> np.ndarray:
    """The advantages, each group scaled to the size of its own ones: any positive factor is right."""
    used = advantages.copy()
    for rows in groups:
        size = float(np.linalg.norm(used[rows]))
        used[rows] *= float(np.linalg.norm(own[rows])) / (size if size > 0 else 1.0)
    return used
