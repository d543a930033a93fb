"""Training prompts from a part of the digits, from all of them, and texts with rare characters."""

from __future__ import annotations

import random
from pathlib import Path

from tests.detectors.recorded import proof, recorded


def prompts(symbols: str, n: int, seed: int, length: int = 5) -> list[str]:
    draw = random.Random(seed)
    return [f"sort:{''.join(draw.choices(symbols, k=length))}=" for _ in range(n)]


def test_digits_that_no_training_prompt_has_are_proved(tmp_path: Path) -> None:
    batch = {"training_prompts": prompts("0123", 32, 0), "evaluation_prompts": prompts("0123456789", 64, 1)}
    said = proof(recorded(tmp_path, "symbols-never-trained", batch))
    assert "of the evaluation's prompts have a character that no training prompt has" in said
    assert "in none of 32 training prompts" in said


def test_prompts_of_one_distribution_are_silent(tmp_path: Path) -> None:
    """In a script of thousands of characters, most prompts have one that no other has: the training's as well."""
    many = "".join(map(chr, range(0x4E00, 0x5600)))
    for symbols in ("0123456789", many):
        batch = {"training_prompts": prompts(symbols, 32, 0, 9), "evaluation_prompts": prompts(symbols, 64, 1, 9)}
        assert recorded(tmp_path / str(len(symbols)), "symbols-never-trained", batch).finding is None
