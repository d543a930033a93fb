"""The words of a diagnosis, read off the judgement: the state of each link, the summary, what more training can gain and cost,
and what to do first."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.families import Method, Policy
from firstbreak.engine.inputs import Inputs, highest
from firstbreak.engine.judgement import (
    ERRORS,
    INSEPARABLE,
    PROBABLE,
    RESTATE,
    Judgement,
    Worst,
    explained,
    goes_nowhere,
    is_blind,
)
from firstbreak.engine.stats.ceiling import expected_gain
from firstbreak.engine.stats.rate import MIN_POINTS, Course, Rate, rate
from firstbreak.engine.stats.shape import IMMATERIAL, Trajectory
from firstbreak.engine.stats.trend import trend
from firstbreak.model import (
    Action,
    BestCheckpoint,
    BreakKind,
    Confidence,
    Finding,
    FirstBreak,
    Harm,
    Link,
    LinkStatus,
    LinkVerdict,
    Outcome,
    RankedCause,
    Role,
    Run,
    Score,
    Series,
    Severity,
    Status,
    Verdict,
    WeightKind,
)
from firstbreak.words import joined, link_word, lowered, moment, number, percent, quoted, step_word

TOO_FEW = "too few points to tell"
MIN_PROBABILITY = 0.1  #: a cause less probable than this is not tested first (convention)
_NAME = re.compile(r"\w+[._/]\w")
_MEANING = re.compile(r': (?=[^"]*(?:"[^"]*"[^"]*)*$)')
GUESS = 0.2  #: a cause less probable than this is one of many, and is not named (convention)
MIN_SCORES = 30  #: points of a divergence that show whether it still grows (convention)
STOPS = (Action.STOP, Action.ROLLBACK)
SHOWN = frozenset({Role.RELATION, Role.PROOF})  #: findings whose numbers do not fit


def link_verdicts(
    outcomes: Sequence[Outcome],
    first_break: FirstBreak | None,
    action: Action,
    asked: Sequence[RankedCause] = (),
    *,
    known: bool = True,
) -> Mapping[Link, LinkVerdict]:
    """One verdict for each of the ten links. The first break is broken where the run should stop; every other link with a
    warning is suspect.

    Of two links that cannot be told apart, each is suspect, and so is the link of each cause that is `asked` for, those
    that the summary names. `known`: the log is long enough for a check that finds nothing to mean something.
    """
    found = {link: _link_verdict([o for o in outcomes if o.link is link], link, first_break, action) for link in Link}
    for cause in asked:
        if cause.link is not None and found[cause.link].status is LinkStatus.OK:
            why = (
                f"a cause that cannot be ruled out would be here: {lowered(cause.title)} ({percent(cause.probability)})"
            )
            found[cause.link] = LinkVerdict(status=LinkStatus.SUSPECT, why=why)
    if known:
        return found
    few = LinkVerdict(status=LinkStatus.NOT_MEASURED, why=TOO_FEW)
    return {link: few if verdict.status is LinkStatus.OK else verdict for link, verdict in found.items()}


def _link_verdict(outcomes: list[Outcome], link: Link, first_break: FirstBreak | None, action: Action) -> LinkVerdict:
    first = first_break is not None and link in first_break.links
    alone = first_break is not None and first_break.also is None
    status = LinkStatus.BROKEN if first and alone and action in STOPS else LinkStatus.SUSPECT
    own = [o for o in outcomes if not o.roles & RESTATE]  # a link of which only the score was asked is not measured
    serious = [o.finding for o in outcomes if o.finding is not None and o.finding.severity is not Severity.NOTICE]
    if serious:
        return LinkVerdict(status=status, why=max(serious, key=lambda finding: finding.severity.rank).message)
    if first and first_break is not None:
        shown = f"{first_break.metric} points here" if first_break.metric else "the most probable cause is here"
        if not alone:
            shown += f", or to {' and '.join(link_word(other) for other in first_break.links if other is not link)}"
        return LinkVerdict(status=status, why=shown)
    asked = [o for o in own if o.status in (Status.OK, Status.FOUND)]
    blind = [o for o in own if o.status in (Status.NOT_MEASURED, Status.CRASHED)]
    if asked:
        partly = f"; {len(blind)} more had no input" if blind else ""
        noted = joined([o.finding.message for o in asked if o.finding is not None])
        nothing = f"{len(asked)} checks found nothing " + (f"worse than this: {noted}" if noted else "wrong")
        return LinkVerdict(status=LinkStatus.OK, why=nothing + partly)
    if blind:
        return LinkVerdict(
            status=LinkStatus.NOT_MEASURED, why=min((o.note for o in blind if o.note), key=len, default="")
        )
    why = outcomes[0].note if outcomes else "no detector checks this link"
    return LinkVerdict(status=LinkStatus.NOT_APPLICABLE if outcomes else LinkStatus.NOT_MEASURED, why=why)


def in_words(
    judged: Judgement,
    inputs: Inputs,
    outcomes: Sequence[Outcome],
    ranked: Sequence[RankedCause],
    best: BestCheckpoint | None,
) -> Verdict:
    """The verdict: the action, and in words what more training can gain, its risk, and the first thing to do."""
    short = judged.score is not None and judged.score.course == "too_short"
    return Verdict(
        action=judged.action,
        summary=_summary(judged, inputs, outcomes, ranked),
        upside=upside(judged, inputs),
        risk=risk(judged, inputs),
        do_first=_do_first(judged, inputs, outcomes, ranked, best),
        known=judged.action is not Action.CONTINUE or not short,
    )


def _summary(judged: Judgement, inputs: Inputs, outcomes: Sequence[Outcome], ranked: Sequence[RankedCause]) -> str:
    first, score = judged.first_break, judged.score
    if first is None and score is None:
        return f"Cannot tell: no score was recorded, so nothing in this log shows whether the {_who(inputs)} improves."
    if first is None and score is not None and score.course == "too_short":
        n = 0 if inputs.score is None else len(inputs.score)
        few = f"Cannot tell yet: {n} {'score is' if n == 1 else 'scores are'} too few to see a shape."
        none = f" {lost} of {lost + n} evaluations gave no number." if (lost := _without_number(inputs)) else ""
        return few + none + unproven(inputs)
    told = "" if score is None else f" {_capital(_what_it_does(judged, inputs, outcomes))}."
    if first is not None:
        ended = f"{_ended(inputs.run)} " if inputs.run.error is not None else ""
        broke = " ".join(filter(None, (_where(inputs, first), _why(first, ranked, outcomes))))
        return f"{ended}{broke}{told}{unproven(inputs)}"
    blind = [link_word(link) for link in Link if is_blind(link, outcomes)]
    if score is not None and score.metric == "sft.likelihood" and inputs.eval_loss is None:
        blind = ["over-fitting", *blind]
    unseen = cannot_tell_about(blind)
    warned = warnings(outcomes)
    if unread := inputs.run.unread:
        more = f" and {len(unread) - 1} more" if len(unread) > 1 else ""
        lead = f"Cannot tell: {quoted(unread[0])}{more} could not be read, and may hold the score."
    elif judged.action is Action.CONTINUE:
        lead = "Nothing is broken in what was recorded:"
        told = told[:1] + told[1:2].lower() + told[2:]
    elif warned:
        several = f"there are {len(warned)} warnings; the first:" if len(warned) > 1 else "there is a warning:"
        lead = f"No link is shown to be broken, but {several} {in_short(warned[0])}."
    else:
        lead = "No link is shown to be broken."
    return f"{lead}{told}{unproven(inputs)}{unseen}"


def _without_number(inputs: Inputs) -> int:
    """How many evaluations were logged and are not finite."""
    curve = None if inputs.eval_score is None else inputs.run.series.get(inputs.eval_score.name)
    return 0 if curve is None else len(curve) - len(curve.finite)


def warnings(outcomes: Sequence[Outcome]) -> list[Finding]:
    """What was found and is more than a notice, the worst first; that a score did not move or fell comes last."""
    found = [o for o in outcomes if o.finding is not None and o.finding.severity is not Severity.NOTICE]
    found.sort(key=lambda o: (bool(o.roles & RESTATE), -o.finding.severity.rank if o.finding is not None else 0))
    return [o.finding for o in found if o.finding is not None]


def in_short(finding: Finding) -> str:
    """What was found, without what it means and what to do about it. A colon inside a quoted line of a log ends nothing."""
    return _MEANING.split(finding.message.partition("; ")[0], 1)[0]


def cannot_tell_about(blind: Sequence[str]) -> str:
    """The sentence about the links that nothing was measured of. Empty where all were."""
    return f" Cannot tell about {joined(blind)}: not measured." if blind else ""


def _ended(run: Run) -> str:
    """'The run ended with an error after step 120.'"""
    step = run.error.step if run.error is not None and run.error.step is not None else run.last_step
    return "The run ended with an error" + ("." if step is None else f" after {step_word(run.axis)} {number(step)}.")


def _where(inputs: Inputs, first: FirstBreak) -> str:
    where = " or ".join(map(link_word, first.links))
    axis = inputs.run.axis_of(first.metric)
    last = max((s.steps[-1] for s in inputs.run.series.values() if len(s) and s.axis == axis), default=None)
    when = "" if first.step is None else f", {moment(axis, first.step, None, last)}"
    return f"First {'break' if first.kind is BreakKind.BREAK else 'sign'} at {where}{when}."


def _why(first: FirstBreak, ranked: Sequence[RankedCause], outcomes: Sequence[Outcome] = ()) -> str:
    """The cause that the log points to, or those between which it does not decide; without one, what was found."""
    asked = causes_in_question(ranked, first)
    if not asked:
        own = next((o for o in outcomes if o.detector == first.detector and o.finding is not None), None)
        if own is None or own.finding is None:
            return "No cause stands out."
        return "" if own.roles & RESTATE else f"{_capital(in_short(own.finding))}."  # what the score did is told anyway
    places = {*first.links, *(cause.link for cause in asked)}
    told = [_named(cause, len(places) > 1) for cause in asked]
    if len(asked) > 1:
        return f"Undecided between {COUNTED[len(asked)]} causes: {', '.join(told[:-1])}, and {told[-1]}."
    (cause,) = asked
    if first.metric is None:
        far = [w.text for w in cause.evidence if w.kind is WeightKind.CONFIGURATION and w.weight > 0]
        told = [": ".join([*told, *far[:1]])]
    return f"{'Most probable' if cause.probability >= PROBABLE else 'Suspected'} cause: {told[0]}."


def _named(cause: RankedCause, placed: bool) -> str:
    """'the updates are too large (38 %, at policy update)'."""
    where = f", at {link_word(cause.link)}" if placed and cause.link is not None else ""
    return f"{lowered(cause.title)} ({percent(cause.probability)} likely{where})"


def _what_it_does(judged: Judgement, inputs: Inputs, outcomes: Sequence[Outcome]) -> str:
    """What the score does, and every other score that does something else."""
    score = judged.score
    assert score is not None
    how = _COURSES_OF_SCORES[score.course]
    if inputs.score is not None and score.course == "flat" and np.ptp(inputs.score.finite.values) == 0:
        how = "never changes"
    if score.hidden:
        how = "shows no change beyond its noise"
    if score.course == "oscillating" and goes_nowhere(inputs, outcomes):
        how = "oscillates, and has not risen"
    axis = step_word(inputs.score.axis) if inputs.score is not None else "step"
    if score.course in ("peaked", "collapsed"):
        assert inputs.score is not None
        assert inputs.trajectory is not None
        gone = facts.lost(inputs.score, inputs.trajectory)
        how = f"peaked at {axis} {number(score.best_step)} and lost {gone} of its gain"
    elif score.course == "rising" and score.best - score.end > ERRORS * score.error > 0:
        how = f"rises again, below its best level, that of {axis} {number(score.best_step)}"
    elif inputs.fall is not None:
        rose = "rose" if score.course == "plateau" else how
        how = f"{rose}, and may have fallen since {axis} {number(inputs.fall.step)}"
    second = inputs.second_score
    what = _SUPERVISED.get(score.metric, "the score" if second is None else "the evaluation")
    other = [
        f"{f'the {_trained(inputs)}' if second is not None and name == second.name else name} {_COURSES_OF_SCORES[course]}"
        for name, course in score.others.items()
        if course != score.course and not (score.course == "solved" and course in ("plateau", "rising"))
    ]
    return ", and ".join([f"{what} {how}", *other])


def _capital(text: str) -> str:
    """A text as a sentence; a curve's name that it begins with stays as it is."""
    return text if _NAME.match(text) else text[:1].upper() + text[1:]


