"""The practitioner's description: the policy gradient loss."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.coherent import (
    after,
    climb,
    paced,
    put,
    put_ratio,
    scores,
    sd,
    settled,
    since,
    unlearned,
    visible,
)
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Action, Link

GUIDE = "Practitioner's description, policy gradient loss"
BOTH = ("text", "control")
METHODS = (
    "grpo",
    "rloo",
    "ppo",
    "a2c",
)  # the actor loss of soft actor-critic is minus a value: no direction of an update
GOES_ON = (Action.CONTINUE, Action.WATCH)
NOT_ON = (Action.WATCH, Action.STOP, Action.ROLLBACK)
ENDS = (Action.STOP, Action.ROLLBACK)
UPDATE = (Link.POLICY_UPDATE, Link.ADVANTAGE, Link.REWARD, Link.EVALUATION)
ABRUPT = (Link.POLICY_UPDATE, Link.ADVANTAGE, Link.NUMERICS, Link.ENVIRONMENT, Link.REWARD, Link.EVALUATION)
SIGN = r"(?i)\bsign\b|negative|revers|below (zero|0)|turned|crosse[sd]|direction|flipp"
STEP = (
    r"(?i)doubl|halv|jump|abrupt|sudden|discontinu|twice|half|at once|shift|times (as|its|larger|smaller)|step change"
)
DIRECTION = r"(?i)direction|around (zero|0)|random|no(t a)? (learning )?(signal|trend)|nois|cancel"
PPO = (
    "The policy loss of PPO and GRPO is minus the mean advantage, weighted by ratios near 1. Normalised advantages have a mean "
    "of 0, so its level and its sign say nothing of the direction of the update: a score that rises overrules it."
)


def loss(world: World, curves: Curves, course: np.ndarray, scale: float = 1.0) -> None:
    """Give the policy loss this course (n,), in units of its noise."""
    level = sd(world, "policy.loss")
    before = curves["policy.loss"]
    put(world, curves, "policy.loss", level * course, scale)
    if "loss.total" in curves and world.family == "control":
        curves["loss.total"] = curves["loss.total"] + curves["policy.loss"] - before


def rising(world: World) -> Curves:
    """A healthy run whose score rises to the end."""
    curves = paced(world, world.x)
    scores(world, curves, world.x**0.8)
    return curves


def lost(world: World, at: float) -> Curves:
    """A run whose score falls from progress `at` on."""
    curves = paced(world, np.minimum(world.x, at))
    size = visible(world, world.between(0.3, 0.8))
    scores(world, curves, np.minimum(world.x, at) ** 0.8 * (1 - size * since(world, at, 0.15)))
    return curves


@statement(
    id="curves.loss_stable_declining",
    guide=GUIDE,
    quote="Stable and gradually declining: Normal -- the policy updates are getting smaller as the model converges.",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    actions=GOES_ON,
)
def loss_stable_declining(world: World) -> Curves:
    curves = rising(world)
    loss(world, curves, world.between(3.0, 10.0) * np.exp(-world.x / 0.6), scale=0.7)
    return curves


def zero_and_rising(world: World) -> Curves:
    """A healthy run of normalised advantages: the loss has no level of its own, and the score rises."""
    curves = rising(world)
    loss(world, curves, np.zeros(world.n), scale=world.between(1.0, 2.0))
    return curves


@statement(
    id="curves.loss_around_zero_no_learning",
    guide=GUIDE,
    quote="Oscillating around zero: The policy gradient has no consistent direction. Updates are random noise.",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    links=(*UPDATE, Link.ENVIRONMENT, Link.ROLLOUT, Link.EXPLORATION),
    actions=NOT_ON,
    healthy=zero_and_rising,
)
def loss_around_zero_no_learning(world: World) -> Curves:
    curves = unlearned(world)
    loss(world, curves, np.zeros(world.n), scale=world.between(1.0, 2.0))
    return curves


@statement(
    id="curves.loss_around_zero_no_learning_said",
    guide=GUIDE,
    quote="Oscillating around zero: The policy gradient has no consistent direction. Updates are random noise.",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    actions=NOT_ON,
    says=(DIRECTION,),
    healthy=zero_and_rising,
)
def loss_around_zero_no_learning_said(world: World) -> Curves:
    curves = unlearned(world)
    swing = np.sin(2 * np.pi * world.x * world.rng.uniform(4, 9))
    loss(world, curves, world.between(1.5, 4.0) * swing)
    return curves


@statement(
    id="curves.loss_around_zero_after_plateau",
    guide=GUIDE,
    quote="Continuing training is pointless.",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    actions=GOES_ON,
    says=(r"(?i)more (steps|compute) gains? (little|nothing)|converged|near zero|small: the score stays",),
    argument="A run that has learned and stands on its plateau is not faulty, and the same guide says of it: whether to stop "
    "depends on whether the performance is satisfactory. That more steps gain little has to be said; a warning has not. "
    + PPO,
)
def loss_around_zero_after_plateau(world: World) -> Curves:
    """It learned, with a loss that declined; then the score is flat, and the loss swings around zero."""
    top = world.rng.uniform(0.25, 0.4)
    curves = settled(world, top)
    loss(world, curves, 6 * (1 - np.minimum(world.x / top, 1)), scale=world.between(1.0, 2.0))
    return curves


@statement(
    id="curves.loss_around_zero_reward_rising",
    guide=GUIDE,
    quote="Oscillating around zero: The policy gradient has no consistent direction.",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    actions=GOES_ON,
    argument=PPO,
)
def loss_around_zero_reward_rising(world: World) -> Curves:
    return zero_and_rising(world)


def reversed_at(world: World, curves: Curves, at: float) -> None:
    """The loss is positive up to progress `at`, and as far below zero soon after."""
    level = world.between(2.0, 6.0)
    loss(world, curves, level * (1 - 2 * since(world, at, 0.08)))


def slowly_below(world: World) -> Curves:
    """A healthy run whose loss wanders through zero slowly, as large as the broken one's, while the score rises."""
    curves = rising(world)
    level = world.between(2.0, 6.0)
    loss(world, curves, level * (0.5 - world.x))
    return curves


