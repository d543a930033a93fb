"""What is asked of every single step: a few comparisons of one number with its own past, in constant memory.

Each rule is a pure function of (past, value, limits). It is the quick form of a check (`INVARIANTS` names it), and takes its
thresholds from that check, so that a number stands in one place. A violation either names an act by itself (a NaN needs
no curve), or asks that all detectors check the run now: a clip fraction or an entropy alone proves nothing.
"""

import math
from collections.abc import Callable, Collection, Mapping
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from firstbreak import dialects
from firstbreak.dialects.hyperparameters import canonical_config
from firstbreak.engine.registry import detectors
from firstbreak.knowledge.detectors.numerics.non_finite_values import COMPUTED
from firstbreak.live.guard.change import ALPHA, ChangeTest, LevelChange
from firstbreak.live.guard.decision import Act
from firstbreak.live.guard.drift import CLEARLY, DRIFTS, NORM, Drift, Drifted, DriftTest
from firstbreak.model import Confidence, Config, Finding, Series, Severity
from firstbreak.words import number, percent

WARM_UP = 20  #: finite values before a number is compared with its own past
MEMORY = 0.05  #: weight of the newest value in the running level: about the last 20 steps
PADDING = 0.2  #: where so many values were not finite, the log leaves cells empty, and one more says nothing


class Past(NamedTuple):
    """What is remembered of one metric."""

    seen: int = 0  #: finite values so far
    broken: int = 0  #: values that were not finite
    broken_in_a_row: int = 0
    beyond: int = 0  #: values in a row beyond the bound
    start: float = 0.0  #: mean of the first WARM_UP values
    level: float = 0.0  #: running mean of log |value|
    spread: float = 0.0  #: running mean distance from it
    growing: int = 0  #: values in a row, each far above the one before it
    last: float = 0.0  #: size of the last value
    largest: float = 0.0  #: largest size before they began to grow


NO_PAST = Past()


class Limits(NamedTuple):
    """The thresholds of the checks that the rules speed up, and what the run itself has set."""

    lasting: int  #: values in a row that are not finite, or points beyond a limit, from which on it is no accident
    kl_target_ratio: float  #: times the target
    ratio_deviation: float  #: of the mean ratio from 1
    grad_growth: float  #: times the usual gradient norm
    clip_high: float  #: share of the samples
    entropy_share: float  #: of the entropy at the start
    target_kl: float | None = None


@cache
def limits() -> Limits:
    """As the checks have them."""

    def threshold(invariant: str, name: str) -> Any:
        return detectors()[INVARIANTS[invariant]].thresholds[name].default

    return Limits(
        lasting=int(threshold("finite", "lasting_points")),
        kl_target_ratio=float(threshold("kl-against-target", "max_target_ratio")),
        ratio_deviation=float(threshold("ratio", "deviation_critical")),
        grad_growth=float(threshold("grad-norm-tail", "growth_warning")),
        clip_high=float(threshold("clip-fraction", "high")),
        entropy_share=float(threshold("entropy-floor", "max_share")),
    )


class Violation(NamedTuple):
    """An invariant that does not hold."""

    invariant: str
    act: Act  #: CONTINUE: have the detectors check now
    message: str
    severity: Severity
    metric: str = ""  #: the signal
    lasted: int = 0  #: steps since it began, where that is known

    def finding(self, step: float | None) -> Finding:
        """As the rest of firstbreak says it."""
        return Finding(
            message=f"{self.metric}: {self.message}",
            severity=self.severity,
            confidence=Confidence.HIGH,
            metric=self.metric,
            onset=step,
            interval=None if step is None else (step, step),
        )


Rule = Callable[[Past, float, Limits], tuple[Past, Violation | None]]


def finite(past: Past, value: float, limits: Limits) -> tuple[Past, Violation | None]:
    """A number that an update computes has a value: one that has none spoils every weight it touches.

    Micikevicius et al. (arXiv 1710.03740): a scaler of mixed precision skips single steps on purpose, so a single one
    asks for just that; `lasting` in a row are no accident.
    """
    if math.isfinite(value):
        return past._replace(seen=past.seen + 1, broken_in_a_row=0), None
    past = past._replace(broken=past.broken + 1, broken_in_a_row=past.broken_in_a_row + 1)
    if past.broken_in_a_row >= limits.lasting:
        message = f"not finite for {past.broken_in_a_row} steps in a row: go back to before it"
        return past, Violation("finite", Act.STOP, message, Severity.CRITICAL)
    if past.seen == 0 or past.broken > PADDING * past.seen + limits.lasting:
        return past, None
    return past, Violation("finite", Act.SKIP_UPDATE, f"is {value}: do not apply this update", Severity.WARNING)


