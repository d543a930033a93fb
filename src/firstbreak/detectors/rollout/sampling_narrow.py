"""Training samples from a narrower distribution than the policy has.

## What it looks for
The sampling options of the rollouts: {temperature} below `cold`, or {top_p} below `narrow`.

## Why it matters
A group needs different answers to learn from: sampled cold, its completions are nearly the same, their rewards too, and
no advantage is left. A nucleus that leaves tokens out also scores them with probabilities that they were not drawn with.

## When it is a false alarm
Distillation and evaluation sample cold on purpose. A temperature of 0.6 to 1 and a nucleus of 0.9 or more are usual.

## Fix
- Sample rollouts at {temperature} 1 and {top_p} 1; keep other values for the evaluation.
- If a colder policy is wanted, divide the trainer's logits by the same temperature.

## Smallest experiment
Sample one prompt 32 times at {temperature} 1 and at the present setting, and count distinct answers.

## References
https://arxiv.org/abs/2503.14476
"""

from __future__ import annotations

from firstbreak.model import Confidence, Config, Finding, NotApplicable, NotMeasured, Severity


def detect(
    config: Config,
    writes_text: bool | None = None,
    family: str | None = None,
    *,
    cold: float = 0.45,
    narrow: float = 0.8,
) -> Finding | NotApplicable | NotMeasured | None:
    if not writes_text or family == "preference":
        return NotApplicable("nothing is sampled from a language model during this training")
    known = {name: config.number(name) for name in ("temperature", "top_p") if name not in config.defaulted}
    if all(value is None for value in known.values()):
        return NotMeasured("the sampling temperature and the nucleus of the rollouts are not recorded")
    temperature, top_p = known.get("temperature"), known.get("top_p")
    too_cold = temperature is not None and 0 <= temperature < cold
    too_narrow = top_p is not None and 0 < top_p < narrow
    if not too_cold and not too_narrow:
        return None
    what = " and ".join(
        text
        for text, holds in (
            (f"a temperature of {temperature:g}" if temperature is not None else "", too_cold),
            (f"a nucleus of {top_p:g}" if top_p is not None else "", too_narrow),
        )
        if holds
    )
    return Finding(
        message=f"rollouts are sampled with {what}: groups hardly differ; sample training data at 1 and keep it for evaluation",
        severity=Severity.WARNING,
        confidence=Confidence.HIGH,
        onset=None,
        facts={"temperature": temperature, "top_p": top_p},
    )
