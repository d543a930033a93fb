"""What one number tells: rates of learning, the trainable share, the model that samples, and a reference of its own."""

from collections.abc import Mapping

from firstbreak.live.recorder.measuring import Reading

FEW = 0.02  #: of the weights


def measure(
    rate: float = 0.0,
    configured_rate: float | None = None,
    critic_rate: float = 0.0,
    configured_critic_rate: float = 0.0,
    trainable: float | None = None,
    policy_passes: float | None = None,
    shared_with_reference: float | None = None,
    shared_name: str = "",
) -> Mapping[str, Reading]:
    """`trainable`: share of the weights whose `requires_grad` is set, where no matrix is among them; `policy_passes`: of the
    trained model while completions were sampled in this process; `shared_with_reference`: share of the policy's tensors."""
    rates = {"rate_reached": (rate, configured_rate), "critic_rate_reached": (critic_rate, configured_critic_rate)}
    found: dict[str, Reading] = {name: now / meant for name, (now, meant) in rates.items() if meant}
    if configured_rate == rate == 0:
        found["rate_reached"] = 0.0
    if trainable is not None:
        said = f"{trainable:.2%} of the weights are trainable, no matrix among them, and the model has no adapter"
        found["trainable"] = (trainable, said) if trainable < FEW else trainable
    if policy_passes is not None:
        said = "no forward pass of the trained model while the completions were sampled"
        found["sampled_elsewhere"] = 0.0 if policy_passes else (1.0, said)
    if shared_with_reference is not None:
        said = f"{shared_name} of the policy and of the reference are one tensor"
        found["reference_shared"] = (shared_with_reference, said) if shared_with_reference else 0.0
    return found
