"""The practitioner's description: phases and resources."""

from __future__ import annotations

import numpy as np

from benchmarks.statements.guides.coherent import put, slower
from benchmarks.statements.statement import Curves, statement
from benchmarks.statements.worlds import PHASES, World
from firstbreak.model import Action, Link

GUIDE = "Practitioner's description, phases and resources"
BOTH = ("text", "control")
GOES_ON = (Action.CONTINUE, Action.WATCH)
GENERATION = r"(?i)generat|rollout|sampling|collect"
BACKGROUND = (
    r"(?i)background|checkpoint|upload|merg|compet|sav(e|ing)|evaluat|other (job|process)|contention|shared|periodic"
)
GPU_GB = 80.0


def share(world: World, wanted: np.ndarray) -> Curves:
    """A run whose rollout takes this share of the time of a step, (n,)."""
    curves = dict(world.healthy)
    whole = ("time.step",) if "time.step" in world.healthy else PHASES
    step = sum(float(np.nanmedian(world.healthy[s])) for s in whole if s in world.healthy)
    rollout = float(np.nanmedian(world.healthy["time.rollout"]))
    slower(world, curves, wanted / (1 - wanted) * (step - rollout) / rollout)
    return curves


def usual(world: World) -> Curves:
    """A healthy run whose generation takes half of the step or somewhat more, as text token by token does."""
    return share(world, np.full(world.n, world.between(0.45, 0.62)))


@statement(
    id="curves.generation_is_slower_than_training",
    guide=GUIDE,
    quote="This is normal for autoregressive token-by-token generation.",
    needs=("time.rollout", "time.train"),
    families=BOTH,
    actions=GOES_ON,
)
def generation_is_slower_than_training(world: World) -> Curves:
    return usual(world)


@statement(
    id="curves.generation_share_large",
    guide=GUIDE,
    quote="If the generation phase is taking a disproportionate share of step time, it may be the bottleneck.",
    needs=("time.rollout", "time.train"),
    families=BOTH,
    actions=GOES_ON,
    says=(GENERATION, r"(?i)bottleneck|share|%|per cent|percent|most of"),
    healthy=usual,
)
def generation_share_large(world: World) -> Curves:
    return share(world, np.full(world.n, world.between(0.8, 0.95)))


@statement(
    id="curves.generation_share_grows",
    guide=GUIDE,
    quote="If the generation phase is taking a disproportionate share of step time, it may be the bottleneck.",
    needs=("time.rollout", "time.train"),
    families=BOTH,
    actions=GOES_ON,
    says=(GENERATION,),
    healthy=usual,
)
def generation_share_grows(world: World) -> Curves:
    """The same lengths; the engine needs longer and longer for them."""
    return share(world, 0.5 + (world.between(0.8, 0.92) - 0.5) * np.clip((world.x - 0.2) / 0.7, 0, 1))


def memory(world: World, used: np.ndarray) -> Curves:
    """A run that allocates `used` GB (n,), and reserves a little more."""
    curves = dict(world.healthy)
    put(world, curves, "memory.gpu", used)
    if "memory.gpu_reserved" in world.healthy:
        put(world, curves, "memory.gpu_reserved", np.minimum(used + 0.5 * (GPU_GB - used), GPU_GB - 0.3))
        curves["memory.gpu_reserved"] = np.minimum(curves["memory.gpu_reserved"], GPU_GB - 0.2)
    return curves


def roomy(world: World) -> Curves:
    """A healthy run with a fifth of the memory to spare."""
    return memory(world, np.full(world.n, world.between(0.6, 0.78) * GPU_GB))


@statement(
    id="curves.memory_near_capacity",
    guide=GUIDE,
    quote="This is normal but worth noting if memory is tight.",
    needs=("memory.gpu",),
    actions=GOES_ON,
    says=(r"(?i)memory",),
    healthy=roomy,
)
def memory_near_capacity(world: World) -> Curves:
    return memory(world, np.full(world.n, world.between(0.955, 0.985) * GPU_GB))


@statement(
    id="curves.memory_shifts_between_phases",
    guide=GUIDE,
    quote="Memory usage may shift between phases.",
    needs=("memory.gpu",),
    actions=GOES_ON,
)
def memory_shifts_between_phases(world: World) -> Curves:
    """What is logged falls now into one phase, now into the other; both leave room."""
    low, high = world.between(0.5, 0.4) * GPU_GB, world.between(0.6, 0.75) * GPU_GB
    return memory(world, np.where(world.rng.uniform(size=world.n) < 0.5, low, high))


def background(world: World) -> np.ndarray:
    """1 while a job runs beside the training, some steps after each of a handful of checkpoints, else 0, (n,)."""
    every = max(8, world.n // int(world.rng.integers(5, 8)))
    lasts = max(2, int(world.rng.uniform(0.12, 0.25) * every))
    step = np.arange(world.n)
    return np.asarray((step >= every) & (step % every < lasts), float)


def hiccups(world: World) -> Curves:
    """A healthy run with three single slow steps, far apart."""
    times = np.ones(world.n)
    for place in (0.2, 0.5, 0.8):
        times[int((place + world.rng.uniform(-0.1, 0.1)) * world.n)] = world.between(1.2, 1.6)
    return {**world.healthy, **world.slowed(times)}


@statement(
    id="curves.background_slows_steps",
    guide=GUIDE,
    quote="Look for: step time increases during merge/upload operations",
    needs=("time.step|time.iteration",),
    families=BOTH,
    actions=GOES_ON,
    says=(r"(?i)step|time|slow|throughput", BACKGROUND),
    healthy=hiccups,
)
def background_slows_steps(world: World) -> Curves:
    return {**world.healthy, **world.slowed(1 + (world.between(1.5, 3.0) - 1) * background(world))}


def with_memory(world: World) -> Curves:
    """A healthy run with slow single steps, and memory as always."""
    return {**roomy(world), **hiccups(world), **{s: c for s, c in roomy(world).items() if s.startswith("memory.")}}


@statement(
    id="curves.background_memory_spikes",
    guide=GUIDE,
    quote="or memory spikes that coincide with background activity.",
    needs=("memory.gpu", "time.step"),
    actions=GOES_ON,
    says=(r"(?i)memory", BACKGROUND),
    healthy=with_memory,
)
def background_memory_spikes(world: World) -> Curves:
    busy = background(world)
    level = float(np.nanmedian(world.healthy["memory.gpu"]))
    used = level + min(world.between(5.0, 15.0), 0.94 * GPU_GB - level) * busy
    return {**memory(world, used), **world.slowed(1 + (world.between(1.2, 2.0) - 1) * busy)}


@statement(
    id="curves.background_competes",
    guide=GUIDE,
    quote="If a model merger, checkpoint uploader, or other background process is running alongside training, it may compete "
    "for resources.",
    needs=("time.step|time.iteration",),
    families=BOTH,
    links=(Link.SYSTEMS,),
    actions=GOES_ON,
    healthy=hiccups,
)
def background_competes(world: World) -> Curves:
    """The job runs a third of the time, and makes steps at least twice as long."""
    busy = (np.floor(6 * world.x) % 3 == 2).astype(float)
    return {**world.healthy, **world.slowed(1 + (world.between(2.0, 4.0) - 1) * busy)}
