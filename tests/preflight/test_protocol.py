"""The evaluation's protocol before anything is measured with it."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from click.testing import CliRunner

from firstbreak.cli import app
from firstbreak.evals.protocol import protocol as made
from firstbreak.model import Action, Status
from firstbreak.preflight import Report, ReportTable, protocol
from firstbreak.readers import Unreadable
from tests.preflight.reports import message, outcome

WHOLE: dict[str, Any] = {
    "task": "gsm8k", "split": "test", "problems": 1319, "prompt_template": "Q: {question}\nA:", "temperature": 0.6, "top_p": 1.0,
    "max_new_tokens": 2048, "tools": None, "metric": "accuracy", "samples_per_problem": 4, "seed": 7,
    "dataset_revision": "e53f048",
}  # fmt: skip


def report(folder: Path, fields: dict[str, Any], *, lock: bool = True, **options: Any) -> Report:
    path = folder / "protocol.yaml"
    path.write_text(yaml.safe_dump(made(fields).record() if lock else fields))
    return protocol.check(str(path), **options)


def test_a_complete_locked_protocol_is_right(tmp_path: Path) -> None:
    found = report(tmp_path, WHOLE)
    assert found.findings == ()
    assert found.numbers["hash"] == made(WHOLE).hash


@pytest.mark.parametrize(
    "name", ["temperature", "top_p", "max_new_tokens", "prompt_template", "split", "tools", "seed"]
)
def test_a_missing_field_is_critical_and_named(name: str, tmp_path: Path) -> None:
    found = report(tmp_path, {k: v for k, v in WHOLE.items() if k != name})
    assert found.action is Action.STOP
    assert f"`{name}`" in message(found, "eval-complete")


def test_tools_ask_for_permissions_and_limits(tmp_path: Path) -> None:
    said = message(report(tmp_path, WHOLE | {"tools": ["python"]}), "eval-complete")
    assert "`tool_permissions`" in said
    assert "`tool_timeout`" in said


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"dataset_revision": "main"}, "changes with time"),
        ({"seed": None}, "without a seed"),
        ({"pass_k": 8, "pass_estimator": "unbiased"}, "pass@8 needs"),
    ],
)
def test_what_is_not_fixed_is_found(change: dict[str, Any], said: str, tmp_path: Path) -> None:
    assert said in message(report(tmp_path, WHOLE | change), "eval-fixed")


def test_an_unlocked_protocol_is_told_its_hash(tmp_path: Path) -> None:
    assert made(WHOLE).hash[:16] in message(report(tmp_path, WHOLE, lock=False), "eval-locked")


def test_another_hash_than_the_expected_one_is_critical(tmp_path: Path) -> None:
    assert outcome(report(tmp_path, WHOLE, expect=made(WHOLE).hash[:12]), "eval-locked").status is Status.OK
    changed = report(tmp_path, WHOLE | {"temperature": 0.7}, expect=made(WHOLE).hash)
    assert "not comparable" in message(changed, "eval-locked")


def test_a_locked_protocol_that_was_edited_is_refused(tmp_path: Path) -> None:
    record = made(WHOLE).record()
    record["fields"]["temperature"] = 0.9
    (tmp_path / "protocol.json").write_text(json.dumps(record))
    with pytest.raises(Unreadable, match="changed after it was locked"):
        protocol.check(str(tmp_path / "protocol.json"))


def test_differences_with_the_rollouts_are_listed(tmp_path: Path) -> None:
    run = tmp_path / "run"
    run.mkdir()
    (run / "config.yaml").write_text(yaml.safe_dump({"temperature": 1.0, "top_p": 1.0, "max_completion_length": 1024}))
    found = report(tmp_path, WHOLE, rollout=str(run))
    assert "temperature 0.6 (rollouts: 1)" in message(found, "eval-rollout")
    table = next(e for e in found.exhibits if isinstance(e, ReportTable))
    assert ("temperature", "0.6", "1", "differs") in table.rows
    assert ("top_p", "1", "1", "") in table.rows
    assert not [row for row in table.rows if "not recorded" in row and "differs" in row]
    same = report(tmp_path, WHOLE | {"temperature": 1.0, "max_new_tokens": 1024}, rollout=str(run))
    assert outcome(same, "eval-rollout").status is Status.OK


def test_the_limits_of_the_configurations_own_evaluation_are_read(tmp_path: Path) -> None:
    options = {"temperature": 0.6, "max_new_tokens": 2048, "eval_gconfig": {"max_new_tokens": 512}}
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(options))
    found = report(tmp_path, WHOLE, rollout=str(tmp_path / "config.yaml"))
    assert "eval_gconfig.max_new_tokens 512" in message(found, "eval-rollout")


def test_a_flat_option_of_the_evaluation_is_its_own_too_in_a_configuration_of_any_name(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text(yaml.safe_dump({"temperature": 0.6, "eval_temperature": 0.9}))
    found = report(tmp_path, WHOLE, rollout=str(tmp_path / "c.yaml"))
    assert "the configuration itself evaluates with eval_temperature 0.9" in message(found, "eval-rollout")


def test_answers_cut_shorter_than_in_training_are_a_warning(tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"temperature": 0.6, "max_new_tokens": 4096}))
    found = report(tmp_path, WHOLE, rollout=str(tmp_path / "config.yaml"))
    assert found.action is Action.WATCH
    assert "2048 tokens in the evaluation and 4096 in training" in message(found, "eval-rollout")


def test_on_the_command_line(tmp_path: Path) -> None:
    path = tmp_path / "protocol.yaml"
    path.write_text("temprature: 0.6\n")
    result = CliRunner().invoke(app, ["check", "eval", str(path)])
    assert isinstance(result.exception, Unreadable)
    assert "did you mean `temperature`?" in str(result.exception)


def test_max_tokens_is_another_name_for_the_limit(tmp_path: Path) -> None:
    fields = {("max_tokens" if name == "max_new_tokens" else name): value for name, value in WHOLE.items()}
    assert report(tmp_path, fields).numbers["hash"] == made(WHOLE).hash
    with pytest.raises(Unreadable, match="are one field"):
        report(tmp_path, fields | {"max_new_tokens": 5}, lock=False)
    assert made(WHOLE | {"timeout": 30}).values["time_limit"] == 30


def test_pass_at_1_of_one_answer_needs_no_estimator(tmp_path: Path) -> None:
    fields = {name: value for name, value in WHOLE.items() if name != "metric"} | {
        "pass_k": 1,
        "samples_per_problem": 1,
    }
    assert report(tmp_path, fields).numbers["missing"] == []
    assert report(tmp_path, fields | {"samples_per_problem": 4}).numbers["missing"] == ["pass_estimator"]


def test_options_of_episodes_alone_ask_for_the_environment(tmp_path: Path) -> None:
    said = message(report(tmp_path, {"deterministic": True, "seed": 0}, lock=False), "eval-complete")
    assert "`env_id`" in said
    assert "`prompt_template`" not in said


def test_what_stable_baselines_recorded_is_read(tmp_path: Path) -> None:
    results = np.arange(10.0).reshape(2, 5)
    np.savez(tmp_path / "evaluations.npz", timesteps=np.array([64, 128]), results=results, ep_lengths=results)
    (tmp_path / "0.monitor.csv").write_text('#{"t_start": 1.0, "env_id": "CartPole-v1"}\nr,l,t\n')
    (tmp_path / "model.zip").write_bytes(b"PK")
    for name in ("evaluations.npz", "model.zip"):
        found = protocol.check(str(tmp_path / name))
        said = message(found, "eval-complete")
        assert {("env_id", "CartPole-v1"), ("episodes", "5")} <= set(found.checked)
        assert "`deterministic`" in said
        assert "`env_id`" not in said
        assert found.action is Action.WATCH


def test_a_model_without_evaluations_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.zip").write_bytes(b"PK")
    with pytest.raises(Unreadable, match="nothing of an evaluation"):
        protocol.check(str(tmp_path / "model.zip"))
