"""The practitioner's description: the reward trajectory."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.coherent import (
    ALONE,
    HELD_OUT,
    TRAINED,
    climb,
    levels,
    paced,
    peak,
    score,
    scores,
    sd,
    settled,
    unlearned,
    visible,
)
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Action, Link

GUIDE = "Practitioner's description, reward trajectory"
BOTH = ("text", "control")
GOES_ON = (Action.CONTINUE, Action.WATCH)
NOT_ON = (Action.WATCH, Action.STOP, Action.ROLLBACK)
ENDS = (Action.STOP, Action.ROLLBACK)
#: a score that does not rise may be called by any link that makes or uses the signal
UNMOVED = (
    Link.ENVIRONMENT,
    Link.EVALUATION,
    Link.ROLLOUT,
    Link.REWARD,
    Link.ADVANTAGE,
    Link.POLICY_UPDATE,
    Link.EXPLORATION,
)
DECLINED = (Link.EVALUATION, Link.REWARD, Link.POLICY_UPDATE)
NOT_RISING = (
    r"(?i)(not|never|n't|no|nothing|without|barely|hardly).{0,40}(ris|improv|learn|mov|trend|gain|progress|increas|chang)"
    r"|flat|unmoved|went nowhere|stuck"
)
FLAT = r"(?i)plateau|flat|level(l)?ed|stopped (ris|improv)|no longer|not (ris|improv)|converged|satur|stall|ceased"
RISING = r"(?i)\b(still |steadily )?(ris|improv|climb|increas|grow|learn)"
BEST = r"(?i)(best|peak|highest|better).{0,80}(step|checkpoint|evaluation)|(step|checkpoint).{0,60}(best|peak|better)"
FELL = r"(?i)declin|fell|fall|lost|loses|drop|worse|below (its|the) (best|peak)|peak"


def late(world: World) -> Curves:
    """A healthy run that begins to learn late, and is clearly learning at the end."""
    start = world.rng.uniform(0.15, 0.3)
    pace = np.clip((world.x - start) / (1 - start), 0, 1)
    curves = paced(world, pace)
    scores(world, curves, pace)
    return curves


def rising(world: World) -> Curves:
    """A healthy run whose score rises from the first to the last step."""
    curves = paced(world, world.x)
    scores(world, curves, world.x**0.8)
    return curves


def dip(world: World) -> Curves:
    """A healthy run that loses as much as the broken one for a moment, and comes back to a new best."""
    curves = dict(world.healthy)
    at, width = world.rng.uniform(0.35, 0.6), world.rng.uniform(0.03, 0.05)
    lost = min(visible(world, world.between(0.1, 0.4)), 0.5)
    scores(world, curves, world.x**0.8 - lost * np.exp(-(((world.x - at) / width) ** 2) / 2))
    return curves


@statement(
    id="curves.reward_still_rising",
    guide=GUIDE,
    quote="Is the trajectory still rising? Early in training, reward should clearly improve.",
    needs=("reward.mean",),
    families=BOTH,
    actions=GOES_ON,
    says=(RISING,),
)
def still_rising(world: World) -> Curves:
    curves = dict(world.healthy)
    scores(world, curves, world.between(0.7, 1.0) * world.x ** world.rng.uniform(0.6, 0.9))
    return curves


@statement(
    id="curves.reward_no_early_improvement",
    guide=GUIDE,
    quote="Early in training, reward should clearly improve.",
    needs=("reward.mean",),
    families=BOTH,
    links=UNMOVED,
    actions=NOT_ON,
    says=(NOT_RISING,),
    healthy=late,
)
def no_early_improvement(world: World) -> Curves:
    return unlearned(world)


@statement(
    id="curves.reward_rate_steady",
    guide=GUIDE,
    quote="The key question is whether the rate of improvement is itself changing:",
    needs=("reward.mean",),
    families=BOTH,
    actions=GOES_ON,
    says=(r"(?i)stead|constant|same (rate|pace|speed)|unchanged rate|\brate\b|as fast as|per (1,?000 |100 )?step",),
)
def rate_steady(world: World) -> Curves:
    curves = paced(world, world.x)
    scores(world, curves, world.between(0.7, 1.0) * world.x)
    return curves


@statement(
    id="curves.reward_rate_falling",
    guide=GUIDE,
    quote="The key question is whether the rate of improvement is itself changing:",
    needs=("reward.mean",),
    families=BOTH,
    actions=GOES_ON,
    says=(r"(?i)slow|decelerat|diminish|flatten|level(l)?ing|less and less|plateau|satur|tail(s|ing) off|fading",),
)
def rate_falling(world: World) -> Curves:
    curves = dict(world.healthy)
    tau = world.between(0.5, 0.25)  # the larger effect slows down sooner
    scores(world, curves, (1 - np.exp(-world.x / tau)) / (1 - np.exp(-1 / tau)))
    return curves


@statement(
    id="curves.reward_rate_growing",
    guide=GUIDE,
    quote="The key question is whether the rate of improvement is itself changing:",
    needs=("reward.mean",),
    families=BOTH,
    actions=GOES_ON,
    says=(
        r"(?i)accelerat|faster|speed(s|ing) up|picking up|picks up|gains pace|steeper|\brate\b.{0,40}(grow|ris|increas)",
    ),
)
def rate_growing(world: World) -> Curves:
    curves = paced(world, world.x**2)
    scores(world, curves, world.x ** world.between(2.0, 4.0))
    return curves


@statement(
    id="curves.reward_rate_zero",
    guide=GUIDE,
    quote="The key question is whether the rate of improvement is itself changing:",
    needs=("reward.mean",),
    families=BOTH,
    says=(FLAT,),
    healthy=rising,
)
def rate_zero(world: World) -> Curves:
    return settled(world, world.rng.uniform(0.25, 0.5))


def loud(world: World) -> Curves:
    """A healthy run, as noisy as the broken one, whose trend is clear all the same."""
    curves = dict(world.healthy)
    start, end = levels(world, "reward.mean")
    clear = max(1.0, 0.4 * abs(end - start) / sd(world, "reward.mean"))
    scores(world, curves, world.x**0.8, scale=min(world.between(1.5, 3.0), clear))
    return curves


@statement(
    id="curves.reward_noise_is_the_signal",
    guide=GUIDE,
    quote="whether you can see a clear trend through the noise, or whether the noise IS the signal (no trend at all).",
    needs=("reward.mean",),
    families=BOTH,
    links=UNMOVED,
    actions=NOT_ON,
    says=(NOT_RISING + r"|no(t a)?( clear)? trend|nois",),
    healthy=loud,
)
def noise_is_the_signal(world: World) -> Curves:
    curves = unlearned(world)
    scores(world, curves, 0.1 + 0.0 * world.x, scale=world.between(1.5, 3.0))
    return curves


@statement(
    id="curves.reward_noisy_and_rising",
    guide=GUIDE,
    quote="Some noise is normal in RL (stochastic rewards).",
    needs=("reward.mean",),
    families=BOTH,
    actions=GOES_ON,
    says=(RISING,),
)
def noisy_and_rising(world: World) -> Curves:
    return loud(world)


def peaked(world: World, low: float, high: float, lost: float, least: float = 0.0) -> Curves:
    """A run whose score, on training and on held-out data, peaks at a progress between `low` and `high`."""
    top = world.rng.uniform(low, high)
    curves = paced(world, np.minimum(world.x / top, 1.0))
    scores(world, curves, peak(world, top, visible(world, lost, top, least=least)))
    return curves


@statement(
    id="curves.reward_peak_mild",
    guide=GUIDE,
    quote="Has there been a peak followed by decline?",
    needs=("reward.mean",),
    families=BOTH,
    links=DECLINED,
    actions=NOT_ON,
    says=(FELL,),
    healthy=dip,
)
def peak_mild(world: World) -> Curves:
    return peaked(world, 0.3, 0.6, world.between(0.1, 0.25))


@statement(
    id="curves.reward_peak_early",
    guide=GUIDE,
    quote="if the model was better earlier, continuing training is actively harmful.",
    needs=("reward.mean",),
    families=BOTH,
    links=DECLINED,
    actions=ENDS,
    says=(FELL,),
    healthy=dip,
)
def peak_early(world: World) -> Curves:
    return peaked(world, 0.2, 0.4, world.between(0.25, 0.6), ALONE)


@statement(
    id="curves.reward_peak_late",
    guide=GUIDE,
    quote="If reward peaked and then fell, the model may have overfit or the policy may have drifted past the sweet spot.",
    needs=("reward.mean",),
    families=BOTH,
    links=DECLINED,
    actions=ENDS,
    says=(FELL,),
    healthy=dip,
)
def peak_late(world: World) -> Curves:
    return peaked(world, 0.65, 0.8, world.between(0.3, 0.6), ALONE)


@statement(
    id="curves.reward_peak_location",
    guide=GUIDE,
    quote="Note the peak location -- if the model was better earlier, continuing training is actively harmful.",
    needs=("reward.mean", "eval.reward"),
    families=BOTH,
    links=DECLINED,
    actions=ENDS,
    says=(BEST,),
    healthy=dip,
)
def peak_location(world: World) -> Curves:
    return peaked(world, 0.3, 0.7, world.between(0.25, 0.6))


def gap(world: World) -> Curves:
    """A healthy run whose held-out score is a little lower than the training score, and follows it."""
    curves = dict(world.healthy)
    score(world, curves, world.x**0.8, TRAINED)
    score(world, curves, 0.85 * world.x**0.8, HELD_OUT)
    return curves


@statement(
    id="curves.reward_rises_evaluation_falls",
    guide=GUIDE,
    quote="the model may have overfit",
    needs=("reward.mean", "eval.reward"),
    families=BOTH,
    links=(Link.EVALUATION, Link.REWARD),
    actions=NOT_ON,
    says=(r"(?i)overfit|memori[sz]|held.out|evaluation|\beval|generali[sz]",),
    healthy=gap,
)
def rises_evaluation_falls(world: World) -> Curves:
    curves = dict(world.healthy)
    top = world.rng.uniform(0.3, 0.6)
    score(world, curves, world.x**0.8, TRAINED)
    lost = visible(world, world.between(0.2, 0.7), top, HELD_OUT)  # of what the training score gains
    score(world, curves, 0.8 * peak(world, top, min(lost / 0.8, 1.0)), HELD_OUT)
    return curves


@statement(
    id="curves.reward_flat_after_climb_noisy",
    guide=GUIDE,
    quote="Is the trajectory noisy or smooth?",
    needs=("reward.mean",),
    families=BOTH,
    says=(FLAT,),
    healthy=loud,
)
def flat_after_climb_noisy(world: World) -> Curves:
    top = world.rng.uniform(0.25, 0.45)
    curves = settled(world, top)
    scores(world, curves, climb(world, top), scale=world.between(1.2, 2.0))
    return curves
