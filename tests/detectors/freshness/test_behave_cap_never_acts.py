"""behave-cap-never-acts: weights without a bound."""

import numpy as np

from firstbreak.model import Confidence
from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "behave-cap-never-acts"
GROWING = np.linspace(2, 30, 40)


def test_large_weights_of_which_none_is_capped_are_found() -> None:
    finding = found(ID, run({"behave.ratio.max": GROWING, "behave.ratio_cap_frac": np.zeros(40)}))
    assert finding.confidence is Confidence.HIGH
    assert "none is capped" in finding.message


def test_a_cap_that_acts_is_healthy() -> None:
    curves = {"behave.ratio.max": GROWING, "behave.ratio_cap_frac": np.where(GROWING > 5, 0.01, 0)}
    assert silent(ID, run(curves))


def test_weights_near_one_need_no_cap() -> None:
    assert silent(ID, run({"behave.ratio.max": 1.5 + noise(40, 0.1), "behave.ratio_cap_frac": np.zeros(40)}))


def test_a_wide_cap_that_is_not_reached_is_healthy() -> None:
    curves = {"behave.ratio.max": GROWING, "behave.ratio_cap_frac": np.zeros(40)}
    assert silent(ID, run(curves, config={"behave_weight_cap": 50.0}))
