"""The settings of a run beside those of RL Zoo and CleanRL: what is compared, what it says, and that it accuses nobody."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firstbreak.dialects import cleanrl
from firstbreak.dialects.hyperparameters import HYPERPARAMETERS, canonical_config
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.published_settings import table, tuned
from firstbreak.model import Run, Series
from firstbreak.reports import content, html, markdown, terminal
from firstbreak.reports import json as as_json

ARGS = {
    "env_id": "CartPole-v1", "exp_name": "ppo", "gamma": 0.3, "gae_lambda": 0.95, "learning_rate": 2.5e-4, "num_steps": 128,
    "num_envs": 4, "update_epochs": 4, "clip_coef": 0.2, "ent_coef": 0.0,
}  # fmt: skip


def cartpole(algorithm: str = "ppo", falls: bool = True, **settings: object) -> Run:
    returns = np.concatenate([np.linspace(20, 400, 30), np.linspace(390, 15 if falls else 400, 30)])
    config = canonical_config(ARGS | settings, cleanrl)
    steps = np.arange(1, 61) * 500.0
    curve = Series(name="reward.mean", steps=steps, values=returns, axis="env_steps")
    return Run(path="a-run", algorithm=algorithm, trainer="cleanrl", series={curve.name: curve}, config=config)


def test_each_row_is_a_fact_about_known_settings() -> None:
    keys = [(row.source, row.algorithm, row.task) for row in table()]
    assert len(keys) == len(set(keys)) > 200
    assert all(row.settings.keys() <= HYPERPARAMETERS.keys() for row in table())


def test_what_differs_is_told_with_its_source_the_furthest_apart_first() -> None:
    zoo, clean = tuned(cartpole())
    assert (zoo.source.split()[:2], zoo.place, zoo.task) == (["RL", "Zoo"], "hyperparams/ppo.yml", "CartPole-v1")
    assert next((b.option, b.value, b.tuned) for b in zoo.differ) == ("gamma", 0.3, 0.98)
    assert "gae_lambda" in clean.same
    assert "gamma" not in clean.same
    said = content.tuned(diagnose(cartpole()))[0].text
    assert "gamma 0.98 (here 0.3)" in said
    assert "trained for 100000 environment steps (here 30000)" in said


def test_two_settings_that_a_trainer_spells_alike_have_two_names() -> None:
    """Stable-Baselines3's `batch_size` is that of a minibatch, and its batch has no option of its own."""
    config = replace(
        canonical_config(ARGS, cleanrl),
        values={"env_id": "CartPole-v1", "minibatch_size": 1024, "batch_size": 256, "gamma": 0.98},
        keys={"minibatch_size": "batch_size", "batch_size": "batch_size"},
    )
    for found in tuned(replace(cartpole(), config=config)):
        names = [*found.same, *(beside.option for beside in found.differ)]
        assert len(names) == len(set(names))


def test_another_version_of_the_task_will_do_and_another_task_will_not() -> None:
    assert tuned(cartpole(env_id="CartPole-v0"))[0].task == "CartPole-v1"
    assert {one.task for one in tuned(cartpole(env_id="PongNoFrameskip-v4"))} == {"atari"}
    assert {one.task for one in tuned(cartpole(env_id="ALE/Pong-v5"))} == {"atari"}
    for nothing in ("MyOwnTask-v0", "Pong-nothing", "CartPoleSwingUp-v0", "atari", ""):
        assert tuned(cartpole(env_id=nothing)) == ()
    assert tuned(cartpole(algorithm="reinforce")) == ()


def test_defaults_that_the_run_did_not_record_are_not_compared() -> None:
    config = canonical_config({"env_id": "CartPole-v1", "exp_name": "ppo", "gamma": 0.99}, cleanrl)
    zoo, clean = tuned(Run(path="a-run", algorithm="ppo", trainer="cleanrl", config=config))
    assert [b.name for b in zoo.differ] == ["gamma"]
    assert not zoo.same
    assert not clean.differ
    assert clean.same == ("gamma",)


@pytest.mark.parametrize("falls", [True, False])
def test_it_is_no_evidence_and_a_run_that_goes_well_is_not_bothered(falls: bool) -> None:
    apart, alike = (diagnose(cartpole(falls=falls, env_id=task)) for task in ("CartPole-v1", "MyOwnTask-v0"))
    assert (apart.first_break is None) == (alike.first_break is None) == (not falls)
    heading = "Beside tuned settings for this task"
    for report in (terminal.render(apart, color=False), markdown.render(apart), html.render(apart)):
        assert (heading in report) == falls
    assert json.loads(as_json.render(apart))["tuned"][0]["differ"][0]["option"] == "gamma"
    assert "tuned" not in json.loads(as_json.render(alike))


def test_a_published_run_with_the_settings_of_the_zoo(shared: Path) -> None:
    from firstbreak.readers.read import read

    (zoo, *_) = tuned(read(shared / "runs" / "zoo-ppo-cartpole-v1"))
    assert not zoo.differ
    assert len(zoo.same) > 5