def unproven(inputs: Inputs) -> str:
    """The sentence about a score that only training shows. Empty where an evaluation was recorded."""
    if inputs.score is None or inputs.eval_score is not None or inputs.supervised:
        return ""
    what = "training accuracy" if inputs.family.method is Method.PREFERENCE else _trained(inputs)
    return f" No evaluation was recorded, only the {what}."


def _trained(inputs: Inputs) -> str:
    """What training itself is scored by, in the words of its family: episodes have returns, completions rewards."""
    known = inputs.family.policy_known or inputs.run.trainer is not None
    returns = inputs.policy is Policy.CONTROL and known
    return "training return" if returns else "training reward"


COUNTED = {2: "two", 3: "three", 4: "four"}  #: causes in question, at most so many
FAR = 3.0  #: ratio of two probabilities: what explains less of what was found first may still be far more probable (convention)


def leading_cause_and_rival(
    ranked: Sequence[RankedCause], first_break: FirstBreak | None
) -> tuple[RankedCause | None, RankedCause | None]:
    """The most probable cause in the first broken link, and the rival that it cannot be told apart from, if any.

    One that explains what was found first comes before others of the link that do not, unless it is far less probable.
    """
    named = [c for c in ranked if c.link is not None and c.probability >= MIN_PROBABILITY]
    there = [c for c in named if first_break is not None and c.link is first_break.link]
    if first_break is not None and not there:  # the other of two links has one
        return None, next((c for c in named if c.link is first_break.also), None)
    its = [c for c in there if first_break and first_break.detector in explained(c)]
    top = next((c for c in its if c.probability * FAR > there[0].probability), there[0] if there else None)
    rival = next(
        (c for c in named if top is not None and c is not top and c.probability * INSEPARABLE > top.probability), None
    )
    return top, rival


