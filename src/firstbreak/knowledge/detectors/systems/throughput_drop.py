"""Throughput fell for good compared with the run's own past.

Looks for: A speed that changes its level for good, or sinks, wherever in the run. A speed that the trainer averages
since the start (`time/fps`, `charts/SPS`) hides most of a drop, so it is first turned back into the speed of each
stretch. If only the time of the steps (or of their phases) is logged, the speed is tokens per second, or steps per
second where no tokens are logged: for texts that are no longer than before. A log that names no time is timed by its
events, where they carry their time (TensorBoard, wandb). Where no speed is logged for `min_points` steps: one part of a
step that is logged by a name of its own (`replay 0.8 ms`), takes most of the time, and grew to `growth` times its start
while the others did not.
Why: Slow rollouts cost money in synchronous training, and make the data old in asynchronous training: the queue ages,
and the learning curves go wrong much later. What is slow is also what reaches a timeout, so the batch is biased towards
short samples.
False alarm: Longer completions or episodes are slower per step, not per token. Every method is faster before its first
update: if the log does not show when an off-policy method made it, a single drop in the first half of the run may be
that. Evaluation and saving that are part of the measured time.
Fix:
- Check the time of each phase from that step on: the phase that takes longer is the place.
- Check for another process on the machine, a worker that died, a disk or a sandbox that is full, thermal limits.
- Set a timeout for tools and environments, and start more workers.
Experiment: Restart from the last checkpoint on the same machine: if the speed returns, the machine or a leak was the
reason. If the speed does not return, the data (length, turns) of this stage are the reason.
References: https://docs.pytorch.org/tutorials/recipes/recipes/tuning_guide.html
https://stable-baselines3.readthedocs.io/en/master/common/logger.html
"""

from collections.abc import Mapping

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_since
from firstbreak.engine.families import Method
from firstbreak.engine.stats.changes import apart, changes, departed, settled
from firstbreak.engine.stats.points import distinct
from firstbreak.knowledge.detectors.systems._shares import PHASES, by_rounds, share, step_time
from firstbreak.model import Confidence, Config, Finding, NotMeasured, Run, Series, Severity
from firstbreak.values import replace
from firstbreak.words import number, percent

STRETCHES = 40
FEW, STEADY = (
    8,
    0.8,
)  #: values of one part of a step, and share of them that are higher than the one before (convention)
NOTHING = 1e-9  #: seconds, or steps per second


