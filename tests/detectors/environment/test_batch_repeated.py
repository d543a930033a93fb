"""Batches that are drawn with the same seed."""

from __future__ import annotations

from pathlib import Path

from firstbreak.live.recorder.batch import BatchRecorder
from tests.detectors.recorded import proof, recorded

ID = "batch-repeated"
PROMPTS = [prompt for prompt in "abcdefgh" for _ in range(2)]
MANY = [chr(97 + i) for i in range(26)]


def batch(prompts: list[str], **more: object) -> dict[str, object]:
    return {"prompts": prompts, "group": 2, "training_prompts": MANY, **more}


def test_the_same_prompts_in_each_batch_are_proved(tmp_path: Path) -> None:
    assert "begin with 'a' and 'b'" in proof(recorded(tmp_path, ID, *[batch(PROMPTS)] * 6))


def test_other_orders_and_a_batch_that_comes_twice_are_silent(tmp_path: Path) -> None:
    turned = [batch(PROMPTS[2 * k :] + PROMPTS[: 2 * k]) for k in range(6)]
    assert recorded(tmp_path / "a", ID, *turned).finding is None
    assert recorded(tmp_path / "b", ID, batch(PROMPTS), batch(PROMPTS), batch(PROMPTS[::-1])).finding is None


def test_a_task_that_is_one_batch_large_is_no_fault(tmp_path: Path) -> None:
    assert recorded(tmp_path / "a", ID, *[batch(PROMPTS, training_prompts=sorted(set(PROMPTS)))] * 6).finding is None
    assert recorded(tmp_path / "b", ID, *[{"prompts": PROMPTS, "group": 2}] * 6).finding is None


def test_a_batch_that_is_used_again_on_purpose_is_no_new_one(tmp_path: Path) -> None:
    used = [batch(PROMPTS), *[batch(PROMPTS, fresh=False)] * 5]
    assert recorded(tmp_path, ID, *used).finding is None


def test_several_calls_in_one_step_are_one_batch(tmp_path: Path) -> None:
    record = BatchRecorder(tmp_path, share=1e9)
    for _ in range(6):
        found = record.batch(1, **batch(PROMPTS))
    assert found["batch_repeated"] == 0
