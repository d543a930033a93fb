"""The guard as a training loop sees it."""

import json
import logging
import math
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import firstbreak
from firstbreak.engine import detection, registry
from firstbreak.engine.checks import Check
from firstbreak.live.guard import bundle
from firstbreak.live.guard import schedule as guard_schedule
from firstbreak.live.guard.decision import Act, GuardDecision
from firstbreak.live.guard.guard import Guard
from firstbreak.model import Action, Confidence, Config, Finding, Link, Outcome, Run, Series, Severity, Status
from tests.guard.runs import Clock, collapsing, learning

WAIT = 600.0  #: seconds: a test on a busy machine decides by what is seen, not by when


def guarded(
    rows: Iterable[Mapping[str, Any]], folder: Path, policy: str = "stop", **more: Any
) -> tuple[Guard, list[GuardDecision], GuardDecision]:
    """Observe rows until the guard stops; the guard, its reported decisions, and its last decision."""
    clock, reported = Clock(), list[GuardDecision]()
    guard = Guard(policy, folder=folder, trainer="trl", on_decision=reported.append, clock=clock, patience=WAIT, **more)
    decision = GuardDecision()
    for step, row in enumerate(rows):
        clock.train()
        decision = guard.observe(step, row)
        if decision.stop:
            break
    return guard, reported, decision


@pytest.fixture(scope="module")
def stopped_run(tmp_path_factory: pytest.TempPathFactory) -> tuple[Guard, list[GuardDecision], GuardDecision]:
    """A run that collapses at step 60, stopped by the guard."""
    folder = tmp_path_factory.mktemp("stopped")
    return guarded(collapsing(120, at=60), folder, config={"seed": 3, "learning_rate": 0.1})


def test_a_collapse_is_stopped_soon_after_it_begins(
    stopped_run: tuple[Guard, list[GuardDecision], GuardDecision],
) -> None:
    guard, reported, decision = stopped_run
    assert decision.stop
    assert decision.step is not None
    assert 60 < decision.step < 90
    assert decision.finding is not None
    assert decision.bundle is not None
    assert guard.decision is decision
    assert [d for d in reported if d.stop] == [decision]


def test_a_run_that_learns_is_never_stopped(tmp_path: Path) -> None:
    guard, reported, decision = guarded(learning(70), tmp_path)
    assert not decision.stop
    assert guard.diagnosis is not None, "the detectors have run"
    assert [d for d in reported if d.advice.rank >= Act.REDUCE.rank] == []
    assert not list(tmp_path.iterdir())


@pytest.mark.thorough
def test_to_observe_is_to_report_and_to_do_nothing(tmp_path: Path) -> None:
    rows = list(collapsing(100, at=50))
    clock, reported = Clock(), list[GuardDecision]()
    guard = Guard(folder=tmp_path, trainer="trl", on_decision=reported.append, clock=clock, patience=WAIT)
    for step, row in enumerate(rows):
        clock.train()
        assert guard.observe(step, row).act is Act.CONTINUE
    assert Act.STOP in {d.advice for d in reported}
    assert "not done under this policy" in str(next(d for d in reported if d.advice is Act.STOP))
    assert not list(tmp_path.iterdir())


def test_the_same_decision_is_reported_less_and_less_often(tmp_path: Path) -> None:
    rows = [{**row, "loss": math.nan if i % 10 == 9 else row["loss"]} for i, row in enumerate(learning(200))]
    _, reported, _ = guarded(rows, tmp_path, policy="observe", share=0.0)
    assert [d.advice for d in reported] == [Act.SKIP_UPDATE] * 5, "at the 1st, 2nd, 4th, 8th and 16th of 20 times"


def test_a_policy_that_may_not_stop_leaves_out_the_updates_it_can(tmp_path: Path) -> None:
    rows = [{**row, "loss": math.nan if i >= 50 else row["loss"]} for i, row in enumerate(learning(60))]
    guard, _, decision = guarded(rows, tmp_path, policy="skip-update", share=0.0)
    assert (decision.act, decision.advice) == (Act.SKIP_UPDATE, Act.STOP)
    assert guard.before_update({"loss": math.nan}).act is Act.CONTINUE, "inside an update a first NaN has no past"


