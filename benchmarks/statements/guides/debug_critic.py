"""What the debugging guide says of the critic."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.debug_shapes import (
    ACTS,
    GUIDE,
    Edited,
    bump,
    learned,
    learning,
    ramp,
    steps_of,
)
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Link

SIGNALS = f"{GUIDE}, Signals of a broken critic"
DURING = f"{GUIDE}, During training"
CRITIC = r"(?i)critic|value (function|loss|head|network|target)|normali[sz].{0,20}returns|terminal mask|bootstrap"


def _returns_grow(world: World) -> Curves:
    run = learning(world)
    run.scale(("value.loss", "value.error"), 1 + world.rng.uniform(1, 3) * learned(world))
    run.put("value.explained_variance", 0.3 + world.rng.uniform(0.5, 0.62) * learned(world, 0.12))
    return run.curves


def _untaught(run: Edited, explained: np.ndarray | float, loss: np.ndarray | float) -> None:
    """A critic whose loss is `loss` times its start and which explains `explained` of the returns, each (n,)."""
    for signal in ("value.loss", "value.error"):
        run.put(signal, run.start(signal) * np.asarray(loss))
    run.put("value.explained_variance", explained)


@statement(
    id="curves.value_loss_flat",
    guide=SIGNALS,
    quote="| value loss does not decrease over time | Critic has not fitted the returns |",
    needs=("value.loss", "value.explained_variance", "reward.mean"),
    families=("text", "control"),
    links=(Link.ADVANTAGE,),
    actions=ACTS,
    says=(CRITIC,),
    healthy=_returns_grow,
)
def value_loss_flat(world: World) -> Curves:
    """The value loss stays at its start or rises a little, and the critic explains next to nothing."""
    run = Edited(world)
    run.score(world.between(0.35, 0.05) * learned(world))
    _untaught(run, world.between(0.12, -0.1), 1 + world.between(0.05, 0.8) * world.x)
    return run.curves


@statement(
    id="curves.value_loss_flat_fitting_test",
    guide=DURING,
    quote="| Value loss does not decrease | train Critic alone on a fitting test |",
    needs=("value.loss", "reward.mean"),
    families=("text", "control"),
    links=(Link.ADVANTAGE,),
    actions=ACTS,
    says=(r"(?i)(critic|value).{0,60}(alone|only|fixed|fit)|(only|alone|fixed|fit).{0,60}(critic|value)",),
    healthy=_returns_grow,
)
def value_loss_flat_fitting_test(world: World) -> Curves:
    """The same with a reward that goes nowhere, so that growing returns are no reason for it."""
    run = Edited(world)
    run.score(0.0)
    _untaught(run, world.between(0.08, -0.3), 1 + world.between(0.0, 0.5) * world.x)
    return run.curves


def _negative_at_first(world: World) -> Curves:
    run = learning(world)
    run.put("value.explained_variance", -0.6 + world.rng.uniform(1.3, 1.5) * (1 - np.exp(-world.x / 0.05)))
    return run.curves


@statement(
    id="curves.explained_variance_negative",
    guide=SIGNALS,
    quote="| explained variance < 0 | worse than predicting the mean |",
    needs=("value.explained_variance",),
    families=("text", "control"),
    links=(Link.ADVANTAGE,),
    actions=ACTS,
    says=(CRITIC,),
    healthy=_negative_at_first,
)
def explained_variance_negative(world: World) -> Curves:
    """The explained variance stays below 0 after the first steps, to the end of the run."""
    run = Edited(world)
    run.score(0.3 * learned(world))
    low = -world.between(0.15, 1.5)
    _untaught(run, low * (1 - 0.4 * np.exp(-world.x / 0.05)), 1 + 0.4 * world.x)
    return run.curves


def _half_explained(world: World) -> Curves:
    run = learning(world)
    run.put("value.explained_variance", world.rng.uniform(0.45, 0.7) * (1 - np.exp(-world.x / 0.08)))
    return run.curves


@statement(
    id="curves.explained_variance_about_zero",
    guide=f"{GUIDE}, Training as a closed loop",
    quote="if the Critic cannot learn, PPO's advantage becomes noise",
    needs=("value.explained_variance", "reward.mean"),
    families=("text", "control"),
    links=(Link.ADVANTAGE,),
    actions=ACTS,
    says=(CRITIC,),
    healthy=_half_explained,
)
def explained_variance_about_zero(world: World) -> Curves:
    """The critic explains nothing of the returns in the whole run, and the reward hardly moves."""
    run = Edited(world)
    run.score(world.between(0.25, 0.0) * learned(world))
    _untaught(run, world.rng.uniform(-0.02, 0.04), 1.0)
    return run.curves


def _noisy_and_rising(world: World) -> Curves:
    run = Edited(world)
    run.score(1.3 * learned(world, 0.5))
    run.exact("reward.mean", run.curves["reward.mean"] + run.noise("reward.mean") * world.rng.standard_normal(world.n))
    run.put("value.explained_variance", 0.3 + 0.5 * learned(world, 0.15))
    return run.curves


@statement(
    id="curves.reward_oscillates_noisy_critic",
    guide=SIGNALS,
    quote="| policy reward oscillates | Actor is pushed around by noisy advantage |",
    needs=("reward.mean", "value.explained_variance", "value.loss"),
    families=("control", "text"),
    links=(Link.ADVANTAGE, Link.POLICY_UPDATE),
    actions=ACTS,
    says=(r"(?i)critic|value|advantage",),
    healthy=_noisy_and_rising,
)
def reward_oscillates_noisy_critic(world: World) -> Curves:
    """The reward swings up and down by most of its range, and the critic explains little of the returns."""
    run = Edited(world)
    swings = world.rng.uniform(3, 6)
    wave = np.sin(2 * np.pi * (swings * world.x + 0.4 * np.sin(2 * np.pi * world.x + world.rng.uniform(0, 6))))
    run.score(0.45 * learned(world, 0.1) + world.between(0.3, 0.6) * wave * np.minimum(world.x / 0.1, 1))
    _untaught(run, 0.1 + 0.1 * wave, 1 + 0.4 * wave**2)
    return run.curves


def _value_catches_up(world: World) -> Curves:
    run = learning(world)
    returns = run.curves["returns.mean"]
    run.exact("value.mean", returns * (0.3 + 0.68 * (1 - np.exp(-world.x / 0.1))))
    run.put("value.explained_variance", 0.2 + 0.65 * (1 - np.exp(-world.x / 0.1)))
    return run.curves


@statement(
    id="curves.value_scale_too_small",
    guide=SIGNALS,
    quote="| value prediction scale much smaller than return | reward scale or value target problem |",
    needs=("value.mean", "returns.mean"),
    families=("text", "control"),
    links=(Link.ADVANTAGE, Link.REWARD),
    actions=ACTS,
    says=(r"(?i)scale|normali[sz]|target",),
    healthy=_value_catches_up,
)
def value_scale_too_small(world: World) -> Curves:
    """The values that the critic predicts stay at a small share of the returns to the end."""
    run = Edited(world)
    run.score(0.3 * learned(world))
    share = 1 / world.between(6, 60)
    run.exact("value.mean", run.curves["returns.mean"] * share * (0.7 + 0.3 * learned(world)))
    _untaught(run, 0.05, 1 + 0.2 * world.x)
    return run.curves


def _critic_dips(world: World) -> Curves:
    run = learning(world)
    dip = bump(world, world.onset(), steps_of(world, 2, 4))
    run.put("value.explained_variance", 0.2 + 0.65 * learned(world, 0.15) - 0.5 * dip)
    run.scale(("value.loss",), 1 + 2 * dip)
    return run.curves


@statement(
    id="curves.critic_breaks_then_actor",
    guide=f"{GUIDE}, Critic",
    quote="But if the Critic is wrong, the advantage will be wrong; if the advantage is wrong, the Actor will update in the"
    " wrong direction.",
    needs=("reward.mean", "value.explained_variance", "value.loss"),
    families=("text", "control"),
    links=(Link.ADVANTAGE,),
    first=(Link.ADVANTAGE,),
    actions=ACTS,
    healthy=_critic_dips,
)
def critic_breaks_then_actor(world: World) -> Curves:
    """A good critic fails within some steps, its loss rises, and the reward falls a tenth of the run later."""
    run = Edited(world)
    at = world.onset(0.35, 0.55)
    wrong = ramp(world, at, 0.05)
    fall = ramp(world, at + round(0.1 * world.n), 0.25)
    run.score(learned(world) - world.between(0.4, 1.0) * fall)
    good = 0.2 + 0.65 * learned(world, 0.15)
    run.put("value.explained_variance", good * (1 - wrong) - world.between(0.0, 0.8) * wrong)
    run.scale(("value.loss", "value.error"), 1 + world.between(3, 20) * wrong)
    return run.curves


@statement(
    id="curves.critic_learning_rate_moves_value_loss",
    guide=f"{GUIDE}, Critic",
    quote="Common fixes include: reducing reward scale, normalizing returns, adjusting critic learning rate up or down,"
    " increasing critic network capacity, checking bootstrap targets, and checking terminal masks.",
    needs=("value.loss", "value.explained_variance"),
    families=("control",),
    links=(Link.ADVANTAGE,),
    actions=ACTS,
    says=(
        r"(?i)reward scale|scale (of )?(the )?reward|normali[sz]|critic.{0,40}learning rate|capacity|bootstrap"
        r"|terminal|larger critic",
    ),
    healthy=_negative_at_first,
)
def critic_learning_rate_moves_value_loss(world: World) -> Curves:
    """The value loss jumps up and down by factors and never settles; the explained variance crosses 0 all the time."""
    run = Edited(world)
    run.score(0.3 * learned(world))
    jumps = np.exp(world.between(0.6, 1.2) * world.rng.standard_normal(world.n))
    _untaught(run, -0.1 + 0.25 * world.rng.standard_normal(world.n), jumps)
    return run.curves
