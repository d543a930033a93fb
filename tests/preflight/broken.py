"""Environments with one defect each, and the healthy one that they are made from.

Every class is a Gymnasium environment unless its name says otherwise, so that any checker can be pointed at it. `BROKEN`
maps each to the probe that has to find it.
"""

import time
from functools import partial
from typing import Any, ClassVar

import dm_env
import gymnasium as gym
import numpy as np
from dm_env import specs
from gymnasium import spaces
from gymnasium.vector import AutoresetMode, SyncVectorEnv
from pettingzoo import ParallelEnv

FAR, LIMIT = 1.0, 60


class Corridor(gym.Env[np.ndarray, Any]):
    """Healthy: a cart between two walls is pushed left or right, is paid for being near the middle, and ends at a wall."""

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self) -> None:
        self.observation_space = spaces.Box(-2, 2, (2,), np.float32)
        self.action_space = spaces.Discrete(2)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        super().reset(seed=seed)
        self.state, self.t = self.start(), 0
        return self.observe(), {}

    def step(self, action: Any) -> Any:
        self.move(self.push(action))
        self.t += 1
        return self.observe(), self.reward(), self.failed(), self.t >= LIMIT, {}

    def start(self) -> np.ndarray:
        return np.array([self.np_random.uniform(-0.5, 0.5), 0.0])

    def push(self, action: Any) -> float:
        return 0.02 if action == 1 else -0.02

    def move(self, push: float) -> None:
        x, v = self.state
        v = 0.97 * v + push
        self.state = np.array([x + 0.5 * v, v])

    def observe(self) -> Any:
        return np.clip(self.state, -2, 2).astype(np.float32)

    def reward(self) -> Any:
        return float(1 - abs(self.state[0]))

    def failed(self) -> Any:
        return bool(abs(self.state[0]) > FAR)


class Continuous(Corridor):
    """Healthy: the push is a number between -1 and 1."""

    def __init__(self) -> None:
        super().__init__()
        self.action_space = spaces.Box(-1, 1, (1,), np.float32)

    def push(self, action: Any) -> float:
        return 0.02 * float(action[0])


class ObservationInfinite(Corridor):
    def observe(self) -> Any:
        with np.errstate(divide="ignore"):
            return np.array([self.state[0], 1 / np.float64(self.t == 0)], np.float32)


class ObservationLate(Corridor):
    """What an action does is seen three steps later."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.queue: list[Any] = []
        return super().reset(seed=seed)

    def observe(self) -> Any:
        self.queue = [*self.queue, super().observe()][-4:]
        return self.queue[0].copy()


class ObservationOverwritten(Corridor):
    """One buffer for all observations."""

    def __init__(self) -> None:
        super().__init__()
        self.buffer = np.zeros(2, np.float32)

    def observe(self) -> Any:
        self.buffer[:] = super().observe()
        return self.buffer


class FourValues(Corridor):
    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, info


class ResetWithoutInfo(Corridor):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=seed)[0]


class StepHangs(Corridor):
    def observe(self) -> Any:
        while self.t == 4:
            time.sleep(0.01)
        return super().observe()


class OwnGenerator(Corridor):
    """The starts are seeded, the wind is not."""

    def __init__(self) -> None:
        super().__init__()
        self.wind = np.random.default_rng()

    def move(self, push: float) -> None:
        super().move(push + self.wind.normal(0, 0.005))


class AlwaysTheSameSeed(Corridor):
    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        return super().reset(seed=42 if seed is None else seed)


class StateSurvivesReset(Corridor):
    """The velocity of the last episode is the first of the next."""

    def start(self) -> np.ndarray:
        before = getattr(self, "state", np.zeros(2))
        return np.array([super().start()[0], before[1]])


class ClockSurvivesReset(Corridor):
    """The time limit comes earlier in every episode."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        before = getattr(self, "t", 0)
        answer = super().reset(seed=seed)
        self.t = before % LIMIT
        return answer


