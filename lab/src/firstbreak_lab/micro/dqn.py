"""DQN on a small decision process, logged as Stable-Baselines3 or CleanRL do. Mnih et al., Nature 518 (2015).

Values are linear in the features: `features @ weights` gives the value of every action.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.micro import worlds
from firstbreak_lab.micro.logs import Clock, Log
from firstbreak_lab.micro.optimizer import Adam
from firstbreak_lab.micro.worlds import Fleet

TRAINERS = ("sb3", "sb3", "cleanrl")
LATE = 0.9  #: share of the run after which the true score is taken, as a mean


@dataclass(frozen=True, kw_only=True)
class DqnSettings:
    """One draw of the population."""

    moves: int  #: steps of each copy
    envs: int
    log_every: int  #: episodes (Stable-Baselines3)
    eval_every: int  #: moves; 0: no evaluation
    eval_episodes: int
    train_every: int  #: moves
    batch: int
    buffer: int
    learning_starts: int  #: steps of all copies
    target_every: int  #: updates
    lr: float
    schedule: str
    width: float
    gamma: float
    grad_clip: float
    epsilon_last: float
    epsilon_share: float  #: of the run in which epsilon falls
    speed: float


def draw(rng: np.random.Generator, points: int) -> DqnSettings:
    """Settings of a run that a person could have started, with about so many logged points."""
    width = 10.0 ** rng.uniform(1, 3)
    moves = int(np.clip(points * rng.uniform(4, 10), 300, 2000))
    envs = int(rng.choice((4, 8, 16)))
    return DqnSettings(
        moves=moves,
        envs=envs,
        log_every=max(1, round(moves * envs / (40 * points))),
        eval_every=int(rng.choice((0, 0, moves // 40, moves // 20, moves // 10))),
        eval_episodes=int(rng.choice((5, 5, 10, 20))),
        train_every=int(rng.choice((1, 2))),
        batch=int(rng.choice((32, 64, 128))),
        buffer=int(rng.choice((1_000, 5_000, 20_000))),
        learning_starts=int(rng.choice((100, 200, 500))),
        target_every=int(rng.choice((10, 25, 50))),
        lr=10.0 ** rng.uniform(-1.6, -0.8) / width,
        schedule=str(rng.choice(("constant", "constant", "linear"))),
        width=width,
        gamma=float(rng.choice((0.95, 0.98, 0.99))),
        grad_clip=10.0,
        epsilon_last=float(rng.choice((0.02, 0.05, 0.1))),
        epsilon_share=rng.uniform(0.1, 0.5),
        speed=10.0 ** rng.uniform(2.5, 4),
    )


class Replay:
    """The last transitions, as a ring."""

    def __init__(self, size: int) -> None:
        self.size, self.n = size, 0
        self.states, self.actions, self.after = (np.zeros(size, int) for _ in range(3))
        self.rewards, self.ended = np.zeros(size), np.zeros(size)

    def add(self, *columns: np.ndarray) -> None:
        """Keep one transition of every copy: state, action, reward, next state, ended."""
        rows = (self.n + np.arange(len(columns[0]))) % self.size
        for kept, new in zip((self.states, self.actions, self.rewards, self.after, self.ended), columns, strict=True):
            kept[rows] = new
        self.n += len(rows)

    def draw(self, n: int, rng: np.random.Generator, newest: int) -> tuple[np.ndarray, ...]:
        """Transitions from the `newest` ones."""
        held = min(self.n, self.size, newest)
        rows = (self.n - 1 - (rng.random(n) * held).astype(int)) % self.size
        return self.states[rows], self.actions[rows], self.rewards[rows], self.after[rows], self.ended[rows]


def train(s: DqnSettings, seed: int, broken: BrokenMechanism, trainer: str = "sb3") -> tuple[Log, Trained]:
    """Train once. Returns the log and what is true of the run."""
    rng, eval_rng = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    world = worlds.drawn(np.random.default_rng([seed, 0]))
    clock, log = Clock(np.random.default_rng([seed, 3]), broken, s.speed), Log()
    fleet, replay = Fleet(world, s.envs, rng, broken), Replay(s.buffer)
    n_actions = world.after.shape[1]
    start = np.random.default_rng([seed, 5]).normal(size=(world.features.shape[1], n_actions)) * 0.01
    adam = Adam(start.copy(), s.lr, s.schedule, s.width, s.grad_clip, broken)
    target = start
    reported, asked = float("nan"), None
    updates = dumped = told = 0
    late: list[float] = []  #: true scores of the last policies: a greedy policy changes by leaps
    for move in range(1, s.moves + 1):
        broken.progress = (move - 1) / s.moves
        step = move * s.envs
        seen = worlds.observed(world, broken)
        values = seen @ adam.weights
        epsilon = exploration(s, broken)
        uniform = rng.random((2, s.envs))
        at = fleet.state
        actions = np.where(uniform[0] < epsilon, (uniform[1] * n_actions).astype(int), values[at].argmax(1))
        went, rewards, ended, _ = fleet.step(actions)
        if not broken("buffer-frozen"):
            replay.add(at, actions, rewards, went, 0.0 * ended if broken("done-mask-ignored") else ended)
        clock.work(s.envs + (20 if move % s.train_every == 0 else 0))
        if step >= s.learning_starts and move % s.train_every == 0:
            rate = adam.rate()
            batch = replay.draw(s.batch, rng, int(broken("buffer-too-small", s.buffer)))
            loss, gradient, mean_value = loss_and_gradient(adam.weights, target, seen, batch, s, broken)
            adam.step(gradient)
            updates += 1
            if updates % s.target_every == 0 and not broken("target-never-updated"):
                target = adam.weights
            if trainer == "sb3":
                log.keep({"train/learning_rate": rate, "train/loss": loss, "train/n_updates": updates})
            elif updates % max(1, s.moves // 150) == 0:
                log.keep({"losses/td_loss": loss, "losses/q_values": mean_value})
                log.dump(**{"charts/SPS": step // max(clock.now, 1e-3)}, step=step, seconds=clock.now)
        if trainer == "cleanrl" and fleet.episodes - told >= s.log_every:
            told_return, told_length = fleet.last[-1]
            told = fleet.episodes
            log.rows.append(
                {
                    "charts/episodic_return": told_return,
                    "charts/episodic_length": told_length,
                    "step": step,
                    "seconds": clock.now,
                }
            )
        if trainer == "sb3" and fleet.episodes - dumped >= s.log_every:
            dumped = fleet.episodes
            log.keep(fleet.recent() | {"rollout/exploration_rate": epsilon, "time/episodes": dumped})
            log.dump(**spent(clock, step))
        if s.eval_every and move % s.eval_every == 0 and trainer == "sb3":
            greedy = (seen @ adam.weights).argmax(1)
            reported, length = worlds.evaluate(
                world, broken.frozen("stale-weights", greedy), s.eval_episodes, eval_rng, broken
            )
            asked = greedy
            log.keep({"eval/mean_reward": reported, "eval/mean_ep_length": length, "rollout/exploration_rate": epsilon})
            log.dump(**{"time/total_timesteps": step})
        if move > LATE * s.moves and move % max(1, s.moves // 100) == 0:
            late.append(world.expected(worlds.one_hot(values.argmax(1), n_actions)))
    start_score = world.expected(worlds.one_hot((worlds.observed(world, broken) @ start).argmax(1), n_actions))
    claimed = float("nan") if asked is None else world.expected(worlds.one_hot(asked, n_actions))
    return log, Trained(
        start_score, sum(late) / len(late), world.best(), reported, claimed, clock.now, s.moves * s.envs
    )


def exploration(s: DqnSettings, broken: BrokenMechanism) -> float:
    """Epsilon now: it falls linearly to its last value."""
    if broken("epsilon-zero"):
        return 0.0
    if kept := broken("epsilon-never-falls"):
        return kept
    return max(s.epsilon_last, 1.0 - (1.0 - s.epsilon_last) * broken.progress / s.epsilon_share)


def loss_and_gradient(
    weights: np.ndarray,
    target: np.ndarray,
    seen: np.ndarray,
    batch: tuple[np.ndarray, ...],
    s: DqnSettings,
    broken: BrokenMechanism,
) -> tuple[float, np.ndarray, float]:
    """The Huber loss of the temporal difference, its gradient, and the mean of the values."""
    states, actions, rewards, after, ended = batch
    ahead = seen @ target
    next_value = ahead.min(1) if broken("critic-target-wrong") else ahead.max(1)
    goal = rewards + broken("horizon-too-short", s.gamma) * (1 - ended) * next_value[after]
    values = seen @ weights
    picked = values[states, actions]
    errors = picked - goal
    small = np.abs(errors) <= 1
    loss = np.where(small, 0.5 * errors**2, np.abs(errors) - 0.5).mean()
    pulled = np.clip(errors, -1, 1) / len(errors)
    of_values = np.bincount(states * values.shape[1] + actions, pulled, values.size).reshape(values.shape)
    return float(loss), seen.T @ of_values, float(picked.mean())


def spent(clock: Clock, step: int) -> dict[str, float]:
    """Stable-Baselines3's account of the time."""
    return {"time/fps": step // max(clock.now, 1e-3), "time/time_elapsed": clock.now, "time/total_timesteps": step}
