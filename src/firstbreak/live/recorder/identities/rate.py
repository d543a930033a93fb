"""The learning rate in force comes near the configured one."""

from collections.abc import Mapping

from firstbreak.live.recorder.measuring import Reading


def measure(rate: float, configured_rate: float) -> Mapping[str, Reading]:
    """The rate as a share of the configured one."""
    return {"rate_reached": rate / configured_rate} if configured_rate > 0 else {}
