"""The nouns of firstbreak. Nothing here reads a file, decides anything or draws.

read(path) -> Run -> check(run) -> [Outcome] -> diagnose(run, outcomes) -> Diagnosis -> render(diagnosis)
"""

from __future__ import annotations

import enum
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np

from firstbreak.values import dataclass, field, replace
from firstbreak.viewable import Shown, Viewable
from firstbreak.words import link_word, number, percent, shortened, step_word

Interval = tuple[float, float]
EMPTY: Mapping[str, Any] = MappingProxyType({})


class Link(enum.StrEnum):
    """The ten links of the training loop, outside in: the earlier one is suspected first."""

    ENVIRONMENT = "environment"
    EVALUATION = "evaluation"
    ROLLOUT = "rollout"
    REWARD = "reward"
    ADVANTAGE = "advantage"
    POLICY_UPDATE = "policy_update"
    EXPLORATION = "exploration"
    FRESHNESS = "freshness"
    NUMERICS = "numerics"
    SYSTEMS = "systems"

    @property
    def order(self) -> int:
        """Place in the loop, 0 for the outermost link."""
        return _ORDER[self]

    @property
    def question(self) -> str:
        """What the link is asked, in one sentence."""
        return _QUESTIONS[self]


_ORDER = {link: place for place, link in enumerate(Link)}
_QUESTIONS = {
    Link.ENVIRONMENT: "does the policy see the right states, prompts and labels, and are its actions handled right?",
    Link.EVALUATION: "is the score comparable: same protocol, same split, not contaminated?",
    Link.ROLLOUT: "was behaviour generated as intended: sampling, truncation, tools, turns?",
    Link.REWARD: "does the reward point the right way, and does it tell good from bad?",
    Link.ADVANTAGE: "do returns, baselines, masks and the critic turn reward into a usable signal?",
    Link.POLICY_UPDATE: "are the steps of the right size and direction?",
    Link.EXPLORATION: "does the policy still try different things?",
    Link.FRESHNESS: "was the data made by (nearly) the policy that is being updated?",
    Link.NUMERICS: "are gradients, log-probabilities and values finite and in range?",
    Link.SYSTEMS: "do memory, throughput and the balance of the phases allow the rest?",
}


class Status(enum.StrEnum):
    """How one check ended. Only OK means "looked, and saw nothing wrong"."""

    OK = "ok"
    FOUND = "found"
    NOT_MEASURED = "not_measured"
    NOT_APPLICABLE = "not_applicable"
    CRASHED = "crashed"


class LinkStatus(enum.StrEnum):
    """What a diagnosis says of one link."""

    OK = "ok"
    BROKEN = "broken"
    SUSPECT = "suspect"
    NOT_MEASURED = "not_measured"
    NOT_APPLICABLE = "not_applicable"


class Severity(enum.StrEnum):
    """How bad it is, if it is true."""

    CRITICAL = "critical"
    WARNING = "warning"
    NOTICE = "notice"

    @property
    def rank(self) -> int:
        """0 for a notice, 2 for critical."""
        return {"notice": 0, "warning": 1, "critical": 2}[self.value]


class Confidence(enum.StrEnum):
    """How sure it is that it is true: three words, the same in every report."""

    HIGH = "high"  #: the curve leaves hardly another reading
    MEDIUM = "medium"  #: other readings exist, and are less probable
    LOW = "low"  #: a hint, which alone changes no verdict

    @property
    def phrase(self) -> str:
        """'high confidence'."""
        return f"{self.value} confidence"


class Action(enum.StrEnum):
    """What to do with the run."""

    CONTINUE = "continue"
    WATCH = "watch"
    STOP = "stop"
    ROLLBACK = "rollback"


class Harm(enum.StrEnum):
    """What the score has lost so far, or not gained."""

    LOST = "lost"  #: a third of the gain or more is gone, beyond twice its error
    LOSING = "losing"  #: it falls, or may
    APART = "apart"  #: it gains nothing while the trained reward or the divergence from the reference grows
    STALLED = "stalled"  #: it may never have gained anything
    NONE_YET = "none yet"
    NOT_MEASURED = "not measured"  #: no score, or too few of them


