"""The posterior: every weight is shown, and they add up."""

import math
from dataclasses import replace

import numpy as np
import pytest

from firstbreak.engine import rank as engine
from firstbreak.engine.detection import check
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.judgement import judge
from firstbreak.model import (
    Confidence,
    Evidence,
    Finding,
    Link,
    Outcome,
    RankedCause,
    Role,
    Severity,
    Status,
    Weight,
    WeightKind,
)
from tests.make import learning, noise, run

FLAT = noise(150, 0.1)


def ranked(curves: dict[str, object], **more: object):
    made = run(curves, **more)  # type: ignore[arg-type]
    return engine.rank(Inputs(made), check(made))


TRUNCATED = {
    "reward.mean": FLAT,
    "length.clipped_ratio": 0.9 + noise(150, 0.02, 1),
    "kl.ref": 0.001 + noise(150, 1e-4, 2),
}


def test_probabilities_sum_to_one_and_follow_from_the_weights() -> None:
    causes = ranked(TRUNCATED, algorithm="grpo")
    assert sum(c.probability for c in causes) == pytest.approx(1.0)
    healthy = next(c for c in causes if c.id == "healthy")
    for cause in causes:
        odds = math.exp(sum(w.weight for w in cause.evidence))
        assert cause.probability == pytest.approx(odds * healthy.probability, rel=1e-6)


def test_truncation_with_a_flat_score_points_to_the_length_limit() -> None:
    assert ranked(TRUNCATED, algorithm="grpo")[0].id == "length-limit-too-short"


def test_a_quiet_detector_speaks_against_a_cause_and_an_absent_one_does_not() -> None:
    without = {k: v for k, v in TRUNCATED.items() if k != "length.clipped_ratio"}
    quiet = {**without, "length.clipped_ratio": [0.0] * 150}

    def weight(curves: dict[str, object]) -> float:
        cause = next(c for c in ranked(curves, algorithm="grpo") if c.id == "length-limit-too-short")
        return sum(w.weight for w in cause.evidence if w.finding == "truncation")

    assert weight(without) == 0
    assert weight(quiet) < -1
    assert weight(TRUNCATED) > 2


def test_a_healthy_run_is_most_probably_healthy() -> None:
    top = ranked({"reward.mean": learning(), "policy.entropy": learning(high=0.3, low=1.0), "kl.old": [0.01] * 200})[0]
    assert top.id == "healthy"


def test_onsets_in_the_order_of_the_cause_speak_for_it() -> None:
    def outcome(name: str, at: float) -> Outcome:
        finding = Finding(message="m", severity=Severity.WARNING, onset=at, interval=(at - 1, at + 1))
        return Outcome(detector=name, link=Link.POLICY_UPDATE, status=Status.FOUND, finding=finding)

    cause = engine.causes()["step-size-too-large"]
    first, then = [n for n in cause.findings if n in ("step-too-large", "score-lost")]
    forward = engine._weigh_order(cause, [outcome(first, 10), outcome(then, 50)])
    backward = engine._weigh_order(cause, [outcome(first, 50), outcome(then, 10)])
    together = engine._weigh_order(cause, [outcome(first, 10), outcome(then, 11)])
    assert forward[0].weight > 0 > backward[0].weight
    assert together == []


@pytest.mark.parametrize(("at", "kind"), [(1, WeightKind.PROVED), (40, WeightKind.UNEXPLAINED)])
def test_what_is_proved_after_a_proof_of_something_else_does_not_count_for_a_cause(at: float, kind: WeightKind) -> None:
    def proved(name: str, step: float) -> Outcome:
        finding = Finding(message="m", severity=Severity.CRITICAL, onset=step, interval=(step, step))
        roles = frozenset({Role.PROOF})
        return Outcome(detector=name, link=Link.NUMERICS, status=Status.FOUND, finding=finding, roles=roles)

    cause = engine.causes()["gradients-not-finite"]
    mine = next(name for name in cause.findings if "not-finite" in name)
    outcomes = [proved("samples-identical", 1), proved(mine, at)]
    weights = engine.weigh(cause, Inputs(run(TRUNCATED)), outcomes)
    assert next(w.kind for w in weights if w.finding == mine) is kind


