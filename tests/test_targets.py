"""The targets of the Makefile: pages name no other ones, and `make scheduled` runs all that measure or make something."""

import ast
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

from tests.lazy import lazy

benchmarks_size = lazy("benchmarks.size")

ROOT = Path(__file__).parent.parent
MAKEFILE = (ROOT / "Makefile").read_text()
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
#: name of a module -> the distribution that it comes in, where the two differ
DISTRIBUTIONS = {
    "PIL": "pillow",
    "grpc": "grpcio",
    "markdown_it": "markdown_it_py",
    "rl_doctor": "rldoctor",
    "yaml": "pyyaml",
}


def targets() -> dict[str, str]:
    """Target -> its commands. The files that stand for a finished set-up are no targets."""
    found = re.findall(r"^([a-z][\w-]*):(?!=).*\n((?:\t.*\n)*)", MAKEFILE, re.MULTILINE)
    return dict(found)


def variable(name: str) -> set[str]:
    """The words of a list in the Makefile, over continued lines."""
    lists = re.findall(rf"^{re.escape(name)}((?:.*\\\n)*.*)$", MAKEFILE, re.MULTILINE)
    return {word for words in lists for word in words.replace("\\\n", " ").split()}


def named(page: str) -> set[str]:
    """The targets that a page names as a command, in code: `make demo`, or a line of a block."""
    return set(re.findall(r"(?:^|`|\$ )make ([a-z][\w-]*)", page, re.MULTILINE))


def make(*arguments: str) -> subprocess.CompletedProcess[str]:
    """What make says here, whether or not another make runs the tests."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("MAKE", "MFLAGS"))}
    return subprocess.run(["make", *arguments], cwd=ROOT, env=environment, capture_output=True, text=True)


def test_pages_name_only_targets_that_exist() -> None:
    said = {(page.relative_to(ROOT), name) for page in PAGES for name in named(page.read_text())}
    assert {name for _, name in said} > {"demo", "test", "bench", "docs"}
    assert {(page, name) for page, name in said if name not in targets()} == set()


def test_the_scheduled_lane_runs_every_benchmark_and_every_made_page() -> None:
    makes = {name for name, commands in targets().items() if re.search(r"-m (benchmarks|tests\.fuzz)\b", commands)}
    assert makes > {"bench", "bench-readers", "docs", "fuzz"}
    makes -= {"size", "same-diagnoses"}  # a part of `make lint`, and one that needs two versions of the code
    assert makes | {"demo", "site"} == variable("SCHEDULED :=")


def test_the_scheduled_lane_names_what_failed_and_runs_the_rest(tmp_path: Path) -> None:
    """With a program in place of make that only says what it was asked for, and fails at one target."""
    recipe = tmp_path / "recipe"
    recipe.write_text('#!/bin/sh\necho "$2 $SMALLEST"\ntest "$2" != docs\n')
    recipe.chmod(0o755)
    done = make("scheduled", f"MAKE={recipe}")
    assert done.returncode != 0
    said = done.stdout.splitlines()
    assert {f"{target} 1" for target in variable("SCHEDULED :=")} <= set(said)
    assert said[-1] == "These targets failed: docs"


def imported(source: str) -> Iterator[str]:
    """Top-level modules that a benchmark cannot do without: an import inside `try` may fail."""
    tree = ast.parse(source)
    optional = {id(node) for guarded in ast.walk(tree) if isinstance(guarded, ast.Try) for node in ast.walk(guarded)}
    for node in ast.walk(tree):
        if id(node) in optional:
            continue
        if isinstance(node, ast.Import):
            yield from (name.name.partition(".")[0] for name in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module.partition(".")[0]


def test_all_that_the_benchmarks_import_is_in_an_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    listed = [*project["dependencies"], *(one for extra in project["optional-dependencies"].values() for one in extra)]
    installed = {re.split(r"[\[<>=~! ;]", one)[0].lower().replace("-", "_") for one in listed}
    own = {"firstbreak", "firstbreak_lab", "firstbreak_hooks", "benchmarks", "tests", *sys.stdlib_module_names}
    own |= {
        script.stem for script in (ROOT / "benchmarks" / "recorder" / "strangers").glob("*/*.py")
    }  # beside each other
    needed = {name for file in (ROOT / "benchmarks").rglob("*.py") for name in imported(file.read_text())} - own
    missing = {name for name in needed if DISTRIBUTIONS.get(name, name).lower() not in installed}
    assert missing == set()


def test_the_smallest_size_writes_no_committed_file(tmp_path: Path) -> None:
    """Of a page and of figures; the runs of the smallest corpus are a few of the committed ones."""
    program = (
        "from benchmarks.size import *\n"
        "print(sized(1_000_000, 1), place(ROOT / 'docs/lab.md'), corpus())\n"
        "print(*(len(list(corpus().glob(run))) for run in FEW), flush=True)\n"
        "import subprocess, sys\n"
        "subprocess.run([sys.executable, '-c', 'from benchmarks.size import *; print(corpus())'])"
    )
    environment = {**os.environ, "SMALLEST": "1", "TMPDIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True, check=True)
    size, page, corpus, *runs, of_child = done.stdout.split()
    assert size == "1"
    assert tmp_path in Path(page).parents
    assert tmp_path in Path(corpus).parents
    assert runs == ["5"] * len(benchmarks_size.FEW)  # as many seeds as the harm test needs
    assert of_child == corpus
