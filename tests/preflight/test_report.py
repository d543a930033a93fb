"""A pre-flight report as a person and as a program reads it."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firstbreak.model import Action, Expected, Link, NotApplicable, NotMeasured, Status
from firstbreak.preflight import Report, ReportTable, Stacks, ask, critical, histogram, notice, warning
from firstbreak.preflight.target import load
from firstbreak.readers import Unreadable
from firstbreak.reports import preflight, preflight_html
from firstbreak.reports.json import dump
from tests.reports.test_html import nodes


def answers(*findings: object) -> Report:
    asked = [ask(f"probe-{i}", Link.REWARD, lambda f=f: f) for i, f in enumerate(findings)]
    table = ReportTable(title="Who caught it", columns=("fault", "we"), rows=(("nan\x1b[2J", "yes"),))
    return Report(
        check="reward",
        target="mod:f",
        outcomes=tuple(asked),
        exhibits=(table, histogram("Rewards", {"all": [0, 1, 1]})),
    )


@pytest.mark.parametrize(
    ("answer", "status"),
    [
        (None, Status.OK),
        ("seen 12", Status.OK),
        (Expected("by design"), Status.OK),
        (critical("bad"), Status.FOUND),
        (NotMeasured("no column"), Status.NOT_MEASURED),
        (NotApplicable("no groups"), Status.NOT_APPLICABLE),
    ],
)
def test_what_a_probe_answers_becomes_its_outcome(answer: object, status: Status) -> None:
    assert ask("p", Link.REWARD, lambda: answer).status is status  # type: ignore[arg-type,return-value]


def test_a_probe_that_raises_costs_one_line() -> None:
    outcome = ask("p", Link.REWARD, lambda: 1 / 0)  # type: ignore[arg-type,return-value]
    assert outcome.status is Status.CRASHED
    assert "ZeroDivisionError" in outcome.note


def test_the_worst_finding_decides_and_comes_first() -> None:
    assert answers("fine", notice("small")).action is Action.CONTINUE
    assert answers(warning("odd"), "fine").action is Action.WATCH
    worst = answers(warning("odd"), critical("bad"))
    assert worst.action is Action.STOP
    assert [o.detector for o in worst.findings] == ["probe-1", "probe-0"]


@pytest.mark.parametrize("width", [60, 80])
@pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
def test_the_page_fits_the_screen_and_nothing_in_it_acts(width: int, encoding: str) -> None:
    text = preflight.renderable(answers(critical("the reward is 0 " * 20), "fine " * 30)).string(
        width, encoding=encoding
    )
    assert "DO NOT TRAIN YET" in text
    assert max(map(len, text.splitlines())) <= width
    assert "\x1b" not in text
    assert r"nan\x1b[2J" in text


STACKS = Stacks(
    title="Memory",
    unit="GiB",
    capacity=80.0,
    columns=("weights", "gradients"),
    rows=(("rollout", (40.0, 0.0)), ("update", (40.0, 60.0))),
)


@pytest.mark.parametrize(("encoding", "full", "more", "line", "left"), [("utf-8", *"█▒│·"), ("ascii", *"#=|.")])
@pytest.mark.parametrize("width", [80, 140])
def test_a_stack_is_as_long_as_what_it_holds_and_the_line_is_where_the_capacity_ends(
    width: int, encoding: str, full: str, more: str, line: str, left: str
) -> None:
    report = Report(check="memory", target="m", outcomes=(), exhibits=(STACKS,))
    text = preflight.renderable(report).string(width, encoding=encoding)
    rollout, update = (row for row in text.splitlines() if row.strip().startswith(("rollout", "update")))
    assert rollout.index(line) == update.index(line)
    long, over = update.count(full), update.count(more)
    assert over == pytest.approx(1.5 * long, abs=1)
    assert rollout.count(full) == long
    assert rollout.count(left) == pytest.approx(long, abs=1)
    assert rollout.endswith("40.0 GiB, 40.0 free")
    assert update.endswith("100.0 GiB, 20.0 too much")
    assert f"{more} gradients" in text
    assert len(update) > 0.8 * width


def test_a_page_shows_every_exhibit_and_nothing_in_it_acts() -> None:
    hostile = "</svg><script>x()</script>"
    report = Report(
        check="memory",
        target=hostile,
        outcomes=answers(critical(hostile), "fine", NotMeasured("no column")).outcomes,
        exhibits=(*answers().exhibits, replace(STACKS, columns=("weights", hostile))),
        checked=(("actor", hostile),),
    )
    page = preflight_html.render(report)
    assert "<script" not in page
    tree = nodes(page)
    parts = [node for node in tree if node.tag == "rect" and "part-" in (node.attributes.get("class") or "")]
    assert [(p.attributes["x"], p.attributes["width"]) for p in parts] == [
        ("0.00%", "40.00%"),
        ("0.00%", "40.00%"),
        ("40.00%", "60.00%"),
    ]
    heads = [node.text for node in tree if node.tag == "h2"]
    assert heads == [
        "Do not train yet",
        "What was found",
        "Who caught it",
        "Rewards",
        "Memory",
        "Checked, nothing found",
        "Not measured",
        "What was checked",
    ]


def test_programs_get_every_outcome_and_number() -> None:
    said = json.loads(dump(preflight.payload(answers(critical("bad", share=np.float64(0.5)), "fine"))))
    assert said["verdict"]["action"] == "stop"
    assert said["findings"][0]["evidence"]["facts"] == {"share": 0.5}
    assert [o["status"] for o in said["outcomes"]] == ["found", "ok"]
    assert said["exhibits"][1]["rows"] == [["0", [1.0]], ["1", [2.0]]]


def test_a_histogram_counts_every_finite_value_of_every_group_once() -> None:
    rng = np.random.default_rng(0)
    bars = histogram("h", {"a": rng.normal(size=200), "b": [np.nan, *rng.normal(3, 1, size=99)]})
    assert np.sum([amounts for _, amounts in bars.rows], axis=0).tolist() == [200, 99]
    assert histogram("h", {"a": []}).rows == ()


def test_a_target_is_loaded_from_a_file_or_named_with_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text("import helper_of_mine\nclass A:\n    f = helper_of_mine.x\n")
    (tmp_path / "helper_of_mine.py").write_text("x = 7\n")
    assert load(f"{tmp_path}/mine.py:A.f") == 7
    for name, said in {
        "no_colon": "module:attribute",
        "no_such_module_x:f": "No module named",
        f"{tmp_path}/mine.py:B": "check the name",
    }.items():
        with pytest.raises(Unreadable, match=said):
            load(name)