@pytest.mark.parametrize(("at", "counts"), [(2.0, True), (60.0, False)])
def test_a_cause_that_explains_nothing_proved_counts_less_where_the_proof_is_early(at: float, counts: bool) -> None:
    curve = run({"proof.ratio_first": [0.3] * 100}).series["proof.ratio_first"]
    evidence = (Evidence(text="the ratio", series=curve, since=at),)
    finding = Finding(message="m", severity=Severity.CRITICAL, onset=at, interval=(at, at), evidence=evidence)
    roles = frozenset({Role.PROOF})
    proof = Outcome(
        detector="ratio-not-one", link=Link.POLICY_UPDATE, status=Status.FOUND, finding=finding, roles=roles
    )
    weights = engine.weigh(engine.causes()["gradients-not-finite"], Inputs(run(TRUNCATED)), [proof])
    assert any("explains nothing that is proved" in w.text for w in weights) is counts


def test_a_proof_outranks_what_was_not_seen_and_what_a_curve_denies() -> None:
    """The rate never reached a hundredth of the configured one: a score that rose by luck, and quiet checks, deny nothing."""
    reached = {"proof.rate_reached": [0.005] * 60}
    made = run(
        {"reward.mean": learning(n=60), "kl.old": [0.01] * 60, "loss": noise(60, 0.1), **reached}, algorithm="grpo"
    )
    outcomes = check(made)
    causes = engine.rank(Inputs(made), outcomes)
    assert causes[0].id == "optimiser-not-connected"
    assert not [w for w in causes[0].evidence if w.kind is WeightKind.REFUTED]
    quiet = sum(w.weight for w in causes[0].evidence if w.kind is WeightKind.QUIET)
    assert quiet >= -engine.UNSEEN * engine.CALIBRATION
    first = judge(Inputs(made), outcomes, causes, None).first_break
    assert first is not None
    assert first.link is Link.POLICY_UPDATE


def test_options_are_named_in_the_trainers_own_words() -> None:
    from dataclasses import replace

    from firstbreak.model import Config

    made = replace(
        run(), config=Config(values={"max_new_tokens": 256}, keys={"max_new_tokens": "max_completion_length"})
    )
    assert engine.with_options("Raise {max_new_tokens}.", made) == "Raise `max_completion_length` (now 256)."
    assert engine.with_options("Raise {max_new_tokens}.", run()) == "Raise `max_new_tokens`."


def test_what_an_experiment_shows_can_name_a_cause_that_the_curves_had_all_but_excluded() -> None:
    made = run(TRUNCATED, algorithm="grpo")
    inputs, outcomes = Inputs(made), check(made)
    excluded = [c for c in engine.rank(inputs, outcomes) if c.link is not None][-1]
    assert excluded.probability < 1e-3

    def after(weight: float) -> float:
        known = {excluded.id: [Weight(finding="experiment:x", weight=weight, kind=WeightKind.ANSWER)]}
        (cause,) = [c for c in engine.rank(inputs, outcomes, known) if c.id == excluded.id]
        healthy = next(c for c in engine.rank(inputs, outcomes, known) if c.id == "healthy")
        assert math.exp(sum(w.weight for w in cause.evidence)) == pytest.approx(cause.probability / healthy.probability)
        return cause.probability

    assert after(0.1) < 0.01, "curves mislead in few runs"
    assert after(10.0) > 0.5, "and a million to one is not needed"
    known = {excluded.id: [Weight(finding="experiment:x", weight=10.0, kind=WeightKind.ANSWER)]}
    again = engine.cautious_probabilities(engine.rank(inputs, outcomes, known))
    assert again[excluded.id] == pytest.approx(after(10.0)), "nothing is doubted twice"


