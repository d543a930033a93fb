"""The language-model families of the population: a silent fault changes nothing, an acting one does, the log can be read."""

from __future__ import annotations

import importlib
import json
import math
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest

from firstbreak.model import Link
from firstbreak.readers.read import read
from tests.lazy import lazy, needs

firstbreak_lab_drawn = lazy("firstbreak_lab.drawn")
families__text = lazy("firstbreak_lab.population.families._text")
population_family = lazy("firstbreak_lab.population.family")

pytestmark = [needs("trl"), pytest.mark.trainer, pytest.mark.slow]

NAMES = ("trl-grpo", "trl-rloo", "trl-dpo", "trl-reward", "handwritten-grpo")
FAMILIES = {
    name: importlib.import_module(f"firstbreak_lab.population.families.{name.replace('-', '_')}") for name in NAMES
}
PAIRS = [(name, fault) for name in NAMES for fault in FAMILIES[name].FAULTS.values()]
CLOCK = ("time", "second", "/s", "samples_per", "steps_per", "flos")

#: a short run with an evaluation, of a policy that is sometimes right
SHORT: Mapping[str, Any] = {
    "question": "flip", "digits": 2, "width": 16, "layers": 1, "skill": 0.3, "steps": 6, "log_every": 1, "evaluation": True,
    "eval_every": 2, "eval_problems": 8, "logger": "state", "config": False, "prompts": 32, "iterations": 2, "reused": True,
    "learning_rate": 3e-3, "style": "loop", "writes": "jsonl", "batch": 4, "group": 4, "completions": 16, "pairs": 8,
    "max_completion_length": 6, "limit": 6, "temperature": 1.0, "reward_name": "accuracy_reward", "loss_type": "grpo",
    "scale_rewards": "group", "divides_by_std": True, "guards_nan": True, "schedule": "constant", "warmup_steps": 0,
}  # fmt: skip


def settings(name: str, **changes: Any) -> dict[str, Any]:
    """Drawn settings, made short."""
    drawn = FAMILIES[name].draw(np.random.default_rng(1), 40)
    short = {key: value for key, value in SHORT.items() if key in drawn}
    return drawn | short | ({"loss_type": "sigmoid"} if name == "trl-dpo" else {}) | changes


def trained(
    name: str, broken: firstbreak_lab_drawn.BrokenMechanism, seed: int = 5, **changes: Any
) -> tuple[list[dict[str, Any]], firstbreak_lab_drawn.Trained]:
    """The log of a short run without its clock, and what is true of it."""
    with TemporaryDirectory() as folder:
        out = Path(folder)
        true = FAMILIES[name].train(settings(name, **changes), seed, broken, out)
        if (state := out / "trainer_state.json").exists():
            rows = json.loads(state.read_text())["log_history"]
        else:
            rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    return [{key: row[key] for key in row if not any(part in key for part in CLOCK)} for row in rows], true


@cache
def healthy(name: str, seed: int = 5) -> str:
    """The log of the healthy run."""
    return json.dumps(trained(name, firstbreak_lab_drawn.BrokenMechanism(), seed)[0])


def shows(name: str, fault: str, severity: float, onset: float, seed: int) -> bool:
    """Whether a fault changes the log of the run of a seed."""
    broken = firstbreak_lab_drawn.BrokenMechanism(fault, severity, onset, seed=seed)
    return json.dumps(trained(name, broken, seed)[0]) != healthy(name, seed)


@pytest.mark.parametrize(("name", "fault"), PAIRS, ids=[f"{name}-{fault.name}" for name, fault in PAIRS])
def test_a_fault_changes_the_run_and_with_severity_0_it_does_not(
    name: str, fault: population_family.TrainerFault
) -> None:
    least = fault.name == "updates-do-nothing" or fault.unit.startswith(
        ("bits", "tokens", "temperature", "times the temp")
    )
    severity = min(fault.severity) if least else max(fault.severity)
    onset = 0.0 if fault.from_start else 0.3
    (silent, _), (acting, true) = (
        trained(name, firstbreak_lab_drawn.BrokenMechanism(fault.name, size, onset, seed=5)) for size in (0.0, severity)
    )
    assert json.dumps(silent) == healthy(name)
    assert math.isfinite(true.score)
    if fault.link is Link.SYSTEMS:
        assert json.dumps(acting) == healthy(name)
        assert true.seconds > 0
    elif (
        json.dumps(acting) == healthy(name) and fault.name not in UNSEEN
    ):  # a policy that gets equal rewards is not trained
        assert any(shows(name, fault.name, severity, onset, seed) for seed in range(6, 12))
    if not fault.from_start:  # what was logged before is the same
        assert json.dumps(acting[:1]) == json.dumps(json.loads(healthy(name))[:1])


#: faults that so short a run need not show
UNSEEN = frozenset({"top-p-truncated", "tiny-spread-amplified", "eos-not-in-loss"})


@pytest.mark.parametrize("name", NAMES)
def test_every_link_can_break_or_has_a_reason(name: str) -> None:
    family = FAMILIES[name]
    assert name == family.NAME
    assert {fault.link for fault in family.FAULTS.values()} | set(family.CANNOT) == set(Link)
    assert not {fault.link for fault in family.FAULTS.values()} & set(family.CANNOT)
    for seed in range(20):
        json.dumps(drawn := family.draw(np.random.default_rng(seed), 60))
        assert {fault.needs for fault in family.FAULTS.values() if fault.needs} <= set(drawn)


@pytest.mark.parametrize(
    ("name", "changes"),
    [
        (name, {"logger": logger})
        for name in NAMES[:1]
        for logger in ("state", "console", "bar", "tensorboard", "csv", "jsonl")
    ]
    + [("trl-rloo", {}), ("trl-dpo", {}), ("trl-reward", {})]
    + [
        ("handwritten-grpo", {"writes": writes, "style": style})
        for writes in ("jsonl", "printed", "csv")
        for style in ("plain", "verl")
    ],
)
def test_a_log_is_read(name: str, changes: dict[str, Any], tmp_path: Path) -> None:
    FAMILIES[name].train(settings(name, steps=12, **changes), 5, firstbreak_lab_drawn.BrokenMechanism(), tmp_path)
    run = read(tmp_path)
    assert len(run.series) >= 5
    assert max(len(series.values) for series in run.series.values()) >= 12


def test_the_exact_score_is_what_sampling_gives() -> None:
    import torch
    from firstbreak_lab.language.model import decode
    from firstbreak_lab.population.families._text import TextEngine

    policy, asked = families__text.warmed_up(SHORT, 3), families__text.problems("flip", 2, 50, 0, held_out=True) * 40
    prompts, _ = families__text.texts(asked)
    torch.manual_seed(0)
    said = decode(
        TextEngine(firstbreak_lab_drawn.BrokenMechanism()).sample(policy, prompts, torch.ones_like(prompts), 6, 1.0)
    )
    right = np.mean([text == each.answer for text, each in zip(said, asked, strict=True)])
    assert right == pytest.approx(families__text.accuracy(policy, asked), abs=0.04)


def test_few_bits_round_and_many_do_not() -> None:
    import torch

    weights = torch.randn(20, 8)
    assert torch.equal(families__text.rounded(weights, 7), weights.bfloat16().float())
    assert len(families__text.quantised(weights, 2)[0].abs().unique()) <= 2
