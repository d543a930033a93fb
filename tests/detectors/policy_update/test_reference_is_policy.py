"""One model as policy and reference."""

from pathlib import Path

import numpy as np
import pytest

from firstbreak.model import Outcome
from tests.detectors.look import look
from tests.detectors.recorded import proof, recorded
from tests.make import noise, run


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


@pytest.mark.parametrize(("paid", "says"), [(0.0, True), (0.1, False)])
def test_rewards_of_held_out_pairs_move_as_far_as_their_log_probabilities(paid: float, says: bool) -> None:
    moved = np.linspace(0, -2.0, 10)
    pairs = {
        "pref.reward.chosen": noise(60, 3e-4),
        "pref.reward.rejected": noise(60, 3e-4, 1),
        "pref.logp.chosen": noise(60),
    }
    held_out = {"eval.pref.logp.rejected": moved - 6, "eval.pref.reward.rejected": paid * moved + noise(10, 3e-4)}
    made = run({**pairs, **held_out}, algorithm="dpo", trainer="trl", config={"kl_coef": 0.1})
    assert ("the reference follows the policy" in str(look("reference-is-policy", made).finding)) == says
