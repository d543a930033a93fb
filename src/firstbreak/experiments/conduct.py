"""From a design to an updated diagnosis: prepare the trials, run them, read them back, ask the questions, keep the record.

Everything lies in one folder for each original run:

    <folder>/ledger.jsonl                   what was planned, run, answered and concluded, one line each, append-only
    <folder>/<experiment>/firstbreak-context.json   what it was made with (code, packages, machine; secrets masked)
    <folder>/<experiment>/<arm>-<seed>/     one trial: its command, output, result, and whatever the trainer wrote
"""

from __future__ import annotations

import datetime
import json
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from firstbreak import context
from firstbreak.engine.check import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.follow import Follower
from firstbreak.engine.rank import rank
from firstbreak.engine.read import read
from firstbreak.experiments import decide, plan, runner
from firstbreak.experiments.catalogue import Design, catalogue
from firstbreak.experiments.decide import Decision, Verdict
from firstbreak.experiments.overrides import HOOK, CannotOverride, in_force, render
from firstbreak.experiments.plan import answerable, duration, length, planned, weigh
from firstbreak.experiments.questions import CONTROL, TREATED, Answer, Arms, curve_of
from firstbreak.experiments.resume import ANEW, Start, start_of
from firstbreak.experiments.runner import Result, Trial
from firstbreak.experiments.settings import Settings
from firstbreak.inputs import Inputs
from firstbreak.model import EMPTY, Diagnosis, RankedCause, Run, Weight
from firstbreak.readers import Unreadable

INSIDE = Path(__file__).parent.parent / "inside"
LEDGER = "ledger.jsonl"
LOOK = 2.0  #: seconds between two looks at the curves of arms that are still running

Evidence = Mapping[str, Sequence[Weight]]


class Execute(Protocol):
    """Where trials run: `runner.run_all` on this machine, `ray.run_all` on a cluster."""

    def __call__(
        self, trials: list[Trial], *, retries: int, stop: Callable[[], bool], report: Callable[[Result], None]
    ) -> list[Result]: ...


@dataclass(frozen=True, kw_only=True)
class Conclusion:
    """What an experiment has shown."""

    design: Design
    answers: tuple[Answer, ...]  #: to the questions of the design, in order
    decision: Decision  #: go, no-go or cannot tell: the first question
    claim: Decision | None  #: whether the treated arm may be called better, over seeds; None without a control arm
    trials: tuple[Result, ...]
    share: float  #: compute used, as a share of the original run
    before: tuple[RankedCause, ...]
    after: Diagnosis


# --- trials ------------------------------------------------------------------------------------------------------------


def start(design: Design, run: Run, settings: Settings) -> Start:
    """Where the trials start. Raises `CannotOverride` where the run does not show how long it was."""
    changed = {name.removesuffix("?") for overrides in design.arms.values() for name in overrides}
    return start_of(run, settings, length(design, run, settings)["total_steps"], changed)


def prepare(
    design: Design, run: Run, settings: Settings, folder: Path, seeds: int = 1, begins: Start = ANEW
) -> dict[str, list[Trial]]:
    """Arm -> one trial for each seed. Raises `CannotOverride` where the trainer cannot be told, or a limit is too low."""
    told = plan.arms(design, run, settings)
    _check_cost(design, run, settings, seeds, begins)
    return {
        arm: [_trial(design, arm, i, values, run, settings, folder, begins) for i in range(seeds)]
        for arm, values in told.items()
    }


