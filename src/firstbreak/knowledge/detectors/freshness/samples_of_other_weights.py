"""The samples come from other weights than those that learn.

Looks for: For tokens drawn from the policy, the mean of -log p(token) - H is 0. The recorder reports where it was 0 in
the first batch, and is more than `above` standard errors above 0 over the later ones.

Without the recorder:

- the divergence from the reference: its mean over the policy's own samples is never below 0. The check reports a mean of
  the second half that is `sure` standard errors, and at least `below`, below 0;
- the version of the weights that sample: the check reports one that stays the same over `min_updates` updates or more up to the
  end, while gradients are computed, and an age of the data that grows by as much in each row: that of weights which stand still;
- lines of text: the engine's server answers `min_refused` or more of the calls that send it weights with an error, and none
  after that with success.
Why: The completions or episodes come from weights that the updates do not reach.
False alarm: Data that is old on purpose, and corrected for. Groups that are chosen by their rewards (dynamic sampling):
what is left out was more probable. A sampler that never draws some tokens (a least length, top-p): its samples are not
the policy's either, but the weights are.
Fix:
- Check that the weights are sent to the engine after every update, and that the engine uses them.
Experiment: Compare a hash of the weights of trainer and engine after each update.
References: https://arxiv.org/abs/2505.24298 https://huggingface.co/docs/trl/main/en/ppo_trainer
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import Seen, at, critical, from_point, seen_as, seen_since
from firstbreak.engine.families import Method
from firstbreak.knowledge.detectors._proof import summed
from firstbreak.model import (
    Config,
    Event,
    Evidence,
    Finding,
    Happened,
    NotApplicable,
    NotMeasured,
    Role,
    Run,
    Series,
)  # fmt: skip
from firstbreak.words import number

ROLES = (Role.RELATION, Role.PROOF)
ACCEPTS = "rollout.should_accept_fn"  #: AReaL's filter of groups: a function, no option that can be set
FIRST = 3.5  #: standard errors: more in the first batch is no matter of old weights (convention)


def detect(
    config: Config,
    proof_sampling_z: Series | None = None,
    proof_sampling_gap: Series | None = None,
    kl_ref: Series | None = None,
    kl_ref_seq_sum: Series | None = None,
    policy_version_mean: Series | None = None,
    grad_norm: Series | None = None,
    staleness_mean: Series | None = None,
    method: Method | None = None,
    run: Run | None = None,
    *,
    above: float = at(6.0, "standard errors", "Six standard errors are one in a billion."),
    sure: float = at(4.0, "standard errors", "Batches repeat prompts, so that their errors are not independent."),
    below: float = at(0.01, "nats", "Rounding in half precision makes a mean of less."),
    min_refused: int = at(3, "lines", "A server that starts refuses once or twice."),
    min_updates: int = at(15, "points", "A version that is sent every few updates has risen by then."),
) -> Finding | NotApplicable | NotMeasured | None:
    refused = [event for event in run.events if event.kind is Happened.REFUSED] if run is not None else []
    if run is not None and len(refused) >= min_refused:
        return _refused(run, refused)
    if config.get("dynamic_sampling") or config.raw.get(ACCEPTS):
        return NotApplicable("groups are chosen by their rewards, and completions of those left out were more probable")
    if proof_sampling_z is not None:
        points = proof_sampling_z.finite
        if not len(points) or points.values[0] > FIRST:
            return None
        return summed(points, proof_sampling_gap, above)
    divergences = [s.finite for s in (kl_ref_seq_sum, kl_ref) if s is not None and len(s.finite) >= min_updates]
    version = None if policy_version_mean is None else policy_version_mean.finite
    learning = grad_norm is not None and bool((grad_norm.finite.values > 0).any())
    age = (
        None if staleness_mean is None or method is Method.VALUE_BASED else staleness_mean.finite
    )  # of a buffer that fills
    age = age if age is not None and len(age) > min_updates else None
    if age is None and not divergences and (version is None or len(version) < min_updates or not learning):
        return NotMeasured("neither a divergence from the reference nor the version of the sampling weights is logged")
    if version is not None and learning and (first := _still(version.values, min_updates)) is not None:
        return _not_sent(version, first)
    first = None if age is None else _still(np.diff(age.values), min_updates)
    if age is not None and first is not None and float(age.values[-1]) > float(age.values[first]):
        return _aging(age, first)
    if (negative := next((found for kl in divergences if (found := _negative(kl, sure, below))), None)) is not None:
        return negative
    if age is None and (version is None or len(version) < min_updates):  # old weights need not make it negative
        return NotMeasured("the version of the sampling weights is not logged")
    return None


def _still(values: np.ndarray, least: int) -> int | None:
    """The index from which on, to the end, the values stay the same: for so many points, and longer than ever before."""
    levels = np.abs(np.diff(values)) > np.minimum(0.05, 0.01 * np.abs(values[1:]))  # rounding is no change
    moved = np.r_[0, np.flatnonzero(levels) + 1]
    longest = int(np.diff(moved).max(initial=0))
    return int(moved[-1]) if len(values) - moved[-1] >= max(least, 3 * longest) else None


def _refused(run: Run, events: list[Event]) -> Finding:
    first = events[0].step if events[0].step is not None else run.first_step  # other files count other rows
    return critical(
        '{source} says {n} times "{line}": the updates do not reach the weights that sample; send the weights by a '
        "route that the server has, and end the run where it refuses them",
        seen_as(onset=first, drawn=(Evidence(text=f"{events[0].source}: {events[0].text}", series=None),)),
        source=events[0].source,
        n=str(len(events)),
        line=events[0].text,
    )


def _not_sent(version: Series, first: int) -> Finding:
    since = version.between(float(version.steps[first]))
    return critical(
        "the weights that sample have version {version} in all {n} updates{since}: the updates do not reach them; check that "
        "the weights are sent to the sampler",
        seen_since(version, "version of the weights that sample", *from_point(version, first)),
        version=facts.last(version),
        n=facts.count(since),
        since=facts.tell(" from {step} on", step=facts.at(version, float(since.steps[0]))) if first else "",
    )


def _aging(age: Series, first: int) -> Finding:
    return critical(
        "the age of the data grows by {by} in each row from {since} on, to {last}: the weights that sample stand still while "
        "the learner goes on; check that the weights are sent to the sampler",
        seen_since(age, "age of the data", *from_point(age, first)),
        by=number(float(np.median(np.diff(age.values[first:])))),
        since=facts.at(age, float(age.steps[first])),
        last=facts.last(age),
    )


def _negative(kl: Series, sure: float, below: float) -> Finding | None:
    late = kl.tail(0.5)
    mean, error = float(late.values.mean()), float(late.values.std(ddof=1)) / len(late) ** 0.5
    if mean > -below or mean > -sure * error:
        return None
    since = float(kl.steps[np.flatnonzero(kl.values >= 0)[-1]]) if kl.values[0] >= 0 else None
    first = float(kl.steps[np.argmax(kl.values < 0)])
    return critical(
        "the divergence from the reference is {mean} over the second half, and over the policy's own samples it cannot be "
        "below 0: the samples come from other weights, or from a sampler that changes the probabilities; compare the "
        "log-probabilities of the trainer and the sampler",
        Seen(
            metric=kl.name,
            onset=first,
            interval=None if since is None else (float(kl.steps[0]), max(first, since)),
            evidence=(Evidence(text="divergence from the reference", series=kl, since=first, level=0.0),),
        ),
        mean=facts.mean(late),
        numbers={"mean": mean, "either": True},
    )
