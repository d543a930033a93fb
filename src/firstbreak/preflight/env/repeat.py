"""Does the same seed give the same episode: in a new environment, in a used one, and next to another one?"""

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from firstbreak.model import Expected, NotApplicable, NotMeasured
from firstbreak.preflight import Answer, critical, notice, warning
from firstbreak.preflight.env.episodes import Episode, at_random, moves, play, reset, same
from firstbreak.preflight.env.worlds import World
from firstbreak.values import dataclass
from firstbreak.words import number

SEED = 11  #: of every comparison
STEPS = 200  #: steps of one compared episode (convention)
USED = 3  #: episodes before, and episodes compared (convention)
SMALL = 0.01  #: share of the range of a component in the episode: a smaller difference is called slight (convention)
TOLERANCE = 1e-6  #: relative and absolute: physics engines differ in the last bits between instances


@dataclass(frozen=True)
class Reference:
    """An episode of a new environment, and the episode of another new one with the same seed and actions."""

    episode: Episode
    difference: str  #: where the second one first differs; empty if it does not


def reference(world: World) -> Reference:
    """Two new environments, the same seed, the same actions."""
    first, second = (_episode(world.make()) for _ in range(2))
    return Reference(first, difference(first, second))


def seeding(world: World, ref: Reference) -> Answer:
    """reset(seed=...) fixes the episode, other seeds give other episodes, and no seed gives new ones."""
    if world.unseedable:
        take = NotApplicable(world.unseedable) if world.interface == "dm_env" else None
        return take or critical(f"{world.unseedable}: no run repeats; add `seed=None` and pass it to super().reset")
    if ref.episode.stopped is not None and not ref.episode.rewards:
        return NotMeasured("no step could be made")
    if ref.difference:
        if getattr(getattr(world.make(), "spec", None), "nondeterministic", False):
            return Expected("the environment is registered as nondeterministic")
        with _global_seed():
            first = _episode(world.make())
        with _global_seed():
            again = _episode(world.make())
        remedy = (
            "it uses numpy's or Python's global generator; use self.np_random instead"
            if not difference(first, again)
            else "draw every random number from self.np_random, which super().reset(seed=seed) sets"
        )
        return critical(
            f"the same seed and the same actions give a different episode ({ref.difference}): no result can be repeated, and "
            f"comparing seeds means nothing; {remedy}"
        )
    starts = [reset(world.make(), seed)[0] for seed in range(SEED, SEED + 5)]
    if all(same(start, starts[0]) for start in starts):
        other = _episode(world.make(), SEED + 1, policy_seed=SEED)
        if not difference(ref.episode, other):
            return Expected("every seed gives the same episode: the environment is deterministic")
        return "the same seed repeats the episode; all episodes start in the same way and differ later"
    env = world.make()
    unseeded = [reset(env, None)[0] for _ in range(5)]
    if all(same(start, unseeded[0]) for start in unseeded):
        return warning(
            "reset() without a seed gives the same start five times in a row, while other seeds start differently: "
            "training sees only one start; seed the generator once, when a seed is given, and not in every reset"
        )
    return "the same seed repeats the episode; other seeds, and no seed, give other episodes"


def leak(world: World, ref: Reference) -> Answer:
    """An episode does not depend on those before it."""
    if blind := _blind(world, ref):
        return blind
    env = world.make()
    for seed in range(SEED - USED, SEED):
        _episode(env, seed)
    for seed in range(SEED, SEED + USED):
        new, used = _episode(world.make(), seed), _episode(env, seed)
        if found := difference(new, used):
            break
    else:
        return f"{USED} episodes in a used environment are the same as in new ones"
    wrapper = _running_statistics(env)
    if wrapper:
        return Expected(
            f"{wrapper} keeps running statistics over episodes, so the same state gives a different observation later"
        )
    if _small(new, used):
        return notice(
            f"in a used environment the same seed gives a slightly different episode ({found}): a physics engine that is not "
            "created again in reset() does this; create it again if runs must repeat exactly"
        )
    return critical(
        f"in a used environment the same seed gives a different episode ({found}): some state survives reset(); "
        "reset every field that step() changes"
    )


