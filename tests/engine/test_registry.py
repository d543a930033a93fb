"""The folders are the registry, and the signature is the metadata."""

import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest

from firstbreak.engine import registry
from firstbreak.engine.catalogue import catalogue
from firstbreak.model import Link
from firstbreak.plugins import BadPlugin
from tests.every import every

SOURCE = Path(registry.__file__).parents[1] / "knowledge"


@pytest.mark.parametrize("kind", ["detectors", "causes"])
def test_every_file_and_every_row_of_a_link_is_found(kind: str) -> None:
    files = {p.stem.replace("_", "-") for p in (SOURCE / kind).glob("*/*.py") if not p.stem.startswith("_")}
    rows = [name for p in (SOURCE / kind).rglob("*.toml") for name in tomllib.loads(p.read_text("utf-8"))]
    found = registry.detectors() if kind == "detectors" else registry.causes()
    assert sorted(found) == sorted([*files, *rows])
    assert [item.link.order for item in found.values()] == sorted(item.link.order for item in found.values())


def test_a_parameter_that_is_no_input_is_refused_with_file_and_line() -> None:
    module = ModuleType("firstbreak.knowledge.detectors.reward.wrong")
    module.__file__ = "wrong.py"
    exec(  # a plug-in as an author would write it
        compile('"""Wrong."""\ndef detect(reward_meen):\n    return None\n', "wrong.py", "exec"), module.__dict__
    )
    import linecache

    linecache.cache["wrong.py"] = (
        0,
        None,
        ['"""Wrong."""\n', "def detect(reward_meen):\n", "    return None\n"],
        "wrong.py",
    )
    with pytest.raises(BadPlugin, match=r"wrong.py:2.*reward_meen"):
        registry._detector(module, Link.REWARD)


def test_every_expected_finding_is_a_detector() -> None:
    known = set(registry.detectors())
    wrong = {(c.id, name) for c in registry.causes().values() for name in c.findings if name not in known}
    assert not wrong


def test_every_critical_detector_is_explained_by_a_cause() -> None:
    explained = {name for c in registry.causes().values() for name in c.findings}
    critical = {d.id for d in registry.detectors().values() if "Severity.CRITICAL" in _source(d.ask)}
    assert critical <= explained


def _source(function: object) -> str:
    return Path(sys.modules[function.__module__].__file__ or "").read_text()


def test_a_cause_keeps_the_contract() -> None:
    def complete(cause: registry.Cause) -> None:
        sections = registry.sections(cause.doc)
        headings = [
            "",
            "What happens",
            "When it is healthy",
            "Fix",
            "Smallest experiment",
            "Where in code to look",
            "References",
        ]
        assert list(sections) == headings
        assert all(sections.values())
        assert len(cause.title) < 90
        assert [p for p in cause.findings.values() if not 0 < p < 1] == []
        assert cause.prior > 0
        assert set(cause.experiments) <= set(catalogue())
        assert [line for line in sections["References"].splitlines() if not line.startswith("https://")] == []
        assert [line for line in sections["Fix"].splitlines() if not line.startswith(("- ", "  "))] == []

    every(registry.causes().values(), complete, name=lambda c: c.id)
