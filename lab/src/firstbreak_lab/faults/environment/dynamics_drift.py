"""The environment changes during the run: another version of a simulator, a tool, an interface.

Chain: the same policy meets other transition dynamics -> returns and evaluation drop at one step -> value loss jumps ->
the metrics of the policy change only afterwards.
Healthy look-alike: a collapse of the policy, where KL or entropy change first.
Source: Humbatova et al., arXiv:2101.00135.
"""

from typing import Any

from firstbreak_lab import classic

CAUSE = "environment-changed"
ONSET = 0.5
SEVERITIES = {
    "classic/ppo-cartpole": (0.5, 0.2, -1.0),
    "classic/dqn-cartpole": (0.2, -1.0),
}  #: the force of an action is multiplied by this


FORCE = 10.0  #: of CartPole in gymnasium


def inject(settings: Any, severity: float, onset: int) -> None:
    """Multiply the force with which the cart is pushed by `severity`."""

    def weaken(world: Any) -> None:
        world.force_mag = severity * FORCE

    classic.tamper(settings, onset, lambda: {"world": weaken}, evaluation=True)