def test_lasting_nans_go_back_to_the_last_checkpoint_before_them(tmp_path: Path) -> None:
    rows = [{**row, "loss": math.nan if i >= 50 else row["loss"]} for i, row in enumerate(learning(60))]
    clock = Clock()
    guard = Guard("stop", folder=tmp_path, trainer="trl", share=0.0, clock=clock, on_decision=lambda d: None)
    for step, row in enumerate(rows):
        clock.train()
        decision = guard.observe(step, row)
        if decision.stop:
            break
        if step in (20, 40, 45, 51):
            guard.checkpoint(step, tmp_path / f"checkpoint-{step}")
            if step != 45:
                (tmp_path / f"checkpoint-{step}").mkdir()
    assert decision.act is Act.ROLLBACK
    assert decision.rollback is not None
    saved = str(tmp_path / "checkpoint-40")
    assert decision.rollback.path == saved, "45 was deleted, and 51 was saved after the first NaN"
    assert decision.bundle is not None
    assert bundle.read(decision.bundle)["rollback"] == {"step": 40.0, "path": saved}
    assert f"`{saved}`" in (decision.bundle / "README.md").read_text()


def test_a_run_that_has_hardly_begun_is_not_stopped_by_its_curves(tmp_path: Path) -> None:
    _, _, decision = guarded(collapsing(45, at=20), tmp_path, config={"max_steps": 10_000})
    assert not decision.stop


def test_target_kl_ends_the_epochs_of_a_batch(tmp_path: Path) -> None:
    guard = Guard("skip-update", target_kl=0.02, folder=tmp_path, on_decision=lambda d: None)
    assert not guard.before_update({"approx_kl": 0.01}).skip
    decision = guard.before_update({"approx_kl": 0.05})
    assert decision.skip
    assert decision.by == "kl-against-target"


def test_the_target_may_come_from_the_configuration(tmp_path: Path) -> None:
    guard = Guard("skip-update", trainer="sb3", folder=tmp_path, on_decision=lambda d: None)
    decision = guard.observe(1, {"train/approx_kl": 0.5}, config={"target_kl": 0.02})
    assert decision.by == "kl-against-target"


def test_the_guard_sees_the_run_that_diagnose_sees(tmp_path: Path) -> None:
    rows = list(collapsing(200, at=120))
    log = tmp_path / "log.jsonl"
    log.write_text("".join(json.dumps({"step": i, **row}) + "\n" for i, row in enumerate(rows)))
    clock = Clock()
    guard = Guard(trainer="trl", clock=clock, folder=tmp_path, on_decision=lambda d: None)
    for step, row in enumerate(rows):
        guard.observe(step, row)
    live, read = guard.check_now(), firstbreak.diagnose(firstbreak.read(log, trainer="trl"))
    assert live is not None
    assert live.verdict == read.verdict
    assert [(o.detector, o.status) for o in live.outcomes] == [(o.detector, o.status) for o in read.outcomes]


def test_samples_reach_the_detectors_and_stay_bounded(tmp_path: Path) -> None:
    guard = Guard(folder=tmp_path)
    for step in range(100):
        guard.observe(step, {"reward": 1.0}, samples=[{"completion": f"{step}/{i}", "reward": 1.0} for i in range(20)])
    samples = list(guard.run().samples or ())
    assert 100 <= len(samples) <= 600
    assert samples[-1].completion == "99/19"
    assert samples[-1].step == 99


def with_detector(monkeypatch: pytest.MonkeyPatch, detect: Any) -> None:
    """One more detector, that does what no detector should."""
    bad = Check(id="bad", link=Link.SYSTEMS, ask=detect, needs=("run",))
    monkeypatch.setattr(detection, "detectors", lambda: {**registry.detectors(), "bad": bad})


