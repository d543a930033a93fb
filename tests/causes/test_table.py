"""The tables of causes: what a row says wrong is told with file and row, and a text is read from its own part of the file."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from firstbreak.engine import index, registry
from firstbreak.engine.families import SAMPLED, Policy, only
from firstbreak.knowledge.causes import _table
from firstbreak.model import Link
from firstbreak.plugins import BadPlugin

ROW: dict[str, Any] = {"title": "A cause", "findings": [["reward-flat", 0.5]], "experiments": ["toy-reward"]}


@pytest.mark.parametrize(
    ("key", "value", "said"),
    [
        ("families", ["texts"], "families: 'texts' is none of text, control"),
        ("without", ["text"], "without: 'text' is none of group_relative"),
        ("applies", "reward_lost", "applies: 'reward_lost' is none of recorded_inside"),
        ("measured_inside", ["overwriten"], "measured_inside: 'overwriten' is none of"),
        ("weights", "evaluated", "weights: 'evaluated' is none of reward_lost"),
        ("settings", [["learning_rate", "large"]], "settings: 'large' is none of high, low, off"),
        ("refuted_by", ["learned", "learns"], "refuted_by: 'learns' is none of scored_well_at_first"),
    ],
)
def test_a_name_that_there_is_not_is_refused_with_file_row_and_key(key: str, value: Any, said: str) -> None:
    with pytest.raises(BadPlugin, match=r"reward\.toml: \[my-cause\]: ") as told:
        _table.cause("my-cause", Link.REWARD, ROW | {key: value})
    assert said in str(told.value)


@pytest.mark.parametrize(("line", "said"), [("finding = []", "finding is no key of a cause"), ("", "fix is missing")])
def test_a_row_with_a_key_too_many_or_too_few_is_refused(
    line: str, said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    texts = (f'{key} = "x"' for key in _table.PAGE if line or key != "fix")
    lines = ["[my-cause]", 'title = "A cause"', "findings = []", "experiments = []", *texts, line]
    (tmp_path / "causes").mkdir()
    (tmp_path / "causes" / "reward.toml").write_text("\n".join(lines))
    monkeypatch.setattr(index, "HOME", tmp_path)
    with pytest.raises(BadPlugin, match=rf"reward\.toml: \[my-cause\]: {said}"):
        _table.rows(Link.REWARD)


def test_groups_of_families_have_a_name() -> None:
    assert _table.cause("x", Link.REWARD, ROW | {"families": ["text", "sampled"]}).families == only(
        Policy.TEXT, *SAMPLED
    )


def test_a_page_holds_the_texts_of_its_row() -> None:
    """They are read without the reader of TOML, so they have to be plain."""
    for link, _, _ in index.tables("causes"):
        for name, row in tomllib.loads(index.file_of("causes", link).read_text("utf-8")).items():
            texts = registry.sections(registry.causes()[name].doc)
            expected = {"": row["title"], **{heading: row[key] for key, heading in _table.PAGE.items()}}
            assert texts == expected, f"{link}: {name}: double quotes, no escapes, no line that begins with a bracket"


def test_no_predicate_and_no_weight_is_without_a_row() -> None:
    rows = [row for link, _, _ in index.tables("causes") for row in _table.rows(link).values()]
    assert _table.APPLIES.keys() == {row["applies"] for row in rows if "applies" in row}
    assert _table.WEIGHTS.keys() == {row["weights"] for row in rows if "weights" in row}
    assert _table.REFUTATIONS.keys() == {name for row in rows for name in row.get("refuted_by", ())}
