"""The learning rate's schedule is shorter than the run

## What happens
The schedule counts minibatches, epochs or the steps of one process where it was given the updates of the run, or it belongs to
a shorter run that was resumed. The learning rate is at its end after a part of the run, and the policy stays as it is; or it goes
on below 0, and each update makes the losses larger.

## When it is healthy
A run that has solved its task by then.

## Fix
- Give the schedule of {learning_rate} the number of steps that it counts.
- Keep a lowest rate of a tenth, so that a wrong length does less harm.
- Resume from the last checkpoint with a constant rate.

## Smallest experiment
Resume from the last checkpoint with a constant learning rate: the policy must move again.

## References
https://huggingface.co/docs/transformers/main_classes/optimizer_schedules
"""

PRIOR = 0.3
FINDINGS = {
    "learning-rate-negative": 0.5,
    "learning-rate-gone": 0.95,
    "reward-flat": 0.3,
    "grad-norm-explosion": 0.1,
    "value-explosion": 0.1,
    "critic-worse-than-mean": 0.1,
    "value-loss-growing": 0.1,
}
EXPERIMENT = "higher-rate"
