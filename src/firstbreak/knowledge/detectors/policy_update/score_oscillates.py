"""The score swings between good and bad and does not settle.

Looks for: How much neighbouring evaluations of the second half differ, beyond what their own noise explains, as a share
of everything that was gained. From `swing_warning` of the gain on, the policy itself swings. If the noise of an
evaluation is not recorded, the measurement may swing as well: then the limit is `unknown_noise_factor` times as high,
and the finding is a warning at most. Swings that are small against the score itself are left alone.
Why: The policy forgets and learns again. The quality of the saved checkpoint is luck, and a comparison with another run
says nothing.
False alarm: Evaluations of one or two episodes on a task with random starts. Self-play, where the opponent changes.
Fix:
- Evaluate on more episodes or prompts: first find out whether the policy swings or only its measurement.
- Lower {learning_rate}; use a larger {batch_size}. For off-policy methods, use a slower target network and a larger
  buffer.
- Keep the best checkpoint by evaluation, never the last.
Experiment: Evaluate three neighbouring checkpoints with fifty episodes or prompts each: if the three agree, the
measurement swings, and not the policy.
References: https://arxiv.org/abs/1709.06560
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, enough, graded, seen_since
from firstbreak.engine.stats.shape import Trajectory
from firstbreak.model import Confidence, Finding, NotApplicable, Role, Series, Severity
from firstbreak.words import percent

ROLES = (Role.SCORE_FELL,)


def detect(
    score: Series,
    trajectory: Trajectory,
    solved: bool | None = None,
    score_error: Series | None = None,
    *,
    swing_warning: float = at(0.25, "share of the gain", "A quarter of all that was gained."),
    swing_critical: float = at(0.5, "share of the gain", "Half of all that was gained."),
    min_range: float = at(0.25, "share", "Of the largest score: smaller swings hardly cost any of it."),
    unknown_noise_factor: float = at(1.6, "ratio", "Without a recorded noise it must swing further.", "lab"),
    min_points: int = at(16, "points", "Fewer scores show no swings."),
) -> Finding | NotApplicable | None:
    if not score.name.startswith("eval."):
        return NotApplicable("a training reward swings with its batches; only an evaluation shows a policy that swings")
    enough(score, min_points, "scores", "to see swings")
    late, best = score.tail(0.5), trajectory.best_step
    error = 0.0 if score_error is None else float(np.median(score_error.tail(0.5).values))
    between = float(np.std(np.diff(late.values))) / np.sqrt(2)
    own = float(np.sqrt(max(0.0, between**2 - error**2)))
    share = own / trajectory.gain if trajectory.gain > 0 else 0.0
    limit = swing_warning if score_error is not None else swing_warning * unknown_noise_factor
    small = float(np.ptp(late.values)) <= min_range * float(np.max(np.abs(late.values)))
    if solved or small or trajectory.kind == "flat" or (trajectory.kind != "oscillating" and share < limit):
        return None
    beyond = "more than their own noise" if score_error is not None else "and their own noise is not recorded"
    swings = share >= swing_critical or trajectory.kind == "oscillating"
    return graded(
        Severity.CRITICAL if swings and score_error is not None else Severity.WARNING,
        "over the second half {score} lies between {low} and {high}: neighbouring evaluations differ by {share} of all "
        "that was gained, {beyond}; keep the best checkpoint, and lower the learning rate",
        seen_since(score, "score", best, (float(score.steps[0]), max(best, float(late.steps[0])))),
        score=score.name,
        low=facts.lowest(late),
        high=facts.highest(late),
        share=percent(share),
        beyond=beyond,
        confidence=Confidence.HIGH if score_error is not None else Confidence.MEDIUM,
        numbers={"share": share},
    )
