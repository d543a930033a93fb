"""firstbreak check NAME: one module of this package for each check, with a click command `command`.

The body of a command calls the check and returns its Report; `@reported` adds the options that all checks share, writes
the report and sets the exit code.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firstbreak.cli import Lazy

if TYPE_CHECKING:
    from firstbreak.preflight import Report

#: check -> one line for `--help`; the module of that name holds a click command `command`
CHECKS = {
    "env": "Contract, spaces, seeding, scales; and whether a simple rule beats random actions.",
    "reward": "Distribution, density and direction of a reward; what gets past it, and what it refuses.",
    "critic": "Can the value function fit the returns of fixed rollouts, and are these cut in the right places?",
    "data": "Pairs, prompts and offline data: duplicates, overlap, length, templates, which tokens get loss.",
    "eval": "Is the protocol of the evaluation complete and fixed, and what differs from the rollouts?",
    "memory": "What lies on a GPU in each phase, for each role; does it fit, and what to change first.",
    "context": "Is it recorded what the run was made with, and is that still what lies here?",
    "plan": "All of these, as `firstbreak.toml` or `pyproject.toml` says.",
}
FAILS = {"stop": frozenset({"stop"}), "watch": frozenset({"stop", "watch"}), "never": frozenset[str]()}


@click.group(
    "check",
    cls=Lazy,
    package=__name__,
    summaries=CHECKS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def command() -> None:
    """Before the run: find it before the GPU hours.

    Exit code 0: nothing stands in the way; 1: do not train yet (see --fail-on); 2: the call is wrong.
    """


def reported(body: Callable[..., Report]) -> Callable[..., None]:
    """A command that writes the Report its body returns. Below `@click.command`, above or below other options."""

    @click.option(
        "--format", "format_", type=click.Choice(("terminal", "json")), default="terminal", help="How to write."
    )
    @click.option(
        "-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to this file, not to stdout."
    )
    @click.option(
        "--fail-on",
        type=click.Choice(list(FAILS)),
        default="stop",
        show_default=True,
        help="Exit code 1 on critical findings, on warnings as well, or never.",
    )
    @functools.wraps(body)
    def written(*, format_: str, output: Path | None, fail_on: str, **options: Any) -> None:
        report = body(**options)
        write(report, format_, output)
        if report.action.value in FAILS[fail_on]:
            sys.exit(1)

    return written


def write(report: Report, format_: str, output: Path | None = None) -> None:
    """The report to stdout or into a file."""
    from firstbreak.cli import _output
    from firstbreak.reports import json, preflight

    if format_ == "json":
        _output.write(json.dump(preflight.payload(report)), output)
    elif output is None and _output.on_a_terminal():
        _output.show([preflight.renderable(report)])
    else:
        _output.write(preflight.render(report), output)
