"""firstbreak demo: a real run that ships with firstbreak, diagnosed.

`RUN` holds what trl's GRPOTrainer left behind after 160 steps on a tiny language model that sorts digits. At step
`ONSET` somebody "improved" the reward with a bonus for thoroughness, which rewards length. The reward has never been
better, and the model no longer answers anything. `python -m firstbreak_lab.demo` trains the run again.
"""

from pathlib import Path

import click

from firstbreak.cli._output import whole

RUN = Path(__file__).parent / "run"
ONSET = 60


@click.command("demo")
@click.option("--format", "format_", type=click.Choice(("terminal", "json", "html", "markdown")), default="terminal")
@whole
def command(format_: str, full: bool) -> None:
    """Diagnose a real run that ships with firstbreak: TRL's GRPO on a small model, with a fault injected half-way."""
    from firstbreak.cli.diagnose import report
    from firstbreak.engine.diagnose import diagnose
    from firstbreak.readers.read import read

    report([diagnose(read(RUN))], format_, full=full)
