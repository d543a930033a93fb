"""The option --set, shared by the commands that diagnose a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="DETECTOR.THRESHOLD=VALUE",
    help="Use this value for a threshold of a detector; may be repeated. `firstbreak explain DETECTOR` shows its thresholds. "
    "The table [thresholds] of firstbreak.toml sets them as well.",
)
