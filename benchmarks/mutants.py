"""Do the tests that everybody runs notice what all tests notice? One-line mutants of the product, and who finds them.

    python -m benchmarks.mutants draw FOLDER            # 30 mutants, and a copy of src that tells which tests reach them
    python -m benchmarks.mutants reach FOLDER           # every test once over that copy
    python -m benchmarks.mutants find FOLDER            # each mutant, with the tests that reach it: `make test`, then the rest

A mutant changes one operator, constant or condition on one line inside a function. A test can find it only if it executes
that line, in its own process or in one that it starts: the copy of `reach` writes down each test that does, so that `find`
runs no other. Each step goes on where it was stopped. The result is in benchmarks/results/speed.json under `mutants`.
"""

from __future__ import annotations

import argparse
import ast
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src"
RESULTS = ROOT / "benchmarks" / "results" / "speed.json"
#: the lane of `make test`, as an expression of pytest's markers
LANE = "not thorough"
COMPARED = {ast.Lt: ">=", ast.LtE: ">", ast.Gt: "<=", ast.GtE: "<", ast.Eq: "!=", ast.NotEq: "=="}
CALCULATED = {ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*")}
#: what the copy calls at a mutant's line: the test's name stands in the environment, in processes that a test starts as well
HITS = '''"""Which test reaches which mutant."""

import os
from pathlib import Path

_seen = set()


def hit(number):
    test = os.environ.get("PYTEST_CURRENT_TEST", "").rpartition(" ")[0]
    if test and (number, test) not in _seen:
        _seen.add((number, test))
        with (Path(__file__).parents[1] / "hits.txt").open("a") as out:
            out.write(f"{number} {test}\\n")
'''


@dataclass(frozen=True)
class Mutant:
    """One changed line."""

    path: str  #: below src
    line: int
    before: str
    after: str
    marked: int  #: the line before which `hit` is called


def mutants_of(path: Path) -> Iterator[Mutant]:
    """Every mutant of a file."""
    text = path.read_text()
    lines, tree = text.splitlines(), ast.parse(text)
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            for statement in _statements(function.body):
                start = statement.lineno
                if lines[start - 1].lstrip().startswith(("elif ", "@")):
                    continue
                for node in _own(statement):
                    for after in _changed(node, lines):
                        number = node.lineno  # type: ignore[attr-defined]
                        yield Mutant(path.relative_to(SOURCE).as_posix(), number, lines[number - 1], after, start)


def _statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    for statement in body:
        if isinstance(statement, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
            continue
        yield statement
        for field in ("body", "orelse", "finalbody"):
            yield from _statements(getattr(statement, field, []))


def _own(statement: ast.stmt) -> Iterator[ast.AST]:
    """The nodes of a statement that belong to no statement inside it."""
    pending = [child for child in ast.iter_child_nodes(statement) if not isinstance(child, ast.stmt)]
    while pending:
        node = pending.pop()
        yield node
        pending += [child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.stmt | ast.JoinedStr)]


def _changed(node: ast.AST, lines: list[str]) -> Iterator[str]:
    """The line with one change at this node, where the change lies on one line."""
    match node:
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARED:
            yield from _between(left, right, {"<", ">", "<=", ">=", "==", "!="}, COMPARED[type(op)], lines)
        case ast.BinOp(left=left, op=op, right=right) if (
            type(op) in CALCULATED and not _text(left) and not _text(right)
        ):
            old, new = CALCULATED[type(op)]
            yield from _between(left, right, {old}, new, lines)
        case ast.BoolOp(op=op, values=[left, right, *_]):
            old, new = ("and", "or") if isinstance(op, ast.And) else ("or", "and")
            yield from _between(left, right, {old}, new, lines)
        case ast.Constant(value=bool() | int() | float() as value) if node.lineno == node.end_lineno:
            line = lines[node.lineno - 1].encode()
            new = repr(not value if isinstance(value, bool) else value + 1)
            yield (line[: node.col_offset] + new.encode() + line[node.end_col_offset :]).decode()


def _text(node: ast.AST) -> bool:
    return isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str))


