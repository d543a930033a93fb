"""The numbers of a text are facts, and a fact that the run does not bear out is denied."""

import pickle
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firstbreak.engine import facts
from firstbreak.engine.detection import check
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.stats.shape import trajectory
from firstbreak.engine.stats.statistic import statistic
from firstbreak.knowledge import detectors
from firstbreak.model import Message, Series, Statistic
from tests.make import learning, noise, run, series

LOSS = series("value.loss", np.linspace(10, 1, 50) + noise(50, 0.1))


def test_a_text_carries_the_facts_of_its_parts() -> None:
    beside = facts.tell("and falls to {late}", late=facts.last(LOSS))
    text = facts.tell("{early} at {where}, {beside}", early=facts.first(LOSS), where=facts.at(LOSS, 1.0), beside=beside)
    assert text == f"{facts.first(LOSS)} at step 1, and falls to {facts.last(LOSS)}"
    assert [fact.statistic for fact in text.facts] == [Statistic.FIRST, Statistic.STEP, Statistic.LAST]
    assert pickle.loads(pickle.dumps(text)).facts == text.facts


def test_a_place_is_told_in_units_of_its_axis() -> None:
    assert f"{facts.at(replace(LOSS, axis='epoch', steps=LOSS.steps / 10), 1.5)}" == "epoch 1.5"
    assert f"{facts.at(replace(LOSS, axis='env_steps'), 40.0)}" == "step 40"


def test_a_share_is_told_in_percent() -> None:
    assert f"{facts.of(Statistic.ABOVE, series('x', [0, 1, 1, 1]), 0.5):%}" == "75 %"


def test_what_the_curve_does_not_give_is_denied() -> None:
    made = Inputs(run({"value.loss": LOSS.values}))
    true = facts.median(LOSS.tail(0.5))
    assert not list(facts.denied([true, facts.at(LOSS, 50.0)], made))
    wrong = replace(true, value=1.01 * true.value)
    beyond = facts.at(LOSS, -5.0)
    other = replace(true, curve="policy.loss")
    assert [fact for fact, _ in facts.denied([true, wrong, beyond, other], made)] == [wrong, beyond, other]


def test_a_setting_is_what_was_recorded() -> None:
    made = run({"value.loss": LOSS.values}, config={"gamma": 0.5})
    stated = facts.setting(made.config, "gamma")
    assert not list(facts.denied([stated], Inputs(made)))
    assert list(facts.denied([replace(stated, value=0.9)], Inputs(made)))


def test_the_levels_of_a_course_are_those_of_the_trajectory() -> None:
    for values in (learning(200), learning(12), np.concatenate([learning(100), np.linspace(1, 0, 60)])):
        curve = series("reward.mean", values)
        shape = trajectory(curve)
        stated = facts.start(curve, shape), facts.best(curve, shape), facts.end(curve, shape)
        assert [f.value for f in stated] == pytest.approx([shape.start, shape.best, shape.end])
        assert not list(facts.denied(stated, Inputs(run({"reward.mean": values}))))


@pytest.mark.parametrize("kind", [kind for kind in Statistic if kind is not Statistic.SETTING])
def test_every_statistic_is_computed_and_says_nothing_of_an_empty_stretch(kind: Statistic) -> None:
    assert np.isfinite(statistic(kind, LOSS, (5.0, 20.0), 0.5))
    empty = Series(name="x", steps=np.array([]), values=np.array([]))
    assert np.isnan(statistic(kind, empty))


def test_messages_are_made_of_facts() -> None:
    """Detectors whose numbers are all made on the way (of samples, ratios of clocks) are few, and no new one joins them."""
    folder = Path(detectors.__file__).parent
    sources = {p.stem: p.read_text() for p in folder.glob("*/*.py")}
    made = {
        name: text for name, text in sources.items() if re.search(r"\b(Finding|graded|critical|warning|notice)\(", text)
    }
    plain = {name for name, text in made.items() if not re.search(r"facts\.|growth\(", text)}
    assert plain == PLAIN


PLAIN = {
    "_shares", "answers_scatter", "evaluation_in_steps", "failed_calls_paid", "ratio_always_one", "references_fit_other_prompts",
    "results_made_up", "right_answers_unpaid", "step_time_spikes",
    "wrong_answers_paid",
}  # fmt: skip


def test_a_finding_states_its_numbers() -> None:
    lost = run({"reward.mean": np.concatenate([learning(120), np.linspace(1.0, 0.1, 80) + noise(80, 0.03)])})
    found = {o.detector: o.finding for o in check(lost) if o.finding is not None}["score-lost"]
    assert isinstance(found.message, Message)
    assert [fact.statistic for fact in found.stated] == [Statistic.COURSE, Statistic.STEP, Statistic.COURSE]


def test_a_level_is_told_with_the_last_values_where_these_lie_elsewhere() -> None:
    falls = np.r_[np.linspace(1.0, 0.5, 57), 0.3, 0.3, 0.9]
    for values, said in (
        (falls, "(mean of the last 3 values, 0.3 to 0.9)"),
        (np.linspace(1.0, 0.5, 60), "(mean of the last 3 values)"),
    ):
        curve = series("reward.mean", values)
        assert facts.but_for(curve, trajectory(curve)).strip() == said
