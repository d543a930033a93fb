"""What no diagnosis may say: each rule yields the sentences that break it, so that a test can name and count them."""

import json
import math
import re
from collections.abc import Callable, Iterator

import numpy as np

from firstbreak.engine.common_settings import in_force
from firstbreak.engine.facts import denied
from firstbreak.engine.families import Method
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.judgement import RESTATE
from firstbreak.engine.rank import with_options
from firstbreak.model import (
    Action,
    Confidence,
    Diagnosis,
    Link,
    LinkStatus,
    Message,
    RankedCause,
    Series,
    Severity,
    Statistic,
    Status,
    WeightKind,
)
from firstbreak.reports import content, html, inspection, markdown, terminal
from firstbreak.reports import json as json_report
from firstbreak.words import link_word, number
from tests.there import there

STOPS = (Action.STOP, Action.ROLLBACK)
NAMED = 0.1  #: the probability from which on a cause is named, as in verdict.py
_NOW = re.compile(r"`([^`]+)` \(now ([^)]+)\)")
_WAS = re.compile(r"near zero: (\S+) was (\S+) at [a-z ]+ (\S+) and is (\S+) now")
_AT = re.compile(r"\b(step|iteration|episode|epoch|row)s? ([\d.,e+-]*\d)", re.IGNORECASE)
_SET = re.compile(r"^(?:Set|Clip|Normalise|Exclude|Mask|Drop)\b")


def incoherent(dx: Diagnosis) -> list[tuple[str, str]]:
    """(rule, what breaks it) of one diagnosis."""
    return [(rule.__name__, said) for rule in RULES for said in rule(dx)]


def risk_and_action_agree(dx: Diagnosis) -> Iterator[str]:
    """A run that goes on has no high risk; a run that is stopped has."""
    action, high = dx.verdict.action, dx.verdict.risk.startswith("high")
    if (action is Action.CONTINUE and high) or (action in STOPS and not high):
        yield f"{action}: {dx.verdict.risk}"


def upside_and_action_agree(dx: Diagnosis) -> Iterator[str]:
    """No more training is advised where a third of the gain is lost."""
    shape = Inputs(dx.run).trajectory
    if shape is not None and shape.lost and shape.drop_fraction > 1 / 3 and dx.verdict.action is Action.CONTINUE:
        yield f"{shape.kind}, {shape.drop_fraction:.0%} of the gain lost: {dx.verdict.do_first}"


def advice_and_action_agree(dx: Diagnosis) -> Iterator[str]:
    """What is to be done first is what the action says."""
    action, first = dx.verdict.action, dx.verdict.do_first
    stops = bool(re.match(r"Stop\b", first)) or "go back to" in first.lower()
    if stops != (action in STOPS) or (first.startswith("Continue.") and action is not Action.CONTINUE):
        yield f"{action}: {first}"


def summary_and_findings_agree(dx: Diagnosis) -> Iterator[str]:
    """Nothing is called whole in which something critical was found."""
    whole = dx.verdict.summary.startswith("Nothing is broken")
    critical = [o.detector for o in dx.findings if o.finding and o.finding.severity is Severity.CRITICAL]
    if whole and critical:
        yield f"{critical}: {dx.verdict.summary}"
    none = dx.verdict.summary.startswith(("Cannot tell", "No link is shown to be broken"))
    if (whole or none) != (dx.first_break is None):
        yield f"{dx.first_break}: {dx.verdict.summary}"


