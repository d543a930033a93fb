"""Which experiment is worth the most: the expected information about the cause, per minute of compute.

The beliefs are the probabilities of the ranking, the model of an experiment is P(yes | cause) of its questions. What an
experiment is expected to tell is the mutual information between cause and answers (Lindley 1956, "On a measure of the
information provided by an experiment"): how much less uncertain the ranking will be, averaged over the answers.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firstbreak.engine.rank import doubted
from firstbreak.experiments.catalogue import Design, catalogue
from firstbreak.experiments.overrides import CannotOverride, hooked, in_force, render, resolve
from firstbreak.experiments.questions import TREATED, Answer, Question, curve_of
from firstbreak.experiments.settings import Settings
from firstbreak.hyperparameters import HYPERPARAMETERS
from firstbreak.inputs import Inputs
from firstbreak.model import RankedCause, Run, Weight

LEAST_POINTS = 10  #: updates or evaluations of an arm: fewer answer nothing
#: settings that the hooks can read from a trainer of texts, and from one of actions
HELD_FOR_TEXT = frozenset(
    {"clip_range", "entropy_coef", "kl_coef", "temperature", "top_p", "max_staleness", "behave_weight_cap"}
)
HELD_FOR_ACTIONS = frozenset({"clip_range", "entropy_coef", "gamma", "value_coef"})
MOST_EVALUATIONS = 16  #: of an arm that evaluates as often as it can: more only cost time
CERTAIN = 0.02  #: of P(yes | cause): no single answer is trusted beyond this, unless the lab has looked at more runs
ALL_UP_TO = 8  #: questions of which all combinations of answers are gone through
DRAWN = 1024  #: combinations drawn of more
DECLARED_RUNS = 2.0  #: what a design declares of P(yes | cause) counts like so many runs of the lab


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """One experiment, what it is expected to tell about this run, and what it costs."""

    design: Design
    bits: float  #: expected information about the cause
    share: float  #: of the original run's compute
    minutes: float | None  #: where the run says how long it took
    cannot: str = ""  #: why it cannot be made here

    @property
    def worth(self) -> float:
        """Bits per minute, or per share of the run where its duration is not known (the order is the same)."""
        return self.bits / self.share


def propose(run: Run, ranked: Sequence[RankedCause], settings: Settings, done: Iterable[str] = ()) -> list[Proposal]:
    """Every experiment that could tell something, the most valuable first; those that cannot be made here come last.

    What counts is which cause it is, given that there is one: whether a run is healthy is seen by going on with it.
    """
    believed = doubted(ranked)
    causes = {c.id: believed[c.id] for c in ranked if c.link is not None}
    beliefs = {name: p / sum(causes.values()) for name, p in causes.items()}
    minutes, inputs = duration(run), Inputs(run)
    proposals = []
    for design in catalogue().values():
        if design.id in set(done) or not design.applies(inputs):
            continue
        share = cost(design, run, settings)
        proposals.append(
            Proposal(
                design=design,
                bits=information(beliefs, answerable(design, run, settings)),
                share=share,
                minutes=None if minutes is None else share * minutes,
                cannot=_obstacle(design, run, settings),
            )
        )
    return sorted(proposals, key=lambda p: (bool(p.cannot), -p.worth))


def answerable(design: Design, run: Run, settings: Settings) -> tuple[Question, ...]:
    """The questions whose curves the original run has recorded (its trainer will again), or that the hooks measure."""
    return tuple(q for q in design.questions if _measured(q.needs, run, settings))


def _measured(what: str, run: Run, settings: Settings) -> bool:
    match what:
        case "":
            return True
        case "hooks":
            return hooked(run, settings) and bool(Inputs(run).get("writes_text"))
        case "environment":
            return hooked(run, settings) and not Inputs(run).get("writes_text")
        case "process":
            return hooked(run, settings)
        case "preferences":
            return hooked(run, settings) and curve_of(run, "rm_accuracy") is not None
        case _ if what in HYPERPARAMETERS:
            held = HELD_FOR_TEXT if Inputs(run).get("writes_text") else HELD_FOR_ACTIONS
            return run.config.number(what) is not None or (hooked(run, settings) and what in held)
        case "advantages":
            return _measured("environment", run, settings) and Inputs(run).get("family") == "on_policy"
        case "weights":
            # no trainer's engine is known to the hooks: the user has said that it is recorded
            return settings.hooks is True and bool(Inputs(run).get("writes_text"))
        case _:
            return curve_of(run, what) is not None


def _obstacle(design: Design, run: Run, settings: Settings) -> str:
    try:
        for values in arms(design, run, settings).values():
            render(values, run, settings)
    except CannotOverride as error:
        return str(error)
    return ""


# --- information -------------------------------------------------------------------------------------------------------


def probability(question: Question, candidate: str) -> float:
    """P(yes | candidate): counted in the lab, smoothed by what is declared, never quite 0 or 1.

    What is declared of all other causes is smoothed itself, by what the lab has counted under all of them. What was never
    answered so in n runs is given half a run of n + 1 (Jeffreys).
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
    """Expected fall of the entropy of the beliefs, in bits; the answers are independent given the cause."""
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
    """Every combination of answers where that is feasible, else so many as the beliefs expect them, drawn once for all.

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


def weigh(experiment: str, question: Question, answer: Answer, candidates: Iterable[str]) -> dict[str, Weight]:
    """What an answer says about each candidate, in nats against a healthy run; nothing where it is open."""
    if answer.yes is None:
        return {}
    healthy = _likelihood(question, "healthy", answer.yes)
    text = f"{question.asks} {'yes' if answer.yes else 'no'}: {answer.reason}"
    weights = {name: math.log(_likelihood(question, name, answer.yes) / healthy) for name in candidates}
    return {name: Weight(finding=f"experiment:{experiment}", weight=w, text=text) for name, w in weights.items() if w}


# --- size --------------------------------------------------------------------------------------------------------------


def arms(design: Design, run: Run, settings: Settings) -> dict[str, dict[str, Any]]:
    """Arm -> everything that its trainer is told. Raises `CannotOverride` where it cannot be."""
    short = length(design, run, settings)
    wanted = {arm: applicable(overrides, run, settings) for arm, overrides in design.arms.items()}
    if design.overrides and not wanted[TREATED] and not design.bare:
        raise CannotOverride("this trainer has none of its options; name them in [experiment.options]")
    told = {arm: {**short, **resolve(overrides, run.config, settings)} for arm, overrides in wanted.items()}
    for overrides, values in zip(wanted.values(), told.values(), strict=True):
        if "eval_interval" in overrides:  # updates, in the trainer's own steps
            updates = round(values["eval_interval"] * _update(run))
            values["eval_interval"] = max(updates, round(values["total_steps"] / MOST_EVALUATIONS))
    return told


def applicable(overrides: Mapping[str, Any], run: Run, settings: Settings) -> dict[str, Any]:
    """The overrides without those that are only wanted where they can be had (their names end in "?")."""
    wanted: dict[str, Any] = {}
    for name, value in overrides.items():
        if name.endswith("?"):
            try:
                render(resolve({name[:-1]: value}, run.config, settings), run, settings)
            except CannotOverride:
                continue
        wanted[name.removesuffix("?")] = value
    return wanted


def length(design: Design, run: Run, settings: Settings) -> dict[str, float]:
    """The overrides that make an arm short: its steps, and evaluations and warm-up in proportion.

    Raises `CannotOverride` where the run does not show how long it was.
    """
    total = planned(run, settings)
    steps = max(design.length * total, min(total, LEAST_POINTS * _update(run)))
    steps = min(steps, settings.limits.steps or math.inf)
    values: dict[str, float] = {"total_steps": max(1, round(steps))}
    interval, warm_up = in_force("eval_interval", run.config, settings), in_force("warmup_steps", run.config, settings)
    if interval:
        values["eval_interval"] = max(1, min(round(interval), round(steps / LEAST_POINTS)))
    if warm_up:
        values["warmup_steps"] = max(1, round(warm_up * steps / total))
    return values


def planned(run: Run, settings: Settings) -> float:
    """The original run's length in its trainer's own steps: as planned, or as far as it came."""
    total = in_force("total_steps", run.config, settings) or run.last_step
    if not total:
        raise CannotOverride("the run does not say how long it is; give total_steps in [experiment.now]")
    return total


def _update(run: Run) -> float:
    """Steps of one update: 1, or the batch where steps count environment steps."""
    counts_env_steps = any(series.axis == "env_steps" for series in run.series.values())
    return (run.config.number("batch_size") or 1.0) if counts_env_steps else 1.0


def cost(design: Design, run: Run, settings: Settings) -> float:
    """Compute as a share of the original run; a batch or group that is larger costs in proportion."""
    try:
        total = planned(run, settings)
        share = length(design, run, settings)["total_steps"] / total
        arms = [
            resolve(applicable(overrides, run, settings), run.config, settings) for overrides in design.arms.values()
        ]
    except CannotOverride:
        return design.cost
    return design.seeds * sum(share * _heavier(values, run, settings) for values in arms)


def _heavier(values: Mapping[str, Any], run: Run, settings: Settings) -> float:
    factor = 1.0
    for name in ("batch_size", "group_size"):
        now, then = in_force(name, run.config, settings), values.get(name)
        if now and isinstance(then, int | float):
            factor *= then / now
    return factor


def duration(run: Run) -> float | None:
    """Minutes that the original run took, where its log can say."""
    if (elapsed := run.series.get("time.elapsed")) is not None and len(elapsed.finite):
        return float(elapsed.finite.values.max()) / 60
    parts = ["time.step"] if "time.step" in run.series else ["time.rollout", "time.train", "time.eval"]
    seconds = [float(run.series[name].finite.values.sum()) for name in parts if name in run.series]
    return sum(seconds) / 60 if seconds else None