class BreakKind(enum.StrEnum):
    """Whether the first break explains a harm, or is a sign that has done none yet."""

    BREAK = "break"
    FIRST_SIGN = "first_sign"


class Role(enum.StrEnum):
    """What the engine asks a check for, beside its finding."""

    SCORE_UNMOVED = "score_unmoved"  #: found: the score went nowhere
    WEIGHTS_LOST = "weights_lost"  #: found, and critical: no checkpoint after the onset is good
    PROOF = "proof"  #: an identity: what breaks it is its cause, and no fault elsewhere
    RELATION = "relation"  #: two numbers of every sound run fit each other: found, they do not
    SCORE_FELL = "score_fell"  #: found: a sign that the score fell; several signs are one event, and the surest counts
    EVALUATION_APART = "evaluation_apart"  #: found: training improves and the evaluation does not
    DRIFT_UNREWARDED = "drift_unrewarded"  #: found: the policy moves away from its reference and gains nothing
    TEXT_LOST = (
        "text_lost"  #: found, and critical: the policy no longer writes its reference's text, whatever the score says
    )


class WeightKind(enum.StrEnum):
    """Where a piece of evidence comes from."""

    FOUND = "found"  #: a finding that the cause declares
    PROVED = "proved"  #: the same, where it is an identity that failed
    UNEXPLAINED = "unexplained"  #: a finding that it does not declare
    QUIET = "quiet"  #: what was looked for and not seen
    ORDER = "order"  #: the order of the onsets
    PRIOR = "prior"  #: before anything was looked at
    CONFIGURATION = "configuration"  #: facts of the configuration and of the kind of run
    REFUTED = "refuted"  #: what was logged contradicts the cause
    ANSWER = "answer"  #: the answer of an experiment
    DOUBT = "doubt"  #: that curves mislead now and then
    SURE = "sure"  #: that the weights are too sure on runs of other trainers


@dataclass(frozen=True, kw_only=True, eq=False)
class Series:
    """One curve: float64 arrays of equal length, in order of `steps`; NaN and infinities kept as they were logged."""

    name: str  #: canonical signal (see signals.py), or the trainer's own name where it was not understood
    steps: np.ndarray  #: shape (n,), non-decreasing, in units of `axis`
    values: np.ndarray  #: shape (n,), in the canonical unit and sign of the signal
    raw: str = ""  #: the trainer's own name
    source: str = ""  #: the file it came from, relative to the run
    axis: str = "step"  #: what a step is: "step", "env_steps", "iteration", "episode", "epoch", "row"
    note: str = ""  #: what the number really is: estimator, window, floor
    guessed: bool = False  #: the trainer's name is listed nowhere, and was read by the meaning of its words

    def __len__(self) -> int:
        return len(self.values)

    @property
    def finite(self) -> Series:
        """The points whose value is a finite number."""
        keep = np.isfinite(self.values)
        return self if keep.all() else replace(self, steps=self.steps[keep], values=self.values[keep])

    def between(self, start: float, end: float = np.inf) -> Series:
        """The points with start <= step <= end."""
        keep = (self.steps >= start) & (self.steps <= end)
        return replace(self, steps=self.steps[keep], values=self.values[keep])

    def head(self, fraction: float) -> Series:
        """The first `fraction` of the points, at least one where there is one."""
        n = max(1, round(len(self) * fraction))
        return replace(self, steps=self.steps[:n], values=self.values[:n])

    def tail(self, fraction: float) -> Series:
        """The last `fraction` of the points, at least one where there is one."""
        n = max(1, round(len(self) * fraction))
        return replace(self, steps=self.steps[-n:], values=self.values[-n:])