def summary_and_links_agree(dx: Diagnosis) -> Iterator[str]:
    """The broken link is the one of the summary, and a link is broken only where a first break is."""
    broken = [link for link in Link if dx.links[link].status is LinkStatus.BROKEN]
    if dx.first_break is None and broken:
        yield f"{broken} broken: {dx.verdict.summary}"
    if dx.first_break is not None and dx.links[dx.first_break.link].status not in (
        LinkStatus.BROKEN,
        LinkStatus.SUSPECT,
    ):
        yield f"{dx.first_break.link} is {dx.links[dx.first_break.link].status}: {dx.verdict.summary}"
    alone = dx.first_break is not None and dx.first_break.also is None
    if dx.verdict.action in STOPS and alone and dx.links[dx.first_break.link].status is not LinkStatus.BROKEN:
        yield f"{dx.first_break.link} is {dx.links[dx.first_break.link].status}: {dx.verdict.summary}"
    if dx.first_break is not None and not alone:
        either = {dx.links[link].status for link in dx.first_break.links}
        if either != {LinkStatus.SUSPECT}:
            yield f"one of {dx.first_break.links} broke, and they are drawn as {either}"
    for place in re.findall(r"\), which would be at (\w+(?: update)?)\.", dx.verdict.summary):
        if dx.links[Link(place.replace(" ", "_"))].status is LinkStatus.OK:
            yield f"a cause would be at {place}, which is drawn as ok: {dx.verdict.summary}"


def summary_and_causes_agree(dx: Diagnosis) -> Iterator[str]:
    """Where a cause of a break is more probable than none, nothing is called whole, and the run does not just go on."""
    top = dx.causes[0]
    if top.link is not None and (
        dx.verdict.summary.startswith("Nothing is broken") or dx.verdict.action is Action.CONTINUE
    ):
        yield f"{top.id} {top.probability:.0%}: {dx.verdict.summary}"


def links_have_what_they_say(dx: Diagnosis) -> Iterator[str]:
    """OK was looked at, and what was not measured was not looked at; the summary, the picture and `inspect` agree."""
    unseen = [link for link in Link if dx.links[link].status is LinkStatus.NOT_MEASURED]
    for link in Link:
        own = [o for o in dx.outcomes if o.link is link and not o.roles & RESTATE]  # of the score alone nothing is seen
        looked = any(o.status in (Status.OK, Status.FOUND) for o in own)
        silent = link in unseen and looked and dx.verdict.known
        if (dx.links[link].status is LinkStatus.OK and not (looked and dx.verdict.known)) or silent:
            yield f"{link} is {dx.links[link].status}"
    told = re.search(r"Cannot tell about ([^:]*): not measured", dx.verdict.summary)
    named = {w for w in re.split(r", | and ", told[1]) if w != "over-fitting"} if told else None
    if named is not None and named != {link_word(link) for link in unseen}:
        yield f"the summary leaves out {named}, the picture {unseen}"
    inspected = {Link(name) for name in inspection.payload(dx.run)["gaps"]["links"]}
    for link in Link:
        inferred = dx.first_break is not None and link in dx.first_break.links  # from what other links show
        if link in inspected and dx.links[link].status is not LinkStatus.NOT_MEASURED and not inferred:
            yield f"inspect says {link} is not measured, the diagnosis {dx.links[link].status}"
        if link in unseen and link not in inspected and dx.verdict.known:
            yield f"inspect knows {link}, the diagnosis does not"


def views_agree(dx: Diagnosis) -> Iterator[str]:
    """Terminal, page, Markdown and JSON show the same states and one of three words of confidence for each finding."""
    shown = terminal.render(dx, width=100)
    told = json.loads(json_report.render(dx))
    for link in Link:
        if told["links"][link.value]["status"] != dx.links[link].status.value:
            yield f"the JSON says {told['links'][link.value]} of {link}"
    if f" {content.ACTION_WORD[content.mark(dx.verdict)].upper()} " not in re.sub(r"\s+", " ", shown):
        yield "the terminal shows another action"
    words = {confidence: f"{confidence.value} confidence" for confidence in Confidence}
    for name, text in (("terminal", shown), ("page", html.render(dx)), ("markdown", markdown.render(dx))):
        for word in words.values():
            expected = sum(o.finding is not None and words[o.finding.confidence] == word for o in dx.findings)
            if len(re.findall(rf"\b{word}\b", re.sub(r"\s+", " ", text))) < expected:
                yield f"the {name} shows {word!r} too rarely"


def axes_are_named(dx: Diagnosis) -> Iterator[str]:
    """Where nothing is counted in steps, nothing is called one."""
    axes = {s.axis for s in dx.run.series.values()}
    if axes & {"step", "env_steps"}:
        return
    verdict = dx.verdict
    for text in (verdict.summary, verdict.upside, verdict.risk, verdict.do_first, content.title(dx.run)):
        if re.search(r"\bsteps?\b \d|\d steps?\b", text):
            yield f"{axes}: {text}"


