"""Which samples of a run are shown, and in which order: found by text, step, finding and the size of a number."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import islice

from firstbreak.model import Diagnosis, Finding, Run, Sample
from firstbreak.serve.web.run_store import MOST_SAMPLES, Placed
from firstbreak.values import dataclass

SORTS = ("step", "reward", "advantage", "length")  #: beside the components of the reward


@dataclass(frozen=True, kw_only=True)
class SampleQuery:
    """What a reader asks for. `by`: one of SORTS or a component; "" is the order of the log."""

    text: str = ""
    step: float = -math.inf  #: from this step on
    until: float = math.inf  #: to this step
    by: str = ""
    rising: bool = False  #: the smallest first
    least: float = -math.inf  #: of the number in `by`
    most: float = math.inf
    once: bool = False  #: each text once


@dataclass(frozen=True)
class SamplePage:
    """One page of samples."""

    samples: list[Placed]
    times: Mapping[int, int]  #: place -> how often this text is among what was found
    found: int
    texts: int  #: different ones


def browse(run: Run, asked: SampleQuery, start: int, most: int) -> SamplePage:
    """The samples from the `start`-th on. The samples are read twice, so that only their places are held."""
    wanted = asked.text.casefold()
    keys: list[tuple[float, int, int]] = []
    count: Counter[int] = Counter()
    for place, sample in enumerate(islice(run.samples or (), MOST_SAMPLES)):
        value = size(sample, asked.by) if asked.by else 0.0
        timely = _within(sample.step, asked.step, asked.until)
        if not timely or (asked.by and not _within(value, asked.least, asked.most)):
            continue
        if wanted in sample.completion.casefold() or wanted in sample.prompt.casefold():
            text = hash(sample.completion)
            count[text] += 1
            if not asked.once or count[text] == 1:
                missing = value is None or math.isnan(value)
                way = 1 if asked.rising else -1
                keys.append((math.inf if missing or value is None else way * value, place, text))
    keys.sort(key=lambda key: key[:2])
    here = {place: text for _, place, text in keys[start : start + most]}
    read = {p: s for p, s in enumerate(islice(run.samples or (), max(here, default=-1) + 1)) if p in here}
    shown = [(place, read[place]) for place in here if place in read]  # a file may have shrunk between two passes
    return SamplePage(shown, {place: count[text] for place, text in here.items()}, sum(count.values()), len(count))


def _within(value: float | None, least: float, most: float) -> bool:
    """Whether a number lies between its bounds. Without bounds, a missing number does too."""
    return (least == -math.inf and most == math.inf) or (value is not None and least <= value <= most)


def size(sample: Sample, by: str) -> float | None:
    """The number that a sample is sorted by, or None where it has none."""
    match by:
        case "length":
            return float(len(sample.completion))
        case "step" | "reward" | "advantage":
            return getattr(sample, by)  # type: ignore[no-any-return]
        case _:
            return sample.rewards.get(by)


def components(run: Run, most: int = 500) -> list[str]:
    """The components of the reward in the first samples."""
    return sorted({name for sample in islice(run.samples or (), most) for name in sample.rewards})


def for_finding(finding: Finding, parts: Iterable[str]) -> tuple[float, str]:
    """From which step on and by which number the samples are read that show a finding: what it pays for, else the reward."""
    shown = [finding.metric or "", *(e.series.name for e in finding.evidence if e.series is not None)]
    by = next((part for name in shown for part in parts if name == f"reward.component.{part}.mean"), None)
    if by is None:
        by = "length" if any(name.startswith("length.") for name in shown) else "reward"
    return (-math.inf if finding.onset is None else finding.onset), by


def findings(dx: Diagnosis | None) -> dict[str, Finding]:
    """Detector -> its finding."""
    return {o.detector: o.finding for o in dx.findings if o.finding is not None} if dx else {}
