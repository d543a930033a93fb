"""Runs an experiment: prepare the trials, run them, read their logs, answer the questions, update the diagnosis.

All files of an original run are in one folder:

    <folder>/ledger.jsonl                   what was planned, run, answered and concluded, one line each, append-only
    <folder>/<experiment>/firstbreak-context.json   code, packages and machine (secrets masked)
    <folder>/<experiment>/<arm>-<seed>/     one trial: command, output, result, and the trainer's files
"""

import datetime
import json
import math
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from firstbreak import context
from firstbreak.engine.catalogue import Design, catalogue
from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.families import Family
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.questions import CONTROL, TREATED, Answer, Arms, Question, curve_of
from firstbreak.engine.rank import rank
from firstbreak.engine.stats import sequential
from firstbreak.engine.stats.sequential import Decided, Decision
from firstbreak.experiments import plan, runner
from firstbreak.experiments.overrides import HOOK, CannotOverride, config_file, in_force, render
from firstbreak.experiments.plan import answerable, duration, length, logged_steps, planned
from firstbreak.experiments.resume import FROM_THE_BEGINNING, StartPoint, start_of
from firstbreak.experiments.runner import Result, Trial
from firstbreak.experiments.settings import ExperimentSettings
from firstbreak.live import hooks
from firstbreak.model import EMPTY, Diagnosis, Outcome, RankedCause, Run, Weight
from firstbreak.readers import Unreadable
from firstbreak.readers.follow import Follower
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read
from firstbreak.values import dataclass
from firstbreak.words import number

LEDGER = "ledger.jsonl"
LAST_LINES = 8  #: of the output of a failed trial that are shown
MEASURED = ("watch.jsonl", "settings.jsonl", "weights.jsonl")  #: what hooks write into a trial's folder
CHECK_SECONDS = 2.0  #: seconds between two interim analyses of running arms

EvidenceByCause = Mapping[str, Sequence[Weight]]


class Execute(Protocol):
    """A function that runs trials: `local` on this machine, `ray.on_ray` on a cluster."""

    def __call__(
        self, trials: list[Trial], *, retries: int, stop: Callable[[], bool], report: Callable[[Result], None]
    ) -> list[Result]: ...


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """The result of an experiment."""

    design: Design
    answers: tuple[Answer, ...]  #: to the questions of the design, in order
    failure: str  #: how a trial failed, so that nothing is counted; empty if none did
    last_lines: tuple[str, ...]  #: of the output of the trial that failed
    #: the share of the original run's steps that would do, where the trials were too short to tell
    longer: float | None
    decision: Decision  #: go, no-go or cannot tell: the answer to the first question
    claim: Decision | None  #: whether the treated arm is better over seeds; None without a control arm
    held_out: str  #: the evaluation score of each arm before and after its training; empty where it was not measured
    trials: tuple[Result, ...]
    share: float  #: compute used, as a share of the original run
    before: tuple[RankedCause, ...]
    after: Diagnosis


# --- trials ------------------------------------------------------------------------------------------------------------


def start(design: Design, run: Run, settings: ExperimentSettings) -> StartPoint:
    """Where the trials start. Raises `CannotOverride` if the length of the run is unknown."""
    changed = {name.removesuffix("?") for overrides in design.arms.values() for name in overrides}
    steps = length(design, run, settings)["total_steps"] * logged_steps(run, settings)
    return start_of(run, settings, steps, changed)


def ends_before_the_break(design: Design, run: Run, settings: ExperimentSettings, begins: StartPoint) -> str:
    """What a trial that ends before the break can answer, and the length or the checkpoint that would do. Empty for others."""
    if begins.missed is None:
        return ""
    at, earliest = begins.missed
    unit = logged_steps(run, settings)
    steps, whole = length(design, run, settings)["total_steps"] * unit, planned(run, settings) * unit
    share = math.ceil(100 * (at + steps) / whole) / 100
    longer = f"--length {share:g} goes on as long behind the break" if share <= 1 else "--length 1 is the whole run"
    return (
        f"{design.id}: the trial ends at step {number(steps)}, before the break at step {number(at)}: it can only answer for the "
        f"beginning. {longer}; a checkpoint from before step {number(earliest)} would let a short trial begin there."
    )


