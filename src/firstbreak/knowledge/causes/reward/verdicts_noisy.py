"""The verifier makes random errors

## What happens
The verifier or judge is wrong at random. The signal shrinks by the share of errors, the advantages contain noise, and the
score stays below what the model can do.

## When it is healthy
Sampling noise of small batches.

## Fix
- Grade the same completions twice and count the differences.
- Use the majority of several grades; remove tests whose result changes from one call to the next.

## Smallest experiment
Grade 100 completions three times, and count those whose grades differ.

## References
https://arxiv.org/abs/2510.00915
"""

from firstbreak.engine.families import GRADED, Policy, only

PRIOR = 0.5
FAMILIES = only(Policy.TEXT, *GRADED)  # only policies that write text
FINDINGS = {
    "rewards-not-repeatable": 0.9,
    "equal-texts-paid-apart": 0.5,
    "right-answers-unpaid": 0.75,
    "wrong-answers-paid": 0.75,
    "score-below-start": 0.3,
    "score-lost": 0.4,
    "reward-flat": 0.3,
    "evaluation-noise": 0.1,
}
EXPERIMENT = "reward-probe"
