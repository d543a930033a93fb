"""Nearly every sample gets the full reward from the start.

Looks for: A mean reward between 0 and 1 that is at least `min_level` over the first points and stays there, without an
evaluation that is as high. Where an evaluation starts lower, the reward and not the policy is the reason.
Why: Where all samples get the same reward, none is better than another: advantages are 0, and nothing is learned. A
reward that pays nearly every answer before training is too loose, or the problems are too easy for this policy.
False alarm: A policy that has solved these problems: the evaluation is as high. A later part of a longer run.
Fix:
- Use harder prompts, or filter out those that the untrained policy always solves.
- Make the reward stricter: score separate parts of the answer, and demand all of them.
- Read ten completions with the full reward, and look for one that is wrong.
Experiment: Grade fifty completions of the untrained policy by hand: if many have the full reward and are wrong, the
reward is too loose; if they are right, the prompts are too easy.
References: https://arxiv.org/abs/2503.14476
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, graded, seen_since
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.points import median
from firstbreak.knowledge.detectors._start import continued
from firstbreak.model import Confidence, Expected, Finding, NotMeasured, Series, Severity
from firstbreak.words import number

FAMILIES = only(Policy.TEXT, why="only rewards of answers are shares of a highest reward")


def detect(
    reward_mean: Series,
    eval_score: Series | None = None,
    zero_variance_groups: Series | None = None,
    *,
    min_level: float = at(0.93, "share", "Of the full reward: one sample in twenty tells something at most."),
    min_gap: float = at(0.1, "share", "An evaluation so far below is not as good as the reward says."),
    silent_groups: float = at(0.7, "share", "With so many groups without variance little is left to learn from."),
    first_share: float = at(0.05, "share", "Of the run: so early the policy has hardly learned anything."),
    min_points: int = at(12, "points", "Fewer rewards show no level."),
) -> Finding | Expected | NotMeasured | None:
    rewards = enough(reward_mean.finite, min_points, "rewards")
    if rewards.values.min() < 0 or rewards.values.max() > 1:
        return NotMeasured("the reward does not lie between 0 and 1, so its highest value is unknown")
    first = float(np.mean(rewards.values[: max(3, round(first_share * len(rewards)))]))
    level = median(rewards.values)
    if min(first, level) < min_level or continued(rewards):
        return None
    judged = None if eval_score is None or not len(eval_score.finite) else median(eval_score.finite.values)
    below = judged is not None and 0 <= judged < level - min_gap
    if judged is not None and judged >= min_level:
        return Expected(
            facts.tell(
                "the reward is {level} from the start, and the evaluation {judged}: it is solved",
                level=facts.median(rewards),
                judged=number(judged),
            )
        )
    no_signal = zero_variance_groups is not None and median(zero_variance_groups.finite.values) >= silent_groups
    beside = f", while the evaluation is {number(judged)}" if below and judged is not None else ""
    step = float(rewards.steps[0])
    return graded(
        Severity.WARNING if below or no_signal else Severity.NOTICE,
        "the reward is {level} of 1 from the start{beside}: nearly every sample gets the full reward, so none teaches "
        "anything; the reward is too loose or the prompts are too easy: use harder prompts, and score parts of the answer "
        "separately",
        seen_since(reward_mean, f"mean reward {number(level)}", step, level=1.0),
        level=facts.median(rewards),
        beside=beside,
        confidence=Confidence.HIGH if below and no_signal else Confidence.MEDIUM,
        numbers={"level": level, "evaluation": judged},
    )