def prepare(
    design: Design,
    run: Run,
    settings: ExperimentSettings,
    folder: Path,
    seeds: int = 1,
    begins: StartPoint = FROM_THE_BEGINNING,
) -> dict[str, list[Trial]]:
    """Arm -> one trial for each seed. Raises `CannotOverride` if an option is unknown, or a limit is too low."""
    values_of_arms = plan.arms(design, run, settings)
    _check_cost(design, run, settings, seeds, begins)
    return {
        arm: [_trial(folder / design.id / f"{arm}-{i}", i, values, run, settings, begins) for i in range(seeds)]
        for arm, values in values_of_arms.items()
    }


def _trial(
    folder: Path, i: int, values: Mapping[str, Any], run: Run, settings: ExperimentSettings, begins: StartPoint
) -> Trial:
    place = folder.resolve()
    first = in_force("seed", run, settings)
    seeded = {"seed": int(first or 0) + i} if i else {}  # the first seed is the seed of the original run
    wanted = begins.lengthened(values, logged_steps(run, settings)) | seeded
    inside = begins.hook_values(wanted, run, planned(run, settings), other_seed=bool(i))
    rendered = render(wanted, run, settings, begins.options, inside)
    words = {"{folder}": str(place), "{config}": str(place / config_file(settings)), "{python}": sys.executable}
    if rendered.arguments and "{overrides}" not in settings.command:
        raise CannotOverride("the command has no place for options: add {overrides} to `command` in [experiment]")
    arguments = [w for word in settings.command for w in (rendered.arguments if word == "{overrides}" else [word])]
    environment = {**settings.environment, **rendered.environment, "FIRSTBREAK_FOLDER": str(place)}
    if HOOK in rendered.environment:
        environment["PYTHONPATH"] = hooks.python_path({**os.environ, **environment})
    limits = settings.limits
    return Trial(
        name=folder.name,
        folder=place,
        arguments=tuple(_filled(word, words) for word in arguments),
        directory=_filled(str(settings.directory), words) if settings.in_trial else str(settings.directory.resolve()),
        environment={key: _filled(value, words) for key, value in environment.items()},
        files=rendered.files,
        seconds=None if limits.minutes is None else 60 * limits.minutes,
        bytes=None if limits.disk_gb is None else 1e9 * limits.disk_gb,
    )


def _filled(word: str, words: Mapping[str, str]) -> str:
    for placeholder, value in words.items():
        word = word.replace(placeholder, value)
    return word


def _check_cost(design: Design, run: Run, settings: ExperimentSettings, seeds: int, begins: StartPoint) -> None:
    """Refuse an experiment above the cost limit. If the duration of the run is unknown, the time limit is used."""
    limits, minutes = settings.limits, duration(run)
    if limits.cost is None or limits.rate is None:
        return
    trials = seeds * len(design.arms)
    steps = length(design, run, settings)["total_steps"] + begins.lead / logged_steps(run, settings)
    each = minutes * steps / planned(run, settings) if minutes else limits.minutes
    if each is None:
        raise CannotOverride("the duration of a trial is unknown: set limits.minutes, or remove limits.cost")
    cost = trials * each / 60 * limits.rate
    if cost > limits.cost:
        raise CannotOverride(
            f"{trials} trials of {each:.0f} min cost about {cost:.2f}; this is more than limits.cost = {limits.cost:g}"
        )


# --- reading back ------------------------------------------------------------------------------------------------------


def logs(trial: Trial, settings: ExperimentSettings) -> Path:
    """The path of a trial's metrics: the one run there, where the trainer gives its folder a name of its own."""
    place = settings.directory / settings.logs.replace("{folder}", str(trial.folder))
    found = find_runs(place) if place.is_dir() else []
    return found[0] if len(found) == 1 else place