@dataclass(frozen=True, kw_only=True)
class Sample:
    """One completion or episode as the trainer dumped it. Text is data: never executed, always escaped on output."""

    step: float | None = None
    prompt: str = ""
    completion: str = ""
    reward: float | None = None
    rewards: Mapping[str, float] = field(default_factory=lambda: EMPTY)  #: reward components by name
    advantage: float | None = None
    group: str | None = None  #: samples of one prompt share it
    meta: Mapping[str, Any] = field(default_factory=lambda: EMPTY)  #: everything else that the dump holds
    messages: Sequence[Any] = ()  #: the completion as it was recorded, where it is a list of messages


class Happened(enum.StrEnum):
    """What a line of text in a log says."""

    ERROR = "error"  #: an exception, or no memory left
    RESUMED = "resumed"  #: the run goes on from a saved state
    TIMEOUT = "timeout"
    SKIPPED = "skipped"  #: an update was left out
    REFUSED = "refused"  #: the engine does not take the weights that it is sent
    NOT_LOADED = "not loaded"  #: saved weights are missing, or do not fit the names of the model


#: an error by which a person, or the queue of a cluster, ends a run: hang-up, interrupt, terminate
BY_HAND = re.compile(r"KeyboardInterrupt|.*\bgot signal: (?:1|2|15)\b")


@dataclass(frozen=True, kw_only=True)
class Event:
    """What happened, beside the numbers."""

    kind: Happened
    text: str  #: the line, cut
    step: float | None = None  #: the last one that was logged before it, on the run's axis
    source: str = ""  #: the file, relative to the run
    last: bool = False  #: no number was logged after it


Opener = Callable[[], Iterable[Sample]]


class Samples:
    """The samples of a run, read again from disk on every pass, so that memory stays bounded.

    `parts`: what opens one part of them each, in order, and can be sent to other processes.
    """

    def __init__(
        self, opener: Opener, sources: tuple[str, ...], parts: Callable[[], Iterable[Opener]] | None = None
    ) -> None:
        self._opener, self.sources = opener, sources
        self.parts: Callable[[], Iterable[Opener]] = parts or (lambda: (opener,))

    def __iter__(self) -> Iterator[Sample]:
        return iter(self._opener())


@dataclass(frozen=True, kw_only=True)
class Config:
    """Hyperparameters. `values` holds canonical names (see hyperparameters.py), `raw` everything as it was recorded."""

    values: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    raw: Mapping[str, Any] = field(default_factory=lambda: EMPTY)
    defaulted: frozenset[str] = frozenset()  #: canonical names that come from the trainer's defaults, not from the run
    keys: Mapping[str, str] = field(default_factory=lambda: EMPTY)  #: canonical name -> this trainer's own option

    def get(self, name: str, default: Any = None) -> Any:
        """The value of a canonical hyperparameter, or `default` where it is not known."""
        value = self.values.get(name)
        return default if value is None else value

    def number(self, name: str) -> float | None:
        """The value as a float, or None where it is absent or not a number."""
        value = self.values.get(name)
        if isinstance(value, bool) or value is None:
            return None
        try:
            return float(value)
        except (TypeError, ValueError, OverflowError):
            return None

    def recorded(self, name: str) -> float | None:
        """The number that the run itself says, None where it is only the trainer's default."""
        return None if name in self.defaulted else self.number(name)

    def option(self, name: str) -> str:
        """What this trainer calls a canonical hyperparameter (the canonical name where it is not known)."""
        return self.keys.get(name, name)


@dataclass(frozen=True, kw_only=True)
class Checkpoint:
    """A saved state of the model."""

    step: float
    path: str


