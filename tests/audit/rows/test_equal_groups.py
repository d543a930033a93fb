"""equal-groups: all completions of a prompt have the same reward."""

import random
from collections.abc import Callable, Iterator

from firstbreak.audit.audit import audit
from firstbreak.model import Sample, Status
from tests.audit.dumps import dump, honest, plain, row
from tests.there import there

ID = "equal-groups"


def groups(right: Callable[[random.Random, float], float], steps: int = 30) -> Iterator[Sample]:
    """Four prompts at each step, four completions each; `right` is the chance of a prompt's completions."""
    rng = random.Random(0)
    for step in range(steps):
        for prompt in range(4):
            chance = right(rng, step / steps)
            for i in range(4):
                reward = float(rng.random() < chance)
                yield Sample(
                    step=float(step), prompt=f"p{step}-{prompt}", completion=f"{i} {rng.random()}", reward=reward
                )


def test_groups_that_are_all_right_or_all_wrong_are_found() -> None:
    found = there(row(audit(groups(lambda rng, t: float(rng.random() < 0.5))), ID).finding)
    assert found.numbers["share"] == 1


def test_where_the_late_groups_are_few_all_groups_count() -> None:
    there(row(audit(groups(lambda rng, t: rng.choice((0.0, 1.0, 0.0, 1.0, 0.5)), steps=12)), ID).finding)
    assert row(audit(groups(lambda rng, t: rng.choice((0.0, 1.0, 0.5)), steps=12)), ID).finding is None


def test_a_solved_task_is_expected() -> None:
    assert row(audit(groups(lambda rng, t: 0.99)), ID).expected


def test_mixed_groups_are_left_alone() -> None:
    assert row(audit(dump(plain, honest)), ID).status is Status.OK


def test_without_groups_it_is_not_measured() -> None:
    assert row(audit(dump(plain, honest, each=1)), ID).status is Status.NOT_MEASURED


def test_prompts_that_are_interleaved_are_groups() -> None:
    samples = sorted(groups(lambda rng, t: float(rng.random() < 0.5)), key=lambda s: (s.step, s.completion[0]))
    assert row(audit(samples), ID).finding is not None
