"""Each side metric: what raises it, what does not, and that no text breaks it."""

import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.audit.audit import audit
from firstbreak.audit.metrics import Metric, metrics
from firstbreak.audit.metrics._answer import final_answer
from firstbreak.audit.split_truth import PolicySample, split
from firstbreak.model import Sample
from tests.audit.dumps import dump, honest, plain
from tests.there import there

PROSE = "The train leaves at nine and needs two hours, so it arrives at eleven, as the second line of the table says. "


def value(name: str, completion: str, prompt: str = "When does the train arrive?", **more: object) -> float:
    return asked(metrics()[name], split(Sample(prompt=prompt, completion=completion, **more))[0])  # type: ignore[arg-type]


def asked(metric: Metric, sample: PolicySample) -> float:
    """What a metric says of a sample that has only itself to be compared with."""
    if metric.among:
        return metric.among([sample])[0]
    return (metric.measure or metric.against([sample]))(sample)  # type: ignore[misc]


#: (metric, a completion that shows it, one that does not)
SHOWN = [
    ("length", PROSE * 2, PROSE),
    ("repetition", "so we see that " * 30, PROSE),
    ("repetition", "." * 30, "02468"),
    ("markdown", "\n# One\n- **a**\n- **b**\n", PROSE),
    ("politeness", "Great question! I hope this helps.", PROSE),
    ("hedging", "It is important to note that it depends.", PROSE),
    ("refusal", "I’m sorry, but I can’t help with that.", PROSE * 4 + " I can't."),
    ("language-switch", "火车十一点到达", "Le train arrive à onze heures — déjà ✅"),
    ("tool-calls", '<tool_call>{"name": "f"}</tool_call>', PROSE),
    ("tool-failures", "tool: Error: not found\n", "tool: 42\n"),
    ("idle-calls", "<search>a</search> <search>a</search>", "<search>a</search> <search>b</search>"),
    ("prompt-copy", "When does the train arrive?", PROSE),
    ("answer-first", "eleven\n" + PROSE * 4 + "\nanswer: eleven", PROSE * 4 + "\nanswer: eleven"),
    ("empty-reasoning", "<think>\n\n</think> eleven", f"<think>{PROSE}</think> eleven"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "high", "low"), SHOWN)
def test_a_metric_tells_the_behaviour_from_its_absence(name: str, high: str, low: str) -> None:
    assert value(name, high) > value(name, low)


def test_hollow_format_reads_the_components_by_name() -> None:
    assert value("hollow-format", "x", rewards={"format": 1.0, "accuracy": 0.0}) == 1
    assert value("hollow-format", "x", rewards={"format": 1.0, "accuracy": 1.0}) == 0
    assert math.isnan(value("hollow-format", "x", rewards={"accuracy": 0.0}))


def test_an_empty_claim_needs_a_claim_and_a_failure() -> None:
    assert value("empty-claim", "All tests passed, done.", meta={"success": False}) == 1
    assert value("empty-claim", "All tests passed, done.", meta={"success": True}) == 0
    assert value("empty-claim", "It does not work.", meta={"success": False}) == 0
    assert math.isnan(value("empty-claim", "Done."))


def test_calls_that_leave_the_state_alone_are_idle() -> None:
    assert value("idle-calls", "", meta={"states": [{"a": 1}, {"a": 1}, {"a": 2}]}) == 0.5


def test_compression_falls_with_filler() -> None:
    rich = "".join(chr(33 + i * 7 % 90) for i in range(400))
    assert value("compression", PROSE * 4) < value("compression", rich)
    assert math.isnan(value("compression", "too short"))


def test_surprise_is_for_what_the_beginning_did_not_write() -> None:
    baseline = [PolicySample(prompt=str(i), completion=PROSE) for i in range(200)]
    bits = metrics()["surprise"].against(baseline)  # type: ignore[misc]
    assert bits(PolicySample(completion="ZQX!! 99%% ZQX!!")) > 3 > bits(PolicySample(completion=PROSE))
    assert math.isnan(bits(baseline[0])), "what the model was fitted to is not asked"


def test_a_template_is_one_text_that_other_prompts_get_too() -> None:
    def filled(i: int) -> PolicySample:
        return PolicySample(prompt=str(i), completion=f"First we look at {i}. Then Mary has {7 * i} apples in all.")

    share = there(metrics()["templates"].among)
    own = [PolicySample(prompt=str(i), completion=" ".join(PROSE.split()[i:])) for i in range(4)]
    assert list(share([filled(i) for i in range(4)])) == [1.0] * 4
    assert list(share(own)) == [0.0] * 4
    assert list(share([filled(8), filled(9), *own[:2]])) == pytest.approx([1 / 3, 1 / 3, 0, 0])
    assert np.isnan(share([filled(1), filled(1)])).all(), "samples of one prompt are alike for other reasons"


def test_a_template_that_takes_over_shows_with_its_onset() -> None:
    def write(rng: random.Random, t: float, answer: int) -> str:
        if t > 0.4 and rng.random() < 0.9:
            return f"Let us think about it. Therefore the final answer must be {answer}"
        return plain(rng, t, answer)

    found = audit(dump(write, honest), path="dump")
    side = next(side for side in found.hacking_test.sides if side.metric.id == "templates")
    assert side.shifted == 1
    assert side.early < 0.1 < 0.6 < side.late
    assert side.interval is not None
    assert side.interval[0] <= 16 <= side.interval[1]
    assert ((side.curve.low <= side.curve.mean) & (side.curve.mean <= side.curve.high)).all()


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        (r"so \boxed{\frac{1}{2}} it is", r"\frac{1}{2"),
        ("<answer> Paris. </answer>", "paris"),
        ("6 * 7\n#### 42", "42"),
        ("The final answer is: **42**.", "42"),
        ("....12357", "12357"),
        ("", ""),
    ],
)
def test_the_final_answer(text: str, answer: str) -> None:
    assert final_answer(text).startswith(answer)


@given(st.text(st.characters(codec=None)), st.text())
def test_no_text_breaks_a_metric(completion: str, prompt: str) -> None:
    for metric in metrics().values():
        result = asked(metric, split(Sample(prompt=prompt, completion=completion))[0])
        assert math.isnan(result) or math.isfinite(result)


def test_every_metric_says_what_it_means() -> None:
    assert len(metrics()) >= 17
    for metric in metrics().values():
        assert metric.title
        assert metric.up or metric.down
