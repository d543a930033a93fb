"""What a training loop talks to: `observe` after every step, `before_update` inside one, a bundle when it ends badly."""

from __future__ import annotations

import logging
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
from firstbreak.engine.follow import assemble_in_memory
from firstbreak.guard import bundle, evidence, looks, synchronous
from firstbreak.guard.decision import GO_ON, Act, Decision, Policy
from firstbreak.guard.history import History, number
from firstbreak.guard.invariants import LASTING, Breach, Watch
from firstbreak.model import Checkpoint, Confidence, Diagnosis, Finding, Run, Sample, Samples, Severity

LOG = logging.getLogger("firstbreak.guard")
SHARE = 0.01  #: of training time that looks may take
PATIENCE = 1.0  #: seconds that training waits for one look
WRITING = 30.0  #: seconds that the end of training waits for a bundle
MOST_SAMPLES = 512  #: the last ones are kept
WITHOUT_GATE = 3  #: steps after which a stop no longer waits for an update that can be replayed

Samplelike = Sample | Mapping[str, Any]


def tell_log(decision: Decision) -> None:
    """A warning in the log `firstbreak.guard`."""
    LOG.warning("%s", decision)


class Guard:
    """Watches a live run, and says at every step what to do: continue, skip this update, reduce, stop, roll back.

    `policy`: "observe" tells and does nothing; "skip-update" may leave single updates out and lower the learning rate;
    "stop" may end the run as well. On a stop, and where training crashes inside `with guard:`, a bundle of evidence is
    written below `folder`. `trainer` and `config` are the trainer's name and options, where no adapter gives them.
    `tell` gets each decision that is news. `share` bounds the time of the detectors, as a share of training time, and
    `patience` (seconds) the time that training waits for them at once.

    Nothing that goes wrong in here reaches training: it costs a warning.
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
        tell: Callable[[Decision], None] = tell_log,
        share: float = SHARE,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.perf_counter,
    ) -> None:
        if trainer is not None and trainer not in dialects.dialects():
            raise ValueError(f"no trainer is called {trainer!r}; known: {', '.join(dialects.dialects())}")
        looks.warm_up()
        self.policy, self.folder = Policy(policy), Path(folder)
        self.config: dict[str, Any] = dict(config or {})
        self.target_kl = target_kl
        self.replay_with = replay_with  #: what builds the trainer again, for `firstbreak replay`
        self.diagnosis: Diagnosis | None = None  #: of the last look
        self.decision = GO_ON  #: the last one that was told
        self.schedule = looks.Schedule(share)
        self._tell, self._patience, self._clock, self._left = tell, patience, clock, clock()
        self._history, self._samples = History(), deque[Sample](maxlen=MOST_SAMPLES)
        self._checkpoints: list[Checkpoint] = []
        self._steps, self._minibatches = Watch(trainer, target_kl), Watch(trainer, target_kl)
        self._look: looks.Look | None = None
        self._suspicion = looks.Suspicion()
        self._told: Counter[tuple[Act, str]] = Counter()
        self._warned: set[str] = set()
        # The stop that waits for its evidence, and the update at hand.
        self._adapter, self._parts, self._gated = "", _nothing, False
        self._pending: Decision | None = None
        self._waited = 0
        self._measured: dict[str, float] = {}  #: before the first optimizer step of this update
        self._untouched = False  #: no optimizer step of this update was applied
        self._over = False

    @property
    def trainer(self) -> str | None:
        """The dialect that metrics are read in; None: chosen by their names."""
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
    ) -> Decision:
        """Take in one step's metrics, under the trainer's own names; what to do.

        Values that are no numbers are passed over. `samples` are completions or episodes of this step, as `Sample` or as
        mappings with its fields; `config` are options that became known. Never raises.
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

    def before_update(self, metrics: Mapping[str, Any]) -> Decision:
        """Inside an update, before the optimizer's step: the invariants alone, on what is known of this minibatch.

        `skip` of the decision means: do not apply it, and in PPO end the epochs of this batch. Never raises.
        """
        try:
            return self._before_update(metrics)
        except Exception as error:
            self._warn("before_update", error)
            return GO_ON

    def begin_update(self) -> bool:
        """A new update begins: whether to keep what is needed to run it again, in place of what was kept before.

        Not where a stop waits, and an update that was held back is kept as its evidence.
        """
        if self._pending is not None and self._measured and self._untouched:
            return False
        self._measured, self._untouched = {}, True
        return True

    def stop(self, reason: str) -> None:
        """End the run for a reason of your own, whatever the policy: the next `observe` says so, with the evidence kept."""
        finding = Finding(message=reason, severity=Severity.CRITICAL, confidence=Confidence.HIGH, onset=self._step)
        back = rollback_to(self._checkpoints, before=self._step)
        act = Act.STOP if back is None else Act.ROLLBACK
        asked = Decision(act=act, advice=act, step=self._step, by="asked for", finding=finding, rollback=back)
        self._pending = self._pending or asked

    def checkpoint(self, step: float, path: str | Path) -> None:
        """A model was saved at this step: a place to roll back to."""
        saved = Checkpoint(step=float(step), path=str(path))
        if saved not in self._checkpoints:
            self._checkpoints.append(saved)

    def attach(self, adapter: str, parts: Callable[[], Mapping[str, bundle.Part]], *, gated: bool) -> None:
        """An adapter gives what a bundle holds besides metrics: `parts()` are its files, asked for when training has ended.

        `gated`: it calls `begin_update` and `before_update`, so that a stop waits for one more update, which is held back
        and kept with the exact state before it.
        """
        self._adapter, self._parts, self._gated = adapter, parts, gated

    def look(self) -> Diagnosis | None:
        """Have the detectors look now, whatever it costs; None where they fail."""
        self._examine(None)
        return self.diagnosis

    def run(self) -> Run:
        """The run so far, as `firstbreak.read` would have read it. Raises `Unreadable` where nothing was observed."""
        return self._snapshot()()

    def close(self) -> None:
        """Training has ended: a stop that still waits for its evidence is written down as it is."""
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
        """Write a bundle; its folder, or None where that failed or takes longer than WRITING seconds."""
        name = f"incident-{int(self._step or 0):08d}"
        back = self.decision.rollback
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
        }
        told = evidence.readme(reason, self._adapter, command, None if back is None else back.path)
        try:
            parts = evidence.files(self._history.recent, self.config, self._samples, self.diagnosis, told)
            writing = bundle.Writing(partial(bundle.write, self.folder, name, {**parts, **self._held()}, about))
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
    ) -> Decision:
        numbers = self._history.add(step, metrics)
        self._samples.extend(s if isinstance(s, Sample) else Sample(**{"step": step, **s}) for s in samples)
        if config:
            self.config.update(config)
            self._steps.learn(numbers, self.config)
        if self._over:
            return self.decision
        if self._pending is not None:
            return self._await_update(self._pending, numbers)
        breaches = self._steps.breaches(numbers, self.config)
        looked = self._scheduled_look(urgent=any(breach.act is Act.CONTINUE for breach in breaches))
        advised = [self._advised(breach) for breach in breaches]
        return self._gravest(advised if looked is None else [*advised, looked])

    def _before_update(self, metrics: Mapping[str, Any]) -> Decision:
        numbers = {name: value for name, raw in metrics.items() if (value := number(raw)) is not None}
        self._measured = self._measured or numbers
        decision = GO_ON
        if self._pending is None:
            decision = self._gravest([self._advised(b) for b in self._minibatches.breaches(numbers, self.config)])
        if self._pending is not None:
            decision = replace(self._pending, act=Act.SKIP_UPDATE)
        self._untouched &= decision.skip
        return decision

    def _advised(self, breach: Breach) -> Decision:
        """What a breach asks for, as a decision that no policy has judged yet."""
        finding = breach.finding(self._step)
        if breach.act is not Act.STOP:
            return Decision(advice=breach.act, step=self._step, by=breach.invariant, finding=finding)
        before = self._history.recent[max(0, len(self._history.recent) - LASTING - 1)][0] if self._history.recent else 0
        back = rollback_to(self._checkpoints, before=before)
        advice = Act.STOP if back is None else Act.ROLLBACK
        return Decision(advice=advice, step=self._step, by=breach.invariant, finding=finding, rollback=back)

    # Looks ------------------------------------------------------------------------------------------------------------

    def _scheduled_look(self, *, urgent: bool) -> Decision | None:
        """What the detectors advise, where a look was due or an earlier one has finished."""
        if self._look is None and not self.schedule.due(self._history.points, urgent=urgent):
            return None
        return self._examine(self._patience)

    def _examine(self, patience: float | None) -> Decision | None:
        began, look = self._clock(), self._look
        if look is None:
            look = looks.Look(self._snapshot())
            look.wait(patience)
        done = look.done()
        self._look = None if done else look
        suspected = look.diagnosis is not None and look.diagnosis.verdict.action in looks.ENDS
        self.schedule.looked(self._history.points, self._clock() - began, suspected=suspected)
        if not done:
            return None
        if look.error is not None:
            self._warn("a look", look.error)
        elif look.diagnosis is not None:
            self.diagnosis = look.diagnosis
            for line in looks.crashed(look.diagnosis):
                self._warn("a detector", RuntimeError(line))
            return self._judge(look.diagnosis)
        return None

    def _snapshot(self) -> Callable[[], Run]:
        """What makes the run as it is now, whatever is observed meanwhile."""
        kept = tuple(self._samples)
        return partial(
            assemble_in_memory,
            self._history.curves(),
            dict(self.config),
            trainer=self.trainer,
            samples=Samples(lambda: kept, ("live",)) if kept else None,
            checkpoints=tuple(self._checkpoints),
        )

    def _judge(self, diagnosis: Diagnosis) -> Decision | None:
        """An alarm where the detectors would stop the run, a stop where they have said so for long enough."""
        lasts, found = self._suspicion.on(diagnosis, self._history.points), looks.worst(diagnosis)
        if diagnosis.verdict.action not in looks.ENDS or found is None:
            return None
        by, finding = found
        alarm = Decision(
            step=self._step, by=by, finding=finding, diagnosis=diagnosis, synchronous=synchronous.snippet(diagnosis)
        )
        if not lasts:
            return alarm
        first, best = diagnosis.first_break, diagnosis.best_checkpoint
        start = None if first is None else first.interval[0] if first.interval else first.step
        back = rollback_to(self._checkpoints, before=start, best=None if best is None else best.step)
        return replace(alarm, advice=Act.STOP if back is None else Act.ROLLBACK, rollback=back)

    # Deciding ---------------------------------------------------------------------------------------------------------

    def _gravest(self, advised: Sequence[Decision]) -> Decision:
        """The gravest of what is advised, as far as the policy permits it."""
        if not advised:
            return GO_ON
        gravest = max(advised, key=lambda d: d.advice.rank)
        acts = (gravest.advice, Act.SKIP_UPDATE if gravest.diagnosis is None else Act.CONTINUE, Act.CONTINUE)
        permitted = next(act for act in acts if self.policy.permits(act) and act.rank <= gravest.advice.rank)
        decision = replace(gravest, act=permitted)
        if decision.stop:
            self._pending = decision
            return replace(decision, act=Act.CONTINUE) if self._gated else self._conclude(decision)
        self.decision = decision
        self._announce(decision)
        return decision

    def _await_update(self, pending: Decision, numbers: Mapping[str, float]) -> Decision:
        """The stop, once an update was held back and measured; before that, go on."""
        self._waited += 1
        held_back = bool(self._measured) and self._untouched
        if held_back:  # what the trainer logs after it is what it came to
            self._measured = {**numbers, **self._measured}
        if held_back or not self._gated or self._waited >= WITHOUT_GATE:
            return self._conclude(pending)
        return replace(pending, act=Act.CONTINUE)

    def _conclude(self, pending: Decision) -> Decision:
        """Keep the evidence, and end the run."""
        self._over, self.decision = True, pending
        reason = pending.advice.value if pending.finding is None else f"{pending.by}: {pending.finding.message}"
        self.decision = replace(pending, bundle=self.incident(reason))
        self._announce(self.decision)
        return self.decision

    def _announce(self, decision: Decision) -> None:
        """Tell what is news: the same again only at the 1st, 2nd, 4th, 8th, ... time."""
        key = decision.advice, decision.by
        self._told[key] += 1
        if decision.stop or self._told[key].bit_count() == 1:
            try:
                self._tell(decision)
            except Exception as error:
                self._warn("tell", error)

    def _held(self) -> Mapping[str, bundle.Part]:
        """What the adapter holds; nothing where it fails, so that the rest is kept."""
        try:
            return self._parts()
        except Exception as error:
            self._warn("the adapter", error)
            return {}

    def _warn(self, what: str, error: Exception) -> None:
        """Say once that something of the guard itself failed."""
        if what not in self._warned:
            self._warned.add(what)
            LOG.warning("%s failed, and training goes on: %s: %s", what, type(error).__name__, error)


def rollback_to(
    checkpoints: Sequence[Checkpoint], *, before: float | None, best: float | None = None
) -> Checkpoint | None:
    """Of the checkpoints up to the step `before`, the one nearest to the step `best`, or the last one.

    Trainers delete old checkpoints, so one on this machine has to be there still.
    """
    there = [c for c in checkpoints if "://" in c.path or Path(c.path).exists()]
    sound = [c for c in there if before is None or c.step <= before]
    return min(sound, key=lambda c: abs(c.step - best) if best is not None else -c.step, default=None)


def _nothing() -> Mapping[str, bundle.Part]:
    return {}
