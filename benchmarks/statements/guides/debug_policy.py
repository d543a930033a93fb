"""What the debugging guide says of the policy update: KL, clip fraction, and the collapse that they announce."""

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
    policy_breaks,
    ramp,
    since,
    spikes,
    steps_of,
)
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Link

UPDATE = f"{GUIDE}, Policy update"
DURING = f"{GUIDE}, During training"
WALKTHROUGH = f"{GUIDE}, A complete troubleshooting walkthrough"
SMALLER_STEPS = r"(?i)(lower|reduce|halve|smaller|decrease).{0,60}(learning rate|\blr\b|epochs|step)|fewer.{0,20}epochs"


def _one_blip(world: World) -> Curves:
    run = learning(world)
    blip = bump(world, world.onset(), steps_of(world, 2, 4))
    policy_breaks(run, blip, kl=4, clip=0.3)
    run.exact("reward.mean", run.curves["reward.mean"] - 3 * run.noise("reward.mean") * blip)
    return run.curves


def _collapse(world: World, *, to: float) -> Curves:
    run = Edited(world)
    at = world.onset(0.4, 0.65)
    broken = ramp(world, at, 0.03)
    fall = ramp(world, at, 0.06)
    run.score(learned(world) * (1 - world.between(0.6, 1.0) * fall) - to * fall)
    policy_breaks(run, broken, kl=world.between(6, 40), clip=world.rng.uniform(0.46, 0.55), entropy=0.6)
    return run.curves


@statement(
    id="curves.kl_spike_clip_half_reward_drop",
    guide=WALKTHROUGH,
    quote="reward drops sharply, KL spikes, clip fraction stays at 0.5 for a long time.",
    needs=("reward.mean", "kl.ref", "policy.clip_fraction"),
    links=(Link.POLICY_UPDATE,),
    first=(Link.POLICY_UPDATE, Link.ADVANTAGE, Link.REWARD, Link.FRESHNESS),
    actions=ENDS,
    says=(SMALLER_STEPS,),
    healthy=_one_blip,
)
def kl_spike_clip_half_reward_drop(world: World) -> Curves:
    """The three together within some steps; reward and evaluation do not come back."""
    return _collapse(world, to=world.rng.uniform(0, 0.5))


@statement(
    id="curves.update_kl_spike_clip_half_reward_drop",
    guide=WALKTHROUGH,
    quote="Here, suspect overly aggressive policy updates first:",
    needs=("reward.mean", "kl.old", "policy.clip_fraction"),
    families=("text", "control"),
    links=(Link.POLICY_UPDATE,),
    first=(Link.POLICY_UPDATE,),
    actions=ENDS,
    says=(r"(?i)learning rate|epochs|target.?kl|roll.?back|checkpoint",),
    healthy=_one_blip,
)
def update_kl_spike_clip_half_reward_drop(world: World) -> Curves:
    """The same, seen in the KL of each update."""
    return _collapse(world, to=world.rng.uniform(0, 0.5))


def _kl_rises_with_reward(world: World) -> Curves:
    run = learning(world)
    for kl in run.kls("kl.ref"):
        run.put(kl, run.start(kl) + (run.end(kl) - run.start(kl)) * 1.5 * learned(world))
    return run.curves


@statement(
    id="curves.kl_spikes_and_stays",
    guide=DURING,
    quote="| KL spikes | stop updates, lower lr or strengthen KL |",
    needs=("reward.mean", "kl.ref"),
    links=(Link.POLICY_UPDATE,),
    actions=ACTS,
    says=(
        r"(?i)learning rate|\blr\b|(strengthen|raise|increase|higher|larger|stronger).{0,40}(kl|beta|coefficient|penalty)",
    ),
    healthy=_kl_rises_with_reward,
)
def kl_spikes_and_stays(world: World) -> Curves:
    """KL to the reference jumps within a few steps to many times its level, stays there, and the reward stalls."""
    run = Edited(world)
    at = world.onset()
    high = ramp(world, at, 0.02)
    run.score(np.minimum(learned(world), learned(world)[at]) - world.between(0.0, 0.3) * ramp(world, at, 0.2))
    run.scale(run.kls("kl.ref"), 1 + world.between(4, 30) * high)
    run.scale(("grad.norm",), 1 + high)
    return run.curves


