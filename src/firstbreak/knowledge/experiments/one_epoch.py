"""Use each batch once

## What is done
One epoch for each batch of data. The control arm keeps the original number of epochs.

## What it tells
A policy that is trained several times on one batch moves away from the policy that made the batch. With one epoch it hardly
can, so the KL divergence between the two must fall. If it does not fall, it was not measured against the policy that made
the batch: the old log-probabilities are wrong, or nothing is updated. If the score holds now, the repeated use of the
batch had spoiled it.

## When it misleads
Methods that depend on reuse (a replay buffer) learn nothing from one epoch.

## References
https://arxiv.org/abs/1707.06347
"""

from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.engine.questions import outruns
from firstbreak.knowledge.experiments._asked import ask, better_score

FAMILIES = only(Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, UNKNOWN)
OVERRIDES = {"epochs_per_batch": 1}
CONTROL: dict[str, object] = {}
LENGTH = 0.15
QUESTIONS = (
    ask(
        "is the KL divergence from the policy that made the batch smaller than in the control arm?",
        outruns("kl_old", -1),
        "old-log-probabilities-wrong 0.03, optimiser-not-connected 0.1, healthy 0.95, otherwise 0.85",
    ),
    better_score("clip-missing 0.7, step-size-too-large 0.2, healthy 0.05, otherwise 0.08"),
)
