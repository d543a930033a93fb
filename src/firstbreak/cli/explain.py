"""firstbreak explain [RUN] NAME"""

import shutil
from pathlib import Path

import click


@click.command("explain")
@click.argument("names", nargs=-1, metavar="[RUN] [NAME]")
def command(names: tuple[str, ...]) -> None:
    """Explain a detector, cause, experiment, metric (its name here or as logged), link, hyperparameter, trainer, reader or row
    of an audit.

    With RUN: one finding, cause, link or row of the audit of that run, with its evidence; without NAME, what there is.
    """
    match names:
        case ():
            from firstbreak.audit.audit import explained
            from firstbreak.reports.explanation import contents

            _echo(contents(explained()))
        case (name,):
            from firstbreak.audit.audit import explained
            from firstbreak.readers import Unreadable
            from firstbreak.reports.explanation import explain

            try:
                _echo(explain(name, explained))
            except Unreadable:
                if not Path(name.partition("#")[0]).exists():
                    raise
                _of_a_run(name, "")
        case (run, name):
            _of_a_run(run, name)
        case _:
            raise click.UsageError("give one NAME, or a RUN and one NAME")


def _echo(text: str) -> None:
    from firstbreak.reports.text import wrapped

    click.echo(wrapped(text, shutil.get_terminal_size().columns))


def _of_a_run(path: str, name: str) -> None:
    from firstbreak.audit import report
    from firstbreak.audit.audit import audit
    from firstbreak.audit.rows import rows
    from firstbreak.cli._grouping import read_one
    from firstbreak.cli._output import put, waiting
    from firstbreak.engine.diagnose import diagnose
    from firstbreak.engine.thresholds import for_run
    from firstbreak.readers import Unreadable
    from firstbreak.reports import screen

    run = read_one(path)
    with waiting(f"diagnosing {path}"):
        dx = diagnose(run, thresholds=for_run(path, {}))
    try:
        page = screen.explained(dx, name)
    except Unreadable:
        audited = audit(run.samples, path=path, run=run).outcomes if run.samples and name in rows() else ()
        if not (found := [report.alone(row) for row in audited if row.detector == name]):
            raise
        page = found[0]
    put([page])
