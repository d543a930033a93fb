"""What is lost where a split is scored again and again: the bound, against its formula."""

import math

import pytest

from firstbreak.evals.reuse import ladder_bound


@pytest.mark.parametrize(("improvements", "histories"), [(0, 1), (1, 1 + 3 * 101)])
def test_the_bound_counts_the_histories_that_the_improvements_leave(improvements: int, histories: int) -> None:
    """Of three candidates on 100 problems: C(3, j) 101^j histories with j improvements."""
    union = math.log(histories) + math.log(4) + math.log(3) + math.log(1 / 0.05)
    assert ladder_bound(100, 3, improvements) == pytest.approx(math.sqrt(union / 200))
