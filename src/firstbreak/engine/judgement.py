"""One judgement: score, signs, harm and action, each computed once. All that a report says is read off them.

score   which curve, and what it did
signs   what was found beside the score itself, each with its link and its onset
harm    what the score has lost so far, or not gained
action  one table of worst sign x harm (`ACTIONS`)

The first break is the earliest sign that explains the harm. Without harm, it is the earliest sign, which has not done any yet
(`FirstBreak.kind`). How probable a healthy run is decides neither: probabilities rank causes.
"""

import enum
from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.engine.catalogue import told
from firstbreak.engine.common_settings import OUTSIDE
from firstbreak.engine.families import Policy
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.likelihood import HEALTHY
from firstbreak.engine.rank import by_link
from firstbreak.engine.stats.agreement import denies, informed
from firstbreak.engine.stats.agreement import fall as fall_of
from firstbreak.engine.stats.direction import came_back, fell_since, recovers
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.engine.stats.trend import trend
from firstbreak.model import (
    Action,
    BestCheckpoint,
    BreakKind,
    Confidence,
    Finding,
    FirstBreak,
    Harm,
    Interval,
    Link,
    Outcome,
    RankedCause,
    Role,
    Score,
    Series,
    Severity,
    Status,
    WeightKind,
)
from firstbreak.values import dataclass, replace

LARGE_LOSS = 1 / 3  #: of the gain: a run that lost more does not just go on (convention)
MATERIAL = 0.1  #: of the score itself: a smaller loss is none, however clear (convention)
ERRORS = 2.0  #: standard errors of a difference: a smaller loss may be noise
FEW = 10  #: scores whose error is not known: a dip among fewer may come back (convention)
MIN_SCORES = 30  #: scores in which a rise would show through the noise (convention)
PROBABLE = 0.3  #: a cause less probable than this is a guess: what separates the causes comes first (convention)
HARDLY_SOUND = (
    0.05  #: probability of a healthy run: below it no healthy run of the population stands still (population)
)
INSEPARABLE = 2.0  #: ratio of two probabilities below which the log cannot separate them (convention)
SURE = 2 / 3  #: a link whose causes are less probable together draws no broken relation from another link (convention)
SUSPECTED = 0.2  #: a cause less probable than this moves no sign to another link (convention)
EXACT = frozenset({Role.RELATION, Role.PROOF, Role.WEIGHTS_LOST})  #: findings that are more than a trend
RESTATE = frozenset({Role.SCORE_FELL, Role.SCORE_UNMOVED})  #: findings that say what the score did, and not why


class Worst(enum.Enum):
    """The worst sign of a run."""

    LOST_WEIGHTS = enum.auto()  #: weights or losses that are no numbers: nothing after it is of use
    PROOF = enum.auto()  #: an identity that fails: a bug, whatever the score does
    ENDED = enum.auto()  #: an error after which nothing was logged: there is nothing left to watch
    CRITICAL = enum.auto()
    WARNING = enum.auto()  #: of at least medium confidence, or slower, or too little memory
    DOUBT = enum.auto()  #: a warning of low confidence, or a file that could not be read
    NOTHING = enum.auto()


#: worst sign -> harm -> action; "roll back" is "stop" where no better policy was logged
ACTIONS: Mapping[Worst, Mapping[Harm, Action]] = {
    worst: dict(zip(Harm, row, strict=True))
    for worst, row in {
        Worst.LOST_WEIGHTS: (Action.ROLLBACK, Action.ROLLBACK, Action.STOP, Action.STOP, Action.STOP, Action.STOP),
        Worst.PROOF: (Action.ROLLBACK, Action.ROLLBACK, Action.STOP, Action.STOP, Action.STOP, Action.STOP),
        Worst.ENDED: (Action.ROLLBACK, Action.STOP, Action.STOP, Action.STOP, Action.STOP, Action.STOP),
        Worst.CRITICAL: (Action.ROLLBACK, Action.ROLLBACK, Action.STOP, Action.STOP, Action.WATCH, Action.STOP),
        Worst.WARNING: (Action.ROLLBACK, Action.WATCH, Action.WATCH, Action.WATCH, Action.WATCH, Action.WATCH),
        Worst.DOUBT: (Action.ROLLBACK, Action.WATCH, Action.WATCH, Action.WATCH, Action.WATCH, Action.WATCH),
        Worst.NOTHING: (Action.ROLLBACK, Action.WATCH, Action.WATCH, Action.WATCH, Action.CONTINUE, Action.CONTINUE),
    }.items()
}


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """What is judged of a run."""

    score: Score | None
    harm: Harm
    worst: Worst
    action: Action
    first_break: FirstBreak | None
    signs: tuple[Outcome, ...]  #: the earliest first
    answer: str  #: what an experiment's answer says to do first


