"""What the debugging guide says of data freshness and of system resources."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.debug_shapes import (
    ACTS,
    GUIDE,
    Edited,
    bump,
    learned,
    learning,
    learning_run,
    longer_and_better,
    policy_breaks,
    ramp,
    spikes,
    steps_of,
)
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Action, Link

FRESHNESS = f"{GUIDE}, Data freshness"
SYSTEMS = f"{GUIDE}, System resources"
DURING = f"{GUIDE}, During training"
KEEPS_WEIGHTS = (Action.CONTINUE, Action.WATCH, Action.STOP)
SPEEDS = ("throughput.tok_s", "throughput.tok_s_gpu", "throughput.episodes_per_s", "throughput.sps_instant")


def _slower(run: Edited, factor: np.ndarray) -> None:
    """Steps that take `factor` (n,) times as long, for whatever reason, and what a trainer works out of that."""
    run.scale(("time.step", "time.iteration"), factor)
    run.scale(SPEEDS, 1 / factor)
    since_start = np.arange(1, run.world.n + 1) / np.cumsum(factor)
    run.scale(("throughput.sps", "throughput.fps"), since_start)  # mean since the start
    if run.logs("time.elapsed"):
        each = np.diff(run.world.healthy["time.elapsed"], prepend=0.0)
        run.curves["time.elapsed"] = np.cumsum(each * factor)


def _slow_evaluations(world: World) -> Curves:
    run = learning(world)
    evaluated = (np.arange(world.n) % world.eval_every == 0).astype(float)
    _slower(run, 1 + world.rng.uniform(0.5, 1.0) * evaluated)
    return run.curves


@statement(
    id="curves.throughput_drops_text",
    guide=DURING,
    quote="| OOM or throughput drops | first reduce micro batch / seq_len, then deploy ZeRO/FSDP |",
    needs=("throughput.tok_s_gpu", "time.step"),
    links=(Link.SYSTEMS,),
    actions=KEEPS_WEIGHTS,
    healthy=longer_and_better,
)
def throughput_drops_text(world: World) -> Curves:
    """Within some steps the same tokens take two to six times as long, to the end of the run."""
    run = learning(world)
    _slower(run, 1 + (world.between(2, 6) - 1) * ramp(world, world.onset(), 0.03))
    return run.curves


@statement(
    id="curves.throughput_drops_steps",
    guide=SYSTEMS,
    quote="Throughput drops, low GPU utilization, rollout workers waiting on the environment, or reward model scoring becoming"
    " a bottleneck can all slow down training",
    needs=("time.step",),
    families=("text", "control"),
    links=(Link.SYSTEMS,),
    actions=KEEPS_WEIGHTS,
    healthy=_slow_evaluations,
)
def throughput_drops_steps(world: World) -> Curves:
    """Steps get slower and slower: two to six times as long at the end, while lengths stay the same."""
    run = learning(world)
    run.lengths(1.0)
    slow = 1 + (world.between(2.2, 6) - 1) * ramp(world, world.onset(0.2, 0.4), 0.4)
    run.scale(("time.rollout", "time.train"), slow)
    _slower(run, slow)
    return run.curves


@statement(
    id="curves.throughput_drops_control",
    guide=SYSTEMS,
    quote="But resource issues are not limited to OOM.",
    needs=("reward.mean", "throughput.sps"),
    families=("control",),
    links=(Link.SYSTEMS,),
    actions=KEEPS_WEIGHTS,
    healthy=_slow_evaluations,
)
def throughput_drops_control(world: World) -> Curves:
    """Environment steps come at a quarter or less of the speed from some step on."""
    run = learning(world)
    _slower(run, 1 + (world.between(4, 12) - 1) * ramp(world, world.onset(0.2, 0.5), 0.03))
    return run.curves


@statement(
    id="curves.throughput_drops_fps",
    guide=SYSTEMS,
    quote="can all slow down training, make data stale, and ultimately feed back into algorithm instability.",
    needs=("reward.mean", "throughput.fps"),
    families=("control",),
    links=(Link.SYSTEMS,),
    actions=KEEPS_WEIGHTS,
    healthy=_slow_evaluations,
)
def throughput_drops_fps(world: World) -> Curves:
    """The same in frames per second."""
    return throughput_drops_control(world)


def _cheap_scoring(world: World) -> Curves:
    run = learning(world)
    run.add("time.reward", 0.1 * run.level("time.step"), 0.01 * run.level("time.step"))
    return run.curves


@statement(
    id="curves.reward_scoring_bottleneck",
    guide=SYSTEMS,
    quote="reward model scoring becoming a bottleneck",
    needs=("time.reward", "time.step"),
    links=(Link.SYSTEMS,),
    actions=KEEPS_WEIGHTS,
    says=(r"(?i)scor|reward (model|function)|judge|verifier|time\.reward",),
    healthy=_cheap_scoring,
)
def reward_scoring_bottleneck(world: World) -> Curves:
    """Scoring grows from a tenth of a step to more than all the rest of it."""
    run = learning(world)
    usual = run.level("time.step")
    extra = usual * world.between(1.2, 5) * ramp(world, world.onset(0.2, 0.5), 0.15)
    run.add("time.reward", 0.1 * usual + extra, 0.01 * usual)
    _slower(run, 1 + extra / usual)
    return run.curves


def _short_waits(world: World) -> Curves:
    run = learning(world)
    run.add("time.wait_batch", 0.05 * run.level("time.step"), 0.005 * run.level("time.step"))
    return run.curves


@statement(
    id="curves.waiting_for_the_environment",
    guide=SYSTEMS,
    quote="rollout workers waiting on the environment",
    needs=("time.wait_batch", "time.step"),
    links=(Link.SYSTEMS, Link.FRESHNESS),
    actions=KEEPS_WEIGHTS,
    says=(r"(?i)wait|idle|environment|rollout",),
    healthy=_short_waits,
)
def waiting_for_the_environment(world: World) -> Curves:
    """The trainer's waiting for data grows from little to more than the work of a step."""
    run = learning(world)
    usual = run.level("time.step")
    extra = usual * world.between(1.2, 5) * ramp(world, world.onset(0.2, 0.5), 0.15)
    run.add("time.wait_batch", 0.05 * usual + extra, 0.01 * usual)
    _slower(run, 1 + extra / usual)
    return run.curves


