"""firstbreak check eval PROTOCOL"""

from typing import Any

import click

from firstbreak.cli.check import reported


@click.command("eval")
@click.argument("protocol")
@click.option("--rollout", metavar="PATH", help="A run or training configuration to compare with.")
@click.option("--expect", metavar="HASH", help="The hash of the locked protocol, or its beginning.")
@reported("protocol")
def command(**options: Any) -> dict[str, Any]:
    """Check that the protocol of an evaluation is complete and locked, before the first evaluation.

    PROTOCOL is a YAML or JSON file of fields (`firstbreak eval fields`), what `firstbreak eval lock` wrote, or the
    evaluations.npz of Stable-Baselines3 (or its model.zip, beside that file).
    """
    return options
