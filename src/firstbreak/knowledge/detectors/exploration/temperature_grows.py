"""The temperature of soft actor-critic grows without end or steps the wrong way.

Looks for: The temperature (`ent_coef`, alpha) is at its end more than `growth` times its level before it began to grow
(`even_growth` where its logarithm rises evenly: every update says "more"), it still grows, and the score does not rise
with it. It is critical where the configured target is above ln 2 for each
dimension of the actions, the entropy of uniform actions between -1 and 1. Or it moves against its rule: it must fall
while the entropy lies above the target, and rise while it lies below. How far the entropy is from the target comes from
the entropy and {target_entropy} (where this is not set, minus the number of action dimensions), or from the
temperature's loss, which is the logarithm of the temperature (CleanRL: the temperature) times that distance. An entropy
that keeps to its target is sound, however much the temperature grows.
Why: The temperature is steered so that the entropy of the policy meets a target. It grows while the entropy is below
the target. Where actions cannot be as random as the target asks (a target with the wrong sign, or for other units of
the actions), it grows until the bonus outweighs every reward, and the policy only acts at random. A step of the wrong
sign does the same, or leaves no bonus.
False alarm: Rewards that grow as much: the temperature has their unit.
Fix:
- Set {target_entropy} to minus the number of action dimensions, with actions scaled to -1 to 1.
- Check the sign of the temperature's loss.
Experiment: Train with a constant {entropy_coef} of 0.1: if the score rises, the target was out of reach.
References: https://arxiv.org/abs/1812.05905 https://stable-baselines3.readthedocs.io/en/master/modules/sac.html
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_since
from firstbreak.engine.stats.changes import for_good
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Config, Finding, Message, NotMeasured, Role, Run, Series, Severity
from firstbreak.patterns import pattern
from firstbreak.words import number

ROLES = (Role.RELATION,)
NO_WEIGHT = 0.05  #: of a loss's factor: nearer to 0, noise divided by it is anything (convention)
GONE = 50.0  #: times its first value a temperature falls that never meets its target (convention)
EVEN = 0.1  #: of the mean step of its logarithm, from the smallest to the largest (convention)
DIMENSIONS = pattern(r"(act|action|n|num)_?(dims?|actions?)", re.IGNORECASE)


def detect(
    alpha: Series,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    config: Config | None = None,
    alpha_loss: Series | None = None,
    policy_entropy: Series | None = None,
    run: Run | None = None,
    *,
    growth: float = at(10.0, "ratio", "The temperature of sound runs falls, or follows the reward's scale by less."),
    even_growth: float = at(4.0, "ratio", "A temperature that meets its target comes to rest before."),
    min_points: int = at(20, "points", "Fewer values show no steady growth, unless each is higher than before."),
    min_steady: int = at(8, "points", "So many values rise one after the other by chance once in 40,000 times."),
    against: float = at(0.9, "share", "Of the rows beyond the noise: momentum carries a temperature on for a few."),
    clear: float = at(2.0, "standard deviations", "Of the noise of the distance from the target in a batch."),
) -> Finding | NotMeasured | None:
    curve = alpha.finite
    if len(curve) <= min_steady or curve.values.min() <= 0:
        return NotMeasured(f"the temperature has fewer than {min_points} positive values")
    apart = _apart(curve, alpha_loss, policy_entropy, config, run.trainer if run is not None else None)
    if apart is not None and (wrong := _wrong_way(curve, apart, min_steady, against, clear)):
        return wrong
    if (
        apart is not None
        and policy_entropy is not None
        and (below := _never_so_low(curve, policy_entropy.finite, config))
    ):
        return below
    if len(curve) < min_points and not (np.diff(curve.values) > 0).all():
        return None if apart is not None else NotMeasured(f"the temperature has fewer than {min_points} values")
    low = int(np.argmin(curve.values))
    end, lowest = median(curve.tail(0.05).values), float(curve.values[low])
    still = end > 1.05 * median(curve.tail(0.3).head(1 / 3).values)
    rising = trajectory is not None and trajectory.kind == "rising"
    pace = np.diff(np.log(curve.values)) / np.diff(curve.steps)
    if np.ptp(pace) < EVEN * abs(pace.mean()):
        growth = even_growth
    if end < growth * lowest or end < float(curve.values[0]) or not still or rising or solved:
        return None
    short_of = -apart[low:][np.isfinite(apart[low:])] if apart is not None else np.zeros(0)
    if len(short_of) >= min_steady and np.mean(short_of > 0) < against:
        return None  # the entropy keeps to its target
    step, most = float(curve.steps[low]), _most(config) if config is not None else None
    what = facts.tell(
        "the temperature grew from {low} at {step} to {end} and still grows: the entropy stays below its target{by}, which the "
        "policy cannot reach{most}; check the target entropy and the range of the actions",
        by=f" by {number(median(short_of))} nats" if len(short_of) else "",
        most=most or "",
        low=facts.lowest(curve),
        step=facts.at(curve, step),
        end=facts.median(curve.tail(0.05)),
    )
    return _finding(curve, what, step, end / lowest, most is not None)


def _apart(
    alpha: Series, loss: Series | None, entropy: Series | None, config: Config | None, trainer: str | None
) -> np.ndarray | None:
    """How far the entropy lies above its target at each temperature; None where the log does not show it."""
    target = config.number("target_entropy") if config is not None else None
    if entropy is not None and len(entropy.finite):
        level = entropy.finite
        if target is None and config is not None and level.values.min() < 0:  # that of discrete actions is above 0
            target = -dims if (dims := _dimensions(config)) is not None else None
        if target is not None:
            return np.asarray(np.interp(alpha.steps, level.steps, level.values) - target)
    if loss is None or trainer not in ("sb3", "rllib", "cleanrl") or not len(loss.finite):
        return None
    scale = alpha.values if trainer == "cleanrl" else np.log(alpha.values)
    scale = np.where(np.abs(scale) < NO_WEIGHT, np.nan, scale)  # a temperature of 1 leaves nothing of the loss
    return np.asarray(np.interp(alpha.steps, loss.finite.steps, loss.finite.values) / scale)


def _wrong_way(alpha: Series, apart: np.ndarray, min_points: int, share: float, clear: float) -> Finding | None:
    """The temperature rises where the entropy is above its target, or falls where it is below."""
    turns, between = np.diff(np.log(alpha.values)), (apart[1:] + apart[:-1]) / 2
    rows = np.flatnonzero((np.abs(between) > clear * noise_scale(between[np.isfinite(between)])) & (turns != 0))
    first = for_good(turns[rows] * between[rows] > 0, share) if len(rows) else None
    if first is None or len(rows) - first < max(min_points, len(turns) / 4):
        return None
    rest = alpha.between(float(alpha.steps[rows[first]]))
    moved = float(np.log(rest.values[-1] / rest.values[0]))
    if abs(moved) < np.log(2):
        return None
    what = facts.tell(
        "the temperature went from {before} to {after}, although the entropy was {apart} nats {side} its target: it steps the "
        "wrong way; check the sign of the temperature's loss, and of the target entropy",
        before=facts.first(rest),
        after=facts.last(rest),
        apart=number(abs(median(between[rows[first:]]))),
        side="above" if moved > 0 else "below",
    )
    return _finding(alpha, what, float(rest.steps[0]), float(np.exp(moved)), abs(moved) > np.log(10))


def _never_so_low(alpha: Series, entropy: Series, config: Config | None) -> Finding | None:
    """A temperature that falls to nothing for a target below 0, which the entropy of discrete actions cannot reach."""
    target = config.number("target_entropy") if config is not None else None
    first, last = float(alpha.values[0]), float(alpha.values[-1])
    if (
        target is None
        or target >= 0
        or entropy.values.min() < 0
        or last * GONE > first
        or np.mean(np.diff(alpha.values) < 0) < 0.9
    ):
        return None
    what = facts.tell(
        "the temperature fell from {first} to {last} and still falls: the target of the entropy is {target}, and that of "
        "discrete actions is never below 0 ({entropy} at least): no bonus is left, and the policy tries nothing else; take a "
        "target above 0, such as half of the logarithm of the number of actions",
        first=facts.first(alpha),
        last=facts.last(alpha),
        target=facts.setting(config, "target_entropy") if config is not None else "",
        entropy=facts.lowest(entropy),
    )
    return _finding(alpha, what, float(alpha.steps[0]), last / first, True)


def _finding(alpha: Series, what: Message, step: float, growth: float, critical: bool) -> Finding:
    return graded(
        Severity.CRITICAL if critical else Severity.WARNING,
        what,
        seen_since(alpha, "temperature", step),
        numbers={"growth": growth},
    )


def _dimensions(config: Config) -> int | None:
    """Of the actions, where the configuration has them."""
    return next(
        (v for k, v in config.raw.items() if DIMENSIONS.fullmatch(k.rpartition(".")[2]) and isinstance(v, int)), None
    )


def _most(config: Config) -> Message | None:
    """What says that the target lies above the entropy of uniform actions; None where it does not, or is not known."""
    dims = _dimensions(config)
    target = config.number("target_entropy")
    if dims is None or target is None or target <= dims * np.log(2):
        return None
    return facts.tell(
        " (a target of {target}, and uniform actions in {dims} dimensions have {most})",
        target=facts.setting(config, "target_entropy"),
        dims=number(dims),
        most=number(dims * float(np.log(2))),
    )