def read_back(
    design: Design,
    arms: Mapping[str, Sequence[Trial]],
    results: Sequence[Result],
    run: Run,
    settings: ExperimentSettings,
    begins: StartPoint = FROM_THE_BEGINNING,
) -> Arms:
    """The arms, with the logs of all trials that have a final result."""
    final = {result.trial for result in results if result.final}
    runs: dict[str, list[Run]] = {arm: [] for arm in arms}
    folders: dict[str, list[Path]] = {arm: [] for arm in arms}
    for arm, trials in arms.items():
        for trial in trials:
            if trial.name in final:
                folders[arm].append(trial.folder)
                runs[arm].append(begins.placed(_read(logs(trial, settings), run.trainer)))
    return _arms(design, run, settings, begins)(runs=runs, folders=folders)


def _read(place: Path, trainer: str | None) -> Run:
    """A trial's run; an empty one where the trial wrote nothing that is one."""
    try:
        return read(place, trainer=trainer)
    except Unreadable:
        return Run(path=str(place), trainer=trainer)


def _arms(design: Design, run: Run, settings: ExperimentSettings, begins: StartPoint) -> Callable[..., Arms]:
    """Makes arms, of `runs` and `folders`."""
    untouched, values = plan.untouched(design, run, settings), plan.arms(design, run, settings)
    made = partial(
        Arms, original=untouched(run), untouched=untouched, first_break=lambda run: diagnose(run).first_break
    )
    return partial(made, overrides=values, since=begins.since)


class InterimAnalysis:
    """Interim analysis of running arms: True once all questions are answered, so that the trials can be stopped.

    `moved` is told how many trials are done, in trials (1.5: one and a half), whenever their logs have been read.
    """

    def __init__(
        self,
        design: Design,
        arms: Mapping[str, Sequence[Trial]],
        run: Run,
        settings: ExperimentSettings,
        begins: StartPoint = FROM_THE_BEGINNING,
        moved: Callable[[float], None] = lambda done: None,
    ) -> None:
        self._begins, self._moved = begins, moved
        self._steps = length(design, run, settings)["total_steps"] * logged_steps(run, settings) + begins.lead
        self._done = {trial.name: 0.0 for of_arm in arms.values() for trial in of_arm}  #: the share of each trial
        self._questions = answerable(design, run, settings)
        self._seen = partial(_arms(design, run, settings, begins), ended=False)
        self._trials = {
            arm: [(t.name, t.folder, Follower(logs(t, settings), trainer=run.trainer)) for t in ts]
            for arm, ts in arms.items()
        }
        self._lock, self._checked_at, self._answered = threading.Lock(), time.monotonic(), False

    def __call__(self) -> bool:
        with self._lock:
            if not self._answered and time.monotonic() - self._checked_at > CHECK_SECONDS:
                self._answered = self._all_answered()
                self._checked_at = time.monotonic()
            return self._answered

    def ended(self, trial: str) -> None:
        """A trial needs no more time, however many steps it has made."""
        self._done[trial] = 1.0
        self._moved(sum(self._done.values()))

    def _all_answered(self) -> bool:
        runs: dict[str, list[Run]] = {}
        unread = False
        for arm, trials in self._trials.items():
            for name, _, follower in trials:
                try:
                    follower.update()
                    trial = self._begins.placed(follower.run())
                except Unreadable:  # no logs yet
                    unread = True
                    continue
                runs.setdefault(arm, []).append(trial)
                share = ((trial.last_step or 0.0) - self._begins.step) / self._steps
                self._done[name] = max(self._done[name], min(share, 1.0))
        self._moved(sum(self._done.values()))
        if unread:
            return False
        folders = {arm: [folder for _, folder, _ in trials] for arm, trials in self._trials.items()}
        so_far = self._seen(runs=runs, folders=folders)
        return bool(self._questions) and all(q.answer(so_far).yes is not None for q in self._questions)


# --- conclusions -------------------------------------------------------------------------------------------------------


