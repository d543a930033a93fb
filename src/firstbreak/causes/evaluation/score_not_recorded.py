"""Nothing was recorded that says whether the policy improves

## What happens
Only losses or speeds are in the log. In reinforcement learning the loss is not a measure of progress, so no one can
tell a good run from a bad one.

## When it is healthy
A log that is one of several: the scores may be in another file or service.

## Fix
- Log the mean training reward and, apart from it, an evaluation on held-out prompts or in a separate environment.
- Point firstbreak at the folder that holds the metrics, not at the console output alone.

## Smallest experiment
Evaluate the first and the last checkpoint on 100 held-out prompts or 20 episodes: two numbers are worth more than
this log.

## References
https://andyljones.com/posts/rl-debugging.html
"""

from __future__ import annotations

from firstbreak.model import Experiment

PRIOR = 1.5
FINDINGS = {
    "score-missing": 0.97,
}
EXPERIMENT = Experiment(
    id="locked-evaluation",
    overrides={"learning_rate": 0.0, "eval_interval": 1},
    length=0.1,
    measure="eval.reward",
    if_cause="does the score change its level although the weights do not? yes",
    weight=0.0,
)
