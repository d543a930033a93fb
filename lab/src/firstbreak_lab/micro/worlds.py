"""Small Markov decision processes with a time limit, several copies at once, whose exact return is known."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import numpy as np

from firstbreak_lab.drawn import BrokenMechanism


@dataclass(frozen=True)
class SmallWorld:
    """States, what each action does there, and what the policy sees of a state."""

    features: np.ndarray  #: (states, features)
    after: np.ndarray  #: (states, actions): the next state
    reward: np.ndarray  #: (states, actions)
    over: np.ndarray  #: (states,): the episode ends here
    starts: np.ndarray  #: states in which an episode may begin
    slip: float  #: share of the steps in which a random action is executed
    limit: int  #: steps of an episode

    def expected(self, policy: np.ndarray) -> float:
        """The exact mean return of a policy, (states, actions), without discount, within the time limit."""
        moved = (1 - self.slip) * policy + self.slip / policy.shape[1]
        chain = np.zeros((len(policy), len(policy)))
        np.add.at(chain, (np.arange(len(policy))[:, None], self.after), moved)
        chain *= ~self.over
        paid, value = (moved * self.reward).sum(1), np.zeros(len(policy))
        for _ in range(self.limit):
            value = paid + chain @ value
        return float(value[self.starts].mean())

    def best(self) -> float:
        """The exact mean return of the best policy."""
        value = np.zeros(len(self.after))
        for _ in range(self.limit):
            ahead = self.reward + (value * ~self.over)[self.after]
            value = (1 - self.slip) * ahead.max(1) + self.slip * ahead.mean(1)
        return float(value[self.starts].mean())


def drawn(rng: np.random.Generator) -> SmallWorld:
    """A chain, a grid or a pole to balance, of a random size."""
    return (chain, grid, pole)[int(rng.integers(3))](rng)


def chain(rng: np.random.Generator) -> SmallWorld:
    """Walk to the right end, which pays; the left end ends the episode as well and pays little."""
    n = int(rng.integers(6, 16))
    at = np.arange(n)
    after = np.stack([np.maximum(at - 1, 0), np.minimum(at + 1, n - 1)], 1)
    pay = float(10 ** rng.uniform(0, 1))
    reward = np.where(after == n - 1, pay, np.where(after == 0, 0.1 * pay, -0.01 * pay))
    starts = np.arange(1, max(2, n // 2 + 1))
    return SmallWorld(
        coded(at[:, None], rng), after, reward, (at == 0) | (at == n - 1), starts, rng.uniform(0, 0.2), 4 * n
    )


def grid(rng: np.random.Generator) -> SmallWorld:
    """Walk to the goal in a corner of a square with pits; every step costs a little."""
    n = int(rng.integers(3, 7))
    x, y = np.divmod(np.arange(n * n), n)
    after = np.stack(
        [np.clip(x + dx, 0, n - 1) * n + np.clip(y + dy, 0, n - 1) for dx, dy in ((0, 1), (1, 0), (0, -1), (-1, 0))], 1
    )
    goal, pits = n * n - 1, rng.choice(np.arange(1, n * n - 1), n // 2, replace=False)
    pay = float(10 ** rng.uniform(0, 1))
    reward = np.where(after == goal, pay, np.where(np.isin(after, pits), -0.5 * pay, -0.02 * pay))
    over = np.isin(np.arange(n * n), [goal, *pits])
    starts = np.flatnonzero(~over) if rng.random() < 0.5 else np.array([0])
    return SmallWorld(coded(np.stack([x, y], 1), rng), after, reward, over, starts, rng.uniform(0, 0.15), 8 * n)


def pole(rng: np.random.Generator) -> SmallWorld:
    """Stay near the middle, from which one is pushed away: 1 for every step, as in CartPole."""
    far = int(rng.integers(4, 9))
    at = np.arange(2 * far + 1) - far
    outwards = np.sign(at) * (np.abs(at) > far // 2)
    after = np.clip(np.stack([at - 1 + outwards, at + 1 + outwards], 1), -far, far) + far
    starts = np.array([far - 1, far, far + 1])
    slip, limit = rng.uniform(0.05, 0.3), int(rng.choice((50, 100, 200)))
    return SmallWorld(coded(at[:, None], rng), after, np.ones(after.shape), np.abs(at) == far, starts, slip, limit)


def coded(places: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Features of the states: one for each state, or overlapping bumps that generalise; the last feature is 1."""
    n = len(places)
    distance = np.square(places[:, None] - places).sum(2)
    bumps = np.eye(n) if rng.random() < 0.5 else np.exp(-distance / (2 * rng.uniform(0.4, 0.9) ** 2))
    return np.concatenate([bumps, np.ones((n, 1))], 1)


