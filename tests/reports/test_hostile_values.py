"""Valid files with hostile values: no number is too large, too small or too alike for reading, diagnosis and every report."""

import json
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firstbreak import cli
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Diagnosis, Run, Status
from firstbreak.readers.read import read
from firstbreak.reports import html, inspection, markdown, terminal
from firstbreak.reports import json as json_report
from tests.test_cli import healthy

NAMES = ("reward", "reward_std", "kl", "entropy", "loss", "grad_norm", "learning_rate", "frac_reward_zero_std",
         "completions/clipped_ratio", "completions/mean_length", "eval_reward", "value_loss", "explained_variance")  # fmt: skip
OPTIONS = ("learning_rate", "beta", "num_generations", "gamma", "max_steps", "clip_range", "temperature", "ent_coef")

hostile = st.one_of(
    st.sampled_from([0.0, -0.0, 1.7976931348623157e308, -1e308, 5e-324, 1e-300, 2**64, 10**400, True, None, "", "nan"]),
    st.floats(),
    st.integers(-(10**320), 10**320),
)
value_lists = st.one_of(
    st.lists(hostile, min_size=60, max_size=60),
    st.tuples(st.floats(-9, 9), st.randoms()).map(  # one number, but for its last bit
        lambda drawn: [drawn[0] * (1 + drawn[1].choice([0, 1, -1]) * 2.0**-52) for _ in range(60)]
    ),
    st.tuples(st.integers(-320, 308), st.randoms()).map(
        lambda drawn: [drawn[1].gauss(0, 1) * 10.0 ** drawn[0] for _ in range(60)]
    ),
    st.randoms().map(lambda random: [random.gauss(i / 60, 0.1) for i in range(60)]),
)
step_lists = st.one_of(
    st.just(list(range(60))),
    st.floats(1, 3e306).map(lambda apart: [(i - 30) * apart for i in range(60)]),
    st.lists(hostile, min_size=60, max_size=60),
)


def told(folder: Path, rows: list[dict[str, Any]], options: dict[str, Any]) -> tuple[Run, Diagnosis]:
    """The run and its diagnosis, after every report was written."""
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "config.json").write_text(json.dumps({"algorithm": "grpo", **options}))
    run = read(folder)
    dx = diagnose(run)
    for report in (json_report, html, markdown):
        assert report.render(dx)
    assert terminal.render(dx, color=False)
    assert inspection.payload(run)
    return run, dx


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    steps=step_lists,
    curves=st.dictionaries(st.sampled_from(NAMES), value_lists, min_size=1, max_size=6),
    options=st.dictionaries(st.sampled_from(OPTIONS), hostile, max_size=4),
    length=st.sampled_from([1, 2, 5, 12, 60]),
)
@pytest.mark.filterwarnings("ignore")
def test_no_value_crashes_a_report(
    steps: list[Any], curves: dict[str, list[Any]], options: dict[str, Any], length: int
) -> None:
    rows = [{"step": steps[i], **{name: values[i] for name, values in curves.items()}} for i in range(length)]
    with tempfile.TemporaryDirectory() as folder:
        _, dx = told(Path(folder), rows, options)
    assert not [f"{o.detector}: {o.note}" for o in dx.outcomes if o.status is Status.CRASHED]


def test_an_entropy_that_differs_by_rounding_only(tmp_path: Path) -> None:
    values = [0.6931471805599453, 0.6931471805599452, 0.6931471805599454]
    told(tmp_path, [{"step": i, "reward": i / 50, "entropy": values[i % 3]} for i in range(50)], {})


def test_a_learning_rate_of_400_digits(tmp_path: Path) -> None:
    run, _ = told(tmp_path, [{"step": i, "reward": i / 50} for i in range(50)], {"learning_rate": 10**400})
    assert run.config.number("learning_rate") is None


def test_a_span_of_steps_that_no_float_holds(tmp_path: Path) -> None:
    steps = [-1.7e308, *range(50), 1.7e308]
    run, _ = told(tmp_path, [{"step": s, "reward": i / 50} for i, s in enumerate(steps)], {})
    assert (run.first_step, run.last_step) == (0, 49)
    assert any("2 points left out" in note for note in run.notes)


def test_values_that_cannot_be_squared_are_infinite(tmp_path: Path) -> None:
    run, _ = told(tmp_path, [{"step": i, "reward": i / 50, "loss": 1e300 if i > 40 else 1} for i in range(50)], {})
    (loss,) = [s for s in (*run.series.values(), *run.unknown.values()) if s.raw == "loss"]
    assert np.isinf(loss.values).sum() == 9
    assert any("9 values" in note for note in run.notes)


def test_a_bug_ends_with_3_and_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object, **__: object) -> Diagnosis:
        raise ZeroDivisionError("division\nby zero")

    monkeypatch.setattr("firstbreak.cli.diagnose.diagnose", broken)
    with pytest.raises(SystemExit) as done:
        cli.main(["diagnose", str(healthy(tmp_path))])
    assert done.value.code == cli.EXIT_INTERNAL_ERROR == 3
    (line,) = capsys.readouterr().err.splitlines()
    assert "a bug of firstbreak" in line
    assert "ZeroDivisionError: division by zero" in line
    assert "report this line" in line
