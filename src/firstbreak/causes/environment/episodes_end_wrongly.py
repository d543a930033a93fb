"""Episodes end at the wrong moment

## What happens
The termination condition is met at reset or almost at once, or never. Every trajectory is then of one kind, and the
return says nothing about the policy.

## When it is healthy
Tasks whose episodes have a fixed length by nature; a task that is solved faster and faster.

## Fix
- Step the environment by hand, and print which condition ends the episode.
- Tell termination from truncation: only the first has value 0 after it.

## Smallest experiment
Run 20 episodes of random actions and 20 of a scripted expert: if their lengths are equal, the condition is wrong.

## References
https://arxiv.org/abs/1712.00378
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 0.4
FINDINGS = {
    "episode-length-degenerate": 0.9,
    "reward-flat": 0.5,
    "score-lost": 0.2,
}
EXPERIMENT = Experiment(
    id="toy-reward",
    overrides={"reward": "toy"},
    length=0.1,
    measure="episode.length",
    if_cause="does the toy reward rise? yes",
    weight=0.5,
)
