"""firstbreak check plan [PATH]"""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from firstbreak.cli.check import reported

if TYPE_CHECKING:
    from firstbreak.preflight import Report


@click.command("plan")
@click.argument("plan", metavar="[PATH]", default=".")
@click.option("--only", metavar="CHECK", multiple=True, help="Run this check only (may be given several times).")
@reported
def command(plan: str, only: tuple[str, ...]) -> Report:
    """Run every check that firstbreak.toml, or [tool.firstbreak.check] in pyproject.toml, asks for.

    PATH is the file or its folder. Each section is one check, its keys are the options of the command.
    """
    from firstbreak.preflight import plan as plans

    return plans.check(plan, only=only)
