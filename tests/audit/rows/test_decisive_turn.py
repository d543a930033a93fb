"""decisive-turn: one turn of the episode decides the outcome."""

import random

import pytest

from firstbreak.audit.audit import audit
from firstbreak.model import Sample, Status
from tests.audit.dumps import dump, honest, plain, row, series
from tests.there import there

ID = "decisive-turn"


def episode(rng: random.Random, *, decisive: bool) -> Sample:
    turns = [rng.choice(("open file", "list folder", "run tests")) for _ in range(5)]
    reward = float(turns[2] == "run tests") if decisive else float(rng.random() < 0.4)
    return Sample(completion="".join(f"assistant: {turn} now\ntool: fine\n" for turn in turns), reward=reward)


def calls(rng: random.Random, decides: str) -> Sample:
    """Eight calls of one tool; the fourth decides by its argument, by what it gets back, or by failing."""
    messages: list[dict[str, object]] = []
    good = rng.random() < 0.5
    for turn in range(8):
        here = good if turn == 3 else rng.random() < 0.5
        query = ("paris" if here else "rome") if decides == "argument" else f"q{rng.random()}"
        said = {"answer": "three rows" if here else "no rows", "failure": str(turn) if here else "Error: timed out"}
        call = {"type": "function", "function": {"name": "search", "arguments": f'{{"query": "{query}"}}'}}
        messages += [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "content": said.get(decides, "x")}]
    return Sample(completion=str(messages), messages=messages, reward=float(good))


@pytest.mark.parametrize("decides", ["argument", "answer", "failure"])
def test_a_turn_is_judged_by_what_its_call_holds_and_what_the_tool_answered(decides: str) -> None:
    found = there(row(audit(series(lambda rng, t: calls(rng, decides), steps=2, each=200)), ID).finding)
    assert found.numbers["turn"] == 4


def test_the_turn_is_found() -> None:
    found = there(row(audit(series(lambda rng, t: episode(rng, decisive=True), steps=2, each=200)), ID).finding)
    assert found.numbers["turn"] == 5  # the third action; the tool's answers are turns too


def test_outcomes_that_no_turn_decides_are_left_alone() -> None:
    luck = audit(series(lambda rng, t: episode(rng, decisive=False), steps=2, each=200))
    assert row(luck, ID).status is Status.OK


def test_completions_of_one_turn_have_no_decisive_one() -> None:
    assert row(audit(dump(plain, honest)), ID).status is Status.NOT_APPLICABLE
