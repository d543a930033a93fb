"""What `--help` says of every command."""

import copy
from collections.abc import Iterator

import click

from firstbreak.cli import app


def page() -> str:
    """docs/reference/cli.md"""
    parts = [
        "# Command line",
        "Exit codes: 0 continue or watch, 1 stop or roll back (see `--fail-on`), 2 bad input or call.",
    ]
    context = app.make_context("firstbreak", [], resilient_parsing=True)
    for name in app.list_commands(context):
        command = app.get_command(context, name)
        assert command is not None
        parts += [part for help_ in _helps(command, f"firstbreak {name}", context) for part in help_]
    return "\n\n".join(parts)


def _helps(command: click.Command, path: str, parent: click.Context, depth: int = 2) -> Iterator[tuple[str, str]]:
    command = copy.copy(command)
    command._help_option = None  # click keeps the names that the first caller in this process had asked for
    context = click.Context(
        command, info_name=path.split()[-1], parent=parent, max_content_width=100, terminal_width=100
    )
    told = command.get_help(context).rstrip().replace("'firstbreak[", "'/path/to/firstbreak[")
    yield f"{'#' * depth} {path}", f"```text\n{told}\n```"
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            assert inner is not None
            if inner.hidden:  # an old name
                continue
            yield from _helps(inner, f"{path} {name}", context, 3)
