"""The policy moves, and the policy loss does not follow the advantages.

Looks for: A policy loss that is less than `least` of sqrt(2 KL) in the median of the updates, where KL is the divergence from
the old policy. Normalised advantages A and a ratio 1 + d give the loss -mean(A d), and the variance of d is 2 KL: the quotient
is the correlation of the step with the advantages, which is 0.02 to 0.3 in sound runs. Or advantages that vary as much as returns
and values together, where the critic predicts the returns: of one sample they are return minus value, and vary by what is left.
Why: The gradient of the policy then comes from elsewhere: the entropy bonus, the critic through shared layers, or a product of
shapes (n, 1) and (n,), whose mean is 0. Nothing is learned, and every other curve looks calm.
False alarm: Advantages that are not normalised and small, or losses of which few decimals were written: both are left out as
far as the log shows them.
Fix:
- Print the shapes of ratio, advantages and loss before the mean: all must be (n,).
- Give one sample of a batch the advantage 1 and all others 0: its log-probability must rise.
Experiment: Print the correlation of ratio - 1 with the advantages after the last pass over one batch: it must be positive.
References: https://iclr-blog-track.github.io/2022/03/25/ppo-implementation-details/
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import Seen, at, critical, seen_since
from firstbreak.engine.families import Method, only
from firstbreak.engine.stats.points import distinct
from firstbreak.model import Config, Finding, NotMeasured, Role, Series
from firstbreak.words import percent

ROLES = (Role.RELATION,)
NORMALISED = 0.1  #: advantages so near to a standard deviation of 1 were divided by their own (convention)
OF_BOTH = (1.6, 2.5)  #: times the variance of the values: those of returns and values together are 1 / share + 1 of it
FAMILIES = only(Method.ACTOR_CRITIC)


def detect(
    config: Config,
    policy_loss: Series | None = None,
    policy_loss_delta: Series | None = None,
    kl_old: Series | None = None,
    advantage_std: Series | None = None,
    value_std: Series | None = None,
    value_explained_variance: Series | None = None,
    training_score: Series | None = None,
    solved: bool | None = None,
    *,
    least: float = at(2e-3, "correlation", "The lowest of 169 runs of PPO that were sound in this had 0.022."),
    min_spread: float = at(1.0, "reward", "Advantages as they are then have the size of normalised ones, or more."),
    min_kl: float = at(1e-7, "nats", "A smaller divergence is rounding."),
    predicts: float = at(
        0.8, "explained variance", "A fourth of the values' variance, at most, is left to advantages."
    ),
    min_points: int = at(10, "updates", "Fewer updates may be at a standstill by chance."),
) -> Finding | NotMeasured | None:
    if advantage_std is not None and value_std is not None and value_explained_variance is not None:
        table = _of_all_pairs(advantage_std, value_std.finite, value_explained_variance.finite, predicts, min_points)
        if table is not None:
            return table
    policy_loss = policy_loss_delta or policy_loss  # before an update the ratio is 1, and the loss 0
    if policy_loss is None or kl_old is None:
        return NotMeasured("the policy loss and the KL divergence of its updates are not both logged")
    spread = 0.0 if training_score is None or not len(training_score.finite) else np.ptp(training_score.finite.values)
    if config.get("normalize_advantage") is not True and spread < min_spread:
        return NotMeasured("whether advantages are normalised is not recorded, and rewards differ by little")
    loss, kl = policy_loss.finite, kl_old.finite
    _, i, j = np.intersect1d(loss.steps, kl.steps, return_indices=True)
    moved = kl.values[j] > min_kl
    losses, reach = np.abs(loss.values[i][moved]), np.sqrt(2 * kl.values[j][moved])
    if len(losses) < min_points:
        return NotMeasured(f"the policy moves in {len(losses)} updates (needs {min_points})")
    if 0.5 * _unit(np.concatenate([loss.values[i], kl.values[j]])) > least * float(np.median(reach)):
        return NotMeasured("too few decimals of the policy loss are written")
    if solved or float(np.median(losses / reach)) >= least:
        return None
    return critical(
        "the policy loss is about {loss} while the policy moves by {kl} nats in an update: along advantages of size 1 such a "
        "step changes the loss by about {reach}; print the shapes of ratio, advantages and loss before the mean",
        Seen(metric=policy_loss.name, onset=float(loss.steps[0]), interval=None, evidence=()),
        loss=facts.median(loss),
        kl=facts.median(kl),
        reach=f"{0.05 * float(np.median(reach)):.2g}",
    )


def _of_all_pairs(advantages: Series, values: Series, explained: Series, predicts: float, least: int) -> Finding | None:
    """Advantages that are each return minus each value: they vary by the variance of both, and the critic explains nothing."""
    steps = np.intersect1d(np.intersect1d(advantages.finite.steps, values.steps), explained.steps)
    if len(steps) < least:
        return None
    a, v, share = (np.interp(steps, s.steps, s.values) for s in (advantages.finite, values, explained))
    known = (share >= predicts) & (v > 0)
    if known.sum() < least or np.all(np.abs(a - 1) < NORMALISED):
        return None
    ratio = float(np.median(a[known] ** 2 / v[known] ** 2))
    if not OF_BOTH[0] <= ratio <= OF_BOTH[1]:
        return None
    since = float(steps[np.argmax(known)])
    late = advantages.finite.between(since)
    return critical(
        "advantages have a deviation of {a} and values one of {v}, where the critic explains {share} of the returns: "
        "they vary as each return minus each value does, and not as the return minus the value of one sample; print the "
        "shapes of returns, values and advantages: (n, 1) beside (n,) makes a table of all with all",
        seen_since(advantages, "standard deviation of the advantages", since, beside={"that of the values": values}),
        a=facts.median(late),
        v=facts.median(values.between(since)),
        share=percent(float(np.median(share[known]))),
        numbers={"ratio": ratio},
    )


def _unit(values: np.ndarray) -> float:
    """The smallest difference between two numbers of a table, which all have so many decimals."""
    apart = np.diff(distinct(values))
    return float(apart.min()) if len(apart) else np.inf
