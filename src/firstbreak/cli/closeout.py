"""firstbreak closeout RUN -o FOLDER"""

import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from textwrap import fill

import click

from firstbreak.cli import _options
from firstbreak.cli._output import say, write


@click.command("closeout")
@click.argument("run_path", metavar="RUN")
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), help="The folder to fill.")
@click.option("--seed-run", "seeds", multiple=True, help="A run of this setting with another seed; may be repeated.")
@_options.ledger("The ledger of evaluations: a file, or the URL of a PostgreSQL database. [env: FIRSTBREAK_LEDGER]")
@click.option("--check", is_flag=True, help="RUN is an earlier close-out: check that its files are unchanged.")
@click.option(
    "--manifest-hash", "expected", metavar="SHA256", help="With --check: the hash that the close-out has printed."
)
@_options.trainer
@_options.roots
def command(
    run_path: str,
    output: Path | None,
    seeds: tuple[str, ...],
    place: str,
    check: bool,
    expected: str | None,
    trainer: str | None,
) -> None:
    """Collect the results of a finished run in one folder, with a manifest of hashes.

    The folder holds the best, last and failed checkpoint, samples for a reward audit, results of several seeds, the report of
    the private test, the context of the experiment, the diagnosis and a one-page summary. Missing results are listed with a
    way to get them, and the exit code is 1. Checkpoints are copied. The manifest vouches for every file: keep its hash elsewhere.
    """
    if check:
        _check(Path(run_path), expected)
        return
    if output is None:
        raise click.UsageError("name the folder to fill: -o FOLDER")
    from firstbreak.cli._grouping import read, read_one
    from firstbreak.closeout.deliverables import Material, NotNeeded
    from firstbreak.closeout.folder import close_out, manifest_hash, missing
    from firstbreak.evals.ledger import Ledger
    from firstbreak.evals.splits import history
    from firstbreak.readers.grouping import find_runs

    ledger, head = None, None
    if "://" in place or Path(place).exists():  # opening a missing file would create it
        with Ledger(place, reads=True) as opened:
            rows = list(opened)
        ledger, head = history(rows), rows[-1].hash if rows else None
    others = [read(run, trainer=trainer) for path in seeds for run in find_runs(path)]
    outcomes = close_out(Material(read_one(run_path, trainer), others, ledger, head, output, say))
    write("\n".join(_lines({name: vars(outcome) for name, outcome in outcomes.items()})))
    lacking = missing(outcomes)
    needed = sum(not isinstance(outcome, NotNeeded) for outcome in outcomes.values())
    write(f"\n{output}: {needed - len(lacking)} of {needed} there; begin with {output / 'summary.md'}")
    write(f"sha256 of the manifest, to keep elsewhere: {manifest_hash(output)}")
    if lacking:
        sys.exit(1)


def _check(folder: Path, expected: str | None) -> None:
    from firstbreak.closeout.folder import MANIFEST, FolderProblem, check, manifest_hash

    problems, deliverables = check(folder)
    found = manifest_hash(folder)
    if expected is not None and found != expected.strip().lower():
        problems = [FolderProblem(MANIFEST, f"was changed: its sha256 is {found}"), *problems]
    write("\n".join(_lines(deliverables)))
    for problem in problems:
        write(f"{folder / problem.path}: {problem.problem}")
    if expected is None:
        write(f"\nsha256 of the manifest, to compare with the one that the close-out printed: {found}")
    lacking = [name for name, entry in deliverables.items() if entry["status"] == "missing"]
    write(f"\n{folder}: {'all files are unchanged' if not problems else 'files have changed since the close-out'}")
    if lacking:
        write(f"missing when the close-out was made, which is no damage: {', '.join(lacking)}")
    if problems:
        sys.exit(1)


def _lines(entries: Mapping[str, Mapping[str, object]]) -> Iterator[str]:
    """Each deliverable in a few lines of 80 columns. A missing one is followed by a way to get it."""
    for name, entry in entries.items():
        mark = "there" if "said" in entry else "MISSING" if "how" in entry else "-"
        said = str(entry.get("said") or entry.get("why"))
        yield fill(f"{mark:9}{name}: {said}", 80, subsequent_indent=" " * 11)
        if "how" in entry:
            yield fill(f"{'':9}-> {entry['how']}", 80, subsequent_indent=" " * 12, break_on_hyphens=False)
