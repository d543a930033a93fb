"""What every test of the guard needs."""

import pytest

from firstbreak.live.guard import guard


@pytest.fixture(autouse=True)
def no_hurry(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer over a bundle than training would wait for it."""
    monkeypatch.setattr(guard, "WRITING", 600.0)
