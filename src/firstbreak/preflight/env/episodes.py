"""Play an environment and record exactly what it returns: the objects and copies of them."""

import copy
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import chain, repeat
from typing import Any

import numpy as np

from firstbreak.preflight.deadline import Overdue, deadline
from firstbreak.preflight.env import worlds

Policy = Callable[[Any, Any], Any]  #: (observation, info) -> action
#: seconds for the episodes of one policy, so that a slow environment does not block the check (convention)
SPELL = 20.0
KEPT_BYTES = 64_000_000  #: bytes of observations in one record (convention)

Seeds = Iterator[int | None]  #: one for each episode; None where the environment takes none


class Stopped(Exception):
    """The environment cannot be stepped any further. `probe` is the id of the question that this answers."""

    def __init__(self, probe: str, message: str) -> None:
        self.probe = probe
        super().__init__(message)


@dataclass(kw_only=True)
class Episode:
    """One episode as it was returned: T steps, T + 1 observations and infos."""

    observations: list[Any] = field(default_factory=list)  #: copies, taken at once
    actions: list[Any] = field(default_factory=list)
    rewards: list[Any] = field(default_factory=list)
    terminated: list[Any] = field(default_factory=list)
    truncated: list[Any] = field(default_factory=list)
    infos: list[Any] = field(default_factory=list)
    overwritten: bool = False  #: an observation that had been returned was changed by a later step
    action_changed: bool = False  #: step() wrote into the action it was given
    stopped: Stopped | None = None  #: why it could not be played on, where it could not

    def flags(self, t: int) -> tuple[bool, bool]:
        """(terminated, truncated) of step `t`, counted from 1."""
        return bool(self.terminated[t - 1]), bool(self.truncated[t - 1])

    @property
    def over(self) -> bool:
        """Whether the environment said that it ended."""
        return bool(self.terminated) and any(self.flags(len(self.terminated)))


@dataclass(frozen=True)
class Score:
    """What is kept of an episode that is played for its return only."""

    total: float
    length: int
    terminated: bool
    truncated: bool  #: by the environment; neither flag is set where the limit of this check ended it


def at_random(space: Any, seed: int) -> Policy:
    """Uniform legal actions, the same for the same seed and observations."""
    space = copy.deepcopy(space)
    space.seed(seed)
    return lambda observation, info: worlds.sample(space, observation, info)


def reset(env: Any, seed: int | None) -> tuple[Any, Any]:
    """(observation, info); raises `Stopped` where that is not what reset returns."""
    answer = _call(lambda: "reset()", lambda: env.reset() if seed is None else env.reset(seed=seed))
    if not isinstance(answer, tuple) or len(answer) != 2:
        what = f"a tuple of {len(answer)}" if isinstance(answer, tuple) else f"a {type(answer).__name__}"
        raise Stopped(
            "env-reset-contract",
            f"reset() returns {what}, not (observation, info): trainers would unpack the observation; return `observation, {{}}`",
        )
    return answer


def step(env: Any, action: Any) -> tuple[Any, Any, Any, Any, Any]:
    """(observation, reward, terminated, truncated, info); raises `Stopped` where that is not what step returns."""
    answer = _call(lambda: f"step({short(action)})", lambda: env.step(action))
    if not isinstance(answer, tuple) or len(answer) != 5:
        size = f"{len(answer)} values" if isinstance(answer, tuple) else f"a {type(answer).__name__}"
        raise Stopped(
            "env-step-contract",
            f"step() returns {size}, not 5: (observation, reward, terminated, truncated, info); "
            "split the old `done` into terminated (the task ended) and truncated (time ran out)",
        )
    return answer


def _call(what: Callable[[], str], call: Callable[[], Any]) -> Any:
    """What the environment answers. Raises `Stopped` with the words for the call where it fails or does not come back."""
    try:
        with deadline(worlds.SECONDS):
            return call()
    except Overdue as error:
        raise Stopped("env-answers", f"{what()}: {error}; look for a lock, a socket or an endless loop in it") from None
    except (Exception, SystemExit) as error:
        said = f"{type(error).__name__}: {error}"
        raise Stopped("env-answers", f"{what()} raises {said}; run that call alone and mend it first") from error


