"""What the debugging guide says of numerical stability."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.debug_shapes import (
    ACTS,
    ENDS,
    GUIDE,
    Edited,
    bump,
    learned,
    learning,
    ramp,
    since,
    spikes,
    steps_of,
)
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import LOGGED_NAN, World
from firstbreak.model import Link

NUMERICS = f"{GUIDE}, Numerical stability"


def _one_spike(world: World) -> Curves:
    run = learning(world)
    run.scale(("grad.norm",), 1 + world.rng.uniform(4, 10) * bump(world, world.onset(), 1))
    return run.curves


@statement(
    id="curves.grad_norm_spikes",
    guide=NUMERICS,
    quote="| grad norm spikes | p95 / max grad norm | gradient clipping, lower lr |",
    needs=("grad.norm", "reward.mean"),
    families=("text", "control"),
    links=(Link.NUMERICS, Link.POLICY_UPDATE),
    actions=ACTS,
    says=(r"(?i)clip|max_grad_norm|learning rate",),
    healthy=_one_spike,
)
def grad_norm_spikes(world: World) -> Curves:
    """From some step on, one step in ten has ten to a hundred times the usual norm, and the reward gets worse."""
    run = Edited(world)
    at = world.onset(0.3, 0.6)
    run.score(learned(world) - world.between(0.2, 0.6) * ramp(world, at, 0.4))
    hit = spikes(world, world.between(0.06, 0.2), at / world.n)
    run.scale(("grad.norm",), 1 + world.between(12, 100) * hit)
    for kind in ("kl.old", "kl.ref"):
        run.scale(run.kls(kind), 1 + hit)
    return run.curves


def _norm_drifts(world: World) -> Curves:
    run = learning(world)
    run.scale(("grad.norm",), 1 + world.rng.uniform(0.3, 0.8) * learned(world, 0.5))
    return run.curves


@statement(
    id="curves.grad_norm_explodes_before_nan",
    guide=NUMERICS,
    quote="Do not wait until the loss becomes NaN to stop training.",
    needs=("grad.norm", "reward.mean"),
    families=("text", "control"),
    links=(Link.NUMERICS, Link.POLICY_UPDATE),
    actions=ENDS,
    healthy=_norm_drifts,
)
def grad_norm_explodes_before_nan(world: World) -> Curves:
    """The norm grows by factors in the last part of the run, the loss with it; nothing is NaN yet."""
    run = Edited(world)
    at = world.onset(0.7, 0.8)
    growth = np.exp(np.log(world.between(60, 3000)) * ramp(world, at, 1 - at / world.n))
    run.score(learned(world) - 0.6 * ramp(world, at, 1 - at / world.n))
    run.scale(("grad.norm", "loss.total"), growth)
    run.scale(("value.loss",), np.sqrt(growth))
    for kind in ("kl.old", "kl.ref"):
        run.scale(run.kls(kind), growth**0.4)
    return run.curves


@statement(
    id="curves.spikes_then_nan",
    guide=NUMERICS,
    quote="It is usually preceded by grad norm spikes, extreme logprob values, reward outliers, value loss explosions, or"
    " mixed-precision overflow.",
    needs=("grad.norm", "loss.total"),
    families=("text", "control"),
    links=(Link.NUMERICS, Link.POLICY_UPDATE),
    first=(Link.NUMERICS, Link.POLICY_UPDATE),
    actions=ENDS,
    says=(r"(?i)\bnan\b|not a number|not finite|non-finite",),
    healthy=_one_spike,
)
def spikes_then_nan(world: World) -> Curves:
    """Spikes of the norm come more often, and then loss, norm and rewards are NaN to the end."""
    run = Edited(world)
    at = world.onset(0.6, 0.85)
    run.score(learned(world))
    early = max(0.1, at / world.n - 0.2)
    hit = spikes(world, 0.15, early)
    run.scale(("grad.norm",), 1 + world.between(10, 100) * hit)
    run.scale(("loss.total",), 1 + 3 * hit)
    for signal in ("loss.total", "grad.norm", "policy.loss", "policy.entropy", "kl.ref", "kl.old", "value.loss"):
        _not_a_number(run, signal, since(world, at) > 0)
    return run.curves


def _not_a_number(run: Edited, signal: str, where: np.ndarray) -> None:
    """Log "nan" at the steps `where` (n,) at which the signal is logged."""
    if signal in run.curves:
        curve = run.curves[signal]
        run.curves[signal] = np.where(where & ~np.isnan(curve), LOGGED_NAN, curve)


@statement(
    id="curves.nan_steps",
    guide=NUMERICS,
    quote="| fp16 overflow | loss scale, NaN step | bf16, dynamic loss scaling |",
    needs=("grad.norm", "loss.total"),
    families=("text",),
    links=(Link.NUMERICS,),
    actions=ACTS,
    says=(r"(?i)bf16|bfloat|fp16|loss.scal|precision",),
    healthy=_one_spike,
)
def nan_steps(world: World) -> Curves:
    """From some step on the norm of one step in ten to three is NaN or infinite, while the loss can still be computed."""
    run = learning(world)
    at = world.onset(0.2, 0.5)
    broken = spikes(world, world.between(0.1, 0.35), at / world.n) > 0
    infinite = broken & (world.rng.random(world.n) < 0.5)
    run.exact("grad.norm", np.where(infinite, np.inf, run.curves["grad.norm"]))
    _not_a_number(run, "grad.norm", broken & ~infinite)
    return run.curves


def _one_skipped(world: World) -> Curves:
    run = learning(world)
    run.exact("optim.update_ok", 1.0 - bump(world, steps_of(world, 1, 5), 1))
    return run.curves


@statement(
    id="curves.updates_skipped",
    guide=NUMERICS,
    quote="mixed-precision overflow.",
    needs=("optim.update_ok", "grad.norm"),
    links=(Link.NUMERICS,),
    actions=ACTS,
    says=(r"(?i)bf16|loss.scal|precision|overflow|not finite|non-finite|skipped",),
    healthy=_one_skipped,
)
def updates_skipped(world: World) -> Curves:
    """A growing share of the optimizer steps is not applied, and what is learned comes to a stop."""
    run = Edited(world)
    at = world.onset(0.2, 0.5)
    share = world.between(0.15, 0.7) * ramp(world, at, 0.2)
    run.score(np.minimum(learned(world), learned(world)[at] + 0.1))
    skipped = world.rng.random((world.n, 4)) < share[:, None]
    run.exact("optim.update_ok", 1 - skipped.mean(axis=1))
    run.scale(("grad.norm",), 1 + 40 * skipped.mean(axis=1))
    return run.curves


def _outlier_token(world: World) -> Curves:
    run = learning(world)
    run.scale(("rollout_train.logp_absdiff.max",), 1 + world.rng.uniform(1, 2) * bump(world, world.onset(), 1))
    return run.curves


@statement(
    id="curves.logprobs_extreme",
    guide=NUMERICS,
    quote="| extreme logprobs | taking log of 0 probability | clamp, check mask |",
    needs=("rollout_train.logp_absdiff.max", "rollout_train.logp_absdiff.mean", "grad.norm"),
    links=(Link.NUMERICS, Link.FRESHNESS, Link.POLICY_UPDATE),
    actions=ACTS,
    says=(r"(?i)clamp|mask|log-?prob|logp",),
    healthy=_outlier_token,
)
def logprobs_extreme(world: World) -> Curves:
    """In more and more steps a token's log-probability is off by tens to hundreds of nats, and the gradient with it."""
    run = Edited(world)
    at = world.onset(0.3, 0.6)
    hit = spikes(world, 0.15, at / world.n)
    size = world.between(15, 300) * hit
    run.score(learned(world) - 0.3 * ramp(world, at, 0.5))
    run.exact("rollout_train.logp_absdiff.max", run.curves["rollout_train.logp_absdiff.max"] + size)
    run.exact("rollout_train.logp_absdiff.mean", run.curves["rollout_train.logp_absdiff.mean"] + size / 2000)
    run.scale(("grad.norm",), 1 + world.between(3, 20) * hit)
    return run.curves


