"""Train with Stable-Baselines3, and write the files that a user of the library would have.

A fault is injected at the same places as in practice: an option, a wrapper around the environment, a callback, or a
change to the built model (for example a buffer that computes something else).
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from firstbreak_lab.score import FinalScores


@dataclass(kw_only=True)
class ClassicSettings:
    """The settings of one run. `ppo()`, `a2c()`, `dqn()` and `sac()` give healthy ones."""

    algorithm: str  #: "ppo", "a2c", "dqn" or "sac"
    env: str
    total_timesteps: int
    seed: int = 0
    n_envs: int = 1
    eval_every: int = 5_000  #: environment steps
    eval_episodes: int = 10
    normalize_reward: bool = False  #: VecNormalize for the training rewards
    hyperparameters: dict[str, Any] = field(default_factory=dict)  #: under the names of Stable-Baselines3
    recorded: dict[str, Any] = field(default_factory=dict)  #: what config.yml contains instead of the real value
    wrappers: list[Callable[[Any], Any]] = field(
        default_factory=list
    )  #: around each training environment, the innermost first
    eval_wrappers: list[Callable[[Any], Any]] = field(default_factory=list)
    callbacks: list[Callable[[], Any]] = field(default_factory=list)  #: factories of `BaseCallback`
    patches: list[Callable[[Any], None]] = field(
        default_factory=list
    )  #: functions that change the model before `learn`

    @property
    def steps(self) -> int:
        """Length of the run in environment steps."""
        return self.total_timesteps


def ppo() -> ClassicSettings:
    """PPO on CartPole: returns reach the maximum of 500 during the run. The run takes about 15 s."""
    return ClassicSettings(
        algorithm="ppo",
        env="CartPole-v1",
        total_timesteps=65_536,
        n_envs=8,
        hyperparameters={
            "learning_rate": "lin_3e-3",
            "n_steps": 128,
            "batch_size": 256,
            "n_epochs": 4,
            "gamma": 0.99,
            "gae_lambda": 0.95,
            "ent_coef": 0.0,
        },
    )


def a2c() -> ClassicSettings:
    """A2C on CartPole, less stable than PPO."""
    return ClassicSettings(
        algorithm="a2c",
        env="CartPole-v1",
        total_timesteps=80_000,
        n_envs=8,
        hyperparameters={"learning_rate": "lin_2e-3", "n_steps": 32, "gamma": 0.99, "ent_coef": 0.0},
    )


def dqn() -> ClassicSettings:
    """DQN on CartPole. Its loss grows with the scale of the values, which is healthy."""
    return ClassicSettings(
        algorithm="dqn",
        env="CartPole-v1",
        total_timesteps=50_000,
        hyperparameters={
            "learning_rate": "lin_1e-3",
            "batch_size": 64,
            "buffer_size": 50_000,
            "learning_starts": 1_000,
            "gamma": 0.99,
            "target_update_interval": 500,
            "train_freq": 64,
            "gradient_steps": 64,
            "exploration_fraction": 0.16,
            "exploration_final_eps": 0.04,
        },
    )


def sac() -> ClassicSettings:
    """SAC on Pendulum: returns rise from -1500 to about -150."""
    return ClassicSettings(
        algorithm="sac",
        env="Pendulum-v1",
        total_timesteps=8_000,
        eval_every=1_000,
        hyperparameters={
            "learning_rate": 1e-3,
            "learning_starts": 500,
            "batch_size": 128,
            "policy_kwargs": {"net_arch": [64, 64]},
        },
    )


def train(settings: ClassicSettings, out: Path) -> FinalScores:
    """Train into the folder `out`.

    Writes what a user would have: progress.csv, TensorBoard events, monitor files, evaluations.npz, config.yml. The logger
    also writes the `loop/` curves of `guard.adapters.sb3_loop.recorder`.
    """
    import torch
    from stable_baselines3 import A2C, DQN, PPO, SAC
    from stable_baselines3.common.callbacks import CallbackList, EvalCallback
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.logger import configure
    from stable_baselines3.common.vec_env import VecNormalize

    from firstbreak.live.guard.adapters.sb3_loop import recorder

    torch.set_num_threads(1)
    algorithms: dict[str, Any] = {"ppo": PPO, "a2c": A2C, "dqn": DQN, "sac": SAC}
    out.mkdir(parents=True, exist_ok=True)
    training = make_vec_env(
        _wrapped(settings.env, settings.wrappers), settings.n_envs, seed=settings.seed, monitor_dir=str(out)
    )
    if settings.normalize_reward:
        training = VecNormalize(training, norm_obs=False, gamma=settings.hyperparameters["gamma"])
    held_out = make_vec_env(_wrapped(settings.env, settings.eval_wrappers), 1, seed=settings.seed + 10_000)
    if (
        settings.normalize_reward
    ):  # SB3 requires the same wrapper for both; the rewards of the evaluation are not normalised
        held_out = VecNormalize(held_out, training=False, norm_obs=False, norm_reward=False)
    model = algorithms[settings.algorithm](
        "MlpPolicy",
        training,
        seed=settings.seed,
        device="cpu",
        **{**settings.hyperparameters, "learning_rate": schedule(settings.hyperparameters["learning_rate"])},
    )
    model.set_logger(configure(str(out), ["csv", "tensorboard"]))
    for patch in settings.patches:
        patch(model)
    _write_config(settings, out / "config.yml")
    evaluation = EvalCallback(
        held_out,
        n_eval_episodes=settings.eval_episodes,
        eval_freq=settings.eval_every // settings.n_envs,
        log_path=str(out),
        verbose=0,
    )
    callbacks = CallbackList([recorder(), evaluation, *(make() for make in settings.callbacks)])
    model.learn(settings.total_timesteps, callback=callbacks)
    model.logger.close()
    training.close()
    held_out.close()
    return FinalScores(true_score(model, settings), float(evaluation.last_mean_reward))


def true_score(model: Any, settings: ClassicSettings, episodes: int = 20) -> float:
    """Mean return of the greedy policy in the environment of the evaluation, over more episodes."""
    from stable_baselines3.common.env_util import make_vec_env
    from stable_baselines3.common.evaluation import evaluate_policy

    env = make_vec_env(_wrapped(settings.env, settings.eval_wrappers), 1, seed=settings.seed + 20_000)
    returns, _ = evaluate_policy(model, env, n_eval_episodes=episodes)
    env.close()
    return float(returns)  # type: ignore[arg-type]


def _wrapped(env_id: str, wrappers: list[Callable[[Any], Any]]) -> Callable[[], Any]:
    """A function that makes the environment. The wrappers are inside the monitor, so the monitor records what the agent sees."""

    def make() -> Any:
        import gymnasium

        env = gymnasium.make(env_id)
        for wrapper in wrappers:
            env = wrapper(env)
        return env

    return make


def tamper(
    settings: ClassicSettings,
    onset: int,
    changes: Callable[[], dict[str, Callable[[Any], Any]]],
    *,
    evaluation: bool = False,
) -> None:
    """Change what the training environments do, from environment step `onset` on. `changes` is called once per environment.

    With `evaluation`, the environments of the evaluation are changed from the same step on. `Tampered` says what can be
    changed.
    """
    clock = {"steps": 0}

    def started() -> bool:
        return clock["steps"] >= onset

    def tick() -> None:
        clock["steps"] += 1

    def wrap(env: Any) -> Any:
        from firstbreak_lab.classic.wrappers import Tampered

        return Tampered(env, started, tick, **changes())

    def wrap_evaluation(env: Any) -> Any:
        from firstbreak_lab.classic.wrappers import Tampered

        return Tampered(env, started, lambda: None, **changes())

    settings.wrappers.append(wrap)
    if evaluation:
        settings.eval_wrappers.append(wrap_evaluation)


def schedule(value: Any) -> Callable[[float], float]:
    """A hyperparameter as a function of the remaining progress (1 to 0), as in Stable-Baselines3.

    `lin_0.003` falls linearly from 0.003 to 0, as in rl-baselines3-zoo. A number is constant.
    """
    if callable(value):
        planned: Callable[[float], float] = value
        return planned
    if isinstance(value, str):
        start = float(value.removeprefix("lin_"))
        return lambda left: start * left
    return lambda left: float(value)


def _write_config(settings: ClassicSettings, path: Path) -> None:
    """Write the config file that a user would have."""
    config = {
        "algo": settings.algorithm,
        "env_id": settings.env,
        "seed": settings.seed,
        "n_timesteps": settings.total_timesteps,
        "n_envs": settings.n_envs,
        "policy": "MlpPolicy",
        **{name: value for name, value in settings.hyperparameters.items() if not callable(value)},
        **settings.recorded,
    }
    path.write_text(yaml.safe_dump(config, sort_keys=False))
