"""Log-probabilities of the engine that are not the trainer's."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from tests.detectors.recorded import proof, recorded

DRAW = np.random.default_rng(0)
TRAINER = -DRAW.exponential(1.0, (8, 16))
NEAR = TRAINER + DRAW.normal(0, 0.03, TRAINER.shape)
SOUND = {"engine_logps": NEAR, "trainer_logps": TRAINER, "mask": np.ones_like(NEAR)}


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    colder = SOUND | {"engine_logps": NEAR / 0.6}
    assert "nats in the engine" in proof(recorded(tmp_path, "engine-disagrees", colder))


def test_engines_in_16_bits_are_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "engine-disagrees", SOUND, SOUND).finding is None


def test_tokens_of_older_weights_are_left_out(tmp_path: Path) -> None:
    older = SOUND | {"engine_logps": np.where(np.arange(8)[:, None] < 3, NEAR / 0.6, NEAR)}
    versions = np.where(np.arange(8)[:, None] < 3, 6.0, 7.0) * np.ones_like(NEAR)
    assert recorded(tmp_path, "engine-disagrees", older | {"versions": versions, "version": 7}).finding is None
