"""The context file: what it holds, what it must never hold, and who reads it."""

import argparse
import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak import context
from firstbreak.context import Context
from firstbreak.masking import MASK, Mask
from firstbreak.model import Status
from firstbreak.preflight.context import check
from firstbreak.readers import Unreadable
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository with one commit."""
    folder = tmp_path / "code"
    folder.mkdir()
    (folder / "train.py").write_text("lr = 1e-3\n")
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", ".")
    git(folder, "commit", "-q", "-m", "first")
    return folder


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run(["git", *who, *arguments], cwd=folder, check=True, capture_output=True)


def test_a_recorded_context_comes_back(tmp_path: Path, repository: Path) -> None:
    options = argparse.Namespace(learning_rate=3e-4, seed=7, env="CartPole-v1", net=[64, 64], gamma=np.float64(0.99))
    written = context.record(tmp_path / "run", config=options, code=repository)
    back = context.load(tmp_path / "run")
    assert back == written
    assert back is not None
    assert back.config["gamma"] == 0.99
    assert back.seeds == {"seed": 7}
    assert len(back.code.commit) == 40
    assert back.code.dirty is False
    assert back.packages["numpy"] == np.__version__
    assert back.hardware.cores > 0


def test_uncommitted_changes_are_kept_and_told_apart(repository: Path) -> None:
    clean = context.capture(code=repository).code
    (repository / "train.py").write_text("lr = 1e-2\n")
    changed = context.capture(code=repository).code
    assert "+lr = 1e-2" in changed.diff
    (repository / "new.py").write_text("x = 1\n")
    untracked = context.capture(code=repository).code
    assert untracked.untracked == ("new.py",)
    assert len({clean.digest, changed.digest, untracked.digest}) == 3
    assert clean.commit == changed.commit == untracked.commit


def test_a_huge_diff_is_cut_and_its_hash_is_not(repository: Path) -> None:
    digests = set()
    for last in "ab":
        (repository / "train.py").write_text("x\n" * context.DIFF_BYTES + last)
        code = context.capture(code=repository).code
        assert code.diff_cut
        assert len(code.diff) <= context.DIFF_BYTES
        digests.add(code.digest)
    assert len(digests) == 2


def test_without_a_repository_there_is_no_code_and_no_error(tmp_path: Path) -> None:
    assert context.capture(code=tmp_path).code == context.Code()


SECRET = "s3cr3t-Zebra-9981"


@pytest.mark.parametrize(
    "argument",
    [
        ["--api-key", SECRET],
        [f"--api_key={SECRET}"],
        [f"WANDB_API_KEY={SECRET}"],
        [f"https://me:{SECRET}@example.org/x.git"],
        ["--header", f"Authorization: Bearer {SECRET}"],
        ["--hub-token", SECRET],
        ["--db.password", SECRET],
    ],
)
def test_a_secret_on_the_command_line_is_masked(argument: list[str], tmp_path: Path) -> None:
    found = context.capture(command=["python", "train.py", *argument], code=tmp_path)
    assert SECRET not in str(found)
    assert MASK in " ".join(found.command)


def test_secrets_of_the_environment_are_masked_wherever_they_turn_up(
    monkeypatch: pytest.MonkeyPatch, repository: Path
) -> None:
    monkeypatch.setenv("MY_SERVICE_API_KEY", SECRET)
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    (repository / "train.py").write_text(f"login('{SECRET}')\nhf = 'hf_{'a' * 30}'\npassword = 'tr0ub4dor'\n")
    found = context.capture(config={"url": f"http://x/?k={SECRET}", "nested": {"hf_token": "abc"}}, code=repository)
    assert SECRET not in str(found)
    for gone in ("tr0ub4dor", "hf_aaa", "'abc'"):
        assert gone not in str(found)
    assert "MY_SERVICE_API_KEY" not in found.environment
    assert found.environment["OMP_NUM_THREADS"] == "1"


def test_tokens_of_a_language_model_are_no_secrets(tmp_path: Path) -> None:
    options = {"eos_token": "</s>", "max_new_tokens": 256, "pad_token": "<pad>", "tokenizer": "gpt2", "passes": 2}
    command = ["python", "t.py", "--eos-token", "</s>", "--max_new_tokens=256"]
    found = context.capture(config=options, command=command, code=tmp_path)
    assert found.config == options
    assert list(found.command) == command


def test_what_differs_is_listed_by_part(repository: Path) -> None:
    before = context.capture(config={"lr": 1e-3, "optim": {"eps": 1e-8}}, seed=1, code=repository)
    (repository / "train.py").write_text("lr = 1e-2\n")
    after = context.capture(config={"lr": 1e-3, "optim": {"eps": 1e-5}}, seed=2, code=repository)
    found = {(d.part, d.name): (d.before, d.after) for d in context.differences(before, after)}
    assert found["config", "optim.eps"] == (1e-8, 1e-5)
    assert found["seeds", "seed"] == (1, 2)
    assert found["code", "changes"] == ("", after.code.digest)
    assert {part for part, _ in found} == {"config", "seeds", "code"}
    assert context.differences(before, before) == []


def test_diagnose_reads_the_configuration_of_the_context(tmp_path: Path, repository: Path) -> None:
    (tmp_path / "progress.csv").write_text("step,reward\n" + "".join(f"{i},{i}\n" for i in range(20)))
    (repository / "train.py").write_text("lr = 1e-2\n")
    written = context.record(tmp_path, config={"learning_rate": 3e-4}, seed=3, code=repository)
    run = read(tmp_path)
    assert find_runs(tmp_path) == [tmp_path]
    assert run.config.raw["learning_rate"] == 3e-4
    assert run.config.raw["seed"] == 3
    assert "reward.mean" in run.series or "reward" in run.unknown
    assert any(written.code.commit[:12] in note and "not committed" in note for note in run.notes)


@pytest.mark.parametrize("text", ["{", "[]", '{"schema": "other/1"}', '{"schema": "firstbreak.context/1", "code": 3}'])
def test_a_damaged_file_is_one_clear_line(text: str, tmp_path: Path) -> None:
    (tmp_path / context.FILE).write_text(text)
    with pytest.raises(Unreadable, match="record the context again"):
        context.load(tmp_path)


def test_its_own_file_is_no_difference_and_a_checkpoint_that_is_not_there_gets_no_tick(repository: Path) -> None:
    context.record(
        repository / "run", config={"seed": 1}, code=repository, checkpoint="no/such", logs="run", evaluation="x"
    )
    said = {o.detector: o for o in check(str(repository / "run"), code=str(repository)).outcomes}
    assert said["context-unchanged"].status is Status.OK
    assert said["context-outputs"].status is Status.NOT_MEASURED
    assert "no/such" in said["context-outputs"].note


def test_no_file_is_no_context(tmp_path: Path) -> None:
    assert context.load(tmp_path) is None


json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(min_size=1), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(min_size=1), json_values, max_size=5))
def test_whatever_is_masked_is_still_json_and_masking_twice_changes_nothing(options: dict[str, object]) -> None:
    mask = Mask({})
    once = mask.tree(context._plain(options))
    assert json.loads(json.dumps(once)) == once
    assert mask.tree(once) == once


def test_a_context_of_a_later_version_with_more_keys_is_read(tmp_path: Path) -> None:
    (tmp_path / context.FILE).write_text(json.dumps({"schema": context.SCHEMA, "novelty": 1, "python": "3.12.0"}))
    assert context.load(tmp_path) == Context(python="3.12.0")