@dataclass(frozen=True, kw_only=True)
class Run(Shown):
    """Everything that is known of one training run, in canonical names where they are understood."""

    path: str
    formats: tuple[str, ...] = ()
    trainer: str | None = None  #: the dialect: "trl", "sb3", ...
    algorithm: str | None = None  #: "grpo", "ppo", "dqn", ... in lower case
    series: Mapping[str, Series] = field(default_factory=lambda: EMPTY)  #: canonical name -> curve
    unknown: Mapping[str, Series] = field(default_factory=lambda: EMPTY)  #: raw name -> curve: recorded, not understood
    duplicates: tuple[Series, ...] = ()  #: shorter copies of a signal that is already in `series`
    config: Config = field(default_factory=Config)
    samples: Samples | None = None
    checkpoints: tuple[Checkpoint, ...] = ()
    files: tuple[str, ...] = ()  #: what was read, relative to `path`
    damage: tuple[str, ...] = ()  #: what could not be read, each with file, place and remedy
    unread: tuple[
        str, ...
    ] = ()  #: files of which nothing could be read and which may hold the score, relative to `path`
    notes: tuple[str, ...] = ()  #: facts about the recording: restarts merged, sampling, axis chosen
    events: tuple[Event, ...] = ()  #: what lines of text say, in order

    @property
    def error(self) -> Event | None:
        """The error after which no number was logged, where nobody stopped the run by hand."""
        ends = [e for e in self.events if e.kind is Happened.ERROR and e.last and not BY_HAND.match(e.text)]
        return ends[-1] if ends else None

    @property
    def first_step(self) -> float | None:
        """The smallest step of a curve on the run's axis."""
        axis = self.axis
        starts = [s.steps[0] for s in self.series.values() if len(s) and s.axis == axis]
        return float(min(starts)) if starts else None

    @property
    def last_step(self) -> float | None:
        """The largest step of a curve on the run's axis."""
        axis = self.axis
        ends = [s.steps[-1] for s in self.series.values() if len(s) and s.axis == axis]
        return float(max(ends)) if ends else None

    @property
    def axis(self) -> str:
        """The axis that most curves of the trainer's own log are on; of the recorder's, where there is no other."""
        own = [series for series in self.series.values() if not Path(series.source).name.startswith("recorder")]
        axes = Counter(series.axis for series in own or self.series.values())
        return axes.most_common(1)[0][0] if axes else "step"

    def axis_of(self, metric: str | None) -> str:
        """The axis that a metric's steps are counted on."""
        series = self.series.get(metric) if metric else None
        return series.axis if series is not None else self.axis

    def __repr__(self) -> str:
        """One line, since a curve has thousands of points."""
        who = " ".join(filter(None, (self.trainer, self.algorithm))) or "no known trainer"
        steps = f"steps {number(self.first_step)} to {number(self.last_step)}"
        return f"<Run {self.path!r}: {who}, {len(self.series)} metrics, {steps}>"


@dataclass(frozen=True, kw_only=True, eq=False)
class Evidence:
    """One thing that a report can show or draw: a sentence and, where there is one, the curve it speaks of."""

    text: str
    series: Series | None = None
    since: float | None = None  #: from this step on
    until: float | None = None
    level: float | None = None  #: a line across the plot: a threshold, a cap, a ceiling


class Statistic(enum.StrEnum):
    """What a text states of a stretch of a curve. `engine/stats/statistic.py` computes each of them, in one place."""

    FIRST = "first"
    LAST = "last"
    LOWEST = "lowest"
    HIGHEST = "highest"
    MEDIAN = "median"
    MEAN = "mean"
    QUANTILE = "quantile"  #: `against` is which
    LEVEL = "level"  #: the median in which each step counts the same
    COURSE = "course"  #: the mean round a step, without spikes
    AROUND = "around"  #: the mean round a step, with them
    SIZE = "size"  #: the median of what is not 0, without the signs
    LARGEST = "largest"  #: the highest without the signs
    NOISE = "noise"  #: from one point to the next
    CHANGE = "change"  #: along a robust line, at most the range of the points
    ABOVE = "share above"  #: of the points, above `against`
    BELOW = "share below"
    EQUAL = "share equal"
    COUNT = "count"  #: of the points that are numbers
    STEP = "step"  #: a place on the curve's axis
    SETTING = "setting"  #: the recorded value of a hyperparameter


