"""Sampled tokens are more probable than the policy's entropy says.

Looks for: For tokens drawn from the policy, the mean of -log p(token) - H is 0. The check reports where it is more than
`above` standard errors below 0 over the measured batches.
Why: Completions are drawn from a colder distribution than the one that the loss assumes.
False alarm: Top-p, top-k and penalties that are configured; the recorder leaves such runs out.
Fix:
- Sample with the temperature that the log-probabilities are computed with.
- Look for options of the generation that replace the trainer's.
Experiment: Compare the mean log-probability of the samples with minus the entropy, in one batch.
References: https://github.com/huggingface/trl
"""

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import summed
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)


def detect(
    proof_sampling_z: Series,
    config: Config,
    proof_sampling_gap: Series | None = None,
    *,
    above: float = at(6.0, "standard errors", "Six standard errors are one in a billion."),
) -> Finding | None:
    return summed(proof_sampling_z, proof_sampling_gap, -above)
