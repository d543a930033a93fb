"""Which experiment to run first: the one with the most expected information about the cause per minute of compute.

The prior is the ranking of causes. The model of an experiment is P(yes | cause) of its questions. The expected information is
the mutual information between cause and answers (Lindley 1956, "On a measure of the information provided by an
experiment"): the mean reduction of the uncertainty of the ranking, over all possible answers.
"""

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from firstbreak.dialects import signals
from firstbreak.dialects.hyperparameters import HYPERPARAMETERS
from firstbreak.engine import questions as of_curves
from firstbreak.engine.catalogue import OF_OPTION, Design, catalogue
from firstbreak.engine.families import EVERY, Method, Policy
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.questions import FEW_POINTS, MIN_POINTS, TREATED, Answer, OfCurve, Question, curve_of
from firstbreak.engine.rank import cautious_probabilities
from firstbreak.experiments.overrides import HOOKED, CannotOverride, hooked, in_force, render, resolve
from firstbreak.experiments.settings import ExperimentSettings
from firstbreak.model import EMPTY, Action, Diagnosis, Outcome, RankedCause, Run, Series, Weight, WeightKind
from firstbreak.values import dataclass, replace
from firstbreak.words import number

LEAST_BITS = 0.01  #: of an experiment that is proposed
REPORTED_BITS = 0.05  #: of one that a report proposes, which knows no settings
#: curves that a change of the reward enters: what is trained on, what an evaluation gives, and its total
TRAINED, EVALUATED, TOTAL = r"reward\.(?!accuracy|pass_at_k)", r"eval\.reward", r"eval\.reward(?!\.component)"
LEAST_POINTS = 10  #: smallest number of updates or evaluations of an arm
#: settings that the hooks can read from trainers of language models, and from trainers of other policies
HELD_FOR_TEXT = frozenset(
    {"clip_range", "entropy_coef", "kl_coef", "temperature", "top_p", "max_staleness", "behave_weight_cap"}
)
HELD_FOR_ACTIONS = frozenset({"clip_range", "entropy_coef", "gamma", "value_coef"})
OTHER_UNIT = 2.0  #: a run that logs more than twice its planned steps plans in another unit (convention)
MOST_EVALUATIONS = 16  #: largest number of evaluations of an arm
CERTAIN = 0.02  #: P(yes | cause) stays this far from 0 and 1, unless the lab has counted more runs
ALL_UP_TO = 8  #: up to this number of questions, all combinations of answers are enumerated
DRAWN = 1024  #: number of sampled combinations for more questions
DECLARED_RUNS = 2.0  #: weight of a declared P(yes | cause), as a number of runs of the lab


@dataclass(frozen=True, kw_only=True)
class Power:
    """What a trial can show of the curve that its first question is about, with the noise of the original run."""

    curve: str
    points: int  #: of the curve in a trial
    visible: float  #: smallest difference that they show with a probability of 80 %
    moved: float  #: how far the original run moved; 0 where that is not clear
    longer: float | None  #: the share of the original run's steps that would do, where the trial is too short to tell


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One experiment with its expected information about this run and its cost."""

    design: Design
    bits: float  #: expected information about the cause
    share: float  #: of the original run's compute
    minutes: float | None  #: None if the duration of the run is unknown
    cannot: str = ""  #: why the experiment cannot be run here
    power: Power | None = None  #: what its trials can show; None where no curve answers it

    @property
    def telling(self) -> bool:
        """Whether it is expected to tell anything about the cause."""
        return self.bits >= LEAST_BITS

    @property
    def worth(self) -> float:
        """Expected bits per share of the run's compute. The order is the same as for bits per minute."""
        return self.bits / self.share


