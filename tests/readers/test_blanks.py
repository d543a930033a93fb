"""Cells that hold null: a reward that could not be computed, or one that was not due."""

import json
from pathlib import Path

import numpy as np
import pytest

import firstbreak


def rewards(folder: Path, values: list[float | None]) -> np.ndarray:
    """What is read of a log with these rewards, in the rows of a loss."""
    rows = [{"step": i, "loss": 0.5, "reward": value} for i, value in enumerate(values)]
    (folder / "metrics.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    return firstbreak.read(folder).series["reward.mean"].values


FAILS_LATER = [0.5] * 12 + [None, 0.5, None, None, None, None, 0.4, None, None]


def test_a_reward_that_was_in_every_row_at_first_is_missing_later(tmp_path: Path) -> None:
    assert np.isnan(rewards(tmp_path, FAILS_LATER)).sum() == FAILS_LATER.count(None)


@pytest.mark.parametrize("values", [[0.5, None, None] * 10, [0.5, None, None, 0.4, None] + [None, 0.3, None] * 8])
def test_a_reward_that_is_logged_now_and_then_is_not_missing(tmp_path: Path, values: list[float | None]) -> None:
    assert not np.isnan(rewards(tmp_path, values)).any()
