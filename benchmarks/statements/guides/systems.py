"""What the guides say of time, speed and memory."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import World
from firstbreak.model import Action, Link

PRACTITIONER = "003, phase balance"
BEST_PRACTICE = "002, System Resources"


def _slow_by_nature(world: World) -> Curves:
    """Generation takes two thirds of a step from the start: normal for text that is generated token by token."""
    return {**world.healthy, **_generation(world, np.full(world.n, world.between(1.2, 1.6)))}


@statement(
    "curves.generation_takes_the_step",
    guide=PRACTITIONER,
    quote="If the generation phase is taking a disproportionate share of step time, it may be the bottleneck.",
    needs=("time.rollout", "time.train"),
    links=(Link.SYSTEMS,),
    actions=(Action.CONTINUE, Action.WATCH),
    says=(r"(rollout|generation).*% of a step",),
    healthy=_slow_by_nature,
)
def generation_takes_the_step(world: World) -> Curves:
    """From some step on the same completions take several times as long."""
    late = np.arange(world.n) >= world.onset()
    return {**world.healthy, **_generation(world, np.where(late, world.between(4.0, 10.0), 1.0))}


def _generation(world: World, times: np.ndarray) -> Curves:
    """Time and speed where generation takes `times` times as long and all other phases stay, (n,)."""
    rollout = world.healthy["time.rollout"]
    changed: Curves = {"time.rollout": rollout * times}
    for step in ("time.step", "time.iteration"):
        if step in world.healthy:
            changed[step] = world.healthy[step] + rollout * (times - 1)
            if "throughput.tok_s_gpu" in world.healthy:
                changed["throughput.tok_s_gpu"] = (
                    world.healthy["throughput.tok_s_gpu"] * world.healthy[step] / changed[step]
                )
    return changed


def _a_little_slower(world: World) -> Curves:
    """A tenth slower from some step on: within what longer samples cost."""
    late = np.arange(world.n) >= world.onset()
    return {**world.healthy, **world.slowed(np.where(late, world.between(1.05, 1.15), 1.0))}


@statement(
    "curves.throughput_drops_and_stays",
    guide=BEST_PRACTICE,
    quote="Throughput drops, low GPU utilization, rollout workers waiting on the environment, or reward model scoring "
    "becoming a bottleneck can all slow down training",
    needs=("time.step|time.iteration|throughput.fps|throughput.sps",),
    families=("text", "control"),
    methods=("grpo", "rloo", "ppo", "a2c"),  # off-policy methods become slower at their first update
    links=(Link.SYSTEMS,),
    actions=(Action.CONTINUE, Action.WATCH),
    says=(r"fell by|share of a step|% of a step|as long",),
    healthy=_a_little_slower,
)
def throughput_drops_and_stays(world: World) -> Curves:
    """Every step takes about three times as long from some step on, at the same number of tokens."""
    late = np.arange(world.n) >= world.onset()
    return {**world.healthy, **world.slowed(np.where(late, world.between(2.5, 4.0), 1.0))}


def _two_slow_steps(world: World) -> Curves:
    """Two steps of the whole run take half as long again."""
    times = np.ones(world.n)
    times[world.rng.integers(5, world.n, 2)] = 1.5
    return {**world.healthy, **world.slowed(times)}


@statement(
    "curves.background_job_spikes",
    guide=PRACTITIONER,
    quote="Look for: step time increases during merge/upload operations, or memory spikes that coincide with background "
    "activity.",
    needs=("time.step",),
    actions=(Action.CONTINUE, Action.WATCH),
    says=(r"every \d+ steps", r"job"),
    healthy=_two_slow_steps,
)
def background_job_spikes(world: World) -> Curves:
    """A merge or an upload beside the training: at a fixed period, steps take longer and memory is higher."""
    period = int(world.rng.integers(4, 9))
    busy = np.arange(world.n) % period == period - 1
    curves = {**world.healthy, **world.slowed(np.where(busy, world.between(2.0, 4.0), 1.0))}
    for memory in ("memory.gpu", "memory.cpu"):
        if memory in curves:
            curves[memory] = curves[memory] * np.where(busy, 1.15, 1.0)
    return curves
