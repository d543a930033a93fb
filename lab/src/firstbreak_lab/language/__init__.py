"""A small trainer for a tiny language model: supervised warm-up on demonstrations, then RL on tasks with checked answers.

Read in this order: tasks, settings, model, rollout, objective, trainer.
"""

from firstbreak_lab.language.settings import LanguageSettings, asynchronous, from_step, grpo, ppo

__all__ = ["LanguageSettings", "asynchronous", "from_step", "grpo", "ppo"]
