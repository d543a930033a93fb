"""The same tasks trained with `trl.GRPOTrainer`, on a tiny model."""

from firstbreak_lab.trl.trainer import TrlSettings, grpo

__all__ = ["TrlSettings", "grpo"]
