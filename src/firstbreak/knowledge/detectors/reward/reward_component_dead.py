"""A component of the reward never changes.

Looks for: Reward components that have one value in the whole run while others change. It is a warning where a reward for
the form of a text is never paid, and `formed` of the dumped samples close every tag that one of them opens.
Why: A constant component adds nothing to any advantage. Either the component can never be earned (its pattern does not
match what the model writes), or it is always earned. In both cases it teaches nothing.
False alarm: A penalty that is only given when something goes wrong (a penalty for cheating that stays at 0). A run of a
few steps.
Fix:
- Read ten completions, or watch ten episodes, and score them by hand against that reward function.
- Remove the component, or correct its pattern until a good sample earns the reward.
Experiment: Call the reward function on one hand-made sample that should earn the reward, and on one that should not.
References: https://arxiv.org/abs/2209.13085
"""

import re
from itertools import islice

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import Seen, at, graded
from firstbreak.model import Evidence, Finding, NotMeasured, Samples, Series, Severity
from firstbreak.patterns import pattern
from firstbreak.words import percent

OF_FORM = pattern(r"format|form|tag|xml|structure", re.IGNORECASE)
TAG = pattern(r"<([a-z_]{2,20})>")
MOST_SAMPLES, MIN_SAMPLES = 2000, 8


def detect(
    reward_component_mean: dict[str, Series],
    samples: Samples | None = None,
    *,
    formed: float = at(0.5, "share", "A model that does not know the form writes it now and then."),
    min_points: int = at(20, "points", "In fewer points a rare reward can be missing by chance."),
) -> Finding | NotMeasured | None:
    longest = max(len(s.finite) for s in reward_component_mean.values())
    if longest < min_points:
        return NotMeasured(f"{longest} points are too few to call a component constant (needs {min_points})")
    dead = {
        k: s for k, s in reward_component_mean.items() if len(s.finite) >= min_points and np.ptp(s.finite.values) == 0
    }
    if not dead or len(dead) == len(reward_component_mean):
        return None
    always = (facts.tell("{name} (always {value})", name=name, value=facts.first(s.finite)) for name, s in dead.items())
    unpaid = any(OF_FORM.search(name) and not s.finite.values.any() for name, s in dead.items())
    share = _formed(samples) if unpaid and samples is not None else 0.0
    told = facts.tell(", though {share} of the dumped samples have the form", share=percent(share))
    return graded(
        Severity.WARNING if share >= formed else Severity.NOTICE,
        "constant reward components teach nothing: {names}{told}; compute each of them for one hand-made good sample",
        Seen(
            metric=next(iter(dead.values())).name,
            onset=float(next(iter(dead.values())).steps[0]),
            interval=None,
            evidence=tuple(Evidence(text=name, series=s) for name, s in dead.items()),
        ),
        names=facts.joined(always),
        told=told if share >= formed else "",
        numbers={"dead": tuple(dead)},
    )


def _formed(samples: Samples) -> float:
    """The share of samples that have two kinds of tags or more, each of them closed, of those that any sample has."""
    texts = [sample.completion for sample in islice(samples, MOST_SAMPLES)]
    wanted = {tag for text in texts for tag in TAG.findall(text) if f"</{tag}>" in text}
    if len(texts) < MIN_SAMPLES or len(wanted) < 2:
        return 0.0
    return sum(all(f"<{tag}>" in text and f"</{tag}>" in text for tag in wanted) for text in texts) / len(texts)
