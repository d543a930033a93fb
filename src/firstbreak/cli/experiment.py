"""firstbreak experiment init | list | plan | run | status"""

import json
import math
import shlex
from collections.abc import Sequence
from pathlib import Path
from textwrap import indent, wrap
from typing import Any

import click

from firstbreak import written
from firstbreak.cli import _options
from firstbreak.cli._output import BadCall, bar, say, write
from firstbreak.words import number, percent

SETTINGS = click.option(
    "--settings",
    "file",
    default="firstbreak.toml",
    show_default=True,
    type=click.Path(path_type=Path, dir_okay=False),
    help="The file with a section [experiment], which says how to start your training.",
)
FOLDER = click.option(
    "-o",
    "--folder",
    type=click.Path(path_type=Path, file_okay=False),
    help="The folder for trials and their record.  [default: firstbreak-experiments/<run>]",
)
SHOWN = 8  #: proposals in a plan
NOT_STARTED = "firstbreak experiment init --run "  #: what comes first, where no file says how the training is started
_WORD = {True: "yes", False: "no", None: "open"}
ALL_ANSWERS = 8  #: of an experiment with more questions, only those answered with yes are shown


@click.group("experiment")
def command() -> None:
    """Run the smallest experiment that separates the causes of a diagnosis, on your own trainer.

    A section [experiment] in firstbreak.toml says how to start your training; `firstbreak experiment init` writes it.
    """


@command.command("init", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.option("--run", "path", metavar="RUN", help="A run of this command: its settings, and where it lies.")
@SETTINGS
@_options.trainer
@click.option("--force", is_flag=True, help="Replace a section [experiment] that is there.")
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="SCRIPT [OPTIONS]...")
def init(path: str | None, file: Path, trainer: str | None, force: bool, words: tuple[str, ...]) -> None:
    """Write firstbreak.toml for a training script, from the command that starts it.

    The script's text is read, and not imported. A script with a parser of classes (TrlParser, HfArgumentParser, tyro) is started
    with --help. The section says which options of the script are which hyperparameters.
    """
    from firstbreak.cli._grouping import read_one
    from firstbreak.experiments.init import prepare

    before = file.read_text("utf-8") if file.exists() else ""
    kept = _without_section(before)
    if kept != before and not force:
        raise BadCall(f"{file} has a section [experiment]; --force replaces it")
    made = prepare(words, read_one(path, trainer) if path else None, Path.cwd())
    written.write(file, "\n".join(part for part in (kept.rstrip("\n"), made.toml) if part).encode())
    write("\n".join(_init_lines(made, file, path)))


def _without_section(text: str) -> str:
    """A TOML file without [experiment] and its sub-sections."""
    kept, inside = [], False
    for line in text.splitlines(keepends=True):
        if line.lstrip().startswith("["):
            inside = line.lstrip().startswith(("[experiment]", "[experiment."))
        if not inside:
            kept.append(line)
    return "".join(kept)


def _init_lines(made: Any, file: Path, path: str | None) -> list[str]:
    how = {
        "source": "It has no parser: a trial changes these places in a copy of its text.",
        "hydra": "It reads `name=value`.",
        "zoo": "It reads options, and hyperparameters after --hyperparams.",
        "yaml": "It reads a configuration file: a trial gets a changed copy.",
        "flags": "It reads options.",
    }
    lines = [f"{file} says how {made.script.path.name} is started. {how[made.script.syntax]}", ""]
    lines += [f"  {name:22} {option}" for name, option in made.mapped.items()]
    if made.left:
        more = f", and {len(made.left) - SHOWN} more" if len(made.left) > SHOWN else ""
        said = f"Not a known hyperparameter: {', '.join(made.left[:SHOWN])}{more}"
        lines += ["", *wrap(said, 80, subsequent_indent="  ")]
    if made.lacking:
        lines += ["", f"Add to {file}", *(f"  {line}" for line in made.lacking)]
    where = path or "RUN"
    return [*lines, "", f"Next: {shlex.join(['firstbreak', 'experiment', 'plan', where])}"]


@command.command("list")
@click.argument("name", required=False)
def list_(name: str | None) -> None:
    """List all experiments of the catalogue, or explain one."""
    from firstbreak.engine.catalogue import catalogue

    if name is None:
        click.echo("\n".join(f"{design.id:18} {design.title}" for design in catalogue().values()))
        return
    design = _design(name)
    asked = "\n".join(f"  {q.asks}\n{_table(q)}" for q in design.questions)
    click.echo(f"{design.id}: {design.doc}\n\n## Asked, with the probability of yes under each cause\n{asked}")


