"""Tokens that were replaced after sampling."""

from pathlib import Path

from tests.detectors.recorded import drawn, proof, recorded


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    broken = drawn(1, edited=0.3)
    assert "standard errors less probable" in proof(recorded(tmp_path, "samples-edited", broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = drawn(1)
    assert recorded(tmp_path, "samples-edited", sound, sound).finding is None


def test_a_sampler_that_is_hotter_than_the_loss_assumes_is_proved_by_a_few_batches(tmp_path: Path) -> None:
    small = [
        {name: value[:8] if name != "fresh" else value for name, value in drawn(seed, temperature=1.3).items()}
        for seed in range(6)
    ]
    assert "less probable than the policy's entropy says" in proof(recorded(tmp_path, "samples-edited", *small))
