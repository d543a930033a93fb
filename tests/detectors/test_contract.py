"""What every detector keeps, so that nobody has to remember it."""

import importlib
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from firstbreak.dialects.hyperparameters import HYPERPARAMETERS
from firstbreak.dialects.signals import BY_PARAMETER
from firstbreak.engine import index
from firstbreak.engine.checks import Check
from firstbreak.engine.detection import check
from firstbreak.engine.registry import detectors, sections
from firstbreak.knowledge.detectors._table import proofs
from firstbreak.model import Config, Outcome, Run, Series, Status
from tests.detectors.look import look
from tests.detectors.test_proofs import PROVED
from tests.detectors.test_relations import PAIRS
from tests.every import every

HEADINGS = [
    "What it looks for", "Why it matters", "When it is a false alarm", "Fix", "Smallest experiment", "References",
]  # fmt: skip
ALGORITHMS = [None, "grpo", "ppo", "dqn", "dpo"]
#: every recorded signal that any detector asks for, with a member in the place of a family's `<x>`
ASKED = sorted(
    {
        re.sub(r"<\w+>", "part", BY_PARAMETER[name].name)
        for d in detectors().values()
        for name in (*d.needs, *d.uses)
        if name in BY_PARAMETER and name != "config"
    }
)


def made_of(values: Any, algorithm: str | None = None, **config: Any) -> Run:
    """A run in which every signal is the same curve."""
    array = np.asarray(values, float)
    steps = np.arange(1, len(array) + 1, dtype=float)
    curves = {name: Series(name=name, steps=steps, values=array) for name in ASKED}
    return Run(path="a-run", algorithm=algorithm, series=curves, config=Config(values=config))


# --- the page ---------------------------------------------------------------------------------------------------------


def of_every_detector(check: Callable[[Check], object]) -> None:
    every(detectors().values(), check, name=lambda d: d.id)


def test_the_page_has_every_heading_in_order_and_none_is_empty() -> None:
    def complete(detector: Check) -> None:
        page = sections(detector.doc)
        assert list(page) == ["", *HEADINGS]
        assert [heading for heading in HEADINGS if not page[heading]] == []

    of_every_detector(complete)


def test_the_title_is_one_short_sentence() -> None:
    def short(detector: Check) -> None:
        assert len(detector.title) < 80
        assert detector.title.endswith(".")
        assert sections(detector.doc)[""] == detector.title

    of_every_detector(short)


def test_the_fix_is_a_list() -> None:
    def listed(detector: Check) -> None:
        lines = sections(detector.doc)["Fix"].splitlines()
        assert lines[0].startswith("- ")
        assert [line for line in lines if not line.startswith(("- ", "  "))] == []

    of_every_detector(listed)


def test_references_are_links_and_nothing_else() -> None:
    def linked(detector: Check) -> None:
        named = sections(detector.doc)["References"].split()
        assert [word for word in named if not re.fullmatch(r"https?://\S+", word)] == []

    of_every_detector(linked)


def test_options_in_the_page_are_canonical_hyperparameters() -> None:
    def canonical(detector: Check) -> None:
        assert set(re.findall(r"\{(\w+)\}", detector.doc)) - HYPERPARAMETERS.keys() == set()

    of_every_detector(canonical)


# --- the signature ----------------------------------------------------------------------------------------------------


def test_the_id_is_the_file_name_or_a_row_of_the_links_table() -> None:
    rows = {link: proofs(link) for link, _, _ in index.tables("proofs")}

    def named(detector: Check) -> None:
        assert re.fullmatch(r"[a-z]+(-[a-z]+)*", detector.id)
        module = f"detectors.{detector.link.value}.{detector.id.replace('-', '_')}"
        assert detector.id in rows.get(detector.link, ()) or detector.ask.__module__.endswith(module)

    of_every_detector(named)


def test_every_threshold_has_a_default_a_unit_a_reason_and_a_source() -> None:
    def explained(detector: Check) -> None:
        said = detector.thresholds
        assert [name for name, t in said.items() if not isinstance(t.default, int | float | tuple)] == []
        assert [name for name, t in said.items() if not (t.unit and t.reason and t.source)] == []

    of_every_detector(explained)