def causes_in_question(ranked: Sequence[RankedCause], first_break: FirstBreak | None) -> list[RankedCause]:
    """The causes that the summary names, the most probable first: the leading one, its rival, and each that is more probable
    than one of them. None where the leading one is one of many."""
    pair = [cause for cause in leading_cause_and_rival(ranked, first_break) if cause is not None]
    if not pair or pair[0].probability < GUESS:
        return []
    least = min((cause.probability for cause in pair), default=1.0)
    between = [c for c in ranked if c.link is not None and c not in pair and c.probability > least]
    named = [*pair, *sorted(between, key=lambda c: -c.probability)][: max(COUNTED)]
    return sorted(named, key=lambda cause: -cause.probability)


_SUPERVISED = {
    "eval.likelihood": "supervised training, and the likelihood of held-out text",
    "sft.likelihood": "supervised training, and the likelihood of its own text",
}
_COURSES_OF_SCORES: Mapping[str, str] = {
    "solved": "has reached its maximum",
    "rising": "still rises",
    "plateau": "rose and has plateaued",
    "flat": "has not changed by more than its noise",
    "declining": "falls",
    "peaked": "peaked and fell",
    "collapsed": "collapsed",
    "oscillating": "oscillates",
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


def upside(judged: Judgement, inputs: Inputs) -> str:
    """What more training can gain, and whether the rate of improvement is changing."""
    if judged.score is None or inputs.score is None or inputs.trajectory is None:
        return "cannot be estimated: no score was recorded"
    gain = _gain(judged.score, inputs, inputs.score, inputs.trajectory)
    return facts.tell("{gain}; {course}", gain=gain, course=_course(judged, inputs))


def _course(judged: Judgement, inputs: Inputs) -> str:
    """Whether the rate of improvement itself changes, with its interval. A loss is what the judgement calls one."""
    found = _rate(inputs)
    if found is None:
        few = f"fewer than {MIN_POINTS} scores, or than {MIN_POINTS // 2} in one half of the run"
        return f"cannot tell whether the rate of improvement changes ({few})"
    score, pace = found
    lost = judged.harm in (Harm.LOST, Harm.LOSING) and pace.late < -IMMATERIAL * pace.early
    turned = pace.course == "falling" and pace.early > 0 and lost
    falls = pace.early < 0 and pace.late < 0 and pace.course != "unknown"
    course = "the improvement turned into a loss" if turned else _FALLS[pace.course] if falls else _COURSES[pace.course]
    if score is inputs.second_score:
        course = re.sub("improvement|fall(?!ing)", rf"\g<0> of the {_trained(inputs)}", course, count=1)
    halves = f"changed by {number(pace.early)} in the first half, by {number(pace.late)} in the second"
    return f"{course} ({score.name} {halves})"


def _rate(inputs: Inputs) -> tuple[Series, Rate] | None:
    """How fast the score improves. The training reward says it where evaluations are too few to."""
    scores = (s for s in (inputs.score, inputs.second_score) if s is not None)
    found = [(s, pace) for s in scores if (pace := rate(s)) is not None]
    return next((one for one in found if one[1].course != "unknown"), found[0] if found else None)


def _gain(judged: Score, inputs: Inputs, score: Series, shape: Trajectory) -> str:
    """What more training can gain: from the shape of the score and a saturating law that is fitted to it."""
    if inputs.solved:
        return facts.tell("small: {score} is at its maximum of {top}", score=score.name, top=facts.highest(score))
    match shape.kind:
        case "too_short":
            return f"cannot be estimated from {len(score)} {'score' if len(score) == 1 else 'scores'}"
        case "flat":
            return facts.tell(
                "{size}: {score} is {end} at {last}, and {start} was the level of its first values",
                size="cannot be told for the noise" if judged.hidden else "near zero",
                score=score.name,
                end=facts.end(score, shape),
                start=facts.start(score, shape),
                last=facts.at(score, float(score.steps[-1])),
            )
        case "peaked" | "collapsed" | "declining":
            return facts.tell(
                "near zero: {score} was {best} at {step} and is {end} now{but}",
                score=score.name,
                best=facts.best(score, shape),
                step=facts.at(score, shape.best_step),
                end=facts.end(score, shape),
                but=facts.but_for(score, shape),
            )
        case "oscillating":
            return f"small: {score.name} goes up and down by more than it gains"
    end = facts.end(score, shape)
    if shape.kind == "plateau" and (still := _still(inputs)) is not None:
        told = "near zero: {score} stays at {end}, and {still}: training has converged"
        return facts.tell(told, score=score.name, end=end, still=still)
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
        axis=step_word(score.axis),
        low=number(low),
        high=number(high),
    )


