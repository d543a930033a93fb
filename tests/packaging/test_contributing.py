"""What an addition costs is what CONTRIBUTING.md says: each is made once, in a copy of the project, and passes its tests."""

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from firstbreak.cli.new import KINDS

ROOT = Path(__file__).parent.parent.parent
NEEDED = ("src", "lab", "tests", "benchmarks", "docs", "CONTRIBUTING.md", "CHANGELOG.md", "README.md")
NEEDED += ("mkdocs.yml", "pyproject.toml")
DOCS = "from benchmarks.docs.__main__ import main; main()"
#: contract tests that take seconds and ask all additions at once, or none
LONG = "crash or a_run_and_its_label or at_their_own_scale"
ADD = f"""
import sys
import pytest
from firstbreak.cli.new import command
kind, name, *tests = sys.argv[1:]
command.main([kind, name], standalone_mode=False)
from benchmarks.docs.__main__ import main
main()
sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-k", "not ({LONG})", *tests]))
"""


@dataclass(frozen=True)
class Addition:
    """One line of the table."""

    kind: str
    name: str
    writes: tuple[str, ...]
    pages: tuple[str, ...]
    looked_at_by: tuple[str, ...]


def additions() -> list[Addition]:
    lines = re.findall(
        r"^\|[^|]*\| `firstbreak new (\S+) (\S+)` \|(.*)\|$", (ROOT / "CONTRIBUTING.md").read_text(), re.M
    )
    cells = [(kind, name, [tuple(re.findall(r"`([^`]+)`", c)) for c in rest.split("|")]) for kind, name, rest in lines]
    return [Addition(kind, name, *columns) for kind, name, columns in cells]


def content(folder: Path) -> dict[str, bytes]:
    """Every file but what Python and Hypothesis keep for themselves."""
    files = (path.relative_to(folder) for path in folder.rglob("*") if path.is_file())
    kept = (path for path in files if not {"__pycache__", ".hypothesis"} & set(path.parts))
    return {str(path): (folder / path).read_bytes() for path in kept}


def python(folder: Path, code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    outside_ci = {
        name: value for name, value in os.environ.items() if name != "CI"
    }  # no published runs lie beside the copy
    environment = {**outside_ci, "PYTHONPATH": f"{folder / 'src'}{os.pathsep}{folder / 'lab' / 'src'}"}
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project, with its pages up to date."""
    folder = tmp_path_factory.mktemp("project") / "checkout"
    folder.mkdir()
    for name in NEEDED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy2
        copy(ROOT / name, folder / name)
    (folder / "corpus").symlink_to(ROOT / "corpus")
    done = python(folder, DOCS)
    assert done.returncode == 0, done.stderr
    return folder


def test_the_table_names_every_kind() -> None:
    assert sorted(addition.kind for addition in additions()) == sorted(KINDS)
    assert not [path for addition in additions() for path in addition.looked_at_by if not (ROOT / path).exists()]


@pytest.mark.thorough
@pytest.mark.parametrize("addition", additions(), ids=lambda addition: addition.kind)
def test_an_addition_costs_what_the_table_says_and_passes_its_tests(
    addition: Addition, checkout: Path, tmp_path: Path
) -> None:
    if addition.kind == "fault" and importlib.util.find_spec("torch") is None:  # `importorskip` would mark it as a draw
        pytest.skip("torch is not installed")
    folder = tmp_path / "checkout"
    shutil.copytree(checkout, folder, symlinks=True)
    before = content(folder)
    done = python(folder, ADD, addition.kind, addition.name, addition.writes[1], *addition.looked_at_by)
    assert done.returncode == 0, done.stdout + done.stderr
    after = content(folder)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed == {*addition.writes, *addition.pages}
