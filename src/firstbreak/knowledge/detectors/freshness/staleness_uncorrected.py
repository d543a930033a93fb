"""Old data are used by plan, and nothing corrects for their age.

Looks for: A recorded limit on the age of the data ({max_staleness}) of `min_age` versions or more, with a loss that
treats the data as fresh: the proximal policy is not decoupled from the policy that made the data, or its weights have
no cap. Where ages are logged, or the versions of the data and of the weights in training, the data have to be as old.
Why: Data that are a few versions old were made by another policy. Without a weight for this difference, the update
follows what was good for the old policy. With a weight that has no bound, a few tokens that have become much more
probable decide the batch.
False alarm: The age limit is never reached, because generation is fast enough: the logged age then stays near 0, and
this is not reported.
Fix:
- Decouple the loss ({use_decoupled_loss}) and cap the weights ({behave_weight_cap}, 5 is usual).
- Or set {max_staleness} to 0 or 1.
Experiment: {max_staleness} = 0 for a tenth of the run from the same checkpoint: if the score rises faster, the age of
the data was the reason.
References: https://arxiv.org/abs/2505.24298
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_as, warning
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Evidence, Finding, NotApplicable, NotMeasured, Series


def detect(
    config: Config,
    staleness_max: Series | None = None,
    data_age: Series | None = None,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    *,
    min_age: float = at(2.0, "versions", "Data that are one version old need no correction."),
    max_cap: float = at(20.0, "ratio", "A cap above this does not bound anything."),
) -> Finding | NotApplicable | NotMeasured | None:
    limit = config.number("max_staleness")
    if limit is None:
        return NotMeasured("how old data may be is not recorded")
    if limit < min_age:
        return NotApplicable(f"data may be {limit:g} versions old at most")
    decoupled = config.get("use_decoupled_loss")
    if decoupled is None:
        return NotMeasured("whether the loss is decoupled is not recorded")
    cap = config.number("behave_weight_cap")
    if decoupled and cap is not None and cap <= max_cap:
        return None
    ages = next((s.finite for s in (staleness_max, data_age) if s is not None and len(s.finite)), None)
    if ages is not None and median(ages.tail(0.5).values) < min_age:
        return None
    since = first_sustained(ages, lambda values: values >= min_age) if ages is not None else None
    learned = solved or (
        trajectory is not None and trajectory.learned and not trajectory.lost
    )  # a setting that did no harm
    what = "the weights of old data have no cap" if decoupled else "the loss treats old data as fresh"
    return warning(
        "data may be {limit} versions old and {what}; decouple the loss and cap its weights at 5, or train 20 steps on "
        "fresh data and compare",
        seen_as(
            None if ages is None else ages.name,
            since,
            drawn=(Evidence(text="age of the data", series=ages, level=limit),) if ages is not None else (),
        ),
        limit=facts.setting(config, "max_staleness"),
        what=what,
        confidence=Confidence.MEDIUM if decoupled or learned else Confidence.HIGH,
        numbers={"limit": limit, "decoupled": bool(decoupled)},
    )