def test_curves_may_mislead_and_proofs_do_not() -> None:
    """A few answers that a healthy run gives as well do not outweigh an identity that failed."""
    made = run({"reward.mean": [0.0] * 60, "proof.gradient_turned": [1.0] * 60}, algorithm="grpo")
    inputs, outcomes = Inputs(made), check(made)
    first = engine.rank(inputs, outcomes)[0]
    answers = {first.id: [Weight(finding="experiment:x", weight=-2.0, kind=WeightKind.ANSWER)]}
    after = {c.id: c.probability for c in engine.rank(inputs, outcomes, answers)}
    assert after["healthy"] < 0.01
    assert max(after, key=lambda name: after[name]) == first.id


def test_advice_on_a_setting_that_jumped_says_how_high_it_was() -> None:
    rate = [1e-3] * 60 + [0.05] * 30 + [3e-5] * 30
    made = run({"reward.mean": learning(n=120), "lr": rate}, config={"learning_rate": 1e-3})
    assert engine.with_options("Lower {learning_rate}.", made) == (
        "Lower `learning_rate` (now 3e-05, set to 0.001, and 0.05 at its highest)."
    )
    warmed_up = run({"lr": [*np.linspace(0, 1e-3, 60), *np.linspace(1e-3, 0, 60)]}, config={"learning_rate": 1e-3})
    assert "highest" not in engine.with_options("Lower {learning_rate}.", warmed_up)


def test_a_learning_rate_that_jumps_can_be_what_broke_a_method_of_values() -> None:
    score = [*learning(n=60), *([0.1] * 60)]
    rate = [1e-3] * 60 + [0.1] * 60
    assert ranked({"eval.score": score, "lr": rate}, algorithm="dqn")[0].id == "step-size-too-large"


def of_links(**probabilities: float) -> list[RankedCause]:
    return [
        RankedCause(id=f"cause-of-{name}", title=name, link=Link(name), probability=p)
        for name, p in sorted(probabilities.items(), key=lambda pair: -pair[1])
    ]


def test_the_probability_of_a_link_is_that_of_its_causes() -> None:
    links = engine.by_link(of_links(reward=0.5, advantage=0.3, systems=0.1))
    assert sum(links.values()) == pytest.approx(1)
    assert list(links) == [Link.REWARD, Link.ADVANTAGE, Link.SYSTEMS]
    assert links[Link.REWARD] == pytest.approx(0.5 / 0.9)


def test_causes_are_less_sure_than_their_weights_in_their_order_and_as_probable_together() -> None:
    made = run(TRUNCATED, algorithm="grpo")
    causes = [c for c in engine.rank(Inputs(made), check(made)) if c.link is not None]
    evidence = {c.id: tuple(w for w in c.evidence if w.kind is not WeightKind.SURE) for c in causes}
    sums = {name: sum(w.weight for w in weights) for name, weights in evidence.items()}
    assert [c.id for c in causes] == sorted(sums, key=lambda name: -sums[name])
    odds = sum(map(math.exp, sums.values()))
    assert sum(c.probability for c in causes) == pytest.approx(odds / (odds + 1), abs=0.05)
    assert causes[0].probability < math.exp(sums[causes[0].id]) / (odds + 1)


def test_without_any_cause_there_is_no_link() -> None:
    assert engine.by_link([]) == {}


@pytest.mark.parametrize(
    ("probabilities", "named"),
    [
        ({"reward": 0.9, "advantage": 0.02, "systems": 0.02}, (Link.REWARD,)),
        ({"reward": 0.4, "advantage": 0.35, "systems": 0.05}, (Link.REWARD, Link.ADVANTAGE)),
        ({"reward": 0.4, "advantage": 0.05, "systems": 0.35}, (Link.REWARD, Link.SYSTEMS)),
    ],
)
def test_one_link_is_named_where_it_is_more_probable_than_all_others(
    probabilities: dict[str, float], named: tuple[Link, ...]
) -> None:
    made = run(TRUNCATED)
    critical = Finding(message="lost", severity=Severity.CRITICAL, metric="reward.mean", onset=3.0)
    outcomes = [Outcome(detector="score-lost", link=Link.POLICY_UPDATE, status=Status.FOUND, finding=critical)]
    explains = (Weight(finding="score-lost", weight=1.0, kind=WeightKind.FOUND, text="found"),)
    causes = [replace(cause, evidence=explains) for cause in of_links(**probabilities)]
    first = judge(Inputs(made), outcomes, causes, None).first_break
    assert first is not None
    assert first.links == named
    assert first.undecided == (first.probability < 0.5)
    assert (first.probability > 0.5) or first.also is not None


