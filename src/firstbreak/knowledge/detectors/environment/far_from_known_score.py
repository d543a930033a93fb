"""The score ends far below what this environment is known to allow.

Looks for: The environment's name, if the environment is a usual one, and where the last scores lie between random
actions (0) and the score that counts as solved (1). A finding is less than `min_progress` of the way, after as many
steps as a healthy run needs.
Why: On a well-known task the reachable score is known. A run that ends near random actions after enough steps did not
meet a hard problem: something between the environment and the policy is broken, or the policy learns nothing.
False alarm: Short runs, and variants of the environment under the same name (another reward, another time limit,
rewards of a game that are clipped to their sign before the return is logged).
Fix:
- Run the same script with the library's tuned settings for this environment.
- Check what the policy sees and does: print ten observations and actions beside those of the environment.
Experiment: `firstbreak check env NAME` compares random actions with a simple rule through your own wrappers.
References: https://gymnasium.farama.org/api/registry/ https://github.com/DLR-RM/rl-baselines3-zoo
https://doi.org/10.1038/nature14236 https://arxiv.org/abs/2004.07219
"""

import numpy as np

from firstbreak.engine import environments, facts
from firstbreak.engine.checks import at, seen_as, warning
from firstbreak.engine.families import Policy, only
from firstbreak.model import Confidence, Config, Evidence, Finding, NotApplicable, NotMeasured, Role, Series
from firstbreak.words import number, percent

ROLES = (Role.RELATION,)
FAMILIES = only(Policy.CONTROL, why="the tasks of a language model have no known score")


def detect(
    config: Config,
    score: Series,
    progress_env_steps: Series | None = None,
    *,
    min_progress: float = at(0.3, "share", "of the way to a solved task; half of it is surely too little"),
    last_share: float = at(0.2, "share", "the last fifth of the scores is the end of the run"),
    scale_distance: float = at(0.1, "share", "of the same way: a score that never came so near, ..."),
    scale_spread: float = at(0.005, "share", "... and moved by less than this, is no return of this task"),
    min_points: int = at(5, "points", "with fewer scores the end of the run is mostly noise"),
) -> Finding | NotApplicable | NotMeasured | None:
    task = environments.known(config)
    if task is None:
        return NotMeasured("the environment is not recorded, or not one whose score is known")
    if not score.name.startswith(("reward", "eval.reward")):
        return NotMeasured(f"{score.name} is a share of episodes, and what is known of this environment is its return")
    random, solved, enough = task.random, task.solved, task.enough
    points = score.finite
    steps = max(float(s.finite.steps[-1]) for s in (score, progress_env_steps) if s is not None and len(s.finite))
    if len(points) < min_points or steps < enough:
        return NotMeasured(
            f"even a healthy run may need {number(enough)} environment steps to score more than random actions"
        )
    ended, whole = float(np.mean(points.tail(last_share).values)), solved - random
    way, reached = (ended - random) / whole, float(np.quantile(points.values, 1 - last_share))
    if way >= min_progress or reached - random >= min_progress * whole:  # what was reached and lost is another finding
        return None
    nearest = float(np.min(np.abs(points.values - random)))
    if ended < random - whole or (nearest > scale_distance * whole and np.ptp(points.values) < scale_spread * whole):
        return NotMeasured(
            facts.tell(
                "{score} is {ended}, far from the score of random actions: the score has another scale here",
                score=score.name,
                ended=facts.mean(points.tail(last_share)),
            )
        )
    return warning(
        "{score} ends at {ended}: {way} of the way from random actions ({random}) to the score that counts as solved "
        "({solved}); check what the policy sees and does with `firstbreak check env`",
        seen_as(score.name, drawn=(Evidence(text="score", series=score, level=solved),)),
        score=score.name,
        ended=facts.mean(points.tail(last_share)),
        way=percent(max(way, 0.0)),
        random=number(random),
        solved=number(solved),
        confidence=Confidence.HIGH if way < min_progress / 2 else Confidence.MEDIUM,
        numbers={"way": way},
    )
