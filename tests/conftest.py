"""What every test may ask for, which tests `make test` leaves to `make test-all`, and the seeds of `make test-seeds`."""

import gc
import importlib.util
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.seeds.sitecustomize import SEED  # with $FIRSTBREAK_TEST_SEED it shifts the seeds as torch is imported

#: Each process of xdist has a core: threads of torch and numpy would wait for each other on arrays of a few numbers.
for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")
ROOT = Path(__file__).resolve().parent.parent
IN_CI = bool(os.environ.get("CI"))
#: no answer depends on how busy the machine is, and in CI none depends on luck
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", settings.get_profile("patient"), derandomize=True)
settings.register_profile("quick", settings.get_profile("ci"), max_examples=20)
settings.register_profile("short", settings.get_profile("ci"), max_examples=30)  # `make test`
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if IN_CI else "patient"))
#: A job in the background of a shell ignores Ctrl-C, and so would all that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN and threading.current_thread() is threading.main_thread():
    signal.signal(signal.SIGINT, signal.default_int_handler)
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


def pytest_make_parametrize_id(val: object, argname: str) -> str | None:
    """Bytes are no name of a case: gzip writes the time into them, and every process of xdist must find the same cases."""
    return argname if isinstance(val, bytes) else None


def everything_is_there(config: pytest.Config) -> bool:
    """Whether nothing may be skipped for want of a package: in CI, but for `make quick`, which installs the core alone."""
    return IN_CI and "not slow" not in config.option.markexpr


class ModuleOfTests(pytest.Module):
    """A file of tests, skipped with the reason where it imports a package that an extra would bring."""

    def collect(self) -> Iterable[pytest.Item | pytest.Collector]:
        try:
            return super().collect()
        except self.CollectError as error:
            missing = error.__cause__
            if not isinstance(missing, ModuleNotFoundError) or everything_is_there(self.config):
                raise
            package = str(missing.name).partition(".")[0]
            asked_by = traceback.extract_tb(missing.__traceback__)[-1].filename
            ours = Path(asked_by).is_relative_to(ROOT / "tests")  # the core itself may need no extra
            if not ours or importlib.util.find_spec(package) is not None:
                raise
            pytest.skip(f"{package} is not installed", allow_module_level=True)


def pytest_pycollect_makemodule(module_path: Path, parent: pytest.Collector) -> pytest.Module:
    return ModuleOfTests.from_parent(parent, path=module_path)


#: What makes a test draw from torch's random numbers: its own file, or what it imports of the tests, imports one of these.
DRAWS = re.compile(
    r"(?:^\s*(?:import|from) |lazy\(\"|importorskip\(\")"
    r"(?:torch(?!\.utils\.tensorboard)|trl|transformers|peft|stable_baselines3|sb3_contrib|pytorch_lightning|skrl|ray\.rllib"
    r"|firstbreak_lab(?!\.(?:archives|corpus)\b))\b",
    re.MULTILINE,
)
IMPORTED = re.compile(r"(?:^from |lazy\(\")(tests(?:\.\w+)+)", re.MULTILINE)
#: Packages that take a second or more to import. No process of xdist imports one to collect the tests.
HEAVY = (
    "torch", "trl", "transformers", "datasets", "pandas", "ray", "gymnasium", "stable_baselines3", "mlflow",
    "pytorch_lightning",
)  # fmt: skip
LONG = ("browser", "trainer", "slow")  #: marks of tests that take seconds
IMPORTED_FOR_COLLECTION = pytest.StashKey[list[str]]()


@cache
def draws(path: Path) -> bool:
    """Whether the tests of a file may draw from torch's random numbers."""
    text = path.read_text("utf-8")
    helpers = (ROOT / Path(*module.split(".")).with_suffix(".py") for module in IMPORTED.findall(text))
    return bool(DRAWS.search(text)) or any(draws(helper) for helper in helpers if helper.exists() and helper != path)


#: What says in a file of tests that it trains language models: their packages take twelve seconds to import.
LANGUAGE = re.compile(
    r"lazy\(\"tests\.guard\.language\"|importorskip\(\"(?:trl|transformers)\"|trainer\(\"(?:areal|verl)\""
)


@cache
def trains_language_models(path: str) -> bool:
    return bool(LANGUAGE.search((ROOT / path).read_text("utf-8")))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Files that train language models are one piece of work, so that one process of xdist imports their packages."""
    if config.getvalue("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            path: str = super()._split_scope(nodeid)
            return "language models" if trains_language_models(path) else path

    return Scheduling(config, log)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """The laboratory is no part of the product: `make test` does not even collect its tests."""
    return True if collection_path == ROOT / "tests" / "lab" and "not thorough" in config.option.markexpr else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    marks = {
        path: ["thorough"] * path.is_relative_to(ROOT / "tests" / "lab") + ["draws"] * draws(path)
        for path in {item.path for item in items}
    }
    for item in items:
        for name in marks[item.path]:
            item.add_marker(name)
    # Long files first: one that a process begins with at the end keeps the others waiting (`--no-loadscope-reorder`).
    long = {item.path for item in items if any(item.get_closest_marker(name) for name in LONG)}
    items.sort(key=lambda item: item.path not in long)


def pytest_collection() -> None:
    gc.disable()  # what is made to collect thousands of tests stays until the end


def pytest_collection_finish(session: pytest.Session) -> None:
    gc.freeze()
    gc.enable()
    session.config.stash[IMPORTED_FOR_COLLECTION] = [name for name in HEAVY if name in sys.modules]


def pytest_configure(config: pytest.Config) -> None:
    if "not thorough" in config.option.markexpr and "HYPOTHESIS_PROFILE" not in os.environ:
        settings.load_profile("short")
    if SEED:
        os.environ["PYTHONPATH"] = os.pathsep.join(
            filter(None, [str(ROOT / "tests" / "seeds"), os.environ.get("PYTHONPATH")])
        )


def pytest_sessionstart(session: pytest.Session) -> None:
    """In CI every extra that a test asks for must be there."""
    if not everything_is_there(session.config) or hasattr(session.config, "workerinput"):
        return
    missing = [name for name in EXTRAS if importlib.util.find_spec(name) is None]
    if missing:
        pytest.exit(f"CI lacks {', '.join(missing)}: `make test` installs the extras", returncode=3)