def detect(
    throughput_tok_s: Series | None = None,
    throughput_tok_s_gpu: Series | None = None,
    throughput_sps_instant: Series | None = None,
    throughput_gen_tok_s: Series | None = None,
    throughput_train_tok_s: Series | None = None,
    time_elapsed: Series | None = None,
    throughput_sps: Series | None = None,
    throughput_fps: Series | None = None,
    tokens_train: Series | None = None,
    time: Mapping[str, Series] | None = None,
    length_mean: Series | None = None,
    length_total_mean: Series | None = None,
    config: Config | None = None,
    method: Method | None = None,
    value_loss: Series | None = None,
    loss_total: Series | None = None,
    policy_loss: Series | None = None,
    run: Run | None = None,
    *,
    min_drop: float = at(0.3, "share of the speed", "A smaller drop may come from longer samples."),
    drop_warning: float = at(0.5, "share of the speed", "The run takes twice as long from there on."),
    drop_sure: float = at(0.67, "share of the speed", "Steps take three times as long, even if little by little."),
    drop_critical: float = at(0.75, "share of the speed", "Four times as long: no healthy run.", "population"),
    min_times: float = at(2.0, "ratio", "Steps that take twice as long, for whatever reason."),
    min_cost: float = at(1.25, "ratio", "Of the time for one token: longer completions alone do not explain the rest."),
    max_p_value: float = at(0.01, "probability", "A break that is less probable by chance is certain."),
    growth: float = at(5.0, "ratio", "Of one part of a step, and of no other: the work grows with the run."),
    min_points: int = at(20, "points", "Fewer speeds show no drop."),
) -> Finding | NotMeasured | None:
    instant = (
        throughput_tok_s,
        throughput_tok_s_gpu,
        throughput_sps_instant,
        throughput_gen_tok_s,
        throughput_train_tok_s,
    )
    clocks = [s.finite for s in (time_elapsed,) if s is not None]
    clocks += [_clock(s.finite) for s in (throughput_sps, throughput_fps) if s is not None]
    warmup = config.number("learning_starts") if config is not None else None
    clocks = [clock.between(warmup) if warmup else clock for clock in clocks]
    clocks.sort(key=lambda clock: -len(distinct(clock.values)))  # whole seconds hide what a short run does
    speeds = [
        *(s.finite for s in instant if s is not None),
        *(_per_token(_speed(clock), length_mean) for clock in clocks),
    ]
    if (seconds := step_time(time)) is not None:
        made = next((s for s in (tokens_train, length_mean, length_total_mean) if s is not None), None)
        if made is not None:
            speeds.append(replace(share(made, seconds), name="throughput.tok_s"))
        else:
            rounds = by_rounds(seconds)
            speeds.append(replace(rounds, name="throughput.steps_s", values=1 / rounds.values))
    speed = next((s for s in speeds if len(s) >= min_points), None)
    if speed is None:
        if run is not None and (part := _growing_part(run, growth)) is not None:
            return part
        return NotMeasured(f"no speed is logged for {min_points} steps")
    if len(speed) and settled(speed) > (1 - min_drop) * float(speed.values.max()):
        # no level before it can be so much higher: the changes of the curve need not be looked for
        return _longer_steps(seconds, speed, min_times, min_cost)
    slower = (
        c for c in changes(speed, kinds=("level", "slope", "zero"), log=True, families=("constant",)) if c.direction < 0
    )
    cut = apart(speed, log=True)  # no correlation excuses a speed that is lower ever after
    lasting = [c for c in slower if c.lasting] + ([cut] if cut is not None and cut.direction < 0 else [])
    at_once = max(lasting, key=lambda c: settled(speed, c.step), default=None)  # that from the highest speed
    began = at_once or departed(speed, log=True)
    if began is None:
        return _longer_steps(seconds, speed, min_times, min_cost)
    before, now = settled(speed, began.step), settled(speed)
    if now > (1 - min_drop) * before or not _longer(seconds, began.step, min_drop):
        return _longer_steps(seconds, speed, min_times, min_cost)
    learned = [s.finite for s in (value_loss, loss_total, policy_loss) if s is not None and len(s.finite)]
    first = min(
        (float(s.steps[0]) for s in learned), default=np.inf if method in (Method.VALUE_BASED, None) else -np.inf
    )
    low, high = began.interval
    its = first >= low and (began.kind == "level" or first <= high)
    later = speed.between(began.step)
    its &= now > (1 - drop_warning) * float(
        np.median(later.head(1 / 3).values)
    )  # it goes on to sink after the first update
    if its and began.step < (speed.steps[0] + speed.steps[-1]) / 2:
        return NotMeasured(
            f"{speed.name} fell at {facts.at(speed, began.step)}, and no update is logged before it: a run becomes "
            "slower at its first update"
        )
    lost = 1 - now / before
    # a machine that others use becomes somewhat slower little by little as well, and again faster
    doubtful = at_once is None and lost < drop_sure
    long = not doubtful and began.p < max_p_value and lost >= drop_warning
    return Finding(
        message=facts.tell(
            "{speed} fell by {lost}, from {before} to {now}, at {step}: the rest takes {times} times as long; check which phase "
            "of the step takes longer from there on",
            speed=speed.name,
            lost=percent(lost),
            before=number(before),
            now=number(now),
            step=f"{facts.at(speed, began.step)}",
            times=number(float(f"{before / now:.2g}")) if now > 0 else "ever more",
        ),
        severity=Severity.CRITICAL
        if long and lost >= drop_critical
        else Severity.NOTICE
        if lost < drop_warning
        # of episodes whose time nobody took, on a machine that others use
        and (doubtful or (speed.name == "throughput.sps" and seconds is None))
        else Severity.WARNING,
        confidence=Confidence.LOW if doubtful else Confidence.HIGH if long else Confidence.MEDIUM,
        **seen_since(speed, f"{number(before)} before, {number(now)} now", began.step, began.interval, level=before),
        numbers={"lost": lost},
    )