def _between(left: ast.expr, right: ast.expr, old: set[str], new: str, lines: list[str]) -> Iterator[str]:
    if left.end_lineno == right.lineno and left.end_col_offset is not None:
        line = lines[right.lineno - 1].encode()
        head, middle, tail = (
            line[: left.end_col_offset],
            line[left.end_col_offset : right.col_offset],
            line[right.col_offset :],
        )
        words = middle.decode().split(" ")
        if sum(word in old for word in words) == 1:
            yield head.decode() + " ".join(new if word in old else word for word in words) + tail.decode()


def draw(folder: Path, number: int, seed: int) -> None:
    """Mutants of different files, and the copy of src that marks their lines."""
    random_ = random.Random(seed)
    files = [p for p in sorted((SOURCE / "firstbreak").rglob("*.py")) if "templates" not in p.parts]
    weights = [len(p.read_text().splitlines()) for p in files]
    drawn: dict[str, Mutant] = {}
    while len(drawn) < number:
        (path,) = random_.choices(files, weights)
        if found := list(mutants_of(path)):
            drawn.setdefault(str(path), random_.choice(found))
    copy = folder / "src"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    (copy / "firstbreak_hits.py").write_text(HITS)
    for k, mutant in enumerate(drawn.values()):
        lines = (SOURCE / mutant.path).read_text().splitlines()
        marked = lines[mutant.marked - 1]
        indent = marked[: len(marked) - len(marked.lstrip())]
        lines.insert(mutant.marked - 1, f'{indent}__import__("firstbreak_hits").hit({k})')
        (copy / mutant.path).write_text("\n".join(lines) + "\n")
    (folder / "mutants.json").write_text(json.dumps([asdict(m) for m in drawn.values()], indent=1))


def _pytest(source: Path, *arguments: str) -> int:
    places = [str(source), str(ROOT / "lab" / "src"), str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places), "PYTHONDONTWRITEBYTECODE": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", "2", *arguments]
    return subprocess.run(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL).returncode


def reach(folder: Path, *arguments: str) -> None:
    """Every test once, over the copy that writes down who reaches which mutant."""
    _pytest(folder / "src", *arguments)


def find(folder: Path) -> dict[str, int]:
    """For each mutant: found by `make test`, by another test, or by none."""
    mutants = [Mutant(**row) for row in json.loads((folder / "mutants.json").read_text())]
    reached: dict[int, list[str]] = {k: [] for k in range(len(mutants))}
    for line in (folder / "hits.txt").read_text().splitlines():
        number, _, test = line.partition(" ")
        if test not in reached[int(number)]:
            reached[int(number)].append(test)
    answers = folder / "found.json"
    found: dict[str, str] = json.loads(answers.read_text()) if answers.exists() else {}
    for k, mutant in enumerate(mutants):
        if str(k) not in found:
            found[str(k)] = _found(folder, mutant, reached[k])
            answers.write_text(json.dumps(found))
        print(
            f"{k:2} {found[str(k)]:5} {len(reached[k]):4} tests  {mutant.path}:{mutant.line}  {mutant.after.strip()}",
            flush=True,
        )
    lane = sum(answer == "test" for answer in found.values())
    return {"n": len(found), "found_test": lane, "found_all": lane + sum(answer == "all" for answer in found.values())}


def _found(folder: Path, mutant: Mutant, tests: list[str]) -> str:
    copy = folder / "mutated"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    lines = (SOURCE / mutant.path).read_text().splitlines()
    lines[mutant.line - 1] = mutant.after
    (copy / mutant.path).write_text("\n".join(lines) + "\n")
    if not tests:
        return "none"
    names = folder / "tests.txt"
    names.write_text("\n".join(tests))
    for answer, lane in (("test", LANE), ("all", f"not ({LANE})")):
        ended = _pytest(copy, "-x", "-m", lane, f"@{names}")
        if ended in (1, 2):  # a test failed, or -x stopped xdist; 5: none was chosen
            return answer
    return "none"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("step", choices=("draw", "reach", "find"))
    parser.add_argument("folder", type=Path)
    parser.add_argument("--number", type=int, default=30)
    parser.add_argument("--seed", type=int, default=40)
    asked, rest = parser.parse_known_args()
    if asked.step == "draw":
        draw(asked.folder, asked.number, asked.seed)
    elif asked.step == "reach":
        reach(asked.folder, *rest)
    else:
        result = find(asked.folder)
        old = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        RESULTS.write_text(json.dumps(old | {"mutants": result}, indent=1) + "\n")
        print(result)


if __name__ == "__main__":
    main()
