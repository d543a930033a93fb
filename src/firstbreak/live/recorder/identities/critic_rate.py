"""The critic's learning rate in force comes near the configured one."""

from collections.abc import Mapping

from firstbreak.live.recorder.measuring import Reading


def measure(critic_rate: float, configured_critic_rate: float) -> Mapping[str, Reading]:
    """The rate as a share of the configured one."""
    return {"critic_rate_reached": critic_rate / configured_critic_rate} if configured_critic_rate > 0 else {}