@statement(
    id="curves.loss_turns_negative_score_lost",
    guide=GUIDE,
    quote="Went negative after being positive: The update direction reversed -- the model is now being pushed away from "
    "reward improvement. This is a strong signal to stop.",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    links=UPDATE,
    actions=ENDS,
    says=(SIGN,),
    healthy=slowly_below,
)
def loss_turns_negative_score_lost(world: World) -> Curves:
    at = world.rng.uniform(0.35, 0.65)
    curves = lost(world, at)
    reversed_at(world, curves, at)
    return curves


@statement(
    id="curves.loss_turns_negative_score_flat",
    guide=GUIDE,
    quote="Went negative after being positive: The update direction reversed",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    actions=NOT_ON,
    says=(SIGN,),
    healthy=slowly_below,
)
def loss_turns_negative_score_flat(world: World) -> Curves:
    at = world.rng.uniform(0.3, 0.5)
    curves = settled(world, at)
    reversed_at(world, curves, at)
    return curves


@statement(
    id="curves.loss_turns_negative_reward_rising",
    guide=GUIDE,
    quote="This is a strong signal to stop.",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    actions=GOES_ON,
    argument=PPO,
)
def loss_turns_negative_reward_rising(world: World) -> Curves:
    return slowly_below(world)


def drifting_loss(world: World, ends_at: float) -> Curves:
    """A healthy run whose loss changes as much as the broken one's, little by little, with one odd step in it."""
    curves = rising(world)
    level = world.between(4.0, 8.0)
    loss(world, curves, level * ends_at**world.x)
    curves["policy.loss"][world.onset()] *= 2
    return curves


def stepped(world: World, curves: Curves, at: float, times: float) -> None:
    """The loss, level so far, is `times` as large from progress `at` on."""
    level = world.between(4.0, 8.0)
    course = times ** since(world, at)
    put(world, curves, "policy.loss", level * sd(world, "policy.loss") * course, scale=float(min(times, 1.0)))
    if times > 1:
        put_ratio(world, curves, "grad.norm", float(np.nanmedian(world.healthy.get("grad.norm", np.ones(1)))) * course)


def doubling(world: World) -> Curves:
    return drifting_loss(world, 2.0)


def halving(world: World) -> Curves:
    return drifting_loss(world, 0.5)


@statement(
    id="curves.loss_doubles_score_lost",
    guide=GUIDE,
    quote="Suddenly doubled or halved: A discontinuity in pg_loss magnitude suggests something changed abruptly",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    links=ABRUPT,
    actions=NOT_ON,
    says=(STEP,),
    healthy=doubling,
)
def loss_doubles_score_lost(world: World) -> Curves:
    at = world.rng.uniform(0.35, 0.65)
    curves = lost(world, at)
    stepped(world, curves, at, 2.0)
    return curves


@statement(
    id="curves.loss_halves_score_lost",
    guide=GUIDE,
    quote="Suddenly doubled or halved: A discontinuity in pg_loss magnitude suggests something changed abruptly",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    links=ABRUPT,
    actions=NOT_ON,
    says=(STEP,),
    healthy=halving,
)
def loss_halves_score_lost(world: World) -> Curves:
    at = world.rng.uniform(0.35, 0.65)
    curves = lost(world, at)
    stepped(world, curves, at, 0.5)
    return curves


