"""PPO of RLlib's new API stack, in one process: Ray is started for each run, which costs most of its time."""

import csv
import json
import os
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
from ray.rllib.algorithms.ppo import PPOConfig
from ray.rllib.connectors.learner import GeneralAdvantageEstimation
from ray.tune.utils import flatten_dict

from firstbreak.model import Link
from firstbreak_lab.drawn import BrokenMechanism, Trained
from firstbreak_lab.population import tasks
from firstbreak_lab.population.families._cleanrl import finite
from firstbreak_lab.population.families._control import (
    CRASHES,
    OF_ENVIRONMENT,
    OF_EVALUATION,
    OF_OPTIMISER,
    BrokenEnv,
    EvaluationEnv,
    Waits,
    break_optimiser,
    learning_rate,
)
from firstbreak_lab.population.faults import by_name, fault

NAME = "rllib-ppo"
FAULTS = by_name(
    (
        *OF_ENVIRONMENT,
        *OF_EVALUATION,
        *OF_OPTIMISER,
        fault("weights-not-delivered"),
        fault("rollouts-too-old", (4, 16), "updates", whole=True),
        fault("critic-not-trained"),
        fault("critic-target-wrong"),
        fault("baseline-missing", (0.7, 1), "share of the baseline"),
        fault("advantage-sign-flipped", (0.6, 1), "share of the advantages"),
        fault("horizon-too-short", (0.1, 0.7), "discount", from_start=True),
        fault("entropy-bonus-too-strong", (0.1, 10), "coefficient"),
        fault("entropy-penalised", (0.1, 3), "coefficient"),
    )
)
CANNOT: Mapping[Link, str] = {}
MODULE = "default_policy"


def draw(rng: np.random.Generator, rows: int) -> dict[str, Any]:
    """Settings of a healthy run. At most 80 iterations: one costs about a second."""
    iterations = min(rows, 80)
    batch = int(2 ** np.clip(round(np.log2(rng.uniform(6000, 12000) / iterations)), 7, 8))
    return {
        "task": str(rng.choice(["cartpole", "grid", "patterns", "patterns"])),
        "logger": str(rng.choice(["json", "csv"])),
        "iterations": iterations,
        "evaluation": bool(rng.random() < 0.7),
        "eval_every": max(1, iterations // int(rng.integers(8, 16))),
        "eval_episodes": int(rng.choice([3, 5])),
        "train_batch_size": batch,
        "minibatch_size": batch // int(rng.choice([2, 4])),
        "num_epochs": int(rng.choice([3, 5])),
        "lr": round(float(10 ** rng.uniform(-2.7, -2.0)), 5),
        "gamma": float(rng.choice([0.95, 0.98, 0.99])),
        "lambda_": float(rng.choice([0.9, 0.95])),
        "entropy_coeff": float(rng.choice([0.0, 0.0, 0.005, 0.01])),
        "clip_param": float(rng.choice([0.1, 0.2, 0.3])),
        "vf_clip_param": float(rng.choice([10.0, 100.0])),
        "width": int(rng.choice([16, 32, 64])),
    }


def train(settings: Mapping[str, Any], seed: int, broken: BrokenMechanism, out: Path) -> Trained:
    """Train with RLlib."""
    torch.set_num_threads(1)
    os.environ["RAY_DISABLE_IMPORT_WARNING"] = "1"
    task, waits = tasks.TASKS[settings["task"]], Waits(broken)
    _start_ray()
    _TrainingEnv.makes = lambda: BrokenEnv(task.make(), broken, task.reward, waits)
    _EvaluatedEnv.makes = lambda: EvaluationEnv(task.make(), broken)
    out.mkdir(parents=True, exist_ok=True)
    algorithm = _config(settings, seed).build_algo()
    learner = algorithm.learner_group._learner
    start = tasks.score(_best(learner.module[MODULE]), task)
    _break(algorithm, learner, broken, waits, settings)
    reported, evaluated, began = float("nan"), None, time.process_time()
    with (out / {"json": "result.json", "csv": "progress.csv"}[settings["logger"]]).open("w", newline="") as file:
        log = _Log(settings["logger"], file)
        try:
            for i in range(settings["iterations"]):
                broken.progress = i / settings["iterations"]
                result = algorithm.train()
                log.write(result)
                if "evaluation" in result:
                    reported = float(result["evaluation"]["env_runners"]["episode_return_mean"])
                    evaluated = {n: p.detach().clone() for n, p in learner.module[MODULE].state_dict().items()}
        except CRASHES:  # of NaN: a run that a user finds stopped
            pass
    seconds = time.process_time() - began + waits.seconds
    module = learner.module[MODULE]
    score = tasks.score(_best(finite(module)), task)
    if evaluated:
        module.load_state_dict(evaluated)
    algorithm.stop()
    return Trained(
        start=start,
        score=score,
        best=task.best,
        reported=reported,
        claimed=tasks.score(_best(finite(module)), task) if evaluated else float("nan"),
        seconds=seconds,
        steps=settings["iterations"] * settings["train_batch_size"],
    )


def _start_ray() -> None:
    """Ray gives its processes 30 seconds to start, and a busy machine takes longer: try again."""
    for left in reversed(range(4)):
        try:
            ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False, ignore_reinit_error=True)
            return
        except Exception:  # it raises no class of its own
            ray.shutdown()
            if not left:
                raise


