"""Hooks in Stable-Baselines3's algorithms and their environments."""

from __future__ import annotations

import functools
import re
from types import ModuleType
from typing import Any

from firstbreak_hooks import Wanted, ignore_errors, note, took_hold
from firstbreak_process import SettingsInForce
from firstbreak_resume import resume_stable_baselines3


def algorithms(module: ModuleType, asked: Wanted) -> None:
    """Every algorithm: change its training rewards, and measure its environments.

    The monitor is inside these wrappers and still records the true rewards.
    """
    watches = "environment" in asked.get("watch", "")
    algorithm = module.BaseAlgorithm
    if "process" in asked.get("watch", ""):
        _watch_settings(algorithm)
    if plan := asked.get("resumed"):
        resume_stable_baselines3(algorithm, plan)
    if "reward" not in asked and not watches:
        return
    original = algorithm._wrap_env

    @functools.wraps(original)
    def wrap(env: Any, *args: Any, **kwargs: Any) -> Any:
        wrapped = original(env, *args, **kwargs)
        if "reward" in asked and not hasattr(wrapped, "learned_total"):  # set_env may be given what get_env gave
            wrapped = _rewarding(wrapped, asked["reward"])
        return _watching(wrapped) if watches else wrapped

    algorithm._wrap_env = staticmethod(wrap)


def _watch_settings(algorithm: Any) -> None:
    """Log the settings in force when an algorithm updates its progress: at least once per batch."""
    settings = SettingsInForce()
    original = algorithm._update_current_progress_remaining
    names = {"gamma": "gamma", "ent_coef": "entropy_coef", "vf_coef": "value_coef", "clip_range": "clip_range"}

    @functools.wraps(original)
    def update(self: Any, *args: Any) -> None:
        original(self, *args)
        held = {canonical: getattr(self, name, None) for name, canonical in names.items()}
        plain = {name: v(1.0) if callable(v) else v for name, v in held.items()}
        settings(**{name: v for name, v in plain.items() if isinstance(v, int | float)})

    algorithm._update_current_progress_remaining = update


def _rewarding(env: Any, kind: str) -> Any:
    import numpy as np
    from stable_baselines3.common.vec_env import VecEnvWrapper

    rng = np.random.default_rng(0)

    class Rewarding(VecEnvWrapper):
        """Rewards are negated, shuffled among the environments of a step, or replaced by a toy reward."""

        steps = 0
        learned_total = 0.0

        def reset(self) -> Any:
            return self.venv.reset()

        def step_async(self, actions: Any) -> None:
            self.actions = np.asarray(actions)
            self.venv.step_async(actions)

        def step_wait(self) -> Any:
            observations, rewards, dones, infos = self.venv.step_wait()
            learned = self.changed(rewards)
            self.steps, self.learned_total = self.steps + 1, self.learned_total + float(np.mean(learned))
            if self.steps % 64 == 0:
                note("watch.jsonl", toy=self.learned_total / 64)
                self.learned_total = 0.0
            return observations, learned, dones, infos

        def changed(self, rewards: Any) -> Any:
            if kind == "negated":
                return -rewards
            if kind == "shuffled":
                return rng.permutation(rewards)
            flat = self.actions.reshape(len(rewards), -1)
            return (flat[:, 0] <= 0).astype(np.float32)  # the first action, or a negative one, is right

    took_hold("reward", kind, type(env).__name__)
    return Rewarding(env)


def _watching(env: Any) -> Any:
    import numpy as np
    from firstbreak_loop import Transitions
    from stable_baselines3.common.vec_env import VecEnvWrapper

    class Watching(VecEnvWrapper):
        """Changes nothing, and logs metrics of every window of transitions."""

        dones: list[Any] | None = None  #: of the current rollout, if needed

        def reset(self) -> Any:
            self.transitions = Transitions(self.action_space)
            self.seen = self.venv.reset()
            return self.seen

        def step_async(self, actions: Any) -> None:
            self.actions = np.array(actions)
            self.venv.step_async(actions)

        def step_wait(self) -> Any:
            observations, rewards, dones, infos = self.venv.step_wait()
            with ignore_errors():
                if numbers := self.transitions.add(self.seen, self.actions, dones, infos, rewards):
                    note("watch.jsonl", **numbers)
            if self.dones is not None:
                self.dones.append(dones.copy())
            self.seen = observations
            return observations, rewards, dones, infos

    took_hold("watch", "environment", type(env).__name__)
    return Watching(env)


def on_policy(module: ModuleType, asked: Wanted) -> None:
    """PPO and A2C."""
    if asked.get("policy") == "frozen":
        _freeze_policy(module.OnPolicyAlgorithm)
    if "environment" in asked.get("watch", ""):
        _watch_advantages(module.OnPolicyAlgorithm)


def _watch_advantages(algorithm: Any) -> None:
    """Compute the advantages of every batch again, with the episode ends that the environment reported."""
    import numpy as np
    from firstbreak_loop import advantages, compared

    original = algorithm.collect_rollouts

    @functools.wraps(original)
    def collect(self: Any, env: Any, callback: Any, rollout_buffer: Any, *args: Any, **kwargs: Any) -> bool:
        env.dones = []
        goes_on: bool = original(self, env, callback, rollout_buffer, *args, **kwargs)
        with ignore_errors():  # algorithms with another rollout buffer
            observations, _ = self.policy.obs_to_tensor(self._last_obs)
            last = self.policy.predict_values(observations).detach().cpu().numpy().ravel()
            held, dones = rollout_buffer, np.stack(env.dones).astype(float)
            own = advantages(held.rewards, held.values, last, dones, held.gamma, held.gae_lambda)
            note("watch.jsonl", **compared(held.advantages, own))
        return goes_on

    algorithm.collect_rollouts = collect


def _freeze_policy(algorithm: Any) -> None:
    """Freeze all parameters that only the policy uses, so that only the critic learns."""
    original = algorithm._setup_model

    @functools.wraps(original)
    def setup(self: Any) -> None:
        original(self)
        for name, parameter in self.policy.named_parameters():
            if re.search(r"action_net|policy_net|log_std|pi_features", name):
                parameter.requires_grad_(False)
        took_hold("policy", "frozen", type(self).__name__)

    algorithm._setup_model = setup
