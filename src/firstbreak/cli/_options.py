"""Options that several commands share: --trainer, --fail-on, counts, and those of the commands that read or diagnose a run."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click

from firstbreak.cli._output import BadCall
from firstbreak.readers import opening

_Option = Callable[[Callable[..., Any]], Callable[..., Any]]


def fail_on(levels: Iterable[str], help: str) -> _Option:
    """The option --fail-on; the first of the levels is the default."""
    names = list(levels)
    return click.option("--fail-on", type=click.Choice(names), default=names[0], show_default=True, help=help)


def count(name: str, default: int, help: str, least: int = 1) -> _Option:
    """An option for a whole number of `least` or more."""
    return click.option(name, type=click.IntRange(least), default=default, show_default=True, help=help)


def ledger(help: str) -> _Option:
    """The option --ledger: a file, or the address of a database."""
    default = "firstbreak-ledger.db"
    return click.option("--ledger", "place", envvar="FIRSTBREAK_LEDGER", default=default, show_default=True, help=help)


def _allow(_: click.Context, __: click.Parameter, roots: tuple[Path, ...]) -> None:
    if missing := [str(root) for root in roots if not root.is_dir()]:
        raise BadCall(f"{missing[0]!r}: is no folder; correct --allow-root, or {opening.ALLOW}")
    if roots:  # in the environment, so that processes that are started see it
        os.environ[opening.ALLOW] = os.pathsep.join(str(root.resolve()) for root in roots)


trainer: _Option = click.option("--trainer", metavar="NAME", help="The trainer, if the automatic choice is wrong.")
roots: _Option = click.option(
    "--allow-root",
    multiple=True,
    type=click.Path(path_type=Path),
    metavar="DIR",
    envvar=opening.ALLOW,
    expose_value=False,
    callback=_allow,
    help="Follow links of the run that lead below this folder; may be repeated. Others are named and not followed. "
    f"[env: {opening.ALLOW}]",
)
names: _Option = click.option(
    "--name",
    "named",
    multiple=True,
    metavar="NAME=SIGNAL",
    help="Read this metric of the log as this signal, as in my_metric=kl.ref; may be repeated. `firstbreak inspect` shows how "
    "each name is read. The table [names] of firstbreak.toml says it as well.",
)
thresholds: _Option = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="DETECTOR.THRESHOLD=VALUE",
    help="Use this value for a threshold of a detector; may be repeated. `firstbreak explain DETECTOR` shows its thresholds. "
    "The table [thresholds] of firstbreak.toml sets them as well.",
)
