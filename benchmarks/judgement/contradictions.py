"""What a user would call contradictory in one report: read from the printed text, the JSON and the exit code, nothing else.

Each rule yields the sentences that break it. No rule knows the curves: what it holds against a statement is another statement
of the same report, or the curve that the report itself draws.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

NUMBER = r"(-?\d+(?:,\d{3})*(?:\.\d+)?(?:e[+-]?\d+)?)"
STOPS = ("stop", "rollback")
EIGHTHS = " ▁▂▃▄▅▆▇█"
ROW = rf"^ *{NUMBER} ([{EIGHTHS}]+)$"
#: of the curve just above it, in the same finding: another one may be named that is "drawn above", or is one number
DRAWN = re.compile(rf"^ *(?:[•●◐○] )?(\S+) \(logged as (?:(?!\(logged as|\n\n).)*?{ROW}\n{ROW}", re.M | re.S)
BEFORE = "the best before numbers are not finite"
HELD_OUT = re.compile(r"(?:eval|heldout|held_out|val|test)[./_-](?!.*(?:time|_per_|length|epoch|std|loss))", re.I)

Report = Mapping[str, Any]


@dataclass(frozen=True)
class Said:
    """One diagnosis as a user and a program see it."""

    text: str  #: as printed on a terminal
    report: Report  #: the JSON object
    exit: int

    @classmethod
    def of(cls, text: str, report: str, exit_: int) -> Said:
        """From the printed strings."""
        return cls(text, json.loads(report), exit_)

    @cached_property
    def line(self) -> str:
        """The printed text without line breaks."""
        return re.sub(r"\s+", " ", self.text)

    @property
    def action(self) -> str:
        """continue, watch, stop or rollback."""
        return str(self.report["verdict"]["action"])

    def verdict(self, key: str) -> str:
        """A sentence of the verdict: summary, upside, risk or do_first."""
        return str(self.report["verdict"][key])

    @property
    def findings(self) -> list[Report]:
        """What was found, as in the JSON."""
        return list(self.report["findings"])

    @property
    def serious(self) -> list[Report]:
        """Findings that are more than a notice."""
        return [one for one in self.findings if one["severity"] != "notice"]

    @property
    def critical(self) -> list[Report]:
        """Critical findings."""
        return [one for one in self.findings if one["severity"] == "critical"]

    def status(self, link: str) -> str:
        """What the JSON says of a link."""
        return str(self.report["links"].get(link, {}).get("status", ""))

    @cached_property
    def drawn(self) -> dict[str, Drawn]:
        """The curves that the report draws, by name, the first drawing of each."""
        found: dict[str, Drawn] = {}
        for name, high, upper, low, lower in DRAWN.findall(self.text):
            found.setdefault(name, Drawn(_float(low), _float(high), lower, upper))
        return found


@dataclass(frozen=True)
class Drawn:
    """A curve in two rows of eighths: its lowest and highest value, and its height at each column."""

    low: float
    high: float
    lower: str
    upper: str

    @property
    def end(self) -> float:
        """The height of the last column, from 0 (lowest) to 1 (highest)."""
        upper = self.upper.ljust(len(self.lower))
        return (EIGHTHS.index(self.lower[-1]) + EIGHTHS.index(upper[-1])) / 16


def _float(text: str) -> float:
    return float(text.replace(",", ""))


def contradictions(said: Said) -> list[tuple[str, str]]:
    """(rule, sentence) for everything in one report that contradicts another part of it."""
    return [(rule.__name__, sentence) for rule in RULES for sentence in rule(said)]


# Action, exit code, first step, risk ------------------------------------------------------------------------------------


def exit_and_action_differ(said: Said) -> Iterator[str]:
    """The exit code is 1 for stop and rollback and 0 otherwise (2 only where a file could not be read)."""
    if said.exit != 2 and (said.exit == 1) != (said.action in STOPS):
        yield f"exit {said.exit}, action {said.action}"


def stop_is_ordered_and_not_done(said: Said) -> Iterator[str]:
    """A critical finding says stop or go back, and the action is neither."""
    if said.action not in STOPS:
        for one in said.critical:
            if re.search(r"\bstop(?:,| and\b| the run)|\bgo back to\b", one["message"]):
                yield f"{said.action}: {one['message']}"


def no_reason_to_stop_beside_a_reason(said: Said) -> Iterator[str]:
    """It says that nothing is a reason to stop, beside a critical finding or a high risk."""
    if "is a reason to stop" in said.line and re.search(r"None of (?:them|it|these) is a reason to stop", said.line):
        for one in said.critical:
            yield f"CRITICAL {one['detector']}: {one['message']}"
        if said.verdict("risk").startswith("high"):
            yield f"Risk {said.verdict('risk')}"


def whole_beside_critical(said: Said) -> Iterator[str]:
    """Nothing is called broken, or the run shall go on, beside a critical finding."""
    if said.verdict("summary").startswith("Nothing is broken") or said.action == "continue":
        for one in said.critical:
            yield f"{said.verdict('summary')} / CRITICAL {one['detector']}: {one['message']}"


def risk_and_action_differ(said: Said) -> Iterator[str]:
    """A high risk goes with stop or rollback, and they go with no low one."""
    risk = said.verdict("risk")
    if (risk.startswith("high") and said.action not in STOPS) or (risk.startswith("low") and said.action in STOPS):
        yield f"{said.action}: {risk}"


def low_risk_beside_a_break(said: Said) -> Iterator[str]:
    """The risk is low beside a first break that is named."""
    if said.report["first_break"] and said.verdict("risk").startswith("low"):
        yield f"{said.verdict('summary')} / {said.verdict('risk')}"


def low_risk_beside_a_loss(said: Said) -> Iterator[str]:
    """The risk is low although a finding says that the score lost, or gained far less than training since a step."""
    if said.verdict("risk").startswith("low"):
        for one in said.serious:
            if re.search(
                r"gain is lost|gain and more is lost|fell without having risen|while \S+ fell from"
                r"|gained (?:nothing|at most \S+ % as much) since",
                one["message"],
            ):
                yield f"{one['message']} / {said.verdict('risk')}"


def first_step_and_action_differ(said: Said) -> Iterator[str]:
    """The first thing to do is what the action says: stop, go back, or continue."""
    first = said.verdict("do_first")
    stops = bool(re.match(r"Stop\b", first) or re.search(r"\bgo back to\b", first, re.I))
    if stops != (said.action in STOPS) or (first.startswith("Continue.") and said.action != "continue"):
        yield f"{said.action}: {first}"


def rollback_to_nowhere(said: Said) -> Iterator[str]:
    """To go back needs a better place: a best step that is known and is not the last one."""
    best, last = said.report["best_checkpoint"], said.report["run"]["last_step"]
    if said.action == "rollback" and (best is None or (last is not None and best["step"] >= last)):
        yield f"rollback, best {best}"


def stopped_for_speed(said: Said) -> Iterator[str]:
    """Slower is never wrong: no stop where all that is serious is of systems, without memory running out or a hang."""
    serious = said.serious
    words = " ".join(one["message"] for one in serious)
    only = bool(serious) and all(one["link"] == "systems" for one in serious)
    if said.action in STOPS and only and not re.search(r"out of memory|runs out|hang|hung|no step for", words):
        yield words


def stopped_on_a_good_score(said: Said) -> Iterator[str]:
    """A broken signal or a worse policy is told of a score that is at its maximum or still rises, with finite numbers.

    Of the score itself: a training reward that still rises while the evaluation falls is what a policy that games it does.
    """
    told = said.verdict("summary") + said.verdict("upside")
    good = re.search(r"(?:evaluation|score|eval\S*) (?:has reached its maximum|still rises)", told)
    finite = not any(one["link"] == "numerics" for one in said.critical)
    if good and finite and re.search(r"learns from a broken signal|is worse than it was", said.verdict("risk")):
        yield f"{good[0]} / {said.verdict('risk')}"


def healthy_and_stopped(said: Said) -> Iterator[str]:
    """The run is stopped, or called broken for sure, while "nothing is wrong" is more probable than the links that are named."""
    top, named = next(iter(said.report["causes"]), None), (said.report["first_break"] or {}).get("probability", 0.0)
    sure = said.action in STOPS or said.verdict("summary").startswith("First break at")
    if top is not None and top["id"] == "healthy" and sure and top["probability"] > named:
        yield f"{top['probability']:.0%} healthy / {said.verdict('summary')}"


# The course of the score ------------------------------------------------------------------------------------------------


def change_called_noise(said: Said) -> Iterator[str]:
    """A change of a quarter of the level, or of three errors that are stated, is called flat or noise."""
    if not re.search(r"has not changed by more than its noise", said.verdict("summary")):
        return
    told = re.search(
        rf"near zero: (\S+) is {NUMBER} at .*?, and {NUMBER} was the level of its first values", said.verdict("upside")
    )
    if told is None:
        return
    now, first = _float(told[2]), _float(told[3])
    size = max(abs(now), abs(first))
    error = [_float(n) for n in re.findall(rf"one is uncertain by {NUMBER}", said.line)]
    if abs(now - first) > 0.25 * size and (size > 1 or abs(now - first) > 0.1):
        yield f"{told[0]} / {said.verdict('summary')}"
    elif error and abs(now - first) > 3 * error[0]:
        yield f"{told[0]}, and an error of {error[0]:g}"


def converged_while_it_improves(said: Said) -> Iterator[str]:
    """Converged, on a plateau or of no further gain, with a rate of improvement that is steady or grows."""
    upside = said.verdict("upside")
    rate = re.search(
        rf"rate of improvement (?:is steady|grows) \((\S+) changed by {NUMBER} in the first half, by {NUMBER} in",
        upside,
    )
    # a training reward may be on its plateau while the evaluation improves
    line = re.sub(r"the training reward [^.,;]*", "", said.line) if rate and rate[1].startswith("eval") else said.line
    ended = re.search(
        r"training has converged|stays on its plateau|has plateaued|reached a plateau|more (?:compute|steps) gains? little",
        line,
    )
    if ended and rate and min(_float(rate[2]), _float(rate[3])) > 0:
        yield f"{ended[0]} / {rate[0]}"


def converged_and_a_gain_foretold(said: Said) -> Iterator[str]:
    """More steps gain little, and the same number again gains a tenth of the level or more, without a 0 in the range."""
    told = re.search(
        rf"is {NUMBER} now; the same number of .{{3,30}} again would change it by {NUMBER} to {NUMBER} ",
        said.verdict("upside"),
    )
    ended = re.search(
        r"training has converged|more (?:compute|steps) gains? little", said.verdict("risk") + said.verdict("do_first")
    )
    if told and ended and _float(told[2]) > 0 and _float(told[2]) + _float(told[3]) > 0.2 * abs(_float(told[1])):
        yield f"{told[0]} / {ended[0]}"


def plateau_while_it_falls(said: Said) -> Iterator[str]:
    """The score stays or rises in the summary, and a finding or the upside says that it fell.

    A training reward that falls contradicts nothing that is said of the evaluation, if the summary says so beside it.
    """
    beside = "the training re(?:ward|turn) (?:falls|collapsed|peaked and fell|fell)"
    trained = "evaluation" in said.verdict("summary") and re.search(beside, said.verdict("summary"))
    stays = re.search(
        r"(?:evaluation|score) (?:rose and has plateaued|still rises|has reached its maximum)", said.verdict("summary")
    )
    if stays:
        for one in said.serious:
            if trained and re.match(r"reward\.", one["message"]):
                continue
            if re.search(r"may have peaked|of its gain is lost|while eval\S* fell from", one["message"]):
                yield f"{stays[0]} / {one['message']}"
        if "was " in said.verdict("upside") and re.search(r"near zero: \S+ was \S+ at", said.verdict("upside")):
            yield f"{stays[0]} / {said.verdict('upside')}"


def loss_without_a_loss(said: Said) -> Iterator[str]:
    """ "The improvement turned into a loss" of a score that stays or rises, or by less than a twentieth of what it had gained."""
    upside = said.verdict("upside")
    told = re.search(rf"turned into a loss \(\S+ changed by {NUMBER} in the first half, by {NUMBER} in", upside)
    if told and abs(_float(told[2])) < 0.05 * abs(_float(told[1])):
        yield upside
    elif told and said.verdict("risk").startswith("low"):
        yield f"{told[0]} / {said.verdict('risk')}"


def nothing_learned_beside_a_rise(said: Said) -> Iterator[str]:
    """A finding says that the score does not rise, and the summary that it rises or rose."""
    rises = re.search(r"(?:evaluation|score) (?:rose|still rises|has reached its maximum)", said.verdict("summary"))
    if rises:
        for one in said.serious:
            if re.search(r"nothing was learned|the score does not rise|and the score is flat", one["message"]):
                yield f"{rises[0]} / {one['message']}"


def known_to_have_learned_and_flat(said: Said) -> Iterator[str]:
    """It is known that something was learned, and the evaluation has not changed."""
    if "that something was learned is known" in said.line:
        flat = re.search(
            r"evaluation has not changed by more than its noise|in another way|does not improve", said.line
        )
        if flat:
            yield f"that something was learned is known / {flat[0]}"


def reward_rose_and_fell(said: Said) -> Iterator[str]:
    """One statement has the training reward rise, another has it fall."""
    rose = re.search(
        r"the reward (?:rose|rises) (?:by|from)|the training re(?:ward|turn) (?:still rises|rose and stays)", said.line
    )
    fell = re.search(r"the training re(?:ward|turn) (?:fell|falls)\b", said.line)
    if rose and fell:
        yield f"{rose[0]} / {fell[0]}"


def change_without_change(said: Said) -> Iterator[str]:
    """Something fell, rose, grew, shrank or jumped from one number to the same, or to the other side."""
    for verb, start, end in re.findall(
        rf"\b(fell|falls|shrank|rose|rises|grew|jumped|changed)(?: by [^,;:]{{1,12}},)? from {NUMBER} to {NUMBER}",
        said.line,
    ):
        change = _float(end) - _float(start)
        if (
            change == 0
            or (change > 0 and verb in ("fell", "falls", "shrank"))
            or (change < 0 and verb in ("rose", "rises", "grew"))
        ):
            yield f"{verb} from {start} to {end}"


# The best step ----------------------------------------------------------------------------------------------------------


def best_is_not_the_best(said: Said) -> Iterator[str]:
    """The best checkpoint's value is below another one of the same evaluation that the report prints or draws.

    A better one after the first number that is not finite is none, where the report says that the best is the one before.
    """
    best = said.report["best_checkpoint"]
    if (
        best is None
        or BEFORE in said.line
        or not re.match(r"eval\.(?!.*(?:loss|likelihood|perplexity))", best["metric"])
    ):
        return  # single values of a training reward are noise
    name = re.escape(best["metric"])
    printed = [_float(n) for n in re.findall(rf"{name} (?:is|stays at|was) {NUMBER}\b", said.line)]
    if best["metric"] in said.drawn:
        printed.append(said.drawn[best["metric"]].high)
    slack = 0.02 * max(abs(best["value"]), 1e-9)
    if printed and max(printed) > best["value"] + slack:
        yield f"best {best['metric']} {best['value']:.4g} at {best['step']:g} / {max(printed):g}"


def two_best_steps(said: Said) -> Iterator[str]:
    """A score "was A at step S" in one place, and the best of the same curve is another step, and not called that of a part."""
    if BEFORE in said.line:
        return
    best = said.report["best_checkpoint"]
    for name, value, step in re.findall(rf"(\S+) was {NUMBER} at (?:[a-z]+ )?[a-z]+ {NUMBER} and is", said.line):
        if best is not None and name == best["metric"] and _float(step) != best["step"]:
            yield f"{name} was {value} at {step} / best at {best['step']:g}"


def now_is_not_the_end_of_the_curve(said: Said) -> Iterator[str]:
    """A score "is X now", and its curve, which the report draws, ends elsewhere, and its last values are not told beside it."""
    for name, now in re.findall(rf"(\S+) was \S+ at [^;]{{4,40}}? and is {NUMBER} now(?! \(its last )", said.line):
        curve = said.drawn.get(name)
        if curve is not None and curve.high > curve.low:
            place = (_float(now) - curve.low) / (curve.high - curve.low)
            if abs(place - curve.end) > 0.25:
                yield f"{name} is {now} now / drawn at {curve.low + curve.end * (curve.high - curve.low):.3g}"


def came_back_and_stayed(said: Said) -> Iterator[str]:
    """Spikes that came back, of a curve that ends at its highest."""
    for one in said.findings:
        curve = said.drawn.get(str(one["metric"]))
        if "came back" in one["message"] and curve is not None and curve.end > 0.75:
            yield one["message"]


# Links and their findings -----------------------------------------------------------------------------------------------


def ok_beside_its_finding(said: Said) -> Iterator[str]:
    """A link is ok or not measured beside a finding of it, or a number is not finite.

    Beside a notice it may be ok where the link itself tells it: a user reads "nothing worse than this" and then the notice.
    """
    for one in said.findings:
        told = one["severity"] == "notice" and one["message"] in said.report["links"].get(one["link"], {}).get(
            "why", ""
        )
        if not told and said.status(one["link"]) in ("ok", "not_measured", "not_applicable"):
            yield f"{one['link']} {said.status(one['link'])} / {one['message']}"
    if said.status("numerics") == "ok" and re.search(
        r"(?i)\bis not finite|\bnon-finite value|\b(?:is|are|of|=) nan\b", said.line
    ):
        yield "numerics ok / a number is not finite"


def ok_without_a_number(said: Said) -> Iterator[str]:
    """A link is ok although a metric of it is listed as recorded and not one number of it could be used."""
    metrics = set(said.report["run"]["metrics"])
    for one in said.report["outcomes"]:
        none = re.match(r"0 (gradient norms|rewards|scores|losses|entropies|divergences)\b", one["note"])
        if none and said.status(one["link"]) == "ok" and (none[1] != "gradient norms" or "grad.norm" in metrics):
            yield f"{one['link']} ok / {one['detector']}: {one['note']}"


def pointed_at_by_nothing(said: Said) -> Iterator[str]:
    """ "The findings in other links point here" where no finding is in a link that is not itself one of the suspects."""
    first = said.report["first_break"]
    suspects = {first["link"], *(first.get("also") or ())} if first else set()
    for link, state in said.report["links"].items():
        others = [one for one in said.serious if one["link"] not in suspects | {link}]
        if (
            state["status"] in ("broken", "suspect")
            and "findings in other links point here" in state["why"]
            and not others
        ):
            yield f"{link}: {state['why']}"


def break_and_links_differ(said: Said) -> Iterator[str]:
    """The first break's link is broken or suspect, and no link is broken without a first break."""
    first = said.report["first_break"]
    if first and said.status(first["link"]) not in ("broken", "suspect"):
        yield f"first break {first['link']}, which is {said.status(first['link'])}"
    if not first:
        yield from (
            f"{link} is broken, without a first break" for link in said.report["links"] if said.status(link) == "broken"
        )


