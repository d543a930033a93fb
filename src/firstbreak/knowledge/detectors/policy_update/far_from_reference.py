"""The policy is so far from its reference that it writes another text.

Looks for: The KL divergence from the reference model per token, as group-relative methods log it: its median over
`min_share` of the run at its end, above `max_divergence`.
Why: At 1 nat per token, a sampled token is on average almost three times as probable as in the reference, at every
place of the text. Language, format and knowledge that the reward does not check are then lost. A divergence that is
this large from the first steps on, without a change of the reward, says that the two log-probabilities are not computed
on the same tokens, template or precision.
False alarm: A divergence that is summed over the tokens of a completion. Training without a penalty for many thousands
of steps, with an evaluation that still rises. Tiny models that learn a task from nothing.
Fix:
- Go back to a checkpoint from before, and lower {learning_rate} by three to ten.
- Raise {kl_coef}, or clip gradients ({grad_clip}).
- Where it is large from the first step on: compute the log-probabilities of one batch with both models before any update; the
  divergence must be 0.
Experiment: Continue from before the onset for a tenth of the run with {learning_rate} / 10: the reward must rise as
fast with a tenth of the divergence.
References: https://arxiv.org/abs/2210.10760 https://huggingface.co/docs/trl/grpo_trainer
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, graded, seen_since
from firstbreak.engine.families import Method, Policy, only
from firstbreak.engine.stats.onset import first_sustained, since_last
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Finding, NotMeasured, Role, Series, Severity

ROLES = (Role.RELATION, Role.TEXT_LOST)
FAMILIES = only(
    Policy.TEXT, Method.GROUP_RELATIVE, Method.PREFERENCE, why="other methods log the divergence of a whole completion"
)


def detect(
    kl_ref: Series | None = None,
    kl_ref_k3: Series | None = None,
    kl_ref_k1: Series | None = None,
    policy_token_accuracy: Series | None = None,
    pref_logp_chosen: Series | None = None,
    trajectory: Trajectory | None = None,
    *,
    max_divergence: float = at(1.0, "nats per token", "45 healthy runs stay below 0.53.", "field, lab"),
    min_share: float = at(0.5, "share of the run", "Spikes that come back are another finding."),
    min_points: int = at(10, "points", "Fewer values show no level."),
    min_kept: float = at(0.5, "share", "of the tokens of chosen answers that the model predicted at the start"),
) -> Finding | NotMeasured | None:
    if policy_token_accuracy is not None and pref_logp_chosen is not None:
        return _text_lost(policy_token_accuracy.finite, pref_logp_chosen.finite, min_kept, min_points)
    curves = [s.finite for s in (kl_ref, kl_ref_k3, kl_ref_k1) if s is not None]
    curve = next((s for s in curves if len(s) >= min_points), None)
    if curve is None:
        return NotMeasured(f"no divergence from the reference model is logged for {min_points} updates")
    late = curve.tail(min_share)
    if median(late.values) <= max_divergence:
        return None
    since = first_sustained(curve, lambda values: values > max_divergence)
    interval = None if since is None else (float(curve.steps[0]), since)
    # it pays so far: to be watched, and no break
    gains = trajectory is not None and trajectory.learned and not trajectory.lost
    return graded(
        Severity.WARNING if gains else Severity.CRITICAL,
        "the divergence from the reference model is {late} nats per token at the end, the median of half of the run: the "
        "policy no longer writes the reference's text; lower the learning rate or raise the penalty",
        seen_since(curve, "divergence", since, interval, level=max_divergence),
        late=facts.median(late),
        confidence=Confidence.MEDIUM if gains else Confidence.HIGH,
    )


def _text_lost(accuracy: Series, chosen: Series, min_kept: float, min_points: int) -> Finding | None:
    """Training on pairs that makes the chosen answers as improbable as the rejected ones: the model forgets the text."""
    if min(len(accuracy), len(chosen)) < min_points:
        return None
    first, limit = float(accuracy.values[0]), min_kept * float(accuracy.values[0])
    since = first_sustained(accuracy, lambda values: values < limit)
    if (
        first < 0.2
        or since is None
        or median(accuracy.tail(0.5).values) >= limit
        or chosen.values[-1] >= chosen.values[0]
    ):
        return None
    along = {"log-probability of chosen answers": chosen}
    return critical(
        "the model predicts {late:%} of the tokens of the chosen answers, after {first:%} at the start, and their "
        "log-probability fell from {before} to {after}: the updates destroy the text; divide the learning rate by ten",
        seen_since(accuracy, "token accuracy", since, since_last(accuracy, since), along=along),
        late=facts.median(accuracy.tail(0.5)),
        first=facts.first(accuracy),
        before=facts.first(chosen),
        after=facts.last(chosen),
    )