@dataclass(frozen=True, kw_only=True)
class Fact:
    """One number of a text: a statistic of a stretch of a curve, so that anybody can compute it again from the run."""

    curve: str  #: the signal (of a setting: the hyperparameter)
    statistic: Statistic
    value: float
    window: Interval = (-np.inf, np.inf)  #: first and last step of the stretch
    against: float = 0.0  #: a limit, or which quantile
    axis: str = "step"  #: what the steps of the curve are

    def __format__(self, spec: str) -> str:
        """The value as it is written: "%" as a share; a place as "step 120", in words of the curve's own axis."""
        if self.statistic is Statistic.STEP:
            return number(self.value) if spec == "n" else f"{step_word(self.axis)} {number(self.value)}"
        return percent(self.value) if spec == "%" else number(self.value)


class Message(str):
    """A text with the facts that it states."""

    facts: tuple[Fact, ...] = ()

    @classmethod
    def tell(cls, template: str, **parts: Fact | str) -> Message:
        """The text with its parts filled in: `{late}`, as a share `{late:%}`. It carries the facts of its parts."""
        message = cls(template.format(**parts))
        for part in parts.values():
            message.facts += (part,) if isinstance(part, Fact) else part.facts if isinstance(part, Message) else ()
        return message


@dataclass(frozen=True, kw_only=True, eq=False)
class Finding:
    """What a detector saw: a symptom, not a cause."""

    message: str  #: the number, what it means, the first thing to try
    severity: Severity
    confidence: Confidence = Confidence.MEDIUM
    metric: str | None = None  #: the canonical signal that shows it
    onset: float | None = None  #: best single estimate of the step
    interval: Interval | None = None  #: where the onset lies
    sudden: bool = False  #: the curve jumped: what caused it did not begin before the interval
    evidence: tuple[Evidence, ...] = ()
    numbers: Mapping[str, Any] = field(default_factory=lambda: EMPTY)  #: numbers that causes and reports may use

    @property
    def stated(self) -> tuple[Fact, ...]:
        """The numbers of the message, each with what it is of which curve."""
        return self.message.facts if isinstance(self.message, Message) else ()


@dataclass(frozen=True)
class NotApplicable:
    """What a check returns where its question makes no sense for this run."""

    why: str


@dataclass(frozen=True)
class NotMeasured:
    """What a check returns where its inputs were recorded but cannot carry an answer (too short, too coarse)."""

    why: str


@dataclass(frozen=True)
class Expected:
    """What a check returns where the curve looks odd and is right, with the reason a reader can check."""

    why: str


@dataclass(frozen=True, kw_only=True, eq=False)
class Outcome:
    """How one check ended."""

    detector: str
    link: Link
    status: Status
    finding: Finding | None = None
    note: str = ""  #: why it was not measured, does not apply, or crashed; why what looks odd is expected
    expected: bool = False  #: status is OK, and `note` explains something that looks odd
    roles: frozenset[Role] = frozenset()  #: what its finding means to the engine

    def __repr__(self) -> str:
        """One line."""
        found = self.finding
        said = self.note if found is None else f"{found.severity.value}, since {number(found.onset)}. {found.message}"
        return f"<{self.detector} ({link_word(self.link)}): {shortened(said or self.status.value, 120)}>"


@dataclass(frozen=True, kw_only=True)
class Weight:
    """One piece of evidence for (positive) or against (negative) a cause, in nats; the weights of a cause add up."""

    finding: str  #: what a reader knows it by: the id of a check, "config", "prior", ...
    weight: float
    kind: WeightKind
    text: str = ""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """The smallest experiment that separates a cause from its rivals."""

    id: str = ""  #: its page in the catalogue of experiments
    text: str = ""  #: what to do, in words
    overrides: Mapping[str, Any] = field(default_factory=lambda: EMPTY)  #: canonical hyperparameter -> value
    length: float = 0.1  #: share of the run's steps that is enough
    measure: str = ""  #: the signal to look at
    if_cause: str = ""  #: what is seen if the cause is right
    weight: float = 0.0  #: what that sight adds to the cause's evidence against its rivals', in nats