def conduct(
    design: Design,
    run: Run,
    settings: ExperimentSettings,
    folder: Path,
    *,
    seeds: int = 1,
    execute: Execute,
    report: Callable[[Result], None] = lambda result: None,
    moved: Callable[[float, int], None] = lambda done, trials: None,
    begins: StartPoint | None = None,
) -> Conclusion:
    """Run an experiment of the catalogue. Trials with a stored result in this folder are not run again.

    `begins`: where the trials start, if not from the last checkpoint before the break.

    `report` is told how each trial ended, `moved` how many of the trials are done, the running ones by their steps.
    """
    begins = begins or start(design, run, settings)
    arms = prepare(design, run, settings, folder, seeds, begins)
    trials = [trial for of_arm in arms.values() for trial in of_arm]
    ledger = folder / LEDGER
    context.record(folder / design.id, config={"experiment": design.id, "original": run.path, "seeds": seeds})
    how = {"seeds": seeds, "start": begins.reason, "commands": {t.name: t.arguments for t in trials}}
    enter(ledger, "planned", experiment=design.id, run=run.path, **how)
    interim = InterimAnalysis(design, arms, run, settings, begins, lambda done: moved(done, len(trials)))

    def ended(result: Result) -> None:
        enter(ledger, "trial", experiment=design.id, **asdict(result))
        report(result)
        interim.ended(result.trial)

    results = execute(trials, retries=settings.limits.retries, stop=interim, report=ended)
    seen = read_back(design, arms, results, run, settings, begins)
    answers = ask(design, run, settings, seen, arms, results)
    failed = next((r.trial for r in results if not r.final), "")
    failure = _obstacle(arms, results)
    if not failure:
        failed, failure = _silent(arms, seen, settings)
    told = any(a.yes is not None for a in answers)
    made = length(design, run, settings)["total_steps"] / planned(run, settings)
    longer = None if failure else _longer(answers, made)
    if told:  # a trial that failed, or was too short, says nothing, and what an earlier one said still holds
        pairs = zip(design.questions, answers, strict=True)
        asked = [{"asks": q.asks, "yes": a.yes, "reason": a.reason} for q, a in pairs]
        enter(ledger, "answered", experiment=design.id, answers=asked)
    outcomes = check(run)
    before = rank(Inputs(run), outcomes, evidence(folder, run, outcomes, leave_out=design.id))
    after = diagnose(run, outcomes, known=evidence(folder, run, outcomes))
    share = compute(seen, run, settings, begins)
    conclusion = Conclusion(
        design=design,
        answers=answers,
        failure=failure,
        last_lines=_last_lines(failed, arms) if failed else (),
        longer=longer,
        decision=_decision(answers[0]),
        claim=_claim(seen, design),
        held_out=_held_out(seen, design),
        trials=tuple(results),
        share=share,
        before=before,
        after=after,
    )
    enter(
        ledger,
        # the plan keeps an experiment that was not concluded
        "not_counted" if failure else "too_short" if longer and not told else "concluded",
        experiment=design.id,
        decision=conclusion.decision.decided.value,
        reason=conclusion.decision.reason,
        held_out=conclusion.held_out,
        share=share,
        length=longer,
        before={c.id: round(c.probability, 4) for c in before[:5]},
        after={c.id: round(c.probability, 4) for c in after.causes},
    )
    return conclusion


def _longer(answers: Sequence[Answer], share: float) -> float | None:
    """The length with which the questions would have answers that the trials were too short for."""
    factors = [a.needed / max(a.n, 1) for a in answers if a.yes is None and a.needed > a.n]
    return share * max(factors) if factors else None


def concluded(ledger: Path) -> set[str]:
    """The experiments whose last trials were counted."""
    return {name for name, entry in _ends(ledger).items() if entry["event"] == "concluded"}


def lengths(ledger: Path) -> dict[str, float]:
    """Experiment -> the share of the original run's steps that would do, where its last trials were too short to tell."""
    ended = _ends(ledger).items()
    return {name: min(1.0, entry["length"]) for name, entry in ended if entry["event"] == "too_short"}


