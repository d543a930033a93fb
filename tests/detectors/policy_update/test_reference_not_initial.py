"""A reference with other weights than the policy began with."""

from pathlib import Path

import numpy as np

from firstbreak.model import Run
from tests.detectors.look import look
from tests.detectors.recorded import MASK, proof, recorded
from tests.make import noise, run, series

NOW = {"logps": -MASK, "mask": MASK, "untrained": True}


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = NOW | {"ref_logps": -1.5 * MASK}
    assert "the reference -1.5" in proof(recorded(tmp_path, "reference-not-initial", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = NOW | {"ref_logps": -MASK}
    assert recorded(tmp_path, "reference-not-initial", sound, sound).finding is None


def test_a_loop_that_begins_at_its_first_step_has_made_no_update() -> None:
    apart = {"proof.reference_gap": [1.8, 1.9, 2.0]}
    assert "differ by 1.8 nats" in str(look("reference-not-initial", run(apart)).finding)
    assert look("reference-not-initial", run({"proof.reference_gap": [0.0, 0.4, 0.5]})).finding is None


def test_the_first_row_of_a_log_may_be_a_mean_over_several_updates() -> None:
    def of(level: float, first: float) -> object:
        at = np.round(first + np.arange(60) * 10, 2)
        kl = series("kl.ref", level + noise(60, 0.1 * level), at)
        return look("reference-not-initial", Run(path="a-run", trainer="trl", series={"kl.ref": kl})).finding

    assert "nats at the first row of the log" in str(of(0.8, 10))
    assert of(0.1, 10) is None  # a few updates may go so far
    assert of(0.8, 5000) is None  # a later part of a run
