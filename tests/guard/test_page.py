"""What docs/guard.md shows is there."""

import ast
import importlib
import pkgutil
import re
from pathlib import Path

import pytest

from firstbreak.live.guard import adapters

PAGE = (Path(__file__).parents[2] / "docs" / "guard.md").read_text()
SECTION = PAGE.partition("## Adapters\n")[2].partition("\n## ")[0]
BLOCKS = re.findall(r"```python\n(.*?)```", SECTION, re.DOTALL)
ADAPTERS = {found.name for found in pkgutil.iter_modules(adapters.__path__)}


@pytest.mark.parametrize("block", BLOCKS)
def test_an_adapter_takes_less_than_ten_lines(block: str) -> None:
    assert len(block.splitlines()) < 10
    for node in ast.walk(ast.parse(block)):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in ADAPTERS:
            module = importlib.import_module(f"firstbreak.live.guard.adapters.{node.value.id}")
            assert callable(getattr(module, node.attr, None)), f"{node.value.id}.{node.attr}"


def test_every_adapter_is_shown() -> None:
    imported = re.findall(r"from firstbreak\.live\.guard\.adapters(?:\.| import )(\w+)", "".join(BLOCKS))
    assert set(imported) == ADAPTERS
