"""No score was recorded, so nobody can see whether the policy improves

## What happens
The log contains only losses or speeds. In reinforcement learning the loss does not measure progress, so a good run looks like
a bad one.

## When it is healthy
One log of several: the scores may be in another file or service.

## Fix
- Log the mean training reward, and an evaluation apart from training.
- text: Evaluate on held-out prompts.
- control, actor_critic, value_based: Evaluate in a separate environment.
- Give firstbreak the folder that contains the metrics, not only the console output.

## Smallest experiment
Evaluate the first and the last checkpoint once, with the same protocol. These two scores say more than this log.

text: 100 held-out prompts are enough.

control, actor_critic, value_based: 20 episodes are enough.

## References
https://andyljones.com/posts/rl-debugging.html
"""

from __future__ import annotations

PRIOR = 1.5
FINDINGS = {
    "score-missing": 0.97,
}
EXPERIMENT = "locked-evaluation"
