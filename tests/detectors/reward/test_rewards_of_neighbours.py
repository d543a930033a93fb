"""Scores one row late, and scores that a cache keeps for the prompt."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.detectors.scored import batch, proof, recorded, right


def late(prompts: Any, texts: Any, answers: Any) -> list[float]:
    """The scores of the rows before."""
    scores = right(prompts, texts, answers)
    return scores[-1:] + scores[:-1]


def cached() -> Callable[..., list[float]]:
    """The score of a prompt's first completion for all of its completions."""
    known: dict[str, float] = {}

    def judge(prompts: Any, texts: Any, answers: Any) -> list[float]:
        for i, score in enumerate(right(prompts, texts, answers)):
            known.setdefault(prompts[i], score)
        return [known[prompt] for prompt in prompts]

    return judge


def test_a_cache_of_prompts_is_proved(tmp_path: Path) -> None:
    assert "are those of other rows" in proof(recorded(tmp_path, "rewards-of-neighbours", batch(cached())))


def test_it_is_proved_by_known_texts(tmp_path: Path) -> None:
    assert "in the batch and" in proof(recorded(tmp_path, "rewards-of-neighbours", batch(late)))


def test_a_reward_for_right_answers_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "rewards-of-neighbours", batch(right)).finding is None
