"""Real runs of TRL and Stable-Baselines3 with a known answer, from disk to diagnosis."""

from pathlib import Path

import pytest

from firstbreak.cli.demo import RUN
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Diagnosis, Link, LinkStatus
from firstbreak.readers.read import read

DATA = Path(__file__).parent / "data"
SB3_ONSET = 31_744  #: env steps: where the learning rate of the shipped run jumps


def of(folder: Path) -> Diagnosis:
    return diagnose(read(folder))


def test_the_demo_breaks_at_the_reward_when_the_proxy_is_switched_on() -> None:
    dx = of(RUN)
    assert dx.verdict.action is Action.ROLLBACK
    assert dx.first_break is not None
    assert dx.first_break.link is Link.REWARD
    assert dx.first_break.step == pytest.approx(60, abs=8)
    assert dx.causes[0].id == "reward-pays-for-length"
    assert dx.best_checkpoint is not None
    assert 40 <= dx.best_checkpoint.step <= 80


def test_a_learning_rate_that_jumps_breaks_the_policy_update() -> None:
    dx = of(DATA / "sb3_ppo_learning_rate")
    assert dx.verdict.action is Action.ROLLBACK
    assert dx.first_break is not None
    assert dx.first_break.link is Link.POLICY_UPDATE
    assert dx.first_break.step == pytest.approx(SB3_ONSET, rel=0.1)
    assert dx.causes[0].id == "step-size-too-large"


@pytest.mark.parametrize("name", ["sb3_ppo_healthy", "trl_grpo_healthy"])
def test_their_healthy_twins_are_left_in_peace(name: str) -> None:
    dx = of(DATA / name)
    assert dx.verdict.action is Action.CONTINUE
    assert dx.first_break is None
    assert dx.causes[0].id == "healthy"


def test_what_nothing_was_logged_for_is_not_called_ok() -> None:
    links = of(DATA / "trl_grpo_healthy").links
    assert links[Link.FRESHNESS].status is LinkStatus.NOT_MEASURED
    assert links[Link.FRESHNESS].why
