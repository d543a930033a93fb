"""Rollouts by the newest weights only

## What is done
No version lag: every batch is made by the weights that it trains, with the plain loss and the engine's own log-
probabilities.

## What it tells
A policy that had drifted far and stays near its reference now was driven by old data, or by the way in which its age
was corrected. A score that is a little better says less: fresh data help healthy runs as well.

## When it misleads
Also switches off whatever else runs beside the training: a machine that was overloaded recovers too.

## References
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
https://arxiv.org/abs/2505.24298
"""

from __future__ import annotations

from firstbreak.experiments.questions import Question, outruns

OVERRIDES = {"max_staleness": 0, "recompute_logprob?": False, "use_decoupled_loss?": False}
LENGTH = 0.3
QUESTIONS = (
    Question(
        asks="does the policy drift from its reference less than half as far with fresh data?",
        answer=outruns("kl_ref", -1, by=0.5),
        needs="kl_ref",
        yes={"rollouts-too-old": 0.85, "behaviour-weights-uncapped": 0.85, "healthy": 0.05},
        otherwise=0.08,
    ),
    Question(
        asks="is the score better than the original's with fresh data?",
        answer=outruns("score"),
        needs="score",
        yes={"rollouts-too-old": 0.85, "behaviour-weights-uncapped": 0.7, "healthy": 0.4},
        otherwise=0.3,
    ),
)
