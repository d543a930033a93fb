"""firstbreak lab list | run | build | harm-test | weigh | bench"""

import json
import math
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from firstbreak.cli._output import bar
from firstbreak.dialects.hyperparameters import plain
from firstbreak_lab import catalogue
from firstbreak_lab.catalogue import Variant
from firstbreak_lab.running import Label

CORPUS = click.option(
    "--corpus",
    "folder",
    default="corpus",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of recorded runs.",
)


class LabUsageError(click.ClickException):
    """An error that the user can correct: one line on stderr, exit code 2."""

    exit_code = 2


@click.group("lab")
def command() -> None:
    """Real training runs with an injected fault, and a benchmark that scores any diagnoser on them.

    Training needs the extra `trainers` (pip install 'firstbreak[trainers]'). The benchmark reads recorded runs and does not
    need it.
    """


@command.command("list")
def list_() -> None:
    """List every fault by link, and the healthy variants."""
    for heading, variants in _by_heading():
        click.echo(f"{heading}\n" + "\n".join(f"  {variant.id:34} {variant.title}" for variant in variants) + "\n")


def _by_heading() -> Iterator[tuple[str, list[Variant]]]:
    variants = list(catalogue().values())
    for link in dict.fromkeys(variant.link for variant in variants):
        yield (link.value if link else "healthy"), [variant for variant in variants if variant.link is link]


@command.command("run")
@click.argument("variant", metavar="FAULT")
@click.option(
    "--base", help="The healthy run to change: trainer/algorithm-task.  [default: the first base of the fault]"
)
@click.option("--severity", type=float, help="How strong the fault is.  [default: the largest severity]")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--set",
    "pairs",
    multiple=True,
    metavar="KEY=VALUE",
    help="A setting of the trainer, as a user would give it. May be repeated.",
)
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True)
def run_(
    variant: str, base: str | None, severity: float | None, seed: int, pairs: tuple[str, ...], output: Path
) -> None:
    """Train once with a fault (or a healthy variant), and write a label with the true answer beside the run.

    OUTPUT/run is what a user would have. OUTPUT/label.json says what is wrong with the run.
    """
    from firstbreak_lab import read_label, run

    with _one_line():
        overrides = {key: plain(value) for key, _, value in (pair.partition("=") for pair in pairs)}
        folder = run(variant, out=output, seed=seed, severity=severity, base=base, overrides=overrides)
    label = read_label(output)
    answer = f"{label.link}: {label.cause} from step {label.onset}" if label.link else "no fault"
    click.echo(f"{folder}: {answer}; true score {label.score:g}, {label.seconds:.0f} s")


@command.command()
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), default="corpus", show_default=True)
@click.option("--variant", "variants", multiple=True, help="Only this fault or healthy variant. May be repeated.")
@click.option("--seeds", type=int, help="Number of seeds of each fault, base and severity.")
@click.option("--healthy-seeds", type=int, help="Number of seeds of each healthy variant in each base.")
@click.option("--processes", type=int, help="Number of runs at the same time.  [default: the number of cores]")
@click.option("--ray", "address", help="Use this Ray cluster: auto, local or ray://host:port.")
def build(
    output: Path,
    variants: tuple[str, ...],
    seeds: int | None,
    healthy_seeds: int | None,
    processes: int | None,
    address: str | None,
) -> None:
    """Train every fault, severity, base and seed, and store each run as one small archive.

    Run the same command again to continue a build that was interrupted.
    """
    from firstbreak_lab import corpus

    _known(variants)
    jobs = corpus.grid(seeds or corpus.SEEDS, healthy_seeds or corpus.HEALTHY_SEEDS, variants or None)
    with _one_line(), bar("runs", len(jobs)) as advance:
        manifest = corpus.build(
            output,
            jobs,
            processes=processes,
            ray_address=address,
            report=lambda p: advance(p.done + p.failed, f"{p.failed} failed" if p.failed else ""),
        )
    click.echo(f"{output}: {len(manifest['runs'])} runs")
    for archive, error in manifest["failed"].items():
        click.echo(f"failed: {archive}: {error}", err=True)


