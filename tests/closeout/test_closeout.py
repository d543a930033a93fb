"""What a finished run leaves: all of it, or what is missing and how to get it; and whether it is still what it was."""

import hashlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from firstbreak import context
from firstbreak.cli.closeout import command
from firstbreak.cli.demo import RUN
from firstbreak.closeout import deliverables
from firstbreak.closeout.folder import _clear, check
from firstbreak.evals.ledger import Ledger
from firstbreak.evals.protocol import protocol
from firstbreak.evals.splits import Split, Use, declare, record
from firstbreak.readers import Unreadable
from tests.compare.runs import write as make_run
from tests.make import learning

pytestmark = pytest.mark.slow

SIX = ("best checkpoint", "last checkpoint", "failed checkpoint", "samples for the reward audit",
       "results of several seeds", "report of the private set")  # fmt: skip


def closeout(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(a) for a in arguments])


def statuses(folder: Path) -> dict[str, str]:
    deliverables = json.loads((folder / "manifest.json").read_text())["deliverables"]
    return {name: entry["status"] for name, entry in deliverables.items()}


def broken_run(run: Path) -> Path:
    """The demonstration run, which pays for length from step 60 on, with models saved and its context recorded."""
    shutil.copytree(RUN, run)
    for step in (20, 70, 90, 120):
        (run / f"checkpoint-{step}").mkdir()
        (run / f"checkpoint-{step}" / "model.safetensors").write_bytes(b"weights of %d" % step)
    file = run / context.FILE
    file.write_text(json.dumps({"schema": context.SCHEMA, "code": {"commit": "abcdef0123456789", "dirty": True}}))
    return run


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    return broken_run(tmp_path / "broken")


@pytest.fixture(scope="module")
def once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("closed")
    closeout(broken_run(folder / "broken"), "-o", folder / "out", "--ledger", folder / "none.db")
    return folder / "out"


@pytest.fixture
def closed(once: Path, tmp_path: Path) -> Path:
    """A close-out of that run, for a test to change."""
    return Path(shutil.copytree(once, tmp_path / "out"))


@pytest.fixture
def ledger(tmp_path: Path, broken: Path) -> Path:
    with Ledger(tmp_path / "ledger.db") as ledger:
        declare(ledger, Split(name="final", kind="private_test", allowed=1, size=100))
        protocol_ = protocol({"task": "t", "temperature": 0})
        record(ledger, split="final", use=Use.RELEASE, scores={"accuracy": 0.7}, protocol=protocol_, run=f"{broken}/")
    return tmp_path / "ledger.db"


def test_everything_is_delivered_where_everything_is_there(tmp_path: Path, broken: Path, ledger: Path) -> None:
    out = tmp_path / "out"
    closeout(broken, "-o", out, "--ledger", ledger)
    found = statuses(out)
    assert {name for name in SIX if found[name] == "there"} == set(SIX) - {"results of several seeds"}
    assert (out / "best" / "checkpoint-70" / "model.safetensors").read_bytes() == b"weights of 70"
    assert (out / "last" / "checkpoint-120" / "model.safetensors").exists()
    assert (out / "failed" / "checkpoint-70" / "model.safetensors").exists()
    assert "reward broke first" in (out / "failed" / "symptom.txt").read_text()
    kinds = {json.loads(line)["kind"] for line in (out / "samples" / "to-read.jsonl").read_text().splitlines()}
    assert {"suspicious", "beginning"} <= kinds
    private = json.loads((out / "private" / "report.json").read_text())
    assert private["looks"][0]["scores"] == {"accuracy": 0.7}
    assert list(private["protocols"].values()) == [{"task": "t", "temperature": 0}]
    assert json.loads((out / context.FILE).read_text())["code"]["commit"] == "abcdef0123456789"
    assert json.loads((out / "diagnosis" / "diagnosis.json").read_text())["first_break"]["link"] == "reward"
    summary = (out / "summary.md").read_text()
    assert all(name in summary for name in SIX)
    assert check(out)[0] == []