def _growing_part(run: Run, growth: float) -> Finding | None:
    """One part of a step that takes ever longer, while the others do not: what it does grows with what is stored."""
    known = {name: s for name, s in run.series.items() if name.removeprefix("time.") in PHASES}
    parts = {n: s.finite for n, s in {**run.unknown, **known}.items() if n in known or n.startswith("time_of_")}
    parts = {n: s for n, s in parts.items() if len(s) >= FEW and (s.values > 0).all()}
    grown = {n: settled(s) / float(s.values[0]) for n, s in parts.items()}
    if len(parts) < 2:
        return None
    name = max(grown, key=lambda n: grown[n])
    part, others = parts[name], [n for n in parts if n != name]
    rising = float(np.mean(np.diff(part.values) > 0)) >= STEADY
    most = settled(part) > sum(settled(parts[n]) for n in others)
    if name in known or not (rising and most) or grown[name] < growth * max(1.0, *(grown[n] for n in others)):
        return None
    doubled = float(part.steps[np.argmax(part.values > 2 * part.values[0])])
    return Finding(
        message=facts.tell(
            "{part} grew from {first} to {last} s, and the other parts of a step did not: what it does grows with what is "
            "stored; look for a copy or a search of all of it in each step",
            part=name,
            first=facts.first(part),
            last=facts.last(part),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        **seen_since(part, "time of one part of a step", doubled, (float(part.steps[0]), doubled)),
        numbers={"times": grown[name]},
    )


def _longer_steps(seconds: Series | None, speed: Series, min_times: float, min_cost: float) -> Finding | None:
    """Steps that take far longer, partly because texts grew, and partly because each token takes longer."""
    grown = None if seconds is None else departed(seconds, log=True)
    if seconds is None or grown is None or grown.ratio < min_times:
        return None
    cost = settled(speed, grown.step) / settled(speed)
    if cost < min_cost:
        return None
    return Finding(
        message=facts.tell(
            "a step takes {times} times as long as before {step}, and each token {cost} times as long: longer texts do not "
            "explain it alone; check which phase of the step grows",
            times=number(grown.ratio),
            step=facts.at(seconds, grown.step),
            cost=number(cost),
        ),
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        **seen_since(seconds, "time of a step", grown.step, grown.interval, level=grown.before),
        numbers={"times": grown.ratio, "cost": cost},
    )


def _per_token(speed: Series, length: Series | None) -> Series:
    """Steps per second, times the mean length of a completion where one is logged: longer completions are no loss of speed."""
    if length is None or not len(length.finite):
        return speed
    tokens = length.finite
    return replace(speed, values=speed.values * np.interp(speed.steps, tokens.steps, tokens.values))


def _longer(seconds: Series | None, since: float, min_drop: float) -> bool:
    """Whether steps take longer as well, where their time is logged: fewer tokens in the same time are shorter texts."""
    return seconds is None or not settled(seconds) * (1 - min_drop) < settled(seconds, since)


def _clock(average: Series) -> Series:
    """The time so far at each point: the steps over their speed since the start."""
    usable = (average.values > NOTHING) & (average.steps > 0)
    steps = average.steps[usable]
    return replace(average, steps=steps, values=steps / average.values[usable])


def _speed(clock: Series) -> Series:
    """The speed in each of `STRETCHES` equal stretches of the log, in steps per second.

    What comes before the first point is left out: compilation, and the random acting of off-policy methods.
    """
    edges = distinct(np.linspace(0, max(len(clock) - 1, 0), STRETCHES + 1).astype(int))[: len(clock)]
    length, duration = np.diff(clock.steps[edges]), np.diff(clock.values[edges])
    usable = (length > 0) & (duration > NOTHING)  # a restart sets the clock back
    return replace(
        clock, name="throughput.sps", steps=clock.steps[edges[:-1]][usable], values=length[usable] / duration[usable]
    )