def risk(judged: Judgement, inputs: Inputs) -> str:
    """What more training can cost: read off the harm, the worst sign and the action."""
    who, score = _who(inputs), judged.score
    if judged.harm is Harm.LOST:
        return f"high: the {who} is worse than it was, and may get worse with every step"
    if judged.action in STOPS:
        return f"high: {_ACROSS.get(judged.worst, 'each further step costs compute and improves nothing')}"
    if judged.harm is Harm.LOSING:
        if score is not None and 0 < score.lost < float("inf") and score.course in ("peaked", "collapsed", "declining"):
            return f"some: the score lost {percent(score.lost)} of its gain, and may lose more"
        return "some: a score may have begun to fall, and may lose more"
    if judged.harm in (Harm.APART, Harm.STALLED):
        return "some: each further step costs compute, and the score gains nothing"
    if judged.harm is Harm.NOT_MEASURED:
        return (
            "unknown: too few points"
            if score is not None
            else "unknown: without a score, nothing shows when the run goes wrong"
        )
    if judged.signs:
        return "some: what was found has done no harm to the score yet"
    if judged.worst is Worst.DOUBT and not inputs.run.unread:
        return "some: what may have been found has done no harm to the score yet"
    if score is not None and score.course in ("plateau", "flat") and not score.hidden:
        return f"low for the {who}, but more compute gains little"
    return "low, as far as the log shows"


