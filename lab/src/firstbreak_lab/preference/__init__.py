"""RLHF: a reward model trained on preference pairs, and a policy trained with this reward model."""

from firstbreak_lab.preference.settings import PreferenceSettings, grpo

__all__ = ["PreferenceSettings", "grpo"]
