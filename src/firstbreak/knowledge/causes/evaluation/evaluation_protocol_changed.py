"""The evaluation was changed during the run

## What happens
From some step on, the temperature, the length limit, the prompts or the episode limit of the evaluation differ. The curve
consists of two curves that cannot be compared, and the jump between them is neither progress nor a loss.

## When it is healthy
The training reward jumps at the same step.

## Fix
- Fix the protocol, and evaluate old checkpoints again with the new one.
- text: Log the protocol beside every score: {eval_temperature}, {max_new_tokens}, template, prompts.
- control, actor_critic, value_based: Log the protocol beside every score: environment version, wrappers, time limit, seeds,
  deterministic or not.

## Smallest experiment
Evaluate the checkpoint from before the jump with today's protocol. If its score jumps as well, the protocol changed.

## References
https://arxiv.org/abs/1709.06009
"""

from firstbreak.knowledge.causes._evidence import evaluated

PRIOR = 0.6
FINDINGS = {
    "evaluation-protocol-shift": 0.85,
    "reward-up-evaluation-down": 0.4,
    "score-lost": 0.4,
}
EXPERIMENT = "locked-evaluation"
applies = evaluated
