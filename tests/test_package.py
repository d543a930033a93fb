"""The shape of the package: what may import what, and what an import costs."""

import ast
import importlib
import json
import subprocess
import sys
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import firstbreak
from firstbreak.cli.demo import RUN
from tests.every import every

SOURCE = Path(firstbreak.__file__).parent

#: a module may import from its own layer and from those above it in this list
LAYERS = [
    {"patterns", "values", "model", "viewable", "words", "plugins", "processes", "masking", "written"},
    {"dialects"},
    {"readers", "context"},
    {"engine"},
    {"knowledge"},
    {"evals"},
    {"preflight"},
    {"reports"},
    {"audit"},
    {"live"},
    {"compare"},
    {"closeout"},
    {"experiments"},
    {"serve"},
    {"cli"},
    {"__main__"},
]
#: installed by extras only: whatever needs one imports it inside the function that uses it
HEAVY = {"torch", "tensorboard", "wandb", "mlflow", "trackio", "swanlab", "pandas", "pyarrow", "ray", "gymnasium", "trl",
         "transformers", "stable_baselines3", "scipy", "matplotlib", "polars", "datasets"}  # fmt: skip


def modules() -> list[Path]:
    return sorted(p for p in SOURCE.rglob("*.py"))


def place(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def imports(path: Path, *, top_level_only: bool = False) -> set[str]:
    tree = parsed(path)
    nodes = tree.body if top_level_only else ast.walk(tree)
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return found


def test_imports_point_from_later_to_earlier_layers() -> None:
    layer = {name: i for i, names in enumerate(LAYERS) for name in names}

    def downwards(path: Path) -> None:
        here = place(path)
        if here == "__init__":
            return  # the package's face looks at everything
        assert here in layer, f"{path} lies in no layer: add its folder to LAYERS"
        ours = [name for name in imports(path) if name.startswith("firstbreak.") and name.split(".")[1] in layer]
        assert [name for name in ours if layer[name.split(".")[1]] > layer[here]] == []

    every(modules(), downwards, name=lambda p: p.relative_to(SOURCE))


def module(path: Path) -> str:
    return ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts).removesuffix(".__init__")


def names_of(path: Path, package: str) -> set[str]:
    """What a file imports from a package, as `package.name`."""
    froms = (node for node in ast.walk(parsed(path)) if isinstance(node, ast.ImportFrom) and node.module == package)
    return {f"{package}.{alias.name}" for node in froms for alias in node.names}


def circles(needs: Mapping[str, set[str]]) -> list[set[str]]:
    """Modules that need each other, directly or through others: the strongly connected components (Tarjan) of more than one."""
    place: dict[str, int] = {}
    lowest: dict[str, int] = {}
    open_: list[str] = []
    found: list[set[str]] = []

    def visit(name: str) -> None:
        place[name] = lowest[name] = len(place)
        open_.append(name)
        for other in needs[name]:
            if other not in place:
                visit(other)
            if other in open_:
                lowest[name] = min(lowest[name], lowest[other])
        if lowest[name] == place[name]:
            first = open_.index(name)
            found.append(set(open_[first:]))
            del open_[first:]

    for name in needs:
        if name not in place:
            visit(name)
    return [each for each in found if len(each) > 1]


def test_a_circle_is_found() -> None:
    needs = {"a": {"b"}, "b": {"c", "e"}, "c": {"d"}, "d": {"b"}, "e": set(), "f": {"f"}}
    assert circles(needs) == [{"b", "c", "d"}]


def test_no_modules_import_each_other() -> None:
    """Nor where the import stands inside a function."""
    ours = {module(path): path for path in modules()}

    def needed(path: Path) -> set[str]:
        found = imports(path) & ours.keys()
        packages = {name.rpartition(".")[0] for name in found}  # `from package import module` needs the module alone
        return found - {
            package for package in packages if package in found and not names_of(path, package) - ours.keys()
        }

    assert circles({name: needed(path) - {name} for name, path in ours.items()}) == []


def test_nothing_heavy_is_imported_at_the_top_of_a_module() -> None:
    def light(path: Path) -> None:
        assert {name.partition(".")[0] for name in imports(path, top_level_only=True)} & HEAVY == set()

    every((p for p in modules() if place(p) not in ("lab", "demo")), light, name=lambda p: p.relative_to(SOURCE))


def loaded_by(code: str) -> set[str]:
    script = f"import sys, json; {code}; print(json.dumps(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return {name.partition(".")[0] for name in json.loads(done.stdout.splitlines()[-1])}


def test_importing_firstbreak_imports_nothing_but_the_standard_library() -> None:
    assert not loaded_by("import firstbreak") & (HEAVY | {"numpy", "click", "rich", "yaml"})


def test_help_waits_for_nothing_heavy() -> None:
    code = "from firstbreak.cli import app; app.main(['--help'], standalone_mode=False)"
    assert not loaded_by(code) & (HEAVY | {"numpy", "rich", "yaml"})


def test_reading_checking_and_diagnosing_need_no_extra() -> None:
    code = "import firstbreak; firstbreak.diagnose; firstbreak.read; firstbreak.check"
    assert not loaded_by(code) & HEAVY


def test_the_public_names_are_the_words_of_the_documentation() -> None:
    assert callable(firstbreak.read)
    assert callable(firstbreak.check)
    assert callable(firstbreak.diagnose)
    importlib.import_module("firstbreak.readers.read")  # a submodule must not replace the function of the same name
    assert callable(firstbreak.read)


def test_a_run_and_its_diagnosis_are_one_line_each_at_the_prompt() -> None:
    run = firstbreak.read(RUN)
    assert repr(run).endswith("/run': trl grpo, 53 metrics, steps 0 to 160>")
    said = repr(firstbreak.diagnose(run))
    assert said.startswith("<Diagnosis of ")
    assert ": rollback. First break at reward, step 61 of 160. " in said
    assert "First: Stop, and go back to the checkpoint" in said


def test_a_path_is_diagnosed_as_the_command_does_and_what_was_found_is_short() -> None:
    dx = firstbreak.diagnose(str(RUN))
    assert repr(dx) == repr(firstbreak.diagnose(firstbreak.read(RUN)))
    assert repr(dx.findings[0]).startswith("<reward-proxy-only (reward): critical, since 61. ")
    assert repr(dx.causes[0]) == "<reward-pays-for-length: 96 %, Longer completions get more reward>"
    assert all(len(repr(one)) < 200 for one in (*dx.outcomes, *dx.causes))


def test_the_public_names_are_listed() -> None:
    assert {"read", "diagnose", "check", "Guard", "recorder"} <= set(dir(firstbreak))
    assert "partial" not in dir(firstbreak)


def test_a_diagnosis_shows_its_report_in_notebooks_and_with_rich() -> None:
    code = """
import firstbreak, rich
from firstbreak.cli.demo import RUN
diagnosis = firstbreak.diagnose(firstbreak.read(RUN))
print(diagnosis._repr_html_().partition(">")[0])
rich.print(diagnosis)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("<")
    assert "firstbreak" in done.stdout.splitlines()[0]
    assert "Do this first" in done.stdout