def _trial(
    design: Design,
    arm: str,
    i: int,
    values: Mapping[str, Any],
    run: Run,
    settings: Settings,
    folder: Path,
    begins: Start,
) -> Trial:
    name = f"{arm}-{i}"
    place = (folder / design.id / name).resolve()
    first = in_force("seed", run.config, settings)
    seeded = {"seed": int(first or 0) + i} if i else {}  # the first seed is the original's own
    wanted = begins.lengthened(values) | seeded
    inside = begins.told(wanted, run, planned(run, settings), other_seed=bool(i))
    rendered = render(wanted, run, settings, begins.options, inside)
    words = {"{folder}": str(place), "{config}": str(place / "config.yaml"), "{python}": sys.executable}
    if rendered.arguments and "{overrides}" not in settings.command:
        raise CannotOverride("the command has no place for options: put {overrides} into `command` of [experiment]")
    arguments = [w for word in settings.command for w in (rendered.arguments if word == "{overrides}" else [word])]
    environment = {**settings.environment, **rendered.environment, "FIRSTBREAK_FOLDER": str(place)}
    if HOOK in rendered.environment:
        environment["PYTHONPATH"] = _before_pythonpath(settings)
    limits = settings.limits
    return Trial(
        name=name,
        folder=place,
        arguments=tuple(_filled(word, words) for word in arguments),
        directory=str(settings.directory.resolve()),
        environment={key: _filled(value, words) for key, value in environment.items()},
        files=rendered.files,
        seconds=None if limits.minutes is None else 60 * limits.minutes,
        bytes=None if limits.disk_gb is None else 1e9 * limits.disk_gb,
    )


def _filled(word: str, words: Mapping[str, str]) -> str:
    for placeholder, value in words.items():
        word = word.replace(placeholder, value)
    return word


def _before_pythonpath(settings: Settings) -> str:
    there = settings.environment.get("PYTHONPATH") or os.environ.get("PYTHONPATH")
    return os.pathsep.join([str(INSIDE), *([there] if there else [])])


def _check_cost(design: Design, run: Run, settings: Settings, seeds: int, begins: Start) -> None:
    """Refuse what will not fit the limit; where nothing says how long the run took, the time limit bounds the cost."""
    limits, minutes = settings.limits, duration(run)
    if limits.cost is None or limits.rate is None:
        return
    trials = seeds * len(design.arms)
    steps = length(design, run, settings)["total_steps"] + begins.lead
    each = minutes * steps / planned(run, settings) if minutes else limits.minutes
    if each is None:
        raise CannotOverride("nothing says how long a trial takes: set limits.minutes, or leave limits.cost out")
    cost = trials * each / 60 * limits.rate
    if cost > limits.cost:
        raise CannotOverride(
            f"{trials} trials of {each:.0f} min cost about {cost:.2f}, more than limits.cost = {limits.cost:g}"
        )


# --- reading back ------------------------------------------------------------------------------------------------------


def logs(trial: Trial, settings: Settings) -> Path:
    """Where a trial's trainer writes its metrics."""
    return settings.directory / settings.logs.replace("{folder}", str(trial.folder))


def read_back(
    design: Design,
    arms: Mapping[str, Sequence[Trial]],
    results: Sequence[Result],
    run: Run,
    settings: Settings,
    begins: Start = ANEW,
) -> Arms:
    """The arms as far as their trials told something."""
    told = {result.trial for result in results if result.final}
    runs: dict[str, list[Run]] = {arm: [] for arm in arms}
    folders: dict[str, list[Path]] = {arm: [] for arm in arms}
    for arm, trials in arms.items():
        for trial in trials:
            if trial.name in told:
                folders[arm].append(trial.folder)
                runs[arm].append(begins.placed(read(logs(trial, settings), trainer=run.trainer)))
    told_arms = plan.arms(design, run, settings)
    return Arms(runs=runs, folders=folders, original=run, told=told_arms, since=begins.since)


class Watch:
    """Looks at running arms now and then: true once every question is answered, so that nothing more is to be learned."""

    def __init__(
        self, design: Design, arms: Mapping[str, Sequence[Trial]], run: Run, settings: Settings, begins: Start = ANEW
    ) -> None:
        self._begins = begins
        self._questions, self._run = answerable(design, run, settings), run
        self._told = plan.arms(design, run, settings)
        self._trials = {
            arm: [(t.folder, Follower(logs(t, settings), trainer=run.trainer)) for t in ts] for arm, ts in arms.items()
        }
        self._lock, self._looked, self._answered = threading.Lock(), time.monotonic(), False

    def __call__(self) -> bool:
        with self._lock:
            if not self._answered and time.monotonic() - self._looked > LOOK:
                self._answered = self._look()
                self._looked = time.monotonic()
            return self._answered

    def _look(self) -> bool:
        runs: dict[str, list[Run]] = {}
        for arm, trials in self._trials.items():
            for _, follower in trials:
                try:
                    follower.update()
                    runs.setdefault(arm, []).append(self._begins.placed(follower.run()))
                except Unreadable:  # not yet begun to write
                    return False
        folders = {arm: [folder for folder, _ in trials] for arm, trials in self._trials.items()}
        so_far = Arms(
            runs=runs, folders=folders, original=self._run, ended=False, told=self._told, since=self._begins.since
        )
        return bool(self._questions) and all(q.answer(so_far).yes is not None for q in self._questions)