@statement(
    id="curves.gpu_utilization_low",
    guide=SYSTEMS,
    quote="low GPU utilization",
    needs=("perf.mfu.actor", "time.step"),
    links=(Link.SYSTEMS,),
    actions=KEEPS_WEIGHTS,
    healthy=learning_run,
)
def gpu_utilization_low(world: World) -> Curves:
    """The share of the peak arithmetic falls to a fifth or less of what it was, and steps take longer."""
    run = learning(world)
    slow = 1 + (world.between(3, 10) - 1) * ramp(world, world.onset(0.3, 0.6), 0.05)
    run.scale(("perf.mfu.actor",), 1 / slow)
    run.scale(("time.train",), slow)
    _slower(run, 1 + 0.4 * (slow - 1))
    return run.curves


def _memory_settles(world: World) -> Curves:
    run = learning(world)
    for signal in ("memory.gpu", "memory.gpu_reserved"):
        run.put(signal, run.level(signal) * (0.85 + 0.15 * (1 - np.exp(-np.arange(world.n) / 3))))
    return run.curves


@statement(
    id="curves.memory_close_to_the_limit",
    guide=SYSTEMS,
    quote="GPU memory mainly comes from four areas:",
    needs=("memory.gpu", "memory.gpu_reserved"),
    links=(Link.SYSTEMS,),
    actions=ACTS,
    says=(r"(?i)memory",),
    healthy=_memory_settles,
)
def memory_near_capacity(world: World) -> Curves:
    """Memory creeps up over the whole run to within a gigabyte of the 80 that the device has."""
    run = learning(world)
    for signal, top in (("memory.gpu", world.between(77.0, 78.5)), ("memory.gpu_reserved", 79.2)):
        start = run.level(signal)
        run.exact(signal, start + (top - start) * world.x + 0.1 * world.rng.standard_normal(world.n))
    return run.curves


@statement(
    id="curves.memory_grows_with_length",
    guide=SYSTEMS,
    quote="| Activations | larger batch and seq_len = more cost | checkpointing, shorter sequences |",
    needs=("memory.gpu", "length.mean"),
    links=(Link.SYSTEMS, Link.ROLLOUT),
    actions=ACTS,
    says=(r"(?i)memory",),
    healthy=_memory_settles,
)
def memory_grows_with_length(world: World) -> Curves:
    """Completions get longer, and the memory of the longest ones with them, to the edge of the device."""
    run = learning(world)
    grown = learned(world, 0.8)
    run.lengths(1 + world.between(0.6, 1.5) * grown)
    for signal, top in (("memory.gpu", world.between(76.0, 78.5)), ("memory.gpu_reserved", 79.3)):
        start = run.level(signal)
        if run.logs(signal):
            run.exact(signal, start + (top - start) * grown + 0.3 * world.rng.standard_normal(world.n))
    return run.curves


def _constant_age(world: World) -> Curves:
    run = learning(world)
    for kind in ("policy.clip_fraction",):
        run.put(kind, 0.03)
    return run.curves


