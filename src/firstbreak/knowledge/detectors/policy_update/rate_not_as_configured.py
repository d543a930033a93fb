"""The learning rate is not the configured one.

Looks for: The recorder logs the rate in force as a share of the configured one. The check reports where it never passed
`above` in ten updates or more, or stays at one value below `reached`. Without the recorder, it compares the logged
rates with the configured one, and reports where the highest of them is less than `reached` of it, or where it is in
force beyond 1 / `reached` of it. And it reports a rate that rises from near 0 to the end of the run where the
configuration names a schedule that decays, and no warm-up.
Why: Nothing is learned although everything else is right, or updates are larger than was meant.
False alarm: A long warm-up at the start of a much longer run. A rate that is scaled with the number of devices. One
that follows the divergence goes up and down, and is not reported.
Fix:
- Compare the warm-up with the number of updates of the run, not of the data set.
- Print the rate of each group of the optimizer's parameters at the first update.
Experiment: Train ten updates with a constant rate.
References: https://github.com/huggingface/trl
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in, warning
from firstbreak.engine.stats.changes import adapted, rounded_away
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.model import Config, Finding, NotMeasured, Role, Series
from firstbreak.patterns import pattern
from firstbreak.words import number

ROLES = (Role.RELATION, Role.PROOF)
MIN_POINTS = 10  #: updates (convention)
STEADY = 1.1  #: highest over lowest rate: one that warms up or decays changes by more in ten updates (convention)


DECAYS = pattern(r"\b(?:lin|cos|poly|exp|decay|anneal)", re.IGNORECASE)


def detect(
    config: Config,
    proof_rate_reached: Series | None = None,
    lr: Series | None = None,
    *,
    above: float = at(0.02, "share", "A warm-up of a sound run passes it within a few updates."),
    reached: float = at(0.5, "share", "The rate that was chosen is in force at some time, or nearly."),
) -> Finding | NotMeasured | None:
    if proof_rate_reached is not None:
        shares = proof_rate_reached.finite
        highest = float(shares.values.max(initial=0.0))
        steady = highest <= STEADY * float(shares.values.min(initial=np.inf)) and highest < reached
        if len(shares) < MIN_POINTS or (highest > above and not steady):
            return None
        remedy = "find what sets it" if steady else "shorten the warm-up"
        what = f"the learning rate is {{value}} of the configured one: {remedy}"
        return proved(shares, config, what, below=reached if steady else above)
    if lr is not None and len(lr.finite) >= MIN_POINTS and (turned := _turned(config, lr.finite)) is not None:
        return turned
    configured = config.number("learning_rate")
    if lr is None or len(lr.finite) < MIN_POINTS or not configured or "learning_rate" in config.defaulted:
        return NotMeasured("the learning rate is not logged, or not configured")
    rates = lr.finite
    share = float(rates.values.max()) / configured
    later = share > 1 and rates.values[0] <= configured / reached  # `learning-rate-jump` tells of a rate that grows
    if later or reached <= share <= 1 / reached or share <= 0 or rounded_away(rates.values) or adapted(rates):
        return None
    first, warmup = float(rates.steps[0]), config.number("warmup_steps")
    steps = f" of {number(warmup)} steps" if warmup else ""
    why = f"shorten the warm-up{steps}, or find what changes the rate" if share < 1 else "find what sets it"
    return warning(
        "the learning rate is {highest} at its highest, and configured as {configured}: {why}",
        seen_in(rates, "learning rate", first, level=configured),
        highest=facts.highest(rates),
        configured=number(configured),
        why=why,
        numbers={"share": share},
    )


def _turned(config: Config, rates: Series) -> Finding | None:
    """A schedule that was given the share of the run that is done, in place of the share that remains."""
    rate, values = config.get("learning_rate"), rates.values
    schedule = rate if isinstance(rate, str) else config.get("lr_schedule")
    warm = config.get("warmup_steps") or any("warm" in name.lower() and value for name, value in config.raw.items())
    if not isinstance(schedule, str) or not DECAYS.search(schedule) or warm or "warm" in schedule:
        return None
    middle = float(values[len(values) // 2])
    if (np.diff(values) < 0).any() or values[0] > 0.2 * values[-1] or middle > 0.75 * values[-1]:
        return None
    return warning(
        "the learning rate rises from {first} to {last}, the end of the log, and its schedule is {schedule}: a schedule is "
        "given the progress that remains, from 1 to 0",
        seen_in(rates, "learning rate", float(rates.steps[0])),
        first=facts.first(rates),
        last=facts.last(rates),
        schedule=schedule,
        numbers={"share": float(values[-1] / values[0]) if values[0] else 0.0},
    )
