"""The training reward falls while the evaluation does not.

Looks for: A training reward that ends below its own earlier level by more than `min_drop` of that level, while the
evaluation keeps its level or rises.
Why: The policy is as good as before, or better, and gets less reward: failures of a judge or a tool are graded as wrong
answers, grades are lost, or a penalty was added. Every such reward pushes the policy away from right answers.
False alarm: Harder training problems on purpose (a curriculum, or solved prompts that are filtered out): they lower the
reward.
Fix:
- Count the samples whose grade is missing, timed out or raised an error, and leave them out of the loss.
- Compute the reward of the evaluation's problems with the verifier of training.
Experiment: Grade twenty completions with reward 0 again with a verifier that works: those that pass now were graded
wrongly.
References: https://arxiv.org/abs/2505.22203
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import Seen, at, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.direction import falls, rises
from firstbreak.engine.stats.onset import onset
from firstbreak.engine.stats.shape import trajectory
from firstbreak.model import Confidence, Evidence, Finding, Interval, NotApplicable, NotMeasured, Series
from firstbreak.words import number

FAMILIES = only(Policy.TEXT, why="exploration makes returns of training differ from those of the evaluation")


def detect(
    eval_score: Series,
    reward_mean: Series,
    *,
    min_drop: float = at(0.2, "share", "A smaller fall can come from other prompts in the batches."),
    min_points: int = at(20, "points", "Fewer training rewards do not show an earlier and a later level."),
    min_evaluations: int = at(6, "evaluations", "Fewer evaluations do not show that the level was kept."),
) -> Finding | NotApplicable | NotMeasured | None:
    rewards = reward_mean.finite
    if len(rewards) < min_points or len(eval_score) < min_evaluations:
        return NotMeasured(f"needs {min_points} training rewards and {min_evaluations} evaluations")
    if float(np.mean(rewards.values == rewards.values.min())) > 0.5:
        return NotMeasured("most training rewards are the lowest one, so that a level is that of a few successes")
    windows = [float(np.mean(part)) for part in np.array_split(rewards.values, 8)]
    best, late = max(windows), float(np.mean(windows[-2:]))
    room = best - float(np.min(rewards.values))
    if room <= 0 or best - late < min_drop * max(abs(best), room) or not _keeps(eval_score):
        return None
    began = onset(rewards, direction=-1)
    if began is None and not falls(rewards) and not trajectory(rewards).lost:
        return None
    third = max(1, len(eval_score) // 3)
    first, last = float(np.mean(eval_score.values[:third])), float(np.mean(eval_score.values[-third:]))
    meanwhile = f"rose from {number(first)} to {number(last)}" if rises(eval_score) else "kept its level"
    return warning(
        "the training reward fell from {best} (its best eighth) to {late} while the evaluation {meanwhile}: the policy gets "
        "less reward for the same answers, so the reward does not measure what the evaluation does; count the samples "
        "whose grader failed or timed out, then grade twenty low samples by hand",
        Seen(
            metric=rewards.name,
            onset=began.step if began else None,
            interval=began.interval if began else None,
            evidence=(Evidence(text="training reward", series=rewards), Evidence(text="evaluation", series=eval_score)),
        ),
        best=facts.mean(rewards.between(*_of_window(rewards, windows.index(best)))),
        late=number(late),
        meanwhile=meanwhile,
        confidence=Confidence.MEDIUM,
        numbers={"before": best, "after": late},
    )


def _of_window(rewards: Series, i: int) -> Interval:
    """First and last step of one of the eighths."""
    steps = np.array_split(rewards.steps, 8)[i]
    return float(steps[0]), float(steps[-1])


def _keeps(evaluation: Series) -> bool:
    """The last evaluations are no worse than the median of all before them."""
    n = max(2, len(evaluation) // 4)
    return float(np.mean(evaluation.values[-n:])) >= float(
        np.max([np.median(evaluation.values[:-n]), evaluation.values[0]])
    )
