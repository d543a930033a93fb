"""A compact trainer for a tiny language model: warm it up on demonstrations, then reinforce it on tasks that verify.

Read in this order: tasks, settings, model, rollout, objective, trainer.
"""

from firstbreak.lab.language.settings import Settings, asynchronous, from_step, grpo, ppo

__all__ = ["Settings", "asynchronous", "from_step", "grpo", "ppo"]