def propose(
    run: Run,
    ranked: Sequence[RankedCause],
    settings: ExperimentSettings,
    done: Iterable[str] = (),
    lengths: Mapping[str, float] = EMPTY,
    named: str = "",
) -> list[Proposal]:
    """All experiments that apply to the run: the one that the diagnosis names (`named`), then the most valuable ones.
    Experiments that cannot be run here come last.

    `lengths`: shares of the original run's steps, for experiments whose own length was too short to tell.

    The information is about which cause it is, if there is one. Whether a run is healthy is seen by continuing it.
    """
    believed = cautious_probabilities(ranked)
    causes = {c.id: believed[c.id] for c in ranked if c.link is not None}
    beliefs = {name: p / sum(causes.values()) for name, p in causes.items()}
    minutes, inputs = duration(run), Inputs(run)
    proposals = []
    for design in catalogue().values():
        if design.id in set(done) or not design.families.include(inputs.family):
            continue
        design = replace(design, length=lengths.get(design.id, design.length))
        share = cost(design, run, settings)
        unknown = [as_asked(q, ranked, run) for q in answerable(design, run, settings) if not _known(q, run)]
        proposals.append(
            Proposal(
                design=design,
                bits=information(beliefs, unknown),
                share=share,
                minutes=None if minutes is None else share * minutes,
                cannot=(cannot := _obstacle(design, run, settings)),
                power=None if cannot else power_of(design, run, settings),
            )
        )
    return sorted(proposals, key=lambda p: (bool(p.cannot), p.design.id != named, -p.worth))


def worth_running(proposals: Sequence[Proposal], ranked: Sequence[RankedCause], named: str = "") -> list[Proposal]:
    """The proposals that can be run here and tell something, or are the one that the diagnosis names (`named`). Where none is,
    because one cause is as good as certain, the one that the report gives for this cause: it confirms the cause."""
    possible = [p for p in proposals if not p.cannot]
    telling = [p for p in possible if p.telling or p.design.id == named]
    first = next((c.experiment for c in ranked if c.link is not None), None)
    return telling or [p for p in possible if first is not None and p.design.id == first.id]


def named_first(dx: Diagnosis) -> str:
    """The experiment that the diagnosis names as the first thing to do; empty where something else comes first."""
    named = (c.experiment for c in dx.causes if c.experiment is not None and c.experiment.text)
    return next((e.id for e in named if e.text in dx.verdict.do_first), "")


def called_for(dx: Diagnosis) -> bool:
    """Whether the diagnosis accuses or doubts anything. Whether a run is healthy is seen by continuing it."""
    return dx.verdict.action is not Action.CONTINUE


def reported(dx: Diagnosis, everything: bool = False) -> list[Proposal]:
    """What a report proposes, without the user's settings; nothing where nothing is accused, unless `everything` is asked for."""
    if not (everything or called_for(dx)):
        return []
    named = named_first(dx)
    proposed = propose(dx.run, dx.causes, ExperimentSettings(), named=named)
    return [p for p in proposed if p.bits >= REPORTED_BITS or p.design.id == named]


def answerable(design: Design, run: Run, settings: ExperimentSettings) -> tuple[Question, ...]:
    """The questions that hold for the run's family, and whose curves the original run has recorded or the hooks measure."""
    family, seen = Inputs(run).family, untouched(design, run, settings)(run)
    return tuple(q for q in design.questions if q.families.include(family) and _measured(q.needed, run, settings, seen))


def untouched(design: Design, run: Run, settings: ExperimentSettings) -> Callable[[Run], Run]:
    """What leaves out of a run the curves that the experiment's own change enters: they do not judge it.

    The hooks change no evaluation, and of Stable-Baselines3 no return that is logged (its monitor is inside). The total of an
    evaluation may still pay the length that a penalty is tried against. Nobody knows what an option of the user's changes.
    """
    if not {"reward", "kl_coef", "kl_coef?"} & design.overrides.keys():
        return lambda seen: seen
    changed = applicable(design.overrides, run, settings)
    own = hooked(run, settings) and run.trainer in HOOKED and "reward" not in settings.options
    kind, left = changed.get("reward", "toy"), set[str]()  # a toy reward is judged by itself
    if kind != "toy" and not own:
        left |= {TRAINED, EVALUATED}
    elif run.trainer != "sb3":
        left |= {TRAINED} if kind in ("negated", "shorter") else set()  # shuffled rewards have the same mean
        left |= {TOTAL} if kind == "shorter" else set()
    if "kl_coef" in changed and run.config.get("kl_in_reward"):  # a trainer that is known evaluates without the penalty
        left |= {TRAINED} if run.trainer else {TRAINED, EVALUATED}
    touched = re.compile("|".join(left or {"$"}))
    return lambda seen: replace(seen, series={n: c for n, c in seen.series.items() if not touched.match(n)})


