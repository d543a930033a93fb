"""The practitioner's description: upside, risk, and the best checkpoint."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.coherent import (
    ALONE,
    HELD_OUT,
    TRAINED,
    after,
    climb,
    drifting,
    paced,
    peak,
    score,
    scores,
    sd,
    settled,
    unevaluated,
    visible,
)
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Action, Link

GUIDE = "Practitioner's description, the decision"
BOTH = ("text", "control")
NOT_ON = (Action.WATCH, Action.STOP, Action.ROLLBACK)
ENDS = (Action.STOP, Action.ROLLBACK)
DECLINED = (Link.EVALUATION, Link.REWARD, Link.POLICY_UPDATE)
UPSIDE = (
    r"(?i)upside|near zero|nothing (left|more|to gain)|no (further|more) (gain|improv)|little (left|more|to gain)|run its course"
    r"|unlikely|without (gain|benefit|improv)|gains? nothing|not (likely|expected)"
)
RISK = r"(?i)drift|further|reference|diverg|harder|recover|moves? away|\bKL\b"
BEST = r"(?i)(best|peak|highest|better).{0,80}(step|checkpoint|evaluation)|(step|checkpoint).{0,60}(best|peak|better)"
KL_NEEDS = ("kl.ref|kl.ref.seq_sum", "reward.mean")


def slow(world: World) -> Curves:
    """A healthy run whose reward rises slowly, and to the end, while KL rises."""
    curves = paced(world, world.x)
    scores(world, curves, world.x**0.7)
    drifting(world, curves, 1 + (world.between(2.0, 5.0) - 1) * world.x)
    return curves


@statement(
    id="curves.upside_near_zero",
    guide=GUIDE,
    quote="If reward has plateaued and KL is rising, the realistic upside is near zero",
    needs=KL_NEEDS,
    actions=NOT_ON,
    says=(UPSIDE,),
    healthy=slow,
)
def upside_near_zero(world: World) -> Curves:
    top = world.rng.uniform(0.3, 0.5)
    curves = settled(world, top)
    drifting(world, curves, 1 + (world.between(2.5, 8.0) - 1) * after(world, top))
    return curves


@statement(
    id="curves.risk_of_drift",
    guide=GUIDE,
    quote="Rising KL means the model is drifting further from a known-good reference.",
    needs=KL_NEEDS,
    actions=NOT_ON,
    says=(RISK,),
    healthy=slow,
)
def risk_of_drift(world: World) -> Curves:
    """KL does not even slow down: it multiplies, at the same rate, to the end."""
    top = world.rng.uniform(0.3, 0.5)
    curves = settled(world, top)
    drifting(world, curves, world.between(5.0, 30.0) ** after(world, top))
    return curves


def bad_luck(world: World) -> Curves:
    """A healthy run that rises to the end, and whose last evaluation alone is unlucky."""
    curves = paced(world, world.x)
    scores(world, curves, world.x**0.8)
    last = np.flatnonzero(np.isfinite(curves["eval.reward"]))[-1]
    curves["eval.reward"] = curves["eval.reward"].copy()
    curves["eval.reward"][last] -= world.between(1.0, 2.0) * sd(world, "eval.reward")
    return curves


def peaked(world: World, low: float, high: float, among: tuple[str, ...] = TRAINED + HELD_OUT) -> Curves:
    top = world.rng.uniform(low, high)
    curves = paced(world, np.minimum(world.x / top, 1.0))
    scores(world, curves, peak(world, top, visible(world, world.between(0.25, 0.7), top, among, ALONE)))
    return curves


@statement(
    id="curves.best_checkpoint_earlier",
    guide=GUIDE,
    quote="If the model peaked earlier, the best version already exists on disk.",
    needs=("reward.mean", "eval.reward"),
    families=BOTH,
    links=DECLINED,
    actions=ENDS,
    says=(BEST,),
    healthy=bad_luck,
)
def best_checkpoint_earlier(world: World) -> Curves:
    return peaked(world, 0.25, 0.6)


@statement(
    id="curves.best_checkpoint_by_evaluation",
    guide=GUIDE,
    quote="Continuing training makes the current model worse, not better.",
    needs=("reward.mean", "eval.reward"),
    families=BOTH,
    links=DECLINED,
    actions=ENDS,
    says=(BEST,),
    healthy=bad_luck,
)
def best_checkpoint_by_evaluation(world: World) -> Curves:
    """Only the evaluation shows that the model was better earlier: the training score is flat since."""
    top = world.rng.uniform(0.3, 0.5)
    curves = paced(world, np.minimum(world.x / top, 1.0))
    score(world, curves, climb(world, top), TRAINED)
    score(world, curves, peak(world, top, visible(world, world.between(0.4, 0.8), top, HELD_OUT)), HELD_OUT)
    return curves


def rising_unevaluated(world: World) -> Curves:
    """A healthy run without evaluation that rises to the end."""
    curves = paced(world, world.x)
    scores(world, curves, world.x**0.8)
    return unevaluated(curves)


@statement(
    id="curves.best_checkpoint_unevaluated",
    guide=GUIDE,
    quote="The right action is to stop and use the peak checkpoint.",
    needs=("reward.mean",),
    families=BOTH,
    links=DECLINED,
    actions=ENDS,
    says=(BEST,),
    healthy=rising_unevaluated,
)
def best_checkpoint_unevaluated(world: World) -> Curves:
    return unevaluated(peaked(world, 0.25, 0.6, TRAINED))


@statement(
    id="curves.converged_no_more_steps",
    guide=GUIDE,
    quote="What is the realistic upside of continuing?",
    needs=("reward.mean",),
    families=BOTH,
    actions=(Action.CONTINUE, Action.WATCH, Action.STOP),
    says=(
        r"(?is)\A(?!.*(as many|twice as many|double the).{0,20}steps)"
        r".*(converged|plateau|flat|satur|nothing.{0,30}chang|no longer.{0,30}(chang|improv|ris)"
        r"|level(l)?ed|stopped (ris|improv)|stall)",
    ),
    healthy=rising_unevaluated,
)
def converged_no_more_steps(world: World) -> Curves:
    """All is flat since long: nobody would spend as many steps again."""
    top = world.rng.uniform(0.15, 0.3)
    curves = settled(world, top)
    drifting(world, curves, np.ones(world.n))
    return curves


@statement(
    id="curves.upside_left",
    guide=GUIDE,
    quote="After reading the metrics, the final question is practical:",
    needs=("reward.mean",),
    families=BOTH,
    actions=(Action.CONTINUE, Action.WATCH),
    says=(r"(?i)ris|improv|climb|upside|gain",),
)
def upside_left(world: World) -> Curves:
    return rising_unevaluated(world)
