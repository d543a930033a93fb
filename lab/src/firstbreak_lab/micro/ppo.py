"""PPO with a critic on a small decision process, logged as Stable-Baselines3 or CleanRL do. Schulman et al., arXiv:1707.06347.

Policy and critic are linear in the features: `features @ weights` gives the logits of the actions and the value.
"""

from __future__ import annotations

from collections import defaultdict, deque
from dataclasses import dataclass

import numpy as np

from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.micro import worlds
from firstbreak_lab.micro.logs import Clock, Log
from firstbreak_lab.micro.optimizer import Adam
from firstbreak_lab.micro.sequences import log_softmax
from firstbreak_lab.micro.worlds import Fleet, SmallWorld

TRAINERS = ("sb3", "sb3", "cleanrl")


@dataclass(frozen=True, kw_only=True)
class PpoSettings:
    """One draw of the population."""

    iterations: int
    log_every: int
    eval_every: int  #: iterations; 0: no evaluation
    eval_episodes: int
    envs: int
    steps: int  #: of each copy in one iteration
    epochs: int
    minibatches: int
    lr: float
    schedule: str
    width: float
    clip: float
    gamma: float
    gae_lambda: float
    entropy_coef: float
    value_coef: float
    grad_clip: float
    normalize: bool
    speed: float


def draw(rng: np.random.Generator, points: int) -> PpoSettings:
    """Settings of a run that a person could have started, with about so many logged points."""
    width = 10.0 ** rng.uniform(1, 3)
    log_every = int(rng.choice((1, 1, 1, 1, 2, 4)))
    iterations = min(points * log_every, max(200, points))
    epochs, minibatches = int(rng.choice((2, 3, 4))), int(rng.choice((1, 2, 2)))
    return PpoSettings(
        iterations=iterations,
        log_every=log_every if iterations >= 30 * log_every else 1,
        eval_every=int(rng.choice((0, 0, 4, 8, 12))),
        eval_episodes=int(rng.choice((5, 5, 10, 20))),
        envs=int(rng.choice((8, 16, 32))),
        steps=int(rng.choice((8, 16, 32))),
        epochs=epochs,
        minibatches=minibatches,
        lr=10.0 ** rng.uniform(0.5, 1.5) / (iterations * epochs * minibatches) / width,
        schedule=str(rng.choice(("constant", "linear"))),
        width=width,
        clip=float(rng.choice((0.1, 0.2, 0.2, 0.3))),
        gamma=float(rng.choice((0.95, 0.98, 0.99, 0.99, 0.995))),
        gae_lambda=float(rng.choice((0.9, 0.95, 0.95, 1.0))),
        entropy_coef=float(rng.choice((0.0, 0.0, 0.001, 0.01))),
        value_coef=0.5,
        grad_clip=0.5,
        normalize=True,
        speed=10.0 ** rng.uniform(3, 4.5),
    )


@dataclass(frozen=True)
class Rollout:
    """Steps of all copies; every array has the shape (steps * copies,)."""

    states: np.ndarray
    actions: np.ndarray
    old: np.ndarray  #: log-probabilities
    values: np.ndarray
    advantages: np.ndarray
    returns: np.ndarray

    def __getitem__(self, rows: np.ndarray) -> Rollout:
        return Rollout(*(array[rows] for array in vars(self).values()))


