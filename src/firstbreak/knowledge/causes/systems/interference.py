"""Another process takes the machine from time to time

## What happens
Step times jump at intervals that have nothing to do with training: a checkpoint upload, a merge, a backup, another user
on the same device. All phases of a step become slower together.

## When it is healthy
One slow step at each checkpoint or evaluation.

## Fix
- Find what runs at the period of the slow steps (`top`, the log of the scheduler, the log of the uploader).
- Move uploads and merges to another machine, or to the time between phases.

## Smallest experiment
Run 50 steps with checkpoints, uploads and evaluations switched off: if the slow steps stay, the job does not belong to
this run.

## References
https://arxiv.org/abs/2505.24298
"""

PRIOR = 0.4
FINDINGS = {
    "step-time-spikes": 0.8,
    "throughput-drop": 0.5,
    "slow-stretches": 0.3,
    "memory-peaks": 0.2,
    "utilization-drop": 0.2,
}
EXPERIMENT = "process-probe"
