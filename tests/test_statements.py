"""The suite of the guides' statements: what is declared is true, what is written is read again, and healthy runs go on."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from benchmarks.docs.statements import STATEMENTS, carriers, shown
from benchmarks.statements import suite, worlds
from benchmarks.statements.__main__ import figures, main
from benchmarks.statements.statement import Statement
from benchmarks.statements.trainers import SETTINGS, TRAINERS, read_back, write
from benchmarks.statements.worlds import LOGGED_NAN, World

from firstbreak.dialects import signals
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parent.parent
KNOWN = suite.statements()
IDS = list(KNOWN)
RUNS = 120  #: of the grid, spread over all statements
#: method of a world -> what the run is read as, where the trainer's files do not tell them apart
READ_AS = {"rloo": "grpo"}


def world(trainer: str, method: str, n: int = 60, seed: int = 7) -> World:
    return worlds.make(trainer, method, n, 5, seed)


def _one(statement: Statement) -> suite.Case:
    """The first broken run of a statement."""
    return next(case for case in suite.grid([statement]) if case.broken)


def _same(a: np.ndarray, b: np.ndarray) -> bool:
    return np.array_equal(a, b, equal_nan=True)


# --- what is declared ------------------------------------------------------------------------------------------------


def _words(text: str) -> str:
    """Without white space and typography: a guide is quoted, not copied byte by byte."""
    plain = text.translate(str.maketrans({"’": "'", "“": '"', "”": '"', "–": "-", "—": "-"}))
    return " ".join(plain.split())


@pytest.fixture(scope="module")
def guides() -> str:
    folder = ROOT.parent / "shared" / "seeds"
    if not folder.is_dir():
        pytest.skip(f"the guides are not beside the project ({folder})")
    return " ".join(_words(path.read_text()) for path in sorted(folder.glob("*.txt")))


@pytest.mark.parametrize("id_", IDS)
def test_a_quote_stands_in_a_guide(id_: str, guides: str) -> None:
    assert KNOWN[id_].quote.strip()
    for part in KNOWN[id_].quote.split(" ... "):
        assert _words(part) in guides


@pytest.mark.parametrize("id_", IDS)
def test_a_statement_is_about_known_signals_and_some_trainer_logs_them(id_: str) -> None:
    statement = KNOWN[id_]
    assert id_.startswith("curves.")
    assert [s for need in statement.needs for s in need.split("|") if signals.lookup(s) is None] == []
    assert statement.families <= {"text", "control"}
    assert any(suite.fits(statement, trainer, method) for trainer, method in SETTINGS)


@pytest.mark.parametrize("id_", IDS)
def test_generators_give_whole_curves_and_the_look_alike_is_another_run(id_: str) -> None:
    statement = KNOWN[id_]
    for trainer, method in [s for s in SETTINGS if suite.fits(statement, *s)]:
        sides: dict[bool, dict[str, np.ndarray]] = {}
        for broken in (True, False) if statement.healthy else (True,):
            made, curves = suite.made(suite.Case(id_, trainer, method, 60, 10, 0, broken), statement)
            assert {name: curve.shape for name, curve in curves.items() if curve.shape != (made.n,)} == {}
            assert [name for name in curves if signals.lookup(name) is None] == []
            sides[broken] = curves
        if len(sides) == 2:
            logged = sides[True].keys() == sides[False].keys()
            same = logged and all(_same(curve, sides[False][name]) for name, curve in sides[True].items())
            assert not same, f"{trainer}-{method}: the look-alike is the broken run"


@pytest.mark.parametrize("id_", IDS)
def test_a_run_is_made_the_same_each_time(id_: str) -> None:
    case = _one(KNOWN[id_])
    first, second = (suite.made(case, KNOWN[id_])[1] for _ in range(2))
    assert first.keys() == second.keys()
    assert [s for s in first if not _same(first[s], second[s])] == []


# --- worlds and files ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("trainer", "method"), SETTINGS)
def test_what_is_written_is_read_again_under_its_canonical_name(trainer: str, method: str, tmp_path: Path) -> None:
    made = world(trainer, method)
    curves = dict(made.healthy)
    gone, broken = "lr", next(s for s in ("grad.norm", "value.loss", "policy.loss") if s in curves)
    curves[gone] = curves.get(gone, np.full(made.n, np.nan)).copy()
    curves[gone][10:20] = np.nan  # not logged
    curves[broken] = curves[broken].copy()
    curves[broken][30], curves[broken][31] = LOGGED_NAN, np.inf
    write(tmp_path, made, curves)
    run = read(tmp_path)
    assert (run.trainer, run.algorithm) == (trainer, READ_AS.get(method, method))
    names = read_back(made, curves)
    for signal, curve in curves.items():
        logged = ~np.isnan(curve)
        if not logged.any():
            continue
        series = run.series[names[signal]]
        wanted = np.where(curve == LOGGED_NAN, np.nan, curve)[logged]
        assert np.array_equal(series.steps, made.steps[logged]), signal
        np.testing.assert_allclose(series.values, wanted, rtol=1e-5, atol=1e-12, err_msg=signal)
    assert list(run.unknown) == []


@pytest.mark.parametrize(("trainer", "method"), SETTINGS)
def test_a_world_has_every_signal_that_its_trainer_logs(trainer: str, method: str) -> None:
    made = world(trainer, method)
    assert made.healthy.keys() == TRAINERS[trainer].names(method).keys()
    assert all(np.isfinite(curve[~np.isnan(curve)]).all() for curve in made.healthy.values())
    assert 0 <= made.effect <= 1


def test_the_configuration_that_a_trainer_saves_is_read_again(tmp_path: Path) -> None:
    for trainer, option in (
        ("verl", "learning_rate"),
        ("areal", "max_staleness"),
        ("sb3", "gamma"),
        ("rllib", "gamma"),
    ):
        made = world(trainer, "ppo" if TRAINERS[trainer].family == "control" else "grpo")
        write(tmp_path / trainer, made, made.healthy)
        config = read(tmp_path / trainer).config
        assert config.number(option) == pytest.approx(made.config[option])
        assert option not in config.defaulted


def test_the_only_reward_function_follows_a_reward_that_a_generator_changes() -> None:
    made = world("trl", "grpo")
    curves = worlds.completed(made, {**made.healthy, "reward.mean": made.healthy["reward.mean"] / 2})
    assert _same(curves["reward.component.accuracy_reward.mean"], made.healthy["reward.mean"] / 2)


def test_a_slower_step_shows_in_every_clock() -> None:
    made = world("sb3", "ppo", n=100)
    twice = made.slowed(np.where(np.arange(100) < 50, 1.0, 2.0))
    assert np.diff(twice["time.elapsed"])[-1] == pytest.approx(2 * np.diff(made.healthy["time.elapsed"])[-1])
    assert twice["throughput.fps"][-1] == pytest.approx(made.healthy["throughput.fps"][-1] * 100 / 150)


@pytest.mark.parametrize(("trainer", "method"), SETTINGS)
def test_a_healthy_world_is_never_stopped(trainer: str, method: str, tmp_path: Path) -> None:
    from firstbreak.engine.diagnose import diagnose

    for seed in range(3):
        made = world(trainer, method, n=(60, 120, 200)[seed], seed=seed)
        write(tmp_path / str(seed), made, made.healthy, config=seed != 1)
        assert diagnose(read(tmp_path / str(seed))).verdict.action in suite.CALM


# --- the grid --------------------------------------------------------------------------------------------------------


def test_a_sample_of_the_grid_has_both_sides_of_every_statement() -> None:
    cases = suite.grid(KNOWN.values())
    assert len({case.id for case in cases}) == len(cases)
    sides = Counter((case.statement, case.broken) for case in suite.sample(cases, 1e-6))
    assert sides == {(s.id, broken): 1 for s in KNOWN.values() for broken in (True, False) if broken or s.healthy}


def test_a_larger_sample_contains_a_smaller_one_and_takes_trainers_evenly() -> None:
    cases = [case for case in suite.grid(KNOWN.values()) if case.statement == "curves.healthy_run_is_left_alone"]
    small, large = set(suite.sample(cases, 0.02)), set(suite.sample(cases, 0.1))
    assert small < large < set(cases)
    settings = Counter((case.trainer, case.method) for case in large)
    assert settings.keys() == set(SETTINGS)
    assert max(settings.values()) - min(settings.values()) <= 1


def test_an_interrupted_grid_is_continued(tmp_path: Path) -> None:
    cases = [case for case in suite.grid(KNOWN.values()) if case.n == min(suite.LENGTHS)][:3]
    rows = tmp_path / "rows.jsonl"
    first = {result.case: result for result in suite.run(cases[:2], 1, rows)}
    again = {result.case: result for result in suite.run(cases, 1, rows)}
    assert again.keys() == set(cases)
    assert {case: again[case] for case in first} == first  # the time that each took included
    assert len(rows.read_text().splitlines()) == len(cases)


@pytest.mark.slow
def test_healthy_look_alikes_are_never_stopped() -> None:
    short = [case for case in suite.sample(suite.grid(KNOWN.values()), 0.01) if case.n < max(suite.LENGTHS)]
    cases = short[:: max(1, len(short) // RUNS)]
    assert {case.broken for case in cases} == {True, False}
    results = [suite.run_case(case) for case in cases]
    assert [r.case.id for r in results if r.stopped and not r.case.broken] == []
    report = figures(KNOWN, results)
    assert report["fires"]["runs"] + report["silent"]["runs"] == len(cases)
    assert json.loads(json.dumps(report)) == report


def test_one_run_can_be_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["--show", "curves.throughput_drops_and_stays", "--trainer", "verl", "--out", str(tmp_path)])
    shown = capsys.readouterr().out
    assert "written to" in shown
    assert read(tmp_path / "run").trainer == "verl"


def test_a_statement_that_does_not_exist_is_named_in_one_line() -> None:
    with pytest.raises(SystemExit, match=r"no statement is called like 'curves\.none'"):
        main(["--only", "curves.none"])


def test_every_statement_stands_in_a_line_of_the_page_of_coverage() -> None:
    lines = [names for rows in STATEMENTS.values() for names in rows.values()]
    assert all(carriers(names) for names in lines)
    assert {id_ for names in lines for id_ in shown(names)} == set(KNOWN)