def without_measure(design: Design, run: Run, settings: ExperimentSettings, needed: str) -> str:
    """Why no curve can judge it though the run has one; empty where that is not so. `needed`: what a question is about."""
    judged = _measured(needed, run, settings, untouched(design, run, settings)(run))
    if judged or not _measured(needed, run, settings, run):
        return ""
    text = "the accuracy on held-out prompts (in TRL, of a reward function of its own, with weight 0)"
    log = text if Inputs(run).policy is Policy.TEXT else "the environment's own return, in an evaluation"
    return f"cannot tell: no untouched measure, because the experiment changes the reward that {needed} is; log {log}"


def as_asked(question: Question, ranked: Sequence[RankedCause], run: Run) -> Question:
    """The question as it stands for this run. Where a setting with which a cause comes about as well (`Question.instead`) is
    unusual, the cause needs no yes: the answer is as probable under it as in a healthy run."""
    options = {run.config.option(name) for name in question.instead}
    explained = {c.id for c in ranked if any(w.weight > 0 and _of_setting(w, options) for w in c.evidence)}
    if not explained:
        return question
    return replace(
        question,
        yes={**question.yes, **dict.fromkeys(explained, probability(question, "healthy"))},
        counted={name: cell for name, cell in question.counted.items() if name not in explained},
    )


def _known(question: Question, run: Run) -> bool:
    """Whether the run's own configuration answers it, so that the ranking has used the answer."""
    name = question.needed
    return name in HYPERPARAMETERS and name not in run.config.defaulted and run.config.number(name) is not None


def _measured(what: str, run: Run, settings: ExperimentSettings, seen: Run) -> bool:
    """Whether something is measured in a trial; `seen`: the original run with the curves that may judge it."""
    match what:
        case "":
            return True
        case "hooks":
            return hooked(run, settings) and bool(Inputs(run).policy is Policy.TEXT)
        case "environment":
            return hooked(run, settings) and Inputs(run).policy is not Policy.TEXT
        case "process":
            return hooked(run, settings)
        case "preferences":
            return hooked(run, settings) and curve_of(run, "rm_accuracy") is not None
        case _ if what in HYPERPARAMETERS:
            held = HELD_FOR_TEXT if Inputs(run).policy is Policy.TEXT else HELD_FOR_ACTIONS
            return run.config.number(what) is not None or (hooked(run, settings) and what in held)
        case "advantages":
            return _measured("environment", run, settings, seen) and Inputs(run).method is Method.ACTOR_CRITIC
        case "weights":
            # the hooks support no engine: hooks = true means that the user's script records the weights
            return settings.hooks is True and Inputs(run).policy is Policy.TEXT
        case _:
            return curve_of(seen, what) is not None


def _obstacle(design: Design, run: Run, settings: ExperimentSettings) -> str:
    try:
        for values in arms(design, run, settings).values():
            render(values, run, settings)
    except CannotOverride as error:
        return str(error)
    return ""


# --- information -------------------------------------------------------------------------------------------------------


