"""An environment, whatever its interface: everything behind it sees Gymnasium's reset and step.

Gymnasium environments pass through untouched, so that what is checked is what the trainer gets. PettingZoo's are seen
through the eyes of one agent while the others act at random; dm_env's through a translation of its time steps.
"""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from firstbreak.values import dataclass, field

SECONDS = 20.0  #: for one call of the environment (convention)
WARM_UP = 256  #: steps of a vectorised environment that running statistics are collected in (convention)


@dataclass(frozen=True, kw_only=True)
class World:
    """An environment that can be made again and again."""

    name: str
    interface: str  #: "Gymnasium", "Gymnasium vector", "Stable-Baselines3 ...", "PettingZoo", "dm_env"
    make: Callable[[], Any]  #: a new one, with Gymnasium's reset and step
    make_vector: Callable[[], Any] | None = None  #: a new VectorEnv or VecEnv, where it is one
    unseedable: str = ""  #: why no seed can be given, where none can
    agents: tuple[str, ...] = ()  #: PettingZoo only
    fresh: bool = True  #: every call of `make` gives another environment
    made: list[Any] = field(default_factory=list)  #: everything that was made, to be closed

    def close(self) -> None:
        """Close all environments that were made; one that cannot be closed is left to the process."""
        for env in self.made:
            with suppress(Exception):
                env.close()


class View:
    """Something of an environment, seen as an environment of its own."""

    env: Any

    def close(self) -> None:
        self.env.close()


class RowView(View):
    """The first environment of a VectorEnv; the others act at random, seeded with the episode."""

    def __init__(self, env: Any) -> None:
        self.env = env
        self.observation_space, self.action_space = env.single_observation_space, env.single_action_space

    def reset(self, *, seed: int | None = None) -> Any:
        self.env.action_space.seed(seed)
        observations, infos = self.env.reset(seed=seed)
        return row(observations, 0), row(infos, 0)

    def step(self, action: Any) -> Any:
        from gymnasium.vector.utils import concatenate, create_empty_array, iterate

        space = self.env.action_space
        actions = [action, *list(iterate(space, space.sample()))[1:]]
        empty: Any = create_empty_array(self.action_space, self.env.num_envs)
        batch = concatenate(self.action_space, actions, empty)
        observations, rewards, terminations, truncations, infos = self.env.step(batch)
        return row(observations, 0), rewards[0], terminations[0], truncations[0], row(infos, 0)


def row(batch: Any, i: int) -> Any:
    """Row `i` of a batch of observations or infos."""
    if isinstance(batch, dict):
        return {key: row(value, i) for key, value in batch.items()}
    if isinstance(batch, tuple):
        return tuple(row(value, i) for value in batch)
    return batch[i] if isinstance(batch, (np.ndarray, list)) else batch


class AgentView(View):
    """One agent of a PettingZoo environment; the others act at random, seeded with the episode."""

    def __init__(self, env: Any, agent: str) -> None:
        self.env, self.agent = env, agent
        self.observation_space, self.action_space = env.observation_space(agent), env.action_space(agent)
        self._seen: dict[str, tuple[Any, Any]] = {}

    def _seed(self, seed: int | None) -> None:
        for i, other in enumerate(self.env.possible_agents):
            self.env.action_space(other).seed(None if seed is None else seed + i)


class ParallelView(AgentView):
    """One agent of a ParallelEnv."""

    def reset(self, *, seed: int | None = None) -> Any:
        observations, infos = self.env.reset(seed=seed)
        self._seed(seed)
        self._seen = {agent: (observations[agent], infos[agent]) for agent in self.env.agents}
        return observations[self.agent], infos[self.agent]

    def step(self, action: Any) -> Any:
        actions = {
            agent: action if agent == self.agent else sample(self.env.action_space(agent), *self._seen[agent])
            for agent in self.env.agents
        }
        observations, rewards, terminations, truncations, infos = self.env.step(actions)
        self._seen = {agent: (observations[agent], infos[agent]) for agent in self.env.agents}
        me = self.agent
        return observations[me], rewards[me], terminations[me], truncations[me], infos[me]


