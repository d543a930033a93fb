"""update-size-extreme: what a few values can show."""

import numpy as np
import pytest

from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Link, Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run

ID = "update-size-extreme"
CURVES = {"kl.old": 3.0, "policy.clip_fraction": 0.97, "policy.ratio.mean": 40.0}


@pytest.mark.parametrize("name", CURVES)
def test_three_values_of_a_pasted_table_are_enough(name: str) -> None:
    assert found(ID, run({name: [CURVES[name]] * 3, "reward.mean": [0.1, 0.1, 0.0]}), Severity.CRITICAL).metric == name


def test_one_value_is_a_warning() -> None:
    assert found(ID, run({"kl.old": [3.0], "reward.mean": [0.1]})).severity is Severity.WARNING


@pytest.mark.parametrize(
    "curves",
    [
        {"kl.old": [0.02, 0.03, 0.01]},
        {"policy.clip_fraction": [0.3, 0.4, 0.2]},
        {"policy.ratio.mean": [1.0, 1.2, 0.9]},
        {"kl.old": [0.02, 3.0, 0.01]},  # one batch
        {"kl.old": [-5e-07, 0.0, -2e-04]},  # the mean of log-ratios, which verl and AReaL log
    ],
)
def test_small_updates_are_left_alone(curves: dict[str, list[float]]) -> None:
    assert silent(ID, run({**curves, "reward.mean": [0.1, 0.2, 0.3]}))


def test_a_course_is_the_business_of_others() -> None:
    assert look(ID, run({"kl.old": [3.0] * 80, "reward.mean": learning(80)})).status is Status.NOT_APPLICABLE


def test_a_pasted_table_of_huge_updates_names_the_update_among_the_links() -> None:
    curves = {"kl.old": [2.0, 5.0, 9.0], "policy.clip_fraction": [0.95, 0.97, 0.99], "reward.mean": [0.5, 0.2, 0.1]}
    first = diagnose(run(curves, algorithm="ppo")).first_break
    assert first is not None
    assert Link.POLICY_UPDATE in first.links


def test_a_norm_in_proportion_to_the_updates_is_that_of_all_gradients_so_far() -> None:
    summed = 0.5 * np.arange(1, 61) * (1 + noise(60, 0.02))
    finding = found(ID, run({"grad.norm": summed, "kl.old": [0.02] * 60, "reward.mean": noise(60)}))
    assert "optimizer.zero_grad()" in finding.message
    assert finding.onset == 1


def test_other_growth_of_the_norm_is_not_a_sum() -> None:
    n = np.arange(1, 61)
    scatters, explodes = 0.5 * n * np.exp(noise(60, 0.3)), 0.5 * np.exp(0.08 * n) * (1 + noise(60, 0.02))
    for norms in (scatters, explodes, 0.5 + 0.02 * n):
        assert look(ID, run({"grad.norm": norms, "kl.old": [0.02] * 60, "reward.mean": noise(60)})).finding is None
