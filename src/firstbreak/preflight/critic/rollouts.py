"""A fixed batch of rollouts: from arrays, or from a Stable-Baselines3 model that is asked to collect one."""

from collections.abc import Callable
from typing import Any

import numpy as np

from firstbreak.readers import Unreadable, why
from firstbreak.values import dataclass

#: array -> the other names that it is known by
NAMES = {
    "observations": ("obs", "states"),
    "actions": (),
    "rewards": ("reward",),
    "terminated": ("terminations", "dones", "done", "terminals"),
    "truncated": ("truncations", "timeouts"),
    "values": ("value", "vf_preds"),
    "returns": ("value_targets", "targets"),
    "final_values": (),
    "episode_starts": (),
}
#: weights of a policy of Stable-Baselines3 that only its value function has
OF_VALUES = ("value_net", "mlp_extractor.value_net", "vf_features_extractor")


@dataclass(frozen=True, kw_only=True, eq=False)
class Rollouts:
    """T steps of N environments; what the trainer did not hand over is None."""

    source: str
    observations: np.ndarray  #: (T, N, ...)
    rewards: np.ndarray  #: (T, N)
    terminated: np.ndarray  #: (T, N) bool: the step that ended the episode; of the last step only where it is known
    truncated: np.ndarray | None = None  #: (T, N) bool
    values: np.ndarray | None = None  #: (T, N): the critic's estimate of observations[t]
    returns: np.ndarray | None = None  #: (T, N): the targets that the trainer fits
    final_values: np.ndarray | None = None  #: (T, N): estimate of the state in which the step ended, at truncations
    actions: np.ndarray | None = None  #: (T, N, ...)
    module: Any = None  #: the trainer's own critic, as a callable of (observations, actions) tensors with parameters

    @property
    def ends(self) -> np.ndarray:
        """(T, N) bool: an episode ends with this step, whatever the reason."""
        return self.terminated if self.truncated is None else self.terminated | self.truncated

    @property
    def episodes(self) -> np.ndarray:
        """(T, N) int: a number for every episode, unfinished ones included."""
        before = np.cumsum(np.vstack([np.zeros((1, self.ends.shape[1]), int), self.ends[:-1]]), axis=0)
        offset = np.concatenate([[0], np.cumsum(before[-1] + 1)[:-1]])
        numbered: np.ndarray = before + offset
        return numbered

    def monte_carlo(self, gamma: float) -> np.ndarray:
        """(T, N): discounted rewards to the end of the episode; from the value at a truncation where it is known."""
        total = np.zeros(self.rewards.shape[1])
        out = np.empty_like(self.rewards, dtype=float)
        for t in range(len(out) - 1, -1, -1):
            after = np.where(self.ends[t], 0.0, total)
            if self.truncated is not None and self.final_values is not None:
                after = np.where(self.truncated[t] & ~self.terminated[t], self.final_values[t], after)
            total = self.rewards[t] + gamma * after
            out[t] = total
        return out

    @property
    def whole(self) -> np.ndarray:
        """(T, N) bool: steps of episodes whose end is in the batch."""
        finished = np.unique(self.episodes[self.ends])
        return np.isin(self.episodes, finished)


def from_npz(path: str) -> Rollouts:
    """Rollouts of an .npz file with arrays of shape (T, ...) or (T, N, ...); see NAMES. Raises `Unreadable`."""
    try:
        with np.load(path, allow_pickle=False) as file:
            canonical = {other: name for name, others in NAMES.items() for other in others}
            found = {canonical.get(name, name): np.asarray(file[name]) for name in file.files}
            both = "truncated" in found and not {"terminated", "terminations", "terminals"} & set(file.files)
    except (OSError, ValueError) as error:
        raise Unreadable(path, f"is no .npz file of plain arrays ({why(error)})", "write it with numpy.savez") from None
    for name in ("observations", "rewards"):
        if name not in found:
            raise Unreadable(path, f"holds no {name}, but {', '.join(found) or 'nothing'}", "save it under that name")
    if "terminated" not in found and "episode_starts" not in found:
        raise Unreadable(path, "does not say where episodes end", "save terminated (and truncated), or episode_starts")
    if both and "terminated" in found and found["terminated"].shape == found["truncated"].shape:
        # a `done` stands for both reasons, and a time limit is no termination
        found["terminated"] = found["terminated"].astype(bool) & ~found["truncated"].astype(bool)
    return _arranged(path, found)


