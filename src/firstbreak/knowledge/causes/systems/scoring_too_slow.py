"""Computing the rewards takes too long

## What happens
The reward model, the judge or the sandbox cannot keep up with generation. Each step waits for the last score. The queue
grows, calls reach their timeout, and right answers without a score are graded as wrong.

## When it is healthy
Scoring that runs beside generation: its time then overlaps with that of the rollout.

## Fix
- Score in parallel: more workers, larger batches of the reward model, or more judges.
- Set a timeout, count the answers that were not scored, and leave them out of the loss.
- Cache the scores of equal answers, and skip the judge where the format is wrong.

## Smallest experiment
Score one saved batch with one worker and with four: if the time falls to a quarter, scoring needs workers. If it does not
fall, all of them wait for the same thing.

## References
https://arxiv.org/abs/2409.19256
"""

PRIOR = 0.3
FINDINGS = {
    "scoring-share": 0.9,
    "throughput-drop": 0.4,
}
EXPERIMENT = "process-probe"