def test_seeds_of_one_setting_are_summed_up(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / f"s{i}", seed=i) for i in range(3)]
    other = make_run(tmp_path / "other", seed=5, extra=1)
    out = tmp_path / "out"
    seeds = [word for run in (*runs[1:], other) for word in ("--seed-run", run)]
    closeout(runs[0], "-o", out, *seeds, "--ledger", tmp_path / "no")
    rows = json.loads((out / "seeds" / "scores.json").read_text())
    assert [row["seed"] for row in rows] == [0, 1, 2]
    assert (out / "seeds" / "scores.svg").exists()
    assert not (tmp_path / "no").exists()


def test_what_is_missing_comes_with_the_way_to_get_it(tmp_path: Path) -> None:
    run, out = make_run(tmp_path / "run", seed=0), tmp_path / "out"
    result = closeout(run, "-o", out, "--ledger", tmp_path / "none.db")
    assert result.exit_code == 1
    found = statuses(out)
    for name in set(SIX) - {"failed checkpoint"}:
        assert found[name] == "missing"
    printed = " ".join(result.output.split())
    for remedy in (
        "so that models are kept",
        "firstbreak eval split NAME --kind private_test",
        "--seed-run",
        "log_completions",
    ):
        assert remedy in printed
    assert max(map(len, result.output.split("\n\n")[0].splitlines())) <= 80


@pytest.mark.parametrize("recorded", [True, False])
def test_a_folder_of_seeds_may_hold_the_run_itself(tmp_path: Path, recorded: bool) -> None:
    """Also where no run records its settings: the user says that they are of one setting."""
    for i in range(3):
        made = make_run(tmp_path / "seeds" / f"PPO_{i}", seed=i)
        if not recorded:
            (made / "config.yaml").unlink()
    closeout(tmp_path / "seeds" / "PPO_0", "-o", tmp_path / "out", "--seed-run", tmp_path / "seeds")
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())["deliverables"]
    assert manifest["results of several seeds"]["said"].startswith("3 seeds: ")


def test_settings_that_lie_in_the_run_are_kept_where_no_context_was_recorded(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", seed=3, api_key="hf_" + "a" * 34)
    closeout(run, "-o", tmp_path / "out")
    assert (
        "settings.json"
        in json.loads((tmp_path / "out" / "manifest.json").read_text())["deliverables"]["experiment context"]["why"]
    )
    kept = (tmp_path / "out" / "settings.json").read_text()
    assert json.loads(kept)["seed"] == 3
    assert "aaaa" not in kept


def test_a_healthy_run_needs_no_failed_checkpoint(tmp_path: Path) -> None:
    rows = ({"step": i, "reward": float(v), "kl": 0.01} for i, v in enumerate(learning(100)))
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    closeout(tmp_path / "metrics.jsonl", "-o", tmp_path / "out", "--ledger", tmp_path / "none.db")
    assert statuses(tmp_path / "out")["failed checkpoint"] == "not needed"


def test_a_private_set_opened_twice_is_said_in_the_report(tmp_path: Path, broken: Path, ledger: Path) -> None:
    with Ledger(ledger) as opened:
        record(opened, split="final", use=Use.RELEASE, scores={"accuracy": 0.8}, run=str(broken))
    closeout(broken, "-o", tmp_path / "out", "--ledger", ledger)
    report = json.loads((tmp_path / "out" / "private" / "report.json").read_text())
    assert any("evaluated twice" in warning for warning in report["warnings"])


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        (lambda out: (out / "best/checkpoint-70/model.safetensors").unlink(), "is missing"),
        (lambda out: (out / "summary.md").write_text("all is well"), "was changed"),
        (lambda out: (out / "extra.bin").write_bytes(b"x"), "was added"),
    ],
)
def test_a_check_finds_what_is_not_what_it_was(change: Callable[[Path], object], problem: str, closed: Path) -> None:
    assert "all files are unchanged" in closeout(closed, "--check").output
    change(closed)
    result = closeout(closed, "--check")
    assert result.exit_code == 1
    assert problem in result.output


