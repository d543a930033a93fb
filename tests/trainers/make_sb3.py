"""Make the Stable-Baselines3 runs of tests/data again: `python -m tests.trainers.make_sb3` (half a minute)."""

from pathlib import Path

from firstbreak_lab import classic
from firstbreak_lab.classic.trainer import train
from firstbreak_lab.faults.policy_update import learning_rate_too_high

DATA = Path(__file__).parent.parent / "data"
ONSET = 30 * 1024  # the 30th rollout of 8 environments x 128 steps


def main() -> None:
    """One healthy PPO run, and its twin whose learning rate is multiplied by 300 from `ONSET` on."""
    train(classic.ppo(), DATA / "sb3_ppo_healthy")
    broken = classic.ppo()
    learning_rate_too_high.inject(broken, 300.0, ONSET)
    train(broken, DATA / "sb3_ppo_learning_rate")


if __name__ == "__main__":
    main()
