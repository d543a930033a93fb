"""The option --allow-root, shared by the commands that read a run."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from firstbreak.readers import opening


def _allow(_: click.Context, __: click.Parameter, roots: tuple[Path, ...]) -> None:
    if roots:  # in the environment, so that processes that are started see it
        os.environ[opening.ALLOW] = os.pathsep.join(str(root.resolve()) for root in roots)


option: Callable[[Callable[..., Any]], Callable[..., Any]] = click.option(
    "--allow-root",
    multiple=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="DIR",
    envvar=opening.ALLOW,
    expose_value=False,
    callback=_allow,
    help="Follow links of the run that lead below this folder; may be repeated. Others are named and not followed. "
    f"[env: {opening.ALLOW}]",
)
