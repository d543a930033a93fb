"""All checks from one file, and the context check."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from firstbreak import context
from firstbreak.cli import app
from firstbreak.model import Action, Status
from firstbreak.preflight import ReportTable, plan
from firstbreak.preflight import context as recorded
from firstbreak.readers import Unreadable
from tests.command import printed
from tests.preflight.reports import outcome
from tests.there import there

MODEL = {
    "model_type": "llama", "vocab_size": 32000, "hidden_size": 2048, "intermediate_size": 5632, "num_hidden_layers": 22,
    "num_attention_heads": 32, "num_key_value_heads": 4,
}  # fmt: skip
PROTOCOL = {"env_id": "CartPole-v1", "env_version": "1.4.0", "episodes": 20, "episode_cap": 500, "start_states": "reset",
            "seeds": [1, 2], "deterministic": True, "reward": "raw"}  # fmt: skip


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "config.json").write_text(json.dumps(MODEL))
    (tmp_path / "protocol.yaml").write_text(yaml.safe_dump(PROTOCOL))
    return tmp_path


def write(project: Path, text: str, name: str = "firstbreak.toml") -> str:
    (project / name).write_text(text)
    return str(project)


SECTIONS = """
[check.env]
env = "CartPole-v1"
episodes = 20

[check.eval]
protocol = "protocol.yaml"

[[check.memory]]
model = "config.json"
algo = "grpo"
gpu_memory = 24

[[check.memory]]
model = "mlp"
algo = "sac"
observation = "17"
actions = 6
buffer = 1000
"""


def test_every_section_is_one_check_and_the_worst_decides(project: Path) -> None:
    pytest.importorskip("gymnasium")
    found = plan.check(write(project, SECTIONS))
    table = next(e for e in found.exhibits if isinstance(e, ReportTable))
    assert [row[0] for row in table.rows] == ["eval", "memory", "memory", "env"]
    assert outcome(found, "env-spaces").status is Status.OK
    assert outcome(found, "eval-complete").status is Status.OK
    assert found.numbers["checks"][1]["parameters"]["actor"] == 1_100_048_384  # TinyLlama
    assert any(o.detector.startswith("memory-fits (mlp") for o in found.outcomes)
    assert found.action is Action.WATCH  # the protocol is not locked


def test_a_plan_stops_where_one_check_does(project: Path) -> None:
    found = plan.check(write(project, SECTIONS.replace("gpu_memory = 24", "gpu_memory = 4")), only=["memory", "eval"])
    assert found.action is Action.STOP
    assert found.summary == "1 of 3 checks say not to train yet: memory."


def test_pyproject_holds_the_same_sections(project: Path) -> None:
    text = '[project]\nname = "mine"\n[tool.firstbreak.check.eval]\nprotocol = "protocol.yaml"\n'
    found = plan.check(write(project, text, "pyproject.toml"))
    assert outcome(found, "eval-locked").status is Status.FOUND


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[check.env", "not TOML"),
        ("", "asks for no check"),
        ("[check.environment]\nenv = 'x'", "is no check; the checks are"),
        ("[check.memory]\nmodle = 'x'", "did you mean `model`"),
        ("[check.eval]\nfile = 'x'", "is no key of .check.eval.; its keys are protocol, rollout, expect"),
        ("[check.memory]\nmodel = 'config.json'", "lacks `algo`"),
        ("[check.memory]\nmodel = 'config.json'\nalgo = 'grpo'\ngpus = 'four'", "`gpus` of .check.memory. is 'four'"),
        ("[check.memory]\nmodel = 'none.json'\nalgo = 'grpo'", "check.memory.: none.json: no such file"),
        ("[check]\nmemory = 3", "is no section"),
    ],
)
def test_a_bad_plan_is_one_clear_line(text: str, said: str, project: Path) -> None:
    with pytest.raises(Unreadable, match=said):
        plan.check(write(project, text))


def test_a_folder_without_a_plan_says_so(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match=r"holds no firstbreak\.toml"):
        plan.check(str(tmp_path))


def test_on_the_command_line(project: Path) -> None:
    arguments = ["check", "plan", write(project, SECTIONS), "--only", "memory", "--format", "json"]
    result = printed(app, *arguments)
    assert [check["check"] for check in json.loads(result)["numbers"]["checks"]] == ["memory", "memory"]


def test_the_help_lists_the_keys_of_every_section() -> None:
    said = " ".join(CliRunner().invoke(app, ["check", "plan", "--help"]).output.split())
    for keys in (
        "[check.env] env (needed), episodes",
        "[check.eval] protocol (needed), rollout, expect",
        "[check.data] data",
    ):
        assert keys in said


# --- context ---------------------------------------------------------------------------------------------------------


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text("lr = 1e-3\n")
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "first"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True, capture_output=True)
    return folder


def test_a_run_without_a_record_is_critical(tmp_path: Path) -> None:
    found = recorded.check(str(tmp_path))
    assert found.action is Action.STOP
    assert "firstbreak.context.record(" in found.summary or outcome(found, "context-recorded").finding is not None


def test_a_record_is_right_until_the_code_changes(tmp_path: Path, repository: Path) -> None:
    context.record(
        tmp_path, config={"lr": 1e-3}, seed=3, code=repository, checkpoint="last.zip", logs=["metrics.csv"],
        evaluation="python evaluate.py",
    )  # fmt: skip
    assert recorded.check(str(tmp_path), code=str(repository)).findings == ()
    (repository / "train.py").write_text("lr = 1e-2\n")
    found = recorded.check(str(tmp_path), code=str(repository))
    finding = there(outcome(found, "context-unchanged").finding)
    assert "code (1)" in finding.message


def test_a_record_without_seed_code_or_options_says_what_is_missing(tmp_path: Path) -> None:
    context.record(tmp_path / "run", code=tmp_path)
    found = recorded.check(str(tmp_path / "run"), code=str(tmp_path))
    for probe in ("context-recorded", "context-code", "context-seed", "context-outputs"):
        assert outcome(found, probe).status is Status.FOUND, probe


def test_a_record_can_be_written_by_the_check(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "args.yaml").write_text("learning_rate: 0.001\nseed: 5\n")
    arguments = ["check", "context", str(tmp_path / "run"), "--record", "--config", str(tmp_path / "args.yaml")]
    printed(app, *arguments, "--code", repository)
    found = there(context.load(tmp_path / "run"))
    assert found.config == {"learning_rate": 0.001, "seed": 5}
    assert found.seeds == {"seed": 5}


def test_checkpoint_logs_and_the_evaluation_are_kept_without_secrets(tmp_path: Path) -> None:
    import firstbreak

    command = "python evaluate.py --api-key abcdefgh12345678 --seed 0"
    (tmp_path / "last.zip").touch()
    (tmp_path / "metrics.csv").touch()
    firstbreak.context.record(tmp_path, checkpoint=tmp_path / "last.zip", logs="metrics.csv", evaluation=command)
    found = there(context.load(tmp_path))
    assert found.checkpoint == str(tmp_path / "last.zip")
    assert found.logs == ("metrics.csv",)
    assert found.evaluation.startswith("python evaluate.py --api-key ")
    assert "abcdefgh" not in found.evaluation
    assert outcome(recorded.check(str(tmp_path)), "context-outputs").status is Status.OK


def test_the_context_module_is_there_after_the_import() -> None:
    script = "import firstbreak; firstbreak.context.record"
    subprocess.run([sys.executable, "-c", script], check=True)
