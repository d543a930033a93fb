"""firstbreak check env TARGET"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from firstbreak.cli import _options
from firstbreak.cli.check import reported

if TYPE_CHECKING:
    from firstbreak.preflight import Report


@click.command("env")
@click.argument("target")
@click.option(
    "--expert",
    metavar="MODULE:FUNCTION",
    help="(observation) -> action; without an expert, the check searches for a simple rule.",
)
@click.option(
    "--policy",
    metavar="MODULE:FUNCTION",
    help="(observation) -> action of the policy to be trained, or a model with predict: are its actions in the space?",
)
@_options.count("--episodes", 100, help="Episodes with each policy.", least=10)
@_options.count("--steps", 20_000, help="Largest number of steps with each policy.", least=100)
@click.option("--agent", metavar="NAME", help="The agent of a PettingZoo environment.")
@reported
def command(
    target: str, expert: str | None, policy: str | None, episodes: int, steps: int, agent: str | None
) -> Report:
    """Check an environment before training.

    TARGET is a Gymnasium id, or module:factory (file.py:factory) of a Gymnasium, vectorised Gymnasium,
    Stable-Baselines3 VecEnv, PettingZoo or dm_env environment. Its code runs in this process.
    """
    from firstbreak.preflight import env

    return env.check(target, expert=expert, policy=policy, episodes=episodes, steps=steps, agent=agent)
