"""One model as policy and reference."""

from pathlib import Path

from firstbreak.model import Outcome
from tests.detectors.look import look
from tests.detectors.recorded import proof, recorded
from tests.make import run


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = {"shared_with_reference": 1.0, "shared_name": "wte.weight"}
    assert "wte.weight of the policy and of the reference" in proof(recorded(tmp_path, "reference-is-policy", broken))


def test_a_reference_that_is_the_policy_in_a_loop_is_proved() -> None:
    def of(gap: float, kl: float) -> Outcome:
        return look("reference-is-policy", run({"proof.reference_gap": [0.0, *[gap] * 9], "kl.ref": [kl] * 10}))

    assert "the reference follows the policy" in str(of(0.0, 1e-5).finding)
    assert of(0.01, 0.01).finding is None
    assert of(0.0, 0.0).finding is None, "no update moves the policy: another fault"


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"shared_with_reference": 0.0}
    assert recorded(tmp_path, "reference-is-policy", sound, sound).finding is None
