"""Sampled tokens are improbable for the policy that drew them.

Looks for: For tokens drawn from the policy, the mean of -log p(token) - H is 0. The check reports where it is more than
`above` standard errors above 0 in the first batch, before any update; or where the first batch is 3.5 of them above 0
and the later ones add up to more than `above`.
Why: The tokens that are trained on are not those that the policy drew.
False alarm: Dropout that is active in the measured pass. Before the first update, weights cannot be old.
Fix:
- Train on the sampled tokens, not on text that is decoded and encoded again.
- Look for filters that replace tokens after the sampling, and for a temperature that the log-probabilities are not computed with.
- With prompts that are padded on the left, and a model that learns absolute positions (GPT-2), the trainer's own pass must
  get `position_ids`, as generation does: else the loss sees other probabilities than the sampler.
Experiment: Compare the mean log-probability of the samples with minus the entropy, in the first batch.
References: https://github.com/huggingface/trl
"""

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors._proof import proved, summed
from firstbreak.knowledge.detectors.freshness.samples_of_other_weights import FIRST
from firstbreak.model import Config, Finding, Role, Series

ROLES = (Role.PROOF,)
FOREIGN = "samples are {value} standard errors less probable than the policy's entropy says: compare sampled and trained tokens"


def detect(
    proof_sampling_z: Series,
    config: Config,
    proof_sampling_gap: Series | None = None,
    *,
    above: float = at(5.0, "standard errors", "Five standard errors are one in a million."),
) -> Finding | None:
    points = proof_sampling_z.finite
    if not len(points) or points.values[0] <= FIRST:
        return None
    first = points.head(0.0)
    return proved(first, config, FOREIGN, above=above) or summed(points, proof_sampling_gap, above)
