"""The trainers of small.toml: what stands in the file, and when it is read."""

import sys
import tomllib
from types import ModuleType
from typing import Any

import pytest

from firstbreak import dialects, plugins
from firstbreak.dialects import _small


def test_each_part_of_the_file_is_read_as_it_stands_in_the_whole() -> None:
    whole = tomllib.loads(_small.FILE.read_text("utf-8"))
    for name, module in _small.modules().items():
        table = whole[name]
        assert list(module.NAMES) == list(table["names"])
        assert getattr(module, "CONFIG", {}) == table.get("config", {})
        assert sorted(module.MARKS) == sorted(table.get("marks", []))
        assert module.__doc__ == table["more"]["about"]


def test_recognition_reads_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    fixed = dialects.dialects()
    modules = _small.modules()
    monkeypatch.setattr(dialects, "dialects", lambda: {**fixed, **modules})
    dialects.choose(["Loss", "of no trainer"], {})
    assert [name for name, module in modules.items() if "NAMES" in vars(module)] == []
    module = modules["garage"]
    assert module.NAMES["Itr"] == "progress.iterations"
    assert not hasattr(module, "refine")


def test_a_name_is_given_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "stranger.garage", ModuleType("stranger.garage"))
    monkeypatch.setattr(plugins, "elsewhere", lambda group: ("stranger.garage",))
    with pytest.raises(plugins.BadPlugin, match="'garage' is taken by"):
        dialects.dialects.__wrapped__()


@pytest.mark.parametrize(
    ("names", "config", "method"),
    [
        ({"b"}, {}, "one"),
        ({"c"}, {}, None),
        ({"c", "d"}, {}, "two"),
        ({"prefix/x"}, {}, "three"),
        (set(), {"learner": "q"}, "four"),
        ({"none", "b/"}, {"learner": "q"}, "four"),
        ({"none"}, {}, None),
    ],
)
def test_methods_by_their_signs(names: set[str], config: dict[str, str], method: str | None) -> None:
    methods: list[list[Any]] = [
        ["one", "a", "b"],
        ["two", ["c", "d"]],
        ["three", "prefix/*"],
        ["four", "learner=q"],
        ["", "none"],
    ]
    assert _small._method(methods, names, config) == method
    assert _small._method([*methods[-1:], ["rest"]], {"else"}, {}) == "rest"
