"""From a design to an updated diagnosis, on a trainer that takes no time."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from firstbreak.cli.experiment import _conclusion_lines
from firstbreak.dialects import dialects
from firstbreak.dialects.hyperparameters import canonical_config
from firstbreak.engine.catalogue import catalogue
from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.rank import rank
from firstbreak.experiments import conduct
from firstbreak.experiments.overrides import CannotOverride, resolve
from firstbreak.experiments.plan import applicable, propose
from firstbreak.experiments.reproduce import reproduce, smaller
from firstbreak.experiments.settings import ExperimentSettings, TrialLimits
from firstbreak.model import Config, Run
from firstbreak.readers.read import read
from tests.command import FIRSTBREAK

DESIGN = catalogue()["long-horizon"]
TRAINER = str(Path(__file__).with_name("trainer.py"))


@pytest.fixture
def original(tmp_path: Path) -> Run:
    subprocess.run([sys.executable, TRAINER, "--out", str(tmp_path / "original")], check=True)
    return read(tmp_path / "original")


def settings(*more: str, **changes: object) -> ExperimentSettings:
    command = (sys.executable, TRAINER, *more, "{overrides}", "--out", "{folder}/run")
    options = {"total_steps": "steps", "gamma": "gamma", "learning_rate": "learning_rate", "seed": "seed"}
    usual = {"logs": "{folder}/run", "syntax": "flags", "options": options, "now": {"gamma": 0.3}}
    return ExperimentSettings(**({"command": command} | usual | changes))  # type: ignore[arg-type]


def probability(run: Run, folder: Path, cause: str) -> float:
    """Of a cause, with all that the experiments have shown; 0 where it is not among those that are shown."""
    causes = diagnose(run, known=conduct.evidence(folder, run)).causes
    return next((c.probability for c in causes if c.id == cause), 0.0)


def test_an_experiment_changes_the_ranking_and_is_on_record(original: Run, tmp_path: Path) -> None:
    folder, files = tmp_path / "experiments", set(tmp_path.rglob("*"))
    before = probability(original, folder, "horizon-too-short")
    done = conduct.conduct(DESIGN, original, settings(), folder, execute=conduct.local(2))
    assert {p for p in tmp_path.rglob("*") if folder not in (p, *p.parents)} == files, "all is in its folder"
    assert done.answers[0].yes is True
    assert done.decision.decided.value == "go"
    assert done.share == pytest.approx(0.15, abs=0.01)
    after = probability(original, folder, "horizon-too-short")
    assert after / (1 - after) > 4 * before / (1 - before)
    (cause,) = [c for c in done.after.causes if c.id == "horizon-too-short"]
    (weight,) = [w for w in cause.evidence if w.finding == "experiment:long-horizon"]
    assert weight.weight > 1
    events = [entry["event"] for entry in conduct.entries(folder / conduct.LEDGER)]
    assert events == ["planned", "trial", "answered", "concluded"]
    context = json.loads((folder / "long-horizon" / "firstbreak-context.json").read_text())
    assert context["config"]["experiment"] == "long-horizon"
    metrics = folder / "long-horizon" / "treated-0" / "run" / "metrics.jsonl"
    written = metrics.stat().st_mtime_ns
    again = conduct.conduct(DESIGN, original, settings(), folder, execute=conduct.local(1))
    assert metrics.stat().st_mtime_ns == written, "what has been run is not run again"
    assert again.answers == done.answers


def test_an_experiment_that_changes_nothing_speaks_against_its_cause(original: Run, tmp_path: Path) -> None:
    folder = tmp_path / "experiments"
    before = probability(original, folder, "horizon-too-short")
    given = settings(options={"total_steps": "steps", "gamma": "learning_rate"})  # an option without effect
    done = conduct.conduct(DESIGN, original, given, folder, execute=conduct.local(1))
    assert done.answers[0].yes is False
    assert probability(original, folder, "horizon-too-short") < before


def test_an_arm_ends_as_soon_as_the_answer_is_clear(
    original: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conduct, "CHECK_SECONDS", 0.05)
    slow = settings("--wait-at", "100", now={"gamma": 0.3, "total_steps": 4000})  # of 600: it never ends by itself
    done = conduct.conduct(DESIGN, original, slow, tmp_path, execute=conduct.local(1))
    assert done.trials[0].state == "stopped"
    assert done.answers[0].yes is True
    assert done.share == 100 / 4000


def test_progress_counts_steps_of_running_trials(
    original: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(conduct, "CHECK_SECONDS", 0.05)
    seen: list[tuple[float, int]] = []
    slow = settings("--wait-at", "100", now={"gamma": 0.3, "total_steps": 4000})  # its trials have 600 steps
    note = lambda done, trials: seen.append((done, trials))  # noqa: E731
    conduct.conduct(DESIGN, original, slow, tmp_path, seeds=2, execute=conduct.local(2), moved=note)
    assert {trials for _, trials in seen} == {2}
    done = [done for done, _ in seen]
    assert done == sorted(done)
    assert any(0 < share < 1 for share in done)
    assert done[-1] == 2  # stopped early: nothing is left


def test_a_terminal_shows_a_bar_with_the_time_left(original: Run, tmp_path: Path) -> None:
    options = 'options = { total_steps = "steps", gamma = "gamma", learning_rate = "learning_rate", seed = "seed" }'
    command = json.dumps(f"{sys.executable} {TRAINER} {{overrides}} --out {{folder}}/run")
    (tmp_path / "firstbreak.toml").write_text(
        f'[experiment]\ncommand = {command}\nlogs = "{{folder}}/run"\nsyntax = "flags"\n{options}\nnow = {{ gamma = 0.3 }}\n'
    )
    line = [*FIRSTBREAK, "experiment", "run", "long-horizon", "original"]
    mine, theirs = pty.openpty()
    with subprocess.Popen(
        line, cwd=tmp_path, stdout=subprocess.PIPE, stderr=theirs, env={**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    ) as process:
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how Linux says that the other end is closed
            while chunk := os.read(mine, 1 << 16):
                shown += chunk
        assert process.stdout is not None
        told = process.stdout.read().decode()
    os.close(mine)
    assert process.returncode == 0, shown
    assert b"trials" in shown
    assert b"1/1" in shown
    assert b"left" in shown
    assert b"treated-0" in shown  # how the trial ended stays on the screen
    assert "left" not in told.split("\n")[0]
    assert told.startswith("long-horizon: ")


def test_a_failed_trial_leaves_the_question_open_and_what_an_earlier_one_said(original: Run, tmp_path: Path) -> None:
    for folder, first in ((tmp_path / "alone", False), (tmp_path / "later", True)):
        if first:
            conduct.conduct(DESIGN, original, settings(), folder, execute=conduct.local(1))
        said = probability(original, folder, "horizon-too-short")
        done = conduct.conduct(DESIGN, original, settings("--fail"), folder, execute=conduct.local(1))
        assert done.answers[0].yes is None
        assert "exit code 1: out of memory" in done.decision.reason
        assert done.last_lines == ("out of memory",)
        assert "out of memory" in (folder / "long-horizon" / "treated-0" / "output.txt").read_text()
        assert probability(original, folder, "horizon-too-short") == said
        assert conduct.entries(folder / conduct.LEDGER)[-1]["event"] == "not_counted"  # the plan still has it
        lines = "\n".join(_conclusion_lines(done))
        assert "Not counted: trial treated-0 failed" in lines
        assert "\n  out of memory\n" in lines


def test_a_trial_that_is_too_short_is_no_answer_and_the_plan_keeps_the_experiment_at_the_length_that_would_do(
    original: Run, tmp_path: Path
) -> None:
    ledger = tmp_path / conduct.LEDGER
    before = probability(original, tmp_path, "horizon-too-short")
    given = settings(limits=TrialLimits(steps=5))
    done = conduct.conduct(DESIGN, original, given, tmp_path, execute=conduct.local(1))
    assert done.answers[0].yes is None
    assert probability(original, tmp_path, "horizon-too-short") == before
    assert conduct.concluded(ledger) == set()
    longer = conduct.lengths(ledger)["long-horizon"]
    assert 0.03 <= longer <= 0.15  # of 200 steps: 6 points or a few more
    assert "too short to tell: --length" in "\n".join(_conclusion_lines(done))
    ranked = rank(Inputs(original), check(original))
    (kept,) = (p for p in propose(original, ranked, settings(), [], {"long-horizon": 0.5}) if p.design.id == DESIGN.id)
    assert kept.share == 0.5
    conduct.conduct(DESIGN, original, settings(), tmp_path, execute=conduct.local(1))
    assert conduct.concluded(ledger) == {"long-horizon"}
    assert conduct.lengths(ledger) == {}


def test_a_trial_that_ends_well_and_logs_nothing_did_not_speak(original: Run, tmp_path: Path) -> None:
    given = settings(command=(sys.executable, "-c", "print('nothing to do')", "{overrides}"))
    done = conduct.conduct(DESIGN, original, given, tmp_path, execute=conduct.local(1))
    assert "logged no metric in" in done.failure
    assert done.last_lines == ("nothing to do",)
    assert conduct.concluded(tmp_path / conduct.LEDGER) == set(), "the plan keeps it"


def test_what_the_ranking_has_used_is_not_counted_again_when_an_experiment_reads_it(
    original: Run, tmp_path: Path
) -> None:
    def after(run: Run) -> tuple[float, float]:
        before = probability(run, tmp_path / "none", "horizon-too-short")
        return before, probability(run, tmp_path, "horizon-too-short")

    answers = [{"asks": "is the discount factor small?", "yes": True, "reason": "gamma in force: 0.3"}]
    conduct.enter(tmp_path / conduct.LEDGER, "answered", experiment="invariants", answers=answers)
    before, again = after(original)  # its config.json holds gamma = 0.3
    assert 0.05 < before < 0.5
    assert again < before + 0.1
    unknown = replace(original, config=Config(values={}, keys=original.config.keys))
    before, new = after(unknown)
    assert new > before + 0.3


def test_what_does_not_reach_the_trainer_proves_nothing_and_leaves_other_questions_answered(
    original: Run, tmp_path: Path
) -> None:
    toy, every = (
        conduct.conduct(catalogue()[name], original, settings(hooks=True), tmp_path / name, execute=conduct.local(1))
        for name in ("toy-reward", "invariants")
    )
    assert toy.answers[0].yes is None
    assert "did not change the trainer" in toy.answers[0].reason
    assert conduct.concluded(tmp_path / "toy-reward" / conduct.LEDGER) == set()
    assert not any("did not change the trainer" in answer.reason for answer in every.answers)


def test_seeds_differ_and_the_first_is_the_originals_own(original: Run, tmp_path: Path) -> None:
    arms = conduct.prepare(DESIGN, original, settings(), tmp_path, seeds=3)
    seeds = [t.arguments[t.arguments.index("--seed") + 1] if "--seed" in t.arguments else None for t in arms["treated"]]
    assert seeds == [None, "1", "2"]
    assert len({trial.folder for trial in arms["treated"]}) == 3


def test_limits_and_the_place_of_options_are_checked_before_anything_runs(original: Run, tmp_path: Path) -> None:
    for limits, expected in ((TrialLimits(cost=100.0, rate=10.0), "30"), (TrialLimits(steps=5), "5")):
        (trial,) = conduct.prepare(DESIGN, original, settings(limits=limits), tmp_path)["treated"]
        assert trial.arguments[trial.arguments.index("--steps") + 1] == expected
    with pytest.raises(CannotOverride, match=r"more than limits\.cost"):
        conduct.prepare(DESIGN, original, settings(limits=TrialLimits(cost=0.1, rate=10.0)), tmp_path)
    with pytest.raises(CannotOverride, match="overrides"):
        conduct.prepare(DESIGN, original, replace(settings(), command=("train",)), tmp_path)


def test_what_two_experiments_measure_of_one_policy_counts_once(original: Run, tmp_path: Path) -> None:
    asks = "do the advantages have the wrong sign?"
    told = []
    for names in ([], ["invariants"], ["environment-probe", "invariants"]):
        folder = tmp_path / f"asked-{len(names)}"
        folder.mkdir()
        for name in names:
            answers = [{"asks": asks, "yes": True, "reason": "they have"}]
            conduct.enter(folder / conduct.LEDGER, "answered", experiment=name, answers=answers)
        told.append(probability(original, folder, "advantage-sign-wrong"))
    assert told[0] < told[1]
    assert told[2] == pytest.approx(told[1])


def test_the_held_out_score_before_and_after_is_told_with_the_conclusion(tmp_path: Path) -> None:
    place = tmp_path / "original"
    subprocess.run([sys.executable, TRAINER, "--evaluate", "--out", str(place)], check=True)
    done = conduct.conduct(DESIGN, read(place), settings("--evaluate"), tmp_path, execute=conduct.local(1))
    told = "Held-out score (eval.accuracy), before -> after: treated 0.2 -> 0.32 (step 0 to 30)"
    assert told in " ".join("\n".join(_conclusion_lines(done)).split())
    assert conduct.entries(tmp_path / conduct.LEDGER)[-1]["held_out"] == told


def test_what_a_minimal_reproduction_cannot_measure_has_its_reason(original: Run, tmp_path: Path) -> None:
    small, answers = reproduce(original, settings(complete=True, hooks=False), tmp_path, execute=conduct.local(1))
    assert small == {"total_steps": 20}
    learns, *others = answers.values()
    assert learns.yes is not None
    assert [a.yes for a in others] == [None] * 4
    assert "check env" in others[0].reason
    assert "logs no evaluation" in others[1].reason
    assert "value_learning_rate" in others[2].reason
    assert "no groups" in others[3].reason
    assert conduct.evidence(tmp_path, original) == {}, "a smaller run does not rank the causes of a larger one"


def test_a_minimal_reproduction_is_smaller_where_the_trainer_has_options() -> None:
    given = ExperimentSettings(command=("train",), values={"small_model": "tiny"})
    config = {"data": {"train_batch_size": 512}, "actor_rollout_ref": {"actor": {"ppo_mini_batch_size": 128}}}
    verl = Run(path="x", trainer="verl", config=canonical_config(config, dialects()["verl"]))
    told = resolve(applicable(smaller(verl, given), verl, given), verl, given)
    assert told == {"model": "tiny", "batch_size": 128, "minibatch_size": 32, "max_prompts": 512}
    grouped = {"per_device_train_batch_size": 8, "generation_batch_size": 16, "num_generations": 8}
    trl = Run(path="x", trainer="trl", algorithm="grpo", config=canonical_config(grouped, dialects()["trl"]))
    told = resolve(applicable(smaller(trl, given), trl, given), trl, given)
    assert told == {"model": "tiny", "minibatch_size": 4, "data": "few"}, "two whole groups become one"