def observed(world: SmallWorld, broken: BrokenMechanism) -> np.ndarray:
    """The features as the learner sees them."""
    seen = world.features
    if not (broken.fault or "").startswith("observations"):
        return seen
    if share := broken("observations-incomplete"):
        seen = seen.copy()
        seen[:, : round(share * (seen.shape[1] - 1))] = 0.0
    return np.asarray(seen * broken("observations-rescaled", 1.0) + broken("observations-offset"))


class Fleet:
    """Copies of a world that run side by side, start anew by themselves, and count their episodes as a monitor does."""

    def __init__(self, world: SmallWorld, n: int, rng: np.random.Generator, broken: BrokenMechanism) -> None:
        self.world, self.n, self.rng, self.broken = world, n, rng, broken
        self.state = self._begin(rng.random(n))
        self.returns, self.lengths = np.zeros(n), np.zeros(n, int)
        self.last: deque[tuple[float, int]] = deque(maxlen=100)  #: return and length of the last episodes
        self.episodes = 0
        actions = world.after.shape[1]
        self._wrong = np.roll(np.arange(actions), 1)

    def _begin(self, uniform: np.ndarray) -> np.ndarray:
        return np.asarray(self.world.starts[(uniform * len(self.world.starts)).astype(int)])

    def step(self, actions: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Where each copy went, its reward, whether the episode ended there, and whether it was cut by the time limit."""
        world, broken = self.world, self.broken
        uniform = self.rng.random((3, self.n))
        if broken("samples-alike"):  # every copy has the same seed
            uniform[:] = uniform[:, :1]
        if (wrong := broken.hits("actions-replaced", self.n)) is not None:
            actions = np.where(wrong, self._wrong[actions], actions)
        slip = world.slip + broken("dynamics-drift")
        actions = np.where(uniform[0] < slip, (uniform[1] * len(self._wrong)).astype(int), actions)
        reward = self._paid(world.reward[self.state, actions])
        went = world.after[self.state, actions]
        self.returns += reward
        self.lengths += 1
        ended = world.over[went]
        cut = (self.lengths >= world.limit) & ~ended
        if broken("episodes-never-end"):
            ended, cut = np.zeros_like(ended), np.zeros_like(cut)
        if (done := ended | cut).any():
            self.episodes += int(done.sum())
            self.last.extend(zip(self.returns[done].tolist(), self.lengths[done].tolist(), strict=True))
            self.returns[done], self.lengths[done] = 0.0, 0
        self.state = np.where(done, self._begin(uniform[2]), went)
        return went, reward, ended, cut

    def _paid(self, reward: np.ndarray) -> np.ndarray:
        broken = self.broken
        if (flipped := broken.hits("reward-sign-flipped", self.n)) is not None:
            reward = np.where(flipped, -reward, reward)
        if broken("reward-constant"):
            reward = np.zeros_like(reward)
        if noise := broken("verdicts-noisy"):
            reward = reward + noise * np.abs(self.world.reward).max() * broken.rng.normal(size=self.n)
        return np.asarray(reward * broken("scale-too-large", 1.0))

    def recent(self) -> dict[str, float]:
        """Stable-Baselines3's means over the last 100 episodes."""
        if not self.last:
            return {}
        returns, lengths = zip(*self.last, strict=True)
        return {"rollout/ep_len_mean": sum(lengths) / len(lengths), "rollout/ep_rew_mean": sum(returns) / len(returns)}


def evaluate(
    world: SmallWorld, greedy: np.ndarray, episodes: int, rng: np.random.Generator, broken: BrokenMechanism
) -> tuple[float, float]:
    """Mean return and mean length of some episodes in which the action of each state is fixed, (states,)."""
    slip = min(1.0, world.slip + broken("evaluation-elsewhere"))
    state = rng.choice(world.starts, episodes)
    running, returns, lengths = np.ones(episodes, bool), np.zeros(episodes), np.zeros(episodes)
    for _ in range(world.limit):
        uniform = rng.random((2, episodes))
        actions = np.where(uniform[0] < slip, (uniform[1] * world.after.shape[1]).astype(int), greedy[state])
        returns += running * world.reward[state, actions]
        lengths += running
        state = np.where(running, world.after[state, actions], state)
        running &= ~world.over[state]
        if not running.any():
            break
    return float(returns.mean()), float(lengths.mean())


def one_hot(greedy: np.ndarray, actions: int) -> np.ndarray:
    """A deterministic policy as probabilities."""
    return np.asarray(np.eye(actions)[greedy])
