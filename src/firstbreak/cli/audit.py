"""firstbreak audit SAMPLES|RUN"""

import os
import sys
from pathlib import Path

import click

from firstbreak.cli import _options
from firstbreak.cli._output import bar, formats, put, to_file, write
from firstbreak.model import Run, Samples, Severity

FAILS = {
    "critical": frozenset({Severity.CRITICAL}),
    "warning": frozenset({Severity.CRITICAL, Severity.WARNING}),
    "never": frozenset[Severity](),
}
MOST_PROCESSES = 8  #: each holds some hundred megabytes


@click.command("audit")
@click.argument("path")
@formats(
    *("terminal", "json", "html"),
    help="Format of the report. html: a page on which a person marks samples and saves the marks.",
)
@to_file
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="ROLE=NAME",
    help="The role of a column of a table (CSV, JSONL, parquet): completion, prompt, reward, step, group, "
    "advantage, answer; rewards=A,B.",
)
@click.option(
    "--marks", type=click.Path(dir_okay=False, path_type=Path), help="The file of human marks; read if it exists."
)
@click.option(
    "--embeddings",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="A local model2vec model, to distinguish strategies by meaning instead of form. Nothing is downloaded.",
)
@click.option(
    "--judge", "judge_url", metavar="URL", help="An OpenAI-compatible endpoint that compares samples, up to /v1."
)
@click.option(
    "--judge-model",
    default="default",
    metavar="NAME",
    help="The model of the judge. The key is read from OPENAI_API_KEY.",
)
@_options.fail_on(FAILS, help="Severity of a finding that gives exit code 1.")
@_options.roots
def command(
    path: str,
    format_: str,
    output: Path | None,
    columns: tuple[str, ...],
    marks: Path | None,
    embeddings: Path | None,
    judge_url: str | None,
    judge_model: str,
    fail_on: str,
) -> None:
    """Find out from samples what the policy has learned to do.

    PATH is a dump of completions, or a run with a dump; with --column, any table. The audit searches for reward hacking (the
    reward rises, behaviour shifts, independent scores do not follow), says since when and what is rewarded, and selects
    samples for a person to read.
    """
    from firstbreak.audit import report
    from firstbreak.audit.audit import audit
    from firstbreak.audit.embeddings import load as load_embeddings
    from firstbreak.audit.judge import JudgeModel, judge, pairs
    from firstbreak.audit.marks import load

    samples, run = _read(path, columns)
    processes = min(os.cpu_count() or 1, MOST_PROCESSES)
    known = load(marks) if marks else {}
    embed = load_embeddings(embeddings) if embeddings else None
    with bar("parts of the samples") as advance:
        found = audit(samples, path=path, run=run, marks=known, processes=processes, embed=embed, report=advance)
    verdicts = None
    if judge_url:
        endpoint = JudgeModel(judge_url, judge_model, os.environ.get("OPENAI_API_KEY"))
        verdicts = judge(endpoint, pairs(found.table.latest))
    if format_ == "json":
        write(report.render_json(found, verdicts), output)
    elif format_ == "html":
        from firstbreak.audit.page import render

        write(render(found, known), output)
    else:
        put([report.renderable(found, verdicts)], output)
    if any(o.finding is not None and o.finding.severity in FAILS[fail_on] for o in found.outcomes):
        sys.exit(1)


def _read(path: str, columns: tuple[str, ...]) -> tuple[Samples, Run | None]:
    """The samples, and their run where there is one."""
    from firstbreak.cli._grouping import read
    from firstbreak.readers import Unreadable

    if columns:
        from firstbreak.audit.columns import samples

        mapping = dict(column.partition("=")[::2] for column in columns)
        if not Path(path).is_file():
            raise Unreadable(path, "no such file", "give one table, or leave --column out to give a folder")
        return samples(Path(path), mapping), None
    run = read(path)
    if run.samples is None:
        remedy = "log completions (TRL: log_completions=True), or name the columns of a table with --column"
        raise Unreadable(path, "holds no samples", remedy)
    return run.samples, run
