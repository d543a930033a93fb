"""The environment changed during the run

## What happens
Another version of a simulator, a tool or an interface, or another stage of the data: from one step to the next the same
behaviour gets another reward, while the updates before that step were as usual.

## When it is healthy
A curriculum that becomes harder on purpose.

## Fix
- control: Compare the environment's version, wrappers and settings before and after that step.
- text: Compare the data before and after that step: source, order and template.
- text, actor_critic, group_relative: Compare the versions of tools, verifier and reward model before and after that step.
- Evaluate a checkpoint from before that step with today's settings.

## Smallest experiment
control: Evaluate the checkpoint from before that step twice, in the old and in the new environment.

text: Evaluate the checkpoint from before that step twice, with the old and with the new data and tools.

## References
https://arxiv.org/abs/1709.06560
"""

PRIOR = 0.4
FINDINGS = {
    "action-effect-moved": 0.7,
    "observations-off": 0.1,
    "score-drops-at-once": 0.8,
    "score-lost": 0.75,
    "value-loss-growing": 0.2,
    "entropy-stays-high": 0.2,
    "evaluation-protocol-shift": 0.15,
    "far-from-known-score": 0.4,
}
EXPERIMENT = "zero-rate"
