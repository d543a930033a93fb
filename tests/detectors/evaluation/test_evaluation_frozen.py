"""evaluation-frozen: the same number again and again."""

import numpy as np
import pytest

from firstbreak.model import Run, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, run

ID = "evaluation-frozen"
TRAINING = learning(200, 0, 50)


def evaluated(values: list[float], **curves: object) -> Run:
    made = run({"eval.reward": values, **curves})
    made.series["eval.reward"].steps[:] = np.linspace(10, 200, len(values))
    return made


def test_old_weights_are_found() -> None:
    values = [11.27, 14.71, 19.83, *[23.452] * 9]
    rising = np.linspace(0, 50, 200) + 0.1 * TRAINING
    finding = found(ID, evaluated(values, **{"reward.mean": rising}), Severity.WARNING)
    assert "the last 9 evaluations" in finding.message
    assert finding.onset == pytest.approx(10 + 3 * 190 / 11)


def test_weights_that_were_never_loaded_are_found() -> None:
    assert found(ID, evaluated([23.452] * 10, **{"kl.ref": np.linspace(0, 0.5, 200)})).onset == 10


def test_a_whole_number_may_be_the_floor_of_the_task() -> None:
    assert found(ID, evaluated([-21.0] * 10, **{"reward.mean": TRAINING - 21})).severity is Severity.NOTICE


def test_an_accuracy_at_its_ceiling_is_expected() -> None:
    values = np.minimum(1.0, np.linspace(0.2, 2.0, 12))
    assert look(ID, run({"eval.accuracy": values, "reward.mean": TRAINING})).expected


def test_a_return_at_its_ceiling_is_expected() -> None:
    values = [100, 300, *[500] * 10]
    assert look(ID, evaluated([float(v) for v in values], **{"reward.mean": TRAINING})).expected


def test_where_nothing_moves_nothing_need_change() -> None:
    assert silent(ID, evaluated([23.452] * 10, **{"reward.mean": np.full(200, 3.0)}))


def test_evaluations_that_differ_are_healthy() -> None:
    assert silent(ID, evaluated(list(learning(12)), **{"reward.mean": TRAINING}))


def test_without_a_training_curve_it_cannot_be_told() -> None:
    assert look(ID, evaluated([23.452] * 10)).status is Status.NOT_MEASURED


@pytest.mark.parametrize("n", [1, 2, 5])
def test_a_few_evaluations_say_nothing(n: int) -> None:
    assert look(ID, evaluated([0.5] * n, **{"reward.mean": TRAINING})).status is Status.NOT_MEASURED


def test_a_score_that_has_fallen_to_its_floor_is_not_frozen() -> None:
    values = [0.4, 0.2, 0.1, *[0.0] * 9]
    assert silent(ID, evaluated(values, **{"policy.entropy": np.linspace(1, 3, 200)}))


def test_the_best_return_of_an_environment_without_chance_is_a_ceiling() -> None:
    curves = {"reward.mean": 18.5 - np.abs(0.3 * np.sin(np.arange(200))), "policy.entropy": np.linspace(1.0, 0.01, 200)}
    assert look(ID, evaluated([16.25, *[18.5] * 11], **curves)).expected
    above = {**curves, "reward.mean": curves["reward.mean"] + np.linspace(0, 4, 200)}
    found(ID, evaluated([16.25, *[18.5] * 11], **above))


@pytest.mark.parametrize(("level", "alarm"), [(0.984375, False), (0.734375, True)])
def test_of_a_share_near_1_the_same_few_problems_stay_unsolved(level: float, alarm: bool) -> None:
    learns = learning(200, 0.2, 0.9) + np.linspace(0, 0.2, 200)
    (found if alarm else silent)(ID, evaluated([level] * 12, **{"reward.mean": learns}))
