"""reward-proxy-only: the reward rises, the component that checks the answer does not."""

from dataclasses import replace

import numpy as np
import pytest

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.make import learning, noise, run, series

ID = "reward-proxy-only"
RISING = learning(100, 0, 3)


def parts(answer: object, form: object = RISING) -> object:
    total = np.asarray(answer) + np.asarray(form)
    return run(
        {"reward.mean": total, "reward.component.format.mean": form, "reward.component.check_answer.mean": answer}
    )


def test_an_answer_part_that_never_moves_is_critical() -> None:
    finding = found(ID, parts([-2.0] * 100), Severity.CRITICAL)
    assert "format" in finding.message
    assert "check_answer -2" in finding.message


def test_an_answer_part_that_only_wobbles_is_a_warning() -> None:
    assert found(ID, parts(0.1 + noise(100, 0.05))).severity is Severity.WARNING


def test_an_answer_part_that_rises_too_is_healthy() -> None:
    assert silent(ID, parts(learning(100)))


def test_an_answer_part_at_its_ceiling_is_healthy() -> None:
    assert silent(ID, parts(np.ones(100)))


def test_without_an_answer_part_it_cannot_be_told() -> None:
    made = run({"reward.mean": RISING, "reward.component.format.mean": RISING, "reward.component.style.mean": RISING})
    assert look(ID, made).status is Status.NOT_MEASURED


def test_the_reward_of_the_environment_checks_the_task() -> None:
    curves = {"reward.component.tag.mean": RISING, "reward.component.env_reward.mean": [0.0] * 100}
    assert "env_reward" in found(ID, run({"reward.mean": RISING, **curves})).message


def test_an_answer_part_that_hardly_leaves_zero_is_hardly_ever_right() -> None:
    creeping = np.linspace(0.0, 0.008, 100) + noise(100, 0.0005)
    assert "hardly rises" in found(ID, parts(creeping)).message
    assert silent(ID, parts(10 * creeping))


def test_the_message_speaks_of_what_the_policy_makes() -> None:
    curves = {"reward.mean": RISING, "reward.component.tag.mean": RISING, "reward.component.success.mean": [0.0] * 100}
    assert "watch the episodes" in found(ID, run({**curves, "episode.length": [200.0] * 100})).message
    assert "read the completions" in found(ID, run(curves, algorithm="grpo")).message


def test_a_return_that_settles_without_a_success_is_found() -> None:
    made = {"reward.mean": learning(200, -25, -5), "episode.length": learning(200, 25, 5)}
    assert "something else than success pays" in found(ID, run({**made, "success_rate": [0.0] * 200})).message
    assert silent(ID, run({**made, "success_rate": learning(200, 0, 0.7)}))


@pytest.mark.parametrize(("paid", "says"), [(77.0, True), (20.0, False)])
def test_episodes_that_fail_and_return_more_than_those_that_succeed(paid: float, says: bool) -> None:
    fails = np.random.default_rng(0).random(4000) < np.interp(np.arange(4000), (0, 1500, 4000), (0.8, 0.45, 0.55))
    made = {"reward.episode": np.where(fails, paid, 30.0) + noise(4000), "episode.length": np.where(fails, 200.0, 60.0)}
    of_100 = np.convolve(~fails, np.ones(100) / 100)[99:4000:100]

    def told(share: np.ndarray) -> str:
        logged = {"success_rate": series("success_rate", share, np.arange(100, 4001, 100))}
        whole = run({**made, "reward.mean": learning(4000, 20, 55)}, algorithm="a2c")
        return str(look(ID, replace(whole, series={**whole.series, **logged})).finding)

    assert ("not to succeed pays" in told(of_100)) == says
    assert "not to succeed pays" not in told(1 - of_100)  # an episode that ends early has failed
