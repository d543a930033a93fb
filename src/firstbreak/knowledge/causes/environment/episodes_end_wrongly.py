"""Rollouts end at the wrong moment

## What happens
The termination condition holds at the reset or one step later, or never. All trajectories are then alike, and the return
says nothing about the policy.

## When it is healthy
Tasks whose episodes have a fixed length by nature; a task that is solved faster and faster.

## Fix
- control: Step the environment by hand, and print which condition ends the episode.
- control: Separate termination from truncation: only after a termination is the value 0.
- text: Read ten completions to their end, and check what ends each of them: the end-of-sequence token, a limit, or a tool.

## Smallest experiment
control: Run 20 episodes with random actions and 20 with a scripted expert. If their lengths are equal, the condition is wrong.

text: Score ten right answers as complete trajectories. If they end where wrong answers end, the condition is wrong.

## References
https://arxiv.org/abs/1712.00378
"""

PRIOR = 0.4
FINDINGS = {
    "episode-length-degenerate": 0.9,
    "reward-flat": 0.5,
    "score-lost": 0.2,
}
EXPERIMENT = "toy-reward"
