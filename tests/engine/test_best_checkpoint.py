"""Where the run was best, and which saved model to go back to."""

import numpy as np
import pytest

from firstbreak.engine.diagnose import best_checkpoint, diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Checkpoint
from firstbreak.reports import content
from firstbreak.words import number
from tests.make import run


@pytest.mark.parametrize(
    ("saved", "chosen"), [((38, 61), "38"), ((20, 40, 90), "40"), ((10, 56), "56"), ((95,), None), ((), None)], ids=str
)
def test_of_the_saved_models_the_best_is_taken_not_the_nearest(saved: tuple[int, ...], chosen: str | None) -> None:
    steps = np.arange(1, 101)
    score = np.where(
        steps <= 50, steps / 50, np.where(steps < 60, 1 - (steps - 50) / 25, 0.2)
    )  # then falls off a cliff
    made = run({"eval.accuracy": score}, checkpoints=[Checkpoint(step=step, path=str(step)) for step in saved])
    best = best_checkpoint(made, Inputs(made))
    assert best is not None
    assert best.step == pytest.approx(50, abs=2)
    assert best.path == chosen


def test_nothing_is_gone_back_to_that_was_saved_when_weights_were_no_numbers() -> None:
    steps = np.arange(1, 101)
    saved = [Checkpoint(step=step, path=str(step)) for step in (20, 40, 80)]
    grad = np.where(steps < 50, 1.0, np.nan)
    made = run({"reward.mean": steps / 100, "grad.norm": grad, "policy.loss": grad}, checkpoints=saved)
    best = diagnose(made).best_checkpoint
    assert best is not None
    assert best.step < 50
    assert best.path == "40"


def test_advice_and_outlook_tell_one_story_of_checkpoints() -> None:
    steps = np.arange(1, 201)
    score = np.where(steps <= 120, steps / 120, np.maximum(0.05, 1 - (steps - 120) / 60))
    saved = [Checkpoint(step=step, path=f"checkpoint-{step}") for step in (50, 100, 150, 200)]
    kl = np.where(steps < 120, 0.01, 0.01 + (steps - 120) * 0.08)
    dx = diagnose(run({"reward.mean": score, "kl.ref": kl}, algorithm="grpo", checkpoints=saved))
    assert dx.best_checkpoint is not None
    assert (dx.best_checkpoint.path, dx.best_checkpoint.back_to) == ("checkpoint-100", 100)
    told = next(line for line in content.outlook(dx) if line.label == "Best checkpoint").text
    peak = f"step {number(dx.best_checkpoint.step)}"
    for text in (dx.verdict.do_first, told):
        assert "checkpoint-100" in text
        assert f"best at {peak}" in text


def test_nothing_is_gone_back_to_where_only_the_end_of_a_lost_run_was_saved() -> None:
    steps = np.arange(1, 201)
    score = np.where(steps <= 120, steps / 120, np.maximum(0.05, 1 - (steps - 120) / 30))
    kl = np.where(steps < 120, 0.01, 0.01 + (steps - 120) * 0.08)
    end = [Checkpoint(step=200, path="checkpoint-200")]
    dx = diagnose(run({"reward.mean": score, "kl.ref": kl}, algorithm="grpo", checkpoints=end))
    assert "start again: every saved model is worse" in dx.verdict.do_first
    told = next(line for line in content.outlook(dx) if line.label.startswith("Best")).text
    assert "every saved model is worse" in told
    assert "checkpoint-200" not in dx.verdict.do_first + told