@statement(
    id="curves.kl_spikes_repeat",
    guide=UPDATE,
    quote="| KL divergence | distance between new and old/reference policy | policy drifting too fast |",
    needs=("kl.ref", "reward.mean"),
    links=(Link.POLICY_UPDATE, Link.NUMERICS),
    actions=ACTS,
    says=(r"(?i)learning rate|\blr\b|kl|clip",),
    healthy=_one_blip,
)
def kl_spikes_repeat(world: World) -> Curves:
    """Single steps with many times the usual KL come more and more often, and the reward falls behind."""
    run = Edited(world)
    start = world.rng.uniform(0.3, 0.5)
    hit = spikes(world, world.between(0.08, 0.25), start)
    run.score(learned(world) - 0.5 * ramp(world, round(start * world.n), 0.4))
    for kind in ("kl.ref", "kl.old"):
        run.scale(run.kls(kind), 1 + world.between(8, 80) * hit)
    run.scale(("grad.norm",), 1 + 4 * hit)
    return run.curves


@statement(
    id="curves.update_kl_spikes",
    guide=f"{GUIDE}, Training as a closed loop",
    quote="if KL spikes, the policy has left the trust region",
    needs=("kl.old", "reward.mean"),
    families=("text", "control"),
    links=(Link.POLICY_UPDATE,),
    actions=ACTS,
    says=(SMALLER_STEPS + r"|target.?kl",),
    healthy=_one_blip,
)
def update_kl_spikes(world: World) -> Curves:
    """The KL of an update rises to many times its level and stays; the reward loses a part of its gain."""
    run = Edited(world)
    at = world.onset()
    broken = ramp(world, at, 0.04)
    run.score(learned(world) - world.between(0.3, 0.9) * ramp(world, at, 0.2))
    policy_breaks(run, broken, kl=world.between(8, 50), clip=world.between(0.3, 0.5), entropy=0.8)
    return run.curves


def _kl_under_target(world: World) -> Curves:
    run = learning(world)
    for kl in run.kls("kl.old"):
        run.exact(kl, 0.008 * np.exp(0.3 * world.rng.standard_normal(world.n)))
    return run.curves


@statement(
    id="curves.kl_above_twice_target",
    guide=UPDATE,
    quote='if metrics["kl"] > metrics["target_kl"] * 2:',
    needs=("kl.old", "reward.mean", "policy.clip_fraction"),
    families=("control",),
    links=(Link.POLICY_UPDATE,),
    actions=ACTS,
    says=(r"(?i)target.?kl|learning rate|epochs",),
    healthy=_kl_under_target,
)
def kl_above_twice_target(world: World) -> Curves:
    """From some step on each update moves the policy by 0.05 to 0.3 nats, where 0.01 to 0.02 is the usual target."""
    run = Edited(world)
    at = world.onset(0.2, 0.5)
    broken = ramp(world, at, 0.05)
    run.score(learned(world) - world.between(0.2, 0.8) * ramp(world, at, 0.3))
    policy_breaks(run, broken, kl=2, clip=world.between(0.3, 0.5))
    for kl in run.kls("kl.old"):
        size = 0.008 * (world.between(0.05, 0.3) / 0.008) ** broken
        run.exact(kl, size * np.exp(0.3 * world.rng.standard_normal(world.n)))
    return run.curves


def _brakes_gently(world: World) -> Curves:
    run = learning(world)
    for signal in ("policy.clip_fraction", "policy.ratio_out"):
        run.put(signal, world.rng.uniform(0.08, 0.2))
    for kl in run.kls("kl.old"):
        run.scale((kl,), world.rng.uniform(0.004, 0.01) / max(run.level(kl), 1e-9))
    return run.curves


