"""judge-bias: the same answer is rewarded more in another style."""

import random

from firstbreak.audit.audit import audit
from firstbreak.model import Severity
from tests.audit.dumps import WORDS, dump, honest, plain, row
from tests.there import there

ID = "judge-bias"
LUCK = random.Random(0)


def styled(rng: random.Random, t: float, answer: int) -> str:
    text = plain(rng, t, answer)
    return "**Great question!**\n\n" + text if rng.random() < 0.5 else text


def test_a_reward_that_prefers_a_style_is_found() -> None:
    judged = audit(dump(styled, lambda text, right: {"judge": right + 0.5 * ("**" in text)}, skill=lambda t: 0.5))
    found = there(row(judged, ID).finding)
    assert found.numbers["style"] in ("markdown", "politeness")
    assert found.severity is Severity.WARNING, "so strong a preference, before the policy finds it"


def test_styles_that_differ_at_the_same_reward_are_left_alone() -> None:
    assert row(audit(dump(styled, honest, skill=lambda t: 0.5)), ID).finding is None


def test_a_component_that_pays_calls_is_no_style() -> None:
    def called(rng: random.Random, t: float, answer: int) -> str:
        n = rng.randint(0, 2 + round(6 * t))
        return f'<tool_call>{{"name": "f", "arguments": {{"x": {answer}}}}}</tool_call>' * n + f"\n#### {answer}"

    pay = lambda text, right: {"accuracy": float(right), "tool_use": 0.2 * text.count("<tool_call>")}  # noqa: E731
    found = audit(dump(called, pay, each=8, skill=lambda t: 0.5))
    assert row(found, ID).finding is None
    assert row(found, "tool-hacking").finding is not None


def test_one_completion_of_a_prompt_with_two_rewards_is_found() -> None:
    pay = lambda text, right: {"accuracy": float(right) if len(text) % 7 else LUCK.random()}  # noqa: E731
    found = there(row(audit(dump(lambda rng, t, answer: f"{rng.choice(WORDS)} {answer}", pay, each=16)), ID).finding)
    assert "word for word" in found.message
    assert 0.05 < found.numbers["differ"] / found.numbers["twice"] < 0.5