def _table(question: Any) -> str:
    from firstbreak.experiments.plan import probability

    counted = {name: f" ({yes} of {runs} in the lab)" for name, (yes, runs) in question.counted.items()}
    named = {name: probability(question, name) for name in question.yes.keys() | counted.keys()}
    rows = [
        f"    {percent(p):>6}  {name}{counted.get(name, '')}"
        for name, p in sorted(named.items(), key=lambda row: (-row[1], row[0]))
    ]
    return "\n".join([*rows, f"    {percent(question.otherwise):>6}  any other"])


@command.command()
@click.argument("path", metavar="RUN")
@SETTINGS
@FOLDER
@_options.trainer
@click.option("--all", "everything", is_flag=True, help="List experiments where nothing is accused as well.")
@click.option("--json", "as_json", is_flag=True, help="Write JSON, for programs.")
def plan(path: str, file: Path, folder: Path | None, trainer: str | None, everything: bool, as_json: bool) -> None:
    """List the experiments that separate the most probable causes of RUN best, per minute of compute.

    A run that the diagnosis lets go on needs none.
    """
    from firstbreak.cli._grouping import read_one
    from firstbreak.experiments import conduct
    from firstbreak.experiments.plan import named_first, worth_running
    from firstbreak.experiments.settings import ExperimentSettings, load

    run = read_one(path, trainer)
    settings = load(file) if file.exists() else ExperimentSettings(syntax="flags")
    place = folder or _folder(path)
    dx, proposals = _proposed(run, settings, place, everything)
    if as_json:
        causes = [{"id": c.id, "probability": round(c.probability, 4)} for c in dx.causes]
        found = [_proposal(p) for p in proposals or ()]
        write(json.dumps({"causes": causes, "proposals": found}, indent=2))
        return
    if proposals is None:
        write("\n".join(_no_plan_lines(path, dx.verdict.summary)))
        return
    possible = worth_running(proposals, dx.causes, named_first(dx))
    done = sorted(conduct.concluded(place / conduct.LEDGER))
    lines = _plan_lines(path, dx, proposals, possible, done, started=bool(settings.command))
    write("\n".join([*lines, *_early_lines(possible, run, settings)]))


def _proposed(run: Any, settings: Any, place: Path, everything: bool) -> tuple[Any, list[Any] | None]:
    """The diagnosis with the answers of experiments, and the proposals; None where nothing is accused, unless `everything`."""
    from firstbreak.engine.detection import check
    from firstbreak.engine.diagnose import diagnose
    from firstbreak.engine.inputs import Inputs
    from firstbreak.engine.rank import rank
    from firstbreak.experiments import conduct
    from firstbreak.experiments.plan import called_for, named_first, propose

    ledger, outcomes = place / conduct.LEDGER, check(run)
    known = conduct.evidence(place, run, outcomes)
    dx = diagnose(run, outcomes, known=known)
    if not (everything or called_for(dx)):
        return dx, None
    ranked, done, lengths = rank(Inputs(run), outcomes, known), conduct.concluded(ledger), conduct.lengths(ledger)
    return dx, propose(run, ranked, settings, done, lengths, named_first(dx))


def _early_lines(possible: Sequence[Any], run: Any, settings: Any) -> list[str]:
    """What is said of the proposed experiment where its trial would end before the break."""
    from firstbreak.experiments import conduct
    from firstbreak.experiments.overrides import CannotOverride

    if not possible:
        return []
    best = possible[0].design
    try:
        said = conduct.ends_before_the_break(best, run, settings, conduct.start(best, run, settings))
    except CannotOverride:
        return []
    return ["", *wrap(said, 80)] if said else []


def _no_plan_lines(path: str, summary: str) -> list[str]:
    why = "An experiment tells causes apart, and nothing is accused here: this run itself, as it goes on, tells most."
    again = shlex.join(["firstbreak", "experiment", "plan", path, "--all"])
    return [*wrap(summary, 80), "", *wrap(why, 80), f"All experiments: {again}"]


def _proposal(proposal: Any) -> dict[str, Any]:
    return {
        "id": proposal.design.id,
        "bits": round(proposal.bits, 4),
        "share": round(proposal.share, 4),
        "minutes": None if proposal.minutes is None else round(proposal.minutes, 2),
        "cannot": proposal.cannot or None,
        "power": _power(proposal.power),
    }


