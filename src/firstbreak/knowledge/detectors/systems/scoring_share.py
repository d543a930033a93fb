"""Scoring takes a large share of a step.

Looks for: The time in which rewards are computed, as a share of the whole step: its growth compared with the start of
the run, and its level at the end.
Why: A reward model, a judge or a sandbox that cannot keep up holds up generation and training. Its queue grows, calls
time out, and answers that were right are graded as wrong. Half of a step and more is the bottleneck, whether it grew or
not.
False alarm: Scoring that runs beside generation: its time then overlaps with that of the rollout. A large judge is slow
by nature, and may be worth its time.
Fix:
- Score in parallel: more workers, larger batches of the reward model, or more judges.
- Set a timeout, and count the answers that were not scored.
- Cache the scores of equal answers, and skip scoring where an answer has the wrong format.
Experiment: Score one saved batch with one worker and with four: if the time falls to a quarter, scoring needs workers;
if it does not, look at what all of them wait for.
References: https://arxiv.org/abs/2409.19256
"""

from collections.abc import Mapping

from firstbreak.engine.checks import at
from firstbreak.knowledge.detectors.systems._shares import share, step_time, takes_over
from firstbreak.model import Finding, NotMeasured, Series, Severity


def detect(
    time_reward: Series,
    time: Mapping[str, Series],
    *,
    min_increase: float = at(0.2, "share", "Of a step: a fifth more than before."),
    high: float = at(0.5, "share", "Scoring then takes more than generation usually does."),
    max_p_value: float = at(0.01, "probability", "A break that is less probable by chance is certain."),
    min_points: int = at(12, "points", "Fewer steps show no growth."),
) -> Finding | NotMeasured | None:
    whole = step_time(time)
    if whole is None:
        return NotMeasured("the time of a step is not logged")
    return takes_over(
        share(time_reward, whole),
        "scoring by the reward function {taken} and is the bottleneck; score in parallel, and count the answers whose scoring "
        "timed out",
        "scoring takes longer than the step: the two overlap, or are measured differently",
        metric="time.reward",
        high_alone=Severity.WARNING,
        high=high,
        min_increase=min_increase,
        max_p_value=max_p_value,
        min_points=min_points,
    )