@command.command("harm-test")
@CORPUS
@click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
def harm_test(folder: Path, as_json: bool) -> None:
    """Show which faults do measurable harm, and which are harmless.

    Each faulty run is compared with the healthy run of the same base and seed.
    """
    from firstbreak_lab.corpus import labels
    from firstbreak_lab.harm_test import admissions, control

    found = list(labels(_corpus(folder)).values())
    verdicts = admissions(found)
    if as_json:
        click.echo(json.dumps([_finite(asdict(verdict)) for verdict in verdicts], indent=1))
        return
    for verdict in verdicts:
        if verdict.judged:
            low, high = verdict.interval
            size = f"{verdict.outcome} worse by {verdict.harm:.3g} [{low:.3g}, {high:.3g}], d = {verdict.effect:.2g}"
        mark = "admitted" if verdict.admitted else "rejected" if verdict.judged else "unjudged"
        why = size if verdict.judged else verdict.reason
        click.echo(f"{mark}  {verdict.variant:32} {verdict.base:22} {verdict.severity:<8g} {why}")
    counts = [sum(v.admitted for v in verdicts), sum(v.judged for v in verdicts), len(verdicts)]
    click.echo(f"{counts[0]} of {counts[1]} judged settings are admitted; {counts[2]} settings in total")
    click.echo(f"control: with the labels of each pair shuffled, {control(found):.1%} are admitted")


@command.group("population")
def population() -> None:
    """Drawn runs of real trainers: family, task, settings, logger, fault, severity and onset, all from one seed."""


@population.command("build")
@click.option("--seeds", "span", default="0:1500", show_default=True, help="FIRST:END; END is not made.")
@click.option("--processes", type=click.IntRange(1), default=1, show_default=True)
@click.option("-o", "--out", type=click.Path(path_type=Path, file_okay=False), required=True)
def population_build(span: str, processes: int, out: Path) -> None:
    """Train the runs of many seeds, and store them in packs: OUT/<first seed>.tar.xz.

    Run the same command again to continue, or after more trainers are installed.
    """
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the run that is being made ends too
    with _one_line():
        from firstbreak_lab.population.build import build as make_all

        first, end = (int(bound) for bound in span.split(":"))
        failed = make_all(out, range(first, end), processes, click.echo)
    click.echo(f"{out}: {len(failed)} failed" if failed else f"{out}: done")


@command.command()
@CORPUS
@click.option(
    "--diagnoser",
    "names",
    multiple=True,
    help="The name of a diagnoser, or a command that prints a diagnosis as JSON. May be repeated.",
)
@click.option("--split", "part", type=click.Choice(("test", "train", "all")), default="test", show_default=True)
@click.option("--live", is_flag=True, help="Also diagnose each run at five points during training.")
@click.option("--trusting", is_flag=True, help="Count faults with too few seeds for the harm test as faulty.")
@click.option("--processes", type=int, default=1, show_default=True)
@click.option(
    "-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="Write all figures to this file, as JSON."
)
@click.option(
    "--answers",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write every answer to this file, one JSON line each.",
)
def bench(
    folder: Path,
    names: tuple[str, ...],
    part: str,
    live: bool,
    trusting: bool,
    processes: int,
    output: Path | None,
    answers: Path | None,
) -> None:
    """Score diagnosers on runs whose cause is known."""
    from firstbreak_lab.bench import ask, report
    from firstbreak_lab.corpus import labels, split
    from firstbreak_lab.diagnosers import available, chosen

    everyone = chosen(names) if names else available()
    wanted = [label for label in labels(_corpus(folder)).values() if part in ("all", split(label))]
    rows: dict[str, list[Any]] = {diagnoser.name: [] for diagnoser in everyone}
    options: dict[str, Any] = {"live": live, "trusting": trusting, "processes": processes}
    with _one_line(), bar("runs", len(wanted)) as advance:
        for i, said in enumerate(ask(folder, everyone, wanted=wanted.__contains__, **options), 1):
            advance(i, "")
            for name, row in said.items():
                rows[name].append(row)
    figures = report(folder, rows, {diagnoser.name: diagnoser.gives for diagnoser in everyone})
    if output:
        output.write_text(json.dumps(_finite(figures), indent=1) + "\n")
    if answers:
        with answers.open("w") as lines:
            lines.writelines(json.dumps({"diagnoser": n} | _finite(asdict(r))) + "\n" for n in rows for r in rows[n])
    click.echo(table(figures, list(rows)))


