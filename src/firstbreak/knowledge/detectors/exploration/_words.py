"""What the randomness of a policy is set by, in the words of its trainer."""

from firstbreak.engine.families import Method


def entropy_weight(method: Method | None) -> str:
    """What rewards entropy in this kind of training: a bonus in the loss, the coefficient (temperature) of SAC, or none."""
    return "entropy coefficient (of DQN: epsilon)" if method is Method.VALUE_BASED else "entropy bonus"