#: nats; without a target, one update that is beyond this and far beyond all before is enough to lose a policy
KL_FAR = 1.0
KL_TIMES = 50.0


def kl(past: Past, value: float, limits: Limits) -> tuple[Past, Violation | None]:
    """One update stays near the policy that collected the data."""
    size = abs(value)
    if limits.target_kl is not None:
        bound = limits.kl_target_ratio * limits.target_kl
        what = f"{number(bound / limits.target_kl)} times the target of {number(limits.target_kl)}"
    else:
        bound = max(KL_FAR, KL_TIMES * math.exp(past.level)) if past.seen >= WARM_UP else math.inf
        what = f"far beyond its own past, about {number(math.exp(past.level))}"
    past = _with(past, size, size > bound, limits)
    if size <= bound:
        return past, None
    message = f"this update moves the policy by {number(size)} nats, more than {what}: end its epochs here"
    return past, Violation("kl-against-target", Act.SKIP_UPDATE, message, Severity.WARNING)


RATIO_IN_A_ROW = 3


def ratio(past: Past, value: float, limits: Limits) -> tuple[Past, Violation | None]:
    """The mean probability ratio of new to old policy stays near 1."""
    off = abs(value - 1) >= limits.ratio_deviation
    past = _with(past, abs(value), off, limits)
    if past.beyond != RATIO_IN_A_ROW:
        return past, None
    message = (
        f"the mean ratio has been far from 1 for {past.beyond} steps (now {number(value)}): lower the learning rate"
    )
    return past, Violation("ratio", Act.REDUCE, message, Severity.WARNING)


GRAD_SIGMAS = 8.0  #: mean distances of log norm from its running level


def grad_norm(past: Past, value: float, limits: Limits) -> tuple[Past, Violation | None]:
    """A gradient norm lies in the tail of its own past, on a logarithmic scale (ZClip, arXiv 2504.02507)."""
    bound = math.exp(past.level) * max(limits.grad_growth, math.exp(GRAD_SIGMAS * past.spread))
    off = past.seen >= WARM_UP and value > bound
    usual = math.exp(past.level)
    past = _with(past, value, off, limits)
    if not off or past.beyond > limits.lasting:  # a new level is no outlier: the detectors look at those
        return past, None
    message = (
        f"the gradient norm is {number(value)}, {number(value / usual)} times what is usual: leave this update out"
    )
    return past, Violation("grad-norm-tail", Act.SKIP_UPDATE, message, Severity.WARNING)


CLIPPED_IN_A_ROW = 5


def clip_fraction(past: Past, value: float, limits: Limits) -> tuple[Past, Violation | None]:
    """The clip leaves most of the batch a gradient."""
    past = _with(past, value, value > limits.clip_high, limits)
    if past.beyond != CLIPPED_IN_A_ROW:
        return past, None
    share = percent(limits.clip_high)
    message = f"the clip has cut more than {share} of the batch for {past.beyond} steps: lower the learning rate"
    return past, Violation("clip-fraction", Act.REDUCE, message, Severity.WARNING)


FLOOR_IN_A_ROW = 3


def entropy(past: Past, value: float, limits: Limits) -> tuple[Past, Violation | None]:
    """Entropy stays above a part of its own start. A task that is learned goes below it too, so the detectors decide."""
    off = past.seen >= WARM_UP and past.start > 0 and value < limits.entropy_share * past.start
    past = _with(past, value, off, limits)
    if past.beyond != FLOOR_IN_A_ROW:
        return past, None
    message = (
        f"entropy fell to {number(value)}, below {percent(limits.entropy_share)} of its start of {number(past.start)}"
    )
    return past, Violation("entropy-floor", Act.CONTINUE, message, Severity.NOTICE)


DOUBLING = 1.5  #: times the value before
DOUBLINGS = 10  #: in a row
OVERFLOWING = 1e3  #: of the loss, and of its largest value before: no loss comes back from there in one piece
HALF, SINGLE = 65504.0, 3.4e38  #: the largest numbers of float16, and of float32 and bfloat16


