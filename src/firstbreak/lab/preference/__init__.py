"""A reward model learned from preferences, and a policy that is optimised against it; the true quality is held apart."""

from firstbreak.lab.preference.settings import Settings, grpo

__all__ = ["Settings", "grpo"]
