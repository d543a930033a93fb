"""The names in the sources of the trainers that are installed here: what upstream logs today, not only what was read once."""

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

from firstbreak import dialects

_RECORDED = {
    "skrl": ("skrl", r"track(?:_data\(\s*f?|ing_data\[)[\"']([^\"']+ / [^\"']+)[\"']"),
    "sb3": ("stable_baselines3", r"logger\.record(?:_mean)?\(\s*f?[\"']([^\"']+)[\"']"),
    "trl": ("trl", r"(?:_metrics\[\w+\]|\bmetrics|self\.stats|_counters|_rates)\[f?[\"']([^\"']+)[\"']\]"),
}


@pytest.mark.parametrize("trainer", sorted(_RECORDED))
def test_what_the_installed_trainer_logs_is_understood(trainer: str) -> None:
    package, pattern = _RECORDED[trainer]
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"{package} is not installed")
    sources = Path(spec.origin).parent.rglob("*.py")
    found = {name for source in sources for name in re.findall(pattern, source.read_text(errors="replace"))}
    names = {
        re.sub(r"\{[^}]*\}", "x", name.removeprefix("{prefix}")) for name in found if name not in ("train", "eval")
    }
    dialect = dialects.dialects()[trainer]
    unknown = {
        name for name in names if not (dialects.translate(name, dialect) or dialects.not_converted(name, dialect))
    }
    assert len(names) > 20
    assert len(unknown) <= 0.05 * len(names), sorted(unknown)
