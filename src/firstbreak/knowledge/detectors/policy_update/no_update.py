"""The policy is not being updated.

Looks for: A gradient norm of 0, or of rounding, in `min_share` of the updates of a run, or of its last part. A learning
rate of 0 from the start (`learning-rate-gone` reports one that ends there). Or most updates that the KL limit ends
before their first step. Or one that hardly moves: several epochs on each batch, a gradient and a learning rate as at
first, and yet a divergence below `unmoved` and most of the first entropy. Or exploration that has ended by its
schedule, in a log without a single loss, although this trainer logs losses from the first gradient step on. Or a
divergence that stays near 0 beside a flat reward; sooner where the configuration keeps the optimizer in bfloat16.

Or steps without effect: learning rate and gradient norm (where logged) are not 0, and a divergence is 0 within rounding
(1e-7, less for a small rate) in all rows to the end. It is that from the old policy after several updates on a batch, or beside
an entropy that is the same to rounding, with a clip fraction of 0; that from the reference; or DPO's reward of the chosen answer.
Entropy and, of a script, value loss (pairs: the chosen answer's log-probability) stay at their level too; where they move,
`ratio-always-one` or `reference-is-policy` tells of it. After one update on a batch, the divergence from the reference counts.
Why: The samples and the rewards have no effect on the weights: the run costs as much as a working one, and cannot
learn.
False alarm: The last step of a schedule that decays to 0, or a warm-up that starts at 0. A log with a fixed number of
decimals shows 0 where a learning rate is below them. Group-relative methods have no gradient in batches in which all
groups are zero-variance groups: then the break lies in the groups. If the KL divergence is 0 but the entropy moves or
the score rises, the divergence was measured before the step, as with one epoch of one batch.
Fix:
- Check {learning_rate} and its schedule, which parameters require gradients, and whether the optimizer holds them: make it
  after the model is final (made anew, copied, moved, frozen, given adapters).
- If critic and policy share one gradient clip, a value loss of millions leaves nothing for the policy: scale the rewards
  or normalise the returns.
- Off-policy: {learning_starts} must be far below the number of steps of the run, and must end before the exploration.
- With adapters: check that the adapter is the part that trains, and that it reaches the inference engine.
Experiment: Compare a hash of the weights before and after one update: if the two are equal, the break lies between loss
and optimizer.
References: https://github.com/verl-project/verl/issues/7495
https://stable-baselines3.readthedocs.io/en/master/modules/dqn.html
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, graded, seen_since
from firstbreak.engine.common_settings import half_configured, in_half
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.changes import for_good, rounded_away
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.trend import trend
from firstbreak.knowledge.detectors._updates import OWN, several, without_effect
from firstbreak.model import Config, Expected, Finding, NotMeasured, Role, Run, Series, Severity, Statistic
from firstbreak.patterns import pattern
from firstbreak.words import number, percent

ROLES = (Role.RELATION,)

#: what these trainers log from the first gradient step on, with every line that they write
LOGS_LOSSES = frozenset({"sb3"})
LEARNING = ("loss", "value", "policy", "progress.updates", "td_error")
#: the share of the weights that a step changes
CHANGED = pattern(
    r"(?:^|[/_.])(?:params?|weights?|dw|w)_?(?:changed|nonzero|moved|touched)|(?:changed|nonzero|touched)_(?:params?|weights?)",
    re.IGNORECASE,
)
FEW, STILL = 0.3, 10  #: of the weights, and rows (convention)


def detect(
    run: Run,
    grad_norm: Series | None = None,
    lr: Series | None = None,
    zero_variance_groups: Series | None = None,
    policy_entropy: Series | None = None,
    kl_old: Series | None = None,
    kl_ref: Series | None = None,
    policy_clip_fraction: Series | None = None,
    value_loss: Series | None = None,
    pref_reward_chosen: Series | None = None,
    pref_logp_chosen: Series | None = None,
    policy: Policy = Policy.TEXT,
    policy_stop_iter: Series | None = None,
    epsilon: Series | None = None,
    trajectory: Trajectory | None = None,
    solved: bool | None = None,
    divergence: Series | None = None,
    score: Series | None = None,
    training_score: Series | None = None,
    *,
    unmoved: float = at(2e-5, "nats", "Some epochs of a usual rate move a policy by a hundred times as much."),
    min_share: float = at(0.8, "share", "From there on, hardly any update reaches the weights."),
    min_end: float = at(0.1, "share", "The end of a schedule may be 0 for a smaller part of a run."),
    nothing: float = at(1e-6, "gradient norm", "What rounding in float32 leaves of a gradient that cancels."),
    min_idle_share: float = at(0.5, "share", "From half of the log on, learning should have begun."),
    near: float = at(0.01, "nats per token", "After so many updates a policy that learns is farther away."),
    near_in_half: float = at(0.05, "nats per token", "Where the configuration keeps no weights in float32."),
    still_near: float = at(2e-4, "nats per token", "One update of a usual rate moves a policy about so far."),
    large_rate: float = at(1e-5, "learning rate", "Of a language model: a tenth moves a policy by more."),
    min_still: int = at(60, "points", "Updates of a large rate."),
    min_near: int = at(200, "points", "In fewer, a slow start shows nothing yet."),
    min_points: int = at(5, "points", "Fewer updates may all be warm-up; a standstill needs twice as many."),
) -> Finding | Expected | NotMeasured | None:
    if epsilon is not None and (idle := _never_began(run, epsilon.finite, min_idle_share, 2 * min_points)):
        return idle
    if policy_stop_iter is not None and (
        ended := _ended_at_once(policy_stop_iter.finite, min_idle_share, 2 * min_points)
    ):
        return ended
    learned = trajectory is not None and trajectory.learned
    reward = training_score if training_score is not None else score
    #: a divergence that is 0 by mistake or by construction leaves the policy to move: what shows that it does not
    asked = [(pref_reward_chosen, [pref_logp_chosen], True), (kl_ref, [policy_entropy, reward], _zero(kl_old))]
    levels = policy_entropy.finite.tail(0.9).values if policy_entropy is not None and not learned else np.zeros(0)
    same = len(levels) > 0 and float(np.ptp(levels)) < nothing
    again = same or several(run, policy_clip_fraction, policy)
    critic = value_loss if run.trainer in OWN else None  # a library's count of updates needs no second witness
    asked.append((kl_old, [policy_entropy or reward, critic or policy_entropy or reward], again))
    for distance, witnesses, fits in asked:
        curves = [curve for curve in witnesses if curve is not None]
        if distance is None or not fits or solved or len(curves) < len(witnesses):
            continue
        since = without_effect(run, distance.finite, curves, grad_norm, lr, policy)
        if since is None or _all_equal(zero_variance_groups, since, min_share):
            continue
        if policy_clip_fraction is None or _zero(policy_clip_fraction.between(since)):
            return _idle(run.config, distance.finite, curves[0], grad_norm, lr, since)
    pure_half = half_configured(run.config)
    if (pure_half or in_half(run.config)) and not solved and (few := _few_change(run)):
        return few
    stands = trajectory is not None and trajectory.kind == "flat"
    stands = stands or (pure_half and training_score is not None and not trend(training_score.finite).direction)
    if stands and not solved and divergence is not None and score is not None:
        kl, late = divergence.finite, divergence.finite.tail(0.25).values
        away = abs(median(late)) if late.any() else np.inf
        rate = median(lr.finite.values) if lr is not None and len(lr.finite) else 0.0
        if len(kl) >= min_still and rate >= large_rate and away < still_near:
            return _stays_near(kl, score.name)
        half = pure_half or (grad_norm is not None and _in_bfloat16(grad_norm.finite.values))
        enough = min_still // 2 if pure_half else min_still if half else min_near
        if min(len(kl), len((training_score or score).finite)) >= enough and away < (
            near_in_half if pure_half else near
        ):
            return _stays_near(kl, (training_score or score).name if pure_half else score.name, half)
    if not solved and (run.config.number("epochs_per_batch") or 0) > 1:
        hardly = _hardly_moves(policy_entropy, kl_old, grad_norm, lr, unmoved, 4 * min_points)
        if hardly is not None:
            return hardly
    shown = [s.finite for s in (grad_norm, lr) if s is not None and len(s.finite) >= min_points]
    if not shown:
        return NotMeasured(f"no gradient norm or learning rate is logged for {min_points} updates")
    for curve in shown:
        least = nothing if curve.name == "grad.norm" and not (trajectory is not None and trajectory.learned) else 0.0
        zero = (curve.values if len(curve) == min_points else curve.values[:-1]) <= least  # a schedule may end at 0
        if rounded_away(curve.values):
            continue
        first = for_good(zero, min_share)
        if first is None or (first > 0 and len(zero) - first < max(2 * min_points, min_end * len(zero))):
            continue
        if first > 0 and curve.name == "lr":
            continue  # `learning-rate-gone` tells of a rate that ends at 0
        since = float(curve.steps[first])
        rest = curve.between(since, float(curve.steps[len(zero) - 1]))
        where = facts.tell(
            "{share} of the updates from {since} on",
            share=percent(float(np.mean(rest.values <= least))),
            since=facts.at(curve, since),
        )
        if curve.name == "grad.norm" and (solved or _all_equal(zero_variance_groups, since, min_share)):
            return Expected(
                facts.tell(
                    "{curve} is 0 in {where} because the rewards within each group are equal",
                    curve=curve.name,
                    where=where,
                )
            )
        size = "exactly 0" if not rest.values.any() else f"{number(float(rest.values.max()))} at most"
        what = facts.tell(
            "{curve} is {size} in {where}: none of them reaches the weights", curve=curve.name, size=size, where=where
        )
        return _finding(curve, what, since)
    return None


def _few_change(run: Run) -> Finding | None:
    """Weights in bfloat16, and a step that changes few of them."""
    changed = next(
        (s.finite for name, s in run.unknown.items() if CHANGED.search(name) and len(s.finite) > STILL), None
    )
    if changed is None or not 0 <= changed.values.min() <= changed.values.max() <= 1 or median(changed.values) > FEW:
        return None
    what = facts.tell(
        "a step changes {share} of the weights in the median, and they are kept in bfloat16: smaller steps are rounded away; "
        "keep the weights of the optimizer in float32",
        share=percent(median(changed.values)),
    )
    return _finding(changed, what, float(changed.steps[0]), Severity.CRITICAL)


def _zero(curve: Series | None) -> bool:
    """Whether nothing else is logged of it."""
    return curve is None or not curve.finite.values.any()


def _idle(
    config: Config, distance: Series, shows: Series, grad: Series | None, lr: Series | None, since: float
) -> Finding | None:
    """The optimizer is called with a rate, and as far as is logged with a gradient, and the policy stays where it was."""
    if distance.name == "kl.ref" and _zero(distance) and not config.recorded("kl_coef"):
        return None  # a column that nobody fills
    rest = distance.between(since)
    return _finding(
        distance,
        facts.tell(
            "the policy does not move: {name} is {largest} at most in {n} rows from {since} on{norm} at a learning rate of "
            "{rate}, and {shows} stays at {level}: the optimizer holds other parameters than the policy that acts (made before "
            "the model was made anew, copied, moved, or given adapters), or the weights are restored after its steps",
            name=distance.raw or distance.name,
            largest=facts.of(Statistic.LARGEST, rest),
            n=facts.count(rest),
            since=facts.at(distance, since),
            norm=", its gradient not logged,"
            if grad is None
            else facts.tell(", with a gradient norm of {it}", it=facts.median(grad.finite.between(since))),
            rate=facts.setting(config, "learning_rate") if lr is None else facts.median(lr.finite.between(since)),
            shows=shows.raw or shows.name,
            level=facts.median(shows.finite.between(since)),
        ),
        since,
    )


def _stays_near(kl: Series, score: str, half: bool = False) -> Finding:
    """Neither the policy nor the score moves."""
    why = "the updates are too small to learn anything"
    if half:
        why += ": as the gradient norms or the configuration say, weights in bfloat16 round small steps away"
    return _finding(
        kl,
        facts.tell(
            "the KL divergence is {late} after {last}, and {score} has not moved: {why}",
            score=score,
            late=facts.median(kl.tail(0.25)),
            last=facts.at(kl, float(kl.steps[-1])),
            why=why,
        ),
        float(kl.steps[0]),
        Severity.WARNING,
    )


def _in_bfloat16(values: np.ndarray) -> bool:
    """Whether each is a number of bfloat16, to the decimals that are logged: few numbers of float32 are."""
    shown = np.unique(np.abs(values[values != 0]))
    if len(shown) < 10:
        return False
    decimals = max(len(f"{value:.7f}".rstrip("0").partition(".")[2]) for value in shown)
    step = 2.0 ** (np.floor(np.log2(shown)) - 7)  # between two numbers of bfloat16
    near = np.abs(np.round(shown / step) * step - shown) <= 0.51 * 10.0**-decimals
    by_chance = float(np.sum(np.log(np.minimum(1.0, 10.0**-decimals / step))))
    return bool(near.all()) and by_chance < -20  # once in a billion


def _all_equal(groups: Series | None, since: float, min_share: float) -> bool:
    """Whether nearly all groups of a group-relative method have equal rewards, so that there is nothing to learn from."""
    late = groups.between(since).finite.values if groups is not None else np.zeros(0)
    return bool(len(late)) and float(np.mean(late)) >= min_share


def _hardly_moves(
    entropy: Series | None, kl: Series | None, grad: Series | None, lr: Series | None, unmoved: float, min_points: int
) -> Finding | None:
    """Gradient and rate are what they were, and many steps on a batch leave the policy where it was: they are rounded away."""
    curves = [s.finite for s in (entropy, grad, lr) if s is not None]
    if len(curves) < 3 or kl is None or min(map(len, [kl.finite, *curves])) < min_points:
        return None
    if any(median(s.tail(0.5).values) < 0.5 * median(s.head(0.2).values) for s in curves):
        return None
    late = kl.finite.tail(0.5)
    if not late.values.any() or float(np.quantile(np.abs(late.values), 0.9)) > unmoved:
        return None
    what = facts.tell(
        "several epochs on a batch leave the policy within {late} nats of the old one (the median of the second half), with a "
        "gradient norm of {norm} at a learning rate of {rate}: check that the optimizer's steps are not rounded away in half "
        "precision",
        late=facts.median(late),
        norm=facts.median(curves[1].tail(0.5)),
        rate=facts.median(curves[2].tail(0.5)),
    )
    return _finding(kl.finite, what, float(kl.finite.steps[0]), Severity.WARNING)


def _ended_at_once(done: Series, min_share: float, min_points: int) -> Finding | None:
    """The divergence is beyond its limit before anything was learned from the batch."""
    late = done.tail(0.5)
    if len(done) < min_points or float(np.mean(late.values <= 0)) < min_share:
        return None
    return _finding(
        done,
        facts.tell(
            "the KL limit ends {share} of the later updates before their first step: the log-probabilities of the update are not "
            "those of the rollout (state of a recurrent policy, dropout, normalisation), or the limit is too low",
            share=percent(float(np.mean(late.values <= 0))),
        ),
        float(done.steps[int(np.argmax(done.values <= 0))]),
    )


def _never_began(run: Run, epsilon: Series, min_idle_share: float, min_points: int) -> Finding | None:
    """The exploration schedule has run out, and no gradient step was taken."""
    if run.trainer not in LOGS_LOSSES or any(name.startswith(LEARNING) for name in run.series):
        return None
    over = float(np.mean(epsilon.values == epsilon.values[-1])) if len(epsilon) >= min_points else 0.0
    if over < min_idle_share:
        return None
    ended = float(epsilon.steps[int(np.argmax(epsilon.values == epsilon.values[-1]))])
    what = facts.tell(
        "epsilon has been {last} since {ended}, and no loss is logged up to {end}: learning has not begun, so check "
        "learning_starts",
        last=facts.last(epsilon),
        ended=facts.at(epsilon, ended),
        end=facts.at(epsilon, float(epsilon.steps[-1])),
    )
    return _finding(epsilon, what, float(epsilon.steps[0]))


def _finding(curve: Series, what: str, since: float, severity: Severity = Severity.CRITICAL) -> Finding:
    return graded(
        severity,
        "{what}; compare the weights before and after an update",
        seen_since(curve, curve.name, since, level=0.0),
        what=what,
    )