def _power(power: Any) -> dict[str, Any] | None:
    if power is None:
        return None
    seen = round(power.visible, 6) if math.isfinite(power.visible) else None
    return {"curve": power.curve, "points": power.points, "visible": seen, "moved": power.moved, "longer": power.longer}


def _plan_lines(
    path: str, dx: Any, proposals: Sequence[Any], possible: Sequence[Any], done: Sequence[str], *, started: bool
) -> list[str]:
    """`possible`: the proposals that are worth running. `started`: whether it is known how the training is started."""
    from firstbreak.experiments.plan import named_first

    causes, named = dx.causes, named_first(dx)
    lines = ["Most probable causes", *(f"  {percent(c.probability):>6}  {c.id}" for c in causes), ""]
    if done:
        lines += [f"Done and counted: {', '.join(done)}", ""]
    if possible:
        if not possible[0].telling:
            said = f"{causes[0].id} is as good as certain. This experiment tells hardly more, and confirms it:"
            lines += [*wrap(said, 80), ""]
        lines.append(f"{'Experiment':18} {'gain':>9} {'cost':>6} {'minutes':>8}")
        for p in possible[:SHOWN]:
            minutes = "?" if p.minutes is None else f"{p.minutes:.1f}"
            line = f"{p.design.id:18} {p.bits:4.2f} bits {percent(p.share):>6} {minutes:>8}  {p.design.title}"
            lines.append(shorten(line, 80))
        if any(p.power for p in possible[:SHOWN]):
            lines += ["", "What a trial can show, with a probability of 80 %"]
            lines += [line for p in possible[:SHOWN] if p.power for line in _shows(p)]
        command = shlex.join(["firstbreak", "experiment", "run", possible[0].design.id, path])
        cannot = next((f" (not possible here: {p.cannot})" for p in proposals if p.cannot and p.design.id == named), "")
        lines += ["", *wrap(f"Do first: {dx.verdict.do_first}{cannot}", 80)]
        lines += ["", f"Next: {command if started else NOT_STARTED + path + ' SCRIPT'}"]
    else:
        lines.append("No possible experiment gives more information.")
    impossible = [p for p in proposals if p.cannot and p.bits >= 0.1]
    if impossible:
        best = sorted(impossible, key=lambda p: -p.bits)[:3]
        lines += ["", "Not possible here"]
        for p in best:
            said = f"{p.design.id} ({p.bits:.2f} bits): {p.cannot}"
            lines += wrap(said, 80, initial_indent="  ", subsequent_indent="    ")
    return lines


def _shows(proposal: Any) -> list[str]:
    """What the trials of an experiment can show, and the length that would do where they are too short."""
    power = proposal.power
    points = "1 point" if power.points == 1 else f"{power.points} points"
    visible = f"differences from {number(power.visible)} on" if math.isfinite(power.visible) else "no difference"
    run = f" (the run moved by {number(power.moved)})" if power.moved else ""
    said = f"{proposal.design.id}: {power.curve}, {points}: {visible}{run}"
    if power.longer is not None:
        said += f"; too short to tell: {_would_do(power.longer)}"
    return wrap(said, 80, initial_indent="  ", subsequent_indent="    ")


def _would_do(share: float) -> str:
    """The length of a trial that would do."""
    if share > 1:
        return "not even the run's own length would do; evaluate more often, or on more problems"
    return f"--length {math.ceil(100 * share) / 100:g} would do"


