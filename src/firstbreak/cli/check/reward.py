"""firstbreak check reward FUNCTION [SAMPLES]"""

from typing import Any

import click

from firstbreak.cli import _options
from firstbreak.cli.check import reported


@click.command("reward")
@click.argument("function")
@click.argument("samples", required=False)
@click.option("--pairs", metavar="FILE", help="Labelled preference pairs, for a reward model.")
@_options.count("--group-size", 8, help="Completions for each prompt in the run.", least=2)
@click.option(
    "--column", "columns", multiple=True, metavar="ROLE=NAME", help="Role of a column: prompt, completion, human, ..."
)
@reported("reward")
def command(columns: tuple[str, ...], **options: Any) -> dict[str, Any]:
    """Check a reward function or reward model before training.

    FUNCTION is module:function (file.py:function) with TRL's signature, verl's, or (prompt, completion). SAMPLES is a
    trainer's dump of completions, JSON lines or CSV. The function runs in this process.
    """
    return options | {"column": dict(_role(column) for column in columns)}


def _role(text: str) -> tuple[str, str]:
    role, equals, name = text.partition("=")
    if not equals:
        raise click.BadParameter(f"{text!r} is not of the form ROLE=NAME", param_hint="--column")
    return role, name
