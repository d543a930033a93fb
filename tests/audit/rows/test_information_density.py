"""information-density: more text that carries less information."""

import random

from firstbreak.audit.audit import audit
from firstbreak.model import Confidence, Status
from tests.audit.dumps import dump, honest, longer_and_longer, plain, row
from tests.there import there

ID = "information-density"


def padded(rng: random.Random, t: float, answer: int) -> str:
    return plain(rng, t, answer).replace("\n", " and so on" * round(60 * t) + "\n")


def test_padding_is_found() -> None:
    found = there(row(audit(dump(padded, lambda text, right: {"judge": len(text) / 100})), ID).finding)
    assert found.confidence is Confidence.HIGH  # repetition and surprise confirm it
    assert "bits per character under a model of the beginning from" in found.message


def test_longer_text_that_says_as_much_per_word_is_left_alone() -> None:
    assert row(audit(dump(longer_and_longer, honest)), ID).finding is None


def test_short_completions_cannot_be_measured() -> None:
    short = audit(dump(lambda rng, t, answer: str(answer), honest))
    assert row(short, ID).status is Status.NOT_MEASURED