def _lower_floor(world: World) -> Curves:
    run = learning(world)
    spread = 3 * run.noise("reward.mean") + 0.2 * abs(run.level("reward.mean"))
    run.exact("reward.min", run.curves["reward.mean"] - spread * world.rng.uniform(1.5, 3, world.n))
    return run.curves


@statement(
    id="curves.reward_outliers_min",
    guide=NUMERICS,
    quote="| reward outliers | reward max/min | clipping, normalization |",
    needs=("reward.mean", "reward.min"),
    families=("text", "control"),
    links=(Link.REWARD, Link.NUMERICS, Link.ADVANTAGE),
    actions=ACTS,
    says=(r"(?i)clip|normali[sz]|outlier",),
    healthy=_lower_floor,
)
def reward_outliers_min(world: World) -> Curves:
    """From some step on the worst reward of some batches is many times below all others."""
    run = Edited(world)
    run.score(0.5 * learned(world))
    at = world.onset(0.2, 0.5)
    spread = 3 * run.noise("reward.mean") + 0.2 * abs(run.level("reward.mean"))
    tail = world.between(20, 300) * spread * spikes(world, 0.08, at / world.n)
    run.exact("reward.min", run.curves["reward.mean"] - spread * world.rng.uniform(1.5, 2.5, world.n) - tail)
    run.exact("reward.mean", run.curves["reward.mean"] - tail / 128)
    run.scale(("grad.norm",), 1 + tail / (10 * spread))
    return run.curves


