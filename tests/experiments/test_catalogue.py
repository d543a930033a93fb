"""The catalogue: what every experiment must say, and that causes and catalogue agree."""

import tomllib
from typing import Any

import pytest

from firstbreak.dialects.hyperparameters import HYPERPARAMETERS
from firstbreak.engine import index
from firstbreak.engine.catalogue import OF_OPTION, Design, catalogue, smallest
from firstbreak.engine.families import Family, Method, Policy
from firstbreak.engine.registry import causes, sections
from firstbreak.engine.stats.sequential import MIN_SEEDS
from firstbreak.experiments.plan import probability
from firstbreak.experiments.settings import INTERVENTIONS
from firstbreak.knowledge.experiments import _table
from firstbreak.plugins import BadPlugin

DESIGNS = list(catalogue().values())
FAMILIES = [
    Family(policy=policy, policy_known=True, method=method, data=None)
    for policy, methods in (
        (Policy.TEXT, (Method.GROUP_RELATIVE, Method.ACTOR_CRITIC, Method.PREFERENCE, Method.SUPERVISED)),
        (Policy.CONTROL, (Method.ACTOR_CRITIC, Method.VALUE_BASED)),
    )
    for method in methods
]
HEADINGS = ["", "What is done", "What it tells", "When it misleads", "References"]


@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.id)
def test_every_experiment_explains_itself_and_can_be_told_to_a_trainer(design: Design) -> None:
    assert list(sections(design.doc)) == HEADINGS
    assert design.questions
    names = {name.removesuffix("?") for arm in design.arms.values() for name in arm}
    assert names <= set(HYPERPARAMETERS) | set(INTERVENTIONS)
    assert 0 < design.length <= 0.3
    assert {following for branch in design.then.values() for following in branch} <= set(catalogue())


@pytest.mark.parametrize("design", DESIGNS, ids=lambda d: d.id)
def test_every_family_that_an_experiment_holds_for_has_its_options_and_a_question_that_tells(design: Design) -> None:
    needed = {name for arm in design.arms.values() for name in arm if not name.endswith("?")}
    for family in FAMILIES:
        if design.families.include(family):
            lacks = {name for name in needed & set(OF_OPTION) if not OF_OPTION[name].include(family)}
            assert not lacks, f"{family} has no {lacks}"
            assert any(q.families.include(family) for q in design.questions)
    for question in design.questions:  # each speaks of causes that exist, and tells at least two apart
        assert set(question.yes) <= set(causes()) | {"healthy"}
        assert len({probability(question, name) for name in (*causes(), "healthy")}) > 1


def test_the_experiment_of_every_cause_has_an_answer_that_speaks_for_it() -> None:
    of_all = [
        (cause.id, smallest(cause.experiments, cause.id, family))
        for cause in causes().values()
        for family in FAMILIES
        if cause.families.include(family)
    ]
    assert {name for name, plan in of_all if plan and plan.weight <= 0} <= {"score-not-recorded"}
    assert all(plan.if_cause.endswith(("? yes", "? no")) for _, plan in of_all if plan)


def test_the_ladder_of_rewards_that_do_not_rise_branches_on_the_test_set() -> None:
    """AReaL's guide: a baseline evaluation, then the test set; then data and dynamic filtering, or settings and SFT."""
    assert catalogue()["locked-evaluation"].then["no"] == ("train-on-test-set",)
    ladder = catalogue()["train-on-test-set"].then
    assert "dynamic-filtering" in ladder["yes"]
    rungs = ["usual-settings"]
    assert rungs[0] in ladder["no"]
    while following := catalogue()[rungs[-1]].then.get("no"):
        rungs += following
    assert rungs == ["usual-settings", "larger-batch", "higher-rate", "other-model", "sft-first"]


def test_an_experiment_on_chance_has_the_seeds_that_a_claim_needs() -> None:
    assert catalogue()["three-seeds"].seeds >= MIN_SEEDS


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("families", ["texts"], "families: 'texts' is none of text, control"),
        ("asks", [["?", ["fall", "score"], "otherwise 0.1"]], "asks: 'fall' is none of "),
        ("asks", [["?", "falls", "otherwise 0.1"]], "asks: 'falls' is none of "),
        ("asks", [["?", ["falls"], "otherwise 0.1"]], "asks: TypeError"),
        ("asks", [["?", ["falls", "score"], "healthy 0.1"]], "asks: KeyError('otherwise')"),
        ("asks", [["?", ["falls", "score"], "otherwise much"]], "asks: ValueError"),
        ("asks", [["?", ["falls", "score"], "otherwise 0.1", {"need": "hooks"}]], "asks: TypeError"),
        ("asks", ["zero-rates"], "asks: 'zero-rates' is none of "),
        ("asks", [["zero-rate", "does the score fall?"]], "asks: 'does the score fall?' is none of "),
    ],
)
def test_what_a_row_says_wrong_is_told_with_file_row_and_key(key: str, value: Any, said: str) -> None:
    row = {"title": "A trial", "overrides": [], "asks": [["?", ["falls", "score"], "otherwise 0.1"]]}
    assert _table.design("my-trial", row).questions[0].otherwise == 0.1
    with pytest.raises(BadPlugin, match=r"catalogue\.toml: \[my-trial\]: ") as told:
        _table.design("my-trial", row | {key: value})
    assert said in str(told.value)


def test_a_page_holds_the_texts_of_its_row() -> None:
    """The texts are read without the reader of TOML, so they have to be plain."""
    file = index.file_of("experiments", index.CATALOGUE)
    for name, row in tomllib.loads(file.read_text("utf-8")).items():
        texts = {heading: row[key] for key, heading in _table.PAGE.items()}
        assert sections(catalogue()[name].doc) == {"": row["title"], **texts}
