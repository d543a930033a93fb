"""The command line. Each command is one module of this package, imported only when it is called."""

from __future__ import annotations

import difflib
import importlib
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import click

from firstbreak import __version__

#: command -> one line for `--help`; the module of that name holds a click command `command`
COMMANDS = {
    "diagnose": "Which link of the loop broke first, when, why, and what to do.",
    "inspect": "What was recognised: format, trainer, metrics, configuration, samples, gaps.",
    "watch": "The same for a run that is still going on: follow it, and say when the verdict changes.",
    "check": "Before the run: its environment, reward, critic, data, evaluation and memory.",
    "serve": "A local web page over the runs of a folder, live.",
    "mcp": "The same for agents, over the Model Context Protocol.",
    "replay": "The one update of an incident again, from the bundle that the guard has kept.",
    "experiment": "The smallest experiment that tells the likeliest causes apart, on your own trainer.",
    "audit": "What the policy has learned to do, from its samples: reward hacking, since when, and what pays.",
    "eval": "Evaluation that stays clean: locked protocols, a ledger of who looked at which split, contamination.",
    "compare": "What differs between runs, where their curves part first, and whether it is real.",
    "closeout": "What a finished run should leave, in one folder with a manifest, and what is missing.",
    "explain": "A detector, cause, metric, link, hyperparameter or trainer, in words.",
    "new": "A new detector, cause, reader, dialect or fault, with its test.",
    "demo": "A real broken run, diagnosed.",
    "lab": "Real runs with a planted fault, and a benchmark that scores any diagnoser on them.",
}
EXIT_BAD_INPUT = 2


class Lazy(click.Group):
    """Knows its commands by name, and imports one when it is called: `--help` waits for nothing heavy."""

    def __init__(self, *args: Any, package: str, summaries: Mapping[str, str], **more: Any) -> None:
        super().__init__(*args, **more)
        self.package, self.summaries = package, summaries

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.summaries)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.summaries:
            if near := difflib.get_close_matches(name, self.summaries, n=1):
                ctx.fail(f"No such command {name!r}. Did you mean {near[0]!r}?")
            return None
        command: click.Command = importlib.import_module(f"{self.package}.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl(list(self.summaries.items()))


@click.group(
    cls=Lazy,
    package=__name__,
    summaries=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="firstbreak")
def app() -> None:
    """Which link of an RL training loop broke first, when, why, and which small experiment proves it."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Entry point. Exit codes: 0 continue or watch, 1 stop or rollback, 2 bad input or call (one line on stderr)."""
    from firstbreak.cli._output import complain
    from firstbreak.readers import Unreadable

    try:
        app.main(args=None if arguments is None else list(arguments), prog_name="firstbreak", standalone_mode=True)
    except Unreadable as error:
        complain(error)
        sys.exit(EXIT_BAD_INPUT)
    except BrokenPipeError:  # `firstbreak ... | head` is not an error
        sys.stderr.close()
        sys.exit(0)
    except OSError as error:  # no such folder to write to, no permission, no space
        where = f"{error.filename}: " if error.filename else ""
        complain(f"{where}{error.strerror or error}; see that the place exists and that you may write there")
        sys.exit(EXIT_BAD_INPUT)
