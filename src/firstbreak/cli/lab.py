"""firstbreak lab list | run | build | gate | weigh | bench | figure"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from firstbreak.hyperparameters import plain
from firstbreak.lab import catalogue
from firstbreak.lab.plants import Plant
from firstbreak.lab.running import Label

CORPUS = click.option(
    "--corpus",
    "folder",
    default="corpus",
    show_default=True,
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder of recorded runs.",
)


class BadCall(click.ClickException):
    """What the user can put right: one line on stderr."""

    exit_code = 2


@click.group("lab")
def command() -> None:
    """Real training runs with a planted fault, and a benchmark that scores any diagnoser on them.

    Training needs the extra `trainers` (pip install 'firstbreak[trainers]'); the benchmark reads recorded runs and does not.
    """


@command.command("list")
def list_() -> None:
    """Every fault by link, and the healthy variants."""
    for heading, plants in _by_heading():
        click.echo(f"{heading}\n" + "\n".join(f"  {plant.id:34} {plant.title}" for plant in plants) + "\n")


def _by_heading() -> Iterator[tuple[str, list[Plant]]]:
    plants = list(catalogue().values())
    for link in dict.fromkeys(plant.link for plant in plants):
        yield (link.value if link else "healthy"), [plant for plant in plants if plant.link is link]


@command.command("run")
@click.argument("plant", metavar="FAULT")
@click.option("--base", help="What it is planted in: trainer/algorithm-task.  [default: the first it knows]")
@click.option("--severity", type=float, help="How gross it is.  [default: the gravest it knows]")
@click.option("--seed", type=int, default=0, show_default=True)
@click.option(
    "--set", "said", multiple=True, metavar="KEY=VALUE", help="A setting of the trainer, as a user would say it."
)
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), required=True)
def run_(plant: str, base: str | None, severity: float | None, seed: int, said: tuple[str, ...], output: Path) -> None:
    """Train once with a fault (or healthy variant) planted, and write down the truth beside the run.

    OUTPUT/run is what a user would have; OUTPUT/label.json says what is wrong with it.
    """
    from firstbreak.lab import read_label, run

    with _one_line():
        overrides = {key: plain(value) for key, _, value in (pair.partition("=") for pair in said)}
        folder = run(plant, out=output, seed=seed, severity=severity, base=base, overrides=overrides)
    label = read_label(output)
    truth = f"{label.link}: {label.cause} from step {label.onset}" if label.link else "nothing is wrong"
    click.echo(f"{folder}: {truth}; true score {label.score:g}, {label.seconds:.0f} s")


@command.command()
@click.option("-o", "--output", type=click.Path(path_type=Path, file_okay=False), default="corpus", show_default=True)
@click.option("--plant", "plants", multiple=True, help="Only this fault or healthy variant; may be repeated.")
@click.option("--seeds", type=int, help="Of each faulty setting.")
@click.option("--healthy-seeds", type=int, help="Of each healthy variant in each base.")
@click.option("--processes", type=int, help="Runs at a time.  [default: the number of cores]")
@click.option("--ray", "address", help="Use this Ray cluster: auto, local or ray://host:port.")
def build(
    output: Path,
    plants: tuple[str, ...],
    seeds: int | None,
    healthy_seeds: int | None,
    processes: int | None,
    address: str | None,
) -> None:
    """Train every fault, severity, base and seed, and keep each run as one small archive. Goes on where it stopped."""
    from firstbreak.lab import corpus

    _known(plants)
    jobs = corpus.grid(seeds or corpus.SEEDS, healthy_seeds or corpus.HEALTHY_SEEDS, plants or None)
    with _one_line(), _bar("runs", len(jobs)) as advance:
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


@command.command()
@CORPUS
@click.option("--json", "as_json", is_flag=True, help="For programs.")
def gate(folder: Path, as_json: bool) -> None:
    """Which faults do measurable harm, and which have departed without any."""
    from firstbreak.lab.corpus import labels
    from firstbreak.lab.gate import admissions, control

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
        click.echo(f"{mark}  {verdict.plant:32} {verdict.base:22} {verdict.severity:<8g} {why}")
    counts = [sum(v.admitted for v in verdicts), sum(v.judged for v in verdicts), len(verdicts)]
    click.echo(f"{counts[0]} of {counts[1]} judged settings admitted, of {counts[2]} in all")
    click.echo(f"with the labels of each pair shuffled: {control(found):.1%}")


@command.command()
@CORPUS
@click.option("--diagnoser", "names", multiple=True, help="A name, or a command that prints a diagnosis as JSON.")
@click.option("--split", "part", type=click.Choice(("test", "train", "all")), default="test", show_default=True)
@click.option("--live", is_flag=True, help="Replay each run from its start as well.")
@click.option("--trusting", is_flag=True, help="Count faults that cannot be judged yet as faulty.")
@click.option("--processes", type=int, default=1, show_default=True)
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), help="All figures, as JSON.")
@click.option("--answers", type=click.Path(path_type=Path, dir_okay=False), help="Every answer, one JSON line each.")
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
    """Score diagnosers on runs whose answers are known."""
    from firstbreak.lab.bench import ask, report
    from firstbreak.lab.corpus import labels, split
    from firstbreak.lab.diagnosers import available, chosen

    everyone = chosen(names) if names else available()
    wanted = [label for label in labels(_corpus(folder)).values() if part in ("all", split(label))]
    rows: dict[str, list[Any]] = {diagnoser.name: [] for diagnoser in everyone}
    options: dict[str, Any] = {"live": live, "trusting": trusting, "processes": processes}
    with _one_line(), _bar("runs", len(wanted)) as advance:
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
def weigh(folder: Path) -> None:
    """Count, on the training split, how often each detector speaks under each cause: what the ranking weighs by."""
    from firstbreak.lab import weights
    from firstbreak.lab.bench import kind_of
    from firstbreak.lab.corpus import labels

    found = list(labels(_corpus(folder)).values())
    kind = kind_of(found)

    def departed(label: Label) -> bool:
        """No harm was shown; where nobody could judge, the gravest setting of a fault is taken to do harm."""
        mild = label.severity != catalogue()[label.plant].bases[label.base][-1]
        return kind(label) == "departed" or (kind(label) == "unjudged" and mild)

    about = {"command": f"firstbreak lab weigh --corpus {folder}", "split": "train"}
    wanted = sum(weights.in_training(label) for label in found)
    done = 0
    with _bar("runs", wanted) as advance:

        def report(label: Label) -> None:
            nonlocal done
            done += 1
            advance(done, "")

        path = weights.write(folder, about, departed=departed, report=report)
    written = json.loads(path.read_text())
    click.echo(
        f"{path}: {sum(written['runs'].values())} runs, {written['runs'].get('healthy', 0)} of them healthy; a run is "
        f"called broken where P(healthy) is at most {written['accuse_below']:g}, and may be stopped where it is at "
        f"most {written['stop_below']:g}"
    )


@command.command()
@CORPUS
@click.argument("plant", metavar="FAULT")
@click.option("--base", help="[default: its home, the base of which all severities are in the corpus]")
@click.option("--severity", type=float, help="[default: the gravest]")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False), required=True, help="An SVG file.")
def figure(folder: Path, plant: str, base: str | None, severity: float | None, output: Path) -> None:
    """Draw a fault: healthy twins against faulty runs, with the true onset marked."""
    from firstbreak.lab.corpus import home
    from firstbreak.lab.figure import figure as drawn

    _known([plant])
    bases = catalogue()[plant].bases
    where = base or home(catalogue()[plant])
    if where not in bases:
        raise BadCall(f"{plant} is not made for {where!r}; it is for {', '.join(bases)}")
    with _one_line():
        output.write_text(drawn(_corpus(folder), (plant, where, bases[where][-1] if severity is None else severity)))


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
    "departed_stop": "departed, not harmful: advised to stop",
    "onset_error_median": "onset: median error, share of the run",
    "interval_coverage": "onset: interval holds it",
    "ece": "calibration error",
    "seconds_per_run": "seconds a run (median)",
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
    """A figure in words; a dash where the diagnoser gives no such answer."""
    if value is None:
        return "-"
    return str(value) if key in COUNTS else f"{value:.3f}" if key in SECONDS else f"{value:.1%}"


def _known(plants: Sequence[str]) -> None:
    for plant in plants:
        if plant not in catalogue():
            raise BadCall(f"no fault or healthy variant is called {plant!r}; `firstbreak lab list` shows them")


def _corpus(folder: Path) -> Path:
    if not any(folder.rglob("*.tar.xz")):
        raise BadCall(f"{folder}: no recorded runs in it; `firstbreak lab build -o {folder}` makes them")
    return folder


@contextmanager
def _one_line() -> Iterator[None]:
    """What a user can put right is said in one line: a missing package, an unknown name, runs that are not there."""
    try:
        yield
    except ModuleNotFoundError as error:
        extra = {"ray": "cluster", "rl_doctor": "bench", "rlwatch": "bench"}.get(str(error.name), "trainers")
        raise BadCall(f"{error.name} is not installed; pip install 'firstbreak[{extra}]'") from None
    except (ValueError, LookupError) as error:
        raise BadCall(str(error)) from None


@contextmanager
def _bar(what: str, total: int) -> Iterator[Callable[[int, str], None]]:
    """A progress bar on stderr with an estimate of what is left; yields what moves it."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    parts = (
        TextColumn(what),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*parts, TextColumn("{task.fields[note]}"), console=Console(stderr=True)) as progress:
        task = progress.add_task("", total=total, note="")
        yield lambda done, note: progress.update(task, completed=done, note=note)


def _finite(value: Any) -> Any:
    """The value as strict JSON can hold it: what is not finite is null."""
    match value:
        case dict():
            return {str(key): _finite(item) for key, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
        case float() if not math.isfinite(value):
            return None
        case _:
            return value
