"""The JSON form: strict, complete, and what other programs were promised."""

import copy
import importlib
import json as stdlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.model import Diagnosis, Link
from firstbreak.reports import json
from tests.reports import fixtures


@pytest.fixture(scope="module")
def jsonschema() -> Any:
    """The package, imported by the tests that need it: where its checkers of formats are installed, it takes seconds."""
    return importlib.import_module("jsonschema")


@pytest.mark.slow
def test_payload_satisfies_the_schema_that_ships(dx: Diagnosis, jsonschema: Any) -> None:
    jsonschema.Draft202012Validator.check_schema(json.schema())
    jsonschema.validate(json.payload(dx), json.schema())


@pytest.mark.slow
def test_payload_satisfies_the_contract(dx: Diagnosis, shared: Path, jsonschema: Any) -> None:
    jsonschema.validate(json.payload(dx), contract(shared))


def contract(shared: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = stdlib.loads((shared / "diagnosis.schema.json").read_text())
    return loaded


def damaged(value: Any) -> Iterator[Any]:
    """Copies of a payload with one key missing or one value of a wrong kind, at every depth."""
    children = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, child in list(children):
        for wrong in ([1], "wrong", -7.5, None):
            changed = copy.copy(value)
            changed[key] = wrong
            yield changed
        if isinstance(value, dict):
            yield {k: v for k, v in value.items() if k != key}
        for deeper in damaged(child):
            changed = copy.copy(value)
            changed[key] = deeper
            yield changed


@pytest.mark.slow
def test_schema_is_at_least_as_strict_as_the_contract(shared: Path, jsonschema: Any) -> None:
    ours = jsonschema.Draft202012Validator(json.schema())
    theirs = jsonschema.Draft202012Validator(contract(shared))
    refused = [p for p in damaged(json.payload(fixtures.nan_ridden())) if not theirs.is_valid(p)]
    assert len(refused) > 100
    assert not [p for p in refused if ours.is_valid(p)]


def test_report_is_strict_json_in_ascii(dx: Diagnosis) -> None:
    report = json.render(dx)
    assert report.isascii()
    assert not set(report) & {chr(code) for code in (*range(10), *range(11, 32), 127)}
    # orjson refuses NaN, infinities and lone surrogates, as RFC 8259 has it.
    assert orjson.loads(report) == json.payload(dx)


def test_several_diagnoses_are_a_list() -> None:
    dx = fixtures.healthy()
    assert orjson.loads(json.render_all([dx, dx])) == [json.payload(dx)] * 2


def test_what_is_not_finite_is_null_or_said_in_words() -> None:
    payload = json.payload(fixtures.nan_ridden())
    assert payload["first_break"]["interval"] is None
    assert payload["best_checkpoint"]["value"] == "NaN"
    assert payload["cost"] == {"steps": 98, "fraction": None, "hours": None, "money": None}
    facts = payload["findings"][0]["evidence"]["facts"]
    assert facts == {"peak": 1e10, "after": "NaN", "ratio": "Infinity", "curve": [1.0, "NaN"]}


def test_the_whole_diagnosis_is_there() -> None:
    dx = fixtures.grpo_truncation()
    payload = json.payload(dx)
    assert list(payload["links"]) == [link.value for link in Link]
    assert [finding["detector"] for finding in payload["findings"]] == [o.detector for o in dx.findings]
    assert len(payload["outcomes"]) == len(dx.outcomes)
    assert payload["suppressed"] == 0
    assert payload["expected"] == list(dx.expected)
    assert payload["run"]["not_understood"] == ["my/format_bonus", "gpu0/temp"]
    cause = payload["causes"][0]
    assert cause["total_weight"] == pytest.approx(sum(item["weight"] for item in cause["evidence"]))
    assert cause["experiment"]["overrides"] == {"max_new_tokens": 1024}
    assert cause["experiment"]["command"] == f"firstbreak experiment run longer-limit {dx.run.path}"
    assert payload["first_break"]["step"] == 193


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (np.float32(0.5), 0.5),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.array([1.0, -np.inf]), [1.0, "-Infinity"]),
        ({1: {2}}, {"1": [2]}),
        (Link.REWARD, "reward"),
        ("\udcff", "\\udcff"),
        (Path("a"), "a"),
        ((None, True), [None, True]),
    ],
)
def test_facts_of_any_kind_become_plain(value: Any, expected: Any) -> None:
    assert json.plain(value) == expected


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.integers() | st.text(), st.lists, max_leaves=20))
def test_plain_values_are_always_strict(value: Any) -> None:
    stdlib.loads(json.dump(json.plain(value)), parse_constant=pytest.fail)
