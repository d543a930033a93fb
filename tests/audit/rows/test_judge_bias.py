"""judge-bias: the same answer is rewarded more in another style."""

import random

from firstbreak.audit.audit import audit
from firstbreak.model import Severity
from tests.audit.dumps import dump, honest, plain, row

ID = "judge-bias"


def styled(rng: random.Random, t: float, answer: int) -> str:
    text = plain(rng, t, answer)
    return "**Great question!**\n\n" + text if rng.random() < 0.5 else text


def test_a_reward_that_prefers_a_style_is_found() -> None:
    judged = audit(dump(styled, lambda text, right: {"judge": right + 0.5 * ("**" in text)}, skill=lambda t: 0.5))
    found = row(judged, ID).finding
    assert found is not None
    assert found.numbers["style"] in ("markdown", "politeness")


def test_styles_that_differ_at_the_same_reward_are_left_alone() -> None:
    assert row(audit(dump(styled, honest, skill=lambda t: 0.5)), ID).finding is None


def test_a_strong_preference_for_a_form_is_a_warning_before_the_policy_finds_it() -> None:
    judged = audit(dump(styled, lambda text, right: {"judge": right + 0.5 * ("**" in text)}, skill=lambda t: 0.5))
    found = row(judged, ID).finding
    assert found is not None
    assert found.severity is Severity.WARNING
