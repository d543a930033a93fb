"""No episode ends.

Looks for: Transitions among which no episode ended, from the first window to the last, while the current episodes are
`min_age` steps old or older; or a count of episodes that stays 0 for so many steps, while no length of an episode of
fewer steps is logged; or files of the Monitor wrapper without an episode after so many steps of each environment.
Why: No return is ever complete: the score of an episode does not exist, and values are bootstrapped from bootstrapped
values only. A policy that is stuck in a useless state stays there.
False alarm: A continuing task without a time limit, on purpose; episodes that are longer than what has been trained so
far.
Fix:
- Step the environment by hand, and print terminated and truncated at a state that should end the episode.
- Check wrappers that take the flags off; add a time limit (gymnasium.wrappers.TimeLimit).
Experiment: `firstbreak check env` on the environment with all wrappers of the training.
References: https://gymnasium.farama.org/tutorials/gymnasium_basics/handling_time_limits/
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, warning
from firstbreak.engine.families import Policy, only
from firstbreak.model import Finding, NotMeasured, Role, Run, Series
from firstbreak.values import replace

ROLES = (Role.RELATION,)
FAMILIES = only(Policy.CONTROL, why="only for policies that act in an environment")


def detect(
    env_episodes_ended: Series | None = None,
    env_episode_age: Series | None = None,
    progress_episodes: Series | None = None,
    episode_length: Series | None = None,
    progress_env_steps: Series | None = None,
    run: Run | None = None,
    *,
    min_age: float = at(1500.0, "steps", "usual time limits are 1,000 steps or fewer"),
    min_points: int = at(4, "points", "with fewer windows no level is known"),
) -> Finding | NotMeasured | None:
    if (
        progress_episodes is not None and progress_episodes.axis == "env_steps"
    ):  # the steps are the age of the first one
        env_episodes_ended = progress_episodes
        env_episode_age = replace(progress_episodes, values=progress_episodes.steps)
    monitors = sum(file.endswith("monitor.csv") for file in run.files) if run is not None else 0
    if (
        run is not None
        and monitors
        and progress_env_steps is not None
        and not {"episode.length", "reward.mean"} & run.series.keys()
    ):
        env_episode_age = replace(progress_env_steps, values=progress_env_steps.values / monitors)
        env_episodes_ended = replace(progress_env_steps, values=np.zeros(len(progress_env_steps)))
    if env_episodes_ended is None or env_episode_age is None:
        return NotMeasured("neither episodes nor transitions are counted")
    ended, age = env_episodes_ended.finite, env_episode_age.finite
    if len(ended) < min_points or len(age) < min_points:
        return NotMeasured(f"{len(ended)} windows of transitions are too few (needs {min_points})")
    if float(np.max(ended.values)) > 0 or float(np.max(age.values)) < min_age:
        return None
    lengths = episode_length.finite.values if episode_length is not None else np.empty(0)
    if len(lengths) and lengths.max() < 0.5 * age.values.max():
        return NotMeasured("episodes have a length, so that they ended: the count is that of something else")
    return warning(
        "no episode ended in the whole run, and the current ones are {age} steps old: no return is ever complete; check what "
        "sets terminated and truncated, and add a time limit",
        seen_in(age, "steps since an episode began", level=min_age),
        age=facts.highest(age),
        numbers={"age": float(np.max(age.values))},
    )