def doubling(past: Past, value: float, limits: Limits) -> tuple[Past, Violation | None]:
    """A loss does not grow by half or more at each of many steps: stopped here, its weights still have values."""
    size, past = abs(value), past._replace(seen=past.seen + 1)
    if not (past.last > 0 and size >= DOUBLING * past.last):
        return past._replace(growing=0, last=size, largest=max(past.largest, past.last, size)), None
    past = past._replace(growing=past.growing + 1, last=size)
    if past.growing < DOUBLINGS or size < OVERFLOWING * max(1.0, past.largest):
        return past, None
    rate = (size / past.largest) ** (1 / past.growing)
    left = {name: math.log(most / size) / math.log(rate) for name, most in (("float16", HALF), ("float32", SINGLE))}
    ends = ", ".join(f"{name} in {math.ceil(n)} steps" for name, n in left.items() if n > 0)
    message = (
        f"has grown at each of the last {past.growing} steps, from {number(past.largest)} to {number(size)}"
        f"{f', and overflows {ends}' if ends else ''}: go back to before it, with a lower learning rate"
    )
    return past, Violation("doubling", Act.STOP, message, Severity.CRITICAL, lasted=past.growing)


FALLS = frozenset({"reward.mean", "success_rate", "eval.reward", "eval.accuracy", "eval.success_rate"})
JUMPS = frozenset({"length.mean"})  #: in both directions


def level(signal: str, found: LevelChange) -> Violation:
    """The level of a curve has changed. That stops nothing: the detectors look."""
    name = "jumped" if signal in JUMPS else "fell"
    last = "value" if found.last == 1 else f"{found.last} values"
    message = (
        f"{name} from {number(found.before)} to {number(found.now)} within the last {last}, by "
        f"{number(abs(found.now - found.before) / found.noise)} times its noise (a level that "
        f"stays shows this in less than {percent(ALPHA)} of runs)"
    )
    return Violation(f"level-{name}", Act.CONTINUE, message, Severity.WARNING, metric=signal, lasted=found.last - 1)


def drifts(signal: str, drift: Drift, found: Drifted) -> Violation:
    """A curve has drifted away over tens of steps. That stops nothing: the detectors look."""
    word = "grew" if drift.sign > 0 else "fell"
    by = f", by {number(abs(found.now - found.before) / found.noise)} times its noise" if not drift.times else ""
    beside = {"not rising": ", and the score does not rise", "falling": ", and the score falls"}.get(drift.score, "")
    moved = f"{word} slowly from {number(found.before)} to {number(found.now)} over about {found.steps} values"
    message = f"{moved}{by}{beside}"
    return Violation(drift.name, Act.CONTINUE, message, Severity.WARNING, metric=signal, lasted=found.steps - 1)


#: invariant -> the check that it speeds up: the same question of the whole run, which decides in the end
INVARIANTS: Mapping[str, str] = {
    "finite": "non-finite-values",
    "kl-against-target": "step-too-large",
    "ratio": "importance-weight-off",
    "grad-norm-tail": "grad-norm-explosion",
    "clip-fraction": "clip-fraction-high",
    "entropy-floor": "entropy-collapse",
    "doubling": "non-finite-values",
    "level-fell": "score-lost",
    "level-jumped": "length-jump",
    "level-score": "score-lost",
    "level-gradient": "grad-norm-explosion",
    "level-value-loss": "value-loss-growing",
    "level-divergence": "step-too-large",
    "level-distance": "far-from-reference",
    "level-entropy": "entropy-collapse",
    "level-length": "length-runaway",
}
RULES: Mapping[str, Rule] = {
    "kl.old": kl,
    "kl.old.k1": kl,
    "kl.old.k2": kl,
    "kl.old.k3": kl,
    "policy.ratio.mean": ratio,
    "grad.norm": grad_norm,
    "policy.clip_fraction": clip_fraction,
    "policy.entropy": entropy,
}


#: identities that the recorder measures before the optimizer's step, and that need no second look -> their checks
PROVED: Mapping[str, str] = {
    "proof.advantage_turned": "advantages-negated",
    "proof.advantage_moved": "advantages-of-other-rows-used",
    "proof.advantage_regrouped": "baseline-of-other-prompts",
    "proof.group_mixed": "groups-of-several-prompts",
    "proof.mask_extra": "other-tokens-in-loss",
    "proof.mask_missing": "sampled-tokens-left-out",
    "proof.gradient_turned": "loss-turned-round",
    "proof.nonfinite": "tensor-not-finite",
}


def identity(signal: str) -> Rule:
    """An identity of the recorder holds, as its check judges it: one update that breaks it is enough to stop."""
    check = detectors()[PROVED[signal]]

    def rule(past: Past, value: float, limits: Limits) -> tuple[Past, Violation | None]:
        curve = Series(name=signal, steps=np.zeros(1), values=np.array([value]))
        found = check.ask(**{signal.replace(".", "_"): curve}, config=Config())
        if not isinstance(found, Finding):
            return past, None
        message = found.message.partition(". Proved at")[0]
        return past, Violation(check.id, Act.STOP, message, Severity.CRITICAL)

    return rule