def judge(
    inputs: Inputs, outcomes: Sequence[Outcome], ranked: Sequence[RankedCause], best: BestCheckpoint | None
) -> Judgement:
    """The judgement of one run."""
    score, harm = score_of(inputs), harm_of(inputs, outcomes)
    signs, worst = signs_of(outcomes), worst_of(inputs, outcomes)
    action = ACTIONS[worst][harm]
    if action is Action.ROLLBACK and not _better_before(inputs, best):
        action = Action.STOP
    if action is Action.CONTINUE and score is None:
        action = Action.WATCH  # nothing shows whether anything is learned
    rises, broken = score is not None and score.course in ("rising", "solved"), (Worst.LOST_WEIGHTS, Worst.PROOF)
    answer = "" if rises or worst in broken else told(ranked)
    if action is Action.CONTINUE and answer:
        action = Action.WATCH
    first = first_break_of(outcomes, ranked, signs, harm)
    if first is not None and action in (Action.STOP, Action.ROLLBACK):
        first = replace(first, kind=BreakKind.BREAK)  # what stops a run is no mere sign
    return Judgement(score=score, harm=harm, worst=worst, action=action, first_break=first, signs=signs, answer=answer)


# score ------------------------------------------------------------------------------------------------------------------


def score_of(inputs: Inputs) -> Score | None:
    """Which curve is the score, and what it did."""
    curve, shape = inputs.score, inputs.trajectory
    if curve is None or shape is None:
        return None
    return Score(
        metric=curve.name,
        why=_why(inputs, curve),
        course="solved" if inputs.solved else shape.kind,
        start=shape.start,
        best=shape.best,
        best_step=shape.best_step,
        end=shape.end,
        error=shape.level_noise,
        lost=shape.drop_fraction,
        others={name: informed(shape_of(other), fall_of(other, curve)).kind for name, other in _others(inputs).items()},
    )


def _why(inputs: Inputs, curve: Series) -> str:
    if curve is inputs.eval_score:
        return "the evaluation"
    if inputs.supervised:
        return (
            "the likelihood of held-out text" if curve.name == "eval.likelihood" else "the likelihood of its own text"
        )
    return "the training reward: there is no evaluation" if inputs.eval_score is None else "evaluations are too few"


def _others(inputs: Inputs) -> dict[str, Series]:
    """Every further score of the same policy, by its name."""
    training = inputs.second_score
    found = {} if training is None else {training.name: training}
    return found | {
        s.name: s for s in (inputs.independent or {}).values() if s.name != getattr(inputs.score, "name", "")
    }


# harm -------------------------------------------------------------------------------------------------------------------


def harm_of(inputs: Inputs, outcomes: Sequence[Outcome]) -> Harm:
    """What the score has lost so far, or not gained."""
    shape = inputs.trajectory
    if shape is None or shape.kind == "too_short":
        return Harm.NOT_MEASURED
    if inputs.solved:
        return Harm.NONE_YET
    if _lost(inputs, shape) or _surely_fell(outcomes):
        return Harm.LOST
    independent = [shape_of(s) for s in (inputs.independent or {}).values() if s is not inputs.score]
    if shape.lost or inputs.fall is not None or training_lost(inputs) or any(s.lost for s in independent):
        return Harm.LOSING
    certain = [o for o in outcomes if o.finding is not None and o.finding.confidence is not Confidence.LOW]
    critical = [o for o in outcomes if o.finding is not None and o.finding.severity is Severity.CRITICAL]
    if (
        _found(Role.EVALUATION_APART, outcomes)
        or _found(Role.DRIFT_UNREWARDED, certain)
        or _found(Role.TEXT_LOST, critical)
    ):
        return Harm.APART
    return Harm.STALLED if _apart(inputs) or goes_nowhere(inputs, outcomes) else Harm.NONE_YET


