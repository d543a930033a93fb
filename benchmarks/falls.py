"""How clear a fall do healthy scores show? Asks `agreement.fall` of every healthy run of the corpus with two scores.

    python -m benchmarks.falls

Each run is asked as a whole, and cut at 40, 60 and 80 % of its steps. Prints the runs with a fall of more than `SHOWN`
standard errors, and the largest where both scores fall and where the evaluation falls alone: `TOGETHER` and `ALONE` lie above.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from firstbreak_lab.corpus import opened

from benchmarks.size import sized
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.stats import agreement
from firstbreak.model import Series
from firstbreak.readers.read import read

CORPUS = Path(__file__).parent.parent / "corpus"
CUTS = (0.4, 0.6, 0.8, 1.0)
SHOWN = 2.0  #: standard errors


def pairs() -> Iterator[tuple[str, Series, Series]]:
    """Name, evaluation and training reward of the healthy runs that have both."""
    for archive in sorted(CORPUS.glob("*/*.tar.xz"))[:: sized(1, 40)]:
        with opened(CORPUS, str(archive.relative_to(CORPUS))) as (folder, label):
            if label.link:
                continue
            inputs = Inputs(read(folder))
        if inputs.score is not None and inputs.second_score is not None:
            yield f"{archive.parent.name}/{archive.name.removesuffix('.tar.xz')}", inputs.score, inputs.second_score


def main() -> None:
    """Print the clear falls, and the largest."""
    agreement.TOGETHER = agreement.ALONE = (SHOWN, SHOWN)
    clearest = {"together": dict.fromkeys(CUTS, 0.0), "alone": dict.fromkeys(CUTS, 0.0)}
    runs = 0
    for name, score, second in pairs():
        runs += 1
        for share in CUTS:
            end = float(second.steps[0] + share * np.ptp(second.steps))
            found = agreement.fall(score.between(-np.inf, end), second.between(-np.inf, end))
            if found is not None:
                kind = "together" if found.beside else "alone"
                clearest[kind][share] = max(clearest[kind][share], found.sigma)
                print(f"{name} at {share:.0%}: {found.sigma:.2f} {kind}, {found.drop / found.gain:.0%} of the gain")
    print(f"{runs} healthy runs; clearest fall by share of the run: {clearest}")


if __name__ == "__main__":
    main()
