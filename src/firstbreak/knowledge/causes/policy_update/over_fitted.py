"""The model learns its examples by heart

## What happens
Supervised training passes over the same examples too often, or over too few of them. The training loss falls in a step
at the beginning of each pass, and the held-out loss turns and rises.

## When it is healthy
The held-out loss rises a little in the last pass, and generations still improve.

## Fix
- Go back to the checkpoint with the lowest held-out loss, and make fewer passes over the data ({total_epochs}).
- Add more, or more varied, data.
- Lower {learning_rate}; use a smaller adapter, dropout or {weight_decay}.

## Smallest experiment
Train again up to the step of the lowest held-out loss with {learning_rate} / 10: if the held-out loss no longer rises, the
model was fitted too far. Or train on half of the data: if the lowest held-out loss comes earlier, this is over-fitting.

## References
https://arxiv.org/abs/2203.02155
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import Method, only
from firstbreak.engine.refutations import no_update

FAMILIES = only(Method.SUPERVISED)  # only supervised training has a held-out loss for its score
FINDINGS = {
    "overfitting": 0.9,
    "score-lost": 0.5,
}
SETTINGS = {"learning_rate": Side.HIGH}
REFUTED_BY = (no_update,)
EXPERIMENT = "rate-tenth"