def shared(world: World, ref: Reference) -> Answer:
    """Two environments in one process do not disturb each other."""
    if blind := _blind(world, ref):
        return blind
    env, other = world.make(), world.make()
    space = env.action_space
    second = moves(other, at_random(space, SEED + 1), SEED + 1, STEPS, Episode())
    if found := difference(ref.episode, play(env, at_random(space, SEED), seed=SEED, most=STEPS, beside=second)):
        return critical(
            f"an environment changes when another one is stepped ({found}): vectorised training mixes their states; move "
            "shared state (class attributes, module globals) into the instance"
        )
    return "two environments that are stepped in turns do not change each other"


def difference(a: Episode, b: Episode) -> str:
    """Where two episodes first differ, in words; empty if they do not."""
    for t in range(max(len(a.observations), len(b.observations))):
        if t >= min(len(a.observations), len(b.observations)):
            return f"one goes on after step {t - 1}, the other does not"
        if not same(a.observations[t], b.observations[t], TOLERANCE):
            return f"observation {'from reset' if t == 0 else f'after step {t}'}{_values(a, b, t)}"
        if t and not same(a.rewards[t - 1], b.rewards[t - 1], TOLERANCE):
            return f"reward of step {t}: {_number(a.rewards[t - 1])} and {_number(b.rewards[t - 1])}"
        if t and a.flags(t) != b.flags(t):
            return f"one ends at step {t}, the other does not"
    return ""


def _small(a: Episode, b: Episode) -> bool:
    """Whether observations agree to 1 % of their range at the first step at which they do not agree exactly."""
    for x, y in zip(a.observations, b.observations, strict=False):
        if not same(x, y, TOLERANCE):
            if not isinstance(x, np.ndarray) or x.dtype.kind != "f" or x.shape != np.shape(y):
                return False
            scale = np.ptp(np.stack(a.observations), axis=0)
            return bool(np.all(np.abs(x - y) <= SMALL * scale + TOLERANCE))
    return False


def _values(a: Episode, b: Episode, t: int) -> str:
    """The first component that differs, where the observations are plain arrays."""
    try:
        x, y = np.ravel(np.asarray(a.observations[t], float)), np.ravel(np.asarray(b.observations[t], float))
    except (TypeError, ValueError):
        return ""
    if x.shape != y.shape:
        return ""
    i = int(np.argmax(~np.isclose(x, y, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)))
    return f", component {i}: {number(float(x[i]))} and {number(float(y[i]))}"


def _number(value: Any) -> str:
    return number(float(value)) if isinstance(value, (int, float, np.generic)) else repr(value)


def _episode(env: Any, seed: int | None = SEED, policy_seed: int | None = None) -> Episode:
    policy = at_random(env.action_space, policy_seed if policy_seed is not None else seed or 0)
    return play(env, policy, seed=seed, most=STEPS)


def _blind(world: World, ref: Reference) -> NotMeasured | None:
    if world.unseedable:
        return NotMeasured("needs an environment that can be seeded")
    if not world.fresh:
        return NotMeasured("the target is one environment; give a factory or a class, so that new ones can be made")
    if ref.difference or not ref.episode.rewards:
        return NotMeasured("needs an environment that repeats an episode with the same seed")
    return None


def _running_statistics(env: Any) -> str:
    """The name of a wrapper that normalises by what it has seen, if there is one."""
    while env is not None:
        if hasattr(env, "obs_rms") or hasattr(env, "return_rms"):
            return type(env).__name__
        env = env.__dict__.get("env") or env.__dict__.get("venv")
    return ""


@contextmanager
def _global_seed() -> Iterator[None]:
    """numpy's and Python's global generators, seeded inside the block and put back after it."""
    before = np.random.get_state(), random.getstate()
    np.random.seed(0)
    random.seed(0)
    yield
    np.random.set_state(before[0])
    random.setstate(before[1])