def _ends(ledger: Path) -> dict[str, dict[str, Any]]:
    ends = ("concluded", "too_short", "not_counted")
    return {entry["experiment"]: entry for entry in entries(ledger) if entry["event"] in ends}


def compute(seen: Arms, run: Run, settings: ExperimentSettings, begins: StartPoint = FROM_THE_BEGINNING) -> float:
    """Steps of all arms, as a share of the original run's steps."""
    made = (max(0.0, (r.last_step or 0.0) - begins.step) for of_arm in seen.runs.values() for r in of_arm)
    return sum(made) / (planned(run, settings) * logged_steps(run, settings))


def ask(
    design: Design,
    run: Run,
    settings: ExperimentSettings,
    seen: Arms,
    arms: Mapping[str, Sequence[Trial]],
    results: Sequence[Result],
) -> tuple[Answer, ...]:
    """The answer to every question of the design. An answer is open, with a reason, if the arms cannot answer the question."""
    obstacle = _obstacle(arms, results) or _stood_still(seen)
    recorded, family = answerable(design, run, settings), Inputs(run).family
    return tuple(
        Answer(yes=None, reason=obstacle)
        if obstacle
        else q.answer(seen)
        if q in recorded
        else Answer(yes=None, reason=plan.without_measure(design, run, settings, q.needed) or _unasked(q, family))
        for q in design.questions
    )


def _unasked(question: Question, family: Family) -> str:
    if not question.families.include(family):
        return f"this question is only {question.families}"
    return f"the original run does not log {question.needed}"


def _obstacle(arms: Mapping[str, Sequence[Trial]], results: Sequence[Result]) -> str:
    """Why the experiment has no conclusion. Empty if it has one."""
    if failed := next((r for r in results if not r.final), None):
        last = "".join(_last_lines(failed.trial, arms)[-1:])
        detail = failed.detail or f"exit code {failed.exit_code}: {last}"
        return f"trial {failed.trial} {failed.state.replace('_', ' ')} ({detail}); see its output.txt"
    for trial in (t for of_arm in arms.values() for t in of_arm):
        acts = json.loads(trial.environment.get(HOOK, "{}")).keys() - {"watch"}  # measurements change nothing
        missed = acts - {entry["intervention"] for entry in entries(trial.folder / "interventions.jsonl")}
        if "resumed" in missed:
            return f"trial {trial.name} did not resume from the checkpoint: the script must load the file that its option names"
        if missed:
            return "the hooks did not change the trainer: name an option for this change in [experiment.options]"
    return ""


def _silent(arms: Mapping[str, Sequence[Trial]], seen: Arms, settings: ExperimentSettings) -> tuple[str, str]:
    """A trial that ended and logged nothing, neither a curve nor what hooks measure; and what to look at. Or twice nothing."""
    for arm, trials in arms.items():
        for trial, run in zip(trials, seen.runs.get(arm, ()), strict=False):
            if not run.series and not any((trial.folder / name).exists() for name in MEASURED):
                said = f"trial {trial.name} ended and logged no metric in {logs(trial, settings)}; see its output.txt, and `logs`"
                return trial.name, f"{said} in [experiment]"
    return "", ""


def _stood_still(seen: Arms) -> str:
    """The arm that made no step after the checkpoint, because its trainer counts the steps before the checkpoint. Or empty."""
    went_on = seen.since > -np.inf
    arm = next((arm for arm, runs in seen.runs.items() if went_on and any(r.last_step is None for r in runs)), None)
    return f"arm {arm} logged no step after the checkpoint; see its output.txt" if arm else ""


def _last_lines(failed: str, arms: Mapping[str, Sequence[Trial]]) -> tuple[str, ...]:
    """The last lines of a trainer's output, of which the last one is usually the error."""
    (folder,) = [t.folder for of_arm in arms.values() for t in of_arm if t.name == failed]
    output = folder / "output.txt"
    text = output.read_text("utf-8", "replace").strip() if output.exists() else ""
    lines = ("".join(c for c in line if c.isprintable())[:200] for line in text.splitlines()[-LAST_LINES:])
    return tuple(line for line in lines if line.strip())


