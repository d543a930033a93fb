"""What every test may ask for."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).resolve().parent.parent
IN_CI = bool(os.environ.get("CI"))
settings.register_profile(  # a landing must not depend on luck, nor on how busy the machine is
    "ci", derandomize=True, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
if IN_CI:
    settings.load_profile("ci")
EXTRAS = ("torch", "trl", "stable_baselines3", "tensorboard", "tensorboardX", "wandb", "trackio", "mlflow", "swanlab", "neptune",
          "clearml", "dvclive", "aim", "sqlalchemy", "pyarrow", "ray", "psycopg", "rensa", "starlette", "uvicorn", "mcp",
          "playwright", "build", "zensical", "gymnasium", "pettingzoo", "dm_env", "math_verify", "transformers", "peft",
          "pytorch_lightning", "lz4", "aiosmtpd", "torchrl", "skrl", "acme")  # fmt: skip


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


def pytest_sessionstart(session: pytest.Session) -> None:
    """In CI nothing may be skipped for want of a package: every extra that a test asks for must be there."""
    if not IN_CI or hasattr(session.config, "workerinput"):
        return
    missing = [name for name in EXTRAS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.exit(f"CI lacks {', '.join(missing)}: `make test` installs the extras", returncode=3)