def another_link_in_the_summary(said: Said) -> Iterator[str]:
    """The summary names the links of the first break."""
    told = re.match(r"First (?:break|sign) at (.+?)(?:,| \(| at |\.)", said.verdict("summary"))
    first = said.report["first_break"]
    if told and first and first["link"].replace("_", " ") not in told[1]:
        yield f"{told[0]} / {first['link']}"


def follows_from_what_is_not_finite(said: Said) -> Iterator[str]:
    """What comes after the first value that is not finite speaks for no other link; rewards that are none come before."""
    first = said.report["first_break"]
    missing = {one["link"] for one in said.findings if "has no number" in one["message"]}
    for one in said.findings:
        lasting = re.search(r"not finite|\bNaN\b", one["message"]) and "came back" not in one["message"]
        own = first and (first["link"] == one["link"] or first["link"] in missing)
        if lasting and first and not own and (one["onset"] or 0) <= (first["step"] or 0):
            yield f"{one['message']} / first break {first['link']} at {first['step']}"


def sudden_and_dated_widely(said: Said) -> Iterator[str]:
    """A change that jumped at a step is dated to an interval of a quarter of the run.

    The first break may be of another curve, which changed before: it is held against the jumps of its own.
    """
    first, run = said.report["first_break"], said.report["run"]
    length = (run["last_step"] or 0) - (run["first_step"] or 0)
    dated = [
        (one["message"], one["interval"], one["metric"])
        for one in said.serious
        if re.search(r"\bjumped\b|\bsuddenly\b", one["message"])
    ]
    own = [(message, within) for message, within, metric in dated if first and metric == first.get("metric", metric)]
    sudden = [message for message, within in own if within and within[1] - within[0] <= 0.1 * length]
    if first and first["interval"] and sudden and first["interval"][1] - first["interval"][0] > 0.25 * length:
        yield f"between {first['interval'][0]:g} and {first['interval'][1]:g} / {sudden[0]}"
    for message, within, _ in dated:
        if within and within[1] - within[0] > 0.25 * length:
            yield f"between {within[0]:g} and {within[1]:g} / {message}"


