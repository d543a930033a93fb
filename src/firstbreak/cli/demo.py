"""firstbreak demo"""

from __future__ import annotations

import click


@click.command("demo")
@click.option("--format", "format_", type=click.Choice(("terminal", "json", "html", "markdown")), default="terminal")
def command(format_: str) -> None:
    """Diagnose a real run that ships with firstbreak: TRL's GRPO on a small model, with a fault planted half-way."""
    from firstbreak.cli.diagnose import report
    from firstbreak.demo import RUN
    from firstbreak.engine.diagnose import diagnose
    from firstbreak.engine.read import read

    report([diagnose(read(RUN))], format_)