@statement(
    id="curves.stale_data_noisy_metrics",
    guide=FRESHNESS,
    quote="metrics fluctuate up and down, and clip fraction becomes hard to interpret.",
    needs=("staleness.mean", "policy.clip_fraction", "kl.old"),
    links=(Link.FRESHNESS,),
    actions=ACTS,
    says=(r"(?i)stale|old(er)? (policy|data)|off-policy|max_staleness|version",),
    healthy=_constant_age,
)
def stale_data_noisy_metrics(world: World) -> Curves:
    """The data become four to thirty versions old; reward, KL and clip fraction swing, and the reward stops rising."""
    run = Edited(world)
    at = world.onset(0.25, 0.5)
    old = ramp(world, at, 0.15)
    swing = np.exp(0.6 * world.rng.standard_normal(world.n) * old)
    wander = world.rng.standard_normal(world.n) * old
    run.score(np.minimum(learned(world), learned(world)[at]) - 0.15 * old + 0.15 * wander)
    age = 1 + (world.between(4, 30) - 1) * old
    run.exact("staleness.mean", age * (1 + 0.05 * world.rng.standard_normal(world.n)))
    run.exact("staleness.max", np.ceil(age * 1.8))
    policy_breaks(run, old, kl=world.between(4, 15), clip=world.between(0.2, 0.45))
    run.scale(("policy.clip_fraction", "kl.old"), swing)
    run.scale(run.kls("behave.kl"), 1 + (world.between(10, 60) - 1) * old * swing)
    run.scale(("behave.ratio_cap_frac",), 1 + 20 * old * swing)
    return run.curves


def _clip_steady(world: World) -> Curves:
    run = learning(world)
    for signal in ("policy.clip_fraction",):
        run.put(signal, world.rng.uniform(0.05, 0.15))
    for kl in run.kls("kl.old"):
        run.scale((kl,), world.rng.uniform(0.003, 0.006) / max(run.level(kl), 1e-9))
    return run.curves


@statement(
    id="curves.workers_out_of_sync",
    guide=FRESHNESS,
    quote="If rollout workers and the learner are out of sync, or if very old data is mixed into the buffer, you will see a"
    " strange phenomenon: loss can still be computed, gradients can still flow, but metrics fluctuate up and down, and clip"
    " fraction becomes hard to interpret.",
    needs=("policy.clip_fraction", "kl.old", "reward.mean"),
    families=("text", "control"),
    links=(Link.FRESHNESS, Link.POLICY_UPDATE),
    actions=ACTS,
    healthy=_clip_steady,
)
def workers_out_of_sync(world: World) -> Curves:
    """Without a metric of age: clip fraction and KL jump between low and very high, and the reward swings in place."""
    run = Edited(world)
    old = ramp(world, world.onset(0.2, 0.4), 0.1)
    jump = old * spikes(world, 0.5)
    run.score(0.5 * learned(world) * (1 - 0.5 * old) + 0.2 * old * world.rng.standard_normal(world.n))
    policy_breaks(run, np.minimum(jump, 2.0), kl=world.between(6, 30), clip=world.between(0.25, 0.45))
    return run.curves


def _engines_agree(world: World) -> Curves:
    run = learning(world)
    run.scale(("rollout_train.logp_absdiff.mean",), 1 + 0.5 * bump(world, world.onset(), steps_of(world, 1, 3)))
    return run.curves


@statement(
    id="curves.old_logprobs_disagree",
    guide=FRESHNESS,
    quote="Are the old logprobs used during updates consistent with the sampling policy?",
    needs=("rollout_train.logp_absdiff.mean", "reward.mean"),
    links=(Link.FRESHNESS, Link.NUMERICS),
    actions=ACTS,
    says=(r"(?i)log-?prob|inference engine|sampling|rollout|stale|importance",),
    healthy=_engines_agree,
)
def old_logprobs_disagree(world: World) -> Curves:
    """The two log-probabilities of a token come to differ by 0.1 to 1 nat on average, and the reward falls."""
    run = Edited(world)
    at = world.onset(0.25, 0.5)
    apart = ramp(world, at, 0.2)
    run.score(learned(world) - world.between(0.3, 1.0) * ramp(world, at + round(0.05 * world.n), 0.4))
    for signal, goal in (("mean", world.between(0.1, 1.0)), ("max", world.between(8, 20))):
        name = f"rollout_train.logp_absdiff.{signal}"
        run.scale((name,), 1 + (goal / max(run.level(name), 1e-9) - 1) * apart)
    run.scale(("grad.norm",), 1 + 2 * apart)
    return run.curves


@statement(
    id="curves.rollout_and_trainer_diverge",
    guide=FRESHNESS,
    quote="we save old logprobs specifically to know how much the new policy differs from the sampling policy.",
    needs=("rollout_train.kl", "reward.mean"),
    links=(Link.FRESHNESS, Link.NUMERICS),
    actions=ACTS,
    healthy=learning_run,
)
def rollout_and_trainer_diverge(world: World) -> Curves:
    """The divergence between what sampled and what is trained grows a hundredfold, and the reward falls behind."""
    run = Edited(world)
    at = world.onset(0.25, 0.5)
    apart = ramp(world, at, 0.25)
    run.score(learned(world) - world.between(0.3, 1.0) * ramp(world, at + round(0.05 * world.n), 0.4))
    run.scale(("rollout_train.kl",), np.exp(np.log(world.between(50, 1000)) * apart))
    run.scale(("rollout_train.prob_absdiff.mean",), np.exp(np.log(world.between(6, 25)) * apart))
    return run.curves