def test_closing_out_again_leaves_nothing_of_the_first_time(tmp_path: Path, closed: Path, broken: Path) -> None:
    out = closed
    shutil.rmtree(broken / "checkpoint-120")
    closeout(broken, "-o", out, "--ledger", tmp_path / "none.db")
    assert [p.parent.name for p in (out / "last").rglob("*.safetensors")] == ["checkpoint-90"]
    assert check(out)[0] == []


def test_a_folder_of_something_else_is_left_alone(tmp_path: Path, broken: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "notes.txt").write_text("keep")
    result = closeout(broken, "-o", tmp_path / "mine", "--ledger", tmp_path / "none.db")
    assert "is not empty and is not a close-out" in str(result.exception)
    assert (tmp_path / "mine" / "notes.txt").read_text() == "keep"


def test_a_manifest_cannot_make_it_delete_a_file_elsewhere(tmp_path: Path, broken: Path) -> None:
    victim = tmp_path / "victim.txt"
    victim.write_text("keep")
    out = tmp_path / "out"
    out.mkdir()
    (out / "manifest.json").write_text(
        json.dumps(
            {"schema": "firstbreak.closeout/1", "files": [{"path": "../victim.txt", "sha256": ""}], "deliverables": {}}
        )
    )
    closeout(broken, "-o", out, "--ledger", tmp_path / "none.db")
    assert victim.read_text() == "keep"


def test_a_checkpoint_is_a_copy_that_the_next_save_leaves_alone(tmp_path: Path, broken: Path) -> None:
    out = tmp_path / "out"
    closeout(broken, "-o", out, "--ledger", tmp_path / "none.db")
    with (broken / "checkpoint-120" / "model.safetensors").open("r+b") as file:
        file.write(b"overwritten")
    assert (out / "last" / "checkpoint-120" / "model.safetensors").read_bytes() == b"weights of 120"
    assert check(out)[0] == []


def test_a_large_checkpoint_is_copied_whole_and_its_progress_is_told(
    tmp_path: Path, broken: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    weights = bytes(range(256)) * 4000
    (broken / "checkpoint-120" / "model.safetensors").write_bytes(weights)
    monkeypatch.setattr(deliverables, "PROGRESS_EVERY", 1 << 16)
    for refused in (False, True):
        if refused:
            monkeypatch.delattr(os, "copy_file_range")
        out = tmp_path / f"out{refused}"
        result = closeout(broken, "-o", out, "--ledger", tmp_path / "none.db")
        assert (out / "last" / "checkpoint-120" / "model.safetensors").read_bytes() == weights
        assert "GB copied" in result.stderr


def test_a_manifest_that_was_written_anew_is_told_by_its_hash(tmp_path: Path, broken: Path) -> None:
    out = tmp_path / "out"
    printed = closeout(broken, "-o", out, "--ledger", tmp_path / "none.db").output.split()[-1]
    assert "all files are unchanged" in closeout(out, "--check", "--manifest-hash", printed).output
    forged = json.loads((out / "manifest.json").read_text())
    (out / "summary.md").write_text("all is well")
    entry = next(file for file in forged["files"] if file["path"] == "summary.md")
    entry["sha256"] = hashlib.sha256(b"all is well").hexdigest()
    (out / "manifest.json").write_text(json.dumps(forged))
    assert closeout(out, "--check").output.count("was changed") == 0
    result = closeout(out, "--check", "--manifest-hash", printed)
    assert result.exit_code == 1
    assert "manifest.json: was changed" in result.output


@pytest.mark.parametrize(
    "content",
    [
        "[" * 100_000,
        "[]",
        "{}",
        '{"schema": "firstbreak.closeout/1", "files": [{"path": "a\\u0000b", "sha256": ""}], "deliverables": {}}',
        '{"schema": "firstbreak.closeout/1", "files": [1], "deliverables": {}}',
        '{"schema": "firstbreak.closeout/1", "files": [], "deliverables": []}',
        '{"schema": "firstbreak.closeout/1", "files": [], "deliverables": {"diagnosis": 1}}',
        '{"schema": "firstbreak.closeout/1", "files": [], "deliverables": {"diagnosis": {}}}',
    ],
)
def test_a_malformed_manifest_is_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "manifest.json").write_text(content)
    (tmp_path / "other").write_text("")
    done = closeout(tmp_path, "--check")
    assert isinstance(done.exception, Unreadable)
    assert "is not a manifest" in str(done.exception)
    with pytest.raises(Unreadable, match="is not a manifest"):
        _clear(tmp_path)


