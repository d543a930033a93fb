"""firstbreak closeout RUN -o FOLDER"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill

import click

from firstbreak.cli._output import write


@click.command("closeout")
@click.argument("run_path", metavar="RUN")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="The folder to fill.")
@click.option(
    "--seed-run", "seeds", multiple=True, help="A run of the same setting with another seed; may be repeated."
)
@click.option(
    "--ledger",
    "place",
    envvar="FIRSTBREAK_LEDGER",
    default="firstbreak-ledger.db",
    show_default=True,
    help="The ledger of evaluations: a file, or the URL of a PostgreSQL database. [env: FIRSTBREAK_LEDGER]",
)
@click.option(
    "--check", is_flag=True, help="RUN is the folder of an earlier close-out: check that its files are unchanged."
)
@click.option("--trainer", metavar="NAME", help="The trainer, if the automatic choice is wrong.")
def command(
    run_path: str, output: Path | None, seeds: tuple[str, ...], place: str, check: bool, trainer: str | None
) -> None:
    """Collect the results of a finished run in one folder, with a manifest of hashes.

    The folder holds the best, last and failed checkpoint, samples for a reward audit, results of several seeds, the report of
    the private test, the context of the experiment, the diagnosis and a one-page summary. Missing results are listed with a
    way to get them, and the exit code is 1.
    """
    if check:
        _check(Path(run_path))
    elif output is None:
        raise click.UsageError("name the folder to fill: -o FOLDER")
    else:
        _close_out(run_path, output, seeds, place, trainer)


def _close_out(run_path: str, output: Path, seeds: tuple[str, ...], place: str, trainer: str | None) -> None:
    from firstbreak.closeout.deliverables import Material, NotNeeded
    from firstbreak.closeout.folder import close_out, missing
    from firstbreak.evals.ledger import Ledger
    from firstbreak.evals.splits import history
    from firstbreak.readers.read import find_runs, read

    ledger, head = None, None
    if "://" in place or Path(place).exists():  # opening a missing file would create it
        with Ledger(place) as opened:
            rows = list(opened)
        ledger, head = history(rows), rows[-1].hash if rows else None
    others = [read(run, trainer=trainer) for path in seeds for run in find_runs(path)]
    outcomes = close_out(Material(read(run_path, trainer=trainer), others, ledger, head, output))
    write("\n".join(_lines({name: vars(outcome) for name, outcome in outcomes.items()})))
    lacking = missing(outcomes)
    needed = sum(not isinstance(outcome, NotNeeded) for outcome in outcomes.values())
    write(f"\n{output}: {needed - len(lacking)} of {needed} there; begin with {output / 'summary.md'}")
    if lacking:
        sys.exit(1)


def _check(folder: Path) -> None:
    from firstbreak.closeout.folder import check

    problems, deliverables = check(folder)
    write("\n".join(_lines(deliverables)))
    for problem in problems:
        write(f"{folder / problem.path}: {problem.problem}")
    lacking = [name for name, entry in deliverables.items() if entry["status"] == "missing"]
    write(f"\n{folder}: {'all files are unchanged' if not problems else 'files have changed since the close-out'}")
    if problems or lacking:
        sys.exit(1)


def _lines(entries: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Each deliverable in a few lines of 80 columns. A missing one is followed by a way to get it."""
    for name, entry in entries.items():
        mark = "there" if "said" in entry else "MISSING" if "how" in entry else "-"
        said = str(entry.get("said") or entry.get("why"))
        yield fill(f"{mark:9}{name}: {said}", 80, subsequent_indent=" " * 11)
        if "how" in entry:
            yield fill(f"{'':9}-> {entry['how']}", 80, subsequent_indent=" " * 12, break_on_hyphens=False)
