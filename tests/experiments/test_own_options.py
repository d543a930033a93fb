"""No experiment proposes an option that the trainer does not have, to any trainer, in a report or in a command."""

import contextlib
import importlib.util
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

import pytest

from firstbreak.cli.experiment import _rung
from firstbreak.dialects import dialects
from firstbreak.dialects.hyperparameters import HYPERPARAMETERS, canonical_config
from firstbreak.engine.catalogue import catalogue
from firstbreak.experiments import plan
from firstbreak.experiments.overrides import CannotOverride, option
from firstbreak.experiments.settings import INTERVENTIONS, ExperimentSettings
from firstbreak.model import Experiment, Run
from firstbreak.reports import content

ALGORITHMS = ("grpo", "ppo", "dpo", "dqn", "sac", None)
SETTINGS = ExperimentSettings(
    command=("python", "train.py", "{overrides}"),
    values={"small_model": "small", "small_batch": 8, "other_model": "other", "sft_model": "sft"},
    now={
        "total_steps": 200,
        "learning_rate": 1e-5,
        "batch_size": 64,
        "group_size": 8,
        "max_new_tokens": 64,
        "n_envs": 1,
    },
)


def unrecorded(trainer: str, algorithm: str | None) -> Run:
    """A run of a trainer that logged none of its options."""
    return Run(path="run", trainer=trainer, algorithm=algorithm, config=canonical_config({}, dialects()[trainer]))


def options_of(trainer: str) -> set[str]:
    """What the repository knows as options; names with "_" in front are those of a model's own file."""
    known = {name for name in getattr(dialects()[trainer], "CONFIG", {}) if not name.startswith("_")}
    return known | {"actor_rollout_ref." + name for name in known}


def proposed(run: Run) -> Iterator[tuple[str, set[str]]]:
    """Experiment that holds for the run -> the trainer's options that its treated arm sets."""
    for design in catalogue().values():
        if design.families.include(plan.Inputs(run).family):
            with contextlib.suppress(CannotOverride):
                values = plan.arms(design, run, SETTINGS)["treated"]
                yield design.id, {option(name, run, SETTINGS) for name in values if name in HYPERPARAMETERS}
                assert set(values) <= {*HYPERPARAMETERS, *INTERVENTIONS}


@pytest.mark.parametrize("trainer", sorted(set(dialects()) - {"generic"}))
def test_what_is_proposed_is_an_option_of_the_trainer(trainer: str) -> None:
    for algorithm in ALGORITHMS:
        run, known = unrecorded(trainer, algorithm), options_of(trainer)
        for design in catalogue().values():
            shown = content.settings(run, Experiment(id=design.id, overrides=design.overrides))
            assert {name for name, _ in shown} <= known, design.id
            assert not [value for _, value in shown if isinstance(value, str) and value.startswith(("@", "/", "x"))]
        for design_id, options in proposed(run):
            assert options <= known, design_id


@pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="trl is not installed")
def test_trl_knows_every_option_that_is_proposed_to_its_grpo_script() -> None:
    from trl import GRPOConfig, ModelConfig, ScriptArguments

    known = {field.name for of in (GRPOConfig, ModelConfig, ScriptArguments) for field in fields(of)}
    unknown = {name: options - known for name, options in proposed(unrecorded("trl", "grpo"))}
    assert unknown
    assert not any(unknown.values()), unknown


def test_a_script_without_a_known_trainer_gets_no_option_that_its_run_did_not_record() -> None:
    config = canonical_config({"lr": 0.1}, dialects()["generic"])
    run = Run(path="run", config=config)
    assert option("learning_rate", run, SETTINGS) == "lr"
    with pytest.raises(CannotOverride, match="no known option for gamma"):
        option("gamma", run, SETTINGS)


def test_a_precision_is_told_in_the_trainers_own_words() -> None:
    design = Experiment(id="full-precision", overrides={"precision": "fp32"})
    assert content.settings(unrecorded("trl", "grpo"), design) == (("bf16", False),)
    assert content.settings(unrecorded("areal", "grpo"), design) == (("actor.dtype", "float32"),)


def test_areals_ladder_writes_dynamic_filtering_as_code_for_the_users_script() -> None:
    run = unrecorded("areal", "grpo")
    said = "\n".join(_rung("dynamic-filtering", run))
    assert "should_accept_fn=should_accept_fn" in said
    assert "prepare_batch(" in said
    assert "firstbreak experiment run" not in said, "AReaL has no option for it"
    shown = content.experiment(run, Experiment(id="dynamic-filtering", overrides={"dynamic_sampling": True}))
    assert not [line for line in shown if line.label == "Set"]
    assert any("prepare_batch(" in line.text for line in shown)
    code: dict[str, Any] = {}
    exec(catalogue()["dynamic-filtering"].code["areal"].partition("\nbatch")[0], code)

    class Rewards(list):  # as far as a tensor is asked
        max, min = (lambda self: max(iter(self))), (lambda self: min(iter(self)))

    assert code["should_accept_fn"]({"rewards": Rewards([0.0, 1.0])}) is True
    assert code["should_accept_fn"]({"rewards": Rewards([1.0, 1.0])}) is False
    assert "firstbreak experiment run larger-batch run" in "\n".join(_rung("larger-batch", run))
    elsewhere = "\n".join(_rung("dynamic-filtering", unrecorded("verl", "grpo")))
    assert "firstbreak experiment run dynamic-filtering run" in elsewhere