class ClassAttribute(Corridor):
    """All instances push the same cart."""

    shared: ClassVar[dict[str, np.ndarray]] = {}

    @property
    def state(self) -> np.ndarray:
        return self.shared["state"]

    @state.setter
    def state(self, value: np.ndarray) -> None:
        self.shared["state"] = value


class LimitIsFailure(Corridor):
    """The clock is reported as a termination."""

    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, False, info

    def push(self, action: Any) -> float:
        return super().push(action) / 4


class FailureIsLimit(Corridor):
    """The wall is reported as a truncation."""

    def step(self, action: Any) -> Any:
        observation, reward, terminated, _, info = super().step(action)
        return observation, reward, False, terminated, info

    def push(self, action: Any) -> float:
        return 3 * super().push(action)


class BothFlags(Corridor):
    def step(self, action: Any) -> Any:
        observation, reward, terminated, truncated, info = super().step(action)
        return observation, reward, terminated or truncated, terminated or truncated, info


class ActionRefusedAtCorner(Continuous):
    def push(self, action: Any) -> float:
        assert abs(float(action[0])) < 1, "the motor breaks"
        return super().push(action)


class ActionWrittenInto(Continuous):
    def push(self, action: Any) -> float:
        action *= 0.5
        return 2 * super().push(action)


class NoActionSpace(Corridor):
    def __init__(self) -> None:
        super().__init__()
        del self.action_space


class SpaceIsTuple(Corridor):
    def __init__(self) -> None:
        super().__init__()
        self.observation_space = (2,)  # type: ignore[assignment]


class MaskForbidsAll(Corridor):
    def step(self, action: Any) -> Any:
        answer = super().step(action)
        return (*answer[:4], {"action_mask": np.array([self.t != 8, self.t != 8], np.int8)})


def vectors(kind: type[SyncVectorEnv]) -> SyncVectorEnv:
    """Three corridors in a vector."""
    return kind([Corridor] * 3)


class VectorSeedsAlike(SyncVectorEnv):
    def reset(self, *, seed: Any = None, options: Any = None) -> Any:
        return super().reset(seed=[seed] * self.num_envs if isinstance(seed, int) else seed)


class VectorRewardShape(SyncVectorEnv):
    def step(self, actions: Any) -> Any:
        observations, rewards, *rest = super().step(actions)
        return (observations, rewards[:, None], *rest)


class VectorNoFinalObservation(SyncVectorEnv):
    def __init__(self, envs: Any) -> None:
        super().__init__(envs, autoreset_mode=AutoresetMode.SAME_STEP)

    def step(self, actions: Any) -> Any:
        *answer, infos = super().step(actions)
        return (*answer, {k: v for k, v in infos.items() if "final" not in k})


class VectorModeUndeclared(SyncVectorEnv):
    """Resets in the same step, and says that it does so in the next."""

    def __init__(self, envs: Any) -> None:
        super().__init__(envs, autoreset_mode=AutoresetMode.SAME_STEP)
        self.metadata = {**self.metadata, "autoreset_mode": AutoresetMode.NEXT_STEP}


class Pair(ParallelEnv):  # type: ignore[type-arg]
    """Healthy PettingZoo: two carts in corridors of their own, paid for being nearer to the middle than the other."""

    metadata: ClassVar[dict[str, Any]] = {"name": "pair"}

    def __init__(self) -> None:
        self.possible_agents = ["left", "right"]
        self.carts = {agent: Corridor() for agent in self.possible_agents}

    def observation_space(self, agent: str) -> Any:
        return self.carts[agent].observation_space

    def action_space(self, agent: str) -> Any:
        return self.carts[agent].action_space

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.agents = list(self.possible_agents)
        starts = {a: c.reset(seed=None if seed is None else seed + i) for i, (a, c) in enumerate(self.carts.items())}
        return {a: o for a, (o, _) in starts.items()}, {a: {} for a in self.agents}

    def step(self, actions: Any) -> Any:
        moves = {a: self.carts[a].step(actions[a]) for a in self.agents}
        ended, late = any(m[2] for m in moves.values()), any(m[3] for m in moves.values())
        near = {a: -abs(float(self.carts[a].state[0])) for a in self.agents}
        rewards = {a: near[a] - min(near.values()) for a in self.agents}
        answer = {a: m[0] for a, m in moves.items()}, rewards, *({a: f for a in self.agents} for f in (ended, late))
        infos: dict[str, Any] = {a: {} for a in self.agents}
        self.agents = [] if ended or late else self.agents
        return (*answer, infos)