@command.command("run")
@click.argument("name")
@click.argument("path", metavar="RUN")
@SETTINGS
@FOLDER
@_options.trainer
@_options.count("--seeds", 1, help="Number of seeds of each arm; a claim that A beats B needs 3.")
@_options.count("--processes", 1, help="Number of trials at a time on this machine.")
@click.option("--minutes", type=float, help="Time limit of one trial; replaces the limit in the settings.")
@click.option(
    "--length",
    type=click.FloatRange(0, 1, min_open=True),
    help="Length of a trial, as a share of the original run's steps; replaces that of the experiment.",
)
@click.option("--dry-run", is_flag=True, help="Print the exact commands, and run nothing.")
@click.option("--ray", "address", help="Run the trials on this Ray cluster: auto, local or ray://host:port.")
@click.option("--cpus", type=float, default=1, show_default=True, help="CPUs of one trial on Ray.")
@click.option("--gpus", type=float, default=0, show_default=True, help="GPUs of one trial on Ray.")
def run_(
    name: str,
    path: str,
    file: Path,
    folder: Path | None,
    trainer: str | None,
    seeds: int,
    processes: int,
    minutes: float | None,
    length: float | None,
    dry_run: bool,
    address: str | None,
    cpus: float,
    gpus: float,
) -> None:
    """Run the experiment NAME for RUN, read the results, and update the diagnosis.

    NAME is a name from `firstbreak experiment list`, or `next` for the best one of the plan. Finished trials are not run
    again, so an interrupted experiment continues where it stopped.
    """
    from dataclasses import replace

    from firstbreak.cli._grouping import read_one
    from firstbreak.experiments import conduct
    from firstbreak.experiments.overrides import CannotOverride
    from firstbreak.experiments.settings import load

    run, settings = read_one(path, trainer), load(file)
    if minutes is not None:
        settings = replace(settings, limits=replace(settings.limits, minutes=minutes))
    place = folder or _folder(path)
    design = _design(name) if name != "next" else _next(run, settings, place)
    if length is not None:
        design = replace(design, length=length)
    seeds = max(seeds, design.seeds)
    execute = conduct.local(processes) if address is None else _on_ray(address, cpus, gpus)
    try:
        begins = conduct.start(design, run, settings)
        if early := conduct.ends_before_the_break(design, run, settings, begins):
            say(early)
        if dry_run:
            arms = conduct.prepare(design, run, settings, place, seeds, begins)
            commands = (_command(trial) for trials in arms.values() for trial in trials)
            write("\n\n".join([f"# start: {begins.reason}", *commands]))
            return
        with bar("trials") as advance:
            told = _telling(advance)
            conclusion = conduct.conduct(design, run, settings, place, seeds=seeds, execute=execute, **told)
    except CannotOverride as error:
        raise BadCall(f"{design.id}: {error}") from None
    write("\n".join(_conclusion_lines(conclusion)))


def _telling(advance: Any) -> dict[str, Any]:
    """What shows how far the trials are, and how each ended."""
    return {
        "report": lambda r: say(f"{r.trial}: {r.state.replace('_', ' ')} after {number(round(r.seconds, 1))} s"),
        "moved": advance,
    }


@command.command()
@click.argument("path", metavar="RUN")
@SETTINGS
@FOLDER
@_options.trainer
@_options.count("--processes", 1, help="Number of trials at a time on this machine.")
def reproduce(path: str, file: Path, folder: Path | None, trainer: str | None, processes: int) -> None:
    """Reproduce RUN in small and short trials, and answer five questions about its parts in one table.

    A smaller model, batch and set of prompts, and a tenth of the steps, where the trainer has options for them.
    """
    from firstbreak.cli._grouping import read_one
    from firstbreak.experiments import conduct
    from firstbreak.experiments.reproduce import reproduce as conducted
    from firstbreak.experiments.settings import load

    run, settings = read_one(path, trainer), load(file)
    with bar("trials") as advance:
        how = {"execute": conduct.local(processes), **_telling(advance)}
        small, answers = conducted(run, settings, folder or _folder(path), **how)
    changed = ", ".join(f"{name} = {value}" for name, value in small.items())
    lines = [*wrap(f"Minimal reproduction: {changed}", 80), ""]
    for asks, answer in answers.items():
        first, *more = wrap(answer.reason, 27)
        lines.append(f"{asks:43} {_WORD[answer.yes]:6} {first}".rstrip())
        lines += [" " * 51 + line for line in more]
    write("\n".join([*lines, "", "These answers do not change the ranking of causes."]))


def _command(trial: Any) -> str:
    """A command for a shell, with its environment variables and the files that are written for it."""
    variables = [f"{k}={shlex.quote(v)}" for k, v in trial.environment.items()]
    files = [f"# {trial.folder / name}:\n{indent(content, '#   ')}".rstrip() for name, content in trial.files.items()]
    command = " ".join([*variables, shlex.join(trial.arguments)])
    return "\n".join([f"# {trial.name}", *files, f"cd {shlex.quote(trial.directory)} && \\", command])


def shorten(line: str, width: int) -> str:
    """The line, cut to the width of a terminal."""
    return line if len(line) <= width else line[: width - 3].rstrip() + "..."


