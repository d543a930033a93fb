"""The policy drifts and gains nothing

## What happens
The run has learned what the data can give. The weights still change, the KL divergence grows, and the score is flat or
falls.

## When it is healthy
A KL divergence that grows together with the score, or a KL divergence that stands still.

## Fix
- text: Raise {kl_coef}, or lower {learning_rate}, or decay {learning_rate} over the run.
- control: Lower {learning_rate}, or decay {learning_rate} over the run.
- Take the best checkpoint by evaluation.
- text: Add new prompts or tasks if you want more gain.
- control: Train in harder or more varied environments if you want more gain.

## Smallest experiment
text: Continue from the best checkpoint with {kl_coef} = 0.5, and for comparison as before, for a quarter of the run each: if
the evaluation holds only with the penalty, the drift was harmful.

control: Continue from the best checkpoint for a tenth of the run with {learning_rate} / 10: if the score holds, the drift
was harmful. If the score does not rise, the run has learned what it can.

## References
https://arxiv.org/abs/2210.10760
"""

from firstbreak.engine.common_settings import Side
from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.engine.refutations import no_update

FAMILIES = only(Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, UNKNOWN)  # methods with a reference or old policy
FINDINGS = {
    "kl-reward": 0.9,
    "far-from-reference": 0.5,
    "score-lost": 0.4,
    "reward-flat": 0.3,
}
SETTINGS = {"kl_coef": Side.LOW, "learning_rate": Side.HIGH}
REFUTED_BY = (no_update,)
EXPERIMENT = ("stronger-kl", "rate-tenth")
