"""The yardstick of the judgement: each rule finds what contradicts itself and stays silent otherwise."""

import json
from typing import Any

import pytest
from benchmarks.judgement.contradictions import RULES, Said, contradictions

from tests.lazy import lazy

measures = lazy("benchmarks.judgement.measures")

pytestmark = pytest.mark.thorough

Parts = dict[str, Any]
FLAT = "Nothing is broken in what was recorded: the evaluation has not changed by more than its noise."
PLATEAU = "Nothing is broken in what was recorded: the evaluation rose and has plateaued."
RISING = "Nothing is broken in what was recorded: the evaluation still rises."
HIGH = "high: the policy is worse than it was, and may get worse with every step"
LOW = "low for the policy, but more compute gains little"
LOOK = "Look at the warnings, the first one first. None of them is a reason to stop."
STEADY = "the rate of improvement is steady (reward.mean changed by 0.18 in the first half, by {} in the second, along a line)"
LOST = "eval.accuracy was 0.7 at step 100 and is 0.38 now: 71 % of its gain is lost; go back to that best checkpoint"
JUMP = "kl.ref jumped from 0.01 to 0.4 at step 100 and stayed there"
TURNED = "the improvement turned into a loss (reward.mean changed by 0.3 in the first half, by {} in the second)"
POINTED = "the findings in other links point here, or to numerics"
NAN = "grad.norm is not finite since step 20"
FLAT_AT = "near zero: eval.accuracy is {} at step 120, and {} was the level of its first values"


def found(message: str, severity: str = "warning", link: str = "reward", **more: Any) -> Parts:
    """A finding."""
    other = {"detector": "some-check", "metric": None, "onset": None, "interval": None}
    return {**other, "link": link, "severity": severity, "message": message, **more}


def first(
    link: str = "reward", step: float | None = 50, interval: list[float] | None = None, also: list[str] | None = None
) -> Parts:
    """A first break."""
    return {"link": link, "step": step, "interval": interval, "also": also or []}


def said(
    action: str = "watch",
    summary: str = RISING,
    upside: str = "",
    risk: str = "low, as far as the log shows",
    do_first: str = "Look at the warnings.",
    findings: tuple[Parts, ...] = (),
    first_break: Parts | None = None,
    links: dict[str, tuple[str, str]] | None = None,
    best: Parts | None = None,
    causes: tuple[Parts, ...] = (),
    outcomes: tuple[Parts, ...] = (),
    metrics: tuple[str, ...] = (),
    unknown: tuple[str, ...] = (),
    printed: str = "",
    code: int | None = None,
) -> Said:
    """A report: the printed text holds what the JSON holds, and `printed`."""
    verdict = {"action": action, "summary": summary, "upside": upside, "risk": risk, "do_first": do_first}
    report = {
        "verdict": verdict,
        "run": {"first_step": 0, "last_step": 200, "metrics": metrics, "not_understood": unknown},
        "first_break": first_break,
        "findings": findings,
        "links": {name: {"status": status, "why": why} for name, (status, why) in (links or {}).items()},
        "best_checkpoint": best,
        "causes": causes,
        "outcomes": outcomes,
    }
    text = "\n".join([*verdict.values(), *(one["message"] for one in findings), printed])
    return Said.of(text, json.dumps(report), (1 if action in ("stop", "rollback") else 0) if code is None else code)


def curve(name: str, upper: str, lower: str, high: float = 0.7, low: float = 0.2) -> str:
    """As the terminal draws one."""
    return f"  {name} (logged as x): score\n       {high} {upper}\n        {low} {lower}\n"


def best(value: float, step: float = 100) -> Parts:
    """The best checkpoint."""
    return {"metric": "eval.accuracy", "value": value, "step": step}


