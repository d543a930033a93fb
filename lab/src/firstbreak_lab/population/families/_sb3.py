"""What the families of Stable-Baselines3 share: settings, files, evaluation, and the faults of all of its algorithms."""

import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from stable_baselines3.common.callbacks import BaseCallback, CallbackList, EvalCallback
from stable_baselines3.common.logger import HumanOutputFormat, Logger, make_output_format
from stable_baselines3.common.monitor import Monitor
from stable_baselines3.common.vec_env import DummyVecEnv

from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.population import tasks
from firstbreak_lab.population.families._control import (
    CRASHES,
    OF_ENVIRONMENT,
    OF_EVALUATION,
    OF_OPTIMISER,
    EvaluationEnv,
    Waits,
    break_optimiser,
    environments,
    learning_rate,
)
from firstbreak_lab.population.family import TrainerFault
from firstbreak_lab.population.faults import fault

#: faults of every algorithm
SHARED: tuple[TrainerFault, ...] = (
    *OF_ENVIRONMENT,
    *OF_EVALUATION,
    *OF_OPTIMISER,
    fault("weights-not-delivered"),
    fault("critic-not-trained"),
    fault("horizon-too-short", (0.1, 0.7), "discount", from_start=True),
)
LOGGERS = ("csv", "csv", "tensorboard", "tensorboard", "stdout", "json", "csv+tensorboard")
SCHEDULES: Mapping[str, Callable[[float], float]] = {"constant": lambda left: 1.0, "linear": lambda left: left}


def common(rng: np.random.Generator, names: tuple[str, ...], steps: int) -> dict[str, Any]:
    """The settings that every algorithm has. `steps`: of the environments."""
    evaluations = int(rng.integers(8, 25))
    return {
        "task": str(rng.choice(names)),
        "total_timesteps": steps,
        "width": int(rng.choice([16, 32, 64])),
        "schedule": str(rng.choice(list(SCHEDULES))),
        "logger": str(rng.choice(LOGGERS)),
        "monitor": bool(rng.random() < 0.3),
        "config": bool(rng.random() < 0.5),
        "evaluation": bool(rng.random() < 0.7),
        "eval_freq": steps // evaluations,
        "eval_episodes": int(rng.choice([3, 5, 10])),
    }


def train(
    algorithm: type[Any],
    settings: Mapping[str, Any],
    hyperparameters: Mapping[str, Any],
    seed: int,
    broken: BrokenMechanism,
    out: Path,
    *wrong: Callable[[Any, BrokenMechanism], None],
) -> Trained:
    """Train with an algorithm of Stable-Baselines3. Each of `wrong` lets faults of this algorithm act in the built model."""
    torch.set_num_threads(1)
    task, waits, n_envs = tasks.TASKS[settings["task"]], Waits(broken), settings.get("n_envs", 1)
    makers = environments(task, n_envs, broken, waits)
    monitors = [str(out / str(i)) if settings["monitor"] else None for i in range(n_envs)]
    training = DummyVecEnv([_monitored(make, path) for make, path in zip(makers, monitors, strict=True)])
    schedule, rate = SCHEDULES[settings["schedule"]], settings["learning_rate"]
    model = algorithm(
        "MlpPolicy",
        training,
        learning_rate=lambda left: learning_rate(rate * schedule(left), broken),
        seed=seed,
        device="cpu",
        policy_kwargs={"net_arch": [settings["width"]] * 2},
        **hyperparameters,
    )
    model.set_logger(_logger(settings["logger"], out))
    if settings["config"]:
        _write_config(algorithm, settings, hyperparameters, seed, n_envs, out)
    start = tasks.score(_acts(model.policy), task)
    _break(model, broken, waits)
    for act in wrong:
        act(model, broken)
    progress = _Progress(broken, settings["total_timesteps"])
    evaluation = _Evaluation(settings, seed, broken, out, n_envs) if settings["evaluation"] else None
    began = time.process_time()
    try:
        watched = CallbackList([progress, *filter(None, [evaluation])])
        model.learn(settings["total_timesteps"], watched, settings["log_interval"])
    except CRASHES:  # of NaN: a run that a user finds stopped
        if settings["logger"] == "stdout":
            with (out / "stdout.log").open("a") as text:
                traceback.print_exc(file=text)
    seconds = time.process_time() - began + waits.seconds
    model.logger.close()
    training.close()
    reported, evaluated = evaluation.last if evaluation else (float("nan"), None)
    return Trained(
        start=start,
        score=_score(model.policy, held(model.policy), task),
        best=task.best,
        reported=reported,
        claimed=_score(model.policy, evaluated, task) if evaluated else float("nan"),
        seconds=seconds,
        steps=settings["total_timesteps"],
    )


@contextmanager
def weights(policy: Any, state: Mapping[str, torch.Tensor]) -> Iterator[None]:
    """Let the policy have other weights for a while."""
    live = held(policy)
    policy.load_state_dict(state)
    try:
        yield
    finally:
        policy.load_state_dict(live)


def held(policy: Any) -> dict[str, torch.Tensor]:
    """A copy of the weights of a policy."""
    return {name: tensor.detach().clone() for name, tensor in policy.state_dict().items()}


