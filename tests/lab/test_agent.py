"""An environment writes a part of each completion, and that part is never learned."""

from __future__ import annotations

from dataclasses import replace

import pytest

torch = pytest.importorskip("torch")

from firstbreak_lab import agent  # noqa: E402
from firstbreak_lab.agent.registers import Registers  # noqa: E402
from firstbreak_lab.language.rollout import Engine, RolloutBatch, RolloutWorkers, scorer  # noqa: E402
from firstbreak_lab.language.warmup import warmed_up  # noqa: E402


@pytest.fixture(scope="module")
def batch() -> RolloutBatch:
    settings = agent.grpo()
    settings.batch_size, settings.n_samples = 16, 4
    settings.task = replace(settings.task, environment=Registers(0.2))
    engine = Engine(warmed_up(settings.task, 0.05, 0), seed=0)
    return RolloutWorkers(settings, engine, scorer(settings)).prepare_batch(None)


def test_every_completed_call_is_answered_by_the_machine(batch: RolloutBatch) -> None:
    machine = Registers(0.2)
    answered = 0
    for problem, text in zip(batch.problems, batch.completions, strict=True):
        for at, observed in enumerate(machine.observed(text)):
            if observed:
                assert text[at] == machine.respond(problem, text[:at])
                answered += 1
    assert answered > len(batch.problems)


def test_the_machines_tokens_are_outside_the_loss(batch: RolloutBatch) -> None:
    machine = Registers(0.2)
    for text, mask, length in zip(batch.completions, batch.mask, batch.lengths.tolist(), strict=True):
        own = [not seen for seen in machine.observed(text)] + [True] * (length - len(text))  # the end is the agent's
        assert mask[:length].tolist() == own
        assert not mask[length:].any()
