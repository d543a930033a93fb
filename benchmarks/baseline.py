"""How often do healthy runs leave the band of earlier healthy runs, and how often do broken ones?

    python -m benchmarks.baseline

Of each healthy setting of the corpus with five seeds, some are the earlier runs and another one is the run. `TRAIN` are the tasks
on which the limits of `firstbreak.compare.baseline` were chosen; the others were held out. Broken runs stand beside the
untouched runs of their task, seed 1 of a sample of faults.
"""

from __future__ import annotations

import itertools
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from firstbreak_lab.corpus import opened

from benchmarks.size import sized
from firstbreak.compare import baseline
from firstbreak.model import Run
from firstbreak.readers.read import read

CORPUS = Path(__file__).parent.parent / "corpus"
TRAIN = (
    "language/grpo-sort",
    "language/grpo-tag",
    "language/async-sort",
    "classic/ppo-cartpole",
    "preference/grpo-sort",
)
BROKEN = sized(150, 2)


def load(names: list[str]) -> Iterator[Run]:
    """The runs of these archives."""
    for name in names:
        with opened(CORPUS, name) as (folder, _):
            yield read(folder)


def main() -> None:
    """Print the share of runs that leave the band, by the number of earlier runs."""
    labels: dict[str, dict[str, Any]] = {
        name: entry["label"] for name, entry in json.loads((CORPUS / "manifest.json").read_text())["runs"].items()
    }
    settings = defaultdict(list)
    for name, label in labels.items():
        if not label.get("link"):
            settings[label["plant"], label["base"]].append(name)
    healthy = {key: list(load(names)) for key, names in list(settings.items())[:: sized(1, 20)]}
    broken = sorted(n for n, label in labels.items() if label.get("link") and label["seed"] == 1)
    random.Random(0).shuffle(broken)
    chosen = [n for n in broken if ("untouched", labels[n]["base"]) in healthy][:BROKEN]
    faulty = list(zip(chosen, load(chosen), strict=True))
    for earlier in sorted(baseline.LIMITS):
        left: Counter[tuple[str, bool]] = Counter()
        for (_, base), runs in healthy.items():
            for i, run in enumerate(runs):
                others = list(itertools.combinations([other for other in runs if other is not run], earlier))
                for chosen_ in random.Random(i).sample(others, min(2, len(others))):
                    kind = "healthy, chosen on" if base in TRAIN else "healthy, held out"
                    left[kind, bool(baseline.stand(run, chosen_).departures)] += 1
        for name, run in faulty:
            own = healthy["untouched", labels[name]["base"]]
            others_ = [other for i, other in enumerate(own) if i != labels[name]["seed"]][:earlier]
            left["broken", bool(baseline.stand(run, others_).departures)] += 1
        for kind in sorted({kind for kind, _ in left}):
            total = left[kind, True] + left[kind, False]
            print(
                f"{earlier} earlier runs, {kind}: {left[kind, True]} of {total} leave the band ({left[kind, True] / total:.1%})"
            )


if __name__ == "__main__":
    main()
