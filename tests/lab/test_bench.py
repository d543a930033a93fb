"""The benchmark counts the kinds of runs as documented, gives diagnosers the whole run, and draws the injected fault."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.cli import app
from firstbreak.engine import likelihood
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Run
from firstbreak.readers.read import read
from firstbreak.reports import json as json_report
from tests.lazy import lazy

bench = lazy("firstbreak_lab.bench")
corpus = lazy("firstbreak_lab.corpus")
diagnosers = lazy("firstbreak_lab.diagnosers")
runs = lazy("tests.lab.runs")

SETTING = ("groups-mixed", runs.BASE, 1.0)


def row(
    kind: str, found: bool = True, *, cause: str = "groups-mixed", onset: float = 12.0, **said: Any
) -> bench.BenchRow:
    """An answer about a run with mixed groups from step 12 of 60, or about a healthy one."""
    truth = runs.label() if kind == "healthy" else runs.label("groups-mixed")
    answer = {"critical": False, "stop": False, "link": "advantage", "causes": (cause,), "onset": onset} | said
    return bench.BenchRow(label=truth, kind=kind, answer=diagnosers.DiagnoserAnswer(found=found, **answer), seconds=0.1)


def test_what_is_not_found_is_a_wrong_link_and_a_wrong_cause() -> None:
    figures = bench.headline([row("faulty"), row("faulty", found=False)], diagnosers.EVERYTHING)
    assert figures["detection"] == figures["link_top1"] == figures["cause_top1"] == 0.5


def test_top_one_and_top_three() -> None:
    rows = [row("faulty", causes=("a", "b", "groups-mixed")), row("faulty", causes=("a", "b", "c", "groups-mixed"))]
    figures = bench.headline(rows, diagnosers.EVERYTHING)
    assert (figures["cause_top1"], figures["cause_top3"]) == (0.0, 0.5)


def test_onset_error_is_a_share_of_the_run() -> None:
    rows = [row("faulty", onset=18.0, interval=(10.0, 20.0)), row("faulty", onset=18.0, interval=(15.0, 20.0))]
    figures = bench.headline(rows, diagnosers.EVERYTHING)
    assert figures["onset_error_median"] == pytest.approx(6 / runs.STEPS)
    assert figures["interval_coverage"] == 0.5


def test_healthy_runs_that_are_called_broken_are_counted_apart_from_harmless_faults() -> None:
    rows = [row("healthy", found=False), row("healthy", critical=True, stop=True), row("harmless", stop=True)]
    figures = bench.score([*rows, row("faulty")], diagnosers.EVERYTHING)
    assert figures["healthy_found"] == figures["healthy_stop"] == figures["healthy_critical"] == 0.5
    assert figures["harmless_stop"] == 1.0
    assert (figures["n_faulty"], figures["n_healthy"], figures["n_harmless"]) == (1, 2, 1)


def test_unjudged_runs_change_no_share() -> None:
    rows = [row("faulty"), row("healthy", found=False)]
    alone, crowded = (
        bench.score([*rows, *more], diagnosers.EVERYTHING) for more in ([], [row("unjudged", found=False)] * 3)
    )
    assert crowded.pop("n_unjudged") == 3
    assert alone.pop("n_unjudged") == 0
    assert crowded == alone


def test_an_answer_that_is_not_given_is_null_and_not_zero() -> None:
    figures = bench.score([row("faulty"), row("healthy")], frozenset())
    given = {"detection", "healthy_found", "healthy_critical"}
    nulls = {"link_top1", "cause_top1", "cause_top3", "healthy_stop", "onset_error_median", "interval_coverage", "ece"}
    assert all(figures[name] is None for name in nulls)
    assert all(figures[name] is not None for name in given)


def test_the_weakest_severity_is_the_mildest_that_is_mostly_found() -> None:
    def at(severity: float, found: bool) -> bench.BenchRow:
        truth = runs.label("groups-mixed", severity=severity)
        return bench.BenchRow(
            label=truth, kind="faulty", answer=diagnosers.DiagnoserAnswer(found=found, critical=False), seconds=0.1
        )

    rows = [at(0.3, False), at(0.3, False), at(0.3, True), at(0.7, True), at(0.7, False), at(1.0, True)]
    assert bench.score(rows, diagnosers.EVERYTHING)["faults"]["groups-mixed"]["weakest_found"] == {runs.BASE: 0.7}
    assert bench.score(rows[:2], diagnosers.EVERYTHING)["faults"]["groups-mixed"]["weakest_found"] == {runs.BASE: None}


def test_shuffled_labels_score_as_chance_does() -> None:
    links = ["reward", "advantage", "numerics", "systems"]
    rows = [
        bench.BenchRow(
            label=runs.label("groups-mixed", link=link, cause=link),
            kind="faulty",
            answer=diagnosers.DiagnoserAnswer(found=True, critical=False, link=link, causes=(link,)),
            seconds=0.1,
        )
        for link in links * 5
    ]
    figures = bench.score(rows, diagnosers.EVERYTHING)
    assert figures["link_top1"] == figures["cause_top1"] == 1.0
    assert figures["by_chance"]["link_top1"] == pytest.approx(0.25, abs=0.05)


def test_links_are_confused_with_what_was_named() -> None:
    rows = [row("faulty"), row("faulty", link="reward"), row("faulty", found=False)]
    assert bench.score(rows, diagnosers.EVERYTHING)["confusion"] == {
        "advantage": {"advantage": 1, "reward": 1, "nothing": 1}
    }


def test_calibration_of_known_answers() -> None:
    error, table = bench.calibration([(0.9, True)] * 9 + [(0.9, False)] + [(0.3, False)] * 10)
    assert error == pytest.approx(0.15)  # half of the answers are off by 0.3
    assert [(b["n"], b["right"]) for b in table] == [(10, 0.0), (10, 0.9)]


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1))
def test_the_calibration_error_is_a_share(beliefs: list[tuple[float, bool]]) -> None:
    error, table = bench.calibration(beliefs)
    assert error is not None
    assert 0 <= error <= 1
    assert sum(b["n"] for b in table) == len(beliefs)


def test_belief_in_health_is_right_about_a_healthy_run() -> None:
    certain = {"belief": (diagnosers.HEALTHY, 1.0)}
    assert bench.score([row("healthy", **certain)], diagnosers.EVERYTHING)["ece"] == 0.0
    assert bench.score([row("faulty", **certain)], diagnosers.EVERYTHING)["ece"] == 1.0


def test_admission_decides_what_a_run_counts_as(tmp_path: Path) -> None:
    every = list(corpus.labels(runs.small(tmp_path)).values())
    harmless = [runs.label("groups-mixed", seed, 0.70 + seed / 100, severity=0.3) for seed in range(6)]
    rare = runs.label("groups-mixed", 0, 0.1, severity=0.7)
    kind = bench.kind_of([*every, *harmless, rare])
    assert bench.kind_of([*every, *harmless, rare], trusting=True)(rare) == "faulty"
    assert [kind(x) for x in (runs.label(), runs.label("groups-mixed"), harmless[0], rare)] == [
        "healthy",
        "faulty",
        "harmless",
        "unjudged",
    ]


def gradient(run: Run) -> diagnosers.DiagnoserAnswer:
    """A diagnoser that knows one thing: a gradient norm above 100 means mixed groups."""
    high = run.series["grad.norm"].values > 100
    first = float(run.series["grad.norm"].steps[high.argmax()]) if high.any() else None
    named = {"link": "advantage", "causes": ("groups-mixed",), "onset": first} if high.any() else {}
    return diagnosers.DiagnoserAnswer(found=bool(high.any()), critical=False, stop=bool(high.any()), **named)  # type: ignore[arg-type]


def crash(run: Run) -> diagnosers.DiagnoserAnswer:
    raise ZeroDivisionError("oh")


def test_a_diagnoser_is_asked_about_every_run_of_the_test_split_as_a_user_would_read_it(tmp_path: Path) -> None:
    both = [
        diagnosers.Diagnoser("gradient", diagnosers.EVERYTHING, gradient),
        diagnosers.Diagnoser("crash", diagnosers.EVERYTHING, crash),
    ]
    answers = list(bench.ask(runs.small(tmp_path), both, live=True))
    assert {said["gradient"].label.seed for said in answers} == {1, 3, 5}
    figures = bench.score([said["gradient"] for said in answers], diagnosers.EVERYTHING)
    assert figures["detection"] == figures["link_top1"] == figures["cause_top1"] == 1.0
    assert figures["healthy_stop"] == figures["onset_error_median"] == 0.0
    assert figures["live"]["delay_median"] == pytest.approx(0.0, abs=1 / bench.REPLAYS)
    assert figures["live"]["healthy_ever_stopped"] == 0.0
    failed = bench.score([said["crash"] for said in answers], diagnosers.EVERYTHING)
    assert failed["failed"] == len(answers)
    assert failed["detection"] == 0.0


def test_a_prefix_ends_where_it_says(tmp_path: Path) -> None:
    runs.write(tmp_path, runs.label("groups-mixed"), grad_norm=500.0)
    ((_, run),) = corpus.runs(tmp_path)
    assert gradient(corpus.until(run, 11)).found is False
    assert gradient(corpus.until(run, 12)).found is True
    assert run.last_step == runs.STEPS


def test_a_command_is_scored_like_a_callable(tmp_path: Path) -> None:
    program = tmp_path / "mine.py"
    program.write_text(
        "import json, sys, pathlib\n"
        "bad = '500.0' in (pathlib.Path(sys.argv[1]) / 'metrics.jsonl').read_text()\n"
        "first = {'link': 'advantage', 'step': 12, 'interval': [10, 14]} if bad else None\n"
        "print(json.dumps({'first_break': first, 'verdict': {'action': 'stop' if bad else 'continue'},\n"
        "                  'causes': [{'id': 'groups-mixed', 'probability': 0.9}], 'findings': []}))\n"
        "sys.exit(bad)\n"
    )
    (mine,) = diagnosers.chosen([f"{sys.executable} {program}"])
    rows = [said[mine.name] for said in bench.ask(runs.small(tmp_path / "corpus"), [mine])]
    figures = bench.score(rows, mine.gives)
    assert (figures["detection"], figures["cause_top1"], figures["interval_coverage"]) == (1.0, 1.0, 1.0)
    assert (figures["healthy_stop"], figures["failed"]) == (0.0, 0)


@pytest.mark.parametrize("which", ["sb3_ppo_healthy", "sb3_ppo_learning_rate", "trl_grpo_healthy"])
def test_our_own_answer_is_that_of_the_printed_diagnosis(which: str) -> None:
    run = read(Path(__file__).parent.parent / "data" / which)
    assert diagnosers.diagnosers()["firstbreak"].answer(run) == diagnosers.read_diagnosis(
        json_report.payload(diagnose(run))
    )


@pytest.mark.parametrize("name", ["rldoctor", "rlwatch", "thresholds"])
def test_a_peer_finds_an_exploding_gradient(name: str, tmp_path: Path) -> None:
    peer = diagnosers.diagnosers()[name]
    if peer not in diagnosers.available():
        pytest.skip(f"{peer.requires} is not installed")
    runs.write(tmp_path, runs.label("groups-mixed"), grad_norm=float("nan"), loss=float("nan"))
    ((_, run),) = corpus.runs(tmp_path)
    answer = peer.answer(run)
    assert answer.found
    assert answer.critical


# The command line ---------------------------------------------------------------------------------------------


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["lab", *arguments])


def test_list_names_every_variant() -> None:
    from firstbreak_lab import catalogue

    printed = invoke("list").output
    assert all(variant in printed for variant in catalogue())


def test_the_harm_test_says_what_it_admits(tmp_path: Path) -> None:
    folder = runs.small(tmp_path)
    assert "admitted  groups-mixed" in invoke("harm-test", "--corpus", str(folder)).output
    (verdict,) = json.loads(invoke("harm-test", "--corpus", str(folder), "--json").output)
    assert verdict["admitted"] is True
    assert verdict["harm"] == pytest.approx(0.3)


def test_bench_prints_a_table_and_writes_the_figures(tmp_path: Path) -> None:
    folder, figures, answers = runs.small(tmp_path / "corpus"), tmp_path / "figures.json", tmp_path / "answers.jsonl"
    options = ["--diagnoser", "thresholds", "-o", str(figures), "--answers", str(answers)]
    done = invoke("bench", "--corpus", str(folder), *options)
    assert done.exit_code == 0, done.output
    assert "faulty: found" in done.output
    assert json.loads(figures.read_text())["thresholds"]["detection"] == 1.0
    assert len(answers.read_text().splitlines()) == 6


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["run", "no-such-fault", "-o", "x"], "no-such-fault"),
        (["run", "groups-mixed", "--base", "nowhere", "-o", "x"], "language/grpo-sort"),
        (["bench", "--corpus", "nowhere"], "firstbreak lab build"),
        (["harm-test", "--corpus", "nowhere"], "firstbreak lab build"),
        (["build", "--variant", "no-such-fault"], "firstbreak lab list"),
    ],
)
def test_a_wrong_call_is_one_line_with_a_remedy(
    arguments: list[str], words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    done = invoke(*arguments)
    assert done.exit_code == 2
    assert words in done.output
    assert len(done.output.strip().splitlines()) == 1


def test_a_missing_package_is_one_line_that_names_the_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("torch", "firstbreak_lab.language.trainer"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    done = invoke("run", "untouched", "--base", "language/grpo-sort", "-o", str(tmp_path))
    assert done.exit_code == 2
    assert "pip install 'firstbreak[trainers]'" in done.output


# Leaving a part out -------------------------------------------------------------------------------------------------------


def test_weights_for_a_task_are_counted_without_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = runs.small(tmp_path)
    other = "language/grpo-tag"
    for seed in range(6):
        runs.write(folder, runs.label(seed=seed, base=other))
    tables: dict[str, Any] = {}

    def ask(folder: Path, asked: list[Any], *, wanted: Any, processes: int) -> list[Any]:
        (part,) = {truth.base for truth in corpus.labels(folder).values() if wanted(truth)}
        tables[part] = asked[0].answer.args[0]
        return []

    monkeypatch.setattr(bench, "ask", ask)
    assert set(bench.leave_one_out(folder, lambda truth: truth.base)) == {runs.BASE, other}
    assert set(tables[runs.BASE]) == {diagnosers.HEALTHY}
    assert set(tables[other]) == {diagnosers.HEALTHY, "groups-mixed"}
    assert {measured for _, _, measured in tables[other]["groups-mixed"].values()} == {3}  # seeds 0, 2 and 4


def test_a_part_that_is_left_out_is_diagnosed_whole(tmp_path: Path) -> None:
    (figures,) = bench.leave_one_out(runs.small(tmp_path), lambda truth: truth.base.partition("/")[0]).values()
    assert (figures["n_faulty"], figures["n_healthy"]) == (6, 6)


def test_other_counts_change_the_ranking_for_as_long_as_they_hold() -> None:
    run = read(Path(__file__).parent.parent / "data" / "sb3_ppo_learning_rate")

    def belief() -> float:
        return next(cause.probability for cause in diagnose(run).causes if cause.id == diagnosers.HEALTHY)

    before = belief()
    detectors = [outcome.detector for outcome in diagnose(run).outcomes]
    with likelihood.instead({diagnosers.HEALTHY: dict.fromkeys(detectors, (1000, 1000, 1000))}):
        assert belief() > before
    assert belief() == before
