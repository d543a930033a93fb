"""The recorded runs tell the story that they are shipped for, and each fault starts where it is said to."""

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from firstbreak.cli import demo
from tests.lazy import lazy

trainers = lazy("tests.trainers")

DATA = Path(__file__).parent.parent / "data"


def trl_log(folder: Path, key: str) -> dict[int, float]:
    history: list[dict[str, Any]] = json.loads((folder / "trainer_state.json").read_text())["log_history"]
    return {row["step"]: row[key] for row in history if key in row}


def test_the_demo_trades_accuracy_for_reward() -> None:
    reward, accuracy = trl_log(demo.RUN, "eval_reward"), trl_log(demo.RUN, "eval_rewards/accuracy/mean")
    best = max(accuracy, key=lambda step: accuracy[step])
    assert accuracy[best] > 3 * accuracy[0]
    assert best < max(accuracy) - 50
    assert accuracy[max(accuracy)] < 0.05
    assert reward[max(reward)] > 2 * reward[best]
    assert trl_log(demo.RUN, "completions/clipped_ratio")[160] > 0.9


def test_the_demo_and_its_healthy_twin_part_at_the_onset() -> None:
    broken, healthy = (trl_log(folder, "rewards/accuracy/mean") for folder in (demo.RUN, DATA / "trl_grpo_healthy"))
    assert [broken[s] for s in range(1, demo.ONSET + 1)] == [healthy[s] for s in range(1, demo.ONSET + 1)]
    assert trl_log(demo.RUN, "rewards/thoroughness/mean")[demo.ONSET] == 0
    assert trl_log(demo.RUN, "rewards/thoroughness/mean")[demo.ONSET + 1] > 0
    assert healthy[160] > 0.6


def test_the_demo_shows_its_completions() -> None:
    rows = [json.loads(line) for line in (demo.RUN / "completions.jsonl").read_text().splitlines()]
    assert {row["step"] for row in rows} == set(range(5, 160, 10))
    assert all(set(row["completion"]) == {"."} for row in rows if row["step"] > 140)


def test_the_demo_is_small_enough_to_ship() -> None:
    assert sum(f.stat().st_size for f in demo.RUN.iterdir()) < 300_000


@pytest.mark.parametrize(("name", "final"), [("sb3_ppo_healthy", 500), ("sb3_ppo_learning_rate", 10)])
def test_ppo_ends_where_it_should(name: str, final: float) -> None:
    with np.load(DATA / name / "evaluations.npz") as evaluations:
        assert evaluations["results"][-3:].mean() == pytest.approx(final, abs=1)


def test_the_learning_rate_jumps_at_the_onset() -> None:
    with (DATA / "sb3_ppo_learning_rate" / "progress.csv").open() as file:
        rates = {
            int(row["time/total_timesteps"]): float(row["train/learning_rate"])
            for row in csv.DictReader(file)
            if row["train/learning_rate"]
        }
    # A row reports the update before it, so the jump shows one row after the rollout that ends at the onset.
    assert max(rate for step, rate in rates.items() if step <= trainers.make_sb3.ONSET) < 0.0031
    assert (
        min(rate for step, rate in rates.items() if trainers.make_sb3.ONSET < step < 2 * trainers.make_sb3.ONSET)
        > 0.003
    )
    assert max(rates.values()) > 0.4
