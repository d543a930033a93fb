"""Canonical options in each trainer's own syntax."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from firstbreak import dialects
from firstbreak.dialects import hyperparameters
from firstbreak.experiments.overrides import HOOK, SYNTAX_OF, CannotOverride, render, resolve
from firstbreak.experiments.settings import ExperimentSettings, load
from firstbreak.model import Config, Run, Series
from firstbreak.readers import Unreadable
from tests.lazy import lazy

bases = lazy("firstbreak_lab.bases")
running = lazy("firstbreak_lab.running")


def run(trainer: str, **recorded: Any) -> Run:
    config = hyperparameters.canonical_config(recorded, dialects.dialects()[trainer])
    return Run(path="run", trainer=trainer, config=config)


def rendered_for(
    trainer: str, overrides: dict[str, Any], settings: ExperimentSettings | None = None, **recorded: Any
) -> Any:
    settings = settings or ExperimentSettings(command=("train",))
    of = run(trainer, **recorded)
    return render(resolve(overrides, of, settings), of, settings)


def test_trl_gets_flags_that_its_own_parser_reads() -> None:
    pytest.importorskip("trl")
    from transformers import HfArgumentParser
    from trl import GRPOConfig

    words = rendered_for(
        "trl", {"learning_rate": "/10", "kl_coef": 0.0, "group_size": "x2"}, learning_rate=1e-5, num_generations=4
    )
    assert words.arguments == ("--learning_rate", "1e-06", "--beta", "0.0", "--num_generations", "8")
    (parsed,) = HfArgumentParser(GRPOConfig).parse_args_into_dataclasses(
        [*words.arguments, "--output_dir", "x", "--bf16", "false"]
    )
    assert (parsed.learning_rate, parsed.num_generations) == (1e-6, 8)


def test_a_rate_that_is_only_logged_counts_before_the_trainers_default() -> None:
    """As of a run whose arguments were not readable: a tenth of the default would be nothing."""
    rate = Series(name="lr", raw="learning_rate", steps=np.array([1.0, 2.0]), values=np.array([6e-3, 6e-3]))
    config = Config(values={"learning_rate": 1e-6}, defaulted=frozenset({"learning_rate"}))
    of = replace(run("trl"), series={"lr": rate}, config=config)
    settings = ExperimentSettings(command=("train",))
    assert resolve({"learning_rate": "/10"}, of, settings) == {"learning_rate": pytest.approx(6e-4)}


def test_verl_gets_hydra_overrides_in_full() -> None:
    words = rendered_for("verl", {"learning_rate": 1e-7, "group_size": 16, "kl_in_reward": False})
    assert words.arguments == (
        "actor_rollout_ref.actor.optim.lr=1e-07",
        "actor_rollout_ref.rollout.n=16",
        "algorithm.use_kl_in_reward=false",
    )
    assert {key: yaml.safe_load(value) for key, _, value in (w.partition("=") for w in words.arguments[1:])} == {
        "actor_rollout_ref.rollout.n": 16,
        "algorithm.use_kl_in_reward": False,
    }


def test_the_runs_own_names_are_used_where_it_recorded_them() -> None:
    recorded = {"actor_rollout_ref": {"actor": {"optim": {"lr": 1e-6}}}}
    assert rendered_for("verl", {"learning_rate": "/10"}, **recorded).arguments == (
        "actor_rollout_ref.actor.optim.lr=1e-07",
    )


def test_areal_is_switched_to_synchronous_training_as_its_guide_says() -> None:
    words = rendered_for("areal", {"max_staleness": 0, "recompute_logprob": False, "use_decoupled_loss": False})
    assert words.arguments == (
        "rollout.max_head_offpolicyness=0",
        "actor.recompute_logprob=false",
        "actor.use_decoupled_loss=false",
    )


def test_openrlhf_rllib_and_the_zoo_each_get_their_own() -> None:
    assert rendered_for("openrlhf", {"kl_coef": 0.01}).arguments[1] == "0.01"
    assert json.loads(rendered_for("rllib", {"learning_rate": 5e-5, "gamma": 0.9}).arguments[0]) == {
        "lr": 5e-5,
        "gamma": 0.9,
    }
    zoo = rendered_for("sb3", {"total_steps": 1000, "seed": 3, "learning_rate": 1e-4, "normalize_advantage": True})
    assert zoo.arguments == (
        *("--n-timesteps", "1000", "--seed", "3", "--hyperparams", "learning_rate:0.0001", "normalize_advantage:True"),
    )


def test_a_yaml_file_is_changed_in_a_copy(tmp_path: Path) -> None:
    file = tmp_path / "train.yaml"
    file.write_text("learning_rate: 1.0e-5\nnested:\n  beta: 0.1\n")
    settings = ExperimentSettings(command=("train",), syntax="yaml", config=file, options={"kl_coef": "nested.beta"})
    rendered = rendered_for("trl", {"learning_rate": "/10", "kl_coef": 0.0}, settings, learning_rate=1e-5)
    assert yaml.safe_load(rendered.files["config.yaml"]) == {"learning_rate": 1e-6, "nested": {"beta": 0.0}}
    assert yaml.safe_load(file.read_text())["nested"]["beta"] == 0.1


def test_variables_and_templates_serve_everything_else() -> None:
    variables = ExperimentSettings(command=("train",), syntax="environment")
    assert rendered_for("trl", {"learning_rate": 0.1}, variables).environment == {"LEARNING_RATE": "0.1"}
    template = ExperimentSettings(command=("train",), syntax="-o {option}:{value}", options={"learning_rate": "lr"})
    assert rendered_for("trl", {"learning_rate": 0.1}, template).arguments == ("-o", "lr:0.1")


def test_a_value_cannot_become_a_second_word_or_a_shell_command() -> None:
    template = ExperimentSettings(command=("train",), syntax="--set {option}={value}", options={"dataset": "data"})
    assert rendered_for("trl", {"dataset": "a b; rm -rf {value}"}, template).arguments == (
        "--set",
        "data=a b; rm -rf {value}",
    )


@pytest.mark.parametrize(
    ("trainer", "overrides", "says"),
    [
        ("sb3", {"learning_rate": "/10"}, "does not log learning_rate"),
        ("sb3", {"max_new_tokens": 9}, "no known option for max_new_tokens"),
        ("trl", {"model": "@small_model"}, "small_model"),
        ("verl", {"reward": "negated"}, "no option for it"),
        ("acme", {"learning_rate": 0.1}, "no known option"),
    ],
)
def test_what_cannot_be_said_is_refused_with_a_remedy(trainer: str, overrides: dict[str, Any], says: str) -> None:
    with pytest.raises(CannotOverride, match=says):
        rendered_for(trainer, overrides)


def test_a_script_with_few_options_gets_no_others() -> None:
    settings = ExperimentSettings(command=("train",), options={"learning_rate": "lr"}, complete=True)
    assert rendered_for("trl", {"learning_rate": 0.1}, settings).arguments == ("--lr", "0.1")
    with pytest.raises(CannotOverride, match="no option for kl_coef"):
        rendered_for("trl", {"kl_coef": 0.1}, settings)


def test_what_is_in_force_may_be_said_by_the_user() -> None:
    settings = ExperimentSettings(command=("train",), now={"learning_rate": 0.3}, values={"small_model": "tiny"})
    words = rendered_for("trl", {"learning_rate": "/10", "model": "@small_model"}, settings)
    assert words.arguments == ("--learning_rate", "0.03", words.arguments[2], "tiny")


def test_interventions_reach_known_trainers_through_a_variable() -> None:
    assert json.loads(rendered_for("trl", {"reward": "negated"}).environment[HOOK]) == {"reward": "negated"}
    settings = ExperimentSettings(command=("train",), options={"reward": "custom.sign"})
    assert rendered_for("verl", {"reward": "negated"}, settings).arguments == ("custom.sign=negated",)


def test_every_syntax_belongs_to_a_trainer_that_exists() -> None:
    assert set(SYNTAX_OF) <= set(dialects.dialects())


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no section"),
        ("[experiment]", "command"),
        ('[experiment]\ncommand = "a"\nfoo = 1', "'foo' is not a setting"),
        ('[experiment]\ncommand = "a"\n[experiment.limits]\nminutes = -1', "limits.minutes"),
        ('[experiment]\ncommand = "a"\n[experiment.options]\nlr = "x"', "'lr' is not a hyperparameter"),
        ('[experiment]\ncommand = "a \'b"', "quotation"),
        ("[experiment", "TOML"),
    ],
)
def test_a_wrong_section_is_one_line_with_its_place_and_remedy(tmp_path: Path, text: str, says: str) -> None:
    file = tmp_path / "firstbreak.toml"
    file.write_text(text)
    with pytest.raises(Unreadable, match=says) as raised:
        load(file)
    assert str(file) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_in_the_lab_what_is_said_wins_over_an_option_that_a_fault_sets_later_and_not_over_one_that_it_scales() -> None:
    settings = bases.BASES["language/grpo-sort"]()
    settings.change(10, eps_clip=1e9, lr=0.1)
    running._override(settings, {"eps_clip": 0.2, "lr": 0.01})
    assert (settings.eps_clip, settings.changes) == (0.2, {10: {"lr": 0.1}})
