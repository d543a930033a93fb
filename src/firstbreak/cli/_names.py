"""The option --name, shared by the commands that read a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--name",
    "named",
    multiple=True,
    metavar="NAME=SIGNAL",
    help="Read this metric of the log as this signal, as in my_metric=kl.ref; may be repeated. `firstbreak inspect` shows how "
    "each name is read. The table [names] of firstbreak.toml says it as well.",
)
