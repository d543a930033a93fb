"""The policy is not being updated.

## What it looks for
A gradient norm that is exactly 0, or a learning rate of 0, for most of the run. A policy that stands still: no divergence
from the old policy and the same entropy, both to rounding, in every update. Exploration that is over, by its schedule,
in a log without a single loss, though this trainer logs one from its first gradient step on.

## Why it matters
Nothing that happens upstream can reach the weights: the run costs as much as a working one and cannot learn.

## When it is a false alarm
The last step of a schedule that decays to 0; a warm-up that starts at 0. Group-relative methods have no gradient in
batches whose groups are all silent: the break is then in the groups. A divergence of 0 beside an entropy that moves was
taken before the step, as with one epoch of one batch, and so was one beside a score that rises.

## Fix
- Check {learning_rate} and its schedule, which parameters require gradients, and whether the optimiser holds them.
- Where critic and policy share one gradient clip, a value loss of millions leaves the policy nothing: scale rewards or
  normalise returns.
- Off-policy: {learning_starts} has to lie well before the end of the run, and of exploration.
- With adapters: check that the adapter is the part that trains, and that it reaches the inference engine.

## Smallest experiment
Compare a hash of the weights before and after one update: if equal, the break is between loss and optimiser.

## References
https://github.com/verl-project/verl/issues/7495
https://stable-baselines3.readthedocs.io/en/master/modules/dqn.html
"""

from __future__ import annotations

import numpy as np

from firstbreak.model import Confidence, Evidence, Expected, Finding, NotMeasured, Run, Series, Severity
from firstbreak.stats.onset import first_sustained
from firstbreak.stats.shape import Trajectory
from firstbreak.words import number, percent

ROUNDING = 1e-6  #: nats: float32 log-probabilities differ by this much where nothing has changed
#: what these trainers log from the first gradient step on, with every line that they write
LOGS_LOSSES = frozenset({"sb3"})
LEARNING = ("loss", "value", "policy", "progress.updates", "td_error")
OVER = 0.5  #: share of the log in which exploration has ended


def detect(
    run: Run,
    grad_norm: Series | None = None,
    lr: Series | None = None,
    silent_groups: Series | None = None,
    policy_entropy: Series | None = None,
    kl_old: Series | None = None,
    epsilon: Series | None = None,
    trajectory: Trajectory | None = None,
    *,
    most: float = 0.8,
    min_points: int = 5,
) -> Finding | Expected | NotMeasured | None:
    if epsilon is not None and (idle := _never_began(run, epsilon.finite, 2 * min_points)):
        return idle
    still = _stands_still(policy_entropy, kl_old, 2 * min_points)
    if still is not None and not (trajectory is not None and trajectory.learned):
        return still
    shown = [s.finite for s in (grad_norm, lr) if s is not None and len(s.finite) >= min_points]
    if not shown:
        return NotMeasured(f"no gradient norm or learning rate is logged for {min_points} updates")
    for curve in shown:
        body = curve.values[:-1] if len(curve) > min_points else curve.values  # a schedule may end at 0
        share = float(np.mean(body == 0))
        if share < most:
            continue
        since = first_sustained(curve, lambda values: values == 0)
        if (
            curve.name == "grad.norm"
            and silent_groups is not None
            and float(np.mean(silent_groups.finite.values)) >= most
        ):
            return Expected(
                f"{curve.name} is 0 in {percent(share)} of the updates because all groups have equal rewards"
            )
        what = f"{curve.name} is exactly 0 in {percent(share)} of the updates: nothing reaches the weights"
        return _finding(curve, what, since)
    return None


def _stands_still(entropy: Series | None, kl: Series | None, min_points: int) -> Finding | None:
    """No update has moved the policy: neither what it is sure of, nor where the old policy stood."""
    curves = [s.finite for s in (entropy, kl) if s is not None]
    if len(curves) < 2 or min(map(len, curves)) < min_points:
        return None
    entropy, kl = curves
    if not entropy.values.any():  # a column that the loop never fills: no sampled text has an entropy of exactly 0
        return None
    moved = max(float(np.ptp(entropy.values)), float(np.max(np.abs(kl.values))))
    if moved > ROUNDING * max(1.0, abs(float(entropy.values[0]))):
        return None
    what = f"in {len(kl)} updates the policy diverges by {number(moved)} nats at most, and its entropy stays the same"
    return _finding(kl, what, float(kl.steps[0]))


def _never_began(run: Run, epsilon: Series, min_points: int) -> Finding | None:
    """The exploration schedule has run out, and no gradient step was taken."""
    if run.trainer not in LOGS_LOSSES or any(name.startswith(LEARNING) for name in run.series):
        return None
    over = float(np.mean(epsilon.values == epsilon.values[-1])) if len(epsilon) >= min_points else 0.0
    if over < OVER:
        return None
    ended = float(epsilon.steps[int(np.argmax(epsilon.values == epsilon.values[-1]))])
    what = (
        f"epsilon has been {number(float(epsilon.values[-1]))} since step {number(ended)}, and no loss is logged up to "
        f"step {number(float(epsilon.steps[-1]))}: learning has not begun (learning_starts)"
    )
    return _finding(epsilon, what, float(epsilon.steps[0]))


def _finding(curve: Series, what: str, since: float | None) -> Finding:
    return Finding(
        message=f"{what}; compare the weights before and after an update",
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=curve.name,
        onset=since,
        interval=None if since is None else (since, since),
        evidence=(Evidence(text=curve.name, series=curve, since=since, level=0.0),),
    )
