"""firstbreak check critic ROLLOUTS"""

from typing import Any

import click

from firstbreak.cli import _options
from firstbreak.cli.check import reported


@click.command("critic")
@click.argument("rollouts")
@click.option("--critic", metavar="MODULE:FACTORY", help="A torch module: (observations) -> values.")
@click.option("--gamma", type=click.FloatRange(0, 1), help="The discount, if the targets of the trainer are not given.")
@_options.count("--steps", 4000, help="Steps to collect from an off-policy model.", least=200)
@reported("critic")
def command(**options: Any) -> dict[str, Any]:
    """Train the value function alone on fixed rollouts, and check the targets where episodes end.

    ROLLOUTS is an .npz file with observations, rewards, terminated (and truncated, values, returns), each (steps, envs,
    ...), or module:factory of a Stable-Baselines3 model with an environment, which runs in this process.
    """
    return options
