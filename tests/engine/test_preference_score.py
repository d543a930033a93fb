"""What shows whether training on preference pairs works."""

import numpy as np

from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Status
from tests.make import noise, run


def test_held_out_pairs_are_the_evaluation() -> None:
    accuracy = np.linspace(0.5, 0.8, 8)
    made = run({"loss.total": np.linspace(0.69, 0.4, 8), "eval.pref.reward.accuracy": accuracy}, algorithm="dpo")
    score = Inputs(made).score
    assert score is not None
    assert score.name == "eval.pref.reward.accuracy"


def test_a_log_that_holds_only_the_loss_has_a_score() -> None:
    loss = np.linspace(0.69, 0.5, 60) + noise(60, 0.02)
    made = run({"pref.loss": loss, "lr": np.linspace(1e-6, 1e-7, 60)})
    score = Inputs(made).score
    assert score is not None
    assert np.allclose(score.values, np.exp(-loss))
    outcomes = check(made)
    missing = next(o for o in outcomes if o.detector == "score-missing")
    assert missing.status is not Status.FOUND
    assert diagnose(made, outcomes).first_break is None