def probability(question: Question, candidate: str) -> float:
    """P(yes | candidate): counted in the lab, smoothed with the declared probability, never exactly 0 or 1.

    The declared probability of all other causes is also smoothed, with the lab's counts for all of them. An answer that
    never occurred in n runs counts as half a run of n + 1 (Jeffreys).
    """
    yes, runs = question.counted.get(candidate, (0, 0))
    declared, behind = question.yes.get(candidate), runs
    if declared is None:
        others = [cell for name, cell in question.counted.items() if name not in question.yes]
        behind = sum(of for _, of in others)
        declared = _smoothed(sum(of for of, _ in others), behind, question.otherwise)
    least = min(CERTAIN, 0.5 / (behind + 1))
    return min(max(_smoothed(yes, runs, declared), least), 1 - least)


def _smoothed(yes: int, runs: int, believed: float) -> float:
    return (yes + DECLARED_RUNS * believed) / (runs + DECLARED_RUNS)


def information(beliefs: Mapping[str, float], questions: Sequence[Question]) -> float:
    """Expected reduction of the entropy of the beliefs, in bits. Answers are assumed independent, given the cause."""
    masses = np.array([p for p in beliefs.values() if p > 0])
    yes = np.array([[probability(q, name) for q in questions] for name, p in beliefs.items() if p > 0])
    yes = yes.reshape(len(masses), len(questions))
    given = _answers(yes, masses)  # (combinations, questions)
    likely = np.exp(given @ np.log(yes).T + (1 - given) @ np.log(1 - yes).T)  # (combinations, candidates)
    joint = likely * masses
    total = joint.sum(axis=1)
    posterior = joint / total[:, None]
    weights = total / total.sum() if len(given) == 2 ** len(questions) else np.full(len(given), 1 / len(given))
    after = float((weights * np.array([_entropy(row) for row in posterior])).sum())
    return max(0.0, _entropy(masses / masses.sum()) - after)


def _answers(yes: np.ndarray, masses: np.ndarray) -> np.ndarray:
    """All combinations of answers for few questions, otherwise combinations sampled from the beliefs with a fixed seed.

    `yes`, shape (candidates, questions): P(yes).
    """
    n = yes.shape[1]
    if n <= ALL_UP_TO:
        return (np.arange(2**n)[:, None] >> np.arange(n)) & 1
    rng = np.random.default_rng(0)
    causes = rng.choice(len(masses), DRAWN, p=masses / masses.sum())
    return (rng.random((DRAWN, n)) < yes[causes]).astype(int)


def _entropy(masses: np.ndarray) -> float:
    held = masses[masses > 0]
    return float(-(held * np.log2(held)).sum())


def _likelihood(question: Question, candidate: str, yes: bool) -> float:
    p = probability(question, candidate)
    return p if yes else 1 - p


def weigh(
    experiment: str, question: Question, answer: Answer, candidates: Iterable[str], used: Mapping[str, float] = EMPTY
) -> dict[str, Weight]:
    """The evidence of an answer for each candidate, in nats compared with a healthy run. Empty for an open answer.

    `used`: what the ranking has already counted for a candidate because of the same fact (`already_used`). Only what the answer
    says beyond that is added.
    """
    if answer.yes is None:
        return {}
    healthy = _likelihood(question, "healthy", answer.yes)
    text = f"{question.asks} {'yes' if answer.yes else 'no'}: {answer.reason}"
    found = {}
    for name in candidates:
        weight = math.log(_likelihood(question, name, answer.yes) / healthy)
        counted, said = used.get(name, 0.0), text
        if counted > 0 and weight > 0:
            weight, said = max(0.0, weight - counted), f"{text}, of which the ranking had counted {number(counted)}"
        if weight:
            found[name] = Weight(finding=f"experiment:{experiment}", weight=weight, kind=WeightKind.ANSWER, text=said)
    return found


