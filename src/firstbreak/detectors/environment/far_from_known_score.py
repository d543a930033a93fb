"""The score ends far below what this environment is known to allow.

## What it looks for
The environment's name, if it is a usual one, and where the last scores lie between random actions (0) and the score that
counts as solved (1): below `share` of the way, after as many steps as a sound run needs.

## Why it matters
On a well-known task the end of the scale is known. A run that trained through and stands near random actions did not meet
a hard problem: something between the environment and the policy is broken, or nothing is learned from it.

## When it is a false alarm
Short runs, and variants of the environment under the same name (another reward, another time limit, a game's rewards clipped
to their sign before the return is logged).

## Fix
- Run the same script with the library's tuned settings for this environment.
- Check what the policy sees and does: print ten observations and actions next to the environment's own.

## Smallest experiment
`firstbreak check env NAME`: random actions against a simple rule through your own wrappers.

## References
https://gymnasium.farama.org/api/registry/
https://github.com/DLR-RM/rl-baselines3-zoo
https://doi.org/10.1038/nature14236
https://arxiv.org/abs/2004.07219
"""

from __future__ import annotations

import re

import numpy as np

from firstbreak.model import Confidence, Config, Evidence, Finding, NotApplicable, NotMeasured, Series, Severity
from firstbreak.words import number, percent

#: environment without its version -> mean return of random actions (30 episodes), `reward_threshold` of Gymnasium's registry
#: (Pendulum has none: what tuned runs reach), environment steps after which tuned runs stand well above random actions
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
    writes_text: bool | None = None,
    *,
    share: float = 0.3,
    last: float = 0.2,
    min_points: int = 5,
) -> Finding | NotApplicable | NotMeasured | None:
    if writes_text:
        return NotApplicable("the tasks of a language model have no known score")
    name = _NAME.fullmatch(str(config.get("env_id") or ""))
    known = KNOWN.get(name[1]) if name else None
    if known is None:
        return NotMeasured("the environment is not recorded, or not one whose score is known")
    random, solved, enough = known
    points = score.finite
    steps = max(float(s.finite.steps[-1]) for s in (score, progress_env_steps) if s is not None and len(s.finite))
    if len(points) < min_points or steps < enough:
        return NotMeasured(f"a sound run may need {number(enough)} environment steps to leave random actions behind")
    ended = float(np.mean(points.tail(last).values))
    if ended < 2 * random - solved:
        return NotMeasured(f"{score.name} is {number(ended)}, below random actions: it is counted in another way")
    way = (ended - random) / (solved - random)
    if way >= share:
        return None
    return Finding(
        message=(
            f"{score.name} ends at {number(ended)}: {percent(max(way, 0.0))} of the way from random actions "
            f"({number(random)}) to what counts as solved ({number(solved)}); check what the policy sees and does "
            "with `firstbreak check env`"
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH if way < share / 2 else Confidence.MEDIUM,
        metric=score.name,
        evidence=(Evidence(text="score", series=score, level=solved),),
        facts={"way": way},
    )