def _arranged(source: str, found: dict[str, np.ndarray]) -> Rollouts:
    """All arrays with an axis for environments, and episodes by their last step."""
    single = found["rewards"].ndim == 1
    arrays = {name: (a[:, None] if single else a) for name, a in found.items() if name in NAMES and a.ndim}
    shape = arrays["rewards"].shape
    for name, array in arrays.items():
        if array.shape[:2] != shape:
            raise Unreadable(source, f"{name} has shape {array.shape}, rewards {shape}", "give (steps, envs, ...)")
    starts = arrays.pop("episode_starts", None)
    terminated = arrays.pop("terminated", None)
    if terminated is None:
        assert starts is not None
        terminated = np.vstack([starts[1:], np.zeros_like(starts[:1])])
    truncated = arrays.pop("truncated", None)
    cut = None if truncated is None else truncated.astype(bool)
    return Rollouts(source=source, terminated=terminated.astype(bool), truncated=cut, **arrays)


def from_sb3(name: str, model: Any, steps: int) -> Rollouts:
    """One rollout of a Stable-Baselines3 model, collected by the model itself. Raises `Unreadable` for other models."""
    if model.get_env() is None:
        raise Unreadable(name, "the model has no environment", "give it one: Model(..., env=...) or load(..., env=...)")
    if hasattr(model, "rollout_buffer"):
        return _on_policy(name, model)
    if hasattr(model, "replay_buffer"):
        return _off_policy(name, model, steps)
    raise Unreadable(name, f"a {type(model).__name__} has neither a rollout nor a replay buffer", "give arrays instead")


def _on_policy(name: str, model: Any) -> Rollouts:
    rewards: list[np.ndarray] = []
    late: list[list[bool]] = []

    def watch(variables: dict[str, Any], _: dict[str, Any]) -> bool:
        """What the environments returned: the buffer adds the value behind a time limit to the reward, and forgets the reason."""
        ends = zip(variables["dones"], variables["infos"], strict=True)
        rewards.append(np.array(variables["rewards"], copy=True))
        late.append([bool(done) and bool(info.get("TimeLimit.truncated", False)) for done, info in ends])
        return True

    model.learn(total_timesteps=1, callback=watch)  # one rollout of n_steps, and one update after it
    buffer = model.rollout_buffer
    time, envs = buffer.buffer_size, buffer.n_envs

    def steps_first(array: np.ndarray) -> np.ndarray:
        """The buffer flattens what it trains on, environment by environment."""
        if array.shape[:2] == (time, envs):
            return array
        return np.swapaxes(array.reshape(envs, time, *array.shape[1:]), 0, 1)

    def plane(array: np.ndarray) -> np.ndarray:
        return steps_first(array).reshape(time, envs)

    if isinstance(buffer.observations, dict):
        raise Unreadable(name, "its observations are a dict", "flatten them, or give arrays instead")
    return Rollouts(
        source=f"{type(model).__name__}, its own rollout buffer",
        observations=steps_first(buffer.observations),
        actions=steps_first(buffer.actions),
        rewards=np.stack(rewards[:time]),
        terminated=np.vstack([buffer.episode_starts[1:], np.zeros((1, envs))]).astype(bool) & ~np.array(late[:time]),
        truncated=np.array(late[:time]),
        values=plane(buffer.values),
        returns=plane(buffer.returns),
        module=Wrapped(model.policy, lambda policy, seen, actions: policy.predict_values(seen), OF_VALUES),
    )


def _off_policy(name: str, model: Any, steps: int) -> Rollouts:
    model.learning_starts = steps + 1  # collect only
    model.learn(total_timesteps=steps)
    buffer = model.replay_buffer
    if isinstance(buffer.observations, dict):
        raise Unreadable(name, "its observations are a dict", "flatten them, or give arrays instead")
    stop = buffer.buffer_size if buffer.full else buffer.pos
    ends, late = buffer.dones[:stop].astype(bool), buffer.timeouts[:stop].astype(bool)
    return Rollouts(
        source=f"{type(model).__name__}, its own replay buffer",
        observations=buffer.observations[:stop],
        actions=buffer.actions[:stop],
        rewards=buffer.rewards[:stop],
        terminated=ends & ~late,
        truncated=late,
        module=_action_values(model.policy),
    )


@dataclass(frozen=True)
class Wrapped:
    """A critic inside a policy: what to call, and the module whose parameters are trained."""

    owner: Any  #: torch.nn.Module
    call: Callable[[Any, Any, Any], Any]  #: (owner, observations, actions) -> values
    own: tuple[str, ...] = ()  #: how the names of weights begin that only the value function has


def _action_values(policy: Any) -> Wrapped:
    if hasattr(policy, "q_net"):
        return Wrapped(policy, lambda owner, obs, actions: owner.q_net(obs).gather(1, actions.long().reshape(-1, 1)))
    return Wrapped(policy, lambda owner, obs, actions: owner.critic(obs, actions)[0])