def already_used(
    question: Question, ranked: Sequence[RankedCause], outcomes: Sequence[Outcome], run: Run
) -> dict[str, float]:
    """Candidate -> nats that the ranking has counted for it because of a setting or a curve that the question reads again."""
    settings = {question.needed} & HYPERPARAMETERS.keys()
    curves = {signals.BY_PARAMETER[name].name for name in question.again if name in signals.BY_PARAMETER}
    if not settings and not curves:
        return {}
    options = {run.config.option(name) for name in settings}
    names = settings | curves
    found = ((o.detector, o.finding) for o in outcomes if o.finding is not None)
    read = {name for name, f in found if f.metric in names or any(fact.curve in names for fact in f.stated)}
    return {c.id: sum(w.weight for w in c.evidence if w.finding in read or _of_setting(w, options)) for c in ranked}


def _of_setting(weight: Weight, options: set[str]) -> bool:
    return weight.kind is WeightKind.CONFIGURATION and any(option in weight.text for option in options)


# --- size --------------------------------------------------------------------------------------------------------------


def arms(design: Design, run: Run, settings: ExperimentSettings) -> dict[str, dict[str, Any]]:
    """Arm -> all options of its trials. Raises `CannotOverride` if an option is unknown, or nothing can judge the arms."""
    why = next(filter(None, (without_measure(design, run, settings, q.needed) for q in design.questions)), "")
    if why and not answerable(design, run, settings):
        raise CannotOverride(why)
    short = length(design, run, settings)
    wanted = {arm: applicable(overrides, run, settings) for arm, overrides in design.arms.items()}
    if design.overrides and not wanted[TREATED] and not design.bare:
        raise CannotOverride("this trainer has none of this experiment's options; name them in [experiment.options]")
    planned_values = {arm: {**short, **resolve(overrides, run, settings)} for arm, overrides in wanted.items()}
    for overrides, values in zip(wanted.values(), planned_values.values(), strict=True):
        if "eval_interval" in overrides:  # updates, in the trainer's own steps
            updates = round(values["eval_interval"] * _update(run, settings))
            values["eval_interval"] = max(updates, round(values["total_steps"] / MOST_EVALUATIONS))
    return planned_values


def applicable(overrides: Mapping[str, Any], run: Run, settings: ExperimentSettings) -> dict[str, Any]:
    """The overrides without optional ones (their names end in "?") that the run's family or its trainer does not have."""
    wanted, family = dict[str, Any](), Inputs(run).family
    for name, value in overrides.items():
        if name.endswith("?"):
            if not OF_OPTION.get(name[:-1], EVERY).include(family):
                continue
            if name == "eval_on_start?" and curve_of(run, "eval_score") is None:
                continue  # there is nothing to evaluate on
            try:
                render(resolve({name[:-1]: value}, run, settings), run, settings)
            except CannotOverride:
                continue
        wanted[name.removesuffix("?")] = value
    return wanted


def length(design: Design, run: Run, settings: ExperimentSettings) -> dict[str, float]:
    """The overrides that make an arm short: its steps, with evaluation interval and warm-up in proportion.

    Raises `CannotOverride` if the length of the run is unknown.
    """
    total = planned(run, settings)
    least = max(LEAST_POINTS * _update(run, settings), _answerable(run, total))
    steps = max(design.length * total, min(total, least))
    steps = min(steps, settings.limits.steps or math.inf)
    values: dict[str, float] = {"total_steps": max(1, round(steps))}
    interval, warm_up = in_force("eval_interval", run, settings), in_force("warmup_steps", run, settings)
    fixed = set() if not settings.complete else {"eval_interval", "warmup_steps"} - settings.options.keys()
    if interval and "eval_interval" not in fixed:  # a script without this option keeps its own interval
        values["eval_interval"] = max(1, min(round(interval), round(steps / LEAST_POINTS)))
    if warm_up and "warmup_steps" not in fixed:
        values["warmup_steps"] = max(1, round(warm_up * steps / total))
    return values


def _answerable(run: Run, total: float) -> float:
    """The steps in which a run that logs its training reward as often as the original has the points that a question needs.

    One more than that: the first row of a log often comes before the first reward. Of evaluations a trial makes its own.
    """
    rewards = Inputs(run).training_score
    return 0.0 if rewards is None or not len(rewards.finite) else (MIN_POINTS + 1) * total / len(rewards.finite)