def _decision(answer: Answer) -> Decision:
    decided = {True: Decided.GO, False: Decided.NO_GO, None: Decided.CANNOT_TELL}[answer.yes]
    return Decision(decided=decided, reason=answer.reason, interval=answer.interval or (-np.inf, np.inf), n=answer.n)


def _claim(seen: Arms, design: Design) -> Decision | None:
    """Whether the treated arm's score is better than the control's. One number for each seed: the mean difference."""
    if design.control is None:
        return None
    pairs = zip(seen.judged(TREATED), seen.judged(CONTROL), strict=False)
    curves = [(curve_of(t, "score"), curve_of(c, "score")) for t, c in pairs]
    means = [t.finite.values.mean() - c.finite.values.mean() for t, c in curves if t is not None and c is not None]
    return sequential.claim(np.array(means))


def _held_out(seen: Arms, design: Design) -> str:
    """The first and the last evaluation of each arm that trains, by a measure that the experiment does not change."""
    curves = {arm: seen.curve("eval_score", arm) for arm in design.arms if design.trains}
    told = [
        f"{arm} {number(c.values[0])} -> {number(c.values[-1])} (step {number(c.steps[0])} to {number(c.steps[-1])})"
        for arm, c in curves.items()
        if c is not None and len(c) > 1
    ]
    names = {c.name for c in curves.values() if c is not None}
    return f"Held-out score ({', '.join(sorted(names))}), before -> after: {', '.join(told)}" if told else ""


def evidence(folder: Path, run: Run, outcomes: Sequence[Outcome] | None = None, leave_out: str = "") -> EvidenceByCause:
    """The evidence for each candidate from the experiments in the folder's ledger. The last answers of each experiment count.

    `outcomes`: those of `check(run)`. One fact is counted once, although an experiment reads it again, or two measure it: then
    the newest answer counts.
    """
    last: dict[str, Sequence[Mapping[str, Any]]] = {}
    for e in entries(folder / LEDGER):
        if e["event"] == "answered":
            last.pop(e["experiment"], None)
            last[e["experiment"]] = e["answers"]
    if not last:
        return EMPTY
    outcomes = check(run) if outcomes is None else outcomes
    ranked = rank(Inputs(run), outcomes)
    candidates = [c.id for c in ranked]
    found: dict[str, list[Weight]] = {}
    measured: set[str] = set()  # questions that ask what the trained policy is, whichever experiment asks them
    for name, answers in reversed(last.items()):
        design = catalogue().get(name)
        if design is None or name == leave_out:
            continue
        by_question = {a["asks"]: Answer(yes=a["yes"], reason=a["reason"]) for a in answers}
        for question in design.questions:
            if question.asks in by_question and question.asks not in measured:
                measured |= set() if design.trains else {question.asks}
                used, asked = plan.already_used(question, ranked, outcomes, run), plan.as_asked(question, ranked, run)
                for candidate, weight in plan.weigh(name, asked, by_question[question.asks], candidates, used).items():
                    found.setdefault(candidate, []).append(weight)
    return found or EMPTY


# --- the record --------------------------------------------------------------------------------------------------------


def enter(ledger: Path, event: str, **what: Any) -> None:
    """Append one line with the time to the ledger."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    line = json.dumps({"time": now, "event": event, **what}, default=str) + "\n"
    ledger.parent.mkdir(parents=True, exist_ok=True)
    with ledger.open("a", encoding="utf-8") as lines:
        lines.write(line)


def entries(ledger: Path) -> list[dict[str, Any]]:
    """Every complete line of the ledger. A line that a crash has cut is left out."""
    found = []
    for line in ledger.read_text("utf-8").splitlines() if ledger.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def local(processes: int) -> Execute:
    """A function that runs trials on this machine, `processes` at the same time."""
    return partial(runner.run_all, processes=processes)
