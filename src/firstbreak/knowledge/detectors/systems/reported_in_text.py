"""The log itself says in words what went wrong.

## What it looks for
Lines of text between the numbers: an exception or a lack of memory after which no number comes any more; and "resumed", time-outs
or skipped updates at the step at which the training reward falls at once. A second events file of one run is such a line too, and
so is a replay buffer of less than half of what it held, where it never shrank before: it was not loaded with the weights.

## Why it matters
A fall that begins where a run goes on from a saved state comes from what was not restored: the optimizer, the statistics of a
normaliser, the replay buffer, the schedule or the counter of steps. Time-outs of a reward service often return a score.

## When it is a false alarm
A run that was stopped by hand, and a run that is resumed with other settings on purpose.

## Fix
- After an exception: read the lines above it.
- After a resume: save and load the optimizer, the normaliser's statistics, the replay buffer and the schedule with the weights.
- After time-outs: leave out the samples that were not scored.

## Smallest experiment
Save and resume at once: the next ten steps must be those of the run that was not interrupted.

## References
https://stable-baselines3.readthedocs.io/en/master/guide/examples.html
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.points import median
from firstbreak.model import Confidence, Event, Evidence, Finding, Happened, NotMeasured, Role, Run, Series, Severity
from firstbreak.words import number

ROLES = (Role.RELATION,)
BY_HAND = "KeyboardInterrupt"


def detect(
    run: Run,
    training_score: Series | None = None,
    reward_episode: Series | None = None,
    replay_size: Series | None = None,
    *,
    min_fall: float = at(0.25, "share", "of the range of the reward so far: less comes and goes"),
    min_size: float = at(6.0, "standard errors", "of the level of a few values"),
    around: int = at(8, "points", "before and after the line"),
) -> Finding | NotMeasured | None:
    emptied = _emptied(replay_size.finite) if replay_size is not None else None
    if not run.events and replay_size is None:
        return NotMeasured("no console log with lines of text, and no second file of events, was read")
    if (end := next((e for e in reversed(run.events) if e.kind is Happened.ERROR and e.last), None)) is not None:
        return _ended(run, end)
    score = reward_episode if reward_episode is not None else training_score
    for event in (*([emptied] if emptied else ()), *run.events):
        if event.step is None or score is None or event.kind is Happened.ERROR:
            continue
        if (found := _fell(event, score.finite, min_fall, min_size, around)) is not None:
            return found
    return None


def _ended(run: Run, event: Event) -> Finding | None:
    if event.text.startswith(BY_HAND):
        return None
    step = event.step if event.step is not None else run.last_step
    where = facts.tell("{where}", where=f" after step {step:g}" if step is not None else "")
    return Finding(
        message=facts.tell(
            '{source} ends{where} with "{line}": read the lines above it',
            source=event.source,
            where=where,
            line=event.text,
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=None,
        onset=step,
        interval=None if step is None else (step, step),
        evidence=(Evidence(text=f"{event.source}: {event.text}", series=None),),
    )


def _emptied(size: Series) -> Event | None:
    """The step after which a replay buffer, which only grows up to its capacity, begins anew."""
    shrinks = np.flatnonzero(np.diff(size.values) < 0)
    if len(shrinks) != 1 or (after := size.values[shrinks[0] + 1]) > 0.5 * (before := size.values[shrinks[0]]):
        return None
    text = f"the replay buffer holds {number(float(after))} transitions, and held {number(float(before))}"
    return Event(kind=Happened.RESUMED, text=text, step=float(size.steps[shrinks[0]]), source=size.source or "the log")


def _fell(event: Event, score: Series, min_fall: float, min_size: float, around: int) -> Finding | None:
    """The finding that the score falls at once at the step of the line."""
    assert event.step is not None
    before, after = score.between(-np.inf, event.step), score.between(np.nextafter(event.step, np.inf))
    if min(len(before), len(after)) < around:
        return None
    level, then = median(before.values[-around:]), median(after.values[:around])
    error = noise_scale(before.values) * (2 / around) ** 0.5
    if level - then < max(min_fall * float(np.ptp(before.values)), min_size * error) or level == then:
        return None
    first = float(after.steps[0])
    return Finding(
        message=facts.tell(
            'the training reward falls from {before} to {after} where {source} says "{line}": find what was not restored or not '
            "scored there",
            before=facts.median(before.tail(around / len(before))),
            after=facts.median(after.head(around / len(after))),
            source=event.source,
            line=event.text,
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        **seen_since(score, "training reward", first, (float(before.steps[-1]), first)),
        sudden=True,
    )