def planned(run: Run, settings: ExperimentSettings) -> float:
    """The length of the original run in its trainer's own steps: the planned length, or its last step."""
    total = in_force("total_steps", run, settings) or run.last_step
    if not total:
        raise CannotOverride("the length of the run is unknown; set total_steps in [experiment.now]")
    return total


def logged_steps(run: Run, settings: ExperimentSettings) -> float:
    """Steps of the log for each step in which the option counts the length: 1, unless it counts epochs or updates."""
    ratio = (run.last_step or 0.0) / planned(run, settings)
    return ratio if ratio > OTHER_UNIT else 1.0


def _update(run: Run, settings: ExperimentSettings) -> float:
    """Steps of one update: 1, or the batch size if steps are environment steps."""
    counts_env_steps = any(series.axis == "env_steps" for series in run.series.values())
    batch = (run.config.number("batch_size") or 1.0) if counts_env_steps else 1.0
    return batch / logged_steps(run, settings)


def cost(design: Design, run: Run, settings: ExperimentSettings) -> float:
    """Compute as a share of the original run. A larger batch or group costs more in proportion."""
    try:
        total = planned(run, settings)
        share = length(design, run, settings)["total_steps"] / total
        arms = [resolve(applicable(overrides, run, settings), run, settings) for overrides in design.arms.values()]
    except CannotOverride:
        return design.cost
    return design.seeds * sum(share * _heavier(values, run, settings) for values in arms)


def power_of(design: Design, run: Run, settings: ExperimentSettings) -> Power | None:
    """What the trials can show, before they are run: by the score that a trial has enough points of, as it will be judged.

    Raises `CannotOverride` if the length of the run is unknown.
    """
    asked = next((q.answer for q in answerable(design, run, settings) if isinstance(q.answer, OfCurve)), None)
    named = of_curves.scores(asked.name) if asked else ()
    original = untouched(design, run, settings)(run)
    curves = [c.finite for n in named if (c := curve_of(original, n)) is not None and len(c.finite) >= FEW_POINTS]
    if asked is None or not curves:
        return None
    values = arms(design, run, settings)[TREATED]
    share = values["total_steps"] / planned(run, settings)

    def points_of(curve: Series) -> int:
        every = values.get("eval_interval") if curve.name.startswith("eval.") else None
        if every:
            return round(float(values["total_steps"] / every))
        return int(np.count_nonzero(curve.steps <= share * curve.steps[-1]))  # the first point may come late

    curve = next((c for c in curves if points_of(c) >= MIN_POINTS), max(curves, key=points_of))
    points = points_of(curve)
    counted, change, spread = int(asked.part * points), of_curves.moved(curve), of_curves.noise(curve)
    seen = asked.visible(counted, spread)
    needed = MIN_POINTS if counted < FEW_POINTS else asked.enough(change, spread) if change and seen > change else 0
    longer = share * needed / max(counted, 1) if needed else None
    return Power(curve=curve.name, points=points, visible=seen, moved=change, longer=longer)


def _heavier(values: Mapping[str, Any], run: Run, settings: ExperimentSettings) -> float:
    factor = 1.0
    for name in ("batch_size", "group_size"):
        now, then = in_force(name, run, settings), values.get(name)
        if now and isinstance(then, int | float):
            factor *= then / now
    return factor


def duration(run: Run) -> float | None:
    """Duration of the original run in minutes. None if its log does not contain it."""
    if (elapsed := run.series.get("time.elapsed")) is not None and len(elapsed.finite):
        return float(elapsed.finite.values.max()) / 60
    parts = ["time.step"] if "time.step" in run.series else ["time.rollout", "time.train", "time.eval"]
    seconds = [float(run.series[name].finite.values.sum()) for name in parts if name in run.series]
    return sum(seconds) / 60 if seconds else None