_ACROSS: Mapping[Worst, str] = {
    Worst.ENDED: "what was not saved before the error is lost",
    Worst.LOST_WEIGHTS: "no step after the first number that is not finite is of use",
    Worst.PROOF: "an identity that every sound run keeps is broken, so that each further step is computed wrongly",
}


def _do_first(
    judged: Judgement,
    inputs: Inputs,
    outcomes: Sequence[Outcome],
    ranked: Sequence[RankedCause],
    best: BestCheckpoint | None,
) -> str:
    """The first thing to do: what the action asks for, and then what separates the causes, or mends the one that is probable."""
    score, first = judged.score, judged.first_break
    if judged.action is Action.CONTINUE:
        none = score is not None and score.course == "too_short" and _without_number(inputs)
        return "Find out why evaluations give no number: no episode may have ended." if none else _go_on(inputs, score)
    steps = []
    if first is None and (unread := inputs.run.unread):
        steps.append(f"Let {quoted(unread[0])} be read, and diagnose the run again.")
    if judged.action is Action.ROLLBACK and best is not None:
        steps.append(f"Stop, and go back to {_back_to(best, step_word(inputs.run.axis_of(best.metric)))}.")
    elif judged.action is Action.STOP and inputs.run.error is None:
        steps.append("Stop the run." if judged.harm is not Harm.LOST else _start_again(inputs, best))
    elif judged.harm is Harm.LOSING and best is not None and _inside(best.step, inputs):
        steps.append(f"Keep {_back_to(best, step_word(inputs.run.axis_of(best.metric)))}.")
    if judged.answer:
        steps.append(judged.answer)
    elif first is not None:
        steps.append(_next(judged, inputs, outcomes, ranked, first))
    elif score is None:
        steps.append(f"Log a score: {_score_to_log(inputs)}.")
    elif goes_nowhere(inputs, outcomes):
        who = "the untrained model" if inputs.policy is Policy.TEXT else "random actions"
        steps.append(f"Check whether the policy has learned anything: evaluate {who} in the same way, and compare.")
    elif judged.action not in STOPS and not steps:
        ended = has_its_planned_steps(inputs.run) and not warnings(outcomes)
        steps.append(_go_on(inputs, score) if ended else _watch(outcomes))
    return " ".join(filter(None, steps))


