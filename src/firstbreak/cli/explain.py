"""firstbreak explain [RUN] NAME"""

import click


@click.command("explain")
@click.argument("names", nargs=-1, metavar="[RUN] [NAME]")
def command(names: tuple[str, ...]) -> None:
    """Explain a detector, cause, experiment, metric (its name here or as logged), link, hyperparameter, trainer or reader.

    With RUN: one finding or cause of that run, with its evidence. Without NAME: list all names.
    """
    match names:
        case ():
            from firstbreak.reports.explanation import contents

            click.echo(contents())
        case (name,):
            from firstbreak.audit.audit import explained
            from firstbreak.reports.explanation import explain

            click.echo(explain(name, explained))
        case (run, name):
            _of_a_run(run, name)
        case _:
            raise click.UsageError("give one NAME, or a RUN and one NAME")


def _of_a_run(path: str, name: str) -> None:
    from firstbreak.cli._grouping import one_run
    from firstbreak.cli._output import put, waiting
    from firstbreak.cli._reading import read
    from firstbreak.engine.diagnose import diagnose
    from firstbreak.engine.thresholds import for_run
    from firstbreak.reports import screen

    run = read(one_run(path))
    with waiting(f"diagnosing {path}"):
        dx = diagnose(run, thresholds=for_run(path, {}))
    put([screen.explained(dx, name)])
