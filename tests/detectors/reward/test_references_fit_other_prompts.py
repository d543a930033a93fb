"""references-fit-other-prompts: answers joined by position."""

import random

from firstbreak.model import Severity, Status
from tests.detectors.look import found, look, silent
from tests.detectors.samples import Row, dumped, numbered
from tests.make import run

ID = "references-fit-other-prompts"


def slips(answer: str, rng: random.Random) -> str:
    """The answer, often with one digit wrong."""
    place = rng.randrange(len(answer))
    return answer[:place] + str(rng.randrange(10)) + answer[place + 1 :]


def rows(shift: int) -> list[Row]:
    rng, asked = random.Random(0), numbered(20)
    return [
        (float(i), prompt, slips(right, rng), asked[(i + shift) % 20][1], 0.0)
        for i, (prompt, right) in enumerate(asked)
        for _ in range(4)
    ]


def test_references_of_other_prompts_are_found() -> None:
    finding = found(ID, run({}, algorithm="grpo", samples=dumped(rows(shift=1))), Severity.CRITICAL)
    assert "belong to other prompts" in finding.message


def test_wrong_answers_near_their_own_reference_are_healthy() -> None:
    assert silent(ID, run({}, algorithm="grpo", samples=dumped(rows(shift=0))))


def test_answers_that_do_not_depend_on_their_prompt_say_nothing_against_the_references() -> None:
    same = [(step, prompt, "00000", answer, reward) for step, prompt, _, answer, reward in rows(shift=1)]
    assert silent(ID, run({}, algorithm="grpo", samples=dumped(same)))


def test_references_of_another_form_are_not_compared() -> None:
    letters = [(step, prompt, said * 5, "a", reward) for step, prompt, said, _, reward in rows(shift=1)]
    assert look(ID, run({}, algorithm="grpo", samples=dumped(letters))).status is Status.NOT_MEASURED


def test_a_dump_without_references_is_not_measured() -> None:
    bare = [(step, prompt, said, "", reward) for step, prompt, said, _, reward in rows(shift=1)]
    assert look(ID, run({}, algorithm="grpo", samples=dumped(bare))).status is Status.NOT_MEASURED