def train(s: PpoSettings, seed: int, broken: BrokenMechanism, trainer: str = "sb3") -> tuple[Log, Trained]:
    """Train once. Returns the log and what is true of the run."""
    rng, eval_rng = np.random.default_rng([seed, 1]), np.random.default_rng([seed, 2])
    world = worlds.drawn(np.random.default_rng([seed, 0]))
    clock, log = Clock(np.random.default_rng([seed, 3]), broken, s.speed), Log()
    fleet = Fleet(world, s.envs, rng, broken)
    n_actions = world.after.shape[1]
    start = np.random.default_rng([seed, 5]).normal(size=(world.features.shape[1], n_actions + 1)) * 0.01
    adam = Adam(start.copy(), s.lr, s.schedule, s.width, s.grad_clip, broken)
    versions: deque[np.ndarray] = deque(maxlen=17)
    reported, asked = float("nan"), None
    step = 0
    for iteration in range(1, s.iterations + 1):
        broken.progress = (iteration - 1) / s.iterations
        seen = worlds.observed(world, broken)
        versions.append(adam.weights)
        rollout = collect(s, seen, fleet, adam.weights, actor_weights(versions, broken), rng, broken)
        step += s.envs * s.steps
        clock.work(s.envs * s.steps + 20 * s.epochs * s.minibatches)
        if iteration % s.log_every == 0 and trainer == "sb3":
            log.keep(fleet.recent())
            log.dump(**spent(clock, step, iteration))
        rate = adam.rate()
        metrics = update(s, seen, adam, rollout, rng, broken)
        log.keep(named(metrics, rate, iteration, s, trainer))
        if trainer == "cleanrl":
            episodes(log, fleet, step, clock.now)
            log.dump(**{"charts/SPS": step // max(clock.now, 1e-3)}, step=step, seconds=clock.now)
        if s.eval_every and iteration % s.eval_every == 0 and trainer == "sb3":
            greedy = log_policy(seen, adam.weights)[0].argmax(1)
            reported, length = worlds.evaluate(
                world, broken.frozen("stale-weights", greedy), s.eval_episodes, eval_rng, broken
            )
            asked = greedy
            log.keep({"eval/mean_reward": reported, "eval/mean_ep_length": length})
            log.dump(**{"time/total_timesteps": step})
    seen = worlds.observed(world, broken)
    start_score, score = (true_score(world, seen, weights) for weights in (start, adam.weights))
    claimed = float("nan") if asked is None else world.expected(worlds.one_hot(asked, n_actions))
    return log, Trained(start_score, score, world.best(), reported, claimed, clock.now, step)


def true_score(world: SmallWorld, seen: np.ndarray, weights: np.ndarray) -> float:
    """The exact mean return of the policy."""
    return world.expected(np.exp(log_policy(seen, weights)[0]))


def log_policy(seen: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Log-probabilities of the actions, and the value, of every state."""
    outputs = seen @ weights
    return log_softmax(outputs[:, :-1]), outputs[:, -1]


def actor_weights(versions: deque[np.ndarray], broken: BrokenMechanism) -> np.ndarray:
    """The weights that act: those of the last update."""
    if lag := int(broken("rollouts-too-old")):
        return versions[max(0, len(versions) - 1 - lag)]
    return broken.frozen("weights-not-delivered", versions[-1])


def collect(
    s: PpoSettings,
    seen: np.ndarray,
    fleet: Fleet,
    weights: np.ndarray,
    acting: np.ndarray,
    rng: np.random.Generator,
    broken: BrokenMechanism,
) -> Rollout:
    """Act for some steps, and compare what came with what the critic expected (GAE)."""
    log_p, value = log_policy(seen, weights)
    behaviour = np.exp(log_policy(seen, acting)[0])
    if broken("acts-greedily"):
        behaviour = np.eye(behaviour.shape[1])[behaviour.argmax(1)]
    below = behaviour.cumsum(1)[:, :-1]
    shape = (s.steps, s.envs)
    states, actions = np.zeros(shape, int), np.zeros(shape, int)
    rewards, ahead, carry = np.zeros(shape), np.zeros(shape), np.zeros(shape)
    gamma = broken("horizon-too-short", s.gamma)
    ignored = 1.0 if broken("done-mask-ignored") else 0.0
    uniform = rng.random(shape)
    if broken("samples-alike"):
        uniform[:] = uniform[:, :1]
    for t in range(s.steps):
        states[t] = fleet.state
        actions[t] = (below[fleet.state] < uniform[t][:, None]).sum(1)
        went, rewards[t], ended, cut = fleet.step(actions[t])
        rewards[t] += gamma * value[went] * cut
        follows = np.where(ended | cut, ignored, 1.0)
        ahead[t] = gamma * value[fleet.state] * follows
        carry[t] = gamma * s.gae_lambda * follows
    errors = rewards + ahead - value[states]
    advantages, running = np.zeros(shape), np.zeros(s.envs)
    for t in range(s.steps - 1, -1, -1):
        running = errors[t] + carry[t] * running
        advantages[t] = running
    returns = advantages + value[states]
    if broken("critic-target-wrong"):  # the reward of one step
        returns = rewards
    if broken("baseline-missing"):
        advantages = returns.copy()
    if (flipped := broken.hits("advantage-sign-flipped", shape)) is not None:
        advantages = np.where(flipped, -advantages, advantages)
    old = log_p[states, actions]
    return Rollout(*(array.ravel() for array in (states, actions, old, value[states], advantages, returns)))


def update(
    s: PpoSettings, seen: np.ndarray, adam: Adam, rollout: Rollout, rng: np.random.Generator, broken: BrokenMechanism
) -> dict[str, list[float]]:
    """Some epochs over the rollout. Returns what was measured in each minibatch."""
    measured: defaultdict[str, list[float]] = defaultdict(list)
    n = len(rollout.states)
    epochs = s.epochs * int(broken("no-clipping", 1.0))
    for _ in range(epochs):
        for rows in np.array_split(rng.permutation(n), s.minibatches):
            loss, gradient, metrics = loss_and_gradient(adam.weights, seen, rollout[rows], s, broken)
            adam.step(gradient)
            for name, number in (metrics | {"loss": loss}).items():
                measured[name].append(number)
    spread = rollout.returns.var()
    unexplained = (rollout.returns - rollout.values).var()
    return {**measured, "explained": [1 - unexplained / spread if spread else float("nan")]}


def loss_and_gradient(
    weights: np.ndarray, seen: np.ndarray, batch: Rollout, s: PpoSettings, broken: BrokenMechanism
) -> tuple[float, np.ndarray, dict[str, float]]:
    """The clipped objective, the critic's error and the entropy bonus, with their gradient."""
    n = len(batch.states)
    log_p, value = log_policy(seen, weights)
    p = np.exp(log_p)
    advantages = batch.advantages
    if s.normalize and n > 1:
        advantages = (advantages - advantages.mean()) / (advantages.std() + 1e-8)
    now = log_p[batch.states, batch.actions]
    difference = np.zeros(n) if broken("old-log-probabilities-recomputed") else np.clip(now - batch.old, -30, 30)
    ratio = np.exp(difference)
    clip = 1e9 if broken("no-clipping") else s.clip
    bonus = s.entropy_coef + broken("entropy-bonus-too-strong") - broken("entropy-penalised")
    kept = ~(((ratio > 1 + clip) & (advantages > 0)) | ((ratio < 1 - clip) & (advantages < 0)))
    objective = np.minimum(ratio * advantages, np.clip(ratio, 1 - clip, 1 + clip) * advantages).mean()
    errors = value[batch.states] - batch.returns
    value_coef = 0.0 if broken("critic-not-trained") else s.value_coef
    entropies = -(p * log_p).sum(1)
    entropy = entropies[batch.states].mean()
    loss = -objective + value_coef * (errors**2).mean() - bonus * entropy

    of_outputs = np.zeros((len(seen), weights.shape[1]))
    pulled = -ratio * advantages * kept / n
    actions = p.shape[1]
    picked = np.bincount(batch.states * actions + batch.actions, pulled, p.size).reshape(p.shape)
    visits = np.bincount(batch.states, minlength=len(seen)) / n
    of_outputs[:, :-1] = picked - np.bincount(batch.states, pulled, len(seen))[:, None] * p
    of_outputs[:, :-1] += bonus * visits[:, None] * p * (log_p + entropies[:, None])
    of_outputs[:, -1] = value_coef * 2 * np.bincount(batch.states, errors, len(seen)) / n
    metrics = {
        "policy": -objective,
        "value": (errors**2).mean(),
        "entropy": entropy,
        "k1": -difference.mean(),
        "k3": (ratio - 1 - difference).mean(),
        "clipped": (np.abs(ratio - 1) > s.clip).mean(),
    }
    return float(loss), seen.T @ of_outputs, metrics


def named(
    metrics: dict[str, list[float]], rate: float, iteration: int, s: PpoSettings, trainer: str
) -> dict[str, float]:
    """The measured numbers under the trainer's own names."""
    last = {name: numbers[-1] for name, numbers in metrics.items()}
    mean = {name: sum(numbers) / len(numbers) for name, numbers in metrics.items()}
    if trainer == "cleanrl":
        return {
            "charts/learning_rate": rate,
            "losses/value_loss": 0.5 * last["value"],
            "losses/policy_loss": last["policy"],
            "losses/entropy": last["entropy"],
            "losses/old_approx_kl": last["k1"],
            "losses/approx_kl": last["k3"],
            "losses/clipfrac": mean["clipped"],
            "losses/explained_variance": last["explained"],
        }
    return {
        "train/approx_kl": sum(metrics["k3"][-s.minibatches :]) / s.minibatches,
        "train/clip_fraction": mean["clipped"],
        "train/clip_range": s.clip,
        "train/entropy_loss": -mean["entropy"],
        "train/explained_variance": last["explained"],
        "train/learning_rate": rate,
        "train/loss": last["loss"],
        "train/n_updates": iteration * s.epochs,
        "train/policy_gradient_loss": mean["policy"],
        "train/value_loss": mean["value"],
    }


def spent(clock: Clock, step: int, iteration: int) -> dict[str, float]:
    """Stable-Baselines3's account of the time."""
    fps = step // max(clock.now, 1e-3)
    return {
        "time/fps": fps,
        "time/iterations": iteration,
        "time/time_elapsed": clock.now,
        "time/total_timesteps": step,
    }


def episodes(log: Log, fleet: Fleet, step: int, seconds: float) -> None:
    """CleanRL logs every episode by itself; here the newest few of an iteration."""
    for reward, length in list(fleet.last)[-2:]:
        log.rows.append(
            {"charts/episodic_return": reward, "charts/episodic_length": length, "step": step, "seconds": seconds}
        )
    fleet.last.clear()