def _lost(inputs: Inputs, shape: Trajectory) -> bool:
    """A third of the gain or more is gone for good, beyond its error, and the evaluation does not deny it."""
    size = max(abs(shape.best), abs(shape.end))
    large = shape.lost and shape.drop_fraction >= LARGE_LOSS and shape.drop >= MATERIAL * size
    if inputs.score is None or not large or shape.drop_interval[0] <= 0:  # the best of many equal levels lies too high
        return False
    if shape.n < FEW and (inputs.score_error is None or _fell_alone(inputs, shape.best_step)):
        return False
    if recovers(inputs.score, shape.best, shape.best_step) or came_back(inputs.score, shape):
        return False
    evaluation = inputs.eval_score
    return evaluation is None or inputs.score is evaluation or not denies(evaluation, shape)


def _fell_alone(inputs: Inputs, since: float) -> bool:
    """Whether the evaluation of a control policy fell, and the return of training since then did not.

    The episodes of one evaluation tell the error of one policy. Policies differ by more from one evaluation to the next, and
    a few evaluations do not show by how much: what is lost for good, training loses too.
    """
    training = inputs.second_score
    if training is None or inputs.policy is not Policy.CONTROL:
        return False
    return not fell_since(since, training)


def _surely_fell(outcomes: Sequence[Outcome]) -> bool:
    """A check of the score is sure that it fell for good, where the shape of the curve leaves it open."""
    fell = [o.finding for o in outcomes if Role.SCORE_FELL in o.roles and o.finding is not None]
    return any(f.severity is Severity.CRITICAL and f.confidence is Confidence.HIGH for f in fell)


def _apart(inputs: Inputs) -> bool:
    """The training reward improved, and the evaluation does not show it: its noise may hide that."""
    evaluation, training = inputs.trajectory, inputs.second_score
    if training is None or evaluation is None or inputs.solved:
        return False
    beside = shape_of(training.between(float(inputs.score.steps[0])) if inputs.score is not None else training)
    if inputs.policy is Policy.CONTROL and evaluation.gain + ERRORS * np.sqrt(2) * evaluation.level_noise > beside.gain:
        return False  # both are returns, and the evaluation may have risen by as much
    return evaluation.kind in ("flat", "declining") and shape_of(training).learned


def training_lost(inputs: Inputs) -> bool:
    """The training reward fell for good, and the evaluation does not show that the policy kept its skill."""
    evaluation, training = inputs.eval_score, inputs.second_score
    if training is None or evaluation is None or inputs.solved:
        return False
    course = shape_of(training)
    return course.lost and not denies(evaluation, course)


def goes_nowhere(inputs: Inputs, outcomes: Sequence[Outcome]) -> bool:
    """The score may never have improved: of public logs of these shapes, 54 learned nothing and 11 were healthy."""
    shape, score, second = inputs.trajectory, inputs.score, inputs.second_score
    if score is None or shape is None or inputs.solved:
        return False
    # the training reward does not rise either: else nothing is found
    if _found(Role.SCORE_UNMOVED, outcomes) and max(shape.n, 0 if second is None else len(second)) >= MIN_SCORES:
        return second is None or not _rose_at_first(second.finite.values)
    swings = shape.kind == "oscillating" and trend(score).direction <= 0 and not _rose_at_first(score.finite.values)
    return shape.n >= MIN_SCORES and bool(swings or np.ptp(score.values) == 0)


