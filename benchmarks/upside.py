"""Does the stated upside hold what happens? Fits the first part of real score curves, and looks at the rest.

    python -m benchmarks.upside

The curves are the evaluations and training rewards of the corpus with at least 24 points that still rise or have reached a
plateau after 50 % or 70 % of their points. What happened is the mean of the last points minus the mean of the last points
before; it counts as held where the range, widened by the error of these means, contains it. Shown by trainer.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from firstbreak_lab.corpus import opened

from benchmarks.size import sized
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.stats.ceiling import expected_gain
from firstbreak.engine.stats.proportion import wilson
from firstbreak.engine.stats.shape import trajectory
from firstbreak.model import Series
from firstbreak.readers.read import read

CORPUS = Path(__file__).parent.parent / "corpus"
EVERY = sized(4, 200)  #: of the faulty runs, one in so many; all healthy ones
MIN_POINTS = 24


def curves() -> Iterator[tuple[str, bool, Series]]:
    """Trainer, whether the run is healthy, and a score curve."""
    for i, archive in enumerate(sorted(CORPUS.glob("*/*.tar.xz"))):
        with opened(CORPUS, str(archive.relative_to(CORPUS))) as (folder, label):
            healthy = not label.link
            if (not healthy and i % EVERY) or (healthy and i % sized(1, 20)):
                continue
            inputs = Inputs(read(folder))
        for score in (inputs.training_score, inputs.eval_score):
            if score is not None and len(score.finite) >= MIN_POINTS:
                yield archive.name.split("-")[0], healthy, score.finite


def held(curve: Series, share: float) -> bool | None:
    """Whether the range that the first `share` of the points gives holds the rest; None where it has another shape."""
    k = int(len(curve) * share)
    start, end = float(curve.steps[0]), float(curve.steps[k - 1])
    before = curve.between(start, end)
    shape = trajectory(before)
    if shape.kind not in ("rising", "plateau"):
        return None
    expected = expected_gain(before, shape, float(curve.steps[-1]) - end)
    if expected is None:
        return None
    width = max(3, len(curve) // 15)
    change = float(np.mean(curve.values[-width:]) - np.mean(before.values[-width:]))
    error = float(np.std(np.diff(curve.values))) / np.sqrt(width)
    return bool(expected[0] - error <= change <= expected[1] + error)


def main() -> None:
    """Print the share that is held, by trainer, of healthy and of faulty runs."""
    counts: dict[tuple[bool, str], list[bool]] = defaultdict(list)
    for trainer, healthy, curve in curves():
        for share in (0.5, 0.7):
            if (answer := held(curve, share)) is not None:
                counts[healthy, trainer].append(answer)
                counts[healthy, "all"].append(answer)
    for (healthy, trainer), answers in sorted(counts.items(), reverse=True):
        low, high = wilson(sum(answers), len(answers))
        kind = "healthy" if healthy else "faulty"
        print(f"{kind:8} {trainer:12} {np.mean(answers):.2f} [{low:.2f}, {high:.2f}] of {len(answers)}")


if __name__ == "__main__":
    main()
