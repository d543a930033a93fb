"""The same tasks under a trainer that is not ours: `trl.GRPOTrainer` on a tiny model made on the spot."""

from firstbreak.lab.trl.trainer import Settings, grpo

__all__ = ["Settings", "grpo"]
