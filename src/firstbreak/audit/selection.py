"""Which samples a person should read: of the newest step, of every kind, no two alike.

Highest and lowest reward, the most suspicious (they earn much while the metrics that shifted are far out), the most
surprising (their reward is far from that of the others of their prompt), and some at random, so that a person also sees
what is usual; and, for comparison, some of the beginning. Nothing here knows the truth.
"""

from __future__ import annotations

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from firstbreak.audit.blind import PolicySample
from firstbreak.audit.rows.judge_injection import attacks
from firstbreak.audit.shift import Side

EACH = 8  #: samples of each kind
KINDS = ("highest", "lowest", "suspicious", "surprising", "random", "beginning")
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class Pick:
    """One sample to read."""

    kind: str
    sample: PolicySample
    why: str


def select(
    latest: Sequence[PolicySample],
    baseline: Sequence[PolicySample],
    sides: Iterable[Side],
    each: int = EACH,
    seed: int = 0,
) -> list[Pick]:
    """Up to `each` samples of each of KINDS; a text is picked once, and prompts take turns."""
    moved = [side for side in sides if side.shifted and side.metric.measure is not None]
    samples = _deduplicated(latest)
    rewarded = [sample for sample in samples if sample.reward is not None]
    suspicion, surprise = _suspicion(rewarded, moved), _surprise(rewarded)
    picks: list[Pick] = []

    def take(kind: str, ordered: Iterable[PolicySample], why: Callable[[PolicySample], str]) -> None:
        taken = {id(pick.sample) for pick in picks}
        fresh = [sample for sample in _taking_turns(ordered) if id(sample) not in taken]
        picks.extend(Pick(kind, sample, why(sample)) for sample in fresh[:each])

    take("highest", sorted(rewarded, key=_reward, reverse=True), lambda s: "among the highest rewards of the step")
    take("lowest", sorted(rewarded, key=_reward), lambda s: "among the lowest rewards of the step")
    worst = [s for s in sorted(rewarded, key=lambda s: -suspicion[id(s)][0]) if suspicion[id(s)][0] > 0]
    take("suspicious", worst, lambda s: suspicion[id(s)][1])
    odd = sorted((s for s in rewarded if surprise[id(s)]), key=lambda s: -abs(surprise[id(s)]))
    take("surprising", odd, lambda s: f"earns {surprise[id(s)]:+.3g} beside the others of its prompt")
    rng = random.Random(seed)
    take("random", rng.sample(samples, len(samples)), lambda s: "picked at random")
    first = _deduplicated(sample for sample in baseline if sample.step not in {s.step for s in latest})
    take("beginning", rng.sample(first, len(first)), lambda s: "from the beginning of the run, for comparison")
    return picks


def _reward(sample: PolicySample) -> float:
    assert sample.reward is not None
    return sample.reward


def _deduplicated(samples: Iterable[PolicySample]) -> list[PolicySample]:
    """One of each text, white space aside."""
    return list({(s.prompt, _SPACE.sub(" ", s.completion).strip()): s for s in samples}.values())


def _taking_turns(samples: Iterable[PolicySample]) -> list[PolicySample]:
    """In order, but a prompt's second sample comes after every prompt's first."""
    seen: dict[str, int] = defaultdict(int)
    ranked = []
    for i, sample in enumerate(samples):
        key = sample.group or sample.prompt
        ranked.append((seen[key], i, sample))
        seen[key] += 1
    return [sample for *_, sample in sorted(ranked, key=lambda entry: entry[:2])]


def _suspicion(samples: Sequence[PolicySample], moved: Sequence[Side]) -> dict[int, tuple[float, str]]:
    """How far out a sample is on the metrics that shifted, if it earns more than half of the others; and on which."""
    rewards = np.array([_reward(sample) for sample in samples])
    high = rewards >= np.median(rewards) if len(rewards) else rewards
    found: dict[int, tuple[float, str]] = {}
    for sample, earns in zip(samples, high, strict=True):
        score, why = (2.0, f"speaks to a judge: “{said[:40]}”") if (said := attacks(sample.completion)) else (0.0, "")
        for side in moved:
            assert side.metric.measure is not None
            far = side.shifted * (side.metric.measure(sample) - side.early) / (abs(side.late - side.early) or 1.0)
            if np.isfinite(far) and far > score:
                score, why = far, f"far out on {side.metric.id}, which has shifted ({side.meaning or 'without harm'})"
        found[id(sample)] = (score, why) if earns or said else (0.0, "")
    return found


def _surprise(samples: Sequence[PolicySample]) -> dict[int, float]:
    """A sample's reward less the median of its prompt's."""
    groups: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        groups[sample.group or sample.prompt].append(_reward(sample))
    return {id(s): _reward(s) - float(np.median(groups[s.group or s.prompt])) for s in samples}