class _Log:
    """Results as a script dumps them, or as Tune's progress.csv: flat, with the columns of the first result."""

    def __init__(self, kind: str, file: Any) -> None:
        self.kind, self.file = kind, file
        self.table: Any = None

    def write(self, result: Mapping[str, Any]) -> None:
        """Add one iteration."""
        if self.kind == "json":
            self.file.write(json.dumps(result, default=str) + "\n")
            return
        flat = flatten_dict(dict(result), delimiter="/")
        if self.table is None:
            self.table = csv.DictWriter(self.file, list(flat), extrasaction="ignore")
            self.table.writeheader()
        self.table.writerow(flat)


class _Made:
    """RLlib calls this with its own configuration, and gets the environment of the run that is on."""

    makes: Callable[[], Any]

    def __new__(cls, config: Any = None) -> Any:
        return cls.makes()


class _TrainingEnv(_Made):
    pass


class _EvaluatedEnv(_Made):
    pass


def _config(s: Mapping[str, Any], seed: int) -> PPOConfig:
    names = (
        "train_batch_size",
        "minibatch_size",
        "num_epochs",
        "lr",
        "gamma",
        "lambda_",
        "entropy_coeff",
        "clip_param",
    )
    config = (
        PPOConfig()
        .environment(_TrainingEnv, disable_env_checking=True)
        .env_runners(num_env_runners=0, num_envs_per_env_runner=1)
        .rl_module(model_config={"fcnet_hiddens": [s["width"]] * 2, "vf_share_layers": False})
        .training(vf_clip_param=s["vf_clip_param"], **{name: s[name] for name in names})
        .debugging(seed=seed, log_level="ERROR")
    )
    if s["evaluation"]:
        config = config.evaluation(
            evaluation_interval=s["eval_every"],
            evaluation_duration=s["eval_episodes"],
            evaluation_num_env_runners=0,
            evaluation_config=PPOConfig.overrides(env=_EvaluatedEnv, explore=False),
        )
    return config


def _best(module: Any) -> tasks.Act:
    def act(seen: np.ndarray) -> np.ndarray:
        with torch.no_grad():
            logits = module.forward_inference({"obs": torch.as_tensor(seen, dtype=torch.float32)})["action_dist_inputs"]
        return logits.argmax(-1).numpy()  # type: ignore[no-any-return]

    return act


def _break(algorithm: Any, learner: Any, broken: BrokenMechanism, waits: Waits, s: Mapping[str, Any]) -> None:
    """Let the faults act in the built algorithm, but for those of the environments."""
    module = learner.module[MODULE]
    critic = [p for name, p in module.named_parameters() if name.startswith(("vf", "encoder.critic_encoder"))]
    (optimiser,) = learner.get_optimizers_for_module(MODULE)
    optimiser[1].register_step_pre_hook(lambda used, *_: used.param_groups[0].update(lr=learning_rate(s["lr"], broken)))
    break_optimiser(optimiser[1], broken, waits, {"critic-not-trained": critic})
    _hold(algorithm.env_runner_group.local_env_runner, "weights-not-delivered", broken)
    if s["evaluation"]:
        _hold(algorithm.eval_env_runner_group.local_env_runner, "stale-weights", broken)
    _age(algorithm.learner_group, broken)
    coefficient = learner.entropy_coeff_schedulers_per_module[MODULE]
    honest = coefficient.get_current_value
    coefficient.get_current_value = lambda: honest() + broken("entropy-bonus-too-strong") - broken("entropy-penalised")
    (returns,) = [c for c in learner._learner_connector.connectors if isinstance(c, GeneralAdvantageEstimation)]
    at = learner._learner_connector.connectors.index(returns)
    learner._learner_connector.connectors[at] = _BrokenReturns(returns.gamma, returns.lambda_, broken)


def _hold(runner: Any, name: str, broken: BrokenMechanism) -> None:
    """Let a runner of environments keep the weights that it has, while the fault acts."""
    takes = runner.set_state
    runner.set_state = lambda state: None if broken(name) else takes(state)


def _age(group: Any, broken: BrokenMechanism) -> None:
    """Let the update get the episodes of an earlier iteration."""
    update, kept = group.update, deque[Any](maxlen=32)

    def aged(**given: Any) -> Any:
        if broken.fault == "rollouts-too-old":
            kept.append(given["episodes"])
            if age := int(broken("rollouts-too-old")):
                given["episodes"] = kept[max(-len(kept), -1 - age)]
        return update(**given)

    group.update = aged


class _BrokenReturns(GeneralAdvantageEstimation):
    """Faults of the advantages."""

    def __init__(self, gamma: float, lambda_: float, broken: BrokenMechanism) -> None:
        super().__init__(gamma=gamma, lambda_=lambda_)
        self.honest, self.broken = gamma, broken

    def __call__(self, *, rl_module: Any, episodes: Any, batch: Any, **more: Any) -> Any:
        """Advantages and value targets of a batch."""
        broken, module = self.broken, rl_module[MODULE]
        self.gamma = broken("horizon-too-short", self.honest)
        values = module.compute_values
        module.compute_values = lambda *a, **k: values(*a, **k) * (1.0 - broken("baseline-missing"))
        try:
            batch = super().__call__(rl_module=rl_module, episodes=episodes, batch=batch, **more)
        finally:
            del module.compute_values
        mine = batch[MODULE]
        if broken("critic-target-wrong"):
            mine["value_targets"] = mine["advantages"].clone()
        if (flipped := broken.hits("advantage-sign-flipped", tuple(mine["advantages"].shape))) is not None:
            mine["advantages"] = torch.where(torch.as_tensor(flipped), -mine["advantages"], mine["advantages"])
        return batch