def places_are_in_the_run(dx: Diagnosis) -> Iterator[str]:
    """An onset, an interval and every "step 120" of a message lie within what was logged."""
    run = dx.run
    if run.last_step is None or run.first_step is None:
        return
    last = {axis: max(s.steps[-1] for s in run.series.values() if s.axis == axis and len(s)) for axis in _axes(run)}
    for o in dx.findings:
        finding = there(o.finding)
        end = last.get(run.axis_of(finding.metric), run.last_step)
        if finding.onset is not None and not -1e-9 <= finding.onset <= end * (1 + 1e-9):
            yield f"{o.detector}: onset {finding.onset:g} of {end:g}"
        if finding.interval and finding.onset is not None:
            slack = 1e-6 * max(1.0, abs(finding.onset))
            if not finding.interval[0] - slack <= finding.onset <= finding.interval[1] + slack:
                yield f"{o.detector}: onset {finding.onset:g} outside {finding.interval}"
        for _, at in _AT.findall(finding.message):
            if float(at.replace(",", "")) > 1.01 * max(*last.values(), 1):
                yield f"{o.detector}: {finding.message}"


def _axes(run: object) -> set[str]:
    return {s.axis for s in run.series.values() if len(s)}  # type: ignore[attr-defined]


def costs_are_counted_on_one_axis(dx: Diagnosis) -> Iterator[str]:
    """What was spent since the break is at most the run, in the unit in which the break is told."""
    cost = dx.cost
    if cost is None or cost.steps is None or dx.first_break is None:
        return
    axis = dx.run.axis_of(dx.first_break.metric)
    ends = [s.steps[-1] for s in dx.run.series.values() if len(s) and s.axis == axis]
    if (ends and cost.steps > max(ends)) or not 0 <= (cost.fraction or 0) <= 1:
        yield f"{cost.steps:g} {axis}s of {max(ends):g}, {cost.fraction}"


def scores_are_the_runs_own(dx: Diagnosis) -> Iterator[str]:
    """The levels of the verdict are levels of the score, and the better one is the higher one."""
    score = Inputs(dx.run).score
    if score is None or not len(score.finite):
        return
    low, high = float(score.finite.values.min()), float(score.finite.values.max())
    slack = 0.01 * (high - low) + 1e-3 * max(abs(low), abs(high))
    if said := _WAS.search(dx.verdict.upside):
        was, now = float(said[2]), float(said[4])
        if not (low - slack <= now <= was + slack <= high + 2 * slack):
            yield f"{low:g} to {high:g}: {dx.verdict.upside}"
    best = dx.best_checkpoint
    if best is not None and score.name != "eval.likelihood":
        if not low - slack <= best.value <= high + slack:
            yield f"best checkpoint {best.value:g}, the score is {low:g} to {high:g}"
        if not score.steps[0] <= best.step <= score.steps[-1]:
            yield f"best checkpoint at {best.step:g}"


def the_peaks_own_checkpoint_is_taken(dx: Diagnosis) -> Iterator[str]:
    """Where the peak was saved, it is the best checkpoint."""
    best = dx.best_checkpoint
    if best is None or best.path is None:
        return
    own = [c for c in dx.run.checkpoints if number(c.step) == number(best.step)]
    if own and best.path not in {c.path for c in own}:
        yield f"{best.path}, and {own[0].path} was saved at the peak"


def curves_bear_out_their_claims(dx: Diagnosis) -> Iterator[str]:
    """A message that says "from A to B" names two levels that the curve has."""
    for o in dx.findings:
        finding = there(o.finding)
        curve = dx.run.series.get(finding.metric or "")
        if curve is None or len(curve.finite) < 2:
            continue
        values = curve.finite.values
        low, high = float(values.min()), float(values.max())
        slack = 0.02 * (high - low) + 2e-3 * max(abs(low), abs(high))
        if said := re.match(
            rf"{re.escape(curve.name)} (?:fell|rose|went) from ([\d.e+-]*\d) to ([\d.e+-]*\d)", finding.message
        ):
            for level in map(_float, said.groups()):
                if level is not None and not low - slack <= level <= high + slack:
                    yield f"{o.detector}: {low:g} to {high:g}: {finding.message}"


