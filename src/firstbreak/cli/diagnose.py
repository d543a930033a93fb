"""firstbreak diagnose PATH..."""

import os
import shutil
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from importlib import import_module
from itertools import accumulate
from pathlib import Path
from typing import Any

import click

from firstbreak.cli import EXIT_BAD_INPUT, _grouping, _options
from firstbreak.cli._output import bar, complain, formats, on_a_terminal, put, to_file, waiting, whole, write
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.thresholds import for_run, parsed
from firstbreak.model import Action, Diagnosis
from firstbreak.readers import Unreadable, names
from firstbreak.readers import read as runs
from firstbreak.readers.grouping import How
from firstbreak.values import replace

LINES = 10  #: of progress, where there is no terminal
COMMENT = 60_000  #: characters: a comment on GitHub holds 65,536
FORMATS = ("terminal", "brief", "json", "html", "markdown", "junit", "sarif")
FAILS = {
    "stop": frozenset({Action.STOP, Action.ROLLBACK}),
    "watch": frozenset({Action.WATCH, Action.STOP, Action.ROLLBACK}),
    "never": frozenset[Action](),
}


@click.command("diagnose")
@click.argument("paths", nargs=-1, required=True, metavar="PATH...")
@formats(*FORMATS)
@whole
@to_file
@_options.fail_on(FAILS, help="Which verdict gives exit code 1.")
@_options.trainer
@click.option(
    "--rate",
    type=click.FloatRange(min=0),
    metavar="MONEY",
    help="Cost of one hour of the run, to compute the cost since the break.",
)
@click.option(
    "--baseline",
    metavar="FOLDER",
    help="Say how the run stands beside your earlier healthy runs of the same task, which lie in this folder.",
)
@_options.thresholds
@_options.names
@click.option(
    "--recursive", is_flag=True, help="All runs below PATH, one line each; runs that need attention come first."
)
@click.option("--processes", type=click.IntRange(1), help="With --recursive: runs at a time.  [default: all cores]")
@click.option("--ray", "address", help="With --recursive: use this Ray cluster: auto, local or ray://host:port.")
@click.option(
    "--store",
    type=click.Path(dir_okay=False, path_type=Path),
    help="With --recursive: the file of results, to continue from.  [default: in the user's cache]",
)
@_grouping.options
@_options.roots
def command(
    paths: tuple[str, ...],
    format_: str,
    full: bool,
    output: Path | None,
    fail_on: str,
    trainer: str | None,
    rate: float | None,
    settings: tuple[str, ...],
    named: tuple[str, ...],
    recursive: bool,
    processes: int | None,
    address: str | None,
    store: Path | None,
    how: How | None,
    baseline: str | None,
) -> None:
    """Say which link of the training loop broke first, when, why, and what to do.

    PATH is a file or folder that a trainer wrote, or a folder of several runs. Exit code 0: continue or watch;
    1: stop or rollback; 2: the input, or a file that may hold the score, could not be read; 3: an error of firstbreak.
    """
    thresholds, meanings = parsed(settings), names.parsed(named)
    if recursive:
        if how is not None:
            raise click.UsageError("--one-run and --each are for single paths, not for --recursive")
        if baseline is not None:
            raise click.UsageError("--baseline is for single runs, not for --recursive")
        if named:
            raise click.UsageError("--name is for single runs; the table [names] of firstbreak.toml is for many")
        how_many = {"processes": processes or os.cpu_count() or 1, "ray_address": address}
        actions = _survey(paths, format_, output, store, trainer=trainer, thresholds=thresholds, **how_many)
        if actions & {action.value for action in FAILS[fail_on]}:
            sys.exit(1)
        return
    found = [run for path in paths for run in _grouping.runs_of(path, how)]
    several = len(found) > 1
    diagnoses, unread = [], list[tuple[str, Unreadable]]()
    with bar("runs", len(found), every=-(-len(found) // LINES)) if several else nullcontext() as advance:
        for i, path in enumerate(found, 1):
            try:
                with nullcontext() if several else waiting(f"reading {path}"):
                    run = runs.read(path, trainer=trainer, named=meanings)
                logged = [*(series.raw for series in run.series.values()), *run.unknown]
                if not several and (unknown := names.absent(meanings, logged)):
                    raise click.UsageError(unknown[0])
                with nullcontext() if several else waiting(f"diagnosing {path}"):
                    dx = diagnose(run, rate_per_hour=rate, thresholds=for_run(path, thresholds))
                if baseline is not None:
                    from firstbreak.compare.baseline import earlier_runs, stand

                    dx = replace(dx, baseline=stand(run, *earlier_runs(run, baseline, trainer)))
                diagnoses.append(dx)
            except Unreadable as error:  # `runs/*` may contain other files: the runs are still reported
                if i == len(found) and not diagnoses:
                    raise
                complain(error)
                unread.append((str(path), error))
            if advance is not None:
                advance(i, note=str(path))
    if several and format_ in ("terminal", "markdown"):
        _together(diagnoses, unread, output, format_, full=full)
    else:
        report(diagnoses, format_, output, several=several, full=full)
    if unread:
        sys.exit(EXIT_BAD_INPUT)
    if any(dx.verdict.action in FAILS[fail_on] for dx in diagnoses):
        sys.exit(1)
    if any(dx.run.unread for dx in diagnoses):
        sys.exit(EXIT_BAD_INPUT)


def _together(
    diagnoses: Sequence[Diagnosis],
    unread: Sequence[tuple[str, Unreadable]],
    output: Path | None,
    format_: str,
    *,
    full: bool,
) -> None:
    """Several runs: the table, one row for each, and the whole report of each where they are to be `full`. In Markdown the
    reports of those that need attention follow, as many as a comment holds.
    """
    from firstbreak.compare.survey import UNREADABLE, SurveyRow, row_of, table

    rows = [row_of(dx.run.path, dx) for dx in diagnoses]
    rows += [SurveyRow(path=p, action=UNREADABLE, summary=str(e).removeprefix(f"{p}: ")) for p, e in unread]
    rows.sort(key=lambda row: row.urgency)
    if format_ == "markdown":
        write(_comment(table.markdown(rows), diagnoses, full=full), output)
        return
    said = table.render(rows, _width(output))
    if not full:
        write(f"{said}\n\n`firstbreak diagnose RUN` shows one of them, `--full` the whole report of each.", output)
        return
    from firstbreak.reports import terminal

    pages = [terminal.renderable(dx) for dx in diagnoses]
    if output is None:
        write(f"{said}\n", None)
        put(pages)
    else:
        write("\n\n".join([said, *(page.string() for page in pages)]), output)


def _comment(said: str, diagnoses: Sequence[Diagnosis], *, full: bool) -> str:
    """A table, and the reports of the runs that do not just go on, or of all where they are to be `full`."""
    from firstbreak.reports import markdown

    order = {action: i for i, action in enumerate((Action.ROLLBACK, Action.STOP, Action.WATCH, Action.CONTINUE))}
    urgent = [dx for dx in diagnoses if full or dx.verdict.action is not Action.CONTINUE]
    pages = [markdown.render(dx) for dx in sorted(urgent, key=lambda dx: order[dx.verdict.action])]
    ends = accumulate(map(len, pages), initial=len(said))
    fitting = len(pages) if full else sum(end <= COMMENT for end in ends) - 1
    shown = max(fitting, 0)
    which = f"{shown} of the {len(pages)} reports" if shown < len(pages) else "the whole reports"
    whose = "all runs" if full else "the runs that need attention"
    more = " (`--full` has all)" if shown < len(pages) else ""
    top = [f"Below the table: {which} of {whose}{more}."] if pages else []
    return "\n\n".join([*top, said, *pages[:shown]])


def _width(output: Path | None) -> int | None:
    """Of a table: the terminal's, or COLUMNS; into a pipe or a file each run is one line, which can be searched."""
    narrow = output is None and (on_a_terminal() or "COLUMNS" in os.environ)
    return shutil.get_terminal_size((100, 24)).columns if narrow else None


def _survey(paths: tuple[str, ...], format_: str, output: Path | None, store: Path | None, **options: Any) -> set[str]:
    """Write the table of all runs below the paths. Returns the set of verdicts. `options`: those of `survey`."""
    import json
    from dataclasses import asdict

    from firstbreak.compare.survey import survey, table
    from firstbreak.compare.survey.runs import cache
    from firstbreak.readers.grouping import without_log
    from firstbreak.readers.read import existing

    if format_ not in ("terminal", "json", "markdown"):
        raise click.UsageError("--recursive supports the formats terminal, json and markdown")
    for path in paths:
        existing(path)

    with bar("runs", every=100) as advance:
        rows = survey(paths, store=store or cache(paths), report=advance, **options)
    bare = [str(folder) for path in paths for folder in without_log(Path(path), [Path(row.path) for row in rows])]
    match format_:
        case "json":
            found = {"schema": "firstbreak.fleet/1", "runs": [asdict(row) for row in rows], "without_log": bare}
            write(json.dumps(found, indent=1), output)
        case "markdown":
            write(table.markdown(rows, bare), output)
        case _:
            write(table.render(rows, _width(output), bare), output)
    return {row.action for row in rows}


def report(
    found: Sequence[Diagnosis], format_: str, output: Path | None = None, *, several: bool = False, full: bool = False
) -> None:
    """Write the report of all diagnoses to stdout or into a file. With `several`, JSON is a list even for one run. On a
    terminal it is one screen, or all of it where it is to be `full`.
    """
    match format_:
        case "json" | "html":
            kind = import_module(f"firstbreak.reports.{format_}")
            write(kind.render_all(found) if several else kind.render(found[0]), output)
        case "markdown":
            from firstbreak.reports import markdown

            write("\n\n".join(markdown.render(dx) for dx in found), output)
        case "brief":
            from firstbreak.reports import agent

            write("\n\n".join(agent.render(dx) for dx in found), output)
        case "junit" | "sarif":
            from firstbreak.reports import ci

            write(ci.junit(found) if format_ == "junit" else ci.sarif(found), output)
        case _:
            from firstbreak.reports import screen, terminal

            put([terminal.renderable(dx) if full else screen.renderable(dx) for dx in found], output)
