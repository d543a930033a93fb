"""Sampled tokens have log-probabilities that no sampler would ever draw.

Looks for: The smallest log-probability of the batch, over the second half of the run, compared with what sampling can
produce; and the mean log-probability, compared with that of a uniform choice from a large vocabulary and with the
entropy: on average a policy's own samples have minus its entropy. Also the largest difference between the
log-probabilities of the inference engine and the trainer: steps in which one token is off by `apart` nats or more, and
`unusual` times as far as usual, that come again and again.
Why: Among a million sampled tokens, the rarest one has a probability of about one in a million: a log-probability of
about -14. A token at -30 was not drawn from the policy that computes its log-probability. Either the temperature
differs, or a mask lets padding or tool output into the loss, or text was tokenised again, or logits are -inf. The
ratios and gradients of such tokens dominate the update.
False alarm: The text was written by another policy on purpose (demonstrations, replayed data, tool output that is
masked later).
Fix:
- Print the ten tokens with the smallest log-probability and their positions: they show which mask or template is wrong.
- Give the sampled token ids to the trainer, and not text that is tokenised again.
- Compute log-probabilities with the {temperature} and {top_p} of sampling. Leave tool output and padding out of the mask.
Experiment: Compute the log-probabilities of one freshly generated batch before any update: the smallest one must agree
with that of the inference engine.
References: https://github.com/huggingface/trl/issues/5224 https://arxiv.org/abs/2510.26788
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, from_point, seen_as, seen_in, seen_since, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.changes import for_good
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import late_median
from firstbreak.model import Confidence, Evidence, Finding, NotApplicable, NotMeasured, Role, Series
from firstbreak.words import number

ROLES = (Role.RELATION,)
#: sizes of the vocabularies of models that people train
VOCABULARIES = (
    32000,
    32064,
    49152,
    50257,
    50304,
    65024,
    100352,
    102400,
    128256,
    129280,
    151936,
    152064,
    256000,
    262144,
)
EXACT = 1e-6  #: nats: six digits after the point are printed, and 32-bit arithmetic leaves as much
FAMILIES = only(Policy.TEXT, why="the log-density of a continuous action may take any value")


def detect(
    policy_logp_min: Series | None = None,
    behave_logp_min: Series | None = None,
    policy_logp_mean: Series | None = None,
    rollout_train_logp_absdiff_max: Series | None = None,
    policy_entropy: Series | None = None,
    *,
    low: float = at(-30.0, "nats", "The rarest of a million samples lies at about -14; one at -30 was not sampled."),
    low_mean: float = at(-9.0, "nats per token", "A uniform choice from a large vocabulary has about -9 to -12."),
    unlike: float = at(1.0, "nats per token", "1,000 tokens tell the mean to 0.1."),
    apart: float = at(8.0, "nats", "The same token is then 3,000 times as probable for one side as for the other."),
    unusual: float = at(8.0, "ratio", "Against the median of the run: rare tokens always differ."),
    often: float = at(0.05, "share", "One step in twenty, from some step on."),
    min_steps: int = at(3, "points", "Fewer are single accidents."),
    min_points: int = at(4, "points", "Fewer steps show no level."),
) -> Finding | NotApplicable | NotMeasured | None:
    candidates = ((policy_logp_min, low), (behave_logp_min, low), (policy_logp_mean, low_mean))
    recorded = [(s, limit) for s, limit in candidates if s is not None and len(s.finite) >= min_points]
    differences = rollout_train_logp_absdiff_max.finite if rollout_train_logp_absdiff_max is not None else None
    if differences is not None and len(differences) >= min_points:
        if (finding := _apart(differences, apart, unusual, often, min_steps)) is not None:
            return finding
        if not recorded:
            return None
    if policy_logp_mean is not None and policy_entropy is not None:
        found = _unlike_entropy(policy_logp_mean.finite, policy_entropy.finite, unlike, min_points)
        if found is not None:
            return found
    if policy_logp_mean is not None and (uniform := _uniform(policy_logp_mean.finite)) is not None:
        return uniform
    if not recorded:
        return NotMeasured(f"no log-probability of sampled tokens is logged for {min_points} steps")
    extreme = [(s, limit) for s, limit in recorded if late_median(s, 0.5) < limit]
    if not extreme:
        return None
    curve, limit = extreme[0]
    onset = first_sustained(curve, lambda values: values < limit)
    what = (
        "a random choice would do as well" if curve is policy_logp_mean else "this policy would never draw such a token"
    )
    return warning(
        "{curve} is {late} over the second half: {what}; print the ten least probable tokens and their positions",
        seen_as(
            curve.name, onset, drawn=tuple(Evidence(text=s.name, series=s, since=onset, level=at) for s, at in extreme)
        ),
        curve=curve.name,
        late=facts.median(curve.finite.tail(0.5)),
        what=what,
        confidence=Confidence.HIGH if len(extreme) > 1 else Confidence.MEDIUM,
        numbers={"logp": late_median(curve, 0.5)},
    )


def _uniform(logp: Series) -> Finding | None:
    """Every token has the same probability, that of a uniform choice from a whole vocabulary."""
    size = next(
        (size for size in VOCABULARIES if len(logp) and np.all(np.abs(logp.values + np.log(size)) <= EXACT)), None
    )
    if size is None:
        return None
    return warning(
        "{logp} is {value} = -ln {size}, that of a uniform choice from {size} tokens: all logits are equal, the weights of "
        "the model or of its head were not loaded; compute the loss of one known text with the loaded model",
        seen_in(logp, "log-probability"),
        logp=logp.name,
        value=facts.last(logp),
        size=str(size),
        numbers={"vocabulary": size},
    )


def _unlike_entropy(logp: Series, entropy: Series, unlike: float, min_points: int) -> Finding | None:
    """Samples that are far less probable than those of a policy of this entropy, at every step from some step on."""
    if min(len(logp), len(entropy)) < min_points or entropy.values.min() < 0 or logp.values.max() > 0:
        return None
    usual = np.interp(logp.steps, entropy.steps, entropy.values)
    off = -logp.values - usual > np.maximum(unlike, 2 * usual)
    first = for_good(off, 1.0)
    if first is None or len(off) - first < min_points:
        return None
    since = float(logp.steps[first])
    return warning(
        "{logp} is {now} at an entropy of {entropy}, and a policy's own samples have about minus the entropy: the "
        "log-probabilities are those of other tokens than the sampled ones (a shift by one, a mask, another template)",
        seen_since(logp, "log-probability", *from_point(logp, first), along={"entropy": entropy}),
        logp=logp.name,
        now=facts.median(logp.between(since)),
        entropy=facts.median(entropy.between(since)),
        numbers={"logp": float(np.median(logp.values[first:])), "entropy": float(np.median(usual[first:]))},
    )


def _apart(differences: Series, apart: float, unusual: float, often: float, min_steps: int) -> Finding | None:
    """Steps in which the two log-probabilities of one token lie far apart, again and again."""
    usual = float(np.median(differences.values))
    far = differences.values > max(apart, unusual * usual)
    first = for_good(far, often)
    if first is None or int(far[first:].sum()) < min_steps:
        return None
    since = float(differences.steps[first])
    return warning(
        "in {steps} steps since {since} the log-probability of a token differs by up to {most} nats between the inference "
        "engine and the trainer (usually {usual}): its probability is near 0 for one of them; print that token, check the "
        "mask, and clamp the log-probabilities",
        seen_since(differences, "largest difference", *from_point(differences, first), level=usual),
        steps=number(int(far[first:].sum())),
        since=facts.at(differences, since),
        most=facts.highest(differences.between(since)),
        usual=facts.median(differences),
        confidence=Confidence.MEDIUM,
        numbers={"steps": int(far[first:].sum())},
    )