@statement(
    id="curves.clip_fraction_above_0_4",
    guide=UPDATE,
    quote='if metrics["clip_fraction"] > 0.4:',
    needs=("policy.clip_fraction",),
    families=("text", "control"),
    links=(Link.POLICY_UPDATE, Link.FRESHNESS),
    actions=ACTS,
    says=(SMALLER_STEPS,),
    healthy=_brakes_gently,
)
def clip_fraction_above_0_4(world: World) -> Curves:
    """From some step on more than 0.4 of the samples are clipped; the scores stop rising."""
    run = Edited(world)
    at = world.onset(0.25, 0.6)
    run.score(np.minimum(learned(world), learned(world)[at]))
    policy_breaks(run, ramp(world, at, 0.08), kl=world.between(2, 6), clip=world.between(0.45, 0.7))
    return run.curves


@statement(
    id="curves.clip_fraction_high_throughout",
    guide=DURING,
    quote="| Clip fraction persistently high | reduce PPO epochs or update step size |",
    needs=("policy.clip_fraction", "reward.mean"),
    families=("text", "control"),
    links=(Link.POLICY_UPDATE, Link.FRESHNESS),
    actions=ACTS,
    says=(SMALLER_STEPS,),
    healthy=_brakes_gently,
)
def clip_fraction_high_throughout(world: World) -> Curves:
    """The clip cuts a third to a half of the samples from the first step to the last, and little is learned."""
    run = Edited(world)
    run.score(0.4 * learned(world))
    policy_breaks(run, np.ones(world.n), kl=world.between(2, 5), clip=world.between(0.33, 0.55))
    return run.curves


@statement(
    id="curves.clip_fraction_brakes_often",
    guide=UPDATE,
    quote="| clip fraction | how many samples are clipped | PPO is braking frequently |",
    needs=("policy.clip_fraction", "kl.old", "reward.mean"),
    families=("control",),
    links=(Link.POLICY_UPDATE,),
    actions=ACTS,
    says=(SMALLER_STEPS,),
    healthy=_brakes_gently,
)
def clip_fraction_brakes_often(world: World) -> Curves:
    """The clip fraction climbs steadily over the run to 0.35 or more, KL with it, and the reward turns down."""
    run = Edited(world)
    climb = world.x**1.5
    run.score(learned(world) - world.between(0.4, 1.0) * ramp(world, round(0.5 * world.n), 0.5))
    policy_breaks(run, climb, kl=world.between(5, 20), clip=world.between(0.35, 0.6))
    return run.curves


@statement(
    id="curves.collapse_starts_in_the_policy",
    guide=UPDATE,
    quote="Policy collapse usually does not start from reward. It starts from KL, clip fraction, and entropy. Reward is a"
    " posterior symptom.",
    needs=("reward.mean", "kl.old", "policy.clip_fraction", "policy.entropy"),
    families=("text", "control"),
    links=(Link.POLICY_UPDATE, Link.EXPLORATION),
    first=(Link.POLICY_UPDATE, Link.EXPLORATION),
    actions=ENDS,
    healthy=_one_blip,
)
def collapse_starts_in_the_policy(world: World) -> Curves:
    """KL, clip fraction and entropy leave their course a tenth of the run before the reward falls."""
    run = Edited(world)
    at = world.onset(0.35, 0.55)
    later = at + round(world.rng.uniform(0.08, 0.15) * world.n)
    fall = ramp(world, later, 0.12)
    run.score(learned(world) * (1 - world.between(0.6, 1.0) * fall))
    clip, low = world.between(0.35, 0.55), world.between(0.4, 0.05)
    policy_breaks(run, ramp(world, at, 0.08), kl=world.between(5, 30), clip=clip, entropy=low)
    return run.curves


@statement(
    id="curves.collapse_before_the_reward_shows_it",
    guide=UPDATE,
    quote="It starts from KL, clip fraction, and entropy.",
    needs=("reward.mean", "kl.old", "policy.clip_fraction", "policy.entropy"),
    families=("text", "control"),
    links=(Link.POLICY_UPDATE, Link.EXPLORATION),
    first=(Link.POLICY_UPDATE, Link.EXPLORATION),
    actions=ACTS,
    healthy=_kl_rises_with_reward,
)
def collapse_before_the_reward_shows_it(world: World) -> Curves:
    """The log ends while the three are off and the reward is still good."""
    run = learning(world)
    at = world.onset(0.75, 0.85)
    clip, low = world.between(0.35, 0.55), world.between(0.4, 0.1)
    policy_breaks(run, ramp(world, at, 0.08), kl=world.between(5, 30), clip=clip, entropy=low)
    return run.curves


