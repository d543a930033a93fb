"""Which samples a person gets to read."""

from collections import Counter

import pytest
from rich.console import Console

from firstbreak.audit.audit import Audit, audit
from firstbreak.audit.report import renderable
from firstbreak.audit.selection import EACH, KINDS, select
from firstbreak.model import Sample
from tests.audit.dumps import by_length, dump, longer_and_longer


@pytest.fixture(scope="module")
def found() -> Audit:
    return audit(dump(longer_and_longer, by_length, skill=lambda t: 0.6 - 0.4 * t, prompts=16, each=8))


def test_every_kind_is_there_each_sample_once_and_the_newest_step_first(found: Audit) -> None:
    kinds = Counter(chosen.kind for chosen in found.selected)
    assert list(kinds) == list(KINDS)
    assert set(kinds.values()) == {EACH}
    texts = [(chosen.sample.prompt, chosen.sample.completion) for chosen in found.selected]
    assert len(set(texts)) == len(texts)
    assert {chosen.sample.step for chosen in found.selected if chosen.kind != "beginning"} == {39.0}
    assert all(
        chosen.sample.step is not None and chosen.sample.step < 10
        for chosen in found.selected
        if chosen.kind == "beginning"
    )


def test_each_kind_is_what_its_name_says(found: Audit) -> None:
    rewards = {kind: [p.sample.reward or 0.0 for p in found.selected if p.kind == kind] for kind in KINDS}
    everyone = sorted(sample.reward or 0.0 for sample in found.table.latest)
    assert everyone[-1] in rewards["highest"]
    assert everyone[0] in rewards["lowest"]
    assert min(rewards["highest"]) > max(rewards["lowest"])
    lengths = [len(chosen.sample.completion) for chosen in found.selected if chosen.kind == "suspicious"]
    usual = sorted(len(sample.completion) for sample in found.table.latest)[len(found.table.latest) // 2]
    assert sum(lengths) / len(lengths) > usual, "it is length that has shifted and is paid for"


def test_prompts_take_turns(found: Audit) -> None:
    for kind in ("highest", "lowest", "random"):
        prompts = [chosen.sample.prompt for chosen in found.selected if chosen.kind == kind]
        assert len(set(prompts)) == len(prompts)


def test_the_same_text_is_picked_once() -> None:
    alike = [Sample(step=1.0, prompt="p", completion=f"yes{' ' * (i % 3)}", reward=float(i)) for i in range(20)]
    assert len(audit(alike).selected) == 1
    assert select([], [], []) == []


@pytest.mark.parametrize("distinct", [12, 16, 32])
def test_few_samples_go_to_the_highest_the_lowest_and_random_ones_first(distinct: int) -> None:
    latest = [
        Sample(step=1.0, prompt=f"p{i % 4}", completion=f"text {i}", reward=i / distinct) for i in range(distinct)
    ]
    read = audit(latest).selected
    rewards = {kind: [p.sample.reward or 0.0 for p in read if p.kind == kind] for kind in KINDS}
    assert all(len(rewards[kind]) >= 4 for kind in ("highest", "lowest", "random"))
    assert min(rewards["highest"]) > max(rewards["lowest"])
    assert len({p.sample.completion for p in read}) == len(read)


def test_of_samples_that_earn_alike_none_is_the_highest_or_the_lowest() -> None:
    found = audit([Sample(step=1.0, prompt=f"p{i}", completion=f"text {i}", reward=1.5) for i in range(20)])
    assert {chosen.kind for chosen in found.selected} == {"random"}
    console = Console(width=100)
    with console.capture() as printed:
        console.print(renderable(found))
    assert "all samples of the step have one reward, 1.5" in printed.get()
    assert printed.get().count("• random (8), step 1, reward 1.5") == 3