@statement(
    id="curves.loss_doubles",
    guide=GUIDE,
    quote="Investigate what caused the discontinuity.",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    says=(
        r"(?i)loss.{0,120}(doubl|jump|abrupt|sudden|discontinu|twice|at once|shift|times)|(doubl|jump|sudden).{0,80}loss",
    ),
    healthy=doubling,
)
def loss_doubles(world: World) -> Curves:
    """The score goes on as before."""
    curves = rising(world)
    stepped(world, curves, world.rng.uniform(0.35, 0.65), 2.0)
    return curves


@statement(
    id="curves.loss_halves",
    guide=GUIDE,
    quote="Investigate what caused the discontinuity.",
    needs=("policy.loss", "reward.mean"),
    families=BOTH,
    methods=METHODS,
    says=(
        r"(?i)loss.{0,120}(halv|half|drop|abrupt|sudden|discontinu|at once|shift|times)|(halv|drop|sudden).{0,80}loss",
    ),
    healthy=halving,
)
def loss_halves(world: World) -> Curves:
    """The score goes on as before."""
    curves = rising(world)
    stepped(world, curves, world.rng.uniform(0.35, 0.65), 0.5)
    return curves


def annealed(world: World) -> Curves:
    """A healthy run whose learning rate falls smoothly, and its loss with it."""
    curves = drifting_loss(world, 0.5)
    curves["lr"] = np.nanmax(world.healthy["lr"]) * (1 + np.cos(np.pi * world.x)) / 2 + 1e-12
    return curves


@statement(
    id="curves.loss_halves_with_learning_rate",
    guide=GUIDE,
    quote="(data distribution shift, learning rate schedule step, gradient explosion/collapse)",
    needs=("policy.loss", "reward.mean", "lr"),
    families=BOTH,
    methods=METHODS,
    says=(r"(?i)learning.rate|\blr\b",),
    healthy=annealed,
)
def loss_halves_with_learning_rate(world: World) -> Curves:
    """The schedule divides the learning rate by ten; from there on the loss is half as large and the score slower."""
    at = world.rng.uniform(0.4, 0.6)
    curves = paced(world, np.minimum(world.x, at) + 0.3 * after(world, at) * (1 - at))
    scores(world, curves, np.minimum(world.x, at) + 0.3 * after(world, at) * (1 - at))
    stepped(world, curves, at, 0.5)
    curves["lr"] = np.nanmax(world.healthy["lr"]) * 10.0 ** -(world.x >= at).astype(float)
    return curves


@statement(
    id="curves.loss_doubles_with_gradients",
    guide=GUIDE,
    quote="(data distribution shift, learning rate schedule step, gradient explosion/collapse)",
    needs=("policy.loss", "reward.mean", "grad.norm"),
    families=BOTH,
    methods=METHODS,
    links=(*ABRUPT, Link.NUMERICS),
    says=(r"(?i)gradient|grad.norm",),
    actions=NOT_ON,
    healthy=doubling,
)
def loss_doubles_with_gradients(world: World) -> Curves:
    at = world.rng.uniform(0.4, 0.65)
    curves = lost(world, at)
    stepped(world, curves, at, 2.0)
    put_ratio(
        world, curves, "grad.norm", np.nanmedian(world.healthy["grad.norm"]) * world.between(8, 30) ** since(world, at)
    )
    return curves


def collapse(world: World) -> Curves:
    """A healthy run whose gradient norm falls as it converges."""
    curves = rising(world)
    put_ratio(world, curves, "grad.norm", np.nanmedian(world.healthy["grad.norm"]) * 0.5**world.x)
    loss(world, curves, 5 * 0.5**world.x)
    return curves


@statement(
    id="curves.loss_collapses_with_gradients",
    guide=GUIDE,
    quote="gradient explosion/collapse",
    needs=("policy.loss", "reward.mean", "grad.norm"),
    families=BOTH,
    methods=METHODS,
    links=ABRUPT,
    says=(r"(?i)gradient|grad.norm|vanish|no (learning )?signal",),
    actions=NOT_ON,
    healthy=collapse,
)
def loss_collapses_with_gradients(world: World) -> Curves:
    """Gradients all but vanish at once; the loss loses its size, and the score, halfway up, stops rising."""
    at = world.rng.uniform(0.3, 0.5)
    curves = paced(world, np.minimum(world.x, at))
    scores(world, curves, climb(world, at) * at)
    gone = since(world, at, 0.02)
    loss(world, curves, 5 * (1 - 0.98 * gone), scale=0.6)
    curves["policy.loss"] = np.where(gone >= 1, 0.02 * curves["policy.loss"], curves["policy.loss"])
    small = world.between(0.05, 0.005)
    put_ratio(world, curves, "grad.norm", np.nanmedian(world.healthy["grad.norm"]) * small**gone)
    return curves
