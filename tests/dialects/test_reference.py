"""Every logged name of the reference tables means what they say, with the sign they say, or is refused with a reason."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from firstbreak import dialects
from firstbreak.dialects import signals
from tests.dialects.reference import essence, meaning, negated
from tests.every import every
from tests.lazy import lazy

logged_names = lazy("benchmarks.logged_names")

LLM = (
    *("areal", "llamafactory", "nemo_rl", "open_instruct", "openrlhf", "prime_rl", "roll", "skyrl", "slime", "tinker"),
    *("trl", "verl"),
)
CLASSIC = (
    *("acme", "cleanrl", "dopamine", "pufferlib", "rl_games", "rllib", "sample_factory", "sb3", "spinningup"),
    *("tianshou", "torchrl"),
)


@pytest.fixture(scope="module")
def by_dialect(shared: Path) -> dict[str, list[logged_names.Row]]:
    found = defaultdict(list)
    for row in logged_names.rows(shared):
        found[row.dialect].append(row)
    return dict(found)


def test_every_trainer_of_the_reference_has_a_test(by_dialect: dict[str, list[logged_names.Row]]) -> None:
    assert set(by_dialect) == {*LLM, *CLASSIC}
    assert sum(map(len, by_dialect.values())) >= 1600


@pytest.mark.parametrize("name", [*LLM, *CLASSIC])
def test_every_logged_name_means_what_the_reference_says(
    name: str, by_dialect: dict[str, list[logged_names.Row]]
) -> None:
    dialect = dialects.dialects()[name]
    beside = defaultdict(set)
    for row in by_dialect[name]:
        beside[row.trainer].update(row.names)
    understood = {trainer: dialects.understand(sorted(names), dialect) for trainer, names in beside.items()}
    wrong = []
    for row in by_dialect[name]:
        for raw in row.names:
            found = understood[row.trainer].get(raw)
            if found is None:
                if not dialects.not_converted(raw, dialect):
                    wrong.append(f"{raw}: neither understood nor refused; the reference says {row.canonical}")
                continue
            want, statistic = meaning(row, raw)
            got, got_statistic = essence(found.signal)
            if got != want or statistic not in ("", "mean", got_statistic):
                wrong.append(
                    f"{raw}: {found.signal} (read as {got}); the reference says {row.canonical} (read as {want})"
                )
            if negated(row) and found.scale > 0:
                wrong.append(f"{raw}: logged with the opposite sign, and not turned round")
    assert not wrong, "\n".join(wrong)


def test_the_reference_marks_names_of_opposite_sign(by_dialect: dict[str, list[logged_names.Row]]) -> None:
    marked = {(row.dialect, row.logged) for found in by_dialect.values() for row in found if negated(row)}
    assert {
        ("sb3", "train/entropy_loss"),
        ("acme", "loss_policy_entropy"),
        ("roll", "actor/policykl"),
        ("areal", "ppo_actor/update/approx_kl/avg"),
        ("areal", "ppo_actor/update/behave_approx_kl/avg"),
        ("spinningup", "LogPi"),
        ("rllib", "learners/<module>/logps"),
    } <= marked


@pytest.mark.parametrize("name", [*LLM, *CLASSIC])
def test_the_trainer_is_recognised_by_its_own_names(name: str, by_dialect: dict[str, list[logged_names.Row]]) -> None:
    names = {raw for row in by_dialect[name] for raw in row.names}
    assert dialects.trainer_name(dialects.choose(names, {})) == name


def test_every_signal_that_a_dialect_names_is_in_the_vocabulary() -> None:
    def known(name: str) -> None:
        dialect = dialects.dialects()[name]
        named = getattr(dialect, "NAMES", {}).values()
        meanings = [meaning if isinstance(meaning, str) else meaning.signal for meaning in named]
        every_one = [*meanings, *getattr(dialect, "LOG", {})]
        assert [s for s in every_one if not signals.lookup(re.sub(r"<\w+>", "x", s.replace("<stat>", "max")))] == []

    every(dialects.dialects(), known)