def _rose_at_first(values: np.ndarray) -> bool:
    """Whether nearly all scores lie above the first ones, or all clearly above the very first, whatever they did later."""
    later = values[max(len(values) // 10, 1) :]
    clear = bool(len(later)) and values[0] < min(np.min(later), np.mean(later) - 3 * np.std(later))
    return clear or bool(len(later) and np.quantile(later, 0.1) > np.max(values[:3]))


def _found(role: Role, outcomes: Sequence[Outcome]) -> bool:
    return any(role in o.roles and o.finding is not None for o in outcomes)


# signs ------------------------------------------------------------------------------------------------------------------


def signs_of(outcomes: Sequence[Outcome]) -> tuple[Outcome, ...]:
    """What was found beside the score itself and is more than a guess, the earliest first."""
    found = [o for o in outcomes if _is_sign(o) and not o.roles & RESTATE]
    return tuple(sorted(found, key=_by_onset))


def _is_sign(outcome: Outcome) -> bool:
    """Critical, or a warning of more than low confidence."""
    finding = outcome.finding
    if finding is None or finding.severity is Severity.NOTICE:
        return False
    return finding.severity is Severity.CRITICAL or finding.confidence is not Confidence.LOW


def worst_of(inputs: Inputs, outcomes: Sequence[Outcome]) -> Worst:
    """The worst sign. Slower is never wrong: what is found of systems is a warning, unless it ends the run."""
    if dead_since(outcomes) is not None:
        return Worst.LOST_WEIGHTS
    signs = signs_of(outcomes)
    critical = [
        o
        for o in signs
        if o.finding is not None
        and o.finding.severity is Severity.CRITICAL
        and o.finding.confidence is not Confidence.LOW
        and o.link is not Link.SYSTEMS
    ]
    if any(Role.PROOF in o.roles for o in critical):
        return Worst.PROOF
    if inputs.run.error is not None:
        return Worst.ENDED
    if critical or signs:
        return Worst.CRITICAL if critical else Worst.WARNING
    warned = any(o.finding is not None and o.finding.severity is not Severity.NOTICE for o in outcomes)
    return Worst.DOUBT if warned or inputs.run.unread else Worst.NOTHING


def dead_since(outcomes: Sequence[Outcome]) -> float | None:
    """The step from which on the weights are not finite: a checkpoint saved later is of no use, whatever its score."""
    found = (o.finding for o in outcomes if Role.WEIGHTS_LOST in o.roles and o.finding is not None)
    return next((f.onset for f in found if f.severity is Severity.CRITICAL), None)


def _by_onset(outcome: Outcome, dating: Sequence[Outcome] = ()) -> tuple[float, bool, int, int]:
    """The earliest first; of one step, a relation that is broken comes before a trend."""
    assert outcome.finding is not None
    finding = _dated(outcome.finding, dating)
    onset = np.inf if finding.onset is None else finding.onset
    return (onset, Role.RELATION not in outcome.roles, -finding.severity.rank, outcome.link.order)


# action -----------------------------------------------------------------------------------------------------------------


def _better_before(inputs: Inputs, best: BestCheckpoint | None) -> bool:
    """Whether there is something to go back to: a score above its start before the end, or a saved model."""
    score, shape = inputs.score, inputs.trajectory
    if best is None or score is None or shape is None or not len(score) or best.step >= float(score.steps[-1]):
        return False
    if best.path is not None:
        return True
    rose = shape.best - shape.start > ERRORS * shape.level_noise
    return rose and best.step > float(score.steps[0]) and not inputs.run.checkpoints


# the first break --------------------------------------------------------------------------------------------------------


AT_ONCE = 0.1  #: of the steps so far: what slows down over more of them grows (convention)
LATER = (
    0.25  #: of these steps: what began so late does not grow from the start, as what is kept for ever does (convention)
)
MOST_OF_THE_SPEED = 2 / 3  #: another job on the machine takes less (convention)


def first_break_of(
    outcomes: Sequence[Outcome], ranked: Sequence[RankedCause], signs: Sequence[Outcome], harm: Harm
) -> FirstBreak | None:
    """The earliest sign that explains the harm; without harm, the earliest sign.

    A proof comes before every other sign, and that of the most probable cause before other proofs; what is sure comes before
    what is not.
    A sign of another link that the one probable cause does not explain is of something else, and comes first only where it is
    critical and surely began before.
    Where there is harm and no sign, the doubts count, and then what says of the score that it fell. The link is that of the
    sign, or that of the most probable cause where it explains the sign.
    """
    harmed = harm in (Harm.LOST, Harm.LOSING, Harm.APART)
    drift = harm is Harm.APART and not _found(Role.EVALUATION_APART, outcomes)  # nothing is lost yet
    if harmed:  # slower is no reason why a score falls
        found = [o for o in signs if o.link is not Link.SYSTEMS or Role.RELATION in o.roles]
        found = [o for o in found or _doubts(outcomes) or signs if not _only_slower(o, signs)]
    else:
        found = [o for o in signs if _is_serious(o) and not _only_slower(o, signs)]
    found = _without_restatements(_without_consequences(found, outcomes))
    if any(_is_apart(o) for o in found):  # a policy that games its reward drifts
        found = [o for o in found if Role.TEXT_LOST not in o.roles or _is_apart(o)]
    found = sorted(found, key=lambda o: (bool(o.roles & RESTATE), _by_onset(o, outcomes)))
    if not found:
        return _by_setting(outcomes, ranked) if harmed or harm is Harm.STALLED else None
    proofs = [o for o in found if Role.PROOF in o.roles]
    its = explained(max(ranked, key=lambda cause: cause.probability, default=None))
    sure = [o for o in found if _is_serious(o)]
    sign = ([o for o in proofs if o.detector in its] or proofs or _explaining(sure or found, ranked) or found)[0]
    assert sign.finding is not None
    healthy = sum(c.probability for c in ranked if c.id == HEALTHY)
    link, dated = _link_of(sign, ranked), _dated(sign.finding, outcomes)
    causes = {c.link for c in ranked if c.probability >= SUSPECTED or sign.detector in explained(c)}
    pointed = causes | {o.link for o in [*signs, *_doubts(outcomes)]}
    also, probability = _told_apart(link, {of: p for of, p in by_link(ranked).items() if of is link or of in pointed})
    sound = healthy > sum(c.probability for c in ranked if c.link is not None and c.link in (link, also))
    return FirstBreak(
        link=link,
        kind=BreakKind.BREAK if harmed and not drift and not sound else BreakKind.FIRST_SIGN,
        or_earlier=_or_earlier(link, outcomes),
        metric=sign.finding.metric,
        step=dated.onset,
        interval=dated.interval,
        sudden=dated.sudden,
        also=also,
        probability=probability,
        detector=sign.detector,
    )


def _by_setting(outcomes: Sequence[Outcome], ranked: Sequence[RankedCause]) -> FirstBreak | None:
    """No curve shows why the score goes nowhere, and a setting far from what is usual makes one cause probable.

    Or the run is hardly a sound one, whichever cause it is: then the most probable links are named.
    """
    top = max(ranked, key=lambda cause: cause.probability, default=None)
    if top is None or top.link is None:
        return None
    sick = sum(c.probability for c in ranked if c.id == HEALTHY) < HARDLY_SOUND
    if not sick and top.probability < PROBABLE:
        return None
    if not sick and max((w.weight for w in top.evidence if w.kind is WeightKind.CONFIGURATION), default=0.0) < OUTSIDE:
        return None
    also, probability = _told_apart(top.link, by_link(ranked))
    earlier = _or_earlier(top.link, outcomes)
    return FirstBreak(link=top.link, kind=BreakKind.FIRST_SIGN, or_earlier=earlier, also=also, probability=probability)


def _or_earlier(link: Link, outcomes: Sequence[Outcome]) -> bool:
    return any(is_blind(upstream, outcomes) for upstream in Link if upstream.order < link.order)


def _explaining(signs: Sequence[Outcome], ranked: Sequence[RankedCause]) -> list[Outcome]:
    """Where one cause is more probable than all others together: its signs, those of its link, and what is critical and
    surely came before all of them."""
    top = max(ranked, key=lambda cause: cause.probability, default=None)
    if top is None or top.link is None or top.probability <= 0.5:
        return list(signs)
    own = [o for o in signs if o.detector in explained(top) or o.link is top.link]
    first = min((_interval(o)[0] for o in own), default=np.inf)
    critical = [o for o in signs if o.finding is not None and o.finding.severity is Severity.CRITICAL]
    return [o for o in signs if o in own or (o in critical and _interval(o)[1] < first)]


def _interval(sign: Outcome) -> Interval:
    """The steps between which a sign began."""
    finding = sign.finding
    onset = np.inf if finding is None or finding.onset is None else finding.onset
    return (onset, onset) if finding is None or finding.interval is None else finding.interval


def _without_consequences(signs: Sequence[Outcome], dating: Sequence[Outcome]) -> list[Outcome]:
    """The signs up to the first number that is lost for good: what comes with it or after it speaks for no other link."""
    lost = next((o for o in signs if o.finding is not None and o.finding.numbers.get("lasting")), None)
    if lost is None or lost.finding is None or lost.finding.onset is None:
        return list(signs)
    since = lost.finding.onset
    curve = next((e.series for e in lost.finding.evidence if e.series is not None and len(e.series)), None)
    early = curve is not None and since <= curve.steps[0] + AT_ONCE * np.ptp(curve.steps)  # all else was seen after it
    onsets = ((o, None if o.finding is None else _dated(o.finding, dating).onset) for o in signs)
    return [
        o
        for o, onset in onsets
        if o is lost or Role.PROOF in o.roles or (not early and onset is not None and onset < since)
    ]


def _without_restatements(signs: Sequence[Outcome]) -> list[Outcome]:
    """The signs without trends of a curve whose numbers are known not to fit: the relation says why it grows."""
    related = {o.finding.metric for o in signs if o.finding is not None and Role.RELATION in o.roles and _is_serious(o)}
    return [o for o in signs if o.roles & EXACT or o.finding is None or o.finding.metric not in related]


def _dated(finding: Finding, outcomes: Sequence[Outcome]) -> Finding:
    """The finding that dates a change best: a jump of the same curve, in or near the interval in which the change began."""
    low, high = finding.interval or (np.inf, -np.inf)
    jumps = (o.finding for o in outcomes if o.finding is not None and o.finding.sudden)
    same = (f for f in jumps if f.metric == finding.metric and f.onset is not None and low <= f.onset <= 2 * high - low)
    return next(same, finding)


def _is_apart(sign: Outcome) -> bool:
    """What is sure, and says that the evaluation falls while the reward rises."""
    return Role.EVALUATION_APART in sign.roles and _is_serious(sign)


def _is_serious(sign: Outcome) -> bool:
    """What may be named before it has done harm: critical, or sure."""
    finding = sign.finding
    return finding is not None and (finding.severity is Severity.CRITICAL or finding.confidence is Confidence.HIGH)


def _only_slower(sign: Outcome, signs: Sequence[Outcome]) -> bool:
    """What costs time and breaks nothing in a run that learns: a machine that others use is slower from one step to the next,
    and a filter or longer completions take more of a step while no speed falls."""
    finding = sign.finding
    metric = "" if finding is None or sign.link is not Link.SYSTEMS else finding.metric or ""
    if finding is None or not metric.startswith(("throughput", "time.")):
        return False
    if metric.startswith(("throughput", "time.step", "time.iteration")):
        low, high = finding.interval or (-np.inf, np.inf)
        at_once = high - low <= AT_ONCE * abs(high)
        less = finding.numbers.get("lost", 0.0 if at_once else 1.0) < MOST_OF_THE_SPEED
        return less and (at_once or low >= LATER * abs(high))
    return not any(o.finding is not None and (o.finding.metric or "").startswith("throughput") for o in signs)


def _doubts(outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Warnings that are no signs, the earliest first; those that only say what the score did come last."""
    found = [o for o in outcomes if o.finding is not None and o.finding.severity is not Severity.NOTICE]
    return sorted(found, key=lambda o: (bool(o.roles & RESTATE), _by_onset(o)))


def _link_of(sign: Outcome, ranked: Sequence[RankedCause]) -> Link:
    """The link of a probable cause, where it explains the sign and no cause at the sign's own link is about as probable."""
    top = next((c for c in ranked if c.link is not None and c.probability >= SUSPECTED), None)
    if top is None or top.link is None or sign.detector not in explained(top):
        return sign.link
    own = max((c.probability for c in ranked if c.link is sign.link and sign.detector in explained(c)), default=0.0)
    at_link = sum(c.probability for c in ranked if c.link is top.link)
    #: what was found has causes at several links
    either = sign.finding is not None and sign.finding.numbers.get("either")
    exact = not either and (Role.PROOF in sign.roles or (Role.RELATION in sign.roles and at_link < SURE))
    return sign.link if exact or own * INSEPARABLE > top.probability else top.link


def explained(cause: RankedCause | None) -> set[str]:
    """The detectors whose findings speak for a cause."""
    found = (WeightKind.FOUND, WeightKind.PROVED)
    return set() if cause is None else {w.finding for w in cause.evidence if w.kind in found}


def _told_apart(link: Link, probabilities: Mapping[Link, float]) -> tuple[Link | None, float]:
    """The most probable other link, where `link` alone is not more probable than all others; and how probable the answer is."""
    alone = probabilities.get(link, 0.0)
    others = {other: p for other, p in probabilities.items() if other is not link}
    if alone > 0.5 or not others:
        return None, alone if probabilities else 1.0
    rival = max(others, key=lambda other: others[other])
    if others[rival] * INSEPARABLE < alone:
        return None, alone  # far less probable than this one
    return rival, alone + others[rival]


def is_blind(link: Link, outcomes: Sequence[Outcome]) -> bool:
    """Whether nothing of this link was measured, although the run could have logged it."""
    seen = (o for o in outcomes if o.link is link and (o.finding is not None or not o.roles & RESTATE))
    statuses = {o.status for o in seen}
    return not statuses & {Status.OK, Status.FOUND} and bool(statuses & {Status.NOT_MEASURED, Status.CRASHED})
