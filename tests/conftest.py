"""What every test may ask for."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
IN_CI = bool(os.environ.get("CI"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of published runs beside the project: on our machines and in CI, not on a user's."""
    folder = ROOT.parent / "shared"
    if not (folder / "runs" / "index.csv").exists():
        missing = f"the published runs are not beside the project ({folder})"
        if IN_CI:
            pytest.fail(missing)
        pytest.skip(missing)
    return folder