#: rule -> what breaks it, what has to be changed to keep it
PAIRS: dict[str, tuple[Parts, Parts]] = {
    "exit_and_action_differ": ({"action": "stop", "code": 0}, {"code": 1}),
    "stop_is_ordered_and_not_done": ({"findings": (found(LOST, "critical"),)}, {"action": "rollback"}),
    "no_reason_to_stop_beside_a_reason": (
        {"do_first": LOOK, "risk": HIGH},
        {"risk": "some: the score lost 20 % of its gain"},
    ),
    "whole_beside_critical": ({"findings": (found(LOST, "critical"),)}, {"findings": (found(LOST),)}),
    "risk_and_action_differ": ({"risk": HIGH}, {"action": "stop"}),
    "low_risk_beside_a_break": ({"first_break": first()}, {"risk": HIGH}),
    "low_risk_beside_a_loss": ({"findings": (found(LOST),), "risk": LOW}, {"risk": HIGH}),
    "first_step_and_action_differ": ({"do_first": "Stop, and go back to step 100."}, {"action": "rollback"}),
    "rollback_to_nowhere": ({"action": "rollback", "best": best(0.7, 200)}, {"best": best(0.7)}),
    "stopped_for_speed": (
        {"action": "stop", "findings": (found("steps take twice as long", link="systems"),)},
        {"findings": (found("the GPU runs out of memory", link="systems"),)},
    ),
    "stopped_on_a_good_score": ({"risk": HIGH}, {"summary": FLAT}),
    "healthy_and_stopped": (
        {"action": "stop", "causes": ({"id": "healthy", "probability": 0.7},)},
        {"causes": ({"id": "reward-nan", "probability": 0.7},)},
    ),
    "change_called_noise": (
        {"summary": FLAT, "upside": FLAT_AT.format(0.6075, 0.3225)},
        {"upside": FLAT_AT.format(0.41, 0.4)},
    ),
    "converged_while_it_improves": (
        {"risk": LOW, "upside": "training has converged; " + STEADY.format(0.17)},
        {"upside": "training has converged; " + STEADY.format(-0.01)},
    ),
    "converged_and_a_gain_foretold": (
        {"risk": LOW, "upside": "x is 0.5 now; the same number of steps again would change it by 0.1 to 0.3 (laws)"},
        {"upside": "x is 0.5 now; the same number of steps again would change it by -0.1 to 0.3 (laws)"},
    ),
    "plateau_while_it_falls": ({"summary": PLATEAU, "findings": (found(LOST),)}, {"summary": FLAT}),
    "loss_without_a_loss": ({"upside": TURNED.format(-0.0028), "risk": HIGH}, {"upside": TURNED.format(-0.28)}),
    "nothing_learned_beside_a_rise": ({"findings": (found("nothing was learned"),)}, {"summary": FLAT}),
    "known_to_have_learned_and_flat": (
        {"summary": FLAT, "printed": "that something was learned is known"},
        {"summary": PLATEAU},
    ),
    "reward_rose_and_fell": (
        {"findings": (found("the reward rose by 0.3"), found("the training reward fell as well"))},
        {"findings": (found("the reward rose by 0.3"),)},
    ),
    "change_without_change": ({"printed": "it fell from 0.5078 to 0.5078"}, {"printed": "it fell from 0.5078 to 0.49"}),
    "best_is_not_the_best": ({"best": best(0.6), "printed": curve("eval.accuracy", " ▃█", "▁██")}, {"best": best(0.7)}),
    "two_best_steps": ({"best": best(0.7, 60), "printed": LOST}, {"best": best(0.7)}),
    "now_is_not_the_end_of_the_curve": (
        {"printed": LOST + "\n" + curve("eval.accuracy", " █ ", "▁█▁")},
        {"printed": LOST + "\n" + curve("eval.accuracy", " █ ", "▁█▆")},
    ),
    "came_back_and_stayed": (
        {"findings": (found("18 spikes that came back", metric="kl.ref"),), "printed": curve("kl.ref", "  █", "▁▁█")},
        {"printed": curve("kl.ref", " █ ", "▁█▁")},
    ),
    "ok_beside_its_finding": (
        {"findings": (found(NAN, link="numerics"),), "links": {"numerics": ("ok", "")}},
        {"links": {"numerics": ("suspect", "")}},
    ),
    "ok_without_a_number": (
        {
            "links": {"numerics": ("ok", "")},
            "metrics": ("grad.norm",),
            "outcomes": ({"detector": "x", "link": "numerics", "note": "0 gradient norms are too few (needs 10)"},),
        },
        {"outcomes": ({"detector": "x", "link": "numerics", "note": "8 gradient norms are too few (needs 10)"},)},
    ),
    "pointed_at_by_nothing": (
        {"first_break": first(also=["numerics"]), "links": {"reward": ("suspect", POINTED)}},
        {"findings": (found("a", link="advantage"),)},
    ),
    "break_and_links_differ": (
        {"first_break": first(), "links": {"reward": ("ok", "")}},
        {"links": {"reward": ("broken", "")}},
    ),
    "another_link_in_the_summary": (
        {"first_break": first(), "summary": "First break at policy update at step 50 of 200."},
        {"first_break": first("policy_update")},
    ),
    "follows_from_what_is_not_finite": (
        {"first_break": first(), "findings": (found(NAN, link="numerics", onset=20),)},
        {"first_break": first(step=10)},
    ),
    "sudden_and_dated_widely": (
        {"first_break": first(interval=[1, 100]), "findings": (found(JUMP, interval=[100, 100]),)},
        {"first_break": first(interval=[90, 100])},
    ),
    "evaluation_that_is_not_read": (
        {"printed": "No evaluation was recorded", "unknown": ("eval_gsm8k",)},
        {"unknown": ("eval_runtime",)},
    ),
    "cause_at_a_sound_link": (
        {
            "summary": "First break at advantage. One possible cause: the reward has the wrong sign (11 % likely, at reward).",
            "links": {"reward": ("ok", "")},
        },
        {"links": {"reward": ("suspect", "")}},
    ),
    "advice_beyond_its_limit": (
        {"printed": "Use fewer `actor.ppo_n_minibatches` (now 1) per batch"},
        {"printed": "Use fewer `actor.ppo_n_minibatches` (now 4) per batch"},
    ),
    "long_is_paid_and_the_score_falls": (
        {
            "summary": "longer completions get more reward (26 % likely)",
            "printed": "completions grew from 188.9 to 503.2 tokens while eval.reward fell",
        },
        {"printed": "completions grew from 188.9 to 503.2 tokens while eval.reward did not rise"},
    ),
    "empty_completions_of_many_tokens": (
        {
            "summary": "empty completions are rewarded (66 % likely)",
            "printed": "completions shrank from 320 to 70 tokens",
        },
        {"printed": "completions shrank from 320 to 0.4 tokens"},
    ),
    "background_job_of_every_step": (
        {"printed": "rises by 10 GB 120 times and comes back, every 0.9918 steps: a background job"},
        {"printed": "rises by 10 GB 12 times and comes back, every 20 steps: a background job"},
    ),
    "advice_of_two_minds": (
        {"do_first": "Continue. Diagnose the run again at step 400.", "upside": "training has converged"},
        {"upside": "real"},
    ),
}


