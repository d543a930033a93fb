"""One meaning per class name: no two public classes of firstbreak and its lab have the same name."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Mapping
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SOURCES = (ROOT / "src", ROOT / "lab" / "src")


@cache
def public_classes() -> Mapping[str, list[str]]:
    """Name -> the files with a public class of this name."""
    places: defaultdict[str, list[str]] = defaultdict(list)
    for source in SOURCES:
        for path in sorted(source.rglob("*.py")):
            for node in ast.parse(path.read_text("utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    places[node.name].append(str(path.relative_to(ROOT)))
    return places


def test_a_class_name_has_one_meaning() -> None:
    shared = {name: places for name, places in public_classes().items() if len(places) > 1}
    assert shared == {}, "give each class its own name"
