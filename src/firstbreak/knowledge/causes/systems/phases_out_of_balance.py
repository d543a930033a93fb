"""Generation, training or waiting takes more than its share

## What happens
Rollouts are the bottleneck, workers wait, or the phases are unbalanced. The run is slow, data become old, and in the end
the score suffers.

## When it is healthy
For long completions it is normal that generation takes most of a step.

## Fix
- Measure the time of each phase of a step, and give more of the hardware to the slowest phase.
- text: Use a faster inference engine, and balance batch sizes and sequence lengths.
- text, group_relative, actor_critic: Lower {max_new_tokens}; overlap generation with training within the staleness limit.
- control: Use more environments side by side ({n_envs}), or faster ones.
- supervised: Load and prepare the data in the background.

## Smallest experiment
Measure the time of each phase of one step.

text: Repeat this with sequences of half the length: a phase that becomes twice as fast depends on length.

control: Repeat this with twice as many environments ({n_envs}): a rollout that becomes faster was the bottleneck.

## References
https://arxiv.org/abs/2505.24298
"""

PRIOR = 0.6
FINDINGS = {
    "rollout-share": 0.7,
    "long-tail-generation": 0.4,
    "throughput-drop": 0.6,
    "phase-imbalance": 0.6,
    "stale-rollouts": 0.2,
    "scoring-share": 0.2,
    "utilization-drop": 0.2,
    "gpu-idle": 0.3,
    "power-low": 0.3,
}
EXPERIMENT = "process-probe"
