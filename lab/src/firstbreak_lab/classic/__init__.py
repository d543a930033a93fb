"""Classic control with Stable-Baselines3: PPO, A2C, DQN and SAC, as users run them."""

from firstbreak_lab.classic.trainer import ClassicSettings, a2c, dqn, ppo, sac, schedule, tamper

__all__ = ["ClassicSettings", "a2c", "dqn", "ppo", "sac", "schedule", "tamper"]
