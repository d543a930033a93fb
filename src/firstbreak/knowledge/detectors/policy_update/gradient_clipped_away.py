"""The gradient is clipped to nothing.

Looks for: A configured limit of the gradient's norm that is at most `max_limit`, and a logged norm that is more than
`min_ratio` times larger.
Why: What is left of the gradient is lost beside the constant that Adam adds to its denominator (1e-8), or is a step of
nearly 0.
False alarm: A loss that is scaled on purpose, so that such norms are usual: then the logged norm is as small.
Fix:
- Set {grad_clip} to a value near the usual norm: 0.5 or 1.
Experiment: Compare the weights before and after one update.
References: https://docs.pytorch.org/docs/stable/generated/torch.optim.Adam.html
"""

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, seen_since
from firstbreak.engine.stats.points import median
from firstbreak.model import Config, Finding, NotMeasured, Series
from firstbreak.words import number


def detect(
    grad_norm: Series,
    config: Config,
    *,
    max_limit: float = at(1e-5, "norm", "Spread over a million weights, it is below Adam's constant."),
    min_ratio: float = at(100.0, "ratio", "A norm that is as small as its limit is not clipped away."),
) -> Finding | NotMeasured | None:
    limit = config.number("grad_clip")
    norms = grad_norm.finite
    if limit is None or not len(norms):
        return NotMeasured("no limit of the gradient's norm is recorded")
    usual = median(norms.values)
    if not 0 < limit <= max_limit or usual < min_ratio * limit:  # 0 is no limit to most trainers
        return None
    start = float(norms.steps[0])
    return critical(
        "the gradient's norm is {usual}, and is clipped to {limit} ({option}); raise the limit",
        seen_since(norms, "norm of the gradient", start, level=limit),
        usual=facts.median(norms),
        limit=number(limit),
        option=config.option("grad_clip"),
    )
