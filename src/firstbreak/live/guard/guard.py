"""The class that a training loop calls: `observe` after every step, `before_update` inside an update."""

from __future__ import annotations

import logging
import threading
import time
import traceback
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any

from firstbreak import dialects
from firstbreak.live.guard import bundle, evidence, schedule, synchronous
from firstbreak.live.guard.decision import GO_ON, PERMITTED, Act, GuardDecision, GuardPolicy
from firstbreak.live.guard.history import MetricHistory, number
from firstbreak.live.guard.invariants import Violation, Watch, limits
from firstbreak.model import Checkpoint, Confidence, Diagnosis, Finding, Run, Sample, Samples, Severity
from firstbreak.readers.follow import assemble_in_memory

LOG = logging.getLogger("firstbreak.guard")
log_decision: Callable[[GuardDecision], None] = partial(LOG.warning, "%s")
SHARE = 0.01  #: of the training time that scheduled checks may take
PATIENCE = 1.0  #: seconds that training waits for one check
WRITING = 30.0  #: seconds that training waits for a bundle at its end
MOST_SAMPLES = 512  #: largest number of samples; the last ones are stored
MOST_MOMENTS = 8  #: updates at which something may have broken; the last ones are stored
AROUND = 8  #: steps before it that are stored with each of them
MOST_SAMPLES_KEPT = 32  #: with each of them
MOST_BATCH = 64 << 20  #: bytes of its batch; a larger one is left out
LEVEL = "level-"  #: begins the name of the tests that only ask for a check
MOST_STEPS_WAITED = 3  #: steps that a stop waits for an update that can be replayed

Samplelike = Sample | Mapping[str, Any]


