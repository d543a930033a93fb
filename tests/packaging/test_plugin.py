"""What somebody else writes is used like what we wrote: a package with one entry point, installed beside firstbreak."""

import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from firstbreak.cli.new import KINDS
from firstbreak.cli.new import command as new
from tests.packaging.test_contributing import additions

ROOT = Path(__file__).parent.parent.parent
MAIN = "from firstbreak.cli import main; main()"


def installed(package: Path, folder: Path) -> dict[str, str]:
    """The environment in which `package` is installed; built with what this machine has, fetched from nowhere."""
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-index"]
    subprocess.run([*pip, "--target", str(folder), str(package)], check=True, capture_output=True)
    return {**os.environ, "PYTHONPATH": str(folder)}


def firstbreak(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", MAIN, *arguments], env=environment, capture_output=True, text=True)


def test_a_detector_from_outside_takes_part(tmp_path: Path) -> None:
    environment = installed(ROOT / "examples" / "plugin", tmp_path / "site")
    explained = firstbreak(environment, "explain", "answers-repeat")
    assert "detector of the link rollout" in explained.stdout
    run = tmp_path / "run"
    run.mkdir()
    with (run / "completions.jsonl").open("w") as file:
        for step in range(40):
            looping = " ".join(["again and"] * 20)
            file.write(json.dumps({"step": step, "prompt": "go", "completion": looping, "reward": 0.5}) + "\n")
    found = json.loads(firstbreak(environment, "diagnose", str(run), "--format", "json").stdout)["findings"]
    assert "answers-repeat" in [finding["detector"] for finding in found]


PROJECT = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "mine"
version = "0"
[tool.hatch.build.targets.wheel]
packages = ["mine"]
"""


NAMES = {
    "detector": "reward/odd-thing",
    "cause": "reward/odd-cause",
    "experiment": "odd-trial",
    "audit-row": "rollout/odd-row",
    "reader": "oddlog",
    "dialect": "oddtrainer",
}


def test_what_the_scaffold_writes_works_at_once(tmp_path: Path) -> None:
    """Every kind, as a plugin: it loads by its entry point, and its tests pass."""
    package = tmp_path / "mine"
    package.mkdir()
    (package / "__init__.py").touch()
    project = [PROJECT]
    for kind, name in NAMES.items():
        said = CliRunner().invoke(new, [kind, name, "--into", str(package)])
        assert said.exit_code == 0, said.output
        project.append(said.output.partition("In pyproject.toml:")[2].replace("YOUR_PACKAGE", "mine"))
    (tmp_path / "pyproject.toml").write_text("\n".join(project))
    environment = installed(tmp_path, tmp_path / "site")
    tests = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--rootdir", str(tmp_path), str(package)]
    done = subprocess.run(tests, env=environment, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout
    for file in package.glob("test_*.py"):
        assert file.name not in done.stdout  # of no file a test was skipped or failed
    for command in (["format", "--check"], ["check", "--select=E,F,I,UP,B,SIM,RUF,PT,PERF"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--line-length=120", "--no-cache", str(package)]
        style = subprocess.run(ruff, capture_output=True, text=True)
        assert style.returncode == 0, style.stdout


def test_the_docs_name_every_group_of_entry_points() -> None:
    told = (ROOT / "docs" / "extending.md").read_text()
    groups = {kind.group for kind in KINDS.values() if kind.group}
    assert set(re.findall(r"`(firstbreak\.[\w.]+)` \|$", told, re.MULTILINE)) == groups


def test_in_a_checkout_both_files_go_where_contributing_says(tmp_path: Path) -> None:
    (tmp_path / "src" / "firstbreak").mkdir(parents=True)
    (tmp_path / "src" / "firstbreak" / "model.py").touch()
    for addition in additions():
        module, test = (tmp_path / path for path in addition.writes)
        for name in (addition.name, f"{addition.name}-too"):  # a table gets both rows
            arguments = [addition.kind, name, "--into", str(tmp_path)]
            assert CliRunner().invoke(new, arguments).exit_code == 0
            assert CliRunner().invoke(new, arguments).exit_code == 2  # nothing is written over
        source = module.read_text()
        if module.suffix == ".toml":
            assert list(tomllib.loads(source))[-1] == name.rpartition("/")[2]  # after the rows that were there
        else:
            compile(source, module, "exec")
        in_no_folder = addition.kind == "audit-row"  # elsewhere the folder is the link
        assert bool(re.search(r"^LINK = ", source, re.MULTILINE)) is in_no_folder
        assert test.exists()


@pytest.mark.parametrize(
    ("kind", "name", "said"),
    [
        ("detector", "odd", "belongs to a link"),
        ("detector", "rewards/odd", "belongs to a link"),
        ("reader", "reward/odd", "belongs to no link"),
        ("detector", "reward/Odd", "lower-case words"),
        ("detector", "reward/../odd", "belongs to a link"),
        ("experiment", "reward/odd", "belongs to no link"),
        ("audit-row", "odd", "belongs to a link"),
        ("fault", "reward/odd", "checkout"),
    ],
)
def test_a_wrong_call_is_one_clear_line(tmp_path: Path, kind: str, name: str, said: str) -> None:
    done = CliRunner().invoke(new, [kind, name, "--into", str(tmp_path)])
    assert done.exit_code == 2
    assert said in done.output
    assert not list(tmp_path.iterdir())
