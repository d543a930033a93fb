"""A judge that rolls dice."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from tests.detectors.scored import batch, proof, recorded, right


def dice() -> Callable[..., list[float]]:
    """Another number in every call."""
    import itertools

    calls = itertools.count()
    return lambda prompts, texts, answers: [float((next(calls) * 7) % 11) for _ in texts]


def test_it_is_proved_by_known_texts(tmp_path: Path) -> None:
    assert "when it was scored again" in proof(recorded(tmp_path, "rewards-not-repeatable", batch(dice())))


def test_a_reward_for_right_answers_is_silent(tmp_path: Path) -> None:
    assert recorded(tmp_path, "rewards-not-repeatable", batch(right)).finding is None
