"""The completions are sampled by the model that is trained."""

from collections.abc import Mapping

from firstbreak.live.recorder.measuring import Reading


def measure(policy_passes: float) -> Mapping[str, Reading]:
    """`policy_passes`: forward passes of the trained model while the completions were sampled in this process."""
    said = "no forward pass of the trained model while the completions were sampled"
    return {"sampled_elsewhere": (1.0, said) if policy_passes == 0 else 0.0}
