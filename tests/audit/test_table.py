"""One pass, bounded memory, the right sums."""

import random
import tracemalloc
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.audit.split_truth import PolicySample
from firstbreak.audit.table import KEPT, LATEST, LONGEST, MOST_PARTS, MOST_STEPS, SampleTable


def samples(n: int, steps: int, length: int = 20, group: int = 4) -> Iterator[PolicySample]:
    rng = random.Random(0)
    for i in range(n):
        text = "x" * rng.randint(1, length)
        rewards = {"accuracy": float(rng.random() < 0.5), "bonus": len(text) / 10}
        yield PolicySample(
            step=float(i * steps // n),
            prompt="p",
            completion=text,
            reward=sum(rewards.values()),
            rewards=rewards,
            group=str(i // group),
        )


def test_means_and_intervals_are_those_of_the_samples() -> None:
    all_samples = list(samples(4000, 10))
    table = SampleTable()
    table.add(all_samples)
    curve = table.curve("length")
    by_step = [[len(s.completion) for s in all_samples if s.step == step] for step in range(10)]
    assert curve.mean == pytest.approx([np.mean(lengths) for lengths in by_step])
    groups = [np.mean(np.reshape(lengths, (-1, 4)), axis=1) for lengths in by_step]
    error = [g.std() / np.sqrt(len(g) - 1) for g in groups]
    assert curve.high - curve.mean == pytest.approx(1.96 * np.array(error))


def test_correlations_are_those_within_groups() -> None:
    all_samples = list(samples(400, 2))
    table = SampleTable()
    table.add(all_samples)
    j = table.columns.index("length")
    own, with_reward = sum(row.within for _, row in table.rows)
    x = np.array([len(s.completion) for s in all_samples], float).reshape(-1, 4)
    y = np.array([s.reward for s in all_samples], float).reshape(-1, 4)
    x, y = x - x.mean(axis=1, keepdims=True), y - y.mean(axis=1, keepdims=True)
    assert with_reward[j] == pytest.approx(float((x * y).sum()))
    assert own[j] == pytest.approx(float((x * x).sum()))


def test_tables_of_parts_are_the_table_of_the_whole() -> None:
    """Also where a later part has other components, and in another order; and where there are too many of them."""

    def with_parts(sample: PolicySample, i: int) -> PolicySample:
        names = ("a", "b", "c") if i < 200 else ("d", "c", "a")
        return replace(sample, rewards={name: float(i % (3 + j)) for j, name in enumerate(names)})

    everything = [with_parts(sample, i) for i, sample in enumerate(samples(400, 6))]
    whole, merged = SampleTable(), SampleTable()
    whole.add(everything)
    for seed, (start, end) in enumerate(((0, 120), (120, 280), (280, 400))):
        part = SampleTable(seed)
        part.add(everything[start:end])
        merged.merge(part)
    assert merged.columns == whole.columns
    assert merged.parts == ["a", "b", "c", "d"]
    for (step, one), (same_step, other) in zip(whole.rows, merged.rows, strict=True):
        assert step == same_step
        for name in ("sums", "within", "alike"):
            assert getattr(other, name) == pytest.approx(getattr(one, name))
    for column in whole.columns:
        assert merged.series(column).values == pytest.approx(whole.series(column).values)
    assert {s.step for s in merged.latest} == {5.0}
    crowd = SampleTable()
    crowd.add([PolicySample(completion="x", rewards={str(j): 1.0 for j in range(2 * MOST_PARTS)})])
    crowd.merge(whole)
    assert len(crowd.parts) == MOST_PARTS
    assert "a" not in crowd.parts


def test_memory_does_not_grow_with_the_dump() -> None:
    def peak(n: int) -> int:
        table = SampleTable()
        tracemalloc.start()
        table.add(samples(n, 4, length=200, group=32))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(500)
    assert peak(8000) < 1.2 * peak(4000)


@pytest.mark.parametrize("steps", [MOST_STEPS, 5 * MOST_STEPS + 3])
def test_more_steps_than_rows_are_joined_and_none_is_lost(steps: int) -> None:
    table = SampleTable()
    table.add(PolicySample(step=float(step), completion="x" * (1 + step % 3), reward=1.0) for step in range(steps))
    assert len(table.rows) <= MOST_STEPS
    assert sum(row.samples for _, row in table.rows) == steps
    assert all(len(row.kept) <= KEPT for _, row in table.rows)
    assert sum(row.sums[0, table.columns.index("length")] for _, row in table.rows) == steps


def test_what_is_kept_is_a_fair_choice_and_short() -> None:
    table = SampleTable()
    table.add(
        PolicySample(step=1.0, completion=f"{i} " + "y" * 100_000 * (i % 50 == 0), reward=0.0) for i in range(2000)
    )
    kept = [int(sample.completion.split()[0]) for sample in table.latest]
    assert len(kept) == LATEST
    assert 850 < np.mean(kept) < 1150
    assert max(len(s.completion) for s in table.latest) < LONGEST + 100
    assert "characters left out" in max(table.latest, key=lambda s: len(s.completion)).completion


def test_the_latest_samples_are_those_of_the_newest_step_in_whatever_order() -> None:
    table = SampleTable()
    table.add(PolicySample(step=step, completion=str(step)) for step in (3.0, 9.0, 9.0, 1.0, 2.0))
    assert [s.completion for s in table.latest] == ["9.0", "9.0"]


@given(
    st.lists(
        st.builds(
            PolicySample,
            step=st.none() | st.floats(),
            completion=st.text(max_size=30),
            reward=st.none() | st.floats(allow_nan=False, allow_infinity=False, width=32),
            rewards=st.dictionaries(st.text(max_size=3), st.floats(), max_size=4),
            group=st.none() | st.text(max_size=2),
        ),
        max_size=40,
    )
)
def test_any_samples_can_be_counted(given_samples: list[PolicySample]) -> None:
    table = SampleTable()
    table.add(given_samples)
    assert table.samples == len(given_samples)
    for column in table.columns:
        assert len(table.curve(column).steps) <= len(table.rows)
