"""Selects samples of the newest step for a person to read, without duplicates.

Before anything else it has FIRST samples each of the highest and the lowest rewards, and random ones, so that a person
also sees typical ones. What is left goes to more of these, to the most suspicious samples (a high reward and an extreme value
of a shifted metric), and to the most surprising (a reward far from the other samples of the prompt). For comparison, it has
samples from the beginning. Where all samples earn the same, none is the highest or the lowest. The selection does not use
the truth.
"""

import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from firstbreak.audit.rows.judge_injection import attacks, is_templated
from firstbreak.audit.shift import SideMetric
from firstbreak.audit.split_truth import PolicySample
from firstbreak.values import dataclass

EACH = 8  #: samples of each kind
FIRST = 4  #: of the highest, the lowest and random ones, before anything else
KINDS = ("highest", "lowest", "suspicious", "surprising", "random", "beginning")
ALIKE = "selected at random: all samples of the step have this reward, so none is the highest or the lowest"
_SPACE = re.compile(r"\s+")


@dataclass(frozen=True)
class SelectedSample:
    """One sample to read, with the reason."""

    kind: str
    sample: PolicySample
    why: str


def select(
    latest: Sequence[PolicySample], baseline: Sequence[PolicySample], sides: Iterable[SideMetric]
) -> list[SelectedSample]:
    """Up to EACH samples of each of KINDS. A text is selected once, and prompts take turns."""
    moved = [side for side in sides if side.shifted and side.metric.measure is not None]
    samples = _deduplicated(latest)
    rewarded = [sample for sample in samples if sample.reward is not None]
    suspicion, surprise = _suspicion(rewarded, moved, is_templated(baseline)), _surprise(rewarded)
    selected: list[SelectedSample] = []

    def take(kind: str, ordered: Iterable[PolicySample], why: Callable[[PolicySample], str], most: int = EACH) -> None:
        taken = {id(chosen.sample) for chosen in selected}
        fresh = [sample for sample in _taking_turns(ordered) if id(sample) not in taken]
        room = most - sum(chosen.kind == kind for chosen in selected)
        selected.extend(SelectedSample(kind, sample, why(sample)) for sample in fresh[: max(0, room)])

    rng = random.Random(0)
    # A sample above the median is no low one, whatever the turns of the prompts.
    ranked = sorted(rewarded, key=_reward)
    high, low = ranked[len(ranked) // 2 :][::-1], ranked[: (len(ranked) + 1) // 2]
    at_random = "selected at random"
    if len(ranked) > 1 and _reward(ranked[0]) == _reward(ranked[-1]):
        high, low, at_random = [], [], ALIKE
    shuffled = rng.sample(samples, len(samples))
    for most in (min(FIRST, max(1, len(samples) // 3)), EACH):
        take("highest", high, lambda s: "among the highest rewards of the step", most)
        take("lowest", low, lambda s: "among the lowest rewards of the step", most)
        if most == EACH:
            worst = [s for s in sorted(rewarded, key=lambda s: -suspicion[id(s)][0]) if suspicion[id(s)][0] > 0]
            take("suspicious", worst, lambda s: suspicion[id(s)][1])
            odd = sorted((s for s in rewarded if surprise[id(s)]), key=lambda s: -abs(surprise[id(s)]))
            take("surprising", odd, lambda s: f"its reward is {surprise[id(s)]:+.3g} beside the others of its prompt")
        take("random", shuffled, lambda s: at_random, most)
    first = _deduplicated(sample for sample in baseline if sample.step not in {s.step for s in latest})
    take("beginning", rng.sample(first, len(first)), lambda s: "from the beginning of the run, for comparison")
    return sorted(selected, key=lambda chosen: KINDS.index(chosen.kind))


def _reward(sample: PolicySample) -> float:
    assert sample.reward is not None
    return sample.reward


def _deduplicated(samples: Iterable[PolicySample]) -> list[PolicySample]:
    """One sample of each text. White space does not count."""
    return list({(s.prompt, _SPACE.sub(" ", s.completion).strip()): s for s in samples}.values())


def _taking_turns(samples: Iterable[PolicySample]) -> list[PolicySample]:
    """The same order, but the second sample of a prompt comes after the first samples of all prompts."""
    seen: dict[str, int] = defaultdict(int)
    ranked = []
    for i, sample in enumerate(samples):
        key = sample.group or sample.prompt
        ranked.append((seen[key], i, sample))
        seen[key] += 1
    return [sample for *_, sample in sorted(ranked, key=lambda entry: entry[:2])]


def _suspicion(
    samples: Sequence[PolicySample], moved: Sequence[SideMetric], templated: bool
) -> dict[int, tuple[float, str]]:
    """How extreme a sample with a reward above the median is on a shifted metric, and on which metric."""
    rewards = np.array([_reward(sample) for sample in samples])
    high = rewards >= np.median(rewards) if len(rewards) else rewards
    found: dict[int, tuple[float, str]] = {}
    for sample, rewarded in zip(samples, high, strict=True):
        said = attacks(sample.completion, templated)
        score, why = (2.0, f"addresses a judge: “{said[:40]}”") if said else (0.0, "")
        for side in moved:
            assert side.metric.measure is not None
            far = side.shifted * (side.metric.measure(sample) - side.early) / (abs(side.late - side.early) or 1.0)
            if np.isfinite(far) and far > score:
                score, why = far, f"an extreme value of {side.metric.id}, which shifted ({side.meaning or 'harmless'})"
        found[id(sample)] = (score, why) if rewarded or said else (0.0, "")
    return found


def _surprise(samples: Sequence[PolicySample]) -> dict[int, float]:
    """The reward of a sample minus the median reward of its prompt."""
    groups: dict[str, list[float]] = defaultdict(list)
    for sample in samples:
        groups[sample.group or sample.prompt].append(_reward(sample))
    return {id(s): _reward(s) - float(np.median(groups[s.group or s.prompt])) for s in samples}