class AecView(AgentView):
    """One agent of an AECEnv, from its turn to its next turn."""

    def reset(self, *, seed: int | None = None) -> Any:
        self.env.reset(seed=seed)
        self._seed(seed)
        observation, _, _, _, info = self._my_turn()
        return observation, info

    def step(self, action: Any) -> Any:
        self.env.step(action)
        return self._my_turn()

    def _my_turn(self) -> Any:
        """Let the others act until it is this agent's turn, or its game is over."""
        while self.env.agents and self.env.agent_selection != self.agent:
            observation, _, terminated, truncated, info = self.env.last()
            space = self.env.action_space(self.env.agent_selection)
            self.env.step(None if terminated or truncated else sample(space, observation, info))
        return self.env.last()


class DmEnvView(View):
    """A dm_env.Environment: the last step with discount 0 terminates, with another discount it truncates.

    A seed makes a new environment where the factory takes one, because dm_env knows no other way.
    """

    def __init__(self, make: Callable[..., Any], takes_seed: bool) -> None:
        self._make, self._takes_seed = make, takes_seed
        self.env = make()
        self.observation_space = space_of(self.env.observation_spec())
        self.action_space = space_of(self.env.action_spec())

    def reset(self, *, seed: int | None = None) -> Any:
        if seed is not None and self._takes_seed:
            self.env = self._make(seed=seed)
        step = self.env.reset()
        if not step.first():
            raise ValueError(f"reset() returned a {step.step_type!r} time step, not FIRST")
        return _plain(step.observation), {}

    def step(self, action: Any) -> Any:
        step = self.env.step(action)
        if step.discount is None or not 0 <= step.discount <= 1:
            raise ValueError(f"step() returned the discount {step.discount!r}, which is not between 0 and 1")
        over = bool(step.last())
        return _plain(step.observation), step.reward, over and step.discount == 0, over and step.discount > 0, {}


def _plain(observation: Any) -> Any:
    """dm_env gives ordered dicts and scalars; Gymnasium's spaces want dicts and arrays."""
    if isinstance(observation, dict):
        return {key: _plain(value) for key, value in observation.items()}
    return np.asarray(observation)


def space_of(spec: Any) -> Any:
    """The Gymnasium space of a dm_env spec."""
    from gymnasium import spaces

    if isinstance(spec, dict):
        return spaces.Dict({key: space_of(part) for key, part in spec.items()})
    if isinstance(spec, (list, tuple)):
        return spaces.Tuple([space_of(part) for part in spec])
    if hasattr(spec, "num_values"):
        return spaces.Discrete(int(spec.num_values))
    shape, dtype = spec.shape, np.dtype(spec.dtype)
    if np.issubdtype(dtype, np.floating):
        bounds: tuple[Any, Any] = (-np.inf, np.inf)
    else:
        bounds = (0, 1) if dtype.kind == "b" else (np.iinfo(dtype).min, np.iinfo(dtype).max)
    low, high = getattr(spec, "minimum", bounds[0]), getattr(spec, "maximum", bounds[1])
    return spaces.Box(
        np.broadcast_to(low, shape).astype(dtype), np.broadcast_to(high, shape).astype(dtype), dtype=dtype
    )


def legal(observation: Any, info: Any) -> np.ndarray | None:
    """The action mask that comes with an observation, as PettingZoo and Gymnasium hand it over; None for no mask."""
    for place in (info, observation):
        if isinstance(place, dict) and place.get("action_mask") is not None:
            return np.asarray(place["action_mask"], dtype=np.int8)
    return None


def sample(space: Any, observation: Any, info: Any) -> Any:
    """A random legal action."""
    mask = legal(observation, info)
    return space.sample() if mask is None or not hasattr(space, "n") else space.sample(mask)
