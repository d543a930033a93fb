"""Opening an environment by its name, and finding out which interface it has."""

import inspect
import re
from collections.abc import Callable
from functools import partial
from typing import Any

from firstbreak.preflight import target
from firstbreak.preflight.deadline import deadline
from firstbreak.preflight.env import sb3
from firstbreak.preflight.env.worlds import SECONDS, AecView, DmEnvView, ParallelView, RowView, World
from firstbreak.readers import Unreadable


def open_world(name: str, agent: str | None = None) -> World:
    """The environment that `name` means: a Gymnasium id, or `module:attribute` of a factory, class or environment.

    Raises `Unreadable` where there is none of that name, or its interface is none that is known; what the factory
    itself raises is raised as it is.
    """
    factory = partial(_registered, name) if _is_id(name) else _factory(name)
    from gymnasium.vector import VectorEnv

    made: list[Any] = []

    def make(**arguments: Any) -> Any:
        made.append(factory(**arguments))
        return made[-1]

    first = make()
    world = partial(World, name=name, fresh=make() is not first, made=made)
    if isinstance(first, VectorEnv):
        return world(interface="Gymnasium vector", make=lambda: RowView(make()), make_vector=make)
    if sb3.is_vec_env(first):
        return world(interface=sb3.name(first), make=lambda: sb3.VecEnvView(make()), make_vector=make)
    if hasattr(first, "possible_agents") or hasattr(first, "agents"):
        agents = tuple(map(str, getattr(first, "possible_agents", None) or first.agents))
        wanted = agent or agents[0]
        if wanted not in agents:
            raise Unreadable(name, f"has no agent {wanted!r}", f"its agents are {', '.join(agents)}")
        view = AecView if hasattr(first, "agent_iter") else ParallelView
        return world(interface="PettingZoo", make=lambda: view(make(), wanted), agents=agents)
    if hasattr(first, "action_spec"):
        takes_seed = "seed" in _parameters(factory)
        return world(
            interface="dm_env",
            make=lambda: DmEnvView(make, takes_seed),
            unseedable="" if takes_seed else "dm_env has no seed in its interface: let the factory take `seed`",
        )
    if not (hasattr(first, "reset") and hasattr(first, "step")):
        raise Unreadable(name, f"a {type(first).__name__} is no environment", "it needs reset and step")
    return world(interface="Gymnasium", make=make, unseedable=_refuses_seed(first))


def _is_id(name: str) -> bool:
    """Whether Gymnasium knows it; an id may hold a colon too (`package:Name-v0`)."""
    try:
        import gymnasium
    except ModuleNotFoundError:
        raise Unreadable(name, "Gymnasium is not installed", "pip install gymnasium") from None
    if ":" in name and not re.search(r"-v\d+$", name):
        return False
    try:
        gymnasium.spec(name)
    except ModuleNotFoundError as error:
        raise Unreadable(name, f"{error}", "install the package that registers it") from error
    except gymnasium.error.Error as error:
        raise Unreadable(name, f"Gymnasium does not know it: {error}", "give its id, or module:factory") from error
    return True


def _registered(name: str) -> Any:
    import gymnasium

    return gymnasium.make(name, disable_env_checker=True)  # its checker raises where this one would report


def _factory(name: str) -> Callable[..., Any]:
    loaded = target.load(name)
    if isinstance(loaded, str):
        return partial(_registered, loaded)
    if not callable(loaded):
        return lambda: loaded
    return loaded  # type: ignore[no-any-return]


def _parameters(call: Callable[..., Any]) -> tuple[str, ...]:
    try:
        return tuple(inspect.signature(call).parameters)
    except (TypeError, ValueError):  # built in C: it does not tell
        return ()


def _refuses_seed(env: Any) -> str:
    """Why `reset(seed=...)` is refused, where it is. Wrappers take a seed and hand it on, so only the call can tell."""
    try:
        with deadline(SECONDS):
            env.reset(seed=0)
    except TypeError as error:
        if "seed" in str(error):
            return f"reset() takes no seed ({error})"
    except Exception:
        return ""  # it fails for another reason, which the contract's probe reports
    return ""
