"""The protocol of an evaluation that is about to run, read from the environment."""

from collections.abc import Sequence
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from typing import Any

from firstbreak.evals.protocol import Protocol, protocol

#: options of the Arcade Learning Environment that have a field of their own
_ALE = {
    "repeat_action_probability": "sticky_actions",
    "frameskip": "frame_skip",
    "full_action_space": "full_action_space",
}


def gymnasium_protocol(env: Any, *, episodes: int, deterministic: bool, seeds: Sequence[int], **more: Any) -> Protocol:
    """The protocol of `episodes` episodes in a Gymnasium environment with the options and wrappers of the evaluation.

    `more` are fields of the protocol that the environment does not know. They replace fields that were read from the
    environment. Raises ValueError for an unknown field.
    """
    spec = env.spec
    options = dict(spec.kwargs) if spec else {}
    read = {
        "env_id": spec.id if spec else type(env.unwrapped).__name__,
        "env_version": _version(type(env.unwrapped).__module__),
        "env_options": {name: value for name, value in options.items() if name not in (*_ALE, "render_mode")},
        "episode_cap": spec.max_episode_steps if spec else None,
        "wrappers": _wrappers(env),
        "episodes": episodes,
        "deterministic": deterministic,
        "seeds": list(seeds),
        "start_states": "reset",
        "reward": "raw",
        "n_envs": 1,
        **{field: options[name] for name, field in _ALE.items() if isinstance(options.get(name), (int, float))},
    }
    return protocol(read | more)


def _wrappers(env: Any) -> list[str]:
    """Names of the wrappers, from the inside out."""
    return [] if env is env.unwrapped else [*_wrappers(env.env), type(env).__name__]


def _version(module: str) -> str | None:
    """The package that holds the environment, with its version."""
    for distribution in packages_distributions().get(module.partition(".")[0], []):
        try:
            return f"{distribution} {version(distribution)}"
        except PackageNotFoundError:
            continue
    return None
