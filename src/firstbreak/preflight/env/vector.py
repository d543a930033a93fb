"""What only a vectorised environment can get wrong: batches, seeds of its environments, and automatic resets."""

from collections.abc import Callable
from typing import Any

import numpy as np

from firstbreak.model import Expected, NotMeasured
from firstbreak.preflight import Answer, critical, warning
from firstbreak.preflight.env.episodes import reset, same, step
from firstbreak.preflight.env.worlds import row

SEED = 11
STEPS = 2000  #: steps within which an episode must end (convention)


def batches(make: Callable[[], Any]) -> Answer:
    """Observations, rewards and flags hold one row for each copy."""
    env = make()
    observations, _ = reset(env, SEED)
    if not env.observation_space.contains(observations):
        return critical("the observations from reset are not in observation_space: environments are stacked wrongly")
    env.action_space.seed(SEED)
    _, rewards, terminated, truncated, _ = step(env, env.action_space.sample())
    for name, value in (("rewards", rewards), ("terminated", terminated), ("truncated", truncated)):
        if np.shape(value) != (env.num_envs,):
            return critical(
                f"{name} have shape {np.shape(value)} for {env.num_envs} environments: this shape broadcasts against the "
                f"batch, and every environment gets the rewards of others; return shape ({env.num_envs},)"
            )
        if name != "rewards" and np.asarray(value).dtype != np.bool_:
            return warning(f"{name} have type {np.asarray(value).dtype}, not bool: `~{name}` gives a different result")
    return f"{env.num_envs} environments, one row each"


def seeds(
    make: Callable[[], Any],
    begun: Callable[[Any, int], Any] = lambda env, seed: reset(env, seed)[0],
    why: str = "all got the same seed, and the batch has one episode many times; seed environment i with seed + i",
) -> Answer:
    """The environments do not all have the same episode, unless every seed gives the same start. `begun`: the first
    observations of an environment with a seed. `why`: what makes all of them the same, and what to do."""
    env = make()
    if env.num_envs < 2:
        return NotMeasured("there is only one environment")
    first, other = begun(env, SEED), begun(env, SEED + 1000)
    rows = [row(first, i) for i in range(env.num_envs)]
    if not all(same(r, rows[0]) for r in rows):
        return f"{env.num_envs} environments start differently"
    if same(first, other):
        return Expected("every seed gives the same start")
    return critical(f"all {env.num_envs} environments start in the same way, and other seeds start differently: {why}")


def autoreset(make: Callable[[], Any]) -> Answer:
    """After the end of an episode, the environment does what its autoreset mode declares."""
    from gymnasium.vector import AutoresetMode

    env = make()
    declared = env.metadata.get("autoreset_mode")
    if not isinstance(declared, AutoresetMode):
        return warning(
            f"metadata['autoreset_mode'] is {declared!r}: a trainer cannot know whether the observation after an end belongs "
            "to the old or to the new episode; declare AutoresetMode.NEXT_STEP, SAME_STEP or DISABLED"
        )
    if declared is AutoresetMode.DISABLED:
        return "the environments do not reset themselves: the trainer must do it"
    return _kept(env, declared is AutoresetMode.SAME_STEP)


def _kept(env: Any, same_step: bool) -> Answer:
    env.action_space.seed(SEED)
    reset(env, SEED)
    for _ in range(STEPS):
        _, _, terminated, truncated, infos = step(env, env.action_space.sample())
        ended = np.flatnonzero(np.asarray(terminated) | np.asarray(truncated))
        if len(ended):
            i = int(ended[0])
            return _final_observation(infos, i) if same_step else _idle_step(env, i)
    return NotMeasured(f"no episode ended within {STEPS} steps")


def _final_observation(infos: Any, i: int) -> Answer:
    final = infos.get("final_obs", infos.get("final_observation"))
    if final is None or final[i] is None:
        return critical(
            "environments are reset in the step that ends an episode, and info has no final_obs: the value of a truncated "
            "episode is bootstrapped from the first observation of the next one; return info['final_obs']"
        )
    return "reset in the same step, with the last observation in info['final_obs']"


def _idle_step(env: Any, i: int) -> Answer:
    _, rewards, terminated, truncated, _ = step(env, env.action_space.sample())
    if rewards[i] != 0 or terminated[i] or truncated[i]:
        return critical(
            f"NEXT_STEP is declared, so the step after an end only resets; its reward was {float(rewards[i]):g}, so the "
            "environment was reset earlier and this step is a real one: trainers that mask the step lose data, and assign its "
            "observation to the wrong episode; declare the mode that the environment follows"
        )
    return "reset in the step after the end, whose reward is 0: trainers must leave that step out"