def play(env: Any, policy: Policy, *, seed: int | None, most: int, beside: Iterable[None] = ()) -> Episode:
    """One episode of at most `most` steps. Where the environment fails, the episode so far says why.

    `beside`: moves of another environment, made between the steps of this one.
    """
    episode = Episode()
    try:
        for _ in zip(moves(env, policy, seed, most, episode), chain(beside, repeat(None)), strict=False):
            pass
    except Stopped as stopped:
        episode.stopped = stopped
    return episode


def moves(env: Any, policy: Policy, seed: int | None, most: int, episode: Episode) -> Iterator[None]:
    """Play and record, pausing after every step."""
    observation, info = reset(env, seed)
    episode.observations.append(copy.deepcopy(observation))
    episode.infos.append(info)
    while len(episode.rewards) < most and not episode.over:
        action = policy(observation, info)
        given, returned = copy.deepcopy(action), observation
        observation, reward, terminated, truncated, info = step(env, action)
        episode.overwritten |= not same(returned, episode.observations[-1])
        episode.action_changed |= not same(action, given)
        episode.observations.append(copy.deepcopy(observation))
        episode.actions.append(given)
        episode.rewards.append(copy.deepcopy(reward))
        episode.terminated.append(terminated)
        episode.truncated.append(truncated)
        episode.infos.append(info)
        yield


def score(env: Any, policy: Policy, seed: int | None, most: int) -> Score:
    """One episode of at most `most` steps, for its return. Raises `Stopped`."""
    observation, info = reset(env, seed)
    total, length, terminated, truncated = 0.0, 0, False, False
    while length < most and not (terminated or truncated):
        observation, reward, terminated, truncated, info = step(env, policy(observation, info))
        total += float(np.asarray(reward, float).sum())
        length += 1
    return Score(total, length, bool(terminated), bool(truncated))


def scores(env: Any, policy: Policy, seeds: Seeds, episodes: int, steps: int) -> tuple[list[Score], float]:
    """Up to `episodes` episodes within `steps` steps and SPELL seconds, none longer than half of the steps.

    Returns them with the seconds that a step took.
    """
    played: list[Score] = []
    start, used = time.perf_counter(), 0
    while len(played) < episodes and used < steps and time.perf_counter() - start < SPELL:
        played.append(score(env, policy, next(seeds), max(1, steps // 2)))
        used += played[-1].length
    return played, (time.perf_counter() - start) / max(1, used)


def same(a: Any, b: Any, tolerance: float = 0.0) -> bool:
    """Whether two observations, actions or rewards are equal, NaN to NaN; `tolerance` is relative and absolute."""
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k], tolerance) for k in a)
    if isinstance(a, (list, tuple)) and isinstance(b, (list, tuple)):
        return len(a) == len(b) and all(same(x, y, tolerance) for x, y in zip(a, b, strict=True))
    try:
        x, y = np.asarray(a), np.asarray(b)
        if x.dtype == object or y.dtype == object or x.dtype.kind in "US":
            return bool(np.all(a == b))
        if x.shape != y.shape or bool((x == y).all()):  # nearly always, and much sooner known
            return x.shape == y.shape
        return bool(np.allclose(x, y, rtol=tolerance, atol=tolerance, equal_nan=True))
    except (TypeError, ValueError):
        return bool(a == b)


def size(observation: Any) -> int:
    """Bytes of an observation, roughly."""
    if isinstance(observation, dict):
        return sum(map(size, observation.values()))
    if isinstance(observation, (list, tuple)):
        return sum(map(size, observation))
    return int(np.asarray(observation).nbytes)


def short(value: Any) -> str:
    """An action in one line."""
    text = np.array2string(np.asarray(value), precision=3, threshold=6) if not isinstance(value, dict) else "{...}"
    return " ".join(text.split())