def _inside(step: float, inputs: Inputs) -> bool:
    """Whether a step lies between the first score and the end: what was best before anything was learned is no model to keep."""
    first = inputs.score.steps[0] if inputs.score is not None else 0.0
    return bool(first < step < (inputs.run.last_step or 0.0))


def _go_on(inputs: Inputs, score: Score | None) -> str:
    """What to do with a run of which nothing is said to be broken."""
    resting = score is not None and score.course in ("plateau", "solved")
    if resting and inputs.eval_score is None and not inputs.supervised:
        return f"Evaluate the {_who(inputs)} {_held_out(inputs)} before you train longer."
    if score is not None and score.course == "solved":
        return "Keep this policy: the evaluation is at its maximum, and more steps can gain nothing."
    if score is not None and score.course == "plateau":
        return (
            "Decide whether this score is what you wanted: the run has reached a plateau, and more steps gain little."
        )
    axis, last = step_word(inputs.run.axis), inputs.run.last_step or 1.0
    planned = inputs.run.config.number("total_steps") or 0.0
    if has_its_planned_steps(inputs.run):
        return (
            f"The run has reached its planned {axis} {number(planned)}: train longer only if the score is not enough."
        )
    more = 2 * last - (inputs.run.first_step or 0.0)  # as many steps again as were logged
    again = min(more, planned) if planned > last else more
    return f"Continue. Diagnose the run again at {axis} {number(again)}."


def has_its_planned_steps(run: Run) -> bool:
    """Whether the last step is the planned one: steps that come in rollouts end after it."""
    planned, last = run.config.number("total_steps"), run.last_step
    return planned is not None and last is not None and abs(planned - last) <= _logging_interval(run)


def _logging_interval(run: Run) -> float:
    """The steps between the last two rows of the curve that has most of them, on the run's axis; 0 where there is one row."""
    steps = max((s.steps for s in run.series.values() if s.axis == run.axis), key=len, default=[0.0])
    return float(steps[-1] - steps[-2]) if len(steps) > 1 else 0.0


def _start_again(inputs: Inputs, best: BestCheckpoint | None) -> str:
    """Why there is nothing to go back to."""
    if best is not None and inputs.run.checkpoints:
        axis = step_word(inputs.run.axis_of(best.metric))
        where = f"{axis} {number(best.step)}"
        return f"Stop the run, and start again: every saved model is worse ({_was_best(best, axis)} at {where})."
    return "Stop the run, and start again: the score was never above its start by more than its error."