@dataclass(frozen=True, kw_only=True)
class RankedCause:
    """A cause with its probability and the reasons for it."""

    id: str
    title: str
    link: Link | None  #: None for "healthy" and "none of these"
    probability: float
    evidence: tuple[Weight, ...] = ()
    fix: tuple[str, ...] = ()
    experiment: Experiment | None = None

    def __repr__(self) -> str:
        """One line."""
        return f"<{self.id}: {percent(self.probability)}, {self.title}>"


@dataclass(frozen=True, kw_only=True)
class FirstBreak:
    """The first broken link; where one link alone is not more probable than the others together, the two most probable ones."""

    link: Link
    or_earlier: bool  #: a link upstream could not be seen
    metric: str | None = None  #: None, as step and interval: a setting alone points there
    step: float | None = None
    interval: Interval | None = None
    sudden: bool = False  #: as of the finding
    kind: BreakKind = BreakKind.BREAK
    also: Link | None = None  #: the link that it cannot be told apart from
    probability: float = 1.0  #: that the first broken link is `link` or `also`, if something is broken
    detector: str | None = None  #: whose finding it is

    @property
    def links(self) -> tuple[Link, ...]:
        """`link`, and `also` where there is one."""
        return (self.link,) if self.also is None else (self.link, self.also)

    @property
    def undecided(self) -> bool:
        """Whether it is more probable that another link broke first."""
        return self.probability < 0.5


@dataclass(frozen=True, kw_only=True)
class Score:
    """What the score of a run did. Levels are in its own unit, and NaN where it is too short to tell."""

    metric: str  #: the curve
    why: str  #: why this one
    course: (
        str  #: rising, plateau, flat, declining, peaked, collapsed, oscillating, too_short, or solved: at its maximum
    )
    start: float
    best: float
    best_step: float
    end: float
    error: float  #: standard error of a level
    lost: float  #: share of the gain that is gone
    others: Mapping[str, str] = field(default_factory=lambda: EMPTY)  #: every further score of the policy -> its course

    @property
    def hidden(self) -> bool:
        """Flat as far as its noise lets see, which hides a change of a quarter of its level."""
        level = max(abs(self.start), abs(self.end))
        return self.course == "flat" and abs(self.end - self.start) > 0.25 * level


@dataclass(frozen=True, kw_only=True)
class LinkVerdict:
    """What is known of one link, and why."""

    status: LinkStatus
    why: str


@dataclass(frozen=True, kw_only=True)
class BestCheckpoint:
    """Where the run was best; `path` is the saved model whose score was best, where any is known."""

    step: float
    metric: str
    value: float
    path: str | None = None
    saved: float | None = None  #: the step of the saved model
    before: float | None = None  #: it is the best before this step only, from which on numbers are not finite

    @property
    def back_to(self) -> float:
        """The step to go back to: that of the saved model, or where the run was best."""
        return self.step if self.saved is None else self.saved


@dataclass(frozen=True, kw_only=True)
class Verdict:
    """What to do, and what speaks for and against going on."""

    action: Action
    summary: str
    upside: str
    risk: str
    do_first: str
    known: bool = True  #: False where the log is too short to say anything, and the run goes on until it does


@dataclass(frozen=True, kw_only=True)
class Forecast:
    """A curve that is expected to reach a level: a limit, a floor or a target."""

    metric: str  #: the canonical signal
    level: float  #: in the signal's unit
    name: str  #: what the level is
    within: Interval  #: steps from the last one: earliest, latest; infinite where it may never arrive


@dataclass(frozen=True, kw_only=True)
class Cost:
    """What the run has spent since the first break; None where the log cannot say."""

    steps: float | None = None
    fraction: float | None = None
    hours: float | None = None
    money: float | None = None