class Guard:
    """Watches a live run. At every step, the guard decides: continue, skip this update, reduce, stop, or roll back.

    `policy`: "observe" only reports. "skip-update" may skip single updates and reduce the learning rate. "stop" may also
    end the run. On a stop, and on a crash inside `with guard:`, the guard writes a bundle of evidence below `folder`.
    `trainer` and `config` are the trainer's name and options, if no adapter gives them. `on_decision` is called with each
    new decision. `share` limits the time of the detectors, as a share of the training time. `patience` (seconds) limits
    the time that training waits for one check.

    An error inside the guard never reaches training. The guard logs a warning.
    """

    def __init__(
        self,
        policy: str = "observe",
        *,
        folder: str | Path = "incidents",
        trainer: str | None = None,
        config: Mapping[str, Any] | None = None,
        target_kl: float | None = None,
        replay_with: str = "MODULE:FUNCTION",
        on_decision: Callable[[GuardDecision], None] = log_decision,
        share: float = SHARE,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if trainer is not None and trainer not in dialects.dialects():
            raise ValueError(f"there is no trainer {trainer!r}; use one of: {', '.join(dialects.dialects())}")
        schedule.warm_up()
        threading.Thread(target=bundle.sweep, args=(Path(folder),), daemon=True).start()  # a disk may hang
        self.policy, self.folder = GuardPolicy(policy), Path(folder)
        self.config: dict[str, Any] = dict(config or {})
        self.target_kl = target_kl
        self.replay_with = replay_with  #: the function that builds the trainer, for `firstbreak replay`
        self.diagnosis: Diagnosis | None = None  #: of the last check
        self.decision = GO_ON  #: the last reported decision
        self.schedule = schedule.Schedule(share)
        self._on_decision, self._patience, self._clock, self._left = on_decision, patience, clock, clock()
        self._history, self._samples = MetricHistory(), deque[Sample](maxlen=MOST_SAMPLES)
        self._checkpoints: list[Checkpoint] = []
        self._steps, self._minibatches = Watch(trainer, target_kl), Watch(trainer, target_kl)
        self._check: schedule.ScheduledCheck | None = None
        self._look = False  #: a level has changed, or entropy is low, and the detectors have not looked since
        #: the last updates at which it may have broken
        self._moments: deque[evidence.Moment] = deque(maxlen=MOST_MOMENTS)
        self._suspicion = schedule.Suspicion()
        self._warned_of: Mapping[str, Finding] = {}  #: by the last check, per detector
        self._spoken: set[str] = set()  #: detectors whose warning was reported
        self._reported: Counter[tuple[Act, str]] = Counter()
        self._warned: set[str] = set()
        # The stop that waits for its evidence, and the current update.
        self._files: Callable[[], Mapping[str, bundle.FileContent]] = dict
        self._adapter, self._update_hooks = "", False
        self._pending: GuardDecision | None = None
        self._waited = 0
        self._measured: dict[str, float] = {}  #: before the first optimizer step of this update
        self._untouched = False  #: no optimizer step of this update was applied
        self._over = False

    @property
    def trainer(self) -> str | None:
        """The trainer whose names the metrics have. None: chosen from the names."""
        return self._steps.trainer

    @trainer.setter
    def trainer(self, name: str | None) -> None:
        self._steps.trainer = self._minibatches.trainer = name

    # What a loop calls ------------------------------------------------------------------------------------------------

    def observe(
        self,
        step: float,
        metrics: Mapping[str, Any],
        samples: Iterable[Samplelike] | None = None,
        config: Mapping[str, Any] | None = None,
    ) -> GuardDecision:
        """Take in the metrics of one step, under the trainer's own names. Returns what to do.

        Values that are not numbers are ignored. `samples` are completions or episodes of this step, as `Sample` or as
        mappings with the fields of `Sample`. `config` are new options. Never raises.
        """
        entered = self._clock()
        self.schedule.trained(entered - self._left)
        try:
            decision = self._observe(float(step), metrics, samples or (), config or {})
        except Exception as error:
            self._warn("observe", error)
            decision = GO_ON
        self._left = self._clock()
        self.schedule.spent(self._left - entered)
        return decision

    def before_update(self, metrics: Mapping[str, Any]) -> GuardDecision:
        """Call this inside an update, before the optimizer step. Only the rules for single steps run, on the given metrics.

        If the decision has `skip`, do not apply the update, and in PPO end the epochs on this batch. Never raises.
        """
        try:
            return self._before_update(metrics)
        except Exception as error:
            self._warn("before_update", error)
            return GO_ON

    def begin_update(self) -> bool:
        """A new update begins. Returns whether to store what is needed to run this update again, instead of the last one.

        False if a stop is waiting and an update was skipped: the stored update is the evidence for the stop.
        """
        if self._pending is not None and self._measured and self._untouched:
            return False
        self._measured, self._untouched = {}, True
        return True

    def stop(self, reason: str) -> None:
        """End the run for your own reason, with any policy. The next `observe` returns the stop and writes the evidence."""
        finding = Finding(message=reason, severity=Severity.CRITICAL, confidence=Confidence.HIGH, onset=self._step)
        back = rollback_to(self._checkpoints, before=self._step)
        act = Act.STOP if back is None else Act.ROLLBACK
        requested = GuardDecision(
            act=act, advice=act, step=self._step, by="your request", finding=finding, rollback=back
        )
        self._pending = self._pending or requested

    def checkpoint(self, step: float, path: str | Path) -> None:
        """Record a checkpoint at this step, for a rollback."""
        saved = Checkpoint(step=float(step), path=str(path))
        if saved not in self._checkpoints:
            self._checkpoints.append(saved)

    def attach(
        self, adapter: str, files: Callable[[], Mapping[str, bundle.FileContent]], *, update_hooks: bool
    ) -> None:
        """Set what an adapter adds to a bundle: `files()` returns the files, and is called when training has ended.

        With `update_hooks`, the adapter calls `begin_update` and `before_update`. Then a stop waits for one more update.
        This update is skipped and stored with the exact state before it.
        """
        self._adapter, self._files, self._update_hooks = adapter, files, update_hooks

    def check_now(self) -> Diagnosis | None:
        """Run all detectors now, without a time limit. Returns None if they fail."""
        if self._check is not None:  # one of an earlier step, which a busy machine has not finished
            self._check.wait(None)
            self._examine(None)
        self._examine(None)
        return self.diagnosis

    @property
    def said(self) -> str:
        """How often the detectors have looked at the run, what a look costs, and what share of the time they take."""
        return self.schedule.said

    def run(self) -> Run:
        """The run so far, as from `firstbreak.read`. Raises `Unreadable` if nothing was observed."""
        return self._snapshot()()

    def close(self) -> None:
        """Training has ended. A stop that still waits for its evidence is written with the evidence so far.

        The log `firstbreak.guard` gets a line on how often the detectors have looked, and what that has cost.
        """
        LOG.info("%s", self.said)
        if self._pending is not None and not self._over:
            self._conclude(self._pending)

    def __enter__(self) -> Guard:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if isinstance(error, Exception):
            self.incident(f"{type(error).__name__}: {error}", crash="".join(traceback.format_exception(error)))
        else:
            self.close()

    def incident(self, reason: str, crash: str = "") -> Path | None:
        """Write a bundle. Returns its folder, or None if writing fails or takes longer than WRITING seconds."""
        name = f"incident-{int(self._step or 0):08d}"
        back, broke = self.decision.rollback, self._broke()
        command = f"firstbreak replay {self.folder / name} --with {self.replay_with}"
        about = {
            "reason": reason,
            "crash": crash,
            "step": self._step,
            "adapter": self._adapter,
            "exact": self._untouched and bool(self._measured),
            "measured": self._measured,
            "seeds": evidence.seeds(self.config),
            "command": command,
            "rollback": None if back is None else asdict(back),
            "checks": self.schedule.said,
            "broke": None if broke is None else {n: broke.about[n] for n in ("step", "noticed", "by", "message")},
        }
        text = evidence.readme(reason, self._adapter, command, None if back is None else back.path)
        try:
            files = evidence.files(self._history.recent, self.config, self._samples, self.diagnosis, text, broke)
            writing = bundle.Writing(
                partial(bundle.write, self.folder, name, {**files, **self._adapter_files()}, about)
            )
        except Exception as error:
            self._warn("bundle", error)
            return None
        if not writing.wait(WRITING):
            self._warn("bundle", TimeoutError(f"{self.folder} takes longer than {WRITING:g} s"))
        elif writing.error is not None:
            self._warn("bundle", writing.error)
        return writing.path

    # One step ---------------------------------------------------------------------------------------------------------

    @property
    def _step(self) -> float | None:
        return self._history.recent[-1][0] if self._history.recent else None

    def _observe(
        self, step: float, metrics: Mapping[str, Any], samples: Iterable[Samplelike], config: Mapping[str, Any]
    ) -> GuardDecision:
        numbers = self._history.add(step, metrics)
        self._samples.extend(s if isinstance(s, Sample) else Sample(**{"step": step, **s}) for s in samples)
        if config:
            self.config.update(config)
            self._steps.learn(numbers, self.config)
        if self._over:
            return self.decision
        if self._pending is not None:
            return self._await_update(self._pending, numbers)
        violations = self._steps.violations(numbers, self.config)
        changed = [violation for violation in violations if violation.invariant.startswith(LEVEL)]
        self._look |= any(violation.act is Act.CONTINUE for violation in violations)
        checked = self._scheduled_check()
        advised = [self._advised(violation) for violation in violations if violation.severity is not Severity.NOTICE]
        for violation in (*changed, *(v for v in violations if v.act is Act.STOP)):
            self._keep_moment(violation.invariant, violation.finding(step), violation.lasted)
        return self._most_severe(advised if checked is None else [*advised, checked])

    def _before_update(self, metrics: Mapping[str, Any]) -> GuardDecision:
        numbers = {str(name): value for name, raw in metrics.items() if (value := number(raw)) is not None}
        self._measured = self._measured or numbers
        decision = GO_ON
        if self._pending is None:
            violations = self._minibatches.violations(numbers, self.config)
            decision = self._most_severe([self._advised(violation) for violation in violations])
        if self._pending is not None:
            decision = replace(self._pending, act=Act.SKIP_UPDATE)
        self._untouched &= decision.skip
        return decision

    def _advised(self, violation: Violation) -> GuardDecision:
        """The advice for a violated rule, before the policy is applied."""
        finding = violation.finding(self._step)
        if violation.act is not Act.STOP:
            return GuardDecision(advice=violation.act, step=self._step, by=violation.invariant, finding=finding)
        recent = self._history.recent
        before = recent[max(0, len(recent) - (violation.lasted or limits().lasting) - 1)][0] if recent else 0
        back = rollback_to(self._checkpoints, before=before)
        advice = Act.STOP if back is None else Act.ROLLBACK
        return GuardDecision(advice=advice, step=self._step, by=violation.invariant, finding=finding, rollback=back)

    # Scheduled checks ------------------------------------------------------------------------------------------------

    def _scheduled_check(self) -> GuardDecision | None:
        """The advice of the detectors, if a check is due or has finished."""
        if self._check is None and not self.schedule.due(self._history.points, borrowed=self._look):
            return None
        return self._examine(self._patience)

    def _examine(self, patience: float | None) -> GuardDecision | None:
        began, check = self._clock(), self._check
        if check is None:
            self.schedule.checks += 1
            self._look = False
            check = schedule.ScheduledCheck(self._snapshot())
            check.wait(patience)
        done = check.done()
        self._check = None if done else check
        suspected = self._just_changed() or (
            check.diagnosis is not None and check.diagnosis.verdict.action in schedule.ENDS
        )
        self.schedule.checked(self._history.points, self._clock() - began, suspected=suspected)
        if not done:
            return None
        if check.error is not None:
            self._warn("a scheduled check", check.error)
        elif check.diagnosis is not None:
            self.diagnosis = check.diagnosis
            for line in schedule.crashed(check.diagnosis):
                self._warn("a detector", RuntimeError(line))
            return self._judge(check.diagnosis)
        return None

    def _just_changed(self) -> bool:
        """Whether a level has changed within the part of the run over which an advice to stop must last."""
        points = self._history.points
        return bool(self._moments) and points - self._moments[-1].points <= schedule.CONFIRMED * points

    def _keep_moment(self, by: str, finding: Finding, lasted: int = 0) -> None:
        """Keep the update at which something may have broken: its batch is gone with the next one."""
        recent = list(self._history.recent)
        first = max(0, len(recent) - 1 - lasted)
        step = recent[first][0]
        kept = [s for s in self._samples if s.step is not None and s.step >= step]
        saved = [c for c in self._checkpoints if c.step <= step]
        about = {
            "step": step,
            "noticed": self._step,
            "by": by,
            "message": finding.message,
            "checkpoint_before": asdict(saved[-1]) if saved else None,
            "metrics": [{"step": at, **numbers} for at, numbers in recent[max(0, first - AROUND) :]],
            "samples": [evidence.sample(s) for s in kept[:MOST_SAMPLES_KEPT]],
        }
        batch = None
        try:
            if (write := self._adapter_files().get("batch.pt")) is not None:
                batch = evidence.rendered(write, MOST_BATCH)
        except Exception as error:
            self._warn("the adapter", error)
        self._moments.append(evidence.Moment(step, self._history.points, about, batch))

    def _broke(self) -> evidence.Moment | None:
        """The kept update at which it broke: the first one since the earliest step of the first break, else the last one."""
        first = None if self.diagnosis is None else self.diagnosis.first_break
        start = None if first is None else first.interval[0] if first.interval else first.step
        since = [m for m in self._moments if start is not None and m.step >= start]
        return since[0] if since else self._moments[-1] if self._moments else None

    def _snapshot(self) -> Callable[[], Run]:
        """A function that builds the run as it is now, even if more steps are observed later."""
        kept = tuple(self._samples)
        return partial(
            assemble_in_memory,
            self._history.curves(),
            dict(self.config),
            trainer=self.trainer,
            samples=Samples(lambda: kept, ("live",)) if kept else None,
            checkpoints=tuple(self._checkpoints),
        )

    def _judge(self, diagnosis: Diagnosis) -> GuardDecision | None:
        """An alarm if the detectors advise to stop; a stop if they have advised to stop for long enough.

        Where they advise to watch, a warning that two checks in a row have given is reported, once for each detector.
        """
        lasts, found = self._suspicion.on(diagnosis, self._history.points), schedule.worst(diagnosis)
        warned, self._warned_of = self._warned_of, schedule.warnings(diagnosis)
        if diagnosis.verdict.action not in schedule.ENDS or found is None:
            lasting = next((by for by in self._warned_of if by in warned and by not in self._spoken), None)
            if lasting is None:
                return None
            self._spoken.add(lasting)
            return GuardDecision(step=self._step, by=lasting, finding=self._warned_of[lasting], diagnosis=diagnosis)
        by, finding = found
        if self._suspicion.begins:
            self._keep_moment(by, finding)
        alarm = GuardDecision(
            step=self._step, by=by, finding=finding, diagnosis=diagnosis, synchronous=synchronous.snippet(diagnosis)
        )
        if not lasts:
            return alarm
        first, best = diagnosis.first_break, diagnosis.best_checkpoint
        start = None if first is None else first.interval[0] if first.interval else first.step
        back = rollback_to(self._checkpoints, before=start, best=None if best is None else best.step)
        return replace(alarm, advice=Act.STOP if back is None else Act.ROLLBACK, rollback=back)

    # Deciding ---------------------------------------------------------------------------------------------------------

    def _most_severe(self, advised: Sequence[GuardDecision]) -> GuardDecision:
        """The most severe of the advised decisions, as far as the policy permits it."""
        if not advised:
            return GO_ON
        worst = max(advised, key=lambda d: d.advice.rank)
        acts = (worst.advice, Act.SKIP_UPDATE if worst.diagnosis is None else Act.CONTINUE, Act.CONTINUE)
        permitted = next(act for act in acts if act in PERMITTED[self.policy] and act.rank <= worst.advice.rank)
        decision = replace(worst, act=permitted)
        if decision.stop:
            self._pending = decision
            return replace(decision, act=Act.CONTINUE) if self._update_hooks else self._conclude(decision)
        self.decision = decision
        self._announce(decision)
        return decision

    def _await_update(self, pending: GuardDecision, numbers: Mapping[str, float]) -> GuardDecision:
        """The stop, after an update was skipped and measured. Before that, continue."""
        self._waited += 1
        skipped = bool(self._measured) and self._untouched
        if skipped:  # the metrics of this step belong to the skipped update
            self._measured = {**numbers, **self._measured}
        if skipped or not self._update_hooks or self._waited >= MOST_STEPS_WAITED:
            return self._conclude(pending)
        return replace(pending, act=Act.CONTINUE)

    def _conclude(self, pending: GuardDecision) -> GuardDecision:
        """Write the evidence, and end the run."""
        self._over, self.decision = True, pending
        reason = pending.advice.value if pending.finding is None else f"{pending.by}: {pending.finding.message}"
        self.decision = replace(pending, bundle=self.incident(reason))
        self._announce(self.decision)
        return self.decision

    def _announce(self, decision: GuardDecision) -> None:
        """Report a decision. The same decision is reported only at the 1st, 2nd, 4th, 8th, ... time."""
        key = decision.advice, decision.by
        self._reported[key] += 1
        if decision.stop or self._reported[key].bit_count() == 1:
            try:
                self._on_decision(decision)
            except Exception as error:
                self._warn("on_decision", error)

    def _adapter_files(self) -> Mapping[str, bundle.FileContent]:
        """The files of the adapter. Empty if the adapter fails, so that the other files are written."""
        try:
            return self._files()
        except Exception as error:
            self._warn("the adapter", error)
            return {}

    def _warn(self, what: str, error: Exception) -> None:
        """Log an error inside the guard, once for each part of the guard."""
        if what not in self._warned:
            self._warned.add(what)
            LOG.warning("the guard: %s failed, and training continues: %s: %s", what, type(error).__name__, error)


def rollback_to(
    checkpoints: Sequence[Checkpoint], *, before: float | None, best: float | None = None
) -> Checkpoint | None:
    """The checkpoint up to the step `before` that is nearest to the step `best`. Without `best`, the last one.

    Trainers delete old checkpoints. For this reason, a local checkpoint must still exist.
    """
    existing = [c for c in checkpoints if "://" in c.path or Path(c.path).exists()]
    sound = [c for c in existing if before is None or c.step <= before]
    return min(sound, key=lambda c: abs(c.step - best) if best is not None else -c.step, default=None)
