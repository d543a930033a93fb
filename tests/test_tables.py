"""The tables that a start reads instead of the files say what the files say, and a file that is new needs no table."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from firstbreak import dialects, readers
from firstbreak.cli.demo import RUN
from firstbreak.engine import index, registry


def test_the_tables_are_up_to_date() -> None:
    assert index.INDEX.read_text("utf-8") == registry.table(), "run `make docs`"
    assert readers.INDEX.read_text("utf-8") == readers.table(), "run `make docs`"
    assert dialects.INDEX.read_text("utf-8") == dialects.table(), "run `make docs`"


def test_without_the_tables_the_same_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    listed = {kind: list(found()) for kind, found in (("detectors", registry.detectors), ("causes", registry.causes))}
    formats = list(readers.readers())
    monkeypatch.setattr(index, "_table", dict)
    whole = {"detectors": registry.detectors.__wrapped__(), "causes": registry.causes.__wrapped__()}
    for kind, found in whole.items():
        assert list(found) == listed[kind]
    for name, one in whole["detectors"].items():
        assert type(one) is not registry.Listed, name
    other = json.loads(readers.INDEX.read_text("utf-8")) | {"csv": {"bytes": 1}}
    old = tmp_path / "index.json"
    old.write_text(json.dumps(other))
    monkeypatch.setattr(readers, "INDEX", old)
    assert list(readers.Readers()) == formats
    trainers = list(dialects.dialects())
    monkeypatch.setattr(dialects, "INDEX", dialects.INDEX.with_name("none.json"))
    assert list(dialects.dialects.__wrapped__()) == trainers


def test_a_diagnosis_imports_only_the_dialect_of_the_run() -> None:
    code = f"""
import sys
from firstbreak.readers.read import read
read({str(RUN)!r})
print(*[name for name in sys.modules if name.startswith("firstbreak.dialects.")])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert not {"firstbreak.dialects.rllib", "firstbreak.dialects.sb3"} & set(done.stdout.split())


def test_a_diagnosis_imports_only_the_detectors_whose_needs_were_recorded() -> None:
    code = f"""
import json, sys
from firstbreak.engine.detection import check
from firstbreak.readers.read import read
check(read({str(RUN)!r}))
print(json.dumps([name for name in sys.modules if name.startswith("firstbreak.knowledge.detectors.")]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = {name.rpartition(".")[2].replace("_", "-") for name in json.loads(done.stdout)}
    assert "reward-flat" in imported
    assert "value-loss-diverging" not in imported
    assert len(imported & set(registry.detectors())) < len(registry.detectors()) / 2
