"""firstbreak check NAME: one module of this package for each check, with a click command `command`.

The body of a command returns the options of the check. `@reported` adds the shared options, calls the check, writes its report
and sets the exit code.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from contextlib import nullcontext
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from firstbreak.cli import Lazy, _options, _output

if TYPE_CHECKING:
    from firstbreak.preflight import Report

#: check -> one line for `--help`; the module of that name holds a click command `command`
CHECKS = {
    "env": "Check an environment: API, spaces, seeding, scales, and whether a simple rule beats random actions.",
    "reward": "Check a reward: distribution, density, direction, accepted tricks and rejected right answers.",
    "critic": "Check whether the value function can fit the returns of fixed rollouts, and whether episodes end correctly.",
    "data": "Check pairs, prompts and offline data: duplicates, overlap, length, templates, loss mask.",
    "eval": "Check whether an evaluation protocol is complete and locked, and how it differs from the rollouts.",
    "memory": "Estimate the GPU memory of each phase and role: does it fit, and what to change first.",
    "context": "Check whether the context of a run is recorded, and whether the code is still the same.",
    "plan": "Run all checks that `firstbreak.toml` or `pyproject.toml` lists.",
}
FAILS = {"stop": frozenset({"stop"}), "watch": frozenset({"stop", "watch"}), "never": frozenset[str]()}


@click.group(
    "check",
    cls=Lazy,
    package=__name__,
    sections={"Commands": CHECKS},
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
def command() -> None:
    """Find faults before a run, without GPU hours.

    Exit code 0: no problem was found; 1: do not train yet (see --fail-on); 2: the call is wrong.
    """


def reported(check: str, waiting: str = "") -> Callable[[Callable[..., dict[str, Any]]], Callable[..., None]]:
    """A decorator for a command that returns the options of the check in preflight: adds the shared options, and writes the
    report. Use it below `@click.command`. `waiting`: what takes long, with the options in braces."""

    def of(body: Callable[..., dict[str, Any]]) -> Callable[..., None]:
        @_output.formats("terminal", "json", "html")
        @_output.to_file
        @_options.fail_on(FAILS, help="Exit code 1 on critical findings, on warnings as well, or never.")
        @functools.wraps(body)
        def written(*, format_: str, output: Path | None, fail_on: str, **options: Any) -> None:
            given = body(**options)
            with _output.waiting(waiting.format(**given)) if waiting else nullcontext():
                report: Report = import_module(f"firstbreak.preflight.{check}").check(**given)
            write(report, format_, output)
            if report.action.value in FAILS[fail_on]:
                sys.exit(1)

        return written

    return of


def write(report: Report, format_: str, output: Path | None = None) -> None:
    """Write the report to stdout or into a file."""
    from firstbreak.reports import json, preflight, preflight_html

    if format_ == "html":
        _output.write(preflight_html.render(report), output)
    elif format_ == "json":
        _output.write(json.dump(preflight.payload(report)), output)
    else:
        _output.put([preflight.renderable(report)], output)
