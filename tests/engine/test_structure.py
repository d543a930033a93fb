"""What the structure promises: typed evidence, and an engine that knows no check by name."""

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import firstbreak
from firstbreak.audit.rows import rows
from firstbreak.engine.registry import causes, detectors

SOURCE = Path(firstbreak.__file__).parent
ENGINE = sorted((SOURCE / "engine").glob("*.py"))
#: attributes that hold text for people: what is decided must not depend on their words
DISPLAYED = {"text", "message", "title", "note", "summary", "why", "do_first", "upside", "risk", "doc", "if_cause"}
SAYS_ANYTHING = {"", None}  #: a comparison with nothing asks whether there is a text, not what it says


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


def trees(files: list[Path]) -> Iterator[tuple[Path, ast.AST]]:
    for path in files:
        yield path, parsed(path)


def test_the_engine_names_no_detector_and_no_cause() -> None:
    names = set(detectors()) | set(causes()) | set(rows())
    named = [
        f"{path.name}: {node.value!r}"
        for path, tree in trees(ENGINE)
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in names
    ]
    assert named == []


def compared(tree: ast.AST) -> Iterator[str]:
    """Comparisons and membership tests with a text for people on one side and a text of its own on the other."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Compare):
            continue
        sides = [node.left, *node.comparators]
        shown = [s.attr for s in sides if isinstance(s, ast.Attribute) and s.attr in DISPLAYED]
        words = {c.value for side in sides for c in ast.walk(side) if isinstance(c, ast.Constant)} - SAYS_ANYTHING
        if shown and any(isinstance(word, str) for word in words):
            yield f"line {node.lineno}: {ast.unparse(node)}"


@pytest.mark.thorough
def test_no_text_for_people_is_compared() -> None:
    found = [
        f"{path.relative_to(SOURCE)} {said}"
        for path, tree in trees(sorted(SOURCE.rglob("*.py")))
        for said in compared(tree)
    ]
    assert found == []


def test_such_a_comparison_would_be_found() -> None:
    assert list(compared(ast.parse('explained = {w.finding for w in evidence if w.text == "seen"}')))
    assert not list(compared(ast.parse('said = [o for o in outcomes if o.note != ""]')))
