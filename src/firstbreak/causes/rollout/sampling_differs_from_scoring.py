"""Sampling and scoring use different settings

## What happens
The engine samples at another temperature or from a truncated distribution, and the trainer scores the text under the
full one. The ratio is wrong from the first update on.

## When it is healthy
A mismatch metric that compares scaled with unscaled logits and is constant.

## Fix
- Use the same {temperature} in sampling and in the log-probabilities; {top_p} = 1.
- Check the ratio of the first minibatch: it must be 1.

## Smallest experiment
One update with learning rate 0: ratio 1 and divergence 0, or the settings differ.

## References
https://github.com/verl-project/verl/issues/4162
"""

from __future__ import annotations

from firstbreak.inputs import Inputs
from firstbreak.model import Experiment, Weight

PRIOR = 0.7
FINDINGS = {
    "first-update-not-on-policy": 0.7,
    "sampling-narrow": 0.4,
    "train-inference-mismatch": 0.6,
    "training-above-evaluation": 0.6,
    "samples-identical": 0.2,
    "importance-weight-off": 0.3,
    "entropy-stays-high": 0.2,
    "zero-variance-groups": 0.4,
    "score-lost": 0.3,
}
EXPERIMENT = Experiment(
    id="same-tokens",
    overrides={"learning_rate": 0.0},
    length=0.1,
    measure="policy.ratio.mean",
    if_cause="do trainer and engine give the same tokens different probabilities? yes",
    weight=3.9,
)


def applies(inputs: Inputs) -> bool:
    """Only policies that write text."""
    return bool(inputs.get("writes_text"))


def facts(inputs: Inputs) -> list[Weight]:
    """Sampling options other than 1, which the scoring has to know of."""
    known = {name: inputs.run.config.number(name) for name in ("temperature", "top_p")}
    changed = {name: value for name, value in known.items() if value is not None and value != 1}
    if None in known.values() or any(name in inputs.run.config.defaulted for name in known):
        return []
    if not changed:
        return [
            Weight(finding="config", weight=-0.5, text="rollouts are said to be sampled at temperature 1 and top-p 1")
        ]
    what = " and ".join(f"{name} {value:g}" for name, value in changed.items())
    return [Weight(finding="config", weight=1.0, text=f"rollouts are sampled with {what}")]
