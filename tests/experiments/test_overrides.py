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
from firstbreak.engine.catalogue import catalogue
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


VERL = "actor_rollout_ref.actor.optim.lr=1e-07"
ZOO = {"total_steps": 1000, "seed": 3, "learning_rate": 1e-4, "normalize_advantage": True}


def told(**more: Any) -> ExperimentSettings:
    return ExperimentSettings(command=("train",), **more)


@pytest.mark.parametrize(
    ("trainer", "overrides", "settings", "recorded", "arguments"),
    [
        ("verl", {"learning_rate": 1e-7, "group_size": 16, "kl_in_reward": False}, None, {},
         [VERL, "actor_rollout_ref.rollout.n=16", "algorithm.use_kl_in_reward=false"]),
        ("verl", {"learning_rate": "/10"}, None, {"actor_rollout_ref": {"actor": {"optim": {"lr": 1e-6}}}}, [VERL]),
        ("areal", {o.removesuffix("?"): value for o, value in catalogue()["synchronous"].overrides.items()}, None, {},
         ["rollout.max_head_offpolicyness=0", "actor.recompute_logprob=false", "actor.use_decoupled_loss=false"]),
        ("openrlhf", {"kl_coef": 0.01}, None, {}, ["--algo.kl.init_coef", "0.01"]),
        ("rllib", {"learning_rate": 5e-5, "gamma": 0.9}, None, {}, ['{"lr": 5e-05, "gamma": 0.9}']),
        ("sb3", ZOO, None, {}, ["--n-timesteps", "1000", "--seed", "3",
                                "--hyperparams", "learning_rate:0.0001", "normalize_advantage:True"]),
        ("trl", {"learning_rate": 0.1}, told(syntax="-o {option}:{value}", options={"learning_rate": "lr"}), {},
         ["-o", "lr:0.1"]),
        # a value cannot become a second word or a shell command
        ("trl", {"dataset": "a b; rm -rf {value}"}, told(syntax="--set {option}={value}", options={"dataset": "data"}), {},
         ["--set", "data=a b; rm -rf {value}"]),
        ("trl", {"learning_rate": 0.1}, told(options={"learning_rate": "lr"}, complete=True), {}, ["--lr", "0.1"]),
        # what is in force may be said by the user
        ("trl", {"learning_rate": "/10", "model": "@small_model"},
         told(now={"learning_rate": 0.3}, values={"small_model": "tiny"}), {},
         ["--learning_rate", "0.03", "--model_name_or_path", "tiny"]),
        ("verl", {"reward": "negated"}, told(options={"reward": "custom.sign"}), {}, ["custom.sign=negated"]),
        ("verl", {"data": "test"}, None, {"data": {"train_files": "a", "val_files": "b"}}, ["data.train_files=b"]),
        ("verl", {"data": "test"}, told(values={"test_set": "c"}), {}, ["data.train_files=c"]),
        ("verl", {"data": "test"}, told(options={"data": "data.train_files"}), {"data": {"val_files": "b"}},
         ["data.train_files=b"]),
        ("verl", {"data": "test"}, told(options={"data": "my.mode"}), {}, ["my.mode=test"]),
        ("areal", {"data": "test"}, None, {"train_dataset": {"path": "a"}, "valid_dataset": {"path": "b"}},
         ["train_dataset.path=b"]),
        ("trl", {"data": "test"}, told(values={"test_set": "c"}), {"dataset_name": "a"}, ["--dataset_name", "c"]),
    ],
)  # fmt: skip
def test_each_trainer_gets_its_own_options(
    trainer: str,
    overrides: dict[str, Any],
    settings: ExperimentSettings | None,
    recorded: dict[str, Any],
    arguments: list[str],
) -> None:
    assert list(rendered_for(trainer, overrides, settings, **recorded).arguments) == arguments


def test_a_yaml_file_is_changed_in_a_copy(tmp_path: Path) -> None:
    file = tmp_path / "train.yaml"
    file.write_text("learning_rate: 1.0e-5\nnested:\n  beta: 0.1\n")
    settings = ExperimentSettings(command=("train",), syntax="yaml", config=file, options={"kl_coef": "nested.beta"})
    rendered = rendered_for("trl", {"learning_rate": "/10", "kl_coef": 0.0}, settings, learning_rate=1e-5)
    assert yaml.safe_load(rendered.files["config.yaml"]) == {"learning_rate": 1e-6, "nested": {"beta": 0.0}}
    assert yaml.safe_load(file.read_text())["nested"]["beta"] == 0.1


def test_variables_serve_everything_else_and_interventions() -> None:
    variables = rendered_for("trl", {"learning_rate": 0.1}, told(syntax="environment"))
    assert variables.environment == {"LEARNING_RATE": "0.1"}
    assert json.loads(rendered_for("trl", {"reward": "negated"}).environment[HOOK]) == {"reward": "negated"}


@pytest.mark.parametrize(
    ("trainer", "overrides", "settings", "recorded", "says"),
    [
        ("trl", {"kl_coef": 0.1}, told(options={"learning_rate": "lr"}, complete=True), {}, "no option for kl_coef"),
        ("sb3", {"learning_rate": "/10"}, None, {}, "does not log learning_rate"),
        ("sb3", {"max_new_tokens": 9}, None, {}, "no known option for max_new_tokens"),
        ("trl", {"model": "@small_model"}, None, {}, "small_model"),
        ("verl", {"reward": "negated"}, None, {}, "no option for it"),
        ("acme", {"learning_rate": 0.1}, None, {}, "no known option"),
        ("verl", {"data": "test"}, None, {}, "needs `test_set`.* does not record it"),
        (
            "areal",
            {"data": "test"},
            None,
            {"train_dataset": {"path": "a"}, "valid_dataset": {"path": "a"}},
            "the same data",
        ),
    ],
)
def test_what_cannot_be_said_is_refused_with_a_remedy(
    trainer: str, overrides: dict[str, Any], settings: ExperimentSettings | None, recorded: dict[str, Any], says: str
) -> None:
    with pytest.raises(CannotOverride, match=says):
        rendered_for(trainer, overrides, settings, **recorded)


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
