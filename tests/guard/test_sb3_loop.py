"""The recorder beside real Stable-Baselines3: what is sound is silent, and what is broken is named from the log alone."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from firstbreak.engine.detection import check
from firstbreak.live.guard.adapters import sb3_loop
from firstbreak.model import Run, Status
from firstbreak.readers.read import read
from tests.lazy import lazy
from tests.recorder.test_environment import late, reversed

gymnasium = lazy("gymnasium")
stable_baselines3 = lazy("stable_baselines3")
env_util = lazy("stable_baselines3.common.env_util")
logger = lazy("stable_baselines3.common.logger")

pytestmark = pytest.mark.trainer

LOOP = {
    "observations-off", "action-effect-moved", "actions-without-effect", "time-limits-vary",
    "advantages-not-reproduced", "advantages-turned-round",
}  # fmt: skip


def learned(
    folder: Path, wrap: Callable[[Any], Any] = lambda env: env, patch: Callable[[Any], None] = lambda m: None
) -> Run:
    model = stable_baselines3.PPO(
        "MlpPolicy",
        env_util.make_vec_env(lambda: wrap(gymnasium.make("CartPole-v1")), 4, seed=0),
        n_steps=64,
        batch_size=64,
        n_epochs=1,
        seed=0,
        device="cpu",
    )
    model.set_logger(logger.configure(str(folder), ["csv"]))
    patch(model)
    model.learn(5_120, callback=sb3_loop.recorder())
    model.logger.close()
    return read(folder)


def found(run: Run) -> set[str]:
    return {o.detector for o in check(run) if o.detector in LOOP and o.finding is not None}


@pytest.mark.thorough
def test_a_sound_environment_is_silent_and_measured(tmp_path: Path) -> None:
    run = learned(tmp_path)
    assert found(run) == set()
    assert {o.detector for o in check(run) if o.detector in LOOP and o.status is Status.OK} == LOOP


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("wrap", "named"), [(late, "observations-off"), (lambda: reversed(600), "action-effect-moved")]
)
def test_what_is_broken_is_named(wrap: Callable[[], Any], named: str, tmp_path: Path) -> None:
    assert named in found(learned(tmp_path, wrap()))


def test_a_done_mask_that_is_missing_is_named(tmp_path: Path) -> None:
    def unmask(model: Any) -> None:
        honest = model.rollout_buffer.compute_returns_and_advantage

        def masked(last_values: Any, dones: Any) -> None:
            model.rollout_buffer.episode_starts[:] = 0
            honest(last_values, dones)

        model.rollout_buffer.compute_returns_and_advantage = masked

    run = learned(tmp_path, patch=unmask)
    assert "advantages-not-reproduced" in found(run)
    assert [run.config.get(name) for name in ("gamma", "env_id")] == [0.99, "CartPole-v1"]  # the model's own settings


@pytest.mark.thorough
@pytest.mark.parametrize("algorithm", ["A2C", "DQN"])
def test_the_training_itself_is_not_touched(algorithm: str) -> None:
    def weights(*callbacks: Any) -> float:
        model = getattr(stable_baselines3, algorithm)("MlpPolicy", "CartPole-v1", seed=3, device="cpu")
        model.learn(600, callback=list(callbacks))
        return float(sum(p.detach().double().abs().sum() for p in model.policy.parameters()))

    assert weights() == weights(sb3_loop.recorder())