@statement(
    id="curves.one_step_too_far",
    guide=UPDATE,
    quote="the policy can still move too far in a single step.",
    needs=("reward.mean", "kl.old"),
    families=("control",),
    links=(Link.POLICY_UPDATE,),
    first=(Link.POLICY_UPDATE,),
    actions=ENDS,
    says=(r"(?i)learning rate|epochs|batch|target.?kl|advantage",),
    healthy=_one_blip,
)
def one_step_too_far(world: World) -> Curves:
    """One update moves the policy by 0.5 to 5 nats; reward and entropy are lost with it and do not come back."""
    run = Edited(world)
    at = world.onset(0.35, 0.6)
    after = since(world, at)
    run.score(learned(world) * (1 - after) - 0.1 * after)
    policy_breaks(run, bump(world, at, 2), kl=1, clip=world.between(0.5, 0.9))
    run.scale(("policy.entropy",), 1 - 0.8 * after)
    run.scale(("grad.norm",), 1 + 20 * bump(world, at, 1))
    for kl in run.kls("kl.old"):
        run.exact(kl, run.curves[kl] * (1 - 0.7 * after) + world.between(0.5, 5) * bump(world, at, 1))
    return run.curves


def _kl_levels_off(world: World) -> Curves:
    run = learning(world)
    for kl in run.kls("kl.ref"):
        run.put(kl, run.start(kl) + (run.end(kl) - run.start(kl)) * 1.2 * learned(world, 0.2))
    return run.curves


@statement(
    id="curves.kl_to_reference_drifts",
    guide=WALKTHROUGH,
    quote="has the policy drifted too far from the reference model, or collapsed into a mode?",
    needs=("reward.mean", "kl.ref"),
    links=(Link.POLICY_UPDATE, Link.REWARD),
    actions=ACTS,
    says=(r"(?i)kl|beta|reference",),
    healthy=_kl_levels_off,
)
def kl_to_reference_drifts(world: World) -> Curves:
    """KL to the reference grows faster and faster to many times its level, and the reward gains nothing from it."""
    run = Edited(world)
    at = world.onset(0.2, 0.4)
    run.score(np.minimum(learned(world, 0.2), learned(world, 0.2)[at]))
    run.evaluation(0.7 * np.minimum(learned(world), learned(world)[at]) - 0.5 * ramp(world, at, 0.6))
    growth = np.exp(np.log(world.between(8, 80)) * ramp(world, at, 1 - at / world.n))
    run.scale(run.kls("kl.ref"), growth)
    return run.curves


@statement(
    id="curves.language_ability_destroyed",
    guide=UPDATE,
    quote="InstructGPT-style pipelines introduce a KL penalty precisely to prevent the RL phase from destroying the language"
    " capabilities learned during SFT",
    needs=("reward.mean", "kl.ref", "eval.reward"),
    links=(Link.POLICY_UPDATE, Link.REWARD, Link.EVALUATION),
    actions=ACTS,
    says=(r"(?i)\bkl\b|beta|reference",),
    healthy=_kl_levels_off,
)
def language_ability_destroyed(world: World) -> Curves:
    """The reward still rises, KL to the reference does so without end, and the evaluation falls below its start."""
    run = Edited(world)
    at = world.onset(0.2, 0.4)
    run.reward(learned(world, 0.6))
    run.evaluation(0.3 * learned(world, 0.1) - world.between(0.7, 2.0) * ramp(world, at, 1 - at / world.n))
    run.scale(run.kls("kl.ref"), 1 + world.between(8, 60) * world.x**2)
    for signal in ("policy.entropy", "policy.entropy_proxy"):
        run.scale((signal,), 1 + world.between(0.2, 1.0) * ramp(world, at, 1 - at / world.n))
    return run.curves