class PairForgetsAgent(Pair):
    """The other agent's reward is missing once, and the whole step with it."""

    def step(self, actions: Any) -> Any:
        observations, rewards, *rest = super().step(actions)
        return (observations, {a: r for a, r in rewards.items() if self.carts["left"].t != 5}, *rest)


class PairSeedIgnored(Pair):
    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        return super().reset(seed=None)


class Catch(dm_env.Environment):
    """Healthy dm_env: a ball falls, the paddle below it moves left, stays or moves right."""

    def __init__(self, seed: int | None = None) -> None:
        self.rng = np.random.default_rng(seed)

    def reset(self) -> Any:
        self.ball, self.paddle = np.array([0, self.rng.integers(5)]), 2
        return dm_env.restart(self.observe())

    def step(self, action: Any) -> Any:
        self.paddle = int(np.clip(self.paddle + int(action) - 1, 0, 4))
        self.ball[0] += 1
        if self.ball[0] == 9:
            return dm_env.termination(self.reward(), self.observe())
        return dm_env.transition(0.0, self.observe())

    def reward(self) -> float:
        return 1.0 if self.ball[1] == self.paddle else -1.0

    def observe(self) -> Any:
        return np.array([*self.ball, self.paddle], np.float32)

    def observation_spec(self) -> Any:
        return specs.BoundedArray((3,), np.float32, 0, 9, "positions")

    def action_spec(self) -> Any:
        return specs.DiscreteArray(3, name="move")


def _like(base: type, **changed: Any) -> type:
    """A class with other methods, or with other spaces, which its instances have from the start."""
    given = {name: changed.pop(name) for name in list(changed) if name.endswith("_space")}

    def __init__(self: Any) -> None:
        base.__init__(self)  # type: ignore[misc]
        vars(self).update(given)

    return type(
        base.__name__, (base,), {"__module__": __name__, **({"__init__": __init__} if given else {}), **changed}
    )