@dataclass(frozen=True, kw_only=True)
class ChangedThreshold:
    """A threshold of a detector that the user has set."""

    detector: str
    name: str
    value: float
    default: float


@dataclass(frozen=True, kw_only=True)
class Departure:
    """A curve beside those of earlier healthy runs, at one step."""

    link: Link
    metric: str
    step: float
    value: float  #: of this run
    seen: Interval  #: least and largest value of the earlier runs
    band: Interval  #: where a further run like them may lie
    size: float  #: distance from their mean in spreads between runs

    @property
    def side(self) -> str:
        """Where the value lies: below, inside or above the band."""
        return "below" if self.value < self.band[0] else "above" if self.value > self.band[1] else "inside"


@dataclass(frozen=True, kw_only=True)
class EarlierRuns:
    """How a run stands beside earlier healthy runs of the same task."""

    runs: tuple[str, ...]  #: the earlier runs
    left_out: tuple[str, ...] = ()  #: further runs of the folder, each with the reason
    departures: tuple[Departure, ...] = ()  #: where curves leave the band for good, the earliest first
    compared: int = 0  #: curves that all runs record
    false_alarms: float | None = None  #: share of healthy runs that leave the band of so many runs; None without a band
    score: Departure | None = None  #: the score at the last step that all runs reach


@dataclass(frozen=True, kw_only=True)
class TunedSetting:
    """A setting of a run beside the same one of somebody else."""

    name: str  #: canonical
    option: str  #: what the run's trainer calls it
    value: float
    tuned: float


@dataclass(frozen=True, kw_only=True)
class TunedSettings:
    """The recorded settings of a run beside those that RL Zoo or CleanRL use for the same algorithm and task."""

    source: str  #: "RL Zoo 2.9.2"
    place: str  #: the file that says so
    task: str  #: as that file calls it
    differ: tuple[TunedSetting, ...]  #: the furthest apart first
    same: tuple[str, ...]  #: options with the same value
    steps: float | None = None  #: environment steps of a training there


@dataclass(frozen=True, kw_only=True, eq=False)
class Diagnosis(Viewable):
    """The one object between the engine and every view."""

    run: Run
    verdict: Verdict
    first_break: FirstBreak | None
    causes: tuple[RankedCause, ...]
    outcomes: tuple[Outcome, ...]
    links: Mapping[Link, LinkVerdict]
    score: Score | None = None
    harm: Harm = Harm.NOT_MEASURED
    best_checkpoint: BestCheckpoint | None = None
    cost: Cost | None = None
    forecasts: tuple[Forecast, ...] = ()  #: levels that a curve is expected to reach, the nearest first
    expected: tuple[str, ...] = ()  #: what looks odd and is right, each with the reason ("GRPO loss is 0 because ...")
    thresholds: tuple[ChangedThreshold, ...] = ()  #: those that the user has set
    baseline: EarlierRuns | None = None  #: beside earlier healthy runs, where the user gave some
    tuned: tuple[TunedSettings, ...] = ()  #: beside the settings of others for this task; no evidence of the ranking

    @property
    def findings(self) -> tuple[Outcome, ...]:
        """The outcomes that found something, worst first, then by onset; of the worst, a score that did not move comes last."""
        found = [o for o in self.outcomes if o.finding is not None]
        return tuple(sorted(found, key=_finding_order))

    def __repr__(self) -> str:
        """One line; `rich.print` and a notebook show the report."""
        said = self.verdict
        return f"<Diagnosis of {self.run.path!r}: {said.action.value}. {said.summary} First: {said.do_first}>"


def _finding_order(outcome: Outcome) -> tuple[int, bool, float, int]:
    finding = outcome.finding
    assert finding is not None
    onset = np.inf if finding.onset is None else finding.onset
    unmoved = Role.SCORE_UNMOVED in outcome.roles
    return (-finding.severity.rank, unmoved, onset, outcome.link.order)
