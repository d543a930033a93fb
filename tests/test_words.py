"""How numbers are said."""

import pytest

from firstbreak.words import number, percent


@pytest.mark.parametrize(
    ("share", "said"),
    [
        (0.0, "0 %"),
        (0.0042, "0.4 %"),
        (0.347, "35 %"),
        (0.99, "99 %"),
        (0.9949, "99.4 %"),
        (0.99999, "99.9 %"),
        (1.0, "100 %"),
    ],
)
def test_what_is_not_all_is_never_said_to_be_all(share: float, said: str) -> None:
    assert percent(share) == said


def test_numbers_are_said_in_one_way() -> None:
    said = [number(v) for v in (12.0, 0.3125, 1.2e-5, -0.0, float("nan"), None)]
    assert said == ["12", "0.3125", "1.2e-05", "0", "?", "?"]


@pytest.mark.parametrize(
    ("value", "said"), [(24338.4, "24338"), (34816.0, "34816"), (-1234.5, "-1234"), (999.96, "1000")]
)
def test_the_numbers_of_one_sentence_share_a_form(value: float, said: str) -> None:
    assert number(value) == said