def evaluation_that_is_not_read(said: Said) -> Iterator[str]:
    """ "No evaluation was recorded", or "continue", and one is listed among what was read and not understood."""
    names = said.report["run"]["not_understood"]
    recorded = [name for name in names if HELD_OUT.match(name)]
    none = re.search(r"[Nn]o evaluation was recorded", said.line)
    if none:
        recorded += [name for name in said.report["run"]["metrics"] if HELD_OUT.match(name)]
    if recorded and (none or said.action == "continue"):
        yield f"{none[0] if none else said.verdict('do_first')} / {', '.join(recorded[:3])}"


# Causes and advice ------------------------------------------------------------------------------------------------------


def cause_at_a_sound_link(said: Said) -> Iterator[str]:
    """A cause is named as possible at a link that is called ok."""
    for place in re.findall(r"\(\d+ % likely, at ([a-z ]+)\)", said.verdict("summary")):
        if said.status(place.replace(" ", "_")) == "ok":
            yield f"{said.verdict('summary')} / {place}: ok"


def advice_beyond_its_limit(said: Said) -> Iterator[str]:
    """Nothing is to be lowered that is at its lowest: fewer of one, a rate of (nearly) nothing."""
    for text in re.split(r"(?<=[.;]) |• ", said.line):
        for value in re.findall(rf"\(now {NUMBER}\)", text):
            least = 1.0 if re.search(r"\bfewer\b", text, re.I) else 1e-8
            if re.search(r"\b(?:fewer|lower|divide|decay|reduce)\b", text, re.I) and _float(value) <= least:
                yield text


