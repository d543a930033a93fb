"""Classic control under Stable-Baselines3: PPO, A2C, DQN and SAC as their users run them."""

from firstbreak.lab.classic.trainer import Settings, a2c, dqn, ppo, sac, schedule, tamper

__all__ = ["Settings", "a2c", "dqn", "ppo", "sac", "schedule", "tamper"]
