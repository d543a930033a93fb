"""Samples that the policy finds less and less probable."""

from pathlib import Path

import numpy as np

from firstbreak.knowledge.detectors.freshness.samples_of_other_weights import detect
from firstbreak.model import Config, Finding, NotApplicable, Series
from tests.detectors.recorded import drawn, proof, recorded


def test_it_is_proved_where_the_first_batch_was_right(tmp_path: Path) -> None:
    later = [drawn(seed, edited=0.15) for seed in range(2, 8)]
    assert "less probable" in proof(recorded(tmp_path, "samples-of-other-weights", drawn(1), *later))


def test_what_is_wrong_from_the_first_batch_on_is_another_matter(tmp_path: Path) -> None:
    edited = [drawn(seed, edited=0.3) for seed in range(1, 6)]
    assert recorded(tmp_path, "samples-of-other-weights", *edited).finding is None


def test_a_sound_run_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "samples-of-other-weights", *map(drawn, range(20))).finding is None


def test_groups_that_are_chosen_by_their_rewards_are_no_matter_of_weights() -> None:
    curve = Series(name="proof.sampling_z", steps=np.arange(20.0), values=np.r_[0.0, np.full(19, 3.0)], axis="step")
    assert isinstance(detect(Config(), curve, proof_sampling_gap=curve), Finding)
    for chosen in (Config(values={"dynamic_sampling": True}), Config(raw={"rollout.should_accept_fn": "mixed"})):
        assert isinstance(detect(chosen, curve, proof_sampling_gap=curve), NotApplicable)