# --- conclusions -------------------------------------------------------------------------------------------------------


def conduct(
    design: Design,
    run: Run,
    settings: Settings,
    folder: Path,
    *,
    seeds: int = 1,
    execute: Execute,
    report: Callable[[Result], None] = lambda result: None,
) -> Conclusion:
    """Run an experiment of the catalogue and conclude; what has been run before in this folder is not run again."""
    begins = start(design, run, settings)
    arms = prepare(design, run, settings, folder, seeds, begins)
    trials = [trial for of_arm in arms.values() for trial in of_arm]
    ledger = folder / LEDGER
    context.record(folder / design.id, config={"experiment": design.id, "original": run.path, "seeds": seeds})
    enter(
        ledger,
        "planned",
        experiment=design.id,
        run=run.path,
        seeds=seeds,
        start=begins.reason,
        commands={t.name: t.arguments for t in trials},
    )

    def ended(result: Result) -> None:
        enter(ledger, "trial", experiment=design.id, **asdict(result))
        report(result)

    results = execute(
        trials, retries=settings.limits.retries, stop=Watch(design, arms, run, settings, begins), report=ended
    )
    seen = read_back(design, arms, results, run, settings, begins)
    answers = ask(design, run, settings, seen, arms, results)
    asked = [{"asks": q.asks, "yes": a.yes, "reason": a.reason} for q, a in zip(design.questions, answers, strict=True)]
    enter(ledger, "answered", experiment=design.id, answers=asked)
    outcomes = check(run)
    before = rank(Inputs(run), outcomes, evidence(folder, run, leave_out=design.id))
    after = diagnose(run, outcomes, known=evidence(folder, run))
    share = compute(seen, run, settings, begins)
    conclusion = Conclusion(
        design=design,
        answers=answers,
        decision=_decision(answers[0]),
        claim=_claim(seen, design),
        trials=tuple(results),
        share=share,
        before=before,
        after=after,
    )
    enter(
        ledger,
        "concluded",
        experiment=design.id,
        decision=conclusion.decision.verdict.value,
        reason=conclusion.decision.reason,
        share=share,
        before={c.id: round(c.probability, 4) for c in before[:5]},
        after={c.id: round(c.probability, 4) for c in after.causes},
    )
    return conclusion


def compute(seen: Arms, run: Run, settings: Settings, begins: Start = ANEW) -> float:
    """Steps that all arms have made, as a share of the original run's."""
    made = (max(0.0, (r.last_step or 0.0) - begins.step) for of_arm in seen.runs.values() for r in of_arm)
    return sum(made) / planned(run, settings)


def ask(
    design: Design,
    run: Run,
    settings: Settings,
    seen: Arms,
    arms: Mapping[str, Sequence[Trial]],
    results: Sequence[Result],
) -> tuple[Answer, ...]:
    """The answer to every question of the design; open, with the reason, where the arms cannot carry one."""
    obstacle = _obstacle(arms, results) or _stood_still(seen)
    recorded = answerable(design, run, settings)
    return tuple(
        Answer(yes=None, reason=obstacle)
        if obstacle
        else question.answer(seen)
        if question in recorded
        else Answer(yes=None, reason=f"the original run records no {question.needs}")
        for question in design.questions
    )


