"""The evaluation is too small to show what it should

## What happens
Each point is the mean of too few episodes or prompts, so the curve changes by chance. Checkpoints are then chosen by chance
as well.

## When it is healthy
A noisy curve with a trend that is much larger than the noise.

## Fix
- Evaluate on more samples: the noise falls with the square root of their number.
- text: Use the same prompts at every evaluation.
- control, actor_critic, value_based: Use the same seeds at every evaluation.
- Report a confidence interval with every score.

## Smallest experiment
Evaluate one checkpoint five times. Only a difference larger than the spread of the five scores is more than chance.

## References
https://arxiv.org/abs/2108.13264
"""

from firstbreak.knowledge.causes._evidence import evaluated

PRIOR = 0.7
FINDINGS = {
    "evaluation-noise": 0.85,
    "score-oscillates": 0.3,
}
EXPERIMENT = "locked-evaluation"
applies = evaluated
