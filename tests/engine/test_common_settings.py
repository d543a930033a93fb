"""Settings are evidence in both directions: too high, too low, and usual."""

from typing import Any

import numpy as np
import pytest

from firstbreak.dialects.hyperparameters import HYPERPARAMETERS
from firstbreak.engine.common_settings import USUAL, Side, weights
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.registry import causes
from firstbreak.model import Config, Run
from firstbreak.values import replace
from tests.make import noise, run

TEXT = {"reward.mean": noise(50), "length.mean": 100 + noise(50)}
CONTROL = {"reward.episode": noise(50)}
CASES = [  # cause, option, algorithm, outside, further outside, usual
    ("step-size-too-large", "learning_rate", "ppo", 0.03, 1.0, 3e-4),
    ("signal-too-weak", "learning_rate", "ppo", 1e-6, 1e-8, 3e-4),
    ("signal-too-weak", "learning_rate", "grpo", 1e-8, 1e-9, 1e-6),
    ("entropy-bonus-too-strong", "entropy_coef", "ppo", 0.1, 1.0, 0.01),
    ("premature-convergence", "entropy_coef", "ppo", -0.1, -1.0, 0.01),
    ("kl-penalty-too-strong", "kl_coef", "grpo", 0.5, 5.0, 0.04),
    ("kl-penalty-too-strong", "kl_coef", "dpo", 3.0, 30.0, 0.1),
    ("reward-over-optimised", "kl_coef", "dpo", 0.005, 0.0005, 0.1),
    ("horizon-too-short", "gamma", "ppo", 0.8, 0.3, 0.99),
    ("off-policy-critic-unstable", "gamma", "dqn", 0.99995, 1.0, 0.99),
    ("off-policy-critic-unstable", "buffer_size", "dqn", 5000, 100, 100_000),
    ("off-policy-critic-unstable", "target_update_interval", "dqn", 5, 1, 500),
    ("off-policy-critic-unstable", "tau", "sac", 0.1, 1.0, 0.005),
    ("entropy-bonus-too-strong", "exploration_final", "dqn", 0.3, 0.9, 0.05),
    ("premature-convergence", "exploration_fraction", "dqn", 0.002, 0.0001, 0.1),
    ("step-size-too-large", "epochs_per_batch", "ppo", 50, 500, 10),
    ("step-size-too-large", "clip_range", "ppo", 1.0, 10.0, 0.2),
    ("signal-too-weak", "batch_size", "ppo", 32, 4, 2048),
    ("signal-too-weak", "minibatch_size", "dqn", 8, 1, 64),
    ("groups-carry-no-signal", "group_size", "grpo", 3, 1, 8),
    ("sampling-too-cold", "temperature", "grpo", 0.5, 0.05, 0.9),
]


def made(algorithm: str, option: str, value: Any) -> Run:
    text = algorithm in ("grpo", "dpo")
    return run(TEXT if text else CONTROL, algorithm=algorithm, config={option: value})


def total(of: Run, cause: str) -> float:
    return sum(w.weight for w in weights(causes()[cause].settings, Inputs(of)))


@pytest.mark.parametrize(("cause", "option", "algorithm", "outside", "further", "usual"), CASES)
def test_the_further_outside_the_more_it_speaks_and_what_is_usual_speaks_against(
    cause: str, option: str, algorithm: str, outside: float, further: float, usual: float
) -> None:
    near, far, inside = (total(made(algorithm, option, value), cause) for value in (outside, further, usual))
    assert far >= near > 1
    assert -1 < inside < 0


def test_a_default_that_the_run_did_not_record_says_nothing() -> None:
    of = run(CONTROL, algorithm="ppo")
    silent = Run(
        path="a-run",
        algorithm="ppo",
        series=of.series,
        config=Config(values={"gamma": 0.5}, defaulted=frozenset({"gamma"})),
    )
    assert total(silent, "horizon-too-short") == 0


def test_every_range_is_of_a_hyperparameter_and_names_its_source() -> None:
    assert {u.name for u in USUAL} <= set(HYPERPARAMETERS)
    assert all(u.source and u.low < u.high for u in USUAL)


def test_every_range_serves_a_cause_and_every_setting_of_a_cause_exists() -> None:
    named = {name for c in causes().values() for name in c.settings}
    assert {u.name for u in USUAL} <= named <= set(HYPERPARAMETERS)
    assert all(isinstance(side, Side) for c in causes().values() for side in c.settings.values())


def test_a_setting_far_outside_the_usual_range_counts_little_where_the_score_improved_and_was_kept() -> None:
    still, improved = noise(200), noise(200) + 4 * np.minimum(np.arange(200) / 100, 1)
    of_still, of_improved = (
        total(run({"reward.episode": curve}, algorithm="ppo", config={"learning_rate": 1.0}), "step-size-too-large")
        for curve in (still, improved)
    )
    assert of_still > of_improved > 0


def test_a_script_of_an_unknown_trainer_may_train_a_table() -> None:
    """A table takes rates of 0.01 to 1; of a known algorithm they are far too high."""
    curves, config = {"reward.episode": noise(200), "eval.success_rate": [0.5] * 200}, {"learning_rate": 0.5}
    of_anybody = total(run(curves, config=config), "step-size-too-large")
    of_ppo = total(run(curves, algorithm="ppo", config=config), "step-size-too-large")
    assert of_ppo > 0 >= of_anybody
    assert total(run(curves, config={"learning_rate": 50.0}), "step-size-too-large") > 0


@pytest.mark.parametrize(
    ("options", "speaks"),
    [
        ({"use_lora": False}, True),
        ({"lora_rank": 32}, False),
        ({}, False),
        ({"use_lora": False, "model": "tiny"}, False),
    ],
)
def test_all_weights_of_a_large_model_take_smaller_steps(options: dict[str, Any], speaks: bool) -> None:
    known = {"model": "Llama-3.1-8B", "learning_rate": 3e-5} | {k: v for k, v in options.items() if k == "model"}
    asked = run(TEXT, algorithm="grpo")
    asked = replace(asked, config=Config(values=known, raw={"actor.model." + k: v for k, v in options.items()}))
    assert (sum(w.weight for w in weights({"learning_rate": Side.HIGH}, Inputs(asked))) > 1) == speaks