def _critic_follows_returns(world: World) -> Curves:
    run = learning(world)
    run.scale(("value.loss",), 1 + world.rng.uniform(1, 4) * learned(world, 0.5))
    run.put("value.explained_variance", 0.3 + 0.55 * learned(world, 0.12))
    return run.curves


@statement(
    id="curves.value_explodes",
    guide=NUMERICS,
    quote="| value explosion | value target distribution | return normalization |",
    needs=("value.loss", "reward.mean"),
    families=("text", "control"),
    links=(Link.ADVANTAGE, Link.NUMERICS),
    actions=ACTS,
    says=(r"(?i)normali[sz]|value target|target (network|distribution)|clip",),
    healthy=_critic_follows_returns,
)
def value_explodes(world: World) -> Curves:
    """The value loss grows by orders of magnitude over a part of the run, and the reward does not grow."""
    run = Edited(world)
    at = world.onset(0.3, 0.6)
    growth = np.exp(np.log(world.between(200, 1e6)) * ramp(world, at, 0.9 - at / world.n))
    run.score(np.minimum(learned(world), learned(world)[at]) - 0.4 * ramp(world, at, 0.4))
    run.scale(("value.loss", "value.error"), growth)
    run.scale(("value.mean", "value.target.mean", "value.pred.mean"), growth**0.4)
    run.scale(("value.grad_norm",), growth**0.4)
    good = 0.2 + 0.6 * learned(world, 0.15)
    run.put("value.explained_variance", good * (1 - ramp(world, at, 0.2)) - 0.5 * ramp(world, at, 0.3))
    return run.curves


def _reward_logged_sparsely(world: World) -> Curves:
    run = learning(world)
    for signal in ("reward.mean", "reward.shaped.mean", "reward.rollout.mean", *run.parts()):
        if run.logs(signal):
            run.curves[signal] = np.where(np.arange(world.n) % 2 == 0, run.curves[signal], np.nan)
    return run.curves


@statement(
    id="curves.reward_missing_from_60_percent",
    guide=f"{GUIDE}, Training as a closed loop",
    quote="Reward signal is the actual score computed during training.",
    needs=("reward.mean", "loss.total"),
    families=("text", "control"),
    links=(Link.REWARD, Link.NUMERICS),
    actions=ACTS,
    says=(r"(?i)\bnan\b|not a number|not finite|missing|no (reward|value)|not logged|stops|ends",),
    healthy=_reward_logged_sparsely,
)
def reward_missing_from_60_percent(world: World) -> Curves:
    """The reward is NaN from six tenths of the run on, while training goes on."""
    run = learning(world)
    gone = since(world, round(world.between(0.75, 0.45) * world.n)) > 0
    for signal in ("reward.mean", "reward.shaped.mean", "reward.rollout.mean", "reward.std", *run.parts()):
        _not_a_number(run, signal, gone)
    return run.curves


@statement(
    id="curves.reward_missing_in_half_of_the_steps",
    guide=f"{GUIDE}, Diagnostic order",
    quote="If the reward signal is unreliable, the more thoroughly you train, the more likely the model will optimize in the"
    " wrong direction.",
    needs=("reward.mean", "loss.total"),
    links=(Link.REWARD, Link.NUMERICS),
    actions=ACTS,
    says=(r"(?i)\bnan\b|not a number|not finite|missing|no (reward|value)|scor(er|ing)|fails?",),
    argument="An episode's return is no number in the steps in which no episode ended (RLlib): only rewards of texts, of which "
    "each step has some, are missing where they are no numbers.",
    healthy=_reward_logged_sparsely,
)
def reward_missing_in_half_of_the_steps(world: World) -> Curves:
    """The reward of a third to two thirds of the steps is logged as NaN: the scorer fails at random."""
    run = Edited(world)
    run.score(0.5 * learned(world))
    gone = world.rng.random(world.n) < world.between(0.35, 0.65)
    for signal in ("reward.mean", "reward.shaped.mean", "reward.rollout.mean", "reward.std", *run.parts()):
        _not_a_number(run, signal, gone)
    return run.curves
