"""behave-weight-off: data that the correction cannot bridge."""

import numpy as np
import pytest

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import noise, run

ID = "behave-weight-off"
N = 60
RATIO, CAPPED = "behave.ratio.mean", "behave.ratio_cap_frac"


def test_a_weight_off_1_is_found_where_it_began() -> None:
    finding = found(ID, run({RATIO: np.where(np.arange(N) < 25, 1.0, 1.3) + noise(N, 0.02)}, algorithm="grpo"))
    assert finding.severity is Severity.WARNING
    assert finding.onset == 26


def test_many_capped_tokens_are_found_behind_a_mean_of_1() -> None:
    curves = {RATIO: 1 + noise(N, 0.01), CAPPED: 0.25 + noise(N, 0.02)}
    finding = found(ID, run(curves, algorithm="grpo"))
    assert finding.metric == CAPPED
    assert "of the tokens" in finding.message


@pytest.mark.parametrize("curves", [{RATIO: 2.5 + noise(N, 0.1)}, {CAPPED: 0.8 + noise(N, 0.02)}])
def test_a_broken_bridge_stops_the_run(curves: dict[str, np.ndarray]) -> None:
    assert found(ID, run(curves, algorithm="grpo")).severity is Severity.CRITICAL


def test_fresh_data_are_healthy() -> None:
    assert silent(ID, run({RATIO: 1 + noise(N, 0.02), CAPPED: np.abs(noise(N, 0.01))}, algorithm="grpo"))


def test_a_replay_buffer_needs_no_such_weight() -> None:
    assert look(ID, run({"reward.mean": noise(N)}, algorithm="td3")).status is Status.NOT_APPLICABLE
