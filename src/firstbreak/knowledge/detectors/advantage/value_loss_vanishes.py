"""The value loss is nearly 0, although episodes still end differently.

Looks for: A value loss whose largest values also fall below 1 / `min_ratio` of its own highest level, while the score
is not at its highest possible value and the returns still differ from one episode to the next. The loss is a square of
returns: where the returns became smaller, the limit becomes smaller with their square.
Why: A critic that is never wrong predicts a target that no longer depends on what happens: values are bootstrapped
through the ends of episodes (a done flag is ignored, or ends are taken for time limits). Every state then has the same
value, and the advantages are noise.
False alarm: A solved task whose episodes all reach the time limit: there the values really are all the same. A loss
that is small in most minibatches and large where an episode ends, as with few steps per update, is not reported. A
critic that explains more than `max_explained_variance` of the returns has learned them: a target that does not depend
on what happens would leave the critic nothing to explain. Running means over many episodes (`ep_len_mean`) do not show
whether two episodes differ.
Fix:
- Print reward, done, time limit and bootstrapped target for one episode end: after a real end the target is the reward.
- In Gymnasium, bootstrap where `truncated`, never where `terminated`.
Experiment: An environment that ends after one step with reward 1: its value must be 1, not 1 / (1 - {gamma}).
References: https://arxiv.org/abs/1712.00378 https://github.com/DLR-RM/stable-baselines3/issues/284
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, seen_since, warning
from firstbreak.engine.families import UNKNOWN, Method, Policy, only
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.model import Expected, Finding, NotApplicable, NotMeasured, Series, Statistic
from firstbreak.words import number

FAMILIES = only(Method.ACTOR_CRITIC, UNKNOWN, why="only where a critic learns the returns")


def detect(
    value_loss: Series,
    episode_length: Series | None = None,
    reward_episode: Series | None = None,
    reward_mean: Series | None = None,
    value_explained_variance: Series | None = None,
    solved: bool | None = None,
    policy: Policy = Policy.CONTROL,
    *,
    min_ratio: float = at(100.0, "ratio", "A critic that learns well lowers its loss too, but by less than this."),
    min_difference: float = at(0.05, "share", "Returns that differ less, in shares of their mean, are equal."),
    max_explained_variance: float = at(0.5, "share", "A critic that has learned reaches 0.99.", "lab"),
    late_quantile: float = at(0.98, "quantile", "The critic must never be wrong, and not only in most minibatches."),
    top_quantile: float = at(0.99, "quantile", "In a long run, the first updates of an untrained critic are no level."),
    min_points: int = at(20, "points", "Fewer points do not show a highest level and a late one."),
) -> Finding | Expected | NotApplicable | NotMeasured | None:
    loss = enough(value_loss.finite, min_points, "value losses")
    ends = next(
        (s.finite for s in (reward_episode, episode_length) if s is not None and len(s.finite) >= min_points), None
    )
    if ends is None:
        samples = "completions" if policy is Policy.TEXT else "episodes"
        return NotMeasured(f"neither returns nor lengths of single {samples} are logged")
    smooth = np.convolve(loss.values, np.ones(5) / 5, mode="valid")
    top = float(np.quantile(smooth, top_quantile, method="higher"))
    late = float(np.quantile(smooth[3 * len(smooth) // 4 :], late_quantile))
    if top <= 0 or late * min_ratio * _shrunk(reward_episode or reward_mean) ** 2 > top:
        return None
    last = ends.tail(0.25).values
    apart = float(np.std(np.diff(last)) / np.sqrt(2))  # of neighbours: a trend of running means is no spread
    if solved or apart < min_difference * abs(np.mean(last)):
        return Expected(f"the value loss fell to {number(late)} because all returns are equal")
    known = value_explained_variance.finite.tail(0.25).values if value_explained_variance is not None else np.empty(0)
    if len(known) and np.median(known) > max_explained_variance:
        return Expected(f"the value loss fell to {number(late)} because the critic explains the returns")
    since = first_sustained(loss, lambda values: values * 10 < top)
    return warning(
        "the value loss fell from {top} to {late} although returns still vary by {apart}: the critic's targets do not "
        "depend on how {sample} ends; print the target at one such end",
        seen_since(value_loss, "value loss", since, None if since is None else (float(loss.steps[0]), since)),
        top=facts.of(Statistic.QUANTILE, loss, top_quantile),
        late=facts.of(Statistic.QUANTILE, loss.tail(0.25), late_quantile),
        apart=number(apart),
        sample="a completion" if policy is Policy.TEXT else "an episode",
        numbers={"times": top / late if late > 0 else np.inf},
    )


def _shrunk(returns: Series | None) -> float:
    """How many times smaller the returns are now than when they were largest; 1 where that is not known."""
    sizes = np.abs(returns.finite.values) if returns is not None else np.empty(0)
    if len(sizes) < 20:
        return 1.0
    levels = [float(np.median(part)) for part in np.array_split(sizes, 20)]
    return max(levels) / levels[-1] if levels[-1] > 0 else 1.0
