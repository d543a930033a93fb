"""firstbreak check env TARGET"""

from typing import Any

import click

from firstbreak.cli import _options
from firstbreak.cli.check import reported


@click.command("env")
@click.argument("env", metavar="TARGET")
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
@reported("env")
def command(**options: Any) -> dict[str, Any]:
    """Check an environment before training.

    TARGET is a Gymnasium id, or module:factory (file.py:factory) of a Gymnasium, vectorised Gymnasium,
    Stable-Baselines3 VecEnv, PettingZoo or dm_env environment. Its code runs in this process.
    """
    return options