#: a defect of one method, or of a space
KINDS: dict[str, type] = {
    "ObservationNaN": _like(
        Corridor, observe=lambda self: np.array([np.nan, 0], np.float32) if self.t == 7 else Corridor.observe(self)
    ),
    "ObservationShape": _like(
        Corridor, observe=lambda self: Corridor.observe(self)[:, None] if self.t else Corridor.observe(self)
    ),
    "ObservationDtype": _like(Corridor, observe=lambda self: Corridor.observe(self).astype(np.float64)),
    "ObservationIsList": _like(Corridor, observe=lambda self: Corridor.observe(self).tolist()),
    # Only late in an episode, where the two published checkers do not look.
    "ObservationLeavesBounds": _like(
        Corridor, observe=lambda self: (Corridor.observe(self) + (5 if self.t > 10 else 0)).astype(np.float32)
    ),
    "ObservationIsNone": _like(Corridor, observe=lambda self: None if self.t == 3 else Corridor.observe(self)),
    "ObservationFrozen": _like(Corridor, observe=lambda self: np.zeros(2, np.float32)),
    "ObservationUnscaled": _like(
        Corridor,
        observation_space=spaces.Box(-np.inf, np.inf, (2,), np.float32),
        observe=lambda self: Corridor.observe(self) * np.array([1e5, 1], np.float32),
    ),
    "ObservationDictLacksKey": _like(
        Corridor,
        observation_space=spaces.Dict({"x": spaces.Box(-2, 2, (2,), np.float32), "t": spaces.Discrete(LIMIT + 1)}),
        observe=lambda self: (
            {"x": Corridor.observe(self), "t": self.t} if self.t < 5 else {"x": Corridor.observe(self)}
        ),
    ),
    "RewardNaN": _like(Corridor, reward=lambda self: float("nan") if self.t == 9 else Corridor.reward(self)),
    "RewardIsArray": _like(Corridor, reward=lambda self: np.array([Corridor.reward(self)])),
    "RewardIsNone": _like(Corridor, reward=lambda self: None),
    "RewardWrapsAround": _like(Corridor, reward=lambda self: np.uint8(200)),
    "RewardHuge": _like(Corridor, reward=lambda self: 1e6 * Corridor.reward(self)),
    # Needs an expert: nothing in the interface is wrong.
    "RewardReversed": _like(Corridor, reward=lambda self: -Corridor.reward(self)),
    "RewardAlwaysZero": _like(Corridor, reward=lambda self: 0.0),
    # Needs an expert. The episode has a fixed length, so that surviving pays nothing either.
    "RewardIsNoise": _like(Corridor, reward=lambda self: float(self.np_random.normal()), failed=lambda self: False),
    "FlagIsNumber": _like(Corridor, failed=lambda self: int(Corridor.failed(self))),
    "ResetWithoutSeed": _like(Corridor, reset=lambda self: Corridor.reset(self)),
    "InfoIsNone": _like(Corridor, step=lambda self, action: (*Corridor.step(self, action)[:4], None)),
    # In its 40th step: an index that runs out.
    "StepRaisesLate": _like(
        Corridor, observe=lambda self: Corridor.observe(self) * [np.float32(1)] * (1 if self.t < 40 else [][0])
    ),
    "GlobalGenerator": _like(Corridor, start=lambda self: np.array([np.random.uniform(-0.5, 0.5), 0.0])),
    "NeverEnds": _like(Corridor, step=lambda self, action: (*Corridor.step(self, action)[:2], False, False, {})),
    "EndsAtOnce": _like(Corridor, failed=lambda self: True),
    # Three actions are declared, two are known.
    "ActionRefused": _like(
        Corridor, action_space=spaces.Discrete(3), push=lambda self, action: {0: -0.02, 1: 0.02}[int(action)]
    ),
    "ActionIgnored": _like(Corridor, push=lambda self, action: float(self.np_random.choice([-0.02, 0.02]))),
    # 0 and 2 push to the left
    "TwoActionsAlike": _like(Corridor, action_space=spaces.Discrete(3)),
    # Beyond a tenth of the declared range nothing changes.
    "ActionClippedInside": _like(
        Continuous, push=lambda self, action: Continuous.push(self, np.clip(action, -0.1, 0.1)) * 10
    ),
    "ActionUnbounded": _like(
        Continuous,
        action_space=spaces.Box(-np.inf, np.inf, (1,), np.float32),
        push=lambda self, action: 0.02 * float(np.tanh(action[0])),
    ),
    "ActionRangeHuge": _like(
        Continuous,
        action_space=spaces.Box(-1000, 1000, (1,), np.float32),
        push=lambda self, action: Continuous.push(self, action) / 1000,
    ),
    "ActionRangeTiny": _like(
        Continuous,
        action_space=spaces.Box(-0.01, 0.01, (1,), np.float32),
        push=lambda self, action: Continuous.push(self, action) * 100,
    ),
    "CatchDiscount": _like(Catch, step=lambda self, action: Catch.step(self, action)._replace(discount=1.5)),
    "CatchObservationOutside": _like(Catch, observe=lambda self: Catch.observe(self) * 2),
    "RewardSometimesNone": _like(Corridor, reward=lambda self: None if self.t % 4 == 0 else Corridor.reward(self)),
    # Observations in the ten thousands.
    "Huge": _like(
        Corridor,
        observation_space=spaces.Box(-np.inf, np.inf, (2,), np.float32),
        observe=lambda self: (20_000 * self.state).astype(np.float32),
    ),
}
for _name, _kind in KINDS.items():
    _kind.__name__ = _kind.__qualname__ = _name
globals().update(KINDS)


vector_healthy = partial(vectors, SyncVectorEnv)
vector_same_step = partial(SyncVectorEnv, [Corridor] * 3, autoreset_mode=AutoresetMode.SAME_STEP)
vector_seeds_alike = partial(vectors, VectorSeedsAlike)
vector_reward_shape = partial(vectors, VectorRewardShape)
vector_no_final_observation = partial(vectors, VectorNoFinalObservation)
vector_mode_undeclared = partial(vectors, VectorModeUndeclared)


