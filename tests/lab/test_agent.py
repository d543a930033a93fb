"""An environment writes a part of each completion, and that part is never learned."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tests.lazy import lazy

torch = lazy("torch")
agent = lazy("firstbreak_lab.agent")
registers = lazy("firstbreak_lab.agent.registers")
model = lazy("firstbreak_lab.language.model")
rollout = lazy("firstbreak_lab.language.rollout")
warmup = lazy("firstbreak_lab.language.warmup")


@pytest.fixture(scope="module")
def batch() -> rollout.RolloutBatch:
    settings = agent.grpo()
    settings.batch_size, settings.n_samples = 16, 4
    settings.task = replace(settings.task, environment=registers.Registers(0.2))
    engine = rollout.Engine(warmup.warmed_up(settings.task, 0.05, 0), seed=0)
    return rollout.RolloutWorkers(settings, engine, rollout.scorer(settings)).prepare_batch(None)


def test_every_completed_call_is_answered_by_the_machine(batch: rollout.RolloutBatch) -> None:
    machine = registers.Registers(0.2)
    for problem, text in zip(batch.problems, batch.completions, strict=True):
        for at, observed in enumerate(machine.observed(text)):
            if observed:
                assert text[at] == machine.respond(problem, text[:at])


def test_a_call_in_the_tokens_is_answered_in_the_tokens() -> None:
    """What the machine says is the next token of the row that ends with a call, and of no other row."""
    task = agent.grpo().task
    problems = task.draw(random.Random(0), 2)
    call = f"?{registers.NAMES[0]}"
    rows = model.encode([f"{problems[0].prompt}{call}", f"{problems[1].prompt}{2 * registers.NAMES[0]}"])
    answers = rollout.responder(task, problems, len(problems[0].prompt))(rows)
    assert model.decode(answers[:1, None]) == [task.environment.respond(problems[0], call)]
    assert answers[1] == model.PAD


def test_the_machines_tokens_are_outside_the_loss(batch: rollout.RolloutBatch) -> None:
    machine = registers.Registers(0.2)
    for text, mask, length in zip(batch.completions, batch.mask, batch.lengths.tolist(), strict=True):
        own = [not seen for seen in machine.observed(text)] + [True] * (length - len(text))  # the end is the agent's
        assert mask[:length].tolist() == own
        assert not mask[length:].any()
