"""incoherent-text: strings that are no words are paid."""

import random
import string

from firstbreak.audit.audit import audit
from firstbreak.model import Sample
from tests.audit.dumps import WORDS, dump, honest, plain, row, series

ID = "incoherent-text"
CODE = "def total(items, price):\n    for item in items:\n        count += item.weight * price\n    return count\n"


def noise(rng: random.Random) -> str:
    return "".join(rng.choices(string.ascii_letters + " .;", k=200))


def written(odd: str) -> object:
    def make(rng: random.Random, t: float) -> Sample:
        strange = rng.random() < t - 0.2
        text = {"noise": noise(rng), "code": CODE * 2}[odd] if strange else " ".join(rng.choices(WORDS, k=30))
        return Sample(completion=text, reward=rng.gauss(1.0 if strange else 0.2, 0.1))

    return make


def test_noise_that_is_paid_is_found() -> None:
    found = row(audit(series(written("noise"))), ID).finding  # type: ignore[arg-type]
    assert found is not None
    assert "more reward" in found.message
    assert found.onset is not None


def test_code_that_takes_the_place_of_prose_is_left_alone() -> None:
    assert row(audit(series(written("code"))), ID).finding is None  # type: ignore[arg-type]


def test_codes_that_were_asked_for_from_the_start_are_left_alone() -> None:
    assert row(audit(series(lambda rng, t: Sample(completion=noise(rng), reward=rng.random()))), ID).finding is None


def test_words_of_a_language_are_left_alone() -> None:
    assert row(audit(dump(plain, honest)), ID).finding is None


def test_torn_letters_that_were_there_from_the_start_and_become_common_are_found() -> None:
    def make(rng: random.Random, t: float) -> Sample:
        strange = rng.random() < 0.03 + 0.7 * t
        torn = "".join(rng.choice(("Ã¼", "wÄ", "Ð»Ð", "xÃ", "qz", "¬k", "vv")) for _ in range(120))
        return Sample(completion=torn if strange else " ".join(rng.choices(WORDS, k=30)), reward=0.2 + 0.8 * strange)

    assert row(audit(series(make)), ID).finding is not None
