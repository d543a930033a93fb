"""The target network is not the network of some updates ago.

Looks for: The norm of the weights of the target network, where it is one number in each row and that of the network is
not. Or the mean value of the target network: it stays at its first level while that of the network leaves it, or is next
to nothing beside it.
Why: Targets are then a reward and what a network made at random says of the next state: values see one reward, and the
loss is small, because it is easily met.
False alarm: A target that is logged of other states than the value, as those at the start of an episode.
Fix:
- Compare a weight of both networks before and after an update of the target: it must change, to that of the network.
- Check that the copy goes from the network into its target, and not into a copy of its parameters.
Experiment: Copy the network by hand every 500 updates, for a tenth of the run: values must rise above one reward.
References: https://www.nature.com/articles/nature14236
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import seen_in, warning
from firstbreak.engine.families import Method, only
from firstbreak.engine.stats.points import median
from firstbreak.model import Finding, NotMeasured, Role, Run, Series
from firstbreak.patterns import pattern

FAMILIES = only(Method.VALUE_BASED)
ROLES = (Role.RELATION,)
WEIGHTS = pattern(
    r"(?:.*[/._ |])?(?:abs_|\|)*(?:w|theta|weights?|params?|q?net)(?:[_ ]?norm)?(?:[_ (]?(?:tgt|targ\w*)\)?)?(?:[_ ]?norm)?\|*",
    re.IGNORECASE,
)
TARGET = pattern(r"tgt|targ|frozen|lagged|slow|boot", re.IGNORECASE)
OF_LOSS = pattern(r"td|backup|bellman|return|^y", re.IGNORECASE)  #: targets of a loss, which hold the reward
ROWS = 20  #: (convention)
STILL, LEAST = (
    0.1,
    0.2,
)  #: of the way that the values go; and of their last level, which that way has to be (convention)


def detect(
    run: Run, value_mean: Series | None = None, value_target_mean: Series | None = None
) -> Finding | NotMeasured | None:
    if still := _weights_still(run):
        return still
    if value_mean is None or value_target_mean is None:
        return NotMeasured("neither the values of network and target network nor the norms of their weights are logged")
    return _left_behind(value_mean.finite, value_target_mean.finite)


def _weights_still(run: Run) -> Finding | None:
    """The norm of the target network's weights is one number, and that of the network's weights is not."""
    norms = {name: s.finite for name, s in run.unknown.items() if WEIGHTS.fullmatch(name) and len(s.finite) >= ROWS}
    norms |= {
        s.raw: s.finite for s in (run.series.get("policy.weight_norm"),) if s is not None and len(s.finite) >= ROWS
    }
    target = next((s for name, s in norms.items() if TARGET.search(name) and np.ptp(s.values) == 0), None)
    own = next((s for name, s in norms.items() if not TARGET.search(name) and np.ptp(s.values) > 0), None)
    if target is None or own is None:
        return None
    return warning(
        "the weights of the target network have the norm {norm} in each of {n} rows, while those of the network go from {first} "
        "to {last}: the target network is never copied; check from which weights, and into which, it is copied",
        seen_in(target, "norm of the weights of the target network", beside={"of the network": own}),
        norm=facts.first(target),
        n=facts.count(target),
        first=facts.first(own),
        last=facts.last(own),
    )


def _left_behind(values: Series, targets: Series) -> Finding | None:
    """The mean value of the target network stays where it began, and that of the network leaves it."""
    if min(len(values), len(targets)) < ROWS or not TARGET.search(targets.raw) or OF_LOSS.search(targets.raw):
        return None
    far = median(np.abs(targets.tail(0.9).values)) < STILL * median(np.abs(values.tail(0.9).values))
    began, now, first, last = (median(part.values) for s in (values, targets) for part in (s.head(0.1), s.tail(0.25)))
    moved = abs(now - began)
    stays = abs(last - first) <= STILL * moved and abs(now - last) >= abs(began - first) + moved / 2
    if not far and (moved < LEAST * abs(now) or not stays):
        return None
    return warning(
        "the mean value of the target network stays at {target}, while that of the network goes from {began} to {now}: its "
        "weights may never be copied; compare both networks after an update of the target",
        seen_in(targets, "mean value of the target network", beside={"of the network": values}),
        target=facts.median(targets),
        began=facts.median(values.head(0.1)),
        now=facts.median(values.tail(0.25)),
    )
