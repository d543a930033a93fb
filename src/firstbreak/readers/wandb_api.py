"""Runs on a wandb server, through wandb's own package and login: `wandb:entity/project/run`."""

from datetime import datetime
from typing import Any

import numpy as np

from firstbreak.patterns import pattern
from firstbreak.readers import Recording, Unreadable
from firstbreak.readers._columns import Columns
from firstbreak.readers._options import flat

_ADDRESS = pattern(  # of two slashes a Path keeps one
    r"(?:wandb:/{0,2}|https?:/{1,2}[^/]+/)(?P<entity>[^/\s]+)/(?P<project>[^/\s]+)/(?:runs/)?(?P<run>[^/\s?#]+)/?(?:[?#].*)?"
)
_BATCH = 1000  # rows
_LOGIN = "check entity/project/run, and log in with `wandb login`"


def is_address(address: str) -> bool:
    """`wandb:entity/project/run`, or the address of a run's page."""
    return _ADDRESS.fullmatch(address) is not None


def read(address: str, resume: Any = None, api: Any = None) -> Recording:
    """The whole history (not the sample that the page shows) and the config of a run.

    `api` is a `wandb.Api`; without it, one is made with the user's login. Raises Unreadable where wandb is not
    installed, the run cannot be reached, or the address is none.
    """
    match = _ADDRESS.fullmatch(address)
    if match is None:
        raise Unreadable(address, "is no address of a run", "write wandb:entity/project/run")
    first_step = resume if isinstance(resume, int) else 0
    columns, rows, last_step = Columns(), 0, first_step - 1
    try:
        run = (api or _api(address)).run("/".join(match.group("entity", "project", "run")))
        batch: list[dict[str, Any]] = []
        for row in run.scan_history(page_size=_BATCH, min_step=first_step):
            batch.append(_flat_row(row))
            last_step = max(last_step, int(row.get("_step", last_step)))
            if len(batch) == _BATCH:
                rows = _add(columns, batch, rows)
        _add(columns, batch, rows)
        config, state, started = dict(run.config), str(run.state), str(run.created_at)
    except Unreadable:
        raise
    except Exception as error:  # the package raises errors of several libraries, and of the network
        raise Unreadable(address, f"cannot be read ({_one_line(error)})", _LOGIN) from None
    return Recording(
        format="wandb",
        curves=columns.curves(),
        config={**columns.constants(), **flat({name: v for name, v in config.items() if name != "_wandb"})},
        order=_unix_seconds(started),
        notes=[*columns.notes(), f"wandb's state of the run: {state}"],
        resume=last_step + 1,
    )


def _api(address: str) -> Any:
    try:
        import wandb
    except ImportError:
        raise Unreadable(address, "is on a wandb server", "install wandb, or give the run's .wandb file") from None
    return wandb.Api()


def _flat_row(row: dict[str, Any]) -> dict[str, Any]:
    """Nested keys joined with ".", as in wandb's own files; media, which are objects with a `_type`, as they are."""
    nested = {name for name, value in row.items() if isinstance(value, dict) and "_type" not in value}
    if not nested:
        return row
    return {name: v for name, v in row.items() if name not in nested} | flat({name: row[name] for name in nested})


def _add(columns: Columns, batch: list[dict[str, Any]], rows: int) -> int:
    """Adds the rows that wait; returns how many there are now."""
    columns.add_records(batch, np.arange(rows, rows + len(batch), dtype=float))
    rows += len(batch)
    batch.clear()
    return rows


def _one_line(error: Exception) -> str:
    return f"{type(error).__name__}: {error}".partition("\n")[0][:200]


def _unix_seconds(iso_8601: str) -> float:
    try:
        return datetime.fromisoformat(iso_8601).timestamp()
    except ValueError:
        return 0.0
