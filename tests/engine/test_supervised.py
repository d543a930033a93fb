"""Supervised training: its loss is its score, and nothing is said of what only training by reward has."""

from dataclasses import replace

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.families import EVERY, OF_LINK
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Action, Diagnosis, LinkStatus, Run
from tests.make import noise, run, series

OF_SAMPLING = {link for link, families in OF_LINK.items() if families != EVERY}
FALLING = 1.0 + np.exp(-np.arange(300) / 60)


def supervised(loss: np.ndarray = FALLING, **more: object) -> Run:
    return run({"loss.total": loss + noise(len(loss), 0.01), "lr": [1e-5] * len(loss), **more})


def said_of(made: Run) -> Diagnosis:
    return diagnose(made)


def test_a_falling_loss_is_progress() -> None:
    said = said_of(supervised())
    assert said.verdict.action is Action.CONTINUE
    assert said.first_break is None
    assert "likelihood of its own text" in said.verdict.summary
    assert "over-fitting" in said.verdict.summary  # which no training loss can show
    assert said.best_checkpoint is None  # nor which checkpoint is the best


def test_the_held_out_loss_is_the_measure_where_there_is_one() -> None:
    held_out = 1.2 + np.exp(-np.arange(300) / 60)
    said = said_of(supervised(**{"eval.loss": held_out}))
    assert "likelihood of held-out text" in said.verdict.summary
    assert said.best_checkpoint is not None
    assert said.best_checkpoint.metric == "eval.loss"
    assert said.best_checkpoint.value == pytest.approx(held_out[-1], abs=0.05)


def test_few_held_out_losses_show_no_shape_of_their_own() -> None:
    made = supervised()
    few = series("eval.loss", [1.9, 1.5, 1.3, 1.25, 1.22], [60, 120, 180, 240, 300])
    said = said_of(replace(made, series={**made.series, "eval.loss": few}))
    assert "likelihood of its own text" in said.verdict.summary
    assert "over-fitting" not in said.verdict.summary  # which five held-out losses do show


def test_nothing_is_said_of_links_that_only_a_sampling_policy_has() -> None:
    said = said_of(supervised())
    assert {said.links[link].status for link in OF_SAMPLING} == {LinkStatus.NOT_APPLICABLE}
    assert all(cause.link not in OF_SAMPLING for cause in said.causes if cause.link is not None)


def test_entropy_that_falls_with_the_loss_is_no_collapse() -> None:
    said = said_of(supervised(**{"policy.entropy": FALLING * 0.9}))
    assert said.first_break is None


def test_a_loss_that_climbs_is_a_loss_of_what_was_learned() -> None:
    diverging = np.concatenate([FALLING, np.linspace(1.0, 6.0, 200)])
    said = said_of(supervised(diverging))
    assert said.first_break is not None
    assert said.verdict.action is not Action.CONTINUE
    assert "score-lost" in {o.detector for o in said.outcomes if o.finding is not None}


@pytest.mark.parametrize(
    "curves",
    [
        {"loss.total": FALLING, "lr": [1e-5] * 300, "kl.ref": [0.1] * 300},
        {"loss.total": FALLING, "lr": [1e-5] * 300, "value.loss": FALLING},
        {"loss.total": FALLING, "lr": [1e-5] * 300, "epsilon": FALLING},
        {"loss.total": FALLING - 1.5, "lr": [1e-5] * 300},
        {"loss.total": np.zeros(300), "lr": [1e-5] * 300},
        {"loss.total": FALLING},
    ],
)
def test_a_loss_beside_signs_of_another_method_is_no_likelihood(curves: dict[str, object]) -> None:
    assert Inputs(run(curves)).ask("supervised") is False
