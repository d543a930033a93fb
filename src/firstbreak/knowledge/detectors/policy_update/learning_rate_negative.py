"""The learning rate is negative.

## What it looks for
A logged learning rate below 0.

## Why it matters
Each update goes up the loss instead of down: the critic unlearns the returns, and the policy what it was rewarded for.

## When it is a false alarm
A logger that writes the negated rate, or its logarithm, under this name.

## Fix
- Clip the schedule at 0, and compare the number of steps that it counts with the number of updates: a linear schedule that is
  stepped for each epoch or minibatch goes below 0 before the run is over.
- Go back to the last checkpoint before it.

## Smallest experiment
Resume from the last checkpoint before it with a constant rate: the losses must fall again.

## References
https://docs.pytorch.org/docs/stable/generated/torch.optim.lr_scheduler.LambdaLR.html
"""

from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(lr: Series, config: Config) -> Finding | None:
    return proved(
        lr.finite,
        config,
        "the learning rate is negative ({value}): clip its schedule at 0, each update makes the loss larger",
        below=0.0,
    )
