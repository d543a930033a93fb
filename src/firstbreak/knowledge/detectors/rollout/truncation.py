"""Completions are cut before they end.

Looks for: The share of completions that reached the length limit (logged, or estimated from the mean length and the
limit): the level over the second half of the run, the trend, and whether the score rises although completions are cut.
Also rollouts that end at the turn limit ({max_turns}) while the score neither rises nor is at its maximum.
Why: A cut completion has no final answer, so the verifier scores the completion as wrong. The policy then learns from
the limit instead of the task, and the score cannot rise while most completions have no answer.
False alarm: The share is high at first and falls while the score rises: the policy learns to be brief. A constant share
of a few per cent beside a rising score costs something and stops nothing: its finding has low confidence. AReaL's
`no_eos_ratio` is never lower than one over the number of sequences per rank.
Fix:
- Raise {max_new_tokens}.
- Exclude cut completions from the loss ({mask_truncated}), or filter prompts whose answers are too long.
- Add a soft length penalty before the limit.
Experiment: Generate for 50 prompts with four times {max_new_tokens}, and score the answers. If the mean score is
higher, the limit was the cause.
References: https://arxiv.org/abs/2503.14476 https://github.com/huggingface/trl/issues/5697
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import Seen, at, graded, notice, seen_since, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.changes import turned
from firstbreak.engine.stats.direction import departure, falls, rises
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Config, Evidence, Finding, Series, Severity
from firstbreak.words import number

CLEAR = 3.0  #: standard errors of a difference of two means (convention)
FAMILIES = only(Policy.TEXT)


def detect(
    truncation: Series,
    config: Config,
    length_limit: float | None = None,
    trajectory: Trajectory | None = None,
    length_max_turns_frac: Series | None = None,
    turns_mean: Series | None = None,
    solved: bool | None = None,
    length_mean: Series | None = None,
    length_total_mean: Series | None = None,
    reward_mean: Series | None = None,
    *,
    share_notice: float = at(0.05, "share", "a few long answers do little harm", "AReaL: docs"),
    share_warning: float = at(0.2, "share", "one completion in five has no answer"),
    share_critical: float = at(0.4, "share", "hides what the policy can do, less one standard error"),
    share_certain: float = at(0.9, "share", "a share this high is believed even where few points are logged"),
    share_watched: float = at(0.01, "share", "a growing share below this is hardly more than none"),
    growth: float = at(1.3, "ratio", "of late to early lengths: leads to truncation", "AReaL: docs"),
    near_turns: float = at(0.95, "share", "of the turn limit: rounding, and a few rollouts that fail early"),
    min_points: int = at(8, "points", "with fewer points no trend is known, and a share is uncertain"),
) -> Finding | None:
    learning = trajectory is not None and trajectory.kind == "rising"
    if not (solved or learning) and (
        found := _out_of_turns(length_max_turns_frac, turns_mean, config, near_turns, share_critical)
    ):
        return found
    cut = truncation.finite
    if not len(cut):
        return None
    half = cut.tail(0.5).values
    late = float(np.mean(half))
    # a few completions per step make a share that is mostly noise
    critical = bool(late - float(np.std(half)) / np.sqrt(len(half)) >= share_critical)
    long_enough = len(cut) >= min_points
    growing = long_enough and rises(cut)
    length = length_mean if length_mean is not None else length_total_mean
    watched = share_watched <= late < share_notice and growing
    if watched and length is not None and _longer(length.finite, growth):
        return _on_its_way(cut, late, length)
    error = float(np.std(half)) / np.sqrt(len(half))
    if late < share_notice or (late < 2 * share_notice and not growing and late - error < share_notice):
        return None
    if late < 2 * share_notice and long_enough and falls(cut):
        return None  # the policy learns to be brief
    level = max(share_notice, late / 2)
    since = first_sustained(cut, lambda values: values >= level) if long_enough else float(cut.steps[0])
    start = departure(cut) if growing else None
    learns = trajectory is not None and trajectory.kind in ("rising", "plateau")
    at = f" of {number(length_limit)} tokens" if length_limit else ""
    at += " (estimated from the mean length)" if truncation.note.startswith("estimated") else ""
    return graded(
        _severity(late >= share_warning, critical, growing, learns, trajectory, long_enough),
        "{late:%} of the completions end at the length limit{at}{growing}{cost}: what comes after it is lost; raise the limit, "
        "or filter prompts with long answers",
        Seen(
            metric="length.clipped_ratio",
            onset=start[0] if start else since,
            interval=start[1] if start else None if since is None else (float(cut.steps[0]), since),
            evidence=(
                Evidence(text="share of cut completions", series=truncation, since=since, level=share_notice),
                *(
                    [Evidence(text="mean length", series=length_mean, level=length_limit)]
                    if length_mean is not None
                    else []
                ),
            ),
        ),
        late=facts.mean(cut.tail(0.5) if growing or since is None else cut.between(since)),
        at=at,
        growing=" and the share grows" if growing else "",
        cost="" if growing or learns or reward_mean is None else _cost(cut, reward_mean.finite, min_points),
        confidence=Confidence.LOW
        if (not long_enough and late < share_certain) or (late < share_warning and not growing)
        else Confidence.HIGH
        if critical or turned(cut.values >= share_warning) is not None
        else Confidence.MEDIUM,
        numbers={"share": late, "growing": growing},
    )


def _cost(cut: Series, reward: Series, min_points: int) -> str:
    """What the reward of a step with many cut completions is, beside that of one with few; empty where noise hides it."""
    _, rows, same = np.intersect1d(cut.steps, reward.steps, return_indices=True)
    shares, paid = cut.values[rows], reward.values[same]
    if not len(shares):
        return ""
    least, most = (
        (np.sort(shares)[k] for k in (min_points - 1, -min_points)) if len(shares) >= min_points else (1.0, 0.0)
    )
    few, many = paid[shares <= least], paid[shares >= most]
    if least >= most:
        return ""
    error = np.hypot(*(np.std(part, ddof=1) / np.sqrt(len(part)) for part in (few, many)))
    if np.mean(few) - np.mean(many) <= CLEAR * error:
        return ""
    return f", and the reward of a step is {number(np.mean(many))} where most are cut, {number(np.mean(few))} where fewest are"


def _out_of_turns(
    share: Series | None, turns: Series | None, config: Config, near: float, many: float
) -> Finding | None:
    """Rollouts that end at the turn limit: by their share, or because their mean rises to the limit."""
    limit = config.number("max_turns")
    if share is not None and len(share.finite) and float(np.mean(share.finite.tail(0.5).values)) >= many:
        curve, level = share.finite, many
        what = facts.tell("{late:%} of the rollouts end at the turn limit", late=facts.mean(curve.tail(0.5)))
    elif turns is not None and limit and len(turns.finite) and _risen_to(turns.finite.values, limit, near):
        curve, level = turns.finite, near * limit
        what = facts.tell(
            "rollouts have {late} turns on average, and the limit is {limit}",
            late=facts.mean(curve.tail(0.5)),
            limit=number(limit),
        )
    else:
        return None
    return warning(
        "{what}: tasks that need more turns cannot be solved, whatever the policy does; raise {option}, and compare",
        seen_since(curve, what, first_sustained(curve, lambda values: values >= level), level=level),
        what=what,
        option=config.keys.get("max_turns", "the turn limit"),
    )


def _risen_to(turns: np.ndarray, limit: float, near: float) -> bool:
    """A dialogue that always has all turns is one by design."""
    return bool(np.median(turns[len(turns) // 2 :]) >= near * limit > np.quantile(turns[: len(turns) // 4 + 1], 0.5))


def _longer(length: Series, growth: float) -> bool:
    """Whether completions got longer by this factor, and are still getting longer."""
    early, late = float(np.median(length.head(0.25).values)), float(np.median(length.tail(0.25).values))
    return early > 0 and late >= growth * early and rises(length.tail(0.5))


def _on_its_way(cut: Series, late: float, length: Series | None) -> Finding:
    since = departure(cut)
    return notice(
        "completions get longer and longer, and {late:%} of them end at the length limit now: not many yet, but the share "
        "grows; raise the limit before it passes 5 %",
        seen_since(cut, "share of cut completions", *(since or (None, None)), beside={"mean length": length}),
        late=facts.mean(cut.tail(0.5)),
        confidence=Confidence.MEDIUM,
        numbers={"share": late, "growing": True},
    )


def _severity(
    many: bool, critical: bool, growing: bool, learns: bool, trajectory: Trajectory | None, long_enough: bool
) -> Severity:
    lost = trajectory is not None and trajectory.lost
    if (critical and not learns) or (many and growing and lost):
        return Severity.CRITICAL
    return Severity.WARNING if many or growing or long_enough else Severity.NOTICE
