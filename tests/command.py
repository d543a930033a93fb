"""Commands, in a process of their own and in this one."""

import sys

import click
from click.testing import CliRunner

FIRSTBREAK = [sys.executable, "-c", "from firstbreak.cli import main; main()"]


def printed(command: click.Command, *arguments: object, code: int = 0) -> str:
    """What a command prints, which ends with this exit code."""
    result = CliRunner().invoke(command, [str(argument) for argument in arguments])
    assert result.exit_code == code, f"{result.output}{result.exception}"
    return result.stdout
