"""check(): every detector gets what it asks for, and one bad detector costs one line."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firstbreak
from firstbreak.engine import detection as engine
from firstbreak.engine.checks import Check, run_check
from firstbreak.engine.families import Family, Method, Policy, only, without
from firstbreak.engine.inputs import DERIVED, Inputs
from firstbreak.model import (
    Confidence,
    Expected,
    Finding,
    Link,
    NotApplicable,
    NotMeasured,
    Outcome,
    Run,
    Severity,
    Status,
)
from firstbreak.readers import Unreadable
from tests.make import learning, run


def outcome(ask: Callable[..., Any], curves: Any = None, **declared: Any) -> Outcome:
    return run_check(Check(id="some-thing", link=Link.REWARD, ask=ask, **declared), engine.OfRun(run(curves)))


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
    seen = outcome(lambda: "12 rewards were compared")
    assert (seen.status, seen.note) == (Status.OK, "12 rewards were compared")
    assert outcome(lambda: 12).status is Status.CRASHED


def test_a_missing_input_is_named_with_the_way_to_log_it() -> None:
    check = Check(id="x", link=Link.POLICY_UPDATE, ask=lambda kl_ref: None, needs=("kl_ref",))
    found = run_check(check, engine.OfRun(run({"reward.mean": learning()}, trainer="trl")))
    assert found.status is Status.NOT_MEASURED
    assert "kl.ref is not logged" in found.note
    assert "beta" in found.note


def test_a_proof_lacks_the_recorder_and_no_curve() -> None:
    check = Check(id="x", link=Link.ROLLOUT, ask=lambda proof_copies: None, needs=("proof_copies",))
    plain, recorded = {"reward.mean": learning()}, {"reward.mean": learning(), "proof.ratio": learning()}
    assert run_check(check, engine.OfRun(run(plain))).note == "firstbreak.recorder() was not used"
    assert run_check(check, engine.OfRun(run(recorded))).note == "firstbreak.recorder() measured nothing of it"


def test_optional_inputs_come_where_they_were_recorded() -> None:
    seen: dict[str, object] = {}

    def detect(**given: object) -> None:
        seen.update(given)

    rose = {"reward.mean": [1.0, 2.0, 3.0, 4.0, 5.0]}
    outcome(detect, rose, needs=("reward_mean",), uses=("kl_ref", "config", "score"))
    assert "kl_ref" not in seen
    assert seen["config"] is not None
    assert seen["score"].name == "reward.mean"  # type: ignore[attr-defined]


def test_thresholds_can_be_set_per_detector() -> None:
    curves = {"reward.zero_std_frac": [0.6] * 30, "reward.mean": learning(30)}
    quiet = engine.check(
        run(curves), only=["zero-variance-groups"], thresholds={"zero-variance-groups": {"share_warning": 0.7}}
    )
    loud = engine.check(run(curves), only=["zero-variance-groups"])
    assert quiet[0].status is Status.OK
    assert loud[0].status is Status.FOUND


def test_a_family_of_signals_arrives_as_a_dict_by_member() -> None:
    inputs = Inputs(run({"reward.component.format.mean": [1.0], "reward.component.answer.mean": [0.0]}))
    assert set(inputs.reward_component_mean) == {"format", "answer"}


def test_an_unknown_detector_is_a_clear_error() -> None:
    with pytest.raises(KeyError, match="no-such-thing"):
        engine.check(run(), only=["no-such-thing"])


def test_what_is_missing_is_said_in_whole_sentences() -> None:
    control = Family(policy=Policy.CONTROL, policy_known=True, method=None, data=None)
    said = DERIVED["trajectory"].missing(control)
    assert said.startswith("not recorded: the shape of the score: rising, plateau, flat, peaked, ... Log")
    assert ". Log" in DERIVED["score"].missing(control)
    assert "pairs" not in DERIVED["score"].missing(control)


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


def test_a_check_is_asked_only_of_the_families_it_holds_for() -> None:
    acts, writes = {"episode.length": [9.0] * 20}, {"length.mean": [9.0] * 20}
    for families, curves, status in (
        (only(Policy.TEXT), acts, Status.NOT_APPLICABLE),
        (only(Policy.TEXT), writes, Status.OK),
        (only(Policy.CONTROL), writes, Status.NOT_APPLICABLE),
        (only(Policy.CONTROL), {}, Status.OK),  # nothing tells: it is taken for control
        (only(Method.ACTOR_CRITIC), acts | {"policy.clip_fraction": [0.1] * 20}, Status.OK),
        (only(Method.ACTOR_CRITIC), acts | {"epsilon": [0.1] * 20}, Status.NOT_APPLICABLE),
        (without(Method.VALUE_BASED), acts, Status.OK),  # the method is not known
    ):
        assert outcome(lambda: None, curves, families=families).status is status, (families, curves)


def test_who_is_excluded_reads_why() -> None:
    given = outcome(lambda: None, {"episode.length": [9.0]}, families=only(Policy.TEXT, why="actions are no tokens"))
    assert given.note == "actions are no tokens"
    assert outcome(lambda: None, {"episode.length": [9.0]}, families=only(Policy.TEXT)).note == (
        "only for policies that write text"
    )


def test_a_path_instead_of_a_run_is_told_what_to_do_or_read() -> None:
    asked: Any = Path("run")
    with pytest.raises(TypeError, match=r"no run: read it first, with firstbreak\.read\('.*run'\)"):
        firstbreak.check(asked)
    with pytest.raises(Unreadable, match="no such file or folder"):
        firstbreak.diagnose(asked)


def test_of_several_agents_the_mean_is_looked_at_unless_one_wins_what_another_loses() -> None:
    won = np.sin(np.arange(40.0))
    curves = {
        f"{signal}@agent_{i}": sign * won
        for i, sign in ((0, 1.0), (1, -1.0))
        for signal in ("policy.loss", "reward.mean")
    }
    inputs = Inputs(run(curves))
    assert inputs.ask("policy_loss").values == pytest.approx(0.0)
    assert inputs.ask("members") is inputs.ask("training_score") is inputs.ask("reward_mean") is None
