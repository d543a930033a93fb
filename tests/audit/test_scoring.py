"""The reward against what is true."""

import random
from collections.abc import Iterable, Iterator
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstbreak.audit.audit import audit
from firstbreak.audit.marks import HACK, KEEP, key_of, load, save
from firstbreak.audit.scoring import OWN, TruthStore, same_answer
from firstbreak.model import Sample
from firstbreak.readers import Unreadable
from tests.audit.dumps import by_length, dump, honest, longer_and_longer, plain
from tests.lazy import lazy
from tests.there import there

stats = lazy("scipy.stats")


@pytest.mark.parametrize(
    ("completion", "reference", "same"),
    [
        ("so it is\n#### 1,042.0", "1042", True),
        (r"\boxed{42}", "#### 42", True),
        ("The answer is 41.", "42", False),
        ("Paris.", "paris", True),
        ("", "", True),
        ("", "42", False),
    ],
)
def test_answers_are_compared_as_text_and_as_numbers(completion: str, reference: str, same: bool) -> None:
    assert same_answer(completion, reference) is same


@settings(deadline=None)  # scipy, imported on the first call, takes its time
@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-5, 5)), min_size=12, max_size=60))
def test_the_correlation_is_spearmans(pairs: list[tuple[float, float]]) -> None:
    x, y = zip(*pairs, strict=True)
    truth_store = TruthStore()
    list(truth_store.watch(Sample(completion="x", reward=a, meta={"gold": b}) for a, b in pairs))
    found = truth_store.agreements()[0].correlation
    if len(set(x)) > 1 and len(set(y)) > 1:
        assert found == pytest.approx(float(stats.spearmanr(x, y).statistic), abs=1e-9)


def test_proxy_against_gold_turns_over() -> None:
    """The curve of over-optimisation: gold rises with the proxy, and then falls."""

    def samples() -> Iterator[Sample]:
        for proxy in np.linspace(0, 2, 200):
            yield Sample(completion=str(proxy), reward=float(proxy), meta={"gold_score": float(proxy - proxy**2 / 1.5)})

    truth_store = TruthStore()
    list(truth_store.watch(samples()))
    curve = truth_store.agreements()[0].curve
    proxies, golds, _ = zip(*curve, strict=True)
    assert list(proxies) == sorted(proxies)
    assert 0 < int(np.argmax(golds)) < len(golds) - 1
    assert truth_store.agreements()[0].mismatches[0].reward == pytest.approx(2.0)


def test_one_outlier_hides_no_bad_sample_with_a_high_reward() -> None:
    rewards = [*np.linspace(0, 1, 99), 50.0]
    found = known(Sample(completion=str(r), reward=r, meta={"gold": float(r < 0.8)}) for r in rewards).agreements()[0]
    assert (found.high, found.mismatched) == (10, 10)
    alike = known(Sample(completion=str(i), reward=0.0, meta={"gold": i % 2}) for i in range(20)).agreements()[0]
    assert (alike.high, alike.mismatched) == (0, 0)


def test_human_marks_feed_the_correlation(tmp_path: Path) -> None:
    samples = list(dump(longer_and_longer, by_length, reference=False))
    truth_store = TruthStore()
    marks = {}
    for seen in truth_store.watch(samples):
        marks[key_of(seen)] = {"mark": HACK if len(seen.completion) > 500 else KEEP}
    file = tmp_path / "marks.json"
    save(file, marks)
    result = audit(samples, marks=load(file))
    said = there(next(o.finding for o in result.outcomes if o.detector == "reward-truth-mismatch"))
    assert "human marks" in said.message
    found = result.hacking_test.agreements[0]
    assert found.source == "human marks"
    assert found.correlation < -0.5
    assert found.mismatches
    proxies, kept, _ = zip(*found.curve, strict=True)
    assert list(proxies) == sorted(proxies)
    assert kept[0] == 1.0, "what earns little was marked as kept"
    assert kept[-1] == 0.0, "and what earns much as a hack: the proxy against the marks turns over"


def known(samples: Iterable[Sample]) -> TruthStore:
    truth_store = TruthStore()
    list(truth_store.watch(samples))
    return truth_store