def test_a_detector_that_raises_costs_a_warning(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def raises(run: Run) -> None:
        raise RuntimeError("no idea")

    with_detector(monkeypatch, raises)
    with caplog.at_level(logging.WARNING):
        _, _, decision = guarded(collapsing(120, at=60), tmp_path)
    assert decision.stop, "what the others see still counts"
    assert [r.message for r in caplog.records if "no idea" in r.message][1:] == [], "said once"


def test_a_detector_that_hangs_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def hangs(run: Run) -> None:
        while True:
            time.sleep(0.001)

    with_detector(monkeypatch, hangs)
    monkeypatch.setattr(guard_schedule, "HANGS", 2.0)
    guard = Guard(folder=tmp_path, patience=0.1, on_decision=lambda d: None)
    guard.schedule.credit = math.inf
    for step, row in enumerate(learning(600_000)):  # ten minutes: a busy machine needs a while
        guard.observe(step, row)
        if guard.diagnosis is not None:
            break
        time.sleep(0.001 * (step > 10))
    assert guard.diagnosis is not None
    status = {o.detector: o.status for o in guard.diagnosis.outcomes}
    assert status["bad"] is Status.CRASHED
    assert Status.OK in status.values()


@pytest.mark.parametrize("metrics", [None, {"loss": object()}, {3: 1.0}, {"loss": [1, 2]}, {"": math.nan}])
def test_nothing_that_a_loop_passes_takes_it_down(tmp_path: Path, metrics: Any) -> None:
    guard = Guard(folder=tmp_path)
    for step in range(30):
        assert guard.observe(step, metrics).act is Act.CONTINUE
        assert guard.before_update(metrics).act is Act.CONTINUE


def test_a_wrong_call_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="there is no trainer 'tlr'"):
        Guard(trainer="tlr")
    with pytest.raises(ValueError, match="there is no policy 'halt'; use one of: observe, skip-update, stop"):
        Guard("halt")


def test_checks_take_their_share_of_the_time_and_no_more() -> None:
    schedule = guard_schedule.Schedule(share=0.01)
    spent, step_seconds, cost = 0.0, 0.1, 0.5
    for points in range(1, 20_000):
        schedule.trained(step_seconds)
        if schedule.due(points):
            schedule.checked(points, cost)
            schedule.spent(cost)
            spent += cost
    assert 0.005 < spent / (20_000 * step_seconds) <= 0.01


def test_checks_become_rarer_as_the_run_grows() -> None:
    schedule, checked = guard_schedule.Schedule(share=0.01), list[int]()
    for points in range(1, 20_000):
        schedule.trained(1000.0)
        if schedule.due(points):
            schedule.checked(points, 0.08)
            checked.append(points)
    gaps = [b - a for a, b in pairwise(checked)]
    assert gaps == sorted(gaps)
    assert len(checked) < 500


def test_a_crash_leaves_a_bundle_and_the_exception(tmp_path: Path) -> None:
    guard = Guard(folder=tmp_path)

    def train() -> None:
        with guard:
            guard.observe(7, {"loss": 1.0})
            raise RuntimeError("out of memory")

    with pytest.raises(RuntimeError, match="out of memory"):
        train()
    (kept,) = bundle.complete(tmp_path)
    manifest = bundle.read(kept)
    assert manifest["step"] == 7
    assert "out of memory" in manifest["reason"]
    assert "test_guard.py" in manifest["crash"]


def test_what_a_bundle_holds(stopped_run: tuple[Guard, list[GuardDecision], GuardDecision]) -> None:
    _, _, decision = stopped_run
    assert decision.bundle is not None
    manifest = bundle.read(decision.bundle)
    assert manifest["lost"] == {}
    assert manifest["seeds"]["seed"] == 3
    assert decision.finding is not None
    assert decision.finding.message in manifest["reason"]
    rows = [json.loads(line) for line in (decision.bundle / "metrics.jsonl").read_text().splitlines()]
    assert rows[-1]["step"] == decision.step
    assert len(rows) > 60
    assert json.loads((decision.bundle / "config.json").read_text()) == {"seed": 3, "learning_rate": 0.1}
    assert json.loads((decision.bundle / "diagnosis.json").read_text())["verdict"]["action"] in ("stop", "rollback")
    origin = json.loads((decision.bundle / "origin.json").read_text())
    assert origin["packages"]["numpy"]
    assert firstbreak.read(decision.bundle / "metrics.jsonl").last_step == decision.step


