"""The micro-lab: GRPO, PPO, DQN and DPO in NumPy on small exact tasks, tens of milliseconds a run, with faults at the mechanism.

grpo.py ppo.py         one file an algorithm: settings as they are drawn, the loop, the loss with its exact gradient,
dqn.py dpo.py          and the names that a public trainer logs
sequences.py worlds.py tasks: short answers to prompts, and small decision processes, whose true score is exact
optimizer.py logs.py   Adam; the files that TRL, Stable-Baselines3 and CleanRL write
faults.py              the faults with their links, accepted links and severities
population.py          draws a run from a seed, makes it, and labels it
"""

from firstbreak_lab.micro.population import MicroLabel, build, make, runs

__all__ = ["MicroLabel", "build", "make", "runs"]
