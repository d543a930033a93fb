"""A judge that does not answer any more, taken for one that says no."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.detectors.scored import batch, proof, recorded, right


def down(prompts: Any, texts: Any, answers: Any) -> list[float]:
    """An exception that became 0."""
    return [0.0 for _ in texts]


def test_the_step_of_the_outage_is_proved(tmp_path: Path) -> None:
    run = [batch(right), batch(right), batch(down), batch(down)]
    assert "Proved at step 3" in proof(recorded(tmp_path, "right-completions-no-longer-paid", *run))


def test_what_never_paid_is_another_matter(tmp_path: Path) -> None:
    assert recorded(tmp_path, "right-completions-no-longer-paid", batch(down), batch(down)).finding is None


def test_a_judge_that_answers_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "right-completions-no-longer-paid", batch(right), batch(right)).finding is None