class Counted(Corridor):
    """Healthy; counts how many of its kind are open."""

    open = 0

    def __init__(self) -> None:
        super().__init__()
        Counted.open += 1

    def close(self) -> None:
        Counted.open -= 1


ONE = Corridor()  #: an environment, where a factory is asked for


def to_the_middle(observation: Any) -> int:
    """The expert of the corridor: push towards the middle, brake in time."""
    x, v = observation
    return int(x + 3 * v < 0)


# --- what the user brings --------------------------------------------------------------------------------------------


class RewardLate(Corridor):
    """Pays for three steps ago."""

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> Any:
        self.waiting = [0.0] * 3
        return super().reset(seed=seed)

    def reward(self) -> Any:
        self.waiting.append(super().reward())
        return self.waiting.pop(0)


class RewardLateContinuous(RewardLate, Continuous):
    pass


class Farm(gym.Env[np.ndarray, Any]):
    """A picker walks on a small map of three layers of pixels and is paid for each apple, at once or two steps late."""

    moves = ((0, 0), (-1, 0), (1, 0), (0, -1), (0, 1))

    def __init__(self, late: bool = False, side: int = 6, apples: int = 8, horizon: int = 60) -> None:
        self.late, self.side, self.apples, self.horizon = late, side, apples, horizon
        self.action_space = spaces.Discrete(5)
        self.observation_space = spaces.Box(0, 255, (side, side, 3), np.uint8)

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[np.ndarray, dict]:
        super().reset(seed=seed)
        cells = self.np_random.permutation(self.side * self.side)
        self.at = divmod(int(cells[0]), self.side)
        self.ripe = {divmod(int(c), self.side) for c in cells[1 : 1 + self.apples]}
        self.time, self.owed = 0, [0.0, 0.0]
        return self.seen(), {}

    def seen(self) -> np.ndarray:
        picture = np.zeros((self.side, self.side, 3), np.uint8)
        picture[self.at][0] = 255
        for cell in self.ripe:
            picture[cell][1] = 255
        picture[..., 2] = min(255, self.time)
        return picture

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict]:
        move, top = self.moves[int(action)], self.side - 1
        self.at = (min(top, max(0, self.at[0] + move[0])), min(top, max(0, self.at[1] + move[1])))
        reward = 1.0 if self.at in self.ripe else 0.0
        self.ripe.discard(self.at)
        self.time += 1
        self.owed.append(reward)
        done = not self.ripe
        paid = self.owed[-3] if self.late else reward
        return self.seen(), paid, done, self.time >= self.horizon and not done, {}


picked = Farm
picked_late = partial(Farm, late=True)


def says_0_3(observation: Any) -> float:
    return 0.3


def far_too_hard(observation: Any) -> np.ndarray:
    return np.array([-40 * np.sign(observation[0] + 5 * observation[1])], np.float32)


class _Gaussian:
    """As a policy of Stable-Baselines3: a model with `predict`."""

    def __init__(self) -> None:
        self.rng = np.random.default_rng(0)

    def predict(self, observation: Any) -> tuple[Any, None]:
        return self.rng.normal(size=1), None


GaussianPolicy = _Gaussian()


def vectorised(kind: type[gym.Env[Any, Any]] = Corridor) -> Any:
    from stable_baselines3.common.monitor import Monitor
    from stable_baselines3.common.vec_env import DummyVecEnv

    return DummyVecEnv([lambda: Monitor(kind()) for _ in range(3)])


def vectorised_and_huge() -> Any:
    return vectorised(KINDS["Huge"])


def vectorised_and_normalised(kind: type[gym.Env[Any, Any]] = Corridor) -> Any:
    from stable_baselines3.common.vec_env import VecNormalize

    return VecNormalize(vectorised(kind))


def vectorised_huge_and_normalised() -> Any:
    return vectorised_and_normalised(KINDS["Huge"])