def test_a_sign_that_the_most_probable_cause_does_not_explain_keeps_its_own_link() -> None:
    critical = Finding(message="lost", severity=Severity.CRITICAL, metric="reward.mean", onset=3.0)
    outcomes = [Outcome(detector="score-lost", link=Link.POLICY_UPDATE, status=Status.FOUND, finding=critical)]
    first = judge(Inputs(run(TRUNCATED)), outcomes, of_links(reward=0.9, advantage=0.05), None).first_break
    assert first is not None
    assert first.links == (Link.POLICY_UPDATE, Link.REWARD)


def test_an_earlier_warning_that_the_one_probable_cause_does_not_explain_is_not_first() -> None:
    def found(detector: str, link: Link, severity: Severity, onset: float) -> Outcome:
        finding = Finding(message="m", severity=severity, confidence=Confidence.HIGH, onset=onset)
        return Outcome(detector=detector, link=link, status=Status.FOUND, finding=finding)

    outcomes = [
        found("critic-worse-than-mean", Link.ADVANTAGE, Severity.WARNING, 3.0),
        found("step-too-large", Link.POLICY_UPDATE, Severity.CRITICAL, 30.0),
    ]
    inputs = Inputs(run(TRUNCATED))
    sure, torn = of_links(policy_update=0.9, reward=0.05), of_links(policy_update=0.4, reward=0.4)
    for causes, link in ((sure, Link.POLICY_UPDATE), (torn, Link.ADVANTAGE)):
        first = judge(inputs, outcomes, causes, None).first_break
        assert first is not None
        assert first.link is link


def test_several_signs_that_the_score_fell_are_one_event() -> None:
    """A second sign of the same fall makes no cause more probable, and the surest of the signs counts."""
    made = run({"reward.mean": np.concatenate([np.linspace(0, 1, 100), np.linspace(1, -0.5, 100)]) + noise(200, 0.03)})
    outcomes = {o.detector: o for o in check(made)}
    lost = outcomes["score-lost"]
    assert lost.finding is not None
    second = replace(
        outcomes["score-below-start"], status=Status.FOUND, finding=replace(lost.finding, severity=Severity.WARNING)
    )
    one, both = (
        engine.rank(Inputs(made), list({**outcomes, "score-below-start": sign}.values()))
        for sign in (replace(second, status=Status.NOT_MEASURED, finding=None), second)
    )
    assert {c.id: c.probability for c in both} == pytest.approx({c.id: c.probability for c in one})


@pytest.mark.parametrize(("steps", "usual"), [(3_000, True), (100_000, False), (None, False)])
def test_a_small_buffer_that_holds_much_of_a_short_run_is_usual(steps: int | None, usual: bool) -> None:
    config = {"buffer_size": 2000, "learning_rate": 1e-3} | ({} if steps is None else {"total_steps": steps})
    causes = ranked({"reward.mean": FLAT}, algorithm="dqn", trainer="sb3", config=config)
    evidence = next(c for c in causes if c.id == "off-policy-critic-unstable").evidence
    assert any("buffer_size is 2000, below" in w.text for w in evidence) is not usual


def test_what_failed_in_the_first_batch_cannot_come_from_training() -> None:
    def first(since: int) -> float:
        gap = np.where(np.arange(60) < since, 0.0, 2.0)
        curves = {
            "reward.mean": learning(60, 60, 5),
            "policy.entropy": np.linspace(1, 4, 60),
            "proof.reference_start": gap,
        }
        made = run(curves, algorithm="grpo")
        bonus = next(c for c in engine.rank(Inputs(made), check(made)) if c.id == "entropy-bonus-too-strong")
        return sum(w.weight for w in bonus.evidence if "first batch" in w.text)

    assert first(0) < -4
    assert first(5) == 0
