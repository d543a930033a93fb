"""The reference is a model of its own, which no update changes."""

from collections.abc import Mapping

from firstbreak.live.recorder.measuring import Reading


def measure(shared_with_reference: float, shared_name: str = "") -> Mapping[str, Reading]:
    """The share of the policy's parameters whose memory is the reference's."""
    said = f"{shared_name} of the policy and of the reference are one tensor"
    return {"reference_shared": (shared_with_reference, said) if shared_with_reference else 0.0}
