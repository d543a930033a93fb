"""Batches that are drawn with the same seed."""

from __future__ import annotations

from pathlib import Path

from tests.detectors.recorded import proof, recorded

ID = "batch-repeated"
PROMPTS = [prompt for prompt in "abcdefgh" for _ in range(2)]


def batch(prompts: list[str]) -> dict[str, object]:
    return {"prompts": prompts, "group": 2}


def test_the_same_prompts_in_each_batch_are_proved(tmp_path: Path) -> None:
    assert "begin with 'a' and 'b'" in proof(recorded(tmp_path, ID, *[batch(PROMPTS)] * 6))


def test_other_orders_and_a_batch_that_comes_twice_are_silent(tmp_path: Path) -> None:
    turned = [batch(PROMPTS[2 * k :] + PROMPTS[: 2 * k]) for k in range(6)]
    assert recorded(tmp_path / "a", ID, *turned).finding is None
    assert recorded(tmp_path / "b", ID, batch(PROMPTS), batch(PROMPTS), batch(PROMPTS[::-1])).finding is None
