"""The log itself says in words what went wrong.

Looks for: Lines of text between the numbers:

- an exception or a lack of memory after which no number comes any more;
- a reward model of which a part is newly initialised, in a run that trains a policy with it;
- "resumed", a checkpoint that is missing, time-outs or skipped updates at the step at which the training reward falls at
  once. A second events file of one run is such a line too, and so is a replay buffer of less than half of what it held, where it
  never shrank before: it was not loaded with the weights.
Why: A fall that begins where a run goes on from a saved state comes from what was not restored: the optimizer, the
statistics of a normaliser, the replay buffer, the schedule or the counter of steps. Time-outs of a reward service often
return a score. A head that was not read from the checkpoint is random, and so is its reward.
False alarm: A run that was stopped by hand, and a run that is resumed with other settings on purpose.
Fix:
- After an exception: read the lines above it.
- After a resume: save and load the optimizer, the normaliser's statistics, the replay buffer and the schedule with the weights.
- After "newly initialized": give the head the name that it has in the checkpoint, and compare the scores of ten pairs.
- After time-outs: leave out the samples that were not scored.
Experiment: Save and resume at once: the next ten steps must be those of the run that was not interrupted.
References: https://stable-baselines3.readthedocs.io/en/master/guide/examples.html
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, from_point, seen_as, seen_since, warning
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.points import median
from firstbreak.knowledge.detectors._ended import by_nan, end_of
from firstbreak.model import Event, Evidence, Finding, Happened, NotMeasured, Role, Run, Series
from firstbreak.words import number

ROLES = (Role.RELATION,)
HEAD = "nitiali"  #: of "newly initialized", and of "not used when initializing"
TRAINED = {"kl.ref", "kl.old", "policy.clip_fraction"}  #: of a policy, where a new reward model has none yet
RETURNED = 0.3  #: share of the divergence from the reference that is left after a line: nearly that of a start


def detect(
    run: Run,
    training_score: Series | None = None,
    reward_episode: Series | None = None,
    replay_size: Series | None = None,
    kl_ref: Series | None = None,
    *,
    min_fall: float = at(0.25, "share", "of the range of the reward so far: less comes and goes"),
    min_size: float = at(6.0, "standard errors", "of a level; half where the divergence returns"),
    around: int = at(8, "points", "before and after the line"),
) -> Finding | NotMeasured | None:
    emptied = _emptied(replay_size.finite) if replay_size is not None else None
    if replay_size is not None and (again := _emptied_again(run, replay_size.finite)) is not None:
        return again
    if not run.events and replay_size is None:
        return NotMeasured("no console log with lines of text, and no second file of events, was read")
    if run.error is not None:
        return None if by_nan(run) else end_of(run.error, run)
    heads = [e for e in run.events if e.kind is Happened.NOT_LOADED and HEAD in e.text]
    if heads and TRAINED & run.series.keys():
        return _random_head(run, heads[-1])
    score = reward_episode if reward_episode is not None else training_score
    for event in (
        *([emptied] if emptied else ()),
        *sorted(run.events, key=lambda e: e.kind is not Happened.NOT_LOADED),
    ):
        if event.step is None or score is None or event.kind in (Happened.ERROR, Happened.REFUSED):
            continue
        size = min_size / 2 if _returned(event, kl_ref, around) else min_size
        if (found := _fell(event, score.finite, min_fall, size, around)) is not None:
            return found
    return None


def _emptied(size: Series) -> Event | None:
    """The step after which a replay buffer, which only grows up to its capacity, begins anew."""
    shrinks = np.flatnonzero(np.diff(size.values) < 0)
    if len(shrinks) != 1 or (after := size.values[shrinks[0] + 1]) > 0.5 * (before := size.values[shrinks[0]]):
        return None
    text = f"the replay buffer holds {number(float(after))} transitions, and held {number(float(before))}"
    return Event(kind=Happened.RESUMED, text=text, step=float(size.steps[shrinks[0]]), source=size.source or "the log")


def _emptied_again(run: Run, size: Series) -> Finding | None:
    """The finding that a replay buffer begins anew at several restarts: it is not saved with the weights."""
    falls = np.flatnonzero(size.values[1:] < 0.5 * size.values[:-1])
    restarts = sum(e.kind is Happened.RESUMED for e in run.events)
    if len(falls) < 2 or restarts < len(falls):
        return None
    first = int(falls[0]) + 1
    return warning(
        "after {n} restarts the replay buffer begins anew (it held {before} transitions, and {after} after the first): it is not "
        "saved with the weights, and the policy is trained on a few of its own last episodes; save the buffer with the weights, "
        "and load both",
        seen_since(size, "size of the replay buffer", *from_point(size, first)),
        n=f"{len(falls)}",
        before=number(float(size.values[first - 1])),
        after=number(float(size.values[first])),
    )


def _random_head(run: Run, event: Event) -> Finding:
    first = run.first_step
    return critical(
        '{source} says "{line}": that part of the reward model is random, and its reward says nothing of an answer; '
        "compare the names of the checkpoint's weights with those of the model",
        seen_as(onset=first, drawn=(Evidence(text=f"{event.source}: {event.text}", series=None),)),
        source=event.source,
        line=event.text,
    )


def _parts(event: Event, curve: Series, around: int) -> tuple[Series, Series] | None:
    """The curve before and after the line, None where one of them is short."""
    assert event.step is not None
    parts = curve.between(-np.inf, event.step), curve.between(np.nextafter(event.step, np.inf))
    return None if min(map(len, parts)) < around else parts


def _returned(event: Event, kl_ref: Series | None, around: int) -> bool:
    """Whether the policy is that much nearer to the reference after the line."""
    parts = None if kl_ref is None else _parts(event, kl_ref.finite, around)
    return parts is not None and median(parts[1].values[:around]) < RETURNED * median(parts[0].values[-around:])


def _fell(event: Event, score: Series, min_fall: float, min_size: float, around: int) -> Finding | None:
    """The finding that the score falls at once at the step of the line."""
    if (parts := _parts(event, score, around)) is None:
        return None
    before, after = parts
    level, then = median(before.values[-around:]), median(after.values[:around])
    error = noise_scale(before.values) * (2 / around) ** 0.5
    if level - then < max(min_fall * float(np.ptp(before.values)), min_size * error) or level == then:
        return None
    first = float(after.steps[0])
    return warning(
        'the training reward falls from {before} to {after} where {source} says "{line}"; find what was not restored or not '
        "scored there",
        seen_since(score, "training reward", first, (float(before.steps[-1]), first)),
        before=facts.median(before.tail(around / len(before))),
        after=facts.median(after.head(around / len(after))),
        source=event.source,
        line=event.text,
        sudden=True,
    )
