"""The reward rises, but the component that checks the answer does not.

Looks for: Among the logged reward components, those that check the answer (by name: correct, answer, accuracy, success,
...) are compared with the others (format, length, language, tags, ...). The check reports where the total rises,
another component rises, and every answer component is constant, falls, or is still below `max_level` at the end of the
run. A share of successes is compared in the same way: it falls while the reward rises, or the reward has settled and
hardly any episode succeeds; or episodes that succeed and end early return far less than those that run into their time
limit.
Why: The policy takes the easiest way to reward. The format can be learned without one right answer, and the total still
looks like progress.
False alarm: Format first and answers later is a normal order of learning: an answer component that begins to rise is
not reported, and neither is one that was at its highest value from the beginning.
Fix:
- Read the completions with the highest reward of the latest checkpoint.
- Check that the answer can be extracted at all: run the pattern of the answer check on a correct completion.
- Give the reward of the other components for right answers only, or lower their weight.
Experiment: Train 30 steps on the answer component alone. If the component stays where it is, the answer is never
extracted or never right.
References: https://arxiv.org/abs/2209.13085 https://lilianweng.github.io/posts/2024-11-28-reward-hacking/
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import Seen, at, graded
from firstbreak.engine.families import Policy
from firstbreak.engine.stats.direction import departure, falls, rises
from firstbreak.engine.stats.points import late_median, median
from firstbreak.engine.stats.shape import trajectory as shape_of
from firstbreak.engine.stats.trend import trend
from firstbreak.model import Confidence, Evidence, Finding, Interval, NotMeasured, Role, Series, Severity
from firstbreak.values import replace
from firstbreak.words import number

ROLES = (Role.RELATION,)
WINDOW = 100  #: episodes that a logged share of successes is of (Stable-Baselines3)
SAME_SHARE = 0.1  #: between successes and episodes that end early: half of it, and then one is the other (convention)
MOSTLY = 0.9  #: successes: what a failure pays is of no account (convention)
MORE = 1.5  #: times the return of a success (convention)


def detect(
    reward_mean: Series,
    reward_component_mean: dict[str, Series] | None = None,
    answer_parts: dict[str, Series] | None = None,
    success_rate: Series | None = None,
    eval_success_rate: Series | None = None,
    policy: Policy = Policy.TEXT,
    reward_episode: Series | None = None,
    episode_length: Series | None = None,
    *,
    min_points: int = at(30, "points", "In fewer points, an answer component may not yet have begun to rise."),
    min_successes: int = at(12, "points", "Fewer points do not show that the share of successes falls."),
    max_level: float = at(0.02, "share", "With fewer right answers at the end, a rise does not count.", "lab"),
    its_part: float = at(0.25, "share", "If right answers make this part of the gain, the task is learned."),
) -> Finding | NotMeasured | None:
    if (failures := _failures_pay(success_rate, reward_episode, episode_length, min_points)) is not None:
        return failures
    success = success_rate if success_rate is not None else eval_success_rate
    asked = 0 if success is None else min(len(success.finite), len(reward_mean.finite))
    if success is not None and asked >= min_successes and falls(success) and rises(reward_mean):
        return _without_success(reward_mean.finite, success.finite)
    if success is not None and asked >= min_points:
        never = float(success.finite.tail(0.5).values.mean()) < max_level and not rises(success)
        settled = never and shape_of(reward_mean.finite).kind == "plateau"
        return _never_succeeds(reward_mean.finite, success.finite) if settled else None
    answer_parts = answer_parts or {}
    parts = {name: s.finite for name, s in (reward_component_mean or {}).items() if len(s.finite) >= min_points}
    answers = {name: s for name, s in parts.items() if name in answer_parts}
    others = {k: s for k, s in parts.items() if k not in answers}
    if not answers or not others:
        return NotMeasured("no component is known to check the answer" if parts else "the components are too short")
    if not rises(reward_mean) or any(_at_its_best(s) for s in answers.values()):
        return None
    driver = max(others, key=lambda k: trend(others[k]).change)
    if not rises(others[driver]):
        return None
    if any(rises(s) and float(np.mean(s.tail(0.25).values)) >= max_level for s in answers.values()):
        return None
    if any(_gained(s) >= its_part * _gained(reward_mean.finite) for s in answers.values()):
        return None
    frozen = any(np.ptp(s.values) == 0 for s in answers.values())
    fell = any(falls(s) for s in answers.values())
    start = departure(others[driver])
    aim, look = ("answer", "read the completions") if policy is Policy.TEXT else ("task", "watch the episodes")
    how = "never changes" if frozen else "falls" if fell else "hardly rises"
    meant = {k: s for k, s in answers.items() if (np.ptp(s.values) == 0 if frozen else not fell or falls(s))}
    stuck = facts.joined(
        facts.tell(
            "{part} is {late}" if frozen else "{part} {early} to {late}, means of the first and the last quarter",
            part=part,
            early=facts.mean(s.head(0.25)),
            late=facts.mean(s.tail(0.25)),
        )
        for part, s in meant.items()
    )
    return graded(
        Severity.CRITICAL if frozen or fell else Severity.WARNING,
        "the reward rises from {early} to {late} because of {driver}, while {what} that checks the {aim} {how} ({stuck}); "
        "{look} with the highest reward",
        Seen(
            metric=others[driver].name,
            onset=start[0] if start else float(reward_mean.steps[0]),
            interval=start[1] if start else None,
            evidence=(
                Evidence(text="total reward", series=reward_mean),
                Evidence(text=f"rises: {driver}", series=others[driver]),
                *(Evidence(text=f"checks the {aim}: {k}", series=s) for k, s in answers.items()),
            ),
        ),
        early=facts.mean(reward_mean.finite.head(0.25)),
        late=facts.mean(reward_mean.finite.tail(0.25)),
        driver=driver,
        what="the component" if len(answers) == 1 else "a component",
        aim=aim,
        how=how,
        stuck=stuck,
        look=look,
        confidence=Confidence.HIGH if frozen or fell else Confidence.LOW,
        numbers={"component": driver, "frozen": frozen},
    )


def _gained(curve: Series) -> float:
    """What the mean of the last quarter has over that of the first: a sparse component has a median of 0."""
    return float(np.mean(curve.tail(0.25).values) - np.mean(curve.head(0.25).values))


def _failures_pay(success: Series | None, returns: Series | None, lengths: Series | None, least: int) -> Finding | None:
    """Episodes that succeed end early, and return far less than those that run into their time limit."""
    if success is None or returns is None or lengths is None or not np.array_equal(returns.steps, lengths.steps):
        return None
    told, early = success.finite, lengths.values < np.max(lengths.finite.values, initial=0.0)
    ends, until = np.r_[0, np.cumsum(early)], np.searchsorted(lengths.steps, told.steps, side="right")
    since = np.maximum(until - WINDOW, 0)
    share = (ends[until] - ends[since]) / np.maximum(until - since, 1)
    off = [float(np.mean(np.abs(told.values - these))) if len(told) else np.inf for these in (share, 1 - share)]
    if off[0] > SAME_SHARE / 2 or off[1] < SAME_SHARE or len(told) < least or rises(told.tail(0.5)):
        return None  # an episode that ends early may have failed, or nothing shows which
    late, cut = returns.finite.tail(0.5), ~early[-len(returns.finite.tail(0.5)) :]
    if min(cut.sum(), (~cut).sum()) < least or float(np.mean(told.tail(0.5).values)) > MOSTLY:
        return None
    failed, succeeded = replace(late, values=late.values[cut], steps=late.steps[cut]), late.values[~cut]
    if median(succeeded) <= 0 or median(failed.values) < MORE * median(succeeded):
        return None
    what = facts.tell(
        "episodes that run into the time limit return {failed} (median), {times} times as much as those that succeed early "
        "({share:%} of all): not to succeed pays; pay more for the goal, and take away for steps back what steps forward earn",
        share=facts.mean(told.tail(0.5)),
        failed=facts.median(failed),
        times=number(median(failed.values) / median(succeeded)),
    )
    return _beside_successes(returns, success, what, Severity.WARNING, float(returns.steps[0]))


def _without_success(reward: Series, success: Series) -> Finding:
    """The return rises, and fewer episodes succeed."""
    what = facts.tell(
        "the reward rises by {change}, and the share of successes falls from {before} to {now}: something else than success "
        "pays; compare the returns of episodes that succeed and that fail",
        change=facts.change(reward),
        before=facts.mean(success.head(0.25)),
        now=facts.mean(success.tail(0.25)),
    )
    onset, interval = departure(success) or (float(success.steps[0]), None)
    return _beside_successes(reward, success, what, Severity.CRITICAL, onset, interval)


def _never_succeeds(reward: Series, success: Series) -> Finding:
    """The return rose and stays, and hardly any episode succeeds."""
    what = facts.tell(
        "the reward rose by {change} and stays there, and {share:%} of the episodes succeed: something else than success "
        "pays best; compare the return of a success with that of an episode of now",
        change=facts.change(reward),
        share=facts.mean(success.tail(0.5)),
    )
    return _beside_successes(reward, success, what, Severity.WARNING, float(reward.steps[0]))


def _beside_successes(
    reward: Series, success: Series, what: str, severity: Severity, onset: float, interval: Interval | None = None
) -> Finding:
    drawn = (Evidence(text="reward", series=reward), Evidence(text="share of successes", series=success))
    return graded(
        severity,
        what,
        Seen(metric=success.name, onset=onset, interval=interval, evidence=drawn),
        numbers={"component": success.name, "frozen": False},
    )


def _at_its_best(series: Series) -> bool:
    """Already right most of the time: late values at the top of what was ever seen, and that top is positive."""
    low, top = float(series.values.min()), float(series.values.max())
    return top > 0 and late_median(series) >= max(0.9 * top, (low + top) / 2)
