"""What makes two evaluations comparable: one record, one hash, and the fields that differ by name."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.evals.canonical import canonical
from firstbreak.evals.protocol import FIELDS, NEEDED, NEEDED_WITH, compare, protocol, read
from firstbreak.readers import Unreadable
from tests.every import every

GSM8K = {"task": "gsm8k", "split": "test", "temperature": 0.0, "max_new_tokens": 512, "stop": ["\n\n", "Question:"]}

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


def test_the_hash_does_not_depend_on_the_order_or_spelling_of_values() -> None:
    again = {
        "stop": ["Question:", "\n\n"],
        "max_new_tokens": 512.0,
        "temperature": -0.0,
        "split": "test",
        "task": "gsm8k",
    }
    assert protocol(GSM8K).hash == protocol(again).hash


@pytest.mark.parametrize(
    ("field", "value"),
    [("temperature", 0.01), ("max_new_tokens", 511), ("split", "train"), ("stop", ["\n\n"]), ("tools", None)],
)
def test_whatever_changes_a_score_changes_the_hash(field: str, value: Any) -> None:
    assert protocol(GSM8K | {field: value}).hash != protocol(GSM8K).hash


@given(st.dictionaries(st.text(), json_values, max_size=5))
def test_the_spelling_survives_a_round_trip_through_json(value: dict[str, Any]) -> None:
    assert canonical(json.loads(canonical(value))) == canonical(value)
    assert canonical(value).isascii()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {"a": object()}])
def test_what_json_has_no_word_for_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="recorded"):
        canonical([value])


def test_a_misspelt_field_is_refused_with_the_right_one() -> None:
    with pytest.raises(ValueError, match="did you mean `temperature`"):
        protocol({"temprature": 0.7})


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("temperature", "hot", "`temperature` must be a number, not 'hot'"),
        ("deterministic", 1, "`deterministic` must be true or false"),
        ("stop", "\n", "`stop` must be a list"),
        ("top_p", float("nan"), "nan"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused(field: str, value: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        protocol({field: value})


def test_unlike_protocols_are_named_field_by_field() -> None:
    left = protocol(GSM8K | {"top_p": 1.0})
    right = protocol(GSM8K | {"temperature": 0.7, "tools": ["python"]})
    found = compare(left, right)
    assert not found.alike
    assert [(d.field, d.left, d.right) for d in found.differs] == [("temperature", 0, 0.7)]
    assert [(d.field, d.only) for d in found.unknown] == [("top_p", "left"), ("tools", "right")]
    assert compare(left, right, accept=("temperature", "top_p", "tools")).alike


def test_a_field_that_one_side_does_not_record_is_not_taken_for_its_default() -> None:
    assert not compare(protocol(GSM8K), protocol(GSM8K | {"tools": None})).alike


def test_what_is_missing_depends_on_what_is_measured() -> None:
    assert protocol({name: FAKE[FIELDS[name].type] for name in NEEDED["answers"]}).missing == NEEDED_WITH["tools"]
    episodes = protocol({"env_id": "CartPole-v1", "episodes": 10})
    assert episodes.kind == "episodes"
    assert {"env_version", "deterministic", "episode_cap"} <= set(episodes.missing)
    assert "temperature" not in episodes.missing


FAKE: dict[str, Any] = {"text": "x", "number": 1, "flag": True, "list": [], "set": ["x"], "any": "x"}


def test_every_field_is_read_back_from_a_file(tmp_path: Path) -> None:
    def read_back(name: str) -> None:
        written = protocol({name: FAKE[FIELDS[name].type], "other.thing": 1})
        (tmp_path / "plain.yaml").write_text(yaml.safe_dump({name: FAKE[FIELDS[name].type], "other": {"thing": 1}}))
        (tmp_path / "locked.json").write_text(json.dumps(written.record()))
        assert read(tmp_path / "plain.yaml").hash == read(tmp_path / "locked.json").hash == written.hash

    every(FIELDS, read_back)


def test_a_locked_protocol_that_was_edited_is_refused(tmp_path: Path) -> None:
    record = protocol(GSM8K).record()
    record["fields"]["temperature"] = 0.7
    (tmp_path / "locked.json").write_text(json.dumps(record))
    with pytest.raises(Unreadable, match="changed after it was locked"):
        read(tmp_path / "locked.json")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("temperature: [", "line|:1:|:2:"),
        ("just words", "holds no fields"),
        ("other: 3", "`other` must be a mapping"),
        ("!!python/object/apply:os.system ['true']", "neither YAML nor JSON"),
    ],
)
def test_a_file_that_is_no_protocol_is_refused_in_one_line(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(Unreadable, match=message) as error:
        read(tmp_path / "p.yaml")
    assert "\n" not in str(error.value)
    assert "p.yaml" in str(error.value)
