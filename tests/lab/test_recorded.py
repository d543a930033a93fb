"""The language trainer with the recorder: the same run, bit for bit, and proofs beside it."""

import json
from pathlib import Path
from typing import Any

import pytest

import firstbreak
from tests.lazy import lazy

torch = lazy("torch")
running = lazy("firstbreak_lab.running")
language = lazy("firstbreak_lab.language.trainer")

SMALL = {"total_train_steps": 4, "batch_size": 4, "eval_problems": 16, "warmup_accuracy": 0.02}


def trained(
    fault: str, base: str, out: Path, monkeypatch: pytest.MonkeyPatch, **options: Any
) -> tuple[float, bytes, Path]:
    """The true score of a short run, its last weights, and its folder."""
    kept: list[Any] = []
    true_score = language.true_score

    def scored(policy: Any, settings: Any) -> float:
        kept.append(torch.cat([p.detach().reshape(-1) for p in policy.parameters()]))
        return true_score(policy, settings, 32)

    monkeypatch.setattr(language, "true_score", scored)
    run = running.run(fault, out=out, base=base, seed=1, options=SMALL | options)
    monkeypatch.undo()
    return json.loads((out / "label.json").read_text())["score"], kept[0].numpy().tobytes(), run


@pytest.mark.parametrize(
    ("fault", "base"),
    [
        ("verdicts-noisy", "language/grpo-sort"),
        ("untouched", "language/ppo-sort"),
        ("untouched", "agent/grpo-registers"),
    ],
)
def test_the_recorder_changes_no_bit_of_a_run(
    fault: str, base: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Noisy verdicts draw random numbers whenever they are asked: the recorder asks copies."""
    plain = trained(fault, base, tmp_path / "plain", monkeypatch)
    seen = trained(fault, base, tmp_path / "seen", monkeypatch, recorder=firstbreak.recorder)
    assert seen[:2] == plain[:2]
    assert any(name.startswith("proof.") for name in firstbreak.read(seen[2]).series)
    assert not any(name.startswith("proof.") for name in firstbreak.read(plain[2]).series)


def proofs(run: Path) -> set[str]:
    return {o.detector for o in firstbreak.check(firstbreak.read(run)) if "proof" in o.roles and o.finding is not None}


def test_a_sound_run_is_accused_of_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for base in ("language/grpo-sort", "language/ppo-sort", "language/async-sort", "agent/grpo-registers"):
        _, _, run = trained("untouched", base, tmp_path / base, monkeypatch, recorder=firstbreak.recorder)
        assert not proofs(run), base


@pytest.mark.parametrize(
    ("fault", "base", "proof"),
    [
        ("advantage-sign-flipped", "language/ppo-sort", "advantages-negated"),
        ("temperature-not-in-logprob", "language/grpo-sort", "ratio-not-one"),
        ("verdicts-noisy", "language/grpo-sort", "rewards-not-repeatable"),
        ("prompts-narrow", "language/grpo-sort", "symbols-never-trained"),
        ("gradients-not-finite", "language/grpo-sort", "tensor-not-finite"),
        ("updates-rounded-away", "language/grpo-sort", "weights-shortened"),
    ],
)
def test_a_fault_is_proved_in_a_few_steps(
    fault: str, base: str, proof: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def everything(folder: Path) -> Any:
        return firstbreak.recorder(folder, share=1e9)

    options = {"recorder": everything, "batch_size": 16, "total_train_steps": 6, "warmup_accuracy": 0.05}
    _, _, run = trained(fault, base, tmp_path, monkeypatch, **options)
    assert proof in proofs(run)
