"""Console lines whose form comes again, whatever it is."""

from collections.abc import Callable
from pathlib import Path

import pytest

from firstbreak.readers.console import forms
from firstbreak.readers.read import read

FORMS: dict[
    str, tuple[Callable[[int], str], dict[str, float]]
] = {  #: the lines of row i, and names with their number in row 1
    "names, then numbers, in cells": (
        lambda i: f"  {300 * i} | eps {0.9**i:.3f} ep_ret {-6 + i:.2f} soft 0/10 | loss nan q +{i / 10} | t 4s",
        {"step": 300, "eps": 0.9, "ep_ret": -5, "soft": 0, "q": 0.1, "t": 4},
    ),
    "lines below a count, each with its subject": (
        lambda i: (
            f"--- update {i} | frames {512 * i}\n  critic:  V {i / 8} (sd 0.5)  loss {7 / i:.3f}\n  actor:   loss -0.1  |g| {i}.5"
        ),
        {
            "update": 1,
            "frames": 512,
            "critic/V": 0.125,
            "critic/V sd": 0.5,
            "critic/loss": 7,
            "actor/loss": -0.1,
            "actor/grad_norm": 1.5,
        },
    ),
    "a name of two lines": (
        lambda i: f"it {i:03d} | steps {64 * i} | R {i / 2} g 0.1\n    vf 0.3 g 0.2 | ret mu {i / 4} sd 0.6",
        {"it": 1, "steps": 64, "R": 0.5, "g": 0.1, "vf": 0.3, "vf g": 0.2, "ret mu": 0.25, "ret sd": 0.6},
    ),
    "a heading above the columns": (
        lambda i: (
            ("it | env steps | ret/ep  hit% | ms: act   fit\n" if i == 1 else "")
            + f"{i:05d} | {48 * i} | {i / 2} {i}.1 | 20.5 {i}.5"
        ),
        {"it": 1, "env steps": 48, "ret/ep": 0.5, "hit%": 1.1, "time act": 0.0205, "time fit": 0.0015},
    ),
    "an evaluation, and what is of the training again": (
        lambda i: f"step {i}: eval success {i / 20} (+/- 0.01) len {i}.5 | last-200 train return {i / 10} eps 0.5",
        {"step": 1, "eval/success": 0.05, "eval/len": 1.5, "last-200 train return": 0.1, "eps": 0.5},
    ),
    "counts before their words": (
        lambda i: (
            f"--  {200 * i} steps  ( 1.2 s)  episodes {i}  last10 {-i}.5\n   temp  0.{i}  J  1.5\n   eval   mode: -2{i}.5"
        ),
        {"steps": 200, "episodes": 1, "last10": -1.5, "temp": 0.1, "temp J": 1.5, "eval/mode": -21.5},
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_the_numbers_of_lines_of_one_form_have_the_words_before_them_as_names(form: str) -> None:
    line, first = FORMS[form]
    curves, _ = forms.mined("\n".join(map(line, range(1, 10))))
    assert {name: curves[name].values[0] for name in first} == pytest.approx(first)
    assert all(len(curves[name].values) == 9 for name in first)


def test_prose_with_numbers_is_none() -> None:
    assert not forms.mined("\n".join(f"Loading {word} took 5 seconds" for word in ("a", "b", "c", "d", "e")))[0]


@pytest.mark.parametrize("file", ["metrics.logfmt", "session.txt"])
def test_a_log_of_any_ending_is_read(tmp_path: Path, file: str) -> None:
    rows = (f"round={i} mean_reward={i / 2} value_loss={9 / (i + 1):.3f} clipfrac=0.0{i} gnorm={i}.5" for i in range(9))
    (tmp_path / file).write_text("\n".join(rows) + "\n")
    assert {"reward.mean", "value.loss", "policy.clip_fraction", "grad.norm"} <= read(tmp_path).series.keys()
