"""No text states a number or a relation that the run's own data deny, and no two views of a diagnosis disagree."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from firstbreak.cli.diagnose import command
from firstbreak.engine import facts
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.registry import causes, sections
from firstbreak.model import Action, Checkpoint, Confidence, Finding, LinkStatus, Run, Severity
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read
from firstbreak.reports import content, html, inspection, markdown, terminal
from firstbreak.reports import json as json_report
from tests.lazy import lazy
from tests.make import learning, noise, run
from tests.reports.coherence import incoherent
from tests.there import there

benchmarks_facts = lazy("benchmarks.facts")
archives = lazy("firstbreak_lab.archives")

pytestmark = pytest.mark.slow  # seconds: `make quick` leaves it to `make test`

ROOT = Path(__file__).parents[2]
FEW, MANY = 4, pytest.param(40, marks=pytest.mark.thorough)  #: runs, spread over the variants of the corpus
STEPS = np.arange(200)
FALL = np.concatenate([learning(120), np.linspace(1.0, 0.1, 80) + noise(80, 0.03)])
DIP = np.concatenate([learning(140), np.linspace(1.0, 0.75, 60) + noise(60, 0.01)])


def _in_epochs(score: np.ndarray) -> Run:
    """A run whose score is counted in epochs, and whose other curves are counted in steps."""
    plain = run({"reward.mean": score, "policy.entropy": 2 - STEPS / 101, "grad.norm": 1 + STEPS}, algorithm="grpo")
    epochs = replace(plain.series["reward.mean"], axis="epoch", steps=STEPS / 100)
    return replace(plain, series={**plain.series, "reward.mean": epochs})


SIMULATED = {
    "rising": run({"eval.reward": STEPS / 200 + noise(200, 0.02)}, algorithm="ppo"),
    "plateau": run({"reward.mean": learning(200)}, algorithm="grpo"),
    "collapsed": run({"reward.mean": FALL, "policy.entropy": 2 - STEPS / 101}, algorithm="grpo"),
    "lost a quarter": run({"eval.accuracy": DIP}, algorithm="grpo"),
    "declining": run({"eval.reward": 10 - STEPS / 20 + noise(200, 0.1)}, algorithm="dqn"),
    "flat": run({"reward.mean": noise(200, 0.1), "kl.ref": STEPS / 100}, algorithm="grpo"),
    "critical from the start": run({"reward.mean": learning(200), "grad.norm": [np.nan] * 200}, algorithm="ppo"),
    "counted in epochs": _in_epochs(FALL),
    "no score": run({"policy.entropy": [1.0] * 100}),
    "bonus of 1": run({"reward.episode": noise(25)}, algorithm="ppo", config={"entropy_coef": 1.0}),
    "rate of 3": run({"reward.episode": learning(200)}, algorithm="ppo", config={"learning_rate": 3.0}),
}


def _spread(paths: Iterable[Path], n: int) -> list[Path]:
    every = sorted(paths)
    return every[:: max(1, len(every) // n)]


def _complaints(runs: Iterator[Run]) -> list[str]:
    return [f"{r.path}: {rule}: {said}" for r in runs for rule, said in incoherent(diagnose(r))]


@pytest.mark.parametrize("made", SIMULATED.values(), ids=SIMULATED)
def test_simulated_runs_are_told_coherently(made: Run) -> None:
    assert not _complaints(iter([made]))


@pytest.mark.parametrize("sampled", [FEW, MANY])
def test_runs_of_the_corpus_are_told_coherently(sampled: int, tmp_path: Path) -> None:
    def unpacked() -> Iterator[Run]:
        for archive in _spread((ROOT / "corpus").glob("*/*.tar.xz"), sampled):
            folder = tmp_path / archive.parent.name / archive.name.removesuffix(".tar.xz")
            archives.unpack(archive, folder)
            yield read(find_runs(folder)[0])

    assert not _complaints(unpacked())


@pytest.mark.parametrize("sampled", [FEW, MANY])
def test_published_and_shipped_runs_are_told_coherently(sampled: int, shared: Path) -> None:
    places = chain((shared / "runs").glob("*"), (ROOT / "tests" / "data").glob("*"))
    folders = _spread((p for p in places if p.is_dir()), sampled)
    assert not _complaints(read(find_runs(folder)[0]) for folder in folders)


@pytest.mark.parametrize("sampled", [FEW, MANY])
def test_drawn_and_mutated_runs_are_told_coherently(sampled: int) -> None:
    whole, broken = (
        benchmarks_facts.of_population(sampled, 7),
        benchmarks_facts.of_mutated(benchmarks_facts.of_population(sampled, 8)),
    )
    # Known: where the middle step of a run was logged twice, a finding's half and the half of its facts differ by one point.
    assert not _complaints(made() for name, made in chain(whole, broken) if not name.startswith("twice/"))


def test_a_false_fact_and_a_false_relation_are_caught() -> None:
    """Each text is one that firstbreak has written of such a run."""
    dx = diagnose(SIMULATED["declining"])
    score = dx.run.series["eval.reward"]
    false = facts.tell("{score} was {best}", score=score.name, best=replace(facts.highest(score), value=11.0))
    below = "eval.reward fell from 5 to 0 and was never above its start: the updates do harm"
    later = "eval.reward is flat because it begins after the learning, at step 1: the training reward rises before"
    for rule, text in (("facts_hold", false), ("relations_hold", below), ("relations_hold", later)):
        outcome = replace(dx.outcomes[0], finding=Finding(message=text, severity=Severity.WARNING))
        run_ = replace(dx.run, series={**dx.run.series, "reward.mean": replace(score, name="reward.mean")})
        assert rule in {name for name, _ in incoherent(replace(dx, run=run_, outcomes=(outcome, *dx.outcomes)))}, text


def test_the_rate_of_improvement_is_told_in_every_report() -> None:
    for made in SIMULATED.values():
        dx = diagnose(made)
        if dx.verdict.upside.startswith("cannot be estimated: no score"):
            continue
        for shown in (terminal.render(dx, width=100), html.render(dx), markdown.render(dx), json_report.render(dx)):
            assert re.search(r"rate\s+of\s+improvement|improvement\s+turned|the\s+fall\s+is", shown), dx.verdict.upside
    few = diagnose(run({"eval.accuracy": np.linspace(0.1, 0.6, 8)}, algorithm="grpo"))
    assert "cannot tell whether the rate of improvement changes" in few.verdict.upside


def test_a_run_without_an_evaluation_says_what_is_known() -> None:
    alone = [diagnose(SIMULATED[name]) for name in ("plateau", "collapsed", "flat", "rate of 3")]
    assert all("only the training" in dx.verdict.summary for dx in alone)
    assert "only the training" not in diagnose(SIMULATED["rising"]).verdict.summary


def test_a_setting_that_is_found_is_not_weighed_again() -> None:
    dx = diagnose(
        run({"reward.episode": learning(200), "episode.length": [500.0] * 200}, algorithm="ppo", config={"gamma": 0.5})
    )
    cause = next(c for c in dx.causes if c.id == "horizon-too-short")
    assert [w.finding for w in cause.evidence if w.finding in ("config", "horizon-short")] == ["horizon-short"]


def test_the_rules_can_fail() -> None:
    """A diagnosis that is contradicted on purpose is caught."""
    dx = diagnose(SIMULATED["collapsed"])
    wrong = {
        "risk_and_action_agree": replace(dx.verdict, action=Action.CONTINUE, risk="high: ..."),
        "advice_and_action_agree": replace(dx.verdict, action=Action.WATCH, do_first="Stop the run."),
        "summary_and_findings_agree": replace(dx.verdict, summary="Nothing is broken in what was recorded."),
        "scores_are_the_runs_own": replace(
            dx.verdict, upside="near zero: reward.mean was 7 at step 120 and is 0.1 now"
        ),
    }
    for rule, verdict in wrong.items():
        assert rule in {name for name, _ in incoherent(replace(dx, verdict=verdict))}


def test_the_exit_code_follows_the_action() -> None:
    for name in ("sb3_ppo_healthy", "sb3_ppo_learning_rate"):
        folder = ROOT / "tests" / "data" / name
        action = diagnose(read(folder)).verdict.action
        answered = CliRunner().invoke(command, ["--fail-on", "stop", str(folder)])
        assert answered.exit_code == (1 if action in (Action.STOP, Action.ROLLBACK) else 0)


def test_no_cause_advises_to_stop_before_the_verdict_does() -> None:
    """The first step of a fix is the first advice of a run that goes on: going back is the verdict's to say."""
    for cause in causes().values():
        first = sections(cause.doc)["Fix"].splitlines()[0].lower()
        assert not first.startswith(("- stop", "- go back to the last", "- go back to a checkpoint")), cause.id


