"""The vocabulary: what a name means, how detectors ask for it, what may stand in for it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.dialects import signals
from firstbreak.model import Link
from tests.every import every
from tests.there import there


def test_parameters_are_unique() -> None:
    assert len(signals.BY_PARAMETER) == len(signals.all_names())
    assert all(parameter.isidentifier() for parameter in signals.BY_PARAMETER)


def test_every_link_has_signals() -> None:
    assert {signal.link for signal in signals.SIGNALS.values()} == set(Link)


def test_an_entry_is_complete_and_canonical() -> None:
    def complete(name: str) -> None:
        entry = signals.SIGNALS[name]
        assert entry.better in (None, "up", "down")
        assert entry.meaning[0].islower() or entry.meaning.startswith(("GPU", "KTO", "KL", "1 -", "Jensen"))
        assert not entry.meaning.endswith(".")
        assert signals.lookup(name) == entry

    every(sorted(signals.SIGNALS), complete)


def test_a_mean_has_one_spelling() -> None:
    for spelling, canonical in (
        ("kl.ref.mean", "kl.ref"),
        ("policy.entropy.mean", "policy.entropy"),
        ("reward.mean", "reward.mean"),
        ("behave.kl.k1.mean", "behave.kl.k1"),
        ("time.save.mean", "time.save"),
        ("eval.reward.mean", "eval.reward"),
        ("eval.turns.mean", "eval.turns.mean"),
    ):
        found = there(signals.lookup(spelling))
        assert found.name == canonical


def test_a_statistic_belongs_to_its_signal() -> None:
    largest = there(signals.lookup("length.max"))
    assert largest.link is Link.ROLLOUT
    assert largest.unit == "tokens"
    assert largest.meaning.startswith("largest of: tokens of a completion")
    spread = there(signals.lookup("reward.std"))
    assert spread.better is None  # more reward is better, more spread is not


def test_an_estimator_is_named_only_for_divergences() -> None:
    found = there(signals.lookup("rollout_train.kl.k3"))
    assert found.estimator == "k3"
    assert found.link is Link.FRESHNESS
    assert signals.lookup("policy.loss.k3") is None


def test_the_four_divergences_stay_apart() -> None:
    four = ("kl.ref", "kl.old", "rollout_train.kl", "behave.kl")
    meanings = {signals.SIGNALS[name].meaning for name in four}
    assert len(meanings) == 4
    for name in four:
        others = set(four) - {name}
        assert not others & set(signals.stand_ins(name))


def test_a_member_of_a_family_knows_its_family() -> None:
    found = there(signals.lookup("reward.component.format_reward.std"))
    assert (found.family, found.member) == ("reward.component.<func>.std", "format_reward")
    assert signals.BY_PARAMETER["reward_component_std"].family == found.family


def test_a_slice_has_the_meaning_of_the_whole() -> None:
    part = signals.lookup("eval.accuracy@openai/gsm8k")
    whole = signals.lookup("eval.accuracy")
    assert part is not None
    assert whole is not None
    assert part.name == "eval.accuracy@openai/gsm8k"
    assert part.meaning == whole.meaning


@pytest.mark.parametrize(
    ("trained", "held_out"),
    [
        ("reward.mean", "eval.reward"),
        ("reward.std", "eval.reward.std"),
        ("reward.accuracy", "eval.accuracy"),
        ("loss.total", "eval.loss"),
        ("episode.length", "eval.episode_length"),
        ("episode.length.max", "eval.episode_length.max"),
        ("length.mean", "eval.length.mean"),
        ("success_rate", "eval.success_rate"),
        ("reward.component.format.mean", "eval.reward.component.format.mean"),
        ("reward.mean@math", "eval.reward@math"),
        ("eval.reward", "eval.reward"),
    ],
)
def test_the_same_number_on_held_out_data(trained: str, held_out: str) -> None:
    assert signals.evaluation(trained) == held_out
    found = there(signals.lookup(held_out))
    assert found.link is Link.EVALUATION


@pytest.mark.parametrize(
    "name", ["", "reward", "rewards.mean", "kl", "kl.", "foo.max", "eval.", "eval.foo", "@x", "mean", "."]
)
def test_what_is_not_in_the_vocabulary_is_not_invented(name: str) -> None:
    assert signals.lookup(name) is None


@given(st.text(max_size=40))
def test_any_text_can_be_looked_up(name: str) -> None:
    found = signals.lookup(name)
    assert found is None or signals.lookup(found.name) == found


@given(st.sampled_from(sorted(signals.all_names())))
def test_the_canonical_spelling_is_a_fixed_point(name: str) -> None:
    found = there(signals.lookup(name))
    assert found.name == name


def test_stand_ins_are_signals_of_their_own() -> None:
    assert signals.stand_ins("kl.old") == ("kl.old.k3", "kl.old.k2", "kl.old.k1")
    assert signals.stand_ins("reward.mean")[0] == "reward.episode"
    for name in signals.SIGNALS:
        for other in signals.stand_ins(name):
            assert signals.lookup(other)
            assert other != name
