"""check(): every detector gets what it asks for, and one bad detector costs one line."""

from __future__ import annotations

import pytest

from firstbreak.engine import check as engine
from firstbreak.engine.registry import Detector
from firstbreak.inputs import missing
from firstbreak.model import Confidence, Expected, Finding, Link, NotApplicable, NotMeasured, Run, Severity, Status
from tests.make import learning, run


def outcome(
    detect: object, needs: tuple[str, ...] = (), uses: tuple[str, ...] = (), curves: object = None, **thresholds: object
):
    detector = Detector("some-thing", Link.REWARD, "t", "d", detect, needs, uses, thresholds)  # type: ignore[arg-type]
    return engine._examine(detector, engine.Inputs(run(curves)), {})  # type: ignore[arg-type]


def test_the_four_answers_and_a_crash() -> None:
    finding = Finding(message="m", severity=Severity.NOTICE, confidence=Confidence.LOW)
    assert outcome(lambda: None).status is Status.OK
    assert outcome(lambda: finding).finding is finding
    assert outcome(lambda: NotApplicable("no critic")).note == "no critic"
    assert outcome(lambda: NotMeasured("too short")).status is Status.NOT_MEASURED
    assert outcome(lambda: Expected("because")).expected
    crashed = outcome(lambda: 1 / 0)
    assert crashed.status is Status.CRASHED
    assert "ZeroDivisionError" in crashed.note
    assert "test_check.py" in crashed.note
    assert outcome(lambda: "a string").status is Status.CRASHED


def test_a_missing_input_is_named_with_the_way_to_log_it() -> None:
    detector = Detector("x", Link.POLICY_UPDATE, "t", "d", lambda kl_ref: None, ("kl_ref",), (), {})
    found = engine._examine(detector, engine.Inputs(run({"reward.mean": learning()}, trainer="trl")), {})
    assert found.status is Status.NOT_MEASURED
    assert "kl.ref is not logged" in found.note
    assert "beta" in found.note


def test_optional_inputs_come_where_they_were_recorded() -> None:
    seen: dict[str, object] = {}

    def detect(**given: object) -> None:
        seen.update(given)

    outcome(detect, ("reward_mean",), ("kl_ref", "config", "score"), {"reward.mean": [1.0, 2.0, 3.0, 4.0, 5.0]})
    assert seen["kl_ref"] is None
    assert seen["config"] is not None
    assert seen["score"].name == "reward.mean"  # type: ignore[attr-defined]


def test_thresholds_can_be_set_per_detector() -> None:
    curves = {"reward.zero_std_frac": [0.6] * 30, "reward.mean": learning(30)}
    quiet = engine.check(run(curves), only=["zero-variance-groups"], thresholds={"zero-variance-groups": {"some": 0.7}})
    loud = engine.check(run(curves), only=["zero-variance-groups"])
    assert quiet[0].status is Status.OK
    assert loud[0].status is Status.FOUND


def test_a_family_of_signals_arrives_as_a_dict_by_member() -> None:
    inputs = engine.Inputs(run({"reward.component.format.mean": [1.0], "reward.component.answer.mean": [0.0]}))
    assert set(inputs.get("reward_component_mean")) == {"format", "answer"}


def test_an_unknown_detector_is_a_clear_error() -> None:
    with pytest.raises(KeyError, match="no-such-thing"):
        engine.check(run(), only=["no-such-thing"])


def test_what_is_missing_is_said_in_whole_sentences() -> None:
    assert missing("trajectory").startswith(
        "not recorded: the shape of the score: rising, plateau, flat, peaked, ... Log"
    )
    assert ", else the reward. Log" in missing("score")


def test_what_a_run_of_the_other_kind_cannot_have_does_not_apply() -> None:
    def statuses(made: Run) -> dict[str, Status]:
        return {outcome.detector: outcome.status for outcome in engine.check(made)}

    acts = statuses(run({"reward.mean": [1.0] * 20, "episode.length": [9.0] * 20}, algorithm="ppo"))
    assert acts["truncation"] is Status.NOT_APPLICABLE
    assert acts["time-limits-vary"] is Status.NOT_MEASURED
    writes = statuses(run({"reward.mean": [1.0] * 20}, algorithm="grpo"))
    assert writes["time-limits-vary"] is Status.NOT_APPLICABLE
    assert writes["truncation"] is Status.NOT_MEASURED
    assert statuses(run({"reward.mean": [1.0] * 20}))["truncation"] is Status.NOT_MEASURED