def test_honesty_is_told_from_a_step_on() -> None:
    truth_store = known(dump(plain, honest))
    found = there(truth_store.truth_correlation(0))
    assert found.correlation == pytest.approx(1.0)
    assert found.source == "right answer"
    assert truth_store.truth_correlation(1e9) is None


def test_what_reward_and_truth_both_gain_over_the_run_is_no_honesty() -> None:
    """Both rise, each for a reason of its own: within a step the one says nothing about the other."""
    rng = random.Random(0)
    found = known(
        Sample(step=float(i), completion=str(rng.random()), reward=i + rng.random(), meta={"gold": i + rng.random()})
        for i in range(40)
        for _ in range(16)
    ).truth_correlation()
    assert found is not None
    assert abs(found.correlation) < 0.2
    assert found.interval[0] < 0 < found.interval[1]


def test_a_reward_that_pays_right_and_wrong_alike_goes_by_no_truth() -> None:
    found = there(known(dump(plain, lambda text, right: {"format": 1.0}, skill=lambda t: 0.5)).late_correlation(0))
    assert found.interval == (0.0, 0.0)


def test_where_all_are_right_and_earn_alike_there_is_nothing_to_get_wrong() -> None:
    found = there(known(dump(plain, honest, skill=lambda t: 1.0)).truth_correlation())
    assert found.correlation == 1.0


def test_samples_of_one_prompt_are_no_independent_witnesses() -> None:
    """The interval of eight prompts whose samples are all alike is that of eight samples, not of a hundred."""

    def copies(each: int) -> Iterable[Sample]:
        rng = random.Random(1)
        for prompt in range(32 // each):
            reward, truth = rng.random(), rng.random()
            for _ in range(each):
                yield Sample(
                    step=0.0, prompt=str(prompt), completion="x", reward=reward, group=str(prompt), meta={"gold": truth}
                )

    alone, alike = known(copies(1)).truth_correlation(), known(copies(4)).truth_correlation()
    assert alone is not None
    assert alike is not None
    assert np.ptp(alike.interval) > 1.5 * np.ptp(alone.interval)


def test_a_verdict_is_a_truth_only_beside_the_reward() -> None:
    """A verifier that is the whole reward cannot be its own witness; one whose word is paid by the way can."""
    alone = known(dump(plain, honest, reference=False))
    assert alone.truth_correlation() is None
    beside = there(known(dump(longer_and_longer, by_length, reference=False)).truth_correlation())
    assert beside.source == OWN
    recorded = known(
        Sample(step=0.0, prompt=str(i), completion="x", reward=float(i % 3), meta={"acc": i % 2}) for i in range(48)
    ).truth_correlation()
    assert recorded is not None
    assert recorded.source == OWN
    assert recorded.interval[1] < 0.5


def test_answers_that_are_written_otherwise_are_no_truth() -> None:
    """An agent's state is graded, not its text: that no text equals the reference must not count as all wrong."""
    truth_store = TruthStore()
    list(
        truth_store.watch(
            Sample(step=float(i), completion="?d7!a4.ok", reward=1.0, meta={"answer": "7"}) for i in range(50)
        )
    )
    assert not truth_store.curves()
    assert truth_store.truth_correlation() is None


def test_marks_are_joined_taken_back_and_never_lost(tmp_path: Path) -> None:
    file = tmp_path / "marks.json"
    assert load(file) == {}
    save(file, {"a": {"mark": KEEP}, "b": {"mark": HACK}})
    save(file, {"b": None, "c": {"mark": HACK, "completion": "\udcff"}})
    assert load(file) == {"a": KEEP, "c": HACK}
    assert [p.name for p in tmp_path.iterdir()] == ["marks.json"]


@pytest.mark.parametrize(
    "content", ["", "[]", '{"marks": {}}', '{"schema": "firstbreak.marks/1", "marks": {"a": {"mark": "x"}}}']
)
def test_what_is_no_set_of_marks_is_refused_and_not_overwritten(tmp_path: Path, content: str) -> None:
    file = tmp_path / "notes.json"
    file.write_text(content)
    with pytest.raises(Unreadable, match="not a marks file"):
        load(file)
    with pytest.raises(Unreadable):
        save(file, {"a": {"mark": KEEP}})
    assert file.read_text() == content
