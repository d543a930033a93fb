"""failed-calls-paid: episodes whose calls all failed have the reward of success."""

import random

from firstbreak.model import Sample, Samples, Status
from tests.detectors.look import found, look, silent
from tests.make import run

ID = "failed-calls-paid"


def episodes(paid: float, usual: float, n: int = 120) -> Samples:
    """A third of the episodes have failed calls only; the rewards are those of chances."""
    rng = random.Random(0)
    kept = []
    for i in range(n):
        broke = i % 3 == 0
        said = "Error: connection refused" if broke else f"order {i} is open"
        call = {"function": {"name": "look", "arguments": {"order": {"id": i}}}}
        messages = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": said}]
        reward = float(rng.random() < (paid if broke else usual))
        kept.append(Sample(step=float(i // 30), completion="...", messages=messages, reward=reward))
    return Samples(lambda: iter(kept), ("samples.jsonl",))


def test_failures_with_the_reward_of_success_are_found_in_four_steps() -> None:
    finding = found(ID, run({}, algorithm="grpo", samples=episodes(1.0, 0.5)))
    assert finding.numbers["failed"] == 40
    assert "40 of 40" in finding.message


def test_failures_that_are_not_paid_are_left_alone() -> None:
    assert silent(ID, run({}, algorithm="grpo", samples=episodes(0.0, 0.6)))


def test_tasks_that_are_solved_as_often_without_their_tools_are_left_alone() -> None:
    assert silent(ID, run({}, algorithm="grpo", samples=episodes(0.7, 0.75)))


def test_without_tools_it_does_not_apply() -> None:
    none = Samples(lambda: iter([Sample(completion="x", reward=1.0)]), ("samples.jsonl",))
    assert look(ID, run({}, algorithm="grpo", samples=none)).status is Status.NOT_APPLICABLE
