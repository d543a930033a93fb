"""What the tests of the reports share."""

import pytest

from firstbreak.model import Diagnosis
from tests.reports import fixtures


@pytest.fixture(params=sorted(fixtures.ALL))
def dx(request: pytest.FixtureRequest) -> Diagnosis:
    """Every diagnosis in turn."""
    return fixtures.ALL[request.param]()


@pytest.fixture(params=sorted(set(fixtures.ALL) - {"hostile"}))
def calm(request: pytest.FixtureRequest) -> Diagnosis:
    """Every diagnosis in turn but the hostile one."""
    return fixtures.ALL[request.param]()