def _next(
    judged: Judgement, inputs: Inputs, outcomes: Sequence[Outcome], ranked: Sequence[RankedCause], first: FirstBreak
) -> str:
    """What to do about the first break: the fix of a probable cause; else what its finding asks to look at, or the experiment
    that tells the causes apart."""
    top, rival = leading_cause_and_rival(ranked, first)
    asked = (top, rival) if top is not None else ()
    telling = [c.experiment.text for c in asked if c is not None and c.experiment is not None and c.experiment.text]
    if rival is None and top is not None and top.probability >= PROBABLE and top.fix:
        return top.fix[0]
    own = (o.finding for o in outcomes if o.link in first.links and o.finding is not None and _is_sure(o, o.finding))
    if step := next((s for f in own if f.metric == first.metric and (s := f.message.partition(";")[2].strip())), ""):
        return f"{_capital(step)}."
    if telling:
        one_for_both = len(telling) == 2 and telling[0] == telling[1]
        how = "Test both" if one_for_both else "Confirm the cause" if rival is None else "Tell the causes apart"
        if top is not None and not causes_in_question(ranked, first):
            how = f"Test whether {lowered(top.title)}"
        if judged.action is Action.ROLLBACK:
            return f"From there, {lowered(how)}: {telling[0]}"
        return f"{how}: {telling[0]}{_begun_at(inputs, asked, first)}"
    return _watch(outcomes, first) if judged.action not in STOPS else ""


def _begun_at(inputs: Inputs, asked: Sequence[RankedCause | None], first: FirstBreak) -> str:
    """Where an experiment must begin that is shorter than what comes before the break."""
    tried = next((c.experiment for c in asked if c is not None and c.experiment is not None), None)
    last = inputs.run.last_step
    if tried is None or first.step is None or last is None or tried.length * last >= first.step:
        return ""
    return f" Begin at a checkpoint from before step {number(first.step)}."


def _is_sure(outcome: Outcome, finding: Finding) -> bool:
    """Whether what a finding asks to look at comes before the causes: its numbers do not fit, or it is certain."""
    shown = outcome.roles & SHOWN and finding.confidence is not Confidence.LOW
    return not outcome.roles & RESTATE and bool(shown or finding.confidence is Confidence.HIGH)


def _watch(outcomes: Sequence[Outcome], first: FirstBreak | None = None) -> str:
    """What to keep an eye on: the curve of the first break, else of the worst finding, and what it says."""
    found = [o.finding for o in outcomes if o.finding is not None and not o.roles & RESTATE]
    metric = None if first is None else first.metric
    worst = max(found, key=lambda f: (metric is not None and f.metric == metric, f.severity.rank), default=None)
    if worst is None:
        return "Watch the score, and diagnose the run again after some more steps."
    if asked := worst.message.partition(";")[2].strip():
        return f"{_capital(asked)}."
    return f"Watch {f'`{worst.metric}`' if worst.metric else 'the curve of the first warning'} beside the score."


def _back_to(best: BestCheckpoint, axis: str) -> str:
    """The checkpoint to go back to, and why it is not the one of the best score where it is not."""
    peak, was_best = f"{axis} {number(best.step)}", _was_best(best, axis)
    if best.path is None:
        return f"the checkpoint nearest to {peak}, where {was_best}, if one was saved"
    if best.back_to == best.step:
        return f"{quoted(best.path)}, where {was_best}"
    return f"{quoted(best.path)}, the best of the saved models ({was_best} at {peak}, where none was saved)"


def _was_best(best: BestCheckpoint, axis: str) -> str:
    """That the score was best there: of the whole run, or of what comes before numbers that are not finite."""
    return "the score was best" + ("" if best.before is None else f" before {axis} {number(best.before)}")


def _held_out(inputs: Inputs) -> str:
    """Where an evaluation of this run is made."""
    if inputs.family.method is Method.PREFERENCE:
        return "on held-out pairs"
    return "on held-out prompts" if inputs.policy is Policy.TEXT else "in a separate environment"


def _score_to_log(inputs: Inputs) -> str:
    if inputs.supervised:
        return "the loss on held-out text"
    if inputs.family.method is Method.PREFERENCE:
        return f"the accuracy {_held_out(inputs)}"
    return f"an evaluation {_held_out(inputs)}, or at least the mean {_trained(inputs)}"


def unmeasured(outcomes: Sequence[Outcome]) -> list[Link]:
    """The links that no check could look at, in loop order."""
    return [link for link in Link if is_blind(link, outcomes)]