def facts_hold(dx: Diagnosis) -> Iterator[str]:
    """Every number that a text states as a fact is what the run's own curves give."""
    inputs = Inputs(dx.run)
    for who, text in texts(dx):
        if isinstance(text, Message):
            for fact, found in denied(text.facts, inputs):
                yield f"{who}: {fact.curve} {fact.statistic} is {found}, not {fact.value:g}: {text}"


def texts(dx: Diagnosis) -> Iterator[tuple[str, str]]:
    """Who says what: the messages and notes of the checks, and the verdict."""
    for o in dx.outcomes:
        yield o.detector, o.finding.message if o.finding is not None else o.note
    yield "upside", dx.verdict.upside


def relations_hold(dx: Diagnosis) -> Iterator[str]:
    """What a text says without a number is so: above or below the start, at the peak, at the top, before and after."""
    inputs = Inputs(dx.run)
    for o in dx.outcomes:
        text = o.finding.message if o.finding is not None else o.note
        if said := _NEVER_ABOVE.match(text):
            curve, start = _named(said[1], inputs), _float(said[2])
            if curve is not None and start is not None and float(curve.values.max()) > start + _written(start):
                yield f"{o.detector}: up to {curve.values.max():g}: {text}"
        if said := _BEGINS_AFTER.match(text):
            curve, others = _named(said[1], inputs), [s.finite for n, s in dx.run.series.items() if n in _TRAINING]
            if curve is not None and others and curve.steps[0] <= min(s.steps[0] for s in others):
                yield f"{o.detector}: {curve.name} begins at {curve.steps[0]:g}: {text}"
        if said := _AT_MOST.search(text):
            curve, limit = dx.run.series.get(said[1]), _float(said[2])
            if curve is not None and limit is not None and float(curve.finite.values.max()) > limit + _written(limit):
                yield f"{o.detector}: up to {curve.finite.values.max():g}: {text}"
        if o.finding is not None and _ENTROPY_BONUS.search(text) and inputs.method is Method.VALUE_BASED:
            yield f"{o.detector}: no entropy bonus in {dx.run.algorithm}: {text}"
        axes = {s.axis for s in dx.run.series.values()}
        if o.finding is not None and not axes & {"step", "env_steps", "row"} and re.search(r"\bsteps? \d", text):
            yield f"{o.detector}: counted in {axes}: {text}"
    if "maximum" in dx.verdict.upside + dx.verdict.summary and inputs.score is not None:
        top, late = float(inputs.score.finite.values.max()), float(np.median(inputs.score.tail(0.25).values))
        if late < top - max(0.05 * abs(top), 0.05 * float(np.ptp(inputs.score.finite.values))):
            yield f"{late:g} in the last quarter, {top:g} at most: {dx.verdict.upside}"


_TRAINING = ("reward.mean", "reward.episode")
_NEVER_ABOVE = re.compile(r"(\S+) fell from (\S+) to \S+ and was never above its start(?! by more)")
_BEGINS_AFTER = re.compile(r"(\S+) is flat because it begins after the learning")
_AT_MOST = re.compile(r"^(\S+) is at most ([\d.e+-]+)")
_ENTROPY_BONUS = re.compile(r"entropy bonus")


def _named(name: str, inputs: Inputs) -> Series | None:
    score = inputs.score
    curve = score if score is not None and score.name == name else inputs.run.series.get(name)
    return None if curve is None or not len(curve.finite) else curve.finite


def _written(value: float) -> float:
    """How far a number may lie from what is written of it."""
    return 1e-3 * abs(value) + 1e-12