class Watch:
    """The invariants over a stream of metrics under the trainer's own names."""

    def __init__(self, trainer: str | None, target_kl: float | None) -> None:
        self.trainer, self.target_kl = trainer, target_kl
        self._limits = limits()._replace(target_kl=target_kl)
        self._known: set[str] = set()
        self._watched: list[tuple[str, str, float, Rule]] = []
        self._pasts: dict[str, Past] = {}
        self._levels: dict[str, tuple[str, float, ChangeTest]] = {}
        self._drifts: dict[str, tuple[str, float, DriftTest]] = {}

    def violations(self, numbers: Mapping[str, float], config: Mapping[str, Any]) -> list[Violation]:
        """What does not hold in these numbers."""
        if not numbers.keys() <= self._known:
            self.learn(numbers, config)
        found = []
        for name, signal, scale, rule in self._watched:
            value = numbers.get(name)
            if value is None:
                continue
            self._pasts[name], violation = rule(self._pasts.get(name, NO_PAST), value * scale, self._limits)
            if violation is not None:
                # else only the detectors hear of it
                if violation.severity is Severity.NOTICE and self._unexplained(NORM):
                    violation = violation._replace(severity=Severity.WARNING)
                found.append(violation._replace(metric=signal))
        for name, (signal, scale, test) in self._levels.items():
            if name in numbers and (change := test.add(numbers[name] * scale)) is not None:
                found.append(level(signal, change))
                if name in self._drifts:  # a sudden change is no slow one too
                    self._drifts[name][2].restart()
        for name, (signal, scale, slow) in self._drifts.items():
            drifted = slow.add(numbers[name] * scale) if name in numbers else None
            if drifted is not None and self._unexplained(DRIFTS[signal]):
                found.append(drifts(signal, DRIFTS[signal], drifted))
                slow.restart()
        return found

    def _unexplained(self, drift: Drift) -> bool:
        """Whether the score does what this drift must have beside it."""
        scores = [test.course() for signal, _, test in self._drifts.values() if DRIFTS[signal].name == "level-score"]
        if drift.score == "falling":
            return min(scores, default=0.0) < -CLEARLY
        return not drift.score or max(scores, default=0.0) < CLEARLY

    def learn(self, names: Collection[str], config: Mapping[str, Any]) -> None:
        """What new names mean, and what the options say."""
        self._known |= set(names)
        dialect = dialects.choose(self._known, config, self.trainer)
        meanings = dialects.understand(sorted(self._known), dialect)
        found = ((name, m.signal, m.scale, rule_for(m.signal)) for name, m in meanings.items())
        self._watched = [(name, signal, scale, rule) for name, signal, scale, rule in found if rule is not None]
        for name, m in meanings.items():
            if m.signal in FALLS | JUMPS and (name not in self._levels or self._levels[name][0] != m.signal):
                self._levels[name] = m.signal, m.scale, ChangeTest(both=m.signal in JUMPS)
            if m.signal in DRIFTS and (name not in self._drifts or self._drifts[name][0] != m.signal):
                self._drifts[name] = m.signal, m.scale, DriftTest(DRIFTS[m.signal])
        if self.target_kl is None:
            target = canonical_config(config, dialect, self._known).number("target_kl")
            self._limits = self._limits._replace(target_kl=target)


def rule_for(signal: str) -> Rule | None:
    """What is asked of a signal at every step; None where nothing is."""
    rule = identity(signal) if signal in PROVED else RULES.get(signal)
    if rule is None and COMPUTED.fullmatch(signal):
        rule = doubling if "loss" in signal else finite
    if rule is None or rule is finite:
        return rule

    def both(past: Past, value: float, limits: Limits) -> tuple[Past, Violation | None]:
        if not math.isfinite(value):
            return finite(past, value, limits)
        return rule(past if not past.broken_in_a_row else past._replace(broken_in_a_row=0), value, limits)

    return both


def _with(past: Past, value: float, beyond: bool, limits: Limits) -> Past:
    """The past with one value more. A value beyond the bound does not move the level it is measured by."""
    seen, run = past.seen + 1, past.beyond + 1 if beyond else 0
    if beyond and run <= limits.lasting:
        return past._replace(seen=seen, beyond=run)
    logarithm = math.log(max(abs(value), 1e-12))
    weight = max(MEMORY, 1 / seen)
    level = past.level + weight * (logarithm - past.level)
    spread = past.spread + weight * (abs(logarithm - level) - past.spread)
    start = past.start + (value - past.start) / seen if seen <= WARM_UP else past.start
    return past._replace(seen=seen, beyond=run, start=start, level=level, spread=spread)
