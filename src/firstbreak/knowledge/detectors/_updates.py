"""How often a batch is used, as far as the run itself says so, and whether the updates move the policy."""

import numpy as np

from firstbreak.engine.families import Policy
from firstbreak.engine.stats.changes import departed
from firstbreak.engine.stats.noise import spread
from firstbreak.engine.stats.points import median
from firstbreak.model import Config, Run, Series

#: trainers whose update stands in the user's script; a library stores the old log-probabilities
OWN = (None, "cleanrl")
MIN_POINTS = 10  #: values: fewer show no course (convention)
CERTAIN = 1e-3  #: nats: a policy that always does the same cannot move away from itself (convention)
ROUNDING = 1e-7  #: nats: what float32 leaves of a divergence of 0
WITH_GRADIENT = 0.3  #: of the usual norm: a policy that has less to learn moves less (convention)
MOVED_BY = {Policy.CONTROL: 10.0, Policy.TEXT: 1e5}  #: least divergence of several Adam steps over the squared rate
PARTS = {"minibatches": ("batch_size", "minibatch_size"), "epochs_per_batch": ()}  #: and what each is worked out of


def recorded_updates(config: Config) -> float | None:
    """Optimizer steps on one batch; None where a trainer's default decides whether there are several.

    A product of a recorded and a default factor counts where the recorded one alone says that there are several.
    """
    updates = config.number("updates_per_batch")
    if updates is None or "updates_per_batch" in config.defaulted:
        return None
    factors = {name: config.number(name) for name in PARTS}
    guessed = {name for name in factors if config.defaulted & {name, *PARTS[name]}}
    if any((number or 1) > 1 for name, number in factors.items() if name not in guessed):
        return updates
    return None if guessed & {name for name, number in factors.items() if number is not None} else updates


def several(run: Run, clip_fraction: Series | None, policy: Policy) -> bool:
    """Whether a divergence is logged after steps on the same batch, as it is beside the clip fraction of a script for control."""
    updates, epochs = recorded_updates(run.config), run.config.recorded("epochs_per_batch")
    if updates is not None or epochs is not None or policy is not Policy.CONTROL:
        return max(updates or 1, epochs or 1) > 1
    done, turns = (run.series.get(name) for name in ("progress.updates", "progress.iterations"))
    if done is None or turns is None:
        return run.trainer in OWN and clip_fraction is not None
    each = np.diff(done.finite.values) / np.maximum(np.diff(np.interp(done.finite.steps, turns.steps, turns.values)), 1)
    return len(each) > 0 and median(each) > 1  # Stable-Baselines3 counts its epochs


def without_effect(
    run: Run, distance: Series, witnesses: list[Series], grad: Series | None, lr: Series | None, policy: Policy
) -> float | None:
    """The step from which on a distance between policies is 0 within rounding, to the end, although the optimizer is called.

    It grows with the square of the rate: rows are left out whose rate is so small that it could be rounding. The curves that
    show whether the policy moves (`witnesses`) must be at their level; a gradient that is gone, or a last part below a tenth of
    the run, shows nothing, and neither does a distance that comes to 0 step by step.
    """
    logged = lr.finite if lr is not None and len(lr.finite) else None
    rates: np.ndarray | float | None = run.config.number("learning_rate")
    if logged is not None:
        rates = np.interp(distance.steps, logged.steps, logged.values)
    if not len(distance) or not witnesses or rates is None:
        return None
    least = np.broadcast_to(MOVED_BY[policy] * np.square(rates), distance.values.shape)
    sizes, judged = np.abs(distance.values), least >= ROUNDING / 100
    first = int(np.max(np.flatnonzero(judged & (sizes > np.minimum(ROUNDING, least))), initial=-1)) + 1
    part = 0.1 * len(sizes)
    gradual = first > max(1, part) and median(sizes[:first][-MIN_POINTS:]) < 1000 * ROUNDING
    if np.sum(judged[first:]) < max(MIN_POINTS, part) or gradual:
        return None
    since = float(distance.steps[first if first > 1 else 0])
    if grad is not None and len(grad.finite):
        rest = grad.finite.between(since).values
        if not len(rest) or median(rest) <= max(ROUNDING, WITH_GRADIENT * median(grad.finite.values)):
            return None
    return since if all(_stands(curve.finite.between(since)) for curve in witnesses) else None


def _stands(curve: Series) -> bool:
    """Whether a curve of the policy that does more than one thing stays at its level within its noise.

    One policy gives values that hardly depend on each other, so what neighbours differ by is all of the noise.
    """
    values, part = curve.values, len(curve) // 3
    if len(values) < MIN_POINTS or abs(median(values)) < CERTAIN:
        return False
    error = spread(np.diff(values)) / part**0.5  # of the difference of two means of a third
    moved = abs(float(np.mean(values[-part:]) - np.mean(values[:part])))
    return moved <= max(4 * error, 1e-6 * abs(median(values))) and departed(curve) is None