def test_a_check_names_links_and_pipes(tmp_path: Path, closed: Path) -> None:
    out = closed
    (tmp_path / "same.md").write_bytes((out / "summary.md").read_bytes())
    (out / "summary.md").unlink()
    (out / "summary.md").symlink_to(tmp_path / "same.md")
    (out / "more").symlink_to(tmp_path)
    os.mkfifo(out / "pipe")
    problems = {problem.path: problem.problem for problem in check(out)[0]}
    assert problems == {"summary.md": "is a link or no regular file", "more": "was added", "pipe": "was added"}


def test_filling_again_deletes_nothing_behind_a_link(tmp_path: Path, closed: Path, broken: Path) -> None:
    out, elsewhere = closed, tmp_path / "elsewhere"
    shutil.move(out / "diagnosis", elsewhere)
    (out / "diagnosis").symlink_to(elsewhere)
    before = sorted(elsewhere.iterdir())
    result = closeout(broken, "-o", out, "--ledger", tmp_path / "none.db")
    assert "is a link" in str(result.exception)
    assert sorted(elsewhere.iterdir()) == before


def test_a_checkpoint_of_one_file_is_copied(tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    (run / "rl_model_90_steps.zip").write_bytes(b"weights")
    closeout(run, "-o", tmp_path / "done")
    assert (tmp_path / "done" / "last" / "rl_model_90_steps.zip").read_bytes() == b"weights"


def test_models_with_names_instead_of_steps_are_found_and_a_whole_folder_passes_the_check(tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(RUN, run)
    (run / "best_model.zip").write_bytes(b"best")
    (run / "final_model.zip").write_bytes(b"final")
    closeout(run, "-o", tmp_path / "done")
    assert (tmp_path / "done" / "best" / "best_model.zip").read_bytes() == b"best"
    assert (tmp_path / "done" / "last" / "final_model.zip").read_bytes() == b"final"
    checked = closeout(tmp_path / "done", "--check")
    assert checked.exit_code == 0
    assert "no damage: failed checkpoint, results of several seeds" in checked.output
    (tmp_path / "done" / "last" / "final_model.zip").write_bytes(b"other")
    assert closeout(tmp_path / "done", "--check").exit_code == 1


def test_the_result_is_the_row_for_release_and_not_a_later_one_for_selection(
    tmp_path: Path, broken: Path, ledger: Path
) -> None:
    with Ledger(ledger) as opened:
        protocol_ = protocol({"task": "t", "temperature": 0})
        record(opened, split="final", use=Use.SELECT, scores={"accuracy": 0.9}, protocol=protocol_, run=str(broken))
    done = closeout(broken, "-o", tmp_path / "done", "--ledger", ledger)
    assert "final: accuracy 0.7" in done.output


def test_a_private_set_that_only_chose_a_checkpoint_gives_no_private_result(tmp_path: Path, broken: Path) -> None:
    with Ledger(tmp_path / "ledger.db") as opened:
        declare(opened, Split(name="final", kind="private_test", allowed=1, size=100))
        protocol_ = protocol({"task": "t", "temperature": 0})
        record(opened, split="final", use=Use.SELECT, scores={"accuracy": 0.9}, protocol=protocol_, run=str(broken))
    done = closeout(broken, "-o", tmp_path / "done", "--ledger", tmp_path / "ledger.db")
    assert statuses(tmp_path / "done")["report of the private set"] == "missing"
    assert "final was evaluated to select, and never for the release" in " ".join(done.output.split())
    assert "accuracy 0.9" not in done.output


def test_the_release_is_found_where_the_ledger_has_the_path_from_elsewhere(
    tmp_path: Path, broken: Path, ledger: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = closeout("broken", "-o", tmp_path / "done", "--ledger", ledger)
    assert "final: accuracy 0.7" in done.output
