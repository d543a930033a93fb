"""Every process of xdist collects all tests, so what a file of tests imports at its top is paid by each of them."""

import pytest

from tests.conftest import IMPORTED_FOR_COLLECTION


def test_to_collect_the_tests_imports_no_trainer(pytestconfig: pytest.Config) -> None:
    if "not thorough" not in pytestconfig.option.markexpr:
        pytest.skip("the laboratory is collected as well")
    assert pytestconfig.stash[IMPORTED_FOR_COLLECTION] == [], 'write `name = lazy("name")`, see tests/lazy.py'