def test_each_has_a_test() -> None:
    def tested(detector: Check) -> None:
        file = Path(__file__).parent / detector.link.value / f"test_{detector.id.replace('-', '_')}.py"
        cases = importlib.import_module(f"tests.detectors.{detector.link.value}.test_cases").CASES
        assert file.exists() or detector.id in {*cases, *PROVED, *PAIRS, "reported-in-text", "clipped-actions-stored"}

    of_every_detector(tested)


# --- the answers ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_an_empty_run_is_neither_accused_nor_found_in_order(algorithm: str | None) -> None:
    def quiet(detector: Check) -> None:
        outcome = look(detector.id, Run(path="empty", algorithm=algorithm))
        assert outcome.status in (Status.NOT_MEASURED, Status.NOT_APPLICABLE)
        assert outcome.note

    of_every_detector(quiet)


ODD = {
    "no-point": [],
    "one-point": [1.0],
    "two-points": [1.0, 2.0],
    "zeros": [0.0] * 60,
    "ones": [1.0] * 60,
    "nan": [math.nan] * 60,
    "infinite": [math.inf] * 60,
    "half-nan": [1.0, math.nan] * 30,
    "huge": [1e300, -1e300] * 30,
    "largest": [1.7e308, -1.7e308, 0.0] * 20,
    "exploding": list(np.logspace(0, 300, 60)),
    "tiny": [5e-324, 1e-310] * 30,
    "one-nan": [*np.linspace(0, 1, 59), math.nan],
    "rising": list(np.linspace(0, 1, 60)),
    "falling": list(np.linspace(1, -1, 60)),
    "jump": [0.0] * 30 + [1e6] * 30,
}


@pytest.mark.filterwarnings("error::RuntimeWarning")  # no warning of NumPy may reach a user's terminal
@pytest.mark.slow
@pytest.mark.parametrize(
    "algorithm", [None, "grpo", *(pytest.param(a, marks=pytest.mark.thorough) for a in ALGORITHMS[2:])]
)
def test_odd_curves_crash_nothing(algorithm: str | None) -> None:
    every(
        ODD, lambda odd: assert_well_formed(check(made_of(ODD[odd], algorithm, updates_per_batch=1, max_staleness=2)))
    )


def assert_well_formed(outcomes: list[Outcome]) -> None:
    crashed = [f"{o.detector}: {o.note}" for o in outcomes if o.status is Status.CRASHED]
    assert not crashed
    for outcome in outcomes:
        finding = outcome.finding
        if finding is None:
            assert outcome.status is not Status.FOUND
            continue
        assert finding.message
        assert finding.interval is None or finding.interval[0] <= finding.interval[1], outcome.detector
        if finding.onset is not None and finding.interval is not None:
            assert finding.interval[0] <= finding.onset <= finding.interval[1], outcome.detector


values = st.floats(allow_nan=True, allow_infinity=True, width=64)
ordinary = st.floats(-10, 10)
lengths = st.integers(0, 60)


@st.composite
def curves(draw: st.DrawFn, name: str) -> Series:
    n = draw(lengths)
    steps = np.sort(draw(arrays.arrays(float, n, elements=st.floats(0, 1e6))))
    return Series(
        name=name, steps=steps, values=draw(arrays.arrays(float, n, elements=draw(st.sampled_from([values, ordinary]))))
    )


@st.composite
def runs(draw: st.DrawFn) -> Run:
    names = draw(st.lists(st.sampled_from(ASKED), unique=True, max_size=12))
    options = st.one_of(st.none(), st.booleans(), st.integers(-1, 4096), st.floats(), st.text(max_size=5))
    config = draw(st.dictionaries(st.sampled_from(sorted(HYPERPARAMETERS)), options, max_size=8))
    return Run(
        path="a-run",
        algorithm=draw(st.sampled_from(ALGORITHMS)),
        series={name: draw(curves(name)) for name in names},
        config=Config(values=config),
    )


@pytest.mark.slow
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(runs())
def test_no_recording_crashes_a_detector(run: Run) -> None:
    assert_well_formed(check(run))