def _obstacle(arms: Mapping[str, Sequence[Trial]], results: Sequence[Result]) -> str:
    """Why nothing may be concluded, or nothing."""
    if failed := next((r for r in results if not r.final), None):
        detail = failed.detail or f"exit code {failed.exit_code}: {_last_line(failed, arms)}"
        return f"trial {failed.trial} {failed.state.replace('_', ' ')} ({detail}); see its output.txt"
    for trial in (t for of_arm in arms.values() for t in of_arm):
        acts = json.loads(trial.environment.get(HOOK, "{}")).keys() - {"watch"}  # watching changes nothing
        missed = acts - {entry["intervention"] for entry in entries(trial.folder / "interventions.jsonl")}
        if "resumed" in missed:
            return f"trial {trial.name} did not go on from the checkpoint: its script has to load what its option names"
        if missed:
            return "the intervention did not reach the trainer: name an option for it in [experiment.options]"
    return ""


def _stood_still(seen: Arms) -> str:
    """Which arm has no step of its own: its trainer took the steps before the checkpoint for all that were wanted."""
    went_on = seen.since > -np.inf
    arm = next((arm for arm, runs in seen.runs.items() if went_on and any(r.last_step is None for r in runs)), None)
    return f"arm {arm} logged no step after the checkpoint; see its output.txt" if arm else ""


def _last_line(failed: Result, arms: Mapping[str, Sequence[Trial]]) -> str:
    """What a trainer said last, which is mostly why it ended."""
    (folder,) = [t.folder for of_arm in arms.values() for t in of_arm if t.name == failed.trial]
    output = folder / "output.txt"
    said = output.read_text("utf-8", "replace").strip() if output.exists() else ""
    return "".join(c for c in said.rpartition("\n")[2] if c.isprintable())[:200]


def _decision(answer: Answer) -> Decision:
    verdict = {True: Verdict.GO, False: Verdict.NO_GO, None: Verdict.CANNOT_TELL}[answer.yes]
    return Decision(verdict=verdict, reason=answer.reason, interval=answer.interval or (-np.inf, np.inf), n=answer.n)


def _claim(seen: Arms, design: Design) -> Decision | None:
    """Is the treated arm's score better than the control's, over seeds? One number for each seed: the mean difference."""
    if design.control is None:
        return None
    pairs = zip(seen.runs.get(TREATED, ()), seen.runs.get(CONTROL, ()), strict=False)
    curves = [(curve_of(t, "score"), curve_of(c, "score")) for t, c in pairs]
    means = [t.finite.values.mean() - c.finite.values.mean() for t, c in curves if t is not None and c is not None]
    return decide.claim(np.array(means))


def evidence(folder: Path, run: Run, leave_out: str = "") -> Evidence:
    """What the experiments in the folder's ledger say about each candidate: the last answers of each experiment count."""
    last = {e["experiment"]: e["answers"] for e in entries(folder / LEDGER) if e["event"] == "answered"}
    candidates = [c.id for c in rank(Inputs(run), ())]
    found: dict[str, list[Weight]] = {}
    for name, answers in last.items():
        design = catalogue().get(name)
        if design is None or name == leave_out:
            continue
        by_question = {a["asks"]: Answer(yes=a["yes"], reason=a["reason"]) for a in answers}
        for question in design.questions:
            if question.asks in by_question:
                for candidate, weight in weigh(name, question, by_question[question.asks], candidates).items():
                    found.setdefault(candidate, []).append(weight)
    return found or EMPTY


# --- the record --------------------------------------------------------------------------------------------------------


def enter(ledger: Path, event: str, **what: Any) -> None:
    """One line, with the time, at the end of the ledger. Never changes a line that is there."""
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    line = json.dumps({"time": now, "event": event, **what}, default=str) + "\n"
    ledger.parent.mkdir(parents=True, exist_ok=True)
    with ledger.open("a", encoding="utf-8") as lines:
        lines.write(line)


def entries(ledger: Path) -> list[dict[str, Any]]:
    """Every whole line of the ledger; a line that was cut by a crash is left out."""
    found = []
    for line in ledger.read_text("utf-8").splitlines() if ledger.exists() else ():
        try:
            found.append(json.loads(line))
        except ValueError:
            continue
    return found


def local(processes: int) -> Execute:
    """Trials as processes of this machine, so many at a time."""

    def execute(
        trials: list[Trial], *, retries: int, stop: Callable[[], bool], report: Callable[[Result], None]
    ) -> list[Result]:
        return runner.run_all(trials, processes=processes, retries=retries, stop=stop, report=report)

    return execute
