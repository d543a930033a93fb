"""The catalogue: what every experiment must say, and that causes and catalogue agree."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from firstbreak.engine.registry import causes, sections
from firstbreak.experiments.catalogue import Design, catalogue
from firstbreak.experiments.decide import MIN_SEEDS
from firstbreak.experiments.plan import probability
from firstbreak.experiments.settings import INTERVENTIONS
from firstbreak.hyperparameters import HYPERPARAMETERS

DESIGNS = list(catalogue().values())
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
def test_every_answer_speaks_of_causes_that_exist_and_tells_at_least_two_apart(design: Design) -> None:
    for question in design.questions:
        assert set(question.yes) <= set(causes()) | {"healthy"}
        assert len({probability(question, name) for name in (*causes(), "healthy")}) > 1


@pytest.mark.parametrize("cause", causes().values(), ids=lambda c: c.id)
def test_every_cause_names_an_experiment_with_the_answer_and_the_weight_that_the_catalogue_gives(cause: object) -> None:
    plan = cause.experiment  # type: ignore[attr-defined]
    design = catalogue()[plan.id]
    wanted = {name: value for name, value in design.overrides.items() if not name.endswith("?")}
    assert dict(plan.overrides) == wanted
    assert plan.length == design.length
    asked, _, answer = plan.if_cause.rpartition(" ")
    (question,) = [replace(q, counted={}) for q in design.questions if q.asks == asked]  # as declared
    under, others = probability(question, cause.id), min(max(question.otherwise, 0.02), 0.98)  # type: ignore[attr-defined]
    ratio = under / others if answer == "yes" else (1 - under) / (1 - others)
    assert plan.weight == pytest.approx(math.log(ratio), abs=0.06)
    assert plan.weight > 0 or cause.id == "score-not-recorded"  # type: ignore[attr-defined]


def test_the_ladder_of_rewards_that_do_not_rise_branches_on_the_test_set() -> None:
    """AReaL's guide: a baseline evaluation, then the test set; then data and dynamic filtering, or settings and SFT."""
    assert catalogue()["locked-evaluation"].then["no"] == ("train-on-test-set",)
    ladder = catalogue()["train-on-test-set"].then
    assert "dynamic-filtering" in ladder["yes"]
    assert set(ladder["no"]) == {"usual-settings", "sft-first"}


def test_the_synchronous_switch_is_the_one_of_areals_guide() -> None:
    overrides = {k.removesuffix("?"): v for k, v in catalogue()["synchronous"].overrides.items()}
    assert overrides == {"max_staleness": 0, "recompute_logprob": False, "use_decoupled_loss": False}


def test_an_experiment_on_chance_has_the_seeds_that_a_claim_needs() -> None:
    design = catalogue()["three-seeds"]
    assert design.seeds >= MIN_SEEDS
    assert design.cost == pytest.approx(3 * design.length)