def settings_count_once(dx: Diagnosis) -> Iterator[str]:
    """A setting that a finding of a cause is made of has no second weight for this cause."""
    made = {
        o.detector: {f.curve for f in o.finding.stated if f.statistic is Statistic.SETTING}
        for o in dx.findings
        if o.finding
    }
    for cause in dx.causes:
        found = [name for w in cause.evidence if w.kind is WeightKind.FOUND for name in made.get(w.finding, ())]
        weighed = " ".join(w.text for w in cause.evidence if w.finding == "config")
        for name in found:
            if re.search(rf"\b{re.escape(dx.run.config.option(name))} is\b", weighed):
                yield f"{cause.id}: {name} is found, and weighs again: {weighed}"


def _float(text: str) -> float | None:
    try:
        return float(text.rstrip(".,;:%"))
    except ValueError:
        return None


def settings_are_as_logged(dx: Diagnosis) -> Iterator[str]:
    """The value in an advice is the one in force: a logged learning rate counts before the configured one."""
    rate = Inputs(dx.run).lr
    if rate is None or not len(rate.finite):
        return
    logged, option = float(rate.finite.values[-1]), dx.run.config.option("learning_rate")
    for _, text in _advice(dx):
        for name, value in _NOW.findall(text):
            now = _float(value.split(",")[0].split(" ")[0])
            if (
                name.strip() == option
                and now is not None
                and not math.isclose(now, logged, rel_tol=0.02, abs_tol=1e-12)
            ):
                yield f"the logged rate is {logged:g}: {text}"


def advice_can_be_followed(dx: Diagnosis) -> Iterator[str]:
    """Nothing is to be switched on that is on, nor lowered that is 0."""
    for cause, text in _advice(dx):
        for _, value in _NOW.findall(text):
            on = value.split(" ")[0] == "True"
            if on and (_SET.match(text) or "Exclude" in text):
                yield f"{cause.id}: {text}"
            if re.match(r"(Lower|Divide)\b", text) and _float(value.split(" ")[0]) == 0:
                yield f"{cause.id}: {text}"
        clip = with_options("{grad_clip}", dx.run).strip("`")
        if "Clip gradients" in text and "(now" in clip and clip.split("(now ")[1].rstrip(")") not in ("0", "0.0"):
            yield f"{cause.id}: {text}"


def _advice(dx: Diagnosis) -> Iterator[tuple[RankedCause, str]]:
    for cause in dx.causes:
        if cause.probability >= NAMED:
            for text in (*cause.fix, cause.experiment.text if cause.experiment else ""):
                yield cause, text
    yield dx.causes[0], dx.verdict.do_first


def causes_are_not_refuted(dx: Diagnosis) -> Iterator[str]:
    """No cause is named that the run's own data deny."""
    inputs = Inputs(dx.run)
    first = _first_score(inputs.score)
    for cause in dx.causes:
        if cause.probability < NAMED:
            continue
        if cause.id in ("prompts-too-hard", "prompt-template-wrong", "reward-never-found") and (first or 0) >= 0.5:
            yield f"{cause.id} {cause.probability:.0%}, and the first scores are {first}"
        if cause.id == "kl-penalty-too-strong" and in_force(dx.run, "kl_coef") == 0:
            yield f"{cause.id} {cause.probability:.0%}, and there is no penalty"
        if cause.id == "entropy-bonus-too-strong" and in_force(dx.run, "entropy_coef") == 0:
            yield f"{cause.id} {cause.probability:.0%}, and there is no bonus"


def _first_score(score: Series | None) -> float | None:
    share = score is not None and any(w in score.name for w in ("accuracy", "success_rate", "pass_at"))
    return float(np.mean(score.finite.values[:3])) if share and score is not None and len(score.finite) else None


#: every function of this module that yields sentences of a diagnosis
RULES: tuple[Callable[[Diagnosis], Iterator[str]], ...] = tuple(
    rule
    for rule in list(globals().values())
    if getattr(rule, "__annotations__", {}) == {"dx": Diagnosis, "return": Iterator[str]} and rule.__name__[0] != "_"
)

#: the rules that need no rendered report
ABOUT_TEXTS = (
    facts_hold,
    relations_hold,
    settings_count_once,
    axes_are_named,
    places_are_in_the_run,
    scores_are_the_runs_own,
    the_peaks_own_checkpoint_is_taken,
    curves_bear_out_their_claims,
    settings_are_as_logged,
)