def long_is_paid_and_the_score_falls(said: Said) -> Iterator[str]:
    """Longer completions are said to get more reward while the reward fell as they grew."""
    named = re.search(r"longer completions get more reward \(\d+ % likely\)", said.line)
    fell = re.search(r"completions grew from \S+ to \S+ tokens while (?:the )?(?:\S*reward\S*) fell", said.line)
    if named and fell:
        yield f"{named[0]} / {fell[0]}"


def empty_completions_of_many_tokens(said: Said) -> Iterator[str]:
    """Empty completions are said to be rewarded, and the report has completions of ten tokens and more on average."""
    named = re.search(r"empty completions are rewarded \(\d+ % likely\)", said.line)
    shrank = re.search(rf"completions shrank from {NUMBER} to {NUMBER} tokens", said.line)
    if named and shrank and _float(shrank[2]) >= 10:
        yield f"{named[0]} / {shrank[0]}"


def background_job_of_every_step(said: Said) -> Iterator[str]:
    """What rises and comes back once a step is a phase of the step, and no background job."""
    for every in re.findall(rf"times and comes back, every {NUMBER} steps?: a background job", said.line):
        if _float(every) < 1.5:
            yield f"every {every} steps: a background job"


def advice_of_two_minds(said: Said) -> Iterator[str]:
    """To continue is advised beside "converged"; to take a plateau for the result beside a score that still rises."""
    first, told = said.verdict("do_first"), said.verdict("summary") + said.verdict("upside")
    if first.startswith("Continue.") and "converged" in told:
        yield f"{first} / training has converged"
    if "reached a plateau" in first and re.search(r"the (?:evaluation|score) still rises", told):
        yield f"{first} / still rises"


Rule = Callable[[Said], Iterator[str]]
#: every function of this module that yields sentences of what was said
RULES: tuple[Rule, ...] = tuple(
    rule
    for rule in list(globals().values())
    if getattr(rule, "__annotations__", {}) == {"said": "Said", "return": "Iterator[str]"}
)
