"""The samples come from other weights than those that learn.

## What it looks for
For tokens drawn from the policy, the mean of -log p(token) - H is 0. The recorder reports where it was 0 in the first
batch, and is more than `above` standard errors above 0 over the later ones.

Without the recorder:

- the divergence from the reference: its mean over the policy's own samples is never below 0. The check reports a mean of
  the second half that is `sure` standard errors, and at least `below`, below 0;
- the version of the weights that sample: the check reports one that stays the same over `min_updates` updates or more,
  while gradients are computed;
- lines of text: the engine's server answers `min_refused` or more of the calls that send it weights with an error, and none
  after that with success.

## Why it matters
The completions or episodes come from weights that the updates do not reach.

## When it is a false alarm
Data that is old on purpose, and corrected for. Groups that are chosen by their rewards (dynamic sampling): what is
left out was more probable. A sampler that never draws some tokens (a least length, top-p): its samples are not the policy's
either, but the weights are.

## Fix
- Check that the weights are sent to the engine after every update, and that the engine uses them.

## Smallest experiment
Compare a hash of the weights of trainer and engine after each update.

## References
https://arxiv.org/abs/2505.24298
https://huggingface.co/docs/trl/main/en/ppo_trainer
"""

from __future__ import annotations

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, seen_in
from firstbreak.knowledge.detectors._proof import summed
from firstbreak.model import (
    Confidence,
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
    Severity,
)  # fmt: skip

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
    if not divergences and (version is None or len(version) < min_updates or not learning):
        return NotMeasured("neither a divergence from the reference nor the version of the sampling weights is logged")
    if version is not None and len(version) >= min_updates and learning and not np.ptp(version.values):
        return _never_sent(version)
    if (negative := next((found for kl in divergences if (found := _negative(kl, sure, below))), None)) is not None:
        return negative
    if version is None or len(version) < min_updates:  # old weights need not make it negative
        return NotMeasured("the version of the sampling weights is not logged")
    return None


def _refused(run: Run, events: list[Event]) -> Finding:
    first = events[0].step if events[0].step is not None else run.first_step  # other files count other rows
    return Finding(
        message=facts.tell(
            '{source} says {n} times "{line}": the updates do not reach the weights that sample; send the weights by a '
            "route that the server has, and end the run where it refuses them",
            source=events[0].source,
            n=str(len(events)),
            line=events[0].text,
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        onset=first,
        interval=None if first is None else (first, first),
        evidence=(Evidence(text=f"{events[0].source}: {events[0].text}", series=None),),
    )


def _never_sent(version: Series) -> Finding:
    first = float(version.steps[0])
    return Finding(
        message=facts.tell(
            "the weights that sample have version {version} in all {n} updates: the updates do not reach them; check that the "
            "weights are sent to the sampler",
            version=facts.last(version),
            n=facts.count(version),
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        **seen_in(version, "version of the weights that sample", first, (first, float(version.steps[1]))),
    )


def _negative(kl: Series, sure: float, below: float) -> Finding | None:
    late = kl.tail(0.5)
    mean, error = float(late.values.mean()), float(late.values.std(ddof=1)) / len(late) ** 0.5
    if mean > -below or mean > -sure * error:
        return None
    since = float(kl.steps[np.flatnonzero(kl.values >= 0)[-1]]) if kl.values[0] >= 0 else None
    first = float(kl.steps[np.argmax(kl.values < 0)])
    return Finding(
        message=facts.tell(
            "the divergence from the reference is {mean} over the second half, and over the policy's own samples it cannot be "
            "below 0: the samples come from other weights, or from a sampler that changes the probabilities; compare the "
            "log-probabilities of the trainer and the sampler",
            mean=facts.mean(late),
        ),
        severity=Severity.CRITICAL,
        confidence=Confidence.HIGH,
        metric=kl.name,
        onset=first,
        interval=None if since is None else (float(kl.steps[0]), max(first, since)),
        evidence=(Evidence(text="divergence from the reference", series=kl, since=first, level=0.0),),
        numbers={"mean": mean},
    )