def test_every_rule_has_a_pair() -> None:
    assert {rule.__name__ for rule in RULES} == PAIRS.keys()


@pytest.mark.parametrize("name", PAIRS)
def test_a_rule_finds_what_it_is_for_and_is_silent_otherwise(name: str) -> None:
    rule = next(rule for rule in RULES if rule.__name__ == name)
    breaks, changed = PAIRS[name]
    assert list(rule(said(**breaks)))
    assert not list(rule(said(**breaks | changed)))


def test_a_report_without_contradictions_has_none() -> None:
    assert contradictions(said(action="continue", do_first="Continue.")) == []


def test_answers_are_scored_by_state_link_and_action() -> None:
    wanted = {
        "state": "broken",
        "links": "reward;rollout",
        "actions": "watch;stop",
        "must_say": "x",
        "must_not_say": "converged",
    }
    right = measures.right(said(first_break=first()), wanted)
    assert (right["state"], right["link"], right["action"], right["must_not_say"]) == (True, True, True, False)
    wrong = measures.right(said(action="continue", upside="training has converged"), wanted)
    assert (wrong["state"], wrong["link"], wrong["action"], wrong["must_not_say"]) == (False, False, False, True)
    watched = {**wanted, "state": "watch"}
    assert not measures.right(said(first_break=first()), watched)["state"]
    assert measures.right(said(first_break=first() | {"kind": "first_sign"}), watched)["state"]
