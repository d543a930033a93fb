"""Are all actions accepted, do they have an effect, when does the effect show, and is the declared range the effective one?"""

import itertools
from itertools import combinations
from typing import Any

import numpy as np

from firstbreak.model import NotApplicable, NotMeasured
from firstbreak.preflight import Answer, critical, warning
from firstbreak.preflight.env import contract
from firstbreak.preflight.env.episodes import Episode, Stopped, at_random, play, reset, same, step
from firstbreak.preflight.env.repeat import Reference, difference
from firstbreak.preflight.env.worlds import World, legal
from firstbreak.words import number, percent

STARTS = (11, 12, 13)  #: seeds from which actions are compared
MOVED = 10  #: random steps before actions are compared again: at a start there may be a wall (convention)
STEPS = 12  #: steps after which an action must show (convention)
MAX_ACTIONS = 18  #: discrete actions that are compared: the size of Atari's full action set
FRACTIONS = (0.02, 0.1, 0.25, 0.5, 1.0)  #: shares of the declared range, from its centre, that are tried


def accepted(world: World) -> Answer:
    """Every legal action, and the corners of the space, can be taken."""
    env = world.make()
    tried = corners(env.action_space)
    for action in tried:
        observation, info = reset(env, None if world.unseedable else STARTS[0])
        mask = legal(observation, info)
        if mask is not None and np.ndim(action) == 0 and not mask[int(action)]:
            continue
        try:
            after = step(env, action)[0]
        except Stopped as stopped:
            return critical(f"the environment refuses an action of the declared space: {stopped}", action=repr(action))
        if problem := contract.why_not(env.observation_space, after):
            return critical(
                f"after the action {action!r}, which the space allows, the observation is not in its space: {problem}; "
                "clip the action, or correct the space"
            )
    return f"{len(tried)} actions, the corners of the space among them"


def effect(world: World, ref: Reference) -> Answer:
    """Different actions lead to different episodes, and the difference shows at once."""
    if world.unseedable or ref.difference:
        return NotMeasured("needs an environment that repeats an episode")
    env = world.make()
    actions = corners(env.action_space)[:MAX_ACTIONS]
    if len(actions) < 2:
        return NotApplicable("there is only one action")
    if legal(*reset(env, STARTS[0])) is not None:
        return NotApplicable("which actions are legal changes from step to step")
    played, moved = ([[_constant(env, a, seed, before) for a in actions] for seed in STARTS] for before in (0, MOVED))
    alike = [
        (i, j)
        for i, j in combinations(range(len(actions)), 2)
        if all(not difference(row[i], row[j]) for row in (*played, *moved))
    ]
    pairs = len(actions) * (len(actions) - 1) // 2
    if len(alike) == pairs:
        return critical(
            f"actions change nothing: {len(actions)} different actions lead to the same {STEPS} steps from {len(STARTS)} "
            "starts; check that step() uses its argument, and that the wrapper passes it on"
        )
    late = min(_seen_after(a, b) for row in played for a, b in combinations(row, 2))
    if 1 < late <= STEPS:
        return warning(
            f"the effect of an action first shows {late} steps later: the observation lags behind the state, and the reward "
            "is credited to the wrong action; return the state after the step, or stack frames"
        )
    if alike:
        i, j = alike[0]
        return warning(
            f"{len(alike)} of {pairs} pairs of actions have the same effect, first {actions[i]!r} and {actions[j]!r}: right if "
            "they differ in rare states only, else the action mapping is wrong"
        )
    where = "the next observation" if late == 1 else "the reward alone"
    return f"{len(actions)} actions have different effects, which show in {where}"


def saturation(world: World, ref: Reference) -> Answer:
    """The declared range is the range that has an effect."""
    from gymnasium.spaces import Box

    env = world.make()
    space = env.action_space
    if not isinstance(space, Box):
        return NotApplicable(f"{type(space).__name__} actions have no range")
    if world.unseedable or ref.difference or not (np.isfinite(space.low).all() and np.isfinite(space.high).all()):
        return NotMeasured("needs finite bounds and an environment that repeats an episode")
    used = max(_used(env, sign) for sign in (-1.0, 1.0))
    if used <= 0.5:
        return warning(
            f"beyond {percent(used)} of the declared range a larger action changes nothing: the environment clips it, and "
            "the log-probability belongs to an action that was not executed; declare the range that has an effect",
            used=used,
        )
    return f"the whole declared range has an effect; {_beyond(env)}"


def corners(space: Any) -> list[Any]:
    """Every action of a small discrete space; low, high, centre and mixed corners of others."""
    from gymnasium import spaces

    match space:
        case spaces.Discrete():
            numbers = range(int(space.start), int(space.start + space.n))
            return [np.int64(a) for a in (*numbers[:MAX_ACTIONS], *numbers[MAX_ACTIONS:][-1:])]
        case spaces.MultiDiscrete():
            return [np.zeros_like(space.nvec), (space.nvec - 1).astype(space.dtype)]
        case spaces.MultiBinary():
            return [np.zeros(space.shape, space.dtype), np.ones(space.shape, space.dtype)]
        case spaces.Box() if np.isfinite(space.low).all() and np.isfinite(space.high).all():
            mixed = np.where(np.arange(space.low.size).reshape(space.shape) % 2, space.low, space.high)
            found = [space.low, space.high, (space.low + space.high) / 2, *([mixed] if space.low.size > 1 else [])]
            return [np.asarray(a, space.dtype).copy() for a in found]
        case _:
            return []


def _constant(env: Any, action: Any, seed: int, moved: int = 0) -> Episode:
    """An episode of one action, after some random ones."""
    draw, steps = at_random(env.action_space, seed), itertools.count()
    return play(env, lambda *seen: draw(*seen) if next(steps) < moved else action, seed=seed, most=moved + STEPS)


def _seen_after(a: Episode, b: Episode) -> int:
    """Steps from the action to the first observation or end that tells the two apart; STEPS + 1 where none does."""
    for t in range(1, min(len(a.observations), len(b.observations))):
        if a.flags(t) != b.flags(t) or not same(a.observations[t], b.observations[t], 1e-9):
            return t
    return STEPS + 1


def _used(env: Any, sign: float) -> float:
    """The smallest fraction of the range beyond which a constant action leads to the same episode."""
    space = env.action_space
    centre, half = (space.high + space.low) / 2, (space.high - space.low) / 2
    played = [_constant(env, np.asarray(centre + sign * f * half, space.dtype), STARTS[0]) for f in FRACTIONS]
    return min(f for f, episode in zip(FRACTIONS, played, strict=True) if not difference(episode, played[-1]))


def _beyond(env: Any) -> str:
    """What the environment does with an action outside the bounds."""
    space = env.action_space
    inside, outside = space.high.copy(), np.asarray(space.high + (space.high - space.low), space.dtype)
    at, over = _constant(env, inside, STARTS[0]), _constant(env, outside, STARTS[0])
    if over.stopped is not None:
        return "an action outside the range is refused"
    if not difference(at, over):
        return "an action outside the range is clipped"
    return f"an action outside the range ({number(float(outside.max()))}) has a stronger effect: clip before the step"