def _undelivered(model: Any, broken: BrokenMechanism) -> None:
    """Let `collect_rollouts` act with the weights of the time at which the fault began."""
    collect = model.collect_rollouts
    old: dict[str, torch.Tensor] = {}

    def stale(*arguments: Any, **options: Any) -> Any:
        if not broken("weights-not-delivered"):
            return collect(*arguments, **options)
        if not old:
            old.update(held(model.policy))
        with weights(model.policy, old):
            return collect(*arguments, **options)

    model.collect_rollouts = stale


def _break(model: Any, broken: BrokenMechanism, waits: Waits) -> None:
    """Let the faults of every algorithm act in the built model, but for those of the environment."""
    policy = model.policy
    if hasattr(policy, "value_net"):
        critic = [*policy.mlp_extractor.value_net.parameters(), *policy.value_net.parameters()]
        break_optimiser(policy.optimizer, broken, waits, {"critic-not-trained": critic})
    elif hasattr(model, "q_net"):
        last = list(model.q_net.q_net[-1].parameters())
        break_optimiser(policy.optimizer, broken, waits, {"critic-not-trained": last})
    else:
        break_optimiser(model.actor.optimizer, broken, waits)
        critic = list(model.critic.parameters())
        break_optimiser(model.critic.optimizer, broken, waits, {"critic-not-trained": critic})
    _undelivered(model, broken)
    gamma, holder = model.gamma, getattr(model, "rollout_buffer", model)
    learn = model.train

    def train_with_discount(*arguments: Any, **options: Any) -> None:
        learn(*arguments, **options)
        holder.gamma = broken("horizon-too-short", gamma)

    holder.gamma = broken("horizon-too-short", gamma)
    model.train = train_with_discount


def _monitored(make: Callable[[], Any], path: str | None) -> Callable[[], Any]:
    return lambda: Monitor(make(), path)


def _acts(policy: Any) -> tasks.Act:
    return lambda seen: policy.predict(seen, deterministic=True)[0]


def _score(policy: Any, state: Mapping[str, torch.Tensor], task: tasks.ControlTask) -> float:
    """The true score of these weights; that of weights of 0 where they are not finite."""
    finite = all(bool(torch.isfinite(tensor).all()) for tensor in state.values())
    with weights(policy, state if finite else {name: torch.zeros_like(tensor) for name, tensor in state.items()}):
        return tasks.score(_acts(policy), task)


def _logger(kind: str, out: Path) -> Logger:
    out.mkdir(parents=True, exist_ok=True)
    if kind == "stdout":
        return Logger(str(out), [HumanOutputFormat(str(out / "stdout.log"))])
    return Logger(str(out), [make_output_format(name, str(out)) for name in kind.split("+")])


def _write_config(
    algorithm: type[Any],
    settings: Mapping[str, Any],
    hyperparameters: Mapping[str, Any],
    seed: int,
    n_envs: int,
    out: Path,
) -> None:
    """The configuration, as rl-baselines3-zoo keeps it."""
    rate = settings["learning_rate"]
    config = {
        "algo": algorithm.__name__.lower(),
        "env_id": settings["task"],
        "seed": seed,
        "n_timesteps": settings["total_timesteps"],
        "n_envs": n_envs,
        "policy": "MlpPolicy",
        "learning_rate": f"lin_{rate}" if settings["schedule"] == "linear" else rate,
        **{name: value for name, value in hyperparameters.items() if isinstance(value, int | float | str)},
    }
    (out / "config.yml").write_text(yaml.safe_dump(config, sort_keys=False))


class _Progress(BaseCallback):
    """Tells the fault how far the run is."""

    def __init__(self, broken: BrokenMechanism, steps: int) -> None:
        super().__init__()
        self.broken, self.steps = broken, steps

    def _on_step(self) -> bool:
        self.broken.progress = self.num_timesteps / self.steps
        return True


class _Evaluation(EvalCallback):
    """The evaluation of Stable-Baselines3, which may get old weights, other actions or another environment."""

    def __init__(self, settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path, n_envs: int) -> None:
        task, episodes = tasks.TASKS[settings["task"]], settings["eval_episodes"]
        held_out = DummyVecEnv([lambda: Monitor(EvaluationEnv(task.make(), broken)) for _ in range(min(5, episodes))])
        held_out.seed(seed + 10_000)
        super().__init__(
            held_out,
            n_eval_episodes=episodes,
            eval_freq=max(1, settings["eval_freq"] // n_envs),
            log_path=str(out) if settings["monitor"] else None,
            verbose=0,
        )
        self.broken = broken
        self.last: tuple[float, Any] = (
            float("nan"),
            None,
        )  #: what was reported, and the weights that should have been meant
        self.old: dict[str, torch.Tensor] = {}

    def _on_step(self) -> bool:
        if self.n_calls % self.eval_freq:
            return True
        live = held(self.model.policy)
        if not self.old or not self.broken("stale-weights"):
            self.old = live
        with weights(self.model.policy, self.old):
            result = super()._on_step()
        self.last = float(self.last_mean_reward), live
        return result
