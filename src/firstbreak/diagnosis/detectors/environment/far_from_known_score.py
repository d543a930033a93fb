"""The score ends far below what this environment is known to allow.

## What it looks for
The environment's name, if the environment is a usual one, and where the last scores lie between random actions (0) and the
score that counts as solved (1). A finding is less than `min_progress` of the way, after as many steps as a healthy run needs.

## Why it matters
On a well-known task the reachable score is known. A run that ends near random actions after enough steps did not meet a
hard problem: something between the environment and the policy is broken, or the policy learns nothing.

## When it is a false alarm
Short runs, and variants of the environment under the same name (another reward, another time limit, rewards of a game that
are clipped to their sign before the return is logged).

## Fix
- Run the same script with the library's tuned settings for this environment.
- Check what the policy sees and does: print ten observations and actions beside those of the environment.

## Smallest experiment
`firstbreak check env NAME` compares random actions with a simple rule through your own wrappers.

## References
https://gymnasium.farama.org/api/registry/
https://github.com/DLR-RM/rl-baselines3-zoo
https://doi.org/10.1038/nature14236
https://arxiv.org/abs/2004.07219
"""

from __future__ import annotations

import re
from typing import Annotated

import numpy as np

from firstbreak.diagnosis.checks import Threshold
from firstbreak.diagnosis.families import Policy, only
from firstbreak.model import Confidence, Config, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number, percent

FAMILIES = only(Policy.CONTROL, why="the tasks of a language model have no known score")

#: environment without its version -> mean return of random actions (30 episodes), `reward_threshold` of Gymnasium's registry
#: (Pendulum has none: what tuned runs reach), environment steps after which tuned runs score well above random actions
KNOWN = {
    "CartPole": (24.5, 475.0, 40_000),
    "Acrobot": (-491.0, -100.0, 100_000),
    "MountainCar": (-200.0, -110.0, 120_000),
    "MountainCarContinuous": (-33.0, 90.0, 50_000),
    "Pendulum": (-1239.0, -150.0, 5_000),
    "LunarLander": (-220.0, 200.0, 500_000),
    "LunarLanderContinuous": (-220.0, 200.0, 300_000),
    "BipedalWalker": (-106.0, 300.0, 2_000_000),
    # neither is registered with a threshold: what the weakest tuned method of rl-zoo reached, after as many steps as it had;
    # random play of games from Mnih et al. (2015), random actions of robots from D4RL
    "BeamRider": (363.9, 2470.0, 10_000_000),
    "Breakout": (1.7, 313.0, 10_000_000),
    "MsPacman": (307.3, 1590.0, 10_000_000),
    "Pong": (-20.7, 17.9, 10_000_000),
    "Qbert": (163.9, 4000.0, 10_000_000),
    "RoadRunner": (11.5, 28_400.0, 10_000_000),
    "Seaquest": (68.4, 1675.0, 10_000_000),
    "SpaceInvaders": (148.0, 631.0, 10_000_000),
    "HalfCheetah": (-280.0, 1750.0, 1_000_000),
    "Hopper": (-20.0, 715.0, 1_000_000),
    "Walker2d": (1.6, 710.0, 1_000_000),
}
#: `ALE/Pong-v5`, `PongNoFrameskip-v4` and `Pong` are one game
_NAME = re.compile(r"(?:ALE/)?(\w+?)(?:NoFrameskip|Deterministic)?(?:-v\d+)?")


def detect(
    config: Config,
    score: Series,
    progress_env_steps: Series | None = None,
    *,
    min_progress: Annotated[
        float,
        Threshold(
            unit="share",
            reason="of the way from random actions to the score that counts as solved; a run with less than half of this is "
            "reported with high confidence",
            source="convention",
        ),
    ] = 0.3,
    last_share: Annotated[
        float, Threshold(unit="share", reason="the last fifth of the scores is the end of the run", source="convention")
    ] = 0.2,
    min_points: Annotated[
        int,
        Threshold(unit="points", reason="with fewer scores the end of the run is mostly noise", source="convention"),
    ] = 5,
) -> Finding | NotApplicable | NotMeasured | None:
    name = _NAME.fullmatch(str(config.get("env_id") or ""))
    known = KNOWN.get(name[1]) if name else None
    if known is None:
        return NotMeasured("the environment is not recorded, or not one whose score is known")
    random, solved, enough = known
    points = score.finite
    steps = max(float(s.finite.steps[-1]) for s in (score, progress_env_steps) if s is not None and len(s.finite))
    if len(points) < min_points or steps < enough:
        return NotMeasured(
            f"even a healthy run may need {number(enough)} environment steps to score more than random actions"
        )
    ended = float(np.mean(points.tail(last_share).values))
    if ended < 2 * random - solved:
        return NotMeasured(
            f"{score.name} is {number(ended)}, far below random actions: the score has another scale here"
        )
    way = (ended - random) / (solved - random)
    if way >= min_progress:
        return None
    return Finding(
        message=(
            f"{score.name} ends at {number(ended)}: {percent(max(way, 0.0))} of the way from random actions "
            f"({number(random)}) to the score that counts as solved ({number(solved)}); check what the policy sees and "
            "does with `firstbreak check env`"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if way < min_progress / 2 else Confidence.MEDIUM,
        metric=score.name,
        evidence=(Evidence(text="score", series=score, level=solved),),
        facts={"way": way},
    )
