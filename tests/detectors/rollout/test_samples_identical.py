"""samples-identical: a sampler that repeats itself."""

from pathlib import Path
from typing import Any

import numpy as np

from tests.detectors.recorded import MASK, PROMPTS, proof, recorded

ID = "samples-identical"


def batch(seed: int, copies: int = 1, sure: float = 0.0) -> dict[str, Any]:
    """Four samples for each of eight prompts, of two tokens that are one of four each; `copies` of them are one text."""
    rng = np.random.default_rng(seed)
    probabilities = np.full(4, (1 - sure) / 4) + sure * np.eye(4)[0]
    tokens = rng.choice(4, size=(32, 2), p=probabilities)[np.arange(32) // copies * copies]
    logps, ones = np.log(probabilities)[tokens], np.ones((32, 2))
    entropy = -float(probabilities @ np.log(probabilities)) * ones
    texts = {"prompts": np.repeat([f"prompt {i}" for i in range(8)], 4), "completions": [str(row) for row in tokens]}
    return {**texts, "logps": logps, "old_logps": logps, "entropies": entropy, "mask": ones, "fresh": True}


def test_it_is_proved_by_one_batch_and_names_the_place(tmp_path: Path) -> None:
    ones = np.ones((8, 3))
    broken = {"prompts": PROMPTS, "completions": ["yes"] * 8, "old_logps": -ones, "mask": ones, "fresh": True}
    assert "are one text, 'yes'" in proof(recorded(tmp_path, ID, broken))


def test_a_sound_batch_is_silent(tmp_path: Path) -> None:
    sound = {"prompts": PROMPTS, "completions": ["yes"] * 8, "old_logps": -1e-3 * MASK, "mask": MASK, "fresh": True}
    assert recorded(tmp_path, ID, sound, sound).finding is None


def test_few_copies_are_proved_by_many_batches(tmp_path: Path) -> None:
    said = proof(recorded(tmp_path, ID, *(batch(seed, copies=2) for seed in range(20))))
    assert "are one text" in said


def test_a_policy_that_is_half_sure_repeats_itself_by_right(tmp_path: Path) -> None:
    sound = (batch(seed, sure=0.8) for seed in range(40))
    assert recorded(tmp_path, ID, *sound).finding is None


def test_other_tokens_of_the_same_text_are_no_copies(tmp_path: Path) -> None:
    """As texts that were decoded and stripped: " yes" and "yes"."""
    sound = []
    for seed in range(30):
        logps = np.log([0.4, 0.3, 0.2, 0.1])[
            np.random.default_rng(seed).choice(4, size=(32, 2), p=[0.4, 0.3, 0.2, 0.1])
        ]
        sound.append(batch(seed) | {"completions": ["yes"] * 32, "logps": logps, "old_logps": logps})
        sound[-1]["entropies"] = np.full((32, 2), 1.2799)
    assert recorded(tmp_path, ID, *sound).finding is None


def test_a_cold_sampler_is_another_finding(tmp_path: Path) -> None:
    cold = [batch(seed, copies=2) for seed in range(20)]
    for given in cold:
        given["entropies"] = given["entropies"] * 2  # the policy is less sure than its samples
    assert recorded(tmp_path, ID, *cold).finding is None
