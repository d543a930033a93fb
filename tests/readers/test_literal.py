"""Literals as trainers print them."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.readers._literal import number, parse


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0.5", 0.5),
        ("-1e-06", -1e-06),
        ("np.float64(0.5)", 0.5),
        ("numpy.float32(2)", 2),
        ("tensor(0.5, device='cuda:0')", 0.5),
        ("tensor([3.5])", 3.5),
        ("array([21.], dtype=float32)", 21),
        ("[21.]", 21),
        ("'0.01'", 0.01),
        ('"12"', 12),
        ("True", 1),
        ("false", 0),
        ("-inf", -math.inf),
    ],
)
def test_numbers_in_their_wrappings(text: str, value: float):
    assert number(text) == value


@pytest.mark.parametrize("text", ["", "x", "None", "[1, 2]", "(1, 2)", "1 2", "0.5s", "2018-08-21", "f(x)", "[1", "1]"])
def test_what_is_no_number(text: str):
    assert number(text) is None


def test_nan_is_a_number():
    assert math.isnan(number("np.float64(nan)"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{'a': 1, 'b': [1, 2.5, None], 'c': {'d': True}}", {"a": 1, "b": [1, 2.5, None], "c": {"d": True}}),
        ("{'a': np.float64(0.5), 'b': tensor(1., device='cuda:0')}", {"a": 0.5, "b": 1.0}),
        ("{'a': inf, 'b': -inf}", {"a": math.inf, "b": -math.inf}),
        ("OrderedDict([('a', 1)])", [["a", 1]]),
        ("dict(net_arch=[64, 64])", {"net_arch": [64, 64]}),
        ("{'f': <class 'x.Y'>, 'g': <function f at 0x7f>}", {"f": "<class 'x.Y'>", "g": "<function f at 0x7f>"}),
        ("(1, 2)", [1, 2]),
        ("{1, 2}", [1, 2]),
        ("{}", {}),
        ('{"it\'s": "a\\n\\"b\\""}', {"it's": 'a\n"b"'}),
        ("{'kl': -0.5, }", {"kl": -0.5}),
    ],
)
def test_literals(text: str, value: object):
    assert parse(text) == value


@pytest.mark.parametrize("text", ["", "{", "{'a': }", "{'a' 1}", "[1 2]", "{'a': 1} x", "'open", "f(", "@", "{'a': 1"])
def test_broken_literals_are_refused(text: str):
    with pytest.raises(ValueError, match=r"."):
        parse(text)


@pytest.mark.parametrize("opening", ["[", "(", "{'a':", "f("])
def test_deep_nesting_is_refused_and_does_no_harm(opening: str):
    with pytest.raises(ValueError, match=r"deep|expected"):
        parse(opening * 100_000)


def test_nothing_is_ever_called(tmp_path: Path):
    marker = tmp_path / "marker"
    assert parse(f"open({str(marker)!r}, 'w')") == str(marker)
    assert not marker.exists()


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.slow
@given(JSON)
def test_what_python_prints_is_read_back(value: object):
    assert parse(repr(value)) == value
