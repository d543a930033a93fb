"""firstbreak check eval PROTOCOL"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from firstbreak.cli.check import reported

if TYPE_CHECKING:
    from firstbreak.preflight import Report


@click.command("eval")
@click.argument("protocol")
@click.option("--rollout", metavar="PATH", help="A run or training configuration to compare with.")
@click.option("--expect", metavar="HASH", help="The hash of the locked protocol, or its beginning.")
@reported
def command(**options: Any) -> Report:
    """Check that the protocol of an evaluation is complete and locked, before the first evaluation.

    PROTOCOL is a YAML or JSON file of fields (`firstbreak eval fields`), what `firstbreak eval lock` wrote, or the
    evaluations.npz of Stable-Baselines3 (or its model.zip, beside that file).
    """
    from firstbreak.preflight import protocol

    return protocol.check(**options)
