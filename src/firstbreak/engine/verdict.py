"""The words of a diagnosis: the state of each link, what to do with the run, and what more training can gain and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.inputs import Inputs, highest
from firstbreak.engine.likelihood import HEALTHY
from firstbreak.engine.stats.agreement import denies
from firstbreak.engine.stats.ceiling import expected_gain
from firstbreak.engine.stats.rate import MIN_POINTS, Course, Rate, rate
from firstbreak.engine.stats.shape import Kind, Trajectory
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.engine.stats.trend import trend
from firstbreak.model import (
    Action,
    BestCheckpoint,
    Confidence,
    FirstBreak,
    Link,
    LinkStatus,
    LinkVerdict,
    Outcome,
    RankedCause,
    Role,
    Series,
    Severity,
    Status,
    Verdict,
    WeightKind,
)
from firstbreak.words import axis_word, joined, link_word, lowered, moment, number, percent, quoted

TOO_FEW = "too few points to tell"
MIN_PROBABILITY = 0.1  #: a cause less probable than this is not named in a summary (convention)
LARGE_LOSS = 1 / 3  #: of the gain: a run that lost more does not just go on (convention)
MIN_SCORES = 30  #: scores in which a rise would show through the noise (convention)
INSEPARABLE = 2.0  #: ratio of the probabilities of two causes below which the log cannot separate them (convention)


def link_verdicts(
    outcomes: Sequence[Outcome],
    first_break: FirstBreak | None,
    action: Action,
    rival: RankedCause | None = None,
    *,
    known: bool = True,
) -> Mapping[Link, LinkVerdict]:
    """One verdict for each of the ten links: only the first one is broken, and only where it is one.

    Of two links that cannot be told apart, each is suspect, and so is the link of the `rival`, the cause that the first one
    cannot be told apart from. `known`: the log is long enough for a check that finds nothing to mean something.
    """
    found = {link: _link_verdict([o for o in outcomes if o.link is link], link, first_break, action) for link in Link}
    if rival is not None and rival.link is not None and found[rival.link].status is LinkStatus.OK:
        why = f"a cause that cannot be ruled out would be here: {lowered(rival.title)} ({percent(rival.probability)})"
        found[rival.link] = LinkVerdict(status=LinkStatus.SUSPECT, why=why)
    if known:
        return found
    few = LinkVerdict(status=LinkStatus.NOT_MEASURED, why=TOO_FEW)
    return {link: few if verdict.status is LinkStatus.OK else verdict for link, verdict in found.items()}


def _link_verdict(outcomes: list[Outcome], link: Link, first_break: FirstBreak | None, action: Action) -> LinkVerdict:
    first = first_break is not None and link in first_break.links
    alone = first_break is not None and first_break.also is None
    stopped = first and alone and action in (Action.STOP, Action.ROLLBACK)
    serious = [o for o in outcomes if o.finding is not None and o.finding.severity is not Severity.NOTICE]
    if serious:
        worst = min(serious, key=lambda o: -o.finding.severity.rank if o.finding else 0)
        assert worst.finding is not None
        critical = worst.finding.severity is Severity.CRITICAL
        status = LinkStatus.BROKEN if stopped or (first and alone and critical) else LinkStatus.SUSPECT
        return LinkVerdict(status=status, why=worst.finding.message)
    if first:
        status = LinkStatus.BROKEN if stopped else LinkStatus.SUSPECT
        why = "the findings in other links point here"
        if first_break is not None and first_break.also is not None:
            why += f", or to {' and '.join(link_word(other) for other in first_break.links if other is not link)}"
        return LinkVerdict(status=status, why=why)
    asked = [o for o in outcomes if o.status in (Status.OK, Status.FOUND)]
    blind = [o for o in outcomes if o.status in (Status.NOT_MEASURED, Status.CRASHED)]
    if asked:
        partly = f"; {len(blind)} more had no input" if blind else ""
        return LinkVerdict(status=LinkStatus.OK, why=f"{len(asked)} checks found nothing wrong{partly}")
    if blind:
        return LinkVerdict(
            status=LinkStatus.NOT_MEASURED, why=min((o.note for o in blind if o.note), key=len, default="")
        )
    why = outcomes[0].note if outcomes else "no detector checks this link"
    return LinkVerdict(status=LinkStatus.NOT_APPLICABLE if outcomes else LinkStatus.NOT_MEASURED, why=why)


def judge(
    inputs: Inputs,
    outcomes: Sequence[Outcome],
    ranked: Sequence[RankedCause],
    first_break: FirstBreak | None,
    best: BestCheckpoint | None,
    *,
    sure: bool,
) -> Verdict:
    """The verdict: the action, and in words what more training can gain, its risk, and the first thing to do.

    `sure`: "healthy" is improbable enough that a critical finding may stop the run.
    """
    doubted = None if first_break is not None else _doubted(ranked)
    action = _action(inputs, outcomes, first_break, best, doubted, sure=sure)
    if action is Action.CONTINUE and inputs.run.unread:
        action = Action.WATCH
    return Verdict(
        action=action,
        summary=_summary(inputs, outcomes, ranked, first_break, doubted, sure=action in (Action.STOP, Action.ROLLBACK)),
        upside=upside(inputs),
        risk=risk(inputs, outcomes),
        do_first=_do_first(action, inputs, outcomes, ranked, first_break, best, doubted),
        known=action is not Action.CONTINUE or inputs.trajectory is None or inputs.trajectory.kind != "too_short",
    )


def _action(
    inputs: Inputs,
    outcomes: Sequence[Outcome],
    first_break: FirstBreak | None,
    best: BestCheckpoint | None,
    doubted: RankedCause | None,
    *,
    sure: bool,
) -> Action:
    found = [o.finding for o in outcomes if o.finding is not None]
    critical = any(f.severity is Severity.CRITICAL and f.confidence is not Confidence.LOW for f in found)
    shape = inputs.trajectory
    if critical and sure and first_break is not None:
        fell = shape is not None and shape.lost and best is not None and best.step < _last(inputs.score)
        return Action.ROLLBACK if fell else Action.STOP
    doubtful = any(f.severity is not Severity.NOTICE and f.confidence is not Confidence.LOW for f in found)
    if first_break is not None or shape is None or doubtful or any(f.severity is Severity.CRITICAL for f in found):
        return Action.WATCH
    if doubted is not None or shape.lost or inputs.fall is not None:
        return Action.WATCH
    watch = _unmoved(inputs, outcomes) or _apart(inputs) or _training_lost(inputs)
    return Action.WATCH if watch else Action.CONTINUE


def _doubted(ranked: Sequence[RankedCause]) -> RankedCause | None:
    """The cause that is more probable than a healthy run although no finding says where the loop broke: a setting may."""
    top = max(ranked, key=lambda c: c.probability, default=None)
    return top if top is not None and top.link is not None else None


def _lost_much(inputs: Inputs) -> bool:
    """The score got worse for good, by more than a wobble of its plateau."""
    shape = inputs.trajectory
    return shape is not None and shape.lost and shape.drop_fraction >= LARGE_LOSS


def _apart(inputs: Inputs) -> bool:
    """The training reward improved and the evaluation did not: more of the same gains nothing that counts."""
    evaluation, training = inputs.trajectory, inputs.second_score
    if training is None or evaluation is None or inputs.solved:
        return False
    return evaluation.kind in ("flat", "declining") and shape_of(training).learned


def _training_lost(inputs: Inputs) -> bool:
    """The training reward fell for good, and the evaluation does not show that the policy kept its skill."""
    evaluation, training = inputs.eval_score, inputs.second_score
    if training is None or evaluation is None or inputs.solved:
        return False
    course = shape_of(training)
    return course.lost and not denies(evaluation, course)


def _unmoved(inputs: Inputs, outcomes: Sequence[Outcome]) -> bool:
    """The score may never have improved: of public logs of these shapes, 54 learned nothing and 11 were healthy."""
    shape, score, second = inputs.trajectory, inputs.score, inputs.second_score
    if score is None or shape is None or inputs.solved:
        return False
    # the training reward does not rise either: else nothing is found
    if _found(Role.SCORE_UNMOVED, outcomes) and max(shape.n, 0 if second is None else len(second)) >= MIN_SCORES:
        return True
    swings = shape.kind == "oscillating" and trend(score).direction <= 0
    return shape.n >= MIN_SCORES and bool(swings or np.ptp(score.values) == 0)


def _found(role: Role, outcomes: Sequence[Outcome]) -> bool:
    return any(role in o.roles and o.finding is not None for o in outcomes)


def _last(series: Series | None) -> float:
    return float(series.steps[-1]) if series is not None and len(series) else -np.inf


def _summary(
    inputs: Inputs,
    outcomes: Sequence[Outcome],
    ranked: Sequence[RankedCause],
    first_break: FirstBreak | None,
    doubted: RankedCause | None,
    *,
    sure: bool,
) -> str:
    shape, score = inputs.trajectory, inputs.score
    if first_break is None:
        if shape is None or score is None:
            return (
                f"Cannot tell: no score was recorded, so nothing in this log shows whether the {_who(inputs)} improves."
            )
        blind = [link_word(link) for link in unmeasured(outcomes)]
        if shape.kind == "too_short":
            n = len(score)
            few = f"Cannot tell yet: {n} {'score is' if n == 1 else 'scores are'} too few to see a shape."
            return few + _unproven(inputs)
        how = "is at its maximum" if inputs.solved else _SHAPES[shape.kind]
        if shape.kind == "oscillating" and _unmoved(inputs, outcomes):
            how = "goes up and down, and has not risen"
        second = inputs.second_score
        what = _SUPERVISED.get(score.name, "the score" if second is None else "the evaluation")
        if second is not None and (other := shape_of(second).kind) != shape.kind:
            how += f", and the training reward {_SHAPES[other]}"
        if score.name == "sft.likelihood" and inputs.eval_loss is None:
            blind = ["over-fitting", *blind]
        unseen = f" Cannot tell about {joined(blind)}: not measured." if blind else ""
        doubt = sum(o.finding is not None and o.finding.severity is not Severity.NOTICE for o in outcomes)
        but = f" {doubt} warning{'s' * (doubt > 1)} to look at." if doubt else ""
        proof = _unproven(inputs)
        critical = any(o.finding is not None and o.finding.severity is Severity.CRITICAL for o in outcomes)
        if doubted is not None or critical:
            return f"No break is certain: {what} {how}. {_uncertain(ranked, doubted)}{but}{proof}{unseen}"
        if unread := inputs.run.unread:
            more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
            return (
                f"Cannot tell: {quoted(unread[0])}{more} could not be read, and may hold the score. "
                f"What was read shows no break: {what} {how}.{but}{proof}{unseen}"
            )
        return f"Nothing is broken in what was recorded: {what} {how}.{but}{proof}{unseen}"
    where = " or ".join(map(link_word, first_break.links))
    if first_break.also is not None:
        where += f" ({percent(first_break.probability)} together)"
    where += ", or earlier," if first_break.or_earlier else ""
    axis = inputs.run.axis_of(first_break.metric)
    last = max((s.steps[-1] for s in inputs.run.series.values() if len(s) and s.axis == axis), default=None)
    when = "" if first_break.step is None else f" at {moment(axis, first_break.step, first_break.interval, last)}"
    broken = f"{'The loop broke first at' if sure else 'Look first at'} {where}{when}"
    top, rival = leading_cause_and_rival(ranked, first_break)
    if top is None:
        return f"{broken}. The log does not show the cause.{_unproven(inputs)}"
    likely = f"{lowered(top.title)} ({percent(top.probability)})"
    if rival is None:
        return f"{broken}. Most probable cause there: {likely}.{_unproven(inputs)}"
    elsewhere = "" if rival.link in (None, top.link) else f", which would be at {link_word(rival.link)}"
    second_cause = f"{lowered(rival.title)} ({percent(rival.probability)}){elsewhere}"
    return f"{broken}. Undecided between two causes: {likely}, and {second_cause}.{_unproven(inputs)}"


def _uncertain(ranked: Sequence[RankedCause], doubted: RankedCause | None) -> str:
    """Why no first break is named although something critical was found, or a cause is more probable than none."""
    healthy = next((percent(c.probability) for c in ranked if c.id == HEALTHY), "0 %")
    if doubted is None:
        return f"Something critical was found, and a healthy run is still probable ({healthy})."
    sign = max((w for w in doubted.evidence if w.kind is not WeightKind.SURE), key=lambda w: w.weight)
    why = sign.finding if sign.kind is WeightKind.FOUND else sign.text
    cause = f"{lowered(doubted.title)} ({percent(doubted.probability)})"
    return f"But this cause is more probable than a healthy run ({healthy}): {cause}. The strongest sign: {why}."


def _unproven(inputs: Inputs) -> str:
    """What a score that only training shows does not prove."""
    if inputs.score is None or inputs.eval_score is not None or inputs.supervised:
        return ""
    what = "accuracy" if inputs.family.method is Method.PREFERENCE else "reward"
    return f" No evaluation was recorded, and the training {what} does not prove ability."


def leading_cause_and_rival(
    ranked: Sequence[RankedCause], first_break: FirstBreak | None
) -> tuple[RankedCause | None, RankedCause | None]:
    """The most probable cause in the first broken link, and the rival that it cannot be told apart from, if any."""
    named = [c for c in ranked if c.link is not None and c.probability >= MIN_PROBABILITY]
    top = next((c for c in named if first_break is not None and c.link is first_break.link), None)
    rival = next(
        (c for c in named if top is not None and c is not top and c.probability * INSEPARABLE > top.probability), None
    )
    return top, rival


_SUPERVISED = {
    "eval.likelihood": "supervised training, and the likelihood of held-out text",
    "sft.likelihood": "supervised training, and the likelihood of its own text",
}
_SHAPES: Mapping[Kind, str] = {
    "rising": "still rises",
    "plateau": "rose and stays on a plateau",
    "flat": "has not changed by more than its noise",
    "declining": "falls",
    "peaked": "peaked and fell",
    "collapsed": "collapsed",
    "oscillating": "goes up and down and does not settle",
    "too_short": "is too short to judge",
}


def _who(inputs: Inputs) -> str:
    """What is trained, in the words of its family."""
    return "model" if inputs.supervised else "policy"


def _still(inputs: Inputs) -> str | None:
    """What shows that the policy no longer moves away from its reference, where it is logged."""
    kl = inputs.kl_ref
    if kl is None or len(kl.finite) < MIN_SCORES or trend(kl.tail(0.5)).direction:
        return None
    return f"{kl.name} does not change any more"


_COURSES: Mapping[Course, str] = {
    "growing": "the rate of improvement grows",
    "falling": "the rate of improvement is slowing down",
    "steady": "the rate of improvement is steady",
    "unknown": "the noise hides whether the rate of improvement changes",
}

_FALLS: Mapping[Course, str] = {  # of a score that falls in both halves
    "growing": "the fall is slowing down",
    "falling": "the fall is getting faster",
    "steady": "the fall is steady",
}


def upside(inputs: Inputs) -> str:
    """What more training can gain, and whether the rate of improvement is changing."""
    if inputs.score is None or inputs.trajectory is None:
        return "cannot be estimated: no score was recorded"
    gain = _gain(inputs, inputs.score, inputs.trajectory)
    return facts.tell("{gain}; {course}", gain=gain, course=_course(inputs))


def _course(inputs: Inputs) -> str:
    """Whether the rate of improvement itself changes, with its interval."""
    found = _rate(inputs)
    if found is None:
        few = f"fewer than {MIN_POINTS} scores, or than {MIN_POINTS // 2} in one half of the run"
        return f"cannot tell whether the rate of improvement changes ({few})"
    score, pace = found
    low, high = pace.interval
    turned = pace.course == "falling" and pace.late < 0 < pace.early
    falls = pace.early < 0 and pace.late < 0 and pace.course != "unknown"
    course = "the improvement turned into a loss" if turned else _FALLS[pace.course] if falls else _COURSES[pace.course]
    halves = f"changed by {number(pace.early)} in the first half, by {number(pace.late)} in the second, along a line through each"
    return f"{course} ({score.name} {halves}; 95 % range of the difference {number(low)} to {number(high)})"


def _rate(inputs: Inputs) -> tuple[Series, Rate] | None:
    """How fast the score improves. The training reward says it where evaluations are too few to."""
    scores = (s for s in (inputs.score, inputs.second_score) if s is not None)
    found = [(s, pace) for s in scores if (pace := rate(s)) is not None]
    return next((one for one in found if one[1].course != "unknown"), found[0] if found else None)


def _gain(inputs: Inputs, score: Series, shape: Trajectory) -> str:
    """What more training can gain: from the shape of the score and a saturating law that is fitted to it."""
    if inputs.solved:
        return facts.tell("small: {score} is at its maximum of {top}", score=score.name, top=facts.highest(score))
    match shape.kind:
        case "too_short":
            return f"cannot be estimated from {len(score)} {'score' if len(score) == 1 else 'scores'}"
        case "flat":
            return facts.tell(
                "near zero: {score} is {end} at {last}, and {start} was the level of its first values",
                score=score.name,
                end=facts.end(score, shape),
                start=facts.start(score, shape),
                last=facts.at(score, _last(score)),
            )
        case "peaked" | "collapsed" | "declining":
            return facts.tell(
                "near zero: {score} was {best} at {step} and is {end} now",
                score=score.name,
                best=facts.best(score, shape),
                step=facts.at(score, shape.best_step),
                end=facts.end(score, shape),
            )
        case "oscillating":
            return f"small: {score.name} goes up and down by more than it gains"
    end = facts.end(score, shape)
    if shape.kind == "plateau" and (still := _still(inputs)) is not None:
        return facts.tell(
            "near zero: {score} stays at {end}, and {still}: training has converged",
            score=score.name,
            end=end,
            still=still,
        )
    span = float(score.steps[-1] - score.steps[0])
    expected = expected_gain(score, shape, span, highest(score, inputs.run.config))
    if expected is None:
        return "small: the score stays on its plateau" if shape.kind == "plateau" else "real: the score still rises"
    low, high = expected
    return facts.tell(
        "{score} is {end} now; the same number of {axis}s again would change it by {low} to {high} (saturating laws fitted to "
        "the curve, 90 % range)",
        score=score.name,
        end=end,
        axis=axis_word(score.axis),
        low=number(low),
        high=number(high),
    )


def risk(inputs: Inputs, outcomes: Sequence[Outcome]) -> str:
    """What more training can cost."""
    shape, who = inputs.trajectory, _who(inputs)
    serious = [o.finding for o in outcomes if o.finding is not None and o.finding.severity is Severity.CRITICAL]
    if _lost_much(inputs):
        return f"high: the {who} is worse than it was, and may get worse with every step"
    if serious:
        if inputs.supervised:
            return "high: each further step costs compute and improves nothing"
        return "high: each further step costs compute, and the policy learns from a broken signal"
    if shape is not None and shape.lost:
        return f"some: the score lost {percent(shape.drop_fraction)} of its gain, and may lose more"
    if (fall := inputs.fall) is not None:
        since = f"{axis_word(inputs.score.axis)} {number(fall.step)}" if inputs.score is not None else "its peak"
        return f"some: the score may have fallen since {since}, and may lose more"
    if _found(Role.DRIFT_UNREWARDED, outcomes):
        from_ = "its reference model" if inputs.policy is Policy.TEXT else "the policy it started as"
        return f"growing: the policy moves away from {from_}, and the score gains nothing"
    if shape is None:
        return "unknown: without a score, nothing shows when the run goes wrong"
    if shape.kind == "too_short":
        return "unknown: too few points"
    if shape.kind in ("plateau", "flat"):
        return f"low for the {who}, but more compute gains little"
    return "low, as far as the log shows"


def _do_first(
    action: Action,
    inputs: Inputs,
    outcomes: Sequence[Outcome],
    ranked: Sequence[RankedCause],
    first_break: FirstBreak | None,
    best: BestCheckpoint | None,
    doubted: RankedCause | None,
) -> str:
    if action is Action.CONTINUE and inputs.trajectory is not None and inputs.trajectory.kind == "plateau":
        return (
            "Decide whether this score is what you wanted: the run has reached a plateau, and more steps gain little."
        )
    if action is Action.CONTINUE:
        return f"Continue. Diagnose the run again when it has twice as many {axis_word(inputs.run.axis)}s."
    steps = []
    if first_break is None and (unread := inputs.run.unread):
        steps.append(f"Let {quoted(unread[0])} be read, and diagnose the run again.")
    if action is Action.ROLLBACK and best is not None:
        axis = axis_word(inputs.run.axis_of(best.metric))
        if best.path is None and inputs.run.checkpoints:
            steps.append(
                f"Stop, and start again: every saved model is worse (the score was best at {axis} {number(best.step)})."
            )
        elif best.path is None and inputs.score is not None and best.step == inputs.score.steps[0]:
            steps.append(
                f"Stop, and start again: the score was best at its first value, at {axis} {number(best.step)}."
            )
        else:
            steps.append(f"Stop, and go back to {_back_to(best, axis)}.")
    elif action is Action.STOP:
        steps.append("Stop the run.")
    top, rival = (doubted, None) if doubted is not None else leading_cause_and_rival(ranked, first_break)
    telling = [c.experiment for c in (top, rival) if c is not None and c.experiment is not None and c.experiment.text]
    if rival is not None and telling:
        steps.append(f"First find out which of the two causes it is: {telling[0].text}")
    elif top is not None and top.fix:
        steps.append(top.fix[0])
    elif inputs.trajectory is None:
        steps.append(f"Log a score: {_score_to_log(inputs)}.")
    elif first_break is None and _unmoved(inputs, outcomes):
        who = "the untrained model" if inputs.policy is Policy.TEXT else "random actions"
        steps.append(f"Check whether the policy has learned anything: evaluate {who} in the same way, and compare.")
    warned = any(o.finding is not None and o.finding.severity is not Severity.NOTICE for o in outcomes)
    seen = "the warnings" if warned else "what was found"
    return " ".join(steps) or f"Look at {seen}, the first one first. None of them is a reason to stop."


def _back_to(best: BestCheckpoint, axis: str) -> str:
    """The checkpoint to go back to, and why it is not the one of the best score where it is not."""
    peak = f"{axis} {number(best.step)}"
    if best.path is None:
        return f"the checkpoint nearest to {peak}, where the score was best, if one was saved"
    if best.back_to == best.step:
        return f"{quoted(best.path)}, where the score was best"
    return f"{quoted(best.path)}, the best of the saved models (the score was best at {peak}, where none was saved)"


def _score_to_log(inputs: Inputs) -> str:
    if inputs.supervised:
        return "the loss on held-out text"
    if inputs.family.method is Method.PREFERENCE:
        return "the accuracy on held-out pairs"
    held_out = (
        "an evaluation on held-out prompts"
        if inputs.policy is Policy.TEXT
        else "an evaluation in a separate environment"
    )
    return f"{held_out}, or at least the mean training reward"


def unmeasured(outcomes: Sequence[Outcome]) -> list[Link]:
    """The links that no check could look at, in loop order."""
    states = link_verdicts(outcomes, None, Action.WATCH)
    return [link for link in Link if states[link].status is LinkStatus.NOT_MEASURED]