def _conclusion_lines(conclusion: Any) -> list[str]:
    design, before = conclusion.design, {c.id: c.probability for c in conclusion.before}
    lines = [f"{design.id}: {design.title}", ""]
    if conclusion.failure:
        said = [*(f"  {line}" for line in conclusion.last_lines), ""] if conclusion.last_lines else []
        again = "The experiment stays in the plan: run the same command again once this is corrected."
        return [*lines, *wrap(f"Not counted: {conclusion.failure}", 80), "", *said, *wrap(again, 80)]
    asked = list(zip(design.questions, conclusion.answers, strict=True))
    brief = len(asked) > ALL_ANSWERS
    for question, answer in asked:
        if answer.yes or not brief:
            lines += [
                f"  {question.asks} {_WORD[answer.yes]}",
                *wrap(answer.reason, 80, initial_indent="    ", subsequent_indent="    "),
            ]
    if brief:
        no, open_ = (sum(answer.yes is which for _, answer in asked) for which in (False, None))
        lines.append(
            f"  {no} of {len(asked)} questions are answered with no, {open_} are open; the record of the experiment holds all"
        )
    if conclusion.longer is not None:
        again = f"{design.id} was too short to tell: {_would_do(conclusion.longer)}"
        lines += ["", *wrap(again, 80)]
    lines += ["", f"{conclusion.decision.decided.value}, for {percent(conclusion.share)} of the original run's steps"]
    lines += wrap(conclusion.held_out, 80)
    if conclusion.claim is not None:
        lines += wrap(f"A better than B? {conclusion.claim.decided.value}: {conclusion.claim.reason}", 80)
    lines += ["", "Cause" + " " * 28 + "before    after"]
    for cause in conclusion.after.causes:
        lines.append(f"{cause.id:30} {percent(before.get(cause.id, 0)):>8} {percent(cause.probability):>8}")
    then = design.then.get(_WORD[conclusion.answers[0].yes], ())
    if then:
        lines += ["", "Next on this branch", *(line for name in then for line in _rung(name, conclusion.after.run))]
    return [*lines, "", *wrap(f"Do first: {conclusion.after.verdict.do_first}", 80)]


def _rung(name: str, run: Any) -> list[str]:
    """The next step of a ladder: its command, or the code that takes its place where the trainer has no option for it."""
    from firstbreak.engine.catalogue import catalogue
    from firstbreak.engine.inputs import Inputs

    design = catalogue()[name]
    if not design.families.include(Inputs(run).family):
        return []
    code = design.code.get(run.trainer or "", "")
    if code:
        return [f"  {design.title}; in your training script:", indent(code.rstrip(), "    ")]
    return [f"  {design.title}:", f"    {shlex.join(['firstbreak', 'experiment', 'run', name, run.path])}"]


@command.command()
@click.argument("path", metavar="RUN")
@FOLDER
@_options.trainer
@click.option("--format", "format_", type=click.Choice(("terminal", "json", "html", "markdown")), default="terminal")
def status(path: str, folder: Path | None, trainer: str | None, format_: str) -> None:
    """Show the diagnosis of RUN, including the results of its experiments."""
    from firstbreak.cli._grouping import read_one
    from firstbreak.cli.diagnose import report
    from firstbreak.engine.diagnose import diagnose
    from firstbreak.experiments.conduct import evidence

    run = read_one(path, trainer)
    report([diagnose(run, known=evidence(folder or _folder(path), run))], format_)


def _folder(path: str) -> Path:
    """The default folder of a run: its name, with a hash of its path."""
    import hashlib

    place = Path(path).resolve()
    return Path("firstbreak-experiments") / f"{place.name}-{hashlib.sha256(str(place).encode()).hexdigest()[:6]}"


def _design(name: str) -> Any:
    import difflib

    from firstbreak.engine.catalogue import catalogue

    if name not in catalogue():
        near = difflib.get_close_matches(name, catalogue(), n=2, cutoff=0.5)
        remedy = f"did you mean {' or '.join(near)}?" if near else "`firstbreak experiment list` lists them"
        raise BadCall(f"no experiment is called {name!r}; {remedy}")
    return catalogue()[name]


def _next(run: Any, settings: Any, place: Path) -> Any:
    from firstbreak.experiments.plan import named_first, worth_running

    dx, proposals = _proposed(run, settings, place, everything=True)
    possible = worth_running(proposals or (), dx.causes, named_first(dx))
    best = next((p for p in (*possible, *(proposals or ())) if not p.cannot), None)
    if best is None:
        raise BadCall("no experiment is possible; `firstbreak experiment plan` says why")
    return best.design


def _on_ray(address: str, cpus: float, gpus: float) -> Any:
    from firstbreak.experiments.ray import on_ray

    try:
        return on_ray(address, cpus=cpus, gpus=gpus)
    except ModuleNotFoundError:
        raise BadCall("ray is not installed; pip install 'firstbreak[cluster]'") from None
