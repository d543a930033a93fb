"""What a user installs: complete, small, typed, and working outside of the repository."""

import json
import os
import re
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from firstbreak.reports import json as json_report
from tests.lazy import lazy

jsonschema = lazy("jsonschema")

ROOT = Path(__file__).parent.parent.parent
# bytes of the wheel without the chart library; the aim is 1 MB, `make bench-web` prints where it stands. Raised by 10,000 for the
# formats and names of 220 public scripts and seven relations, by 7,000 for records and DataFrames and for comparisons by kind
LARGEST = 1_912_000
MAIN = "from firstbreak.cli import main; main()"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution, and the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT]
    subprocess.run(command, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Iterator[zipfile.ZipFile]:
    with zipfile.ZipFile(next(built.glob("*.whl"))) as archive:
        yield archive


@pytest.fixture(scope="module")
def site(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, installed by itself."""
    folder = tmp_path_factory.mktemp("site")
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", folder]
    subprocess.run([*pip, next(built.glob("*.whl"))], check=True, capture_output=True)
    return folder


def firstbreak(site: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """The installed package, not the repository: the first path wins, and the working directory is elsewhere."""
    environment = {**os.environ, "PYTHONPATH": str(site), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-c", f"import firstbreak; assert firstbreak.__file__.startswith({str(site)!r}); {MAIN}"]
    return subprocess.run([*command, *arguments], cwd=site, env=environment, capture_output=True, text=True)


def test_everything_that_is_read_at_run_time_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    here = {
        str(p.relative_to(ROOT / "src"))
        for p in (ROOT / "src").rglob("*")
        if p.is_file() and "__pycache__" not in p.parts
    }
    assert here - set(wheel.namelist()) == set()
    assert "firstbreak/py.typed" in wheel.namelist()
    assert "firstbreak/serve/web/static/uPlot.LICENSE" in wheel.namelist()
    assert any(name.endswith("licenses/LICENSE") for name in wheel.namelist())


def test_the_wheel_is_small(wheel: zipfile.ZipFile) -> None:
    chart = sum(item.compress_size for item in wheel.infolist() if "uPlot" in item.filename)
    assert wheel.filename is not None
    assert Path(wheel.filename).stat().st_size - chart < LARGEST


def test_the_source_distribution_is_the_source(built: Path) -> None:
    with tarfile.open(next(built.glob("*.tar.gz"))) as archive:
        tops = {Path(name).parts[1] for name in archive.getnames() if len(Path(name).parts) > 1}
    assert "src" in tops
    assert tops <= {
        "src",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CITATION.cff",
        "pyproject.toml",
        "PKG-INFO",
        ".gitignore",
    }


def test_the_installed_package_diagnoses(site: Path) -> None:
    done = firstbreak(site, "demo", "--format", "json")
    diagnosis = json.loads(done.stdout)
    assert diagnosis["first_break"]["link"] == "reward"
    jsonschema.validate(diagnosis, json_report.schema())


def test_every_command_has_help(site: Path) -> None:
    """Each command's module is imported, and imports nothing that only an extra brings."""
    listed = firstbreak(site, "--help").stdout
    asks = "from firstbreak.cli import COMMANDS, app\nfor name in COMMANDS: app.main([name, '--help'], standalone_mode=False)"
    environment = {**os.environ, "PYTHONPATH": str(site)}
    told = subprocess.run(
        [sys.executable, "-c", asks], cwd=site, env=environment, capture_output=True, text=True, check=True
    )
    for name in ("diagnose", "inspect", "watch", "serve", "mcp", "explain", "new", "demo"):
        assert f"  {name} " in listed
        assert f"{name} [OPTIONS]" in told.stdout


def test_an_extra_that_is_missing_is_one_clear_line(site: Path) -> None:
    for command, package in (("serve", "starlette"), ("mcp", "mcp")):
        blocked = f"import sys; sys.modules[{package!r}] = None; {MAIN}"
        environment = {**os.environ, "PYTHONPATH": str(site)}
        done = subprocess.run(
            [sys.executable, "-c", blocked, command], cwd=site, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 2
        assert done.stderr.strip().endswith(f"pip install 'firstbreak[{command.replace('serve', 'web')}]'")
        assert len(done.stderr.splitlines()) == 1


def test_the_shell_completes_commands(site: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": str(site), "_FIRSTBREAK_COMPLETE": "bash_complete"}
    environment |= {"COMP_WORDS": "firstbreak dia", "COMP_CWORD": "1"}
    done = subprocess.run([sys.executable, "-c", MAIN], env=environment, capture_output=True, text=True)
    assert "diagnose" in done.stdout


def test_the_action_and_the_hook_call_what_exists(site: Path) -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    diagnose_help = firstbreak(site, "diagnose", "--help").stdout
    script = action["runs"]["steps"][-1]["run"] + hook["entry"]
    for option in ("--fail-on", "--format", "-o"):
        assert option in script
        assert option in diagnose_help
    assert "${{" not in script  # an input inside a script would be run by the shell
    assert "GITHUB_ACTION_PATH" in action["runs"]["steps"][1]["run"]  # what was checked out is what is installed


def test_the_hook_of_the_docs_is_the_hook_and_stops_a_broken_run(site: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    block = re.search(r"```yaml\n(- repo: local.*?)```", (ROOT / "docs" / "ci.md").read_text(), re.DOTALL)
    assert block is not None
    ((local,),) = (repo["hooks"] for repo in yaml.safe_load(block[1]))
    del hook["description"]
    assert local == {**hook, "language": "system"}
    log = site / "firstbreak" / "cli" / "demo" / "run" / "trainer_state.json"
    assert re.search(hook["files"], str(log))
    assert firstbreak(site, *hook["entry"].split()[1:], str(log)).returncode == 1


def test_the_citation_names_this_version() -> None:
    import firstbreak

    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert (citation["title"], citation["version"]) == ("firstbreak", firstbreak.__version__)
