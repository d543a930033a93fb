"""pairs-not-told-apart: a reward model on labels that cancel each other."""

import numpy as np

from tests.detectors.look import found, silent
from tests.make import noise, run

ID = "pairs-not-told-apart"
LOSS = {"loss.total": np.full(120, 0.69)}


def test_an_accuracy_of_one_half_is_found() -> None:
    assert "as by chance" in found(ID, run({"rm.accuracy": 0.5 + noise(120, 0.08), **LOSS}, algorithm="reward")).message


def test_pairs_that_are_learned_are_silent() -> None:
    assert silent(ID, run({"rm.accuracy": np.linspace(0.5, 0.8, 120), **LOSS}, algorithm="reward"))
    assert silent(ID, run({"pref.reward.accuracy": 0.6 + noise(120, 0.08), **LOSS}, algorithm="dpo"))
