"""TRL for real: an injected fault is stopped, stored, replayed, and trained on from before it."""

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import firstbreak
from firstbreak.live.guard import bundle
from firstbreak.live.guard.adapters import trl
from firstbreak.live.guard.decision import Act
from firstbreak.live.guard.guard import Guard
from firstbreak.live.guard.replay import replay
from tests.lazy import lazy

torch = lazy("torch")
transformers = lazy("transformers")
language = lazy("tests.guard.language")

pytestmark = pytest.mark.trainer


@pytest.fixture(autouse=True)
def quiet() -> Any:
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        yield


@cache
def request() -> Any:
    class Request(transformers.TrainerCallback):  # type: ignore[misc]
        """Asks for a stop in mid-run."""

        def __init__(self, guard: Guard, at: int) -> None:
            self.guard, self.at = guard, at

        def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
            if state.global_step == self.at:
                self.guard.stop("seen enough")

    return Request


def test_from_the_fault_to_training_on(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path / "incidents", on_decision=lambda d: None)
    broken = language.trainer(tmp_path, nan_from=6, max_steps=20, save_steps=2)
    trl.attach(broken, guard)
    with guard:
        broken.train()

    decision = guard.decision
    assert decision.act is Act.ROLLBACK
    assert broken.state.global_step < 12
    assert all(p.isfinite().all() for p in broken.model.parameters()), "no broken update was applied"

    assert decision.bundle is not None
    manifest = bundle.read(decision.bundle)
    assert manifest["exact"]
    assert manifest["lost"] == {}
    same = replay(decision.bundle, language.trainer(tmp_path, nan_from=0))
    assert all(one.equal for one in same), same
    fixed = {one.name: one for one in replay(decision.bundle, language.trainer(tmp_path))}
    assert not fixed["grad.norm"].equal
    assert fixed["grad.norm"].now > 0

    assert decision.rollback is not None
    assert decision.rollback.step <= 6
    resumed = language.trainer(tmp_path, max_steps=8)
    resumed.train(resume_from_checkpoint=decision.rollback.path)
    assert resumed.state.global_step == 8


def test_an_update_of_ordinary_numbers_comes_out_the_same(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path / "incidents", on_decision=lambda d: None)
    training = language.trainer(tmp_path, max_steps=10, gradient_accumulation_steps=2, log_completions=True)
    training.num_completions_to_print = 0
    training.add_callback(request()(guard, 3))
    trl.attach(training, guard)
    training.train()
    assert training.state.global_step == 4
    assert guard.decision.bundle is not None
    again = {
        one.name: one
        for one in replay(guard.decision.bundle, language.trainer(tmp_path, gradient_accumulation_steps=2))
    }
    assert again.keys() == {"loss", "grad.norm"}
    assert all(one.equal for one in again.values()), again
    assert again["grad.norm"].then > 0
    samples = (guard.decision.bundle / "samples.jsonl").read_text()
    assert "sort:" in samples
    run = guard.run()
    assert (run.trainer, run.algorithm) == ("trl", "grpo")
    assert {"reward.mean", "kl.ref", "policy.entropy", "grad.norm"} <= {n.removesuffix(".k3") for n in run.series}


@pytest.mark.parametrize("kind", ["dpo", pytest.param("rloo", marks=pytest.mark.thorough)])
def test_the_other_trainers_of_the_library(tmp_path: Path, kind: str) -> None:
    guard = Guard("stop", folder=tmp_path / "incidents", on_decision=lambda d: None)
    broken = language.trainer(tmp_path, kind, nan_from=2, max_steps=10, save_steps=1)
    trl.attach(broken, guard)
    with guard:
        broken.train()
    assert guard.decision.act is Act.ROLLBACK
    assert all(p.isfinite().all() for p in broken.model.parameters())
    assert guard.run().algorithm == kind
    assert guard.decision.bundle is not None
    assert bundle.read(guard.decision.bundle)["lost"] == {}
    assert all(one.equal for one in replay(guard.decision.bundle, language.trainer(tmp_path, kind, nan_from=0)))


@cache
def clipping() -> Any:
    class Clipping(transformers.TrainerCallback):  # type: ignore[misc]
        """Logs, beside what the trainer does, that the clip cuts nearly everything."""

        def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **given: Any) -> None:
            logs["clip_ratio/region_mean"] = 0.9

    return Clipping


def test_the_learning_rate_is_halved_where_the_clip_cuts_most_of_the_batch(tmp_path: Path) -> None:
    guard = Guard("skip-update", folder=tmp_path, on_decision=lambda d: None)
    training = language.trainer(tmp_path, "dpo", num_train_epochs=0.5, lr_scheduler_type="constant")
    training.add_callback(clipping()())
    trl.attach(training, guard)
    training.train()
    rates = [row["learning_rate"] for row in training.state.log_history if "learning_rate" in row]
    assert rates[0] == 5e-4
    assert rates[-1] == 2.5e-4
    assert guard.run().config.number("total_steps") == len(rates) == 8, "half of 256 pairs, 16 at a time"


def test_a_wrong_sign_is_stopped_before_the_first_update(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path / "incidents", on_decision=lambda d: None)
    broken = language.trainer(tmp_path, max_steps=8)
    generate = broken._generate_and_score_completions

    def negated(inputs: Any) -> Any:
        made = generate(inputs)
        return {**made, "advantages": -made["advantages"]}

    broken._generate_and_score_completions = negated
    before = [p.detach().clone() for p in broken.model.parameters()]
    trl.attach(broken, guard)
    broken.add_callback(firstbreak.recorder())
    broken.train()
    assert guard.decision.act is Act.STOP
    assert guard.decision.by == "advantages-negated"
    assert guard.decision.finding is not None
    assert "opposite sign" in guard.decision.finding.message
    assert all(torch.equal(a, b) for a, b in zip(before, broken.model.parameters(), strict=True)), (
        "no update was applied"
    )


def test_a_sound_run_with_a_recorder_goes_on(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path / "incidents", on_decision=lambda d: None)
    training = language.trainer(tmp_path, max_steps=4)
    trl.attach(training, guard)
    training.add_callback(firstbreak.recorder())
    training.train()
    assert guard.decision.act is Act.CONTINUE
    assert training.state.global_step == 4
