"""tool-errors: calls that fail."""

import numpy as np
import pytest

from firstbreak.model import Sample, Samples, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "tool-errors"


def test_half_of_the_calls_fail_and_nothing_is_learned() -> None:
    finding = found(ID, run({"tool.error_frac": 0.5 + noise(60, 0.02), "reward.mean": noise(60, 0.1, 1)}))
    assert finding.severity is Severity.CRITICAL
    assert "of the tool calls fail" in finding.message


def test_errors_that_the_policy_unlearns_are_healthy() -> None:
    assert silent(ID, run({"tool.error_frac": np.linspace(0.5, 0.02, 60), "reward.mean": learning(60)}))


def test_a_share_that_jumps_is_found_where_it_jumps() -> None:
    share = np.concatenate([np.full(40, 0.03), np.full(40, 0.3)]) + np.abs(noise(80, 0.01))
    assert 36 <= found(ID, run({"tool.error_frac": share, "reward.mean": learning(80)})).onset <= 45


def test_without_tools_it_is_not_measured() -> None:
    written = {"reward.mean": noise(60), "length.mean": 50 + noise(60)}
    assert look(ID, run(written)).status is Status.NOT_MEASURED


def test_a_policy_that_acts_in_an_environment_is_not_asked_for_tools() -> None:
    acted = {"reward.mean": noise(60), "episode.length": 50 + noise(60)}
    assert look(ID, run(acted)).status is Status.NOT_APPLICABLE


@pytest.mark.parametrize(("calls", "role"), [(0.02, "assistant"), (1.9, "assistant"), (0.02, "tool")])
def test_results_that_the_policy_writes_itself_are_invented_where_no_call_is_executed(calls: float, role: str) -> None:
    said = "<call> get e </call> <result> 7 </result> <answer> 7 </answer>"
    drawn = [Sample(step=i, completion=said, messages=[{"role": role, "content": said}]) for i in range(12)]
    curves = {
        "tool.call_freq": calls + noise(60, 0.01),
        "turns.mean": 1 + calls + noise(60, 0.01),
        "reward.mean": noise(60),
    }
    logged = run(curves, samples=Samples(lambda: iter(drawn), ("transcripts.jsonl",)))
    invented = calls < 1 and role == "assistant"
    assert "12 of 12" in found(ID, logged).message if invented else look(ID, logged).status is Status.NOT_MEASURED
    stops = {**curves, "tool.call_freq": np.linspace(2, 0, 60), "turns.mean": np.linspace(3, 1, 60)}
    assert look(ID, run(stops, samples=logged.samples)).status is Status.NOT_MEASURED