def test_a_critical_finding_that_may_be_chance_is_not_called_nothing() -> None:
    dx = diagnose(SIMULATED["bonus of 1"])
    assert dx.first_break is None
    assert dx.verdict.action is Action.WATCH
    assert dx.verdict.summary.startswith("No link is shown to be broken, but there is a warning: ")
    assert LinkStatus.BROKEN not in {v.status for v in dx.links.values()}


def test_what_is_measured_is_measured_in_every_view() -> None:
    for made in SIMULATED.values():
        unseen = [link for link, v in diagnose(made).links.items() if v.status is LinkStatus.NOT_MEASURED]
        assert set(unseen) <= set(inspection.unseen_links(made))


def test_confidence_has_three_words() -> None:
    assert {c.phrase for c in Confidence} == {"high confidence", "medium confidence", "low confidence"}
    dx = diagnose(SIMULATED["collapsed"])
    for outcome in dx.findings:
        assert outcome.finding is not None
        assert outcome.finding.confidence.phrase in content.finding_facts(dx, outcome)


def test_the_peaks_own_checkpoint_is_taken_where_it_was_saved() -> None:
    score = [0.1, 0.3, 0.55, 0.5, 0.52, 0.6, 0.4, 0.3, 0.28, 0.3]
    saved = tuple(Checkpoint(step=s, path=f"checkpoint-{s}") for s in range(1, 11))
    best = there(diagnose(run({"eval.accuracy": score}, algorithm="grpo", checkpoints=saved)).best_checkpoint)
    assert best.path == f"checkpoint-{best.step:g}"
