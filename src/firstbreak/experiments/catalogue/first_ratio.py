"""The first ratio of an update is 1

## What is done
One minibatch and one epoch a batch, synchronous: each update is the first on its data.

## What it tells
Before the first step on a batch the policy is the one that made it, so the ratio is exactly 1 and nothing is clipped.
Where it is not, stored and computed log-probabilities do not belong together: another sampler, another temperature,
weights that were not delivered, old data.

## When it misleads
Dropout, and mixtures of experts without deterministic routing.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, is_off

OVERRIDES = {"minibatches?": 1, "epochs_per_batch?": 1, "max_staleness?": 0, "use_decoupled_loss?": False}
QUESTIONS = (
    Question(
        asks="is the ratio of the first update on a batch off 1?",
        answer=is_off({"policy_ratio_mean": 1.0, "policy_ratio_max": 1.0, "policy_clip_fraction": 0.0}, tolerance=0.02),
        yes={
            "engines-disagree": 0.95,
            "sampling-differs-from-scoring": 0.95,
            "sampler-differs-from-policy": 0.85,
            "weights-not-delivered": 0.9,
        },
        otherwise=0.03,
    ),
)
