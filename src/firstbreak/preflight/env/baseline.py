"""The cruder, very effective test: is a simple rule clearly better than random actions?

If not even a hand-written or searched rule beats chance, then the reward, the observation or the wiring is wrong, or the
task is beyond a first attempt; a learner would only take longer to say the same.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from firstbreak.model import Interval, NotMeasured
from firstbreak.preflight import Answer, Bars, ReportTable, critical, histogram, intervals, warning
from firstbreak.preflight.env.actions import corners
from firstbreak.preflight.env.episodes import SPELL, Policy, Score, Seeds, at_random, play, scores
from firstbreak.values import dataclass
from firstbreak.words import number, percent

MIN_EPISODES = 30  #: random episodes with equal returns: a difference in 1 of 10 would have shown (rule of three)
MAX_INPUT = 600  #: observation components: with more, a search over weights finds nothing (convention)
POPULATION, ELITE = 16, 4  #: rules of one generation, and those that the next one is drawn from (convention)
AGAIN, FINALISTS = 5, 4  #: further episodes, for so many of the best rules, so that luck does not choose (convention)


@dataclass(frozen=True)
class BaselineComparison:
    """The returns of random actions and of an expert, and what the expert is."""

    random: np.ndarray  #: shape (n,)
    expert: np.ndarray  #: shape (m,); empty where there is none
    source: str  #: "your function", "a linear rule", "always action 1", ""
    given: bool  #: by the user

    @property
    def finite(self) -> bool:
        """Whether every return is a number."""
        return bool(np.isfinite(self.random).all() and np.isfinite(self.expert).all())

    @property
    def improvement(self) -> tuple[float, Interval]:
        """Probability that an episode of the expert returns more than a random one, with its interval."""
        return intervals.improvement(self.expert, self.random)

    @property
    def gain(self) -> Interval:
        """95 % bootstrap interval of the difference of the mean returns."""
        draws = [v[intervals.resamples(len(v), i)].mean(axis=1) for i, v in enumerate((self.expert, self.random))]
        return intervals.percentile(draws[0] - draws[1])


def compare(
    env: Any, random: Sequence[Score], expert: Policy | None, seeds: Seeds, episodes: int, steps: int, sound: bool
) -> BaselineComparison:
    """`expert`, or the best simple rule that `steps` steps of search find, beside the random episodes.

    Nothing is searched where observations or rewards are not `sound`.
    """
    returns = np.array([s.total for s in random])
    found = search(env, seeds, steps) if expert is None and sound else (None, "")
    policy, source = found if expert is None else (expert, "your function")
    if policy is None:
        return BaselineComparison(returns, np.array([]), "", given=False)
    played, _ = scores(env, policy, seeds, episodes, steps)
    return BaselineComparison(returns, np.array([s.total for s in played]), source, given=expert is not None)


def verdict(baseline: BaselineComparison) -> Answer:
    """Whether there is something to learn, and whether the reward has the right sign."""
    random, expert = baseline.random, baseline.expert
    if not len(random):
        return NotMeasured("no episode could be played")
    if not baseline.finite:
        return NotMeasured("some returns are not numbers: correct the rewards first")
    if np.ptp(np.concatenate([random, expert])) == 0:
        if len(random) < MIN_EPISODES:
            return NotMeasured(f"all {len(random)} random episodes return {number(float(random[0]))}; raise --steps")
        return warning(
            f"do not train yet: every episode returns {number(float(random[0]))}, whatever the actions ({len(random)} random "
            f"episodes{' and ' + str(len(expert)) + ' of ' + baseline.source if len(expert) else ''}): there is nothing to "
            "learn from; reward progress, start nearer to the goal, or give a policy that reaches the goal with --expert"
        )
    if not len(expert):
        return NotMeasured("no simple rule fits these observations and actions: give one with --expert module:function")
    chance, (low, high) = baseline.improvement
    gain = baseline.gain
    seen = (
        f"{baseline.source} returns {number(float(expert.mean()))}, random actions {number(float(random.mean()))}; the "
        f"former is better in {percent(chance)} of pairs (95 % interval {percent(low)} to {percent(high)})"
    )
    if gain[0] > 0 and low > 0.5:
        return seen
    if not baseline.given:
        return NotMeasured(
            f"no simple rule that was found is better than random actions ({seen}): do not train before a policy of your own is; "
            "give it with --expert module:function"
        )
    if gain[1] < 0 and high < 0.5:
        return critical(
            f"do not train yet: {seen}. The expert is clearly worse than chance: the sign of the reward is reversed, or the "
            "actions are mapped wrongly; print the reward of one good and one bad step"
        )
    return critical(
        f"do not train yet: {seen}. The expert is not clearly better: the reward does not separate good from bad, or "
        "observations or actions are wired wrongly; replay one expert episode and read its rewards"
    )


def exhibits(baseline: BaselineComparison) -> tuple[ReportTable | Bars, ...]:
    """Both distributions, and their means with intervals."""
    groups = {"random": baseline.random} | ({"expert": baseline.expert} if len(baseline.expert) else {})
    if not len(baseline.random) or not baseline.finite:
        return ()
    rows = [
        (
            name if name == "random" else baseline.source,
            str(len(values)),
            number(float(values.mean())),
            " to ".join(number(float(f"{end:.4g}")) for end in intervals.percentile(draws)),
            number(float(np.median(values))),
        )
        for name, values in groups.items()
        for draws in (values[intervals.resamples(len(values))].mean(axis=1),)
    ]
    return (
        histogram("Return of an episode", groups),
        ReportTable(title="Means", columns=("policy", "episodes", "mean", "95 % interval", "median"), rows=tuple(rows)),
    )


def search(env: Any, seeds: Seeds, steps: int) -> tuple[Policy | None, str]:
    """The best of constant actions and linear rules within `steps` steps, and what it is in words.

    Linear rules are searched with the cross-entropy method (Szita and Lorincz 2006) on standardised observations.
    """
    budget = Budget(env, seeds, steps)
    found: list[tuple[float, Policy, str]] = []
    for action in corners(env.action_space)[:8]:
        policy: Policy = lambda *_, a=action: a  # noqa: E731
        said = f"always action {np.array2string(np.asarray(action), precision=2)}"
        found.append((budget.mean(policy, 1), policy, said))
    rule = _linear_rules(env)
    if rule is not None:
        found += [(value, rule(weights), "a linear rule") for value, weights in _cross_entropy(rule, budget)]
    finalists = sorted(found, key=lambda f: -f[0])[:FINALISTS]
    if not finalists:
        return None, ""
    budget = Budget(env, seeds, steps // 2)
    again = [(budget.mean(policy, AGAIN), -i) for i, (_, policy, _) in enumerate(finalists)]
    _, policy, name = finalists[-max(again)[1]]
    return policy, name


class Budget:
    """Episodes on one environment until the steps or the seconds are used up."""

    def __init__(self, env: Any, seeds: Seeds, steps: int) -> None:
        self.env, self.seeds, self.left = env, seeds, steps
        self.until = time.perf_counter() + SPELL

    @property
    def used_up(self) -> bool:
        """Whether no further rule may be tried."""
        return self.left <= 0 or time.perf_counter() > self.until

    def mean(self, policy: Policy, episodes: int) -> float:
        """Mean return; minus infinity where nothing is left to play with."""
        if self.used_up:
            return -np.inf
        played, _ = scores(self.env, policy, self.seeds, episodes, self.left)
        self.left -= sum(s.length for s in played)
        return float(np.mean([s.total for s in played]))


@dataclass(frozen=True)
class Rule:
    """Actions linear in the standardised observation."""

    shape: tuple[int, int]  #: (outputs, inputs + 1)
    features: Callable[[Any], np.ndarray]
    act: Callable[[np.ndarray], Any]

    def __call__(self, weights: np.ndarray) -> Policy:
        matrix = weights.reshape(self.shape)
        return lambda observation, info: self.act(matrix @ self.features(observation))


def _linear_rules(env: Any) -> Rule | None:
    """How weights become a policy on these spaces; None for spaces that a linear rule cannot serve."""
    from gymnasium import spaces
    from gymnasium.spaces.utils import flatdim, flatten

    space, seen = env.action_space, env.observation_space
    try:
        inputs = flatdim(seen)
    except (NotImplementedError, ValueError):
        return None
    if inputs > MAX_INPUT:
        return None
    sample = np.stack([np.asarray(flatten(seen, o), float) for o in _observations(env)])
    centre, spread = sample.mean(axis=0), sample.std(axis=0) + 1e-8
    if not (np.isfinite(centre).all() and np.isfinite(spread).all()):
        return None

    def features(observation: Any) -> np.ndarray:
        return np.append(np.clip((np.asarray(flatten(seen, observation), float) - centre) / spread, -10, 10), 1.0)

    match space:
        case spaces.Discrete():
            return Rule((int(space.n), inputs + 1), features, lambda out: np.int64(space.start + np.argmax(out)))
        case spaces.Box() if len(space.shape) == 1 and np.isfinite(space.low).all() and np.isfinite(space.high).all():
            half, middle = (space.high - space.low) / 2, (space.high + space.low) / 2
            return Rule(
                (space.shape[0], inputs + 1), features, lambda out: (middle + half * np.tanh(out)).astype(space.dtype)
            )
    return None


def _observations(env: Any) -> list[Any]:
    """A few hundred observations under random actions."""
    episodes = [play(env, at_random(env.action_space, i), seed=None, most=100) for i in range(4)]
    return [observation for episode in episodes for observation in episode.observations]


def _cross_entropy(rule: Rule, budget: Budget) -> list[tuple[float, np.ndarray]]:
    """(return, weights) of every rule tried, generation after generation until the budget is used up."""
    rng = np.random.default_rng(0)
    centre, spread = np.zeros(rule.shape[0] * rule.shape[1]), np.ones(rule.shape[0] * rule.shape[1])
    tried: list[tuple[float, np.ndarray]] = []
    for generation in itertools.count():
        if budget.used_up or generation == 30:
            break
        weights = centre + spread * rng.normal(size=(POPULATION, len(centre)))
        results = [(budget.mean(rule(w), 1), w) for w in weights]
        tried += [(value, w) for value, w in results if np.isfinite(value)]
        elite = np.stack([w for _, w in sorted(results, key=lambda r: -r[0])[:ELITE]])
        if np.ptp([value for value, _ in results]) > 0:  # where all are alike, go on looking everywhere
            centre, spread = elite.mean(axis=0), elite.std(axis=0) + 0.1
    return tried
