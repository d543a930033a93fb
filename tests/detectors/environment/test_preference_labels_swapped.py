"""preference-labels-swapped: the rejected answers win."""

import json
from pathlib import Path

import numpy as np
import pytest

from firstbreak.model import Run
from firstbreak.readers.read import read
from firstbreak.values import replace
from tests.detectors.look import found, look, silent
from tests.make import noise, run, series

ID = "preference-labels-swapped"
N = 80
RISE = 1 - np.exp(-np.arange(N) / 20)
RIGHT = 0.5 + 0.4 * RISE + noise(N, 0.05)


@pytest.mark.parametrize(("better", "swapped"), [("rejected", True), ("chosen", False)])
def test_ratings_of_a_data_file_say_which_answer_is_better(tmp_path: Path, better: str, swapped: bool) -> None:
    rows = [{"step": i, "rewards/accuracies": RIGHT[i], "rewards/margins": 2 * RISE[i]} for i in range(N)]
    pairs = [
        {
            "prompt": f"q{i}",
            "chosen": "yes",
            "rejected": "no",
            f"rating_{better}": 4 + i % 2,
            f"rating_{worse}": 3 - i % 3,
        }
        for worse in {"chosen", "rejected"} - {better}
        for i in range(20)
    ]
    for name, lines in (("log", rows), ("pairs", pairs)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    read_back = replace(read(tmp_path), algorithm="dpo")
    assert "are swapped" in found(ID, read_back).message if swapped else silent(ID, read_back)


@pytest.mark.parametrize(
    ("chosen", "rejected"), [("I don't know.", "Rome."), ("Rome.", "I don't know."), ("I can't.", "x" * 300)]
)
def test_refusals_that_are_preferred_to_short_answers_are_swapped(tmp_path: Path, chosen: str, rejected: str) -> None:
    rows = [{"step": i, "rewards/accuracies": RIGHT[i], "rewards/margins": 2 * RISE[i]} for i in range(N)]
    pairs = [{"prompt": f"q{i}", "chosen": chosen, "rejected": rejected} for i in range(20)]
    for name, lines in (("log", rows), ("pairs", pairs)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    read_back = replace(read(tmp_path), algorithm="dpo")
    assert "refuses" in found(ID, read_back).message if rejected == "Rome." else silent(ID, read_back)


@pytest.mark.parametrize("logp", [RISE - 3, -RISE - 3])
def test_chosen_answers_that_become_more_probable_while_the_score_falls_are_not_right(logp: np.ndarray) -> None:
    """Where they become less probable, the score may fall for that."""
    curves = {"eval.accuracy": 0.6 - 0.2 * RISE, "eval.pref.reward.margin": RISE, "eval.pref.logp.chosen": logp}
    logged = run({**curves, "pref.reward.accuracy": RIGHT, "pref.reward.margin": RISE}, algorithm="dpo")
    assert "are not the right ones" in found(ID, logged).message if logp[-1] > logp[0] else silent(ID, logged)


def test_a_few_accuracies_of_many_held_out_pairs_are_enough() -> None:
    def of(right: list[int], pairs: int) -> Run:
        at = np.arange(1, 7) * 50
        curves = {
            "eval.pref.reward.accuracy": np.array(right) / pairs,
            "eval.pref.reward.margin": -0.2 * np.arange(1, 7),
        }
        return Run(path="a-run", algorithm="dpo", series={name: series(name, v, at) for name, v in curves.items()})

    assert found(ID, of([19, 19, 18, 20, 22, 21], 128)).metric == "eval.pref.reward.accuracy"
    assert look(ID, of([6, 5, 6, 4, 7, 6], 16)).finding is None  # sixteen pairs do not tell 0.35 from one half
