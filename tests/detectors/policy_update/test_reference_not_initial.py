"""A reference with other weights than the policy began with."""

from pathlib import Path

from tests.detectors.look import look
from tests.detectors.recorded import MASK, proof, recorded
from tests.make import run

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
