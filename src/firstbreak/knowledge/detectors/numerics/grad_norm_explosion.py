"""The gradient norm grows far beyond its own past, or has a very heavy tail.

Looks for: The gradient norm over the last quarter, compared with its first fifth on a logarithmic scale, and the step
from which the norm grows. A jump at one step counts from `jump_warning` on, if the score fell from there. Also its
upper tail: the 95th percentile compared with the median. Growth counts only if the score does not rise at the same
time. For language models also the absolute size, which needs no history: a norm above `norm_critical` beside a loss of
ordinary size is not the gradient of that loss.
Why: A norm that grows by orders of magnitude is the last warning before NaN or collapse. With clipping, every update
then has the full permitted length, in a direction that a few samples or one outlier of the critic decide.
False alarm: The norm rises as a policy becomes more certain and as returns grow: if the score rises, this is part of
learning. The first updates of a run are the largest, and are left out. Single spikes that the clip catches do no harm.
Fix:
- Check the batch of the largest norm: lengths, outliers of the reward, samples with extreme log-probabilities.
- Lower {learning_rate}, and clip at {grad_clip} after unscaling.
- Clip or normalise rewards and returns, and give the critic its own clip.
- Compare the log-probabilities of inference engine and trainer: a mismatch on rare tokens explodes late.
Experiment: Continue from the checkpoint before the growth with {learning_rate} divided by ten: if the norm still grows,
the data or the log-probabilities are the cause, and not the step size.
References: https://arxiv.org/abs/1211.5063 https://arxiv.org/abs/2006.05990
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, graded, seen_in, seen_since, warning
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.changes import Change, changes, departed
from firstbreak.engine.stats.direction import falls, fell_since
from firstbreak.engine.stats.points import median
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.engine.stats.spikes import tail
from firstbreak.engine.stats.trend import trend
from firstbreak.knowledge.detectors._growth import Growth, growth
from firstbreak.model import Confidence, Config, Expected, Finding, NotMeasured, Series, Severity, Statistic
from firstbreak.values import replace
from firstbreak.words import number

EITHER_SCORE = True

Scores = tuple[Series | None, Series | None]  #: the evaluation and the training reward, where they are recorded


def detect(
    grad_norm: Series,
    config: Config,
    trajectory: Trajectory | None = None,
    policy: Policy = Policy.CONTROL,
    policy_loss: Series | None = None,
    loss_total: Series | None = None,
    score: Series | None = None,
    eval_score: Series | None = None,
    training_score: Series | None = None,
    *,
    norm_critical: float = at(1e6, "gradient norm", "For language models: no usual loss has such a gradient."),
    max_loss: float = at(100.0, "loss", "A larger loss may have a gradient of that size."),
    growth_warning: float = at(10.0, "ratio", "Ten times the norm of the early run."),
    growth_critical: float = at(30.0, "ratio", "Thirty times the early norm, and the score fell."),
    jump_warning: float = at(4.0, "ratio", "For good, and the score fell from that step on."),
    tail_ratio: float = at(20.0, "ratio", "95th percentile over median: a few batches decide the direction."),
    warmup_share: float = at(0.1, "share", "The first updates of a run are the largest."),
    material: float = at(0.1, "share", "Of the gain so far: less, while the norm grows tenfold, is none."),
    far_ratio: float = at(30.0, "ratio", "Thirty times the median norm: such a batch outweighs all of an epoch."),
    min_spikes: int = at(4, "points", "Fewer spikes are accidents."),
    min_points: int = at(20, "points", "Fewer norms show no growth."),
) -> Finding | Expected | NotMeasured | None:
    loss = policy_loss if policy_loss is not None else loss_total
    if policy is Policy.TEXT and loss is not None:
        finding = _out_of_range(grad_norm.finite, loss.finite, norm_critical, max_loss)
        if finding is not None:
            return finding
    norms = growth(grad_norm, min_points)
    scores = (eval_score, training_score)
    if norms is None:
        return NotMeasured(f"fewer than {min_points} gradient norms above 0 are logged")
    late = _late_growth(norms, growth_warning)
    if norms.times >= growth_warning:
        grown = _grown(norms, trajectory, growth_critical, score, scores, min_points)
        paid = not isinstance(grown, Expected) or late is None or not _stands(late.step, scores, min_points, material)
        return grown if paid or late is None else _unpaid(norms.curve, late)
    if late is not None:
        if fell_since(late.step, *scores):
            return _grown(replace(norms, late=late.after), trajectory, growth_critical, score, scores, min_points)
        if _stands(late.step, scores, min_points, material):
            return _unpaid(norms.curve, late)
    if norms.times >= jump_warning and (jump := _jumped(norms.curve, jump_warning, scores)) is not None:
        return jump
    settled = norms.curve.tail(1 - warmup_share)
    at_first = median(norms.curve.head(warmup_share).values)
    return _heavy(settled, at_first, tail_ratio, far_ratio, min_spikes, config)


def _late_growth(norms: Growth, ratio: float) -> Change | None:
    """Growth that lies in the last part of the run, where a quarter of it does not show it yet."""
    change = departed(norms.curve, log=True)
    return change if change is not None and change.ratio >= ratio else None


def _stands(since: float, scores: Scores, min_points: int, material: float) -> bool:
    """Whether there are enough scores from this step on, and none of them rises by a material share of its gain."""
    known = [s.finite for s in scores if s is not None]
    after = [(s.between(since), shape_of(s).gain) for s in known]
    return any(len(s) >= min_points for s, _ in after) and not any(
        trend(s).rising and trend(s).change > material * gain for s, gain in after
    )


def _unpaid(norms: Series, grown: Change) -> Finding:
    """Growth to the end of the run that the score has nothing of."""
    return warning(
        "the gradient norm grew {times} times since {since}, from {before} to {after}, while the score gained next to "
        "nothing; check the batch of the largest norm, then lower the learning rate, before the policy is lost",
        seen_since(norms, "gradient norm", grown.step, grown.interval, level=grown.before),
        times=number(grown.ratio),
        since=facts.at(norms, grown.step),
        before=number(grown.before),
        after=number(grown.after),
        numbers={"growth": grown.ratio},
    )


def _out_of_range(norms: Series, loss: Series, norm_critical: float, max_loss: float) -> Finding | None:
    """A norm that no loss of this size has."""
    size = median(np.abs(loss.values)) if len(loss) else np.inf
    norm = median(norms.values) if len(norms) else 0.0
    if norm < norm_critical or size > max_loss:
        return None
    return critical(
        "the gradient norm is {norm} although the size of the loss is {size}: a loss scale that is not removed, a sum in "
        "place of a mean, or one token with an extreme log-probability; check the loss scale, the reduction and "
        "the tokens: with clipping every update has the full length, whatever the batch contains",
        seen_in(norms, "gradient norm"),
        norm=facts.median(norms),
        size=facts.of(Statistic.SIZE, loss),
        confidence=Confidence.MEDIUM,
        numbers={"norm": norm},
    )


def _grown(
    norms: Growth,
    trajectory: Trajectory | None,
    growth_critical: float,
    score: Series | None,
    scores: Scores,
    min_points: int,
) -> Finding | Expected | None:
    times = number(norms.times)
    began = norms.since()
    worse = began is not None and (fell_since(began[0], *scores) or _falls_since(score, began[0], min_points))
    if trajectory is not None and trajectory.learned and not trajectory.lost and not worse:
        return Expected(f"the gradient norm grew {times} times while the score rose, as it does when a policy learns")
    if began is None:
        return None
    since, interval = began
    lost = worse or (trajectory is not None and trajectory.lost)
    return graded(
        Severity.CRITICAL if lost and norms.times >= growth_critical else Severity.WARNING,
        "the gradient norm grew {times} times, from {early} to {late}, and the score {course}; check the batch of the "
        "largest norm, then lower the learning rate",
        seen_since(norms.curve, f"grew {times} times", since, interval),
        times=times,
        early=norms.before,
        late=norms.after,
        course="fell" if lost else "did not rise",
        confidence=Confidence.LOW if trajectory is None else Confidence.HIGH if lost else Confidence.MEDIUM,
        numbers={"growth": norms.times},
    )


def _falls_since(score: Series | None, since: float, min_points: int) -> bool:
    """Whether the score falls from the step on at which the norm began to grow, wherever it stood before."""
    after = score.finite.between(since) if score is not None else None
    return after is not None and len(after) >= min_points and falls(after)


def _jumped(norms: Series, ratio: float, scores: Scores) -> Finding | None:
    """A norm that multiplied at one step, for good, with a score that fell from there on."""
    jumps = changes(norms, kinds=("level",), log=True)
    jump = next((c for c in jumps if c.lasting and c.ratio >= ratio), None)
    if jump is None or not fell_since(jump.step, *scores):
        return None
    return warning(
        f"the gradient norm jumped from {number(jump.before)} to {number(jump.after)} at step {number(jump.step)} and the "
        "score fell from there on; check what changed in the data at that step, then lower the learning rate",
        seen_since(norms, "gradient norm", jump.step, jump.interval, level=jump.before),
        sudden=True,
        numbers={"growth": jump.ratio},
    )


def _heavy(
    norms: Series, at_first: float, tail_ratio: float, far_ratio: float, min_spikes: int, config: Config
) -> Finding | None:
    """Norms far above all others, of which a few are enough; or a tail that begins higher than it should."""
    upper = tail(norms)
    if upper is None:
        return None
    usual = median(norms.values)
    far = (norms.values >= far_ratio * usual) & (norms.values > 3 * at_first)  # the first norms are no spikes
    many = int(far.sum()) >= min_spikes
    if not many and upper.p95_ratio < tail_ratio:
        return None
    level = far_ratio * usual if many else upper.p95
    first = float(norms.steps[np.argmax(norms.values >= level)])
    clip = config.number("grad_clip")
    bounded = clip is not None and 0 < clip < far_ratio * usual  # no batch counts so much more than the others
    return graded(
        Severity.WARNING if many else Severity.NOTICE,
        "{share} above {level}, and the largest, {top}, is {times} times the median{clipped}{decide}; check the batch of the "
        "largest norm",
        seen_in(norms, "gradient norm", first, (float(norms.steps[0]), first), level=level),
        share=f"{int(far.sum())} gradient norms are" if many else "one gradient norm in twenty is",
        level=number(level),
        top=facts.highest(norms),
        times=number(float(norms.values.max()) / usual),
        clipped=facts.tell(" (clipped at {clip})", clip=facts.setting(config, "grad_clip")) if clip else "",
        decide="" if bounded else ": a few batches decide the direction",
        confidence=Confidence.HIGH if many else Confidence.MEDIUM,
        numbers={"p95_ratio": upper.p95_ratio, "far": int(far.sum())},
    )
