"""Advantages of tokens are what the estimator makes of the tokens' rewards, and these are made of the completions' rewards."""

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.identities import advantages as of_completions
from firstbreak.live.recorder.identities._estimates import of_tokens, size_of, target
from firstbreak.live.recorder.identities._rows import row, total
from firstbreak.live.recorder.measuring import Reading

TOLERANCE = 0.01  #: relative: single precision gives 1e-6
ROUNDS = 5  #: of the fit
CLEAR = 0.5  #: of the root mean square: a reward near 0 has no clear sign (convention)
OFF_CENTRE = 0.03  #: standard deviations: 16 bits give 0.005


def measure(
    advantages: np.ndarray,
    token_rewards: np.ndarray,
    mask: np.ndarray,
    values: np.ndarray | None = None,
    discount: float = 1.0,
    gae_lambda: float = 1.0,
    rewards: np.ndarray | None = None,
    reward_weights: np.ndarray | None = None,
    group: float | Sequence[str] | np.ndarray | None = None,
    penalties: np.ndarray | None = None,
    targets: np.ndarray | None = None,
    prompts: Sequence[str] | None = None,
    centred: bool = False,
) -> Mapping[str, Reading]:
    """All arrays (n, T), but `rewards` (n,) or (n, functions). Any scale and offset of the whole batch's advantages is right;
    with `centred`, their mean over the tokens that count must be 0.

    `token_rewards` go into the estimator, the end of a completion gets its reward (or the group's centred one), and
    `penalties` (n, T) were taken off; `values` (n, T): of the critic, and `targets` (n, T): what it learns. penalty_turned: share
    of the completions with a clear reward for which the penalties are larger than it, and of the other sign.
    """
    used = mask != 0
    if advantages.ndim != 2 or not used.any() or not np.isfinite(advantages).all():
        return {}
    valued = np.zeros_like(token_rewards) if values is None else values
    own = of_tokens(token_rewards, valued, used, discount, gae_lambda)
    found = _compared(advantages, own, used, prompts)
    if centred and "advantage_error" in found and size_of(found["advantage_error"]) <= TOLERANCE:
        found |= _off_centre(advantages[used])
    if targets is not None:
        found |= target(targets * used, (own + valued) * used, "row {at[0]}: token {at[1]}")
    if rewards is None:
        return found
    paid = np.asarray(token_rewards.sum(1) + (0.0 if penalties is None else (penalties * used).sum(1)))
    if group is not None and not np.allclose(paid, total(rewards, reward_weights), rtol=TOLERANCE, atol=TOLERANCE):
        before = of_completions.measure(paid, rewards, group, reward_weights, prompts=prompts)
        found |= {n: r for n, r in before.items() if size_of(r) >= size_of(found.get(n, 0.0))}
    if penalties is not None:
        found["penalty_turned"] = _turned(paid, (penalties * used).sum(1), prompts)
    return found


def _compared(
    advantages: np.ndarray, own: np.ndarray, used: np.ndarray, prompts: Sequence[str] | None
) -> dict[str, Reading]:
    """Whether the advantages are the own ones, but for a scale and an offset of the batch, and a sign of each row."""
    size = float(np.std(own[used]))
    if size < 1e-9:
        return {}
    signs = np.ones(len(own))
    plain = fitted = _fit(advantages, own, used, signs)
    for _ in range(ROUNDS):
        rows = [np.abs(advantages - (sign * fitted[0] * own + fitted[1])) * used for sign in (1.0, -1.0)]
        signs = np.where(rows[1].sum(1) < rows[0].sum(1), -1.0, 1.0)
        fitted = _fit(advantages, own, used, signs)
    error = _distance(advantages, own, used, np.ones(len(own)), plain)
    if error <= TOLERANCE:
        return {"advantage_turned": 0.0, "advantage_error": error}
    negated = _distance(advantages, own, used, signs, fitted) <= TOLERANCE
    clear = (np.abs(own) * used).max(1) > 1e-3 * size
    i = int(np.argmax((signs < 0) & clear))
    said = row(i, prompts, f": advantage {advantages[i][used[i]][0]:.4g}, from its rewards {own[i][used[i]][0]:.4g}")
    turned = float(((signs < 0) & clear).sum() / max(clear.sum(), 1)) if negated else 0.0
    return {"advantage_turned": (turned, said) if turned else 0.0, "advantage_error": (error, said)}


def _off_centre(advantages: np.ndarray) -> dict[str, Reading]:
    """Whether more than the tokens that count went into the mean that was taken off."""
    off = abs(float(advantages.mean())) / max(float(advantages.std()), 1e-12)
    mean = f"the advantages of the tokens that count have the mean {advantages.mean():.4g}"
    said = f"{mean}, and 0 was asked for: prompt or padding went into it"
    return {"advantage_error": (off, said)} if off > OFF_CENTRE else {}


def _fit(advantages: np.ndarray, own: np.ndarray, used: np.ndarray, signs: np.ndarray) -> tuple[float, float]:
    """The positive scale and the offset that are nearest; the first guess has the size of the advantages."""
    x, y = (signs.reshape(-1, 1) * own)[used], advantages[used]
    spread = float(np.var(x))
    scale = float(np.cov(x, y, ddof=0)[0, 1]) / spread if spread else 0.0
    if scale <= 0:
        return float(np.linalg.norm(y)) / max(float(np.linalg.norm(x)), 1e-12), 0.0
    return scale, float(y.mean() - scale * x.mean())


def _distance(
    advantages: np.ndarray, own: np.ndarray, used: np.ndarray, signs: np.ndarray, fitted: tuple[float, float]
) -> float:
    scale, offset = fitted
    off = (advantages - (signs.reshape(-1, 1) * scale * own + offset))[used]
    return float(np.linalg.norm(off)) / max(float(np.linalg.norm(advantages[used] - offset)), 1e-12)


def _turned(paid: np.ndarray, penalty: np.ndarray, prompts: Sequence[str] | None) -> Reading:
    clear = np.abs(paid) > CLEAR * max(float(np.sqrt(np.mean(paid**2))), 1e-12)
    if not clear.any():
        return 0.0
    turned = clear & (np.sign(paid - penalty) == -np.sign(paid))
    i, share = int(np.argmax(turned)), float(turned.sum() / clear.sum())
    return (share, row(i, prompts, f": reward {paid[i]:.4g}, penalty {penalty[i]:.4g}")) if share else 0.0