@command.command()
@CORPUS
@click.option(
    "--population",
    "drawn",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Count its healthy runs as well.",
)
def weigh(folder: Path, drawn: Path | None) -> None:
    """Count on the training split how often each detector reports a finding under each cause: the weights of the ranking."""
    from firstbreak_lab import weights
    from firstbreak_lab.bench import kind_of
    from firstbreak_lab.corpus import labels

    found = list(labels(_corpus(folder)).values())
    kind = kind_of(found)

    def harmless(label: Label) -> bool:
        """No harm was shown. If there are too few seeds to judge, only the largest severity is taken to do harm."""
        mild = label.severity != catalogue()[label.variant].bases[label.base][-1]
        return kind(label) == "harmless" or (kind(label) == "unjudged" and mild)

    command_line = f"firstbreak lab weigh --corpus {folder}" + (f" --population {drawn}" if drawn else "")
    about = {"command": command_line, "split": "train"}
    wanted = sum(weights.in_training(label) for label in found)
    healthy = []
    with bar("healthy runs of the population") as advance:
        for run in weights.population(drawn) if drawn else ():
            healthy.append(run)
            advance(len(healthy))
    done = 0
    with bar("runs", wanted) as advance:

        def report(label: Label) -> None:
            nonlocal done
            done += 1
            advance(done, "")

        path = weights.write(folder, about, healthy, harmless=harmless, report=report)
    written = json.loads(path.read_text())
    click.echo(f"{path}: {sum(written['runs'].values())} runs, {written['runs'].get('healthy', 0)} of them healthy")


#: figure -> heading of its row
ROWS = {
    "n_faulty": "faulty runs",
    "n_healthy": "healthy runs",
    "detection": "faulty: found",
    "detection_stop": "faulty: advised to stop",
    "link_top1": "faulty: right link named",
    "cause_top1": "faulty: right cause first",
    "cause_top3": "faulty: right cause among three",
    "healthy_found": "healthy: called broken",
    "healthy_critical": "healthy: critical finding",
    "healthy_stop": "healthy: advised to stop",
    "harmless_stop": "harmless fault: advised to stop",
    "onset_error_median": "onset: median error, share of the run",
    "interval_coverage": "onset: inside the interval",
    "ece": "calibration error",
    "seconds_per_run": "seconds per run (median)",
}
COUNTS, SECONDS = ("n_faulty", "n_healthy"), ("seconds_per_run",)


def table(figures: dict[str, Any], names: Sequence[str]) -> str:
    """The figures that are compared, one column for each diagnoser."""
    wide = max(map(len, ROWS.values()))
    columns = [max(10, len(name)) for name in names]
    lines = [" " * wide + "".join(f"  {name:>{n}}" for name, n in zip(names, columns, strict=True))]
    for key, heading in ROWS.items():
        shown = [cell(key, figures[name][key]) for name in names]
        lines.append(f"{heading:{wide}}" + "".join(f"  {text:>{n}}" for text, n in zip(shown, columns, strict=True)))
    return "\n".join(lines)


def cell(key: str, value: float | None) -> str:
    """A figure as text; a dash if the diagnoser does not give this answer."""
    if value is None:
        return "-"
    return str(value) if key in COUNTS else f"{value:.3f}" if key in SECONDS else f"{value:.1%}"


def _known(variants: Sequence[str]) -> None:
    for variant in variants:
        if variant not in catalogue():
            raise LabUsageError(
                f"there is no fault or healthy variant {variant!r}; `firstbreak lab list` shows all of them"
            )


def _corpus(folder: Path) -> Path:
    if not any(folder.rglob("*.tar.xz")):
        raise LabUsageError(f"{folder}: contains no recorded runs; make them with `firstbreak lab build -o {folder}`")
    return folder


@contextmanager
def _one_line() -> Iterator[None]:
    """Turn errors that a user can correct into one line: a missing package, an unknown name, missing runs."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = {"ray": "cluster", "rl_doctor": "bench", "rlwatch": "bench"}.get(str(error.name), "trainers")
        raise LabUsageError(f"{error.name} is not installed; pip install 'firstbreak[{extra}]'") from None
    except (ValueError, LookupError) as error:
        raise LabUsageError(str(error)) from None


def _finite(value: Any) -> Any:
    """The value for strict JSON: NaN and infinity become null."""
    match value:
        case dict():
            return {str(key): _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value
