"""The practitioner's description: KL divergence against reward, the five cells, with and without an evaluation."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.coherent import (
    after,
    climb,
    divergences,
    drifting,
    paced,
    peak,
    scores,
    settled,
    since,
    unevaluated,
    visible,
)
from benchmarks.statements.statement import Curves, Generator, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Action, Link

GUIDE = "Practitioner's description, KL divergence and reward"
GOES_ON = (Action.CONTINUE, Action.WATCH)
NOT_ON = (Action.WATCH, Action.STOP, Action.ROLLBACK)
ENDS = (Action.STOP, Action.ROLLBACK)
DRIFT = (Link.POLICY_UPDATE, Link.REWARD, Link.EVALUATION)
KL = r"(?i)\bKL\b|kl\.ref|diverg|drift|reference|moves? away|moved away"
RISING = r"(?i)ris|improv|climb|increas|learn|gain"
FLAT = (
    r"(?i)run its course|plateau|flat|no (further |more )?(gain|benefit|improv)|without.{0,30}(gain|benefit|improv|better)"
    r"|not.{0,20}(improv|ris|gain|better)|gains? (nothing|little)|buys? nothing|for nothing|unrewarded|level(l)?ed|stall|satur"
)
FELL = r"(?i)declin|fell|fall|lost|loses|drop|worse|peak|below"
CONVERGED = (
    r"(?i)converged|plateau|flat|satur|level(l)?ed|nothing.{0,30}chang|no longer.{0,30}(chang|improv|ris)"
    r"|stopped (ris|improv)|stall"
)


def silent(generator: Generator) -> Generator:
    """The same run of a trainer that evaluates nothing."""
    return lambda world: unevaluated(generator(world))


def rising_both(world: World) -> Curves:
    """KL and reward rise together, all the way."""
    curves = dict(world.healthy)
    scores(world, curves, world.x**0.8)
    drifting(world, curves, 1 + (world.between(3.0, 8.0) - 1) * world.x)
    return curves


def level_both(world: World) -> Curves:
    """KL and reward rise together, and both are slower and slower: the look-alike of drift without reward."""
    curves = dict(world.healthy)
    course = (1 - np.exp(-world.x / 0.4)) / (1 - np.exp(-1 / 0.4))
    scores(world, curves, course)
    drifting(world, curves, 1 + (world.between(3.0, 8.0) - 1) * course)
    return curves


def dip_both(world: World) -> Curves:
    """KL rises, reward dips for a moment and comes back to a new best."""
    curves = rising_both(world)
    at, width = world.rng.uniform(0.35, 0.6), world.rng.uniform(0.02, 0.04)
    lost = min(visible(world, world.between(0.1, 0.4)), 0.5)
    scores(world, curves, world.x**0.8 - lost * np.exp(-(((world.x - at) / width) ** 2) / 2))
    return curves


def rising_flat(world: World) -> Curves:
    top = world.rng.uniform(0.25, 0.5)
    curves = settled(world, top)
    drifting(world, curves, 1 + (world.between(3.0, 10.0) - 1) * after(world, top))
    return curves


def rising_declining(world: World) -> Curves:
    top = world.rng.uniform(0.3, 0.6)
    curves = paced(world, np.minimum(world.x / top, 1.0))
    scores(world, curves, peak(world, top, visible(world, world.between(0.2, 0.7))))
    drifting(world, curves, 1 + (world.between(3.0, 10.0) - 1) * after(world, top))
    return curves


def stable_rising(world: World) -> Curves:
    curves = dict(world.healthy)
    scores(world, curves, world.between(0.7, 1.0) * world.x**0.8)
    drifting(world, curves, np.ones(world.n))
    return curves


def stable_flat(world: World) -> Curves:
    top = world.rng.uniform(0.25, 0.5)
    curves = settled(world, top)
    drifting(world, curves, 0.2 + 0.8 * climb(world, top))
    return curves


@statement(
    id="curves.kl_rising_reward_rising_unevaluated",
    guide=GUIDE,
    quote="KL rising with reward rising: The model is changing AND improving.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean"),
    actions=GOES_ON,
    says=(RISING,),
)
def kl_rising_reward_rising_unevaluated(world: World) -> Curves:
    return unevaluated(rising_both(world))


@statement(
    id="curves.kl_rising_reward_rising",
    guide=GUIDE,
    quote="This is healthy -- the policy is learning useful behaviors that differ from the reference.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean", "eval.reward"),
    actions=GOES_ON,
    says=(RISING,),
)
def kl_rising_reward_rising(world: World) -> Curves:
    return rising_both(world)


@statement(
    id="curves.kl_rising_reward_flat",
    guide=GUIDE,
    quote="KL rising with reward flat: The model is changing but NOT improving. This is the critical warning pattern.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean", "eval.reward"),
    links=DRIFT,
    actions=NOT_ON,
    says=(KL, FLAT),
    healthy=level_both,
)
def kl_rising_reward_flat(world: World) -> Curves:
    return rising_flat(world)


@statement(
    id="curves.kl_rising_reward_flat_unevaluated",
    guide=GUIDE,
    quote='An experienced practitioner would recognize this as "the training has run its course" -- '
    "continuing will only increase divergence without benefit.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean"),
    links=DRIFT,
    actions=NOT_ON,
    says=(KL, FLAT),
    healthy=silent(level_both),
)
def kl_rising_reward_flat_unevaluated(world: World) -> Curves:
    return unevaluated(rising_flat(world))


@statement(
    id="curves.kl_rising_reward_declining",
    guide=GUIDE,
    quote="The model is changing, getting worse, AND moving further from a known-good reference.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean", "eval.reward"),
    links=DRIFT,
    actions=ENDS,
    says=(KL, FELL),
    healthy=dip_both,
)
def kl_rising_reward_declining(world: World) -> Curves:
    return rising_declining(world)


@statement(
    id="curves.kl_rising_reward_declining_unevaluated",
    guide=GUIDE,
    quote="This is actively destructive. Stop immediately.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean"),
    links=DRIFT,
    actions=ENDS,
    says=(KL, FELL),
    healthy=silent(dip_both),
)
def kl_rising_reward_declining_unevaluated(world: World) -> Curves:
    return unevaluated(rising_declining(world))


@statement(
    id="curves.kl_stable_reward_rising",
    guide=GUIDE,
    quote="KL stable with reward rising: Ideal but rare -- the model is finding ways to improve without drifting.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean", "eval.reward"),
    actions=GOES_ON,
    says=(RISING,),
)
def kl_stable_reward_rising(world: World) -> Curves:
    return stable_rising(world)


@statement(
    id="curves.kl_stable_reward_rising_unevaluated",
    guide=GUIDE,
    quote="Usually seen only in early training or with strong KL penalties.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean"),
    actions=GOES_ON,
    says=(RISING,),
)
def kl_stable_reward_rising_unevaluated(world: World) -> Curves:
    return unevaluated(stable_rising(world))


@statement(
    id="curves.kl_stable_reward_flat",
    guide=GUIDE,
    quote="KL stable with reward flat: The training has converged. Nothing is changing.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean", "eval.reward"),
    actions=(Action.CONTINUE, Action.WATCH, Action.STOP),
    says=(CONVERGED,),
)
def kl_stable_reward_flat(world: World) -> Curves:
    return stable_flat(world)


@statement(
    id="curves.kl_stable_reward_flat_unevaluated",
    guide=GUIDE,
    quote="Whether to stop depends on whether the current performance is satisfactory.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean"),
    actions=(Action.CONTINUE, Action.WATCH, Action.STOP),
    says=(CONVERGED,),
)
def kl_stable_reward_flat_unevaluated(world: World) -> Curves:
    return unevaluated(stable_flat(world))


def spike(world: World) -> Curves:
    """A healthy run whose divergence is high for one step, as one odd batch makes it, and is back at the next."""
    curves = rising_both(world)
    step, times = world.onset(), world.between(5.0, 20.0)
    for signal in divergences(world):
        curves[signal][step] *= times
    return curves


@statement(
    id="curves.kl_jumps_and_stays_reward_flat",
    guide=GUIDE,
    quote="The policy keeps drifting from the reference but the drift is not producing better results.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean"),
    links=(*DRIFT, Link.NUMERICS),
    actions=NOT_ON,
    says=(KL,),
    healthy=spike,
)
def kl_jumps_and_stays_reward_flat(world: World) -> Curves:
    at = world.rng.uniform(0.35, 0.65)
    curves = settled(world, at)
    drifting(world, curves, world.between(20.0, 60.0) ** since(world, at, 0.02))
    return curves


@statement(
    id="curves.kl_jumps_and_stays_reward_lost",
    guide=GUIDE,
    quote="KL rising with reward declining:",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean"),
    links=(*DRIFT, Link.NUMERICS),
    actions=ENDS,
    says=(KL, FELL),
    healthy=spike,
)
def kl_jumps_and_stays_reward_lost(world: World) -> Curves:
    at = world.rng.uniform(0.35, 0.65)
    curves = settled(world, at)
    jump = since(world, at, 0.02)
    scores(world, curves, climb(world, at) - visible(world, world.between(0.3, 0.8)) * since(world, at, 0.1))
    drifting(world, curves, world.between(20.0, 60.0) ** jump)
    return curves


@statement(
    id="curves.kl_jumps_forty_fold",
    guide=GUIDE,
    quote="In GRPO/PPO, KL divergence measures how far the policy has moved from the reference model.",
    needs=("kl.ref|kl.ref.seq_sum", "reward.mean"),
    says=(KL,),
    healthy=spike,
)
def kl_jumps_forty_fold(world: World) -> Curves:
    """Reward rises on, so the guide names no warning: that the policy is suddenly far away has to be said."""
    curves = dict(world.healthy)
    scores(world, curves, world.x**0.8)
    drifting(world, curves, 40.0 ** since(world, world.rng.uniform(0.35, 0.65), 0.01))
    return curves
