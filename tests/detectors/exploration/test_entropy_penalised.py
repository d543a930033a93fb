from firstbreak.engine.detection import check
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Finding, Link
from tests.make import noise, run


def test_a_negative_coefficient_is_named_from_the_configuration_alone() -> None:
    made = run({"reward.mean": noise(60, 0.1)}, algorithm="ppo", config={"entropy_coef": -0.1})
    (outcome,) = check(made, only=["entropy-penalised"])
    assert isinstance(outcome.finding, Finding)
    assert "-0.1" in outcome.finding.message
    found = diagnose(made)
    assert found.first_break is not None
    assert (found.first_break.link, found.causes[0].id) == (Link.EXPLORATION, "premature-convergence")


def test_none_and_positive_ones_are_in_order() -> None:
    for weight in (0.0, 0.01):
        (outcome,) = check(run({"reward.mean": noise(60)}, config={"entropy_coef": weight}), only=["entropy-penalised"])
        assert outcome.status == "ok"
    (outcome,) = check(run({"reward.mean": noise(60)}), only=["entropy-penalised"])
    assert outcome.status == "not_measured"