def stopped(said: str, length: float, every: int = 1) -> int | None:
    """After how many points a run is stopped, with one check per point and "x" for the advice to stop; None: never.

    The critical finding speaks of a curve that is logged at every so many points.
    """
    suspicion = guard_schedule.Suspicion()
    return next((n for n, word in enumerate(said, 1) if suspicion.lasts(word == "x", n, length, n // every)), None)


def test_checks_between_two_evaluations_confirm_nothing() -> None:
    assert stopped("x" * 100, length=100, every=20) == 40, (
        "the third one: before the first value, upon it, upon the second"
    )
    assert stopped(("x" * 39 + ".") * 3, length=100, every=20) is None
    curve = Series(name="eval.reward", steps=np.arange(5.0), values=np.arange(5.0))
    finding = Finding(message="", severity=Severity.CRITICAL, confidence=Confidence.HIGH, metric="eval.reward")
    found = [Outcome(detector="a", link=Link.REWARD, status=Status.FOUND, finding=finding)]
    found += [replace(found[0], finding=replace(finding, metric=None))]
    found += [replace(found[0], finding=replace(finding, severity=Severity.WARNING))]
    dx = replace(firstbreak.diagnose(Run(path="", series={"eval.reward": curve})), outcomes=tuple(found))
    assert guard_schedule.evidence(dx, points=70) == 5 + 70


def test_a_stop_has_to_last_for_a_part_of_the_run() -> None:
    assert stopped(".." + "x" * 98, length=100) == 3 + 5
    assert stopped(".." + "x" * 98, length=1000) == 3 + 50, "what is short for a long run proves little"
    assert stopped("x" * 100, length=10) == guard_schedule.MIN_CHECKS


def test_a_run_that_recovers_by_itself_is_given_twice_the_time_to_do_so_again() -> None:
    assert stopped("....xxxx....xxxx....xxxx....", length=100) is None
    assert stopped("....xxxx....xxxxxxxxxxxxxxxx", length=100) == 13 + 2 * 4


def test_the_length_of_a_run_is_what_was_planned_or_twice_what_there_is() -> None:
    curve = Series(name="reward.mean", steps=np.array([0.0, 500.0]), values=np.array([0.0, 1.0]))
    planned = Config(values={"total_steps": 2000})
    assert guard_schedule.length(Run(path="", series={"reward.mean": curve}, config=planned), 50) == 200
    assert guard_schedule.length(Run(path="", series={"reward.mean": curve}), 50) == 100


def test_an_alarm_that_does_not_last_is_reported_and_is_no_stop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real, unlucky = guard_schedule.examine, iter([True, True, False] * 100)

    def now_and_then(run: Run) -> Any:
        dx = real(run)
        return replace(dx, verdict=replace(dx.verdict, action=Action.STOP)) if next(unlucky) else dx

    monkeypatch.setattr(guard_schedule, "examine", now_and_then)
    rows = [{**row, "completions/clipped_ratio": 0.3 * (i > 20)} for i, row in enumerate(learning(60))]
    _, reported, decision = guarded(rows, tmp_path)
    assert not decision.stop
    assert any("stop if it lasts" in str(d) for d in reported)


def falls(n: int, at: int, sigmas: float) -> Iterable[dict[str, float]]:
    """A reward of 0.73 that falls by so many times its noise."""
    rng = np.random.default_rng(0)
    for i in range(n):
        yield {
            "reward": 0.73 - (0.02 * sigmas if i >= at else 0) + rng.normal(0, 0.02),
            "loss": rng.normal(0, 0.01),
            "entropy": 1 + rng.normal(0, 0.02),
        }


def fast(rows: Iterable[Mapping[str, Any]], folder: Path) -> tuple[Guard, list[GuardDecision]]:
    """A loop of 0.1 s a step under the default share, in which checks are rare."""
    clock, reported = Clock(), list[GuardDecision]()
    guard = Guard("stop", folder=folder, trainer="trl", on_decision=reported.append, clock=clock, patience=WAIT)
    for step, row in enumerate(rows):
        clock.train(0.1)
        guard.observe(step, row)
    return guard, reported


def test_a_fall_raises_an_alarm_at_once_and_the_detectors_look(tmp_path: Path) -> None:
    guard, reported = fast(falls(160, at=150, sigmas=8), tmp_path)
    alarm = reported[0]
    assert alarm.step is not None
    assert 150 <= alarm.step < 154
    assert alarm.by == "level-fell"
    assert "alarm, the detectors look next (level-fell): reward.mean: fell from 0.7" in str(alarm)
    assert not any(d.stop for d in reported), "a level that fell stops nothing"
    assert guard.schedule.checks >= 1
    assert guard.said.startswith("the detectors have looked ")


def test_a_run_without_a_check_says_so(tmp_path: Path) -> None:
    guard, _ = fast(falls(10, at=99, sigmas=0), tmp_path)
    assert guard.said.startswith(
        "the detectors have not looked at the run yet: a look comes when 1 % of the training time"
    )


def test_a_check_on_credit_makes_the_next_one_wait() -> None:
    schedule = guard_schedule.Schedule(share=0.01)
    assert not schedule.due(50)
    assert schedule.due(50, borrowed=True)
    schedule.checked(50, 0.5)
    schedule.spent(0.5)
    assert schedule.due(51, borrowed=True), "steps may be too short to earn it"
    assert not schedule.due(51), "without a reason it is earned first"
    for points in range(51, 51 + guard_schedule.MOST_BORROWED):
        schedule.checked(points, 0.5)
    assert not schedule.due(99, borrowed=True), "what was borrowed has to be earned first"
    schedule.trained(51.0)
    assert schedule.due(99, borrowed=True)


def test_a_run_of_short_steps_is_stopped_too(tmp_path: Path) -> None:
    moved = Clock()
    guard = Guard("stop", folder=tmp_path, trainer="trl", on_decision=lambda _: None, patience=WAIT,
                  clock=lambda: moved.now + time.perf_counter())  # fmt: skip
    for step, row in enumerate(collapsing(200, at=100)):
        moved.train(0.02)
        if guard.observe(step, row).stop:
            break
    assert 100 < step < 150


def test_a_name_that_is_no_string_blinds_no_other_metric(tmp_path: Path) -> None:
    rows = [{**row, 7: 1.0, "loss": math.nan if i >= 50 else row["loss"]} for i, row in enumerate(learning(60))]
    _, _, decision = guarded(rows, tmp_path, share=0.0)  # type: ignore[arg-type]
    assert decision.stop


def test_the_bundle_keeps_the_update_that_broke_beside_the_one_that_stopped(tmp_path: Path) -> None:
    """The run goes on for longer than the last steps that are stored completely."""
    guard = Guard("stop", folder=tmp_path, trainer="trl", on_decision=lambda _: None, share=0.0)
    batch = {"of": -1}
    guard.attach(
        "torch", lambda: {"batch.pt": lambda file: file.write(b"%d" % batch["of"]) and None}, update_hooks=False
    )
    guard.checkpoint(90, "https://example.org/checkpoint-90")
    for step, row in enumerate(falls(500, at=100, sigmas=12)):
        batch["of"] = step
        guard.observe(step, row, samples=[{"prompt": "p", "completion": f"c{step}", "reward": 0.1}])
    guard.stop("enough")
    done = guard.observe(500, {"reward": 0.5})
    assert done.bundle is not None
    manifest = bundle.read(done.bundle)
    assert (manifest["broke"]["step"], manifest["step"]) == (100, 500)
    broke = json.loads((done.bundle / "broke.json").read_text())
    assert [row["step"] for row in broke["metrics"]] == list(range(92, 101))
    assert [sample["completion"] for sample in broke["samples"]] == ["c100"]
    assert broke["checkpoint_before"]["step"] == 90
    assert (done.bundle / "broke-batch.pt").read_bytes() == b"100"
    assert (done.bundle / "batch.pt").read_bytes() == b"499"
    assert "have not looked" in manifest["checks"]
