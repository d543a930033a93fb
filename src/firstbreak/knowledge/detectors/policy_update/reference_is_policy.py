"""Policy and reference share their weights.

Looks for: The recorder compares where the weights lie in memory. The check reports where more than `above` of the
trainable parameters are the reference's as well. In the log: a divergence from the reference that was above `left` and
is 0 again, or a thousandth of it, after which it grows anew; or held-out answers whose log-probability moves while
their reward, beta times the distance from the reference, does not. Or both give every token of fresh batches the same
probability, while the policy leaves the reference within its updates.
Why: The divergence is always 0: nothing holds the policy near its start.
False alarm: A reference that is set to the policy in every update on purpose. A policy that does not move at all:
`no-update` says so.
Fix:
- Make the reference a copy: `copy.deepcopy(model)`, or load it a second time.
Experiment: Log the divergence after ten updates: it must not be 0.
References: https://arxiv.org/abs/2305.18290
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, from_point, seen_in, seen_since, warning
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.points import median
from firstbreak.knowledge.detectors._proof import proved
from firstbreak.knowledge.detectors._updates import without_effect
from firstbreak.model import Config, Finding, NotMeasured, Role, Run, Series
from firstbreak.words import number

ROLES = (Role.RELATION, Role.PROOF)
MIN_POINTS = 3  #: later batches (convention)
STEADY = 6  #: values before and after a return to 0 (convention)
MOVED = 1e-3  #: nats: no rounding of a log
FAR = 1.0  #: nats of a whole answer (convention)
FOLLOWED = 0.05  #: of the distance that the policy went: what the rewards show of it (convention)
SAME = 1e-9  #: nats: two passes of one model in one precision


def detect(
    config: Config,
    proof_reference_shared: Series | None = None,
    proof_reference_gap: Series | None = None,
    kl_ref: Series | None = None,
    pref_reward_chosen: Series | None = None,
    pref_reward_rejected: Series | None = None,
    pref_logp_chosen: Series | None = None,
    grad_norm: Series | None = None,
    lr: Series | None = None,
    run: Run | None = None,
    *,
    left: float = at(0.01, "nats", "A policy that was so far from its reference does not come back to it by training."),
    above: float = at(0.5, "share", "Models may share an embedding on purpose."),
) -> Finding | NotMeasured | None:
    if proof_reference_shared is not None:
        what = "{value:%} of the trainable weights are the reference's as well: make the reference a copy"
        return proved(proof_reference_shared, config, what, above=above)
    if run is not None and (never := _never_apart(run, config)):
        return never
    if proof_reference_gap is None and pref_reward_chosen is not None and pref_reward_rejected is not None:
        chosen = pref_reward_chosen.finite
        shows = [] if pref_logp_chosen is None else [pref_logp_chosen]
        if run is not None and without_effect(run, chosen, shows, grad_norm, lr, Policy.TEXT) is not None:
            return None  # the policy does not move either: `no-update` tells of it
        beta = config.recorded("kl_coef")
        if beta and run is not None and (follows := _follows(run, beta)):
            return follows
        return _of_pairs(chosen, pref_reward_rejected.finite, pref_logp_chosen)
    if proof_reference_gap is None and kl_ref is not None and len(kl_ref.finite) > 2 * STEADY:
        return _taken_anew(kl_ref.finite, left)
    if proof_reference_gap is None or kl_ref is None or len(proof_reference_gap.finite) <= MIN_POINTS:
        return NotMeasured("neither the memory of policy and reference nor their distance on fresh batches is recorded")
    later = proof_reference_gap.finite
    later = later.between(float(later.steps[1]))
    if later.values.max() > SAME or not (np.abs(kl_ref.finite.values) > SAME).any():
        return None
    what = (
        "policy and reference are {value} nats a token apart at the start of every update, and leave each other within it: the "
        "reference follows the policy; make the reference a copy"
    )
    return proved(later, config, what, below=2 * SAME)


def _never_apart(run: Run, config: Config) -> Finding | None:
    """A divergence from the reference of exactly 0 in all rows, which has a weight, while updates move the policy."""
    kl, old = (next((s.finite for n, s in run.series.items() if n.startswith(of)), None) for of in ("kl.ref", "kl.old"))
    if kl is None or old is None or len(kl) <= 2 * STEADY or not (config.recorded("kl_coef") or 0) > 0:
        return None
    if kl.values.any() or median(np.abs(old.values)) < SAME or float(np.abs(old.values).max()) < MOVED:
        return None
    return critical(
        "the divergence from the reference is exactly 0 in each of {n} rows, while updates move the policy by up to {moved} "
        "nats: policy and reference are one model, and its penalty does nothing; make the reference a copy of its own",
        seen_in(kl, "divergence from the reference", beside={"divergence from the old policy": old}),
        n=facts.count(kl),
        moved=facts.highest(old),
    )


def _returns(values: np.ndarray, i: int, left: float) -> bool:
    """Whether a steady level drops at once to less than a thousandth, and grows anew from there."""
    before, after = values[i - STEADY : i], values[i + 1 : i + 1 + STEADY]
    level = median(before)
    steady = level > left and float(before.min()) > 0.5 * level
    return steady and 1000 * values[i] < level and median(after) < level and float(values[i + 1 :].max()) > SAME


def _taken_anew(kl: Series, left: float) -> Finding | None:
    """The divergence is 0 once more: since then the reference is the policy of that step."""
    values = np.abs(kl.values)
    drops = (
        1 + np.flatnonzero(500 * values[1:] < values[:-1])
    ).tolist()  # what `_returns` asks of every point, in short
    again = [i for i in drops if STEADY <= i < len(kl) - STEADY and _returns(values, i, left)]
    if not again:
        return None
    step = float(kl.steps[again[0]])
    return warning(
        "the divergence from the reference was {before} and is 0 again at {step}{more}: the reference is taken anew from the "
        "policy, as where a run is resumed; load the reference from the start of the first run",
        seen_since(kl, "divergence from the reference", *from_point(kl, again[0]), level=0.0),
        before=facts.median(kl.between(float(kl.steps[again[0] - STEADY]), float(kl.steps[again[0] - 1]))),
        step=facts.at(kl, step),
        more=f", and {len(again) - 1} more times" if len(again) > 1 else "",
    )


def _follows(run: Run, beta: float) -> Finding | None:
    """The log-probability of held-out answers, the same each time, moved by far more than beta times their reward says."""
    for of in ("rejected", "chosen"):
        logp, paid = (run.series.get(f"eval.pref.{what}.{of}") for what in ("logp", "reward"))
        if logp is None or paid is None or min(len(logp.finite), len(paid.finite)) <= MIN_POINTS:
            continue
        went, most = float(np.ptp(logp.finite.values[[0, -1]])), float(np.abs(paid.finite.values).max())
        if went < FAR or most > FOLLOWED * beta * went:
            continue
        what = facts.tell(
            "{curve} of the same held-out answers went from {before} to {after}, and their reward, beta ({beta}) times the "
            "distance from the reference, stays within {most}: the reference follows the policy; make it a copy of the start",
            curve=logp.name,
            before=facts.first(logp.finite),
            after=facts.last(logp.finite),
            beta=facts.setting(run.config, "kl_coef"),
            most=number(most),
        )
        return critical(what, seen_in(logp, "log-probability"))
    return None


def _of_pairs(chosen: Series, rejected: Series, logp: Series | None) -> Finding | NotMeasured | None:
    """Rewards of pairs are distances from the reference: exactly 0 in all rows, while the policy moves, they have none."""
    if min(len(chosen), len(rejected)) <= MIN_POINTS or logp is None or len(logp.finite) <= MIN_POINTS:
        return NotMeasured(
            "fewer rewards of pairs, or log-probabilities, than show whether the policy leaves its reference"
        )
    if chosen.values.any() or rejected.values.any() or np.ptp(logp.finite.values) <= MOVED:
        return None
    return critical(
        "the rewards of chosen and rejected answers are 0 in all {n} rows, while their log-probability goes from {before} to "
        "{after}: the reference is the policy itself, or follows it at every step; keep a copy of the start as the reference",
        seen_in(chosen, "reward of the chosen answers", level=0.0),
        n=facts.count(chosen),
        before=facts.first(logp.finite),
        after=facts.last(logp.finite),
    )
