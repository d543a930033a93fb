"""Does any text state a number or a relation that the run's own data deny? Asked of the corpus, the population, and mutated runs.

    python -m benchmarks.facts [--runs 2000] [--seed 0] [--failures 30]

Writes benchmarks/results/facts.json where 2,000 runs or more were asked.
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from firstbreak_lab.archives import unpack
from firstbreak_lab.population.build import packs, unpacked
from tests.reports.coherence import ABOUT_TEXTS, texts

from benchmarks.machine import environment
from benchmarks.size import SMALLEST, place, sized
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Message, Run, Series
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "facts.json"
ENOUGH = 2000

Change = Callable[[Series, np.random.Generator], Series]


def _kept(curve: Series, keep: np.ndarray) -> Series:
    return replace(curve, steps=curve.steps[keep], values=curve.values[keep])


def _valued(curve: Series, changed: np.ndarray, value: float | np.ndarray) -> Series:
    return replace(curve, values=np.where(changed, value, curve.values))


#: what may befall a log: each keeps what is logged together together
MUTATIONS: Mapping[str, Change] = {
    "thinned": lambda c, _: _kept(c, np.arange(len(c)) % 3 == 0),
    "cut": lambda c, _: _kept(c, np.arange(len(c)) < 0.4 * len(c)),
    "continued": lambda c, _: replace(c, steps=c.steps + 1e6),
    "in epochs": lambda c, _: replace(c, steps=c.steps / 100, axis="epoch"),
    "holes": lambda c, rng: _valued(c, rng.random(len(c)) < 0.2, np.nan),
    "scaled": lambda c, _: replace(c, values=1000 * c.values),
    "frozen": lambda c, _: _valued(c, np.arange(len(c)) >= 0.6 * len(c), c.values[int(0.6 * (len(c) - 1))]),
    "spiked": lambda c, rng: _valued(c, rng.random(len(c)) < 0.02, 50 * c.values),
    "twice": lambda c, _: replace(c, steps=np.repeat(c.steps, 2), values=np.repeat(c.values, 2)),
    "backwards": lambda c, _: replace(c, values=c.values[::-1].copy()),
}


def mutated(run: Run, how: str, seed: int) -> Run:
    """The run after a mishap of this kind."""
    rng = np.random.default_rng(seed)
    return replace(run, series={name: MUTATIONS[how](c, rng) if len(c) else c for name, c in run.series.items()})


Made = tuple[str, Callable[[], Run]]  #: the name of a run, and what makes it


def of_lab(n: int, seed: int) -> Iterator[Made]:
    """A seeded sample of the corpus."""
    archives = sorted((ROOT / "corpus").glob("*/*.tar.xz"))
    for i in np.random.default_rng(seed).permutation(len(archives))[:n]:
        yield f"lab/{archives[i].parent.name}/{archives[i].name}", partial(_unpacked, archives[i])


def _unpacked(archive: Path) -> Run:
    with tempfile.TemporaryDirectory() as folder:
        unpack(archive, Path(folder))
        return read(find_runs(folder)[0])


def of_population(n: int, seed: int) -> Iterator[Made]:
    """Runs of the population, whole packs in a seeded order. A run is read before the next one is asked for."""
    archives = packs(ROOT / "population")
    for i in np.random.default_rng(seed).permutation(len(archives)):
        with unpacked(archives[i]) as runs:
            for path, _ in runs:
                if n <= 0:
                    return
                n -= 1
                yield f"population/{archives[i].name}/{path.parent.name}", partial(read, path)


def of_mutated(runs: Iterable[Made]) -> Iterator[Made]:
    """The runs after mishaps of all kinds, in turn."""
    for i, (name, made) in enumerate(runs):
        how = list(MUTATIONS)[i % len(MUTATIONS)]
        yield f"{how}/{name}", partial(_befallen, made, how, i)


def _befallen(made: Callable[[], Run], how: str, seed: int) -> Run:
    return mutated(made(), how, seed)


def sample(n: int, seed: int) -> Iterator[Made]:
    """Two parts of the corpus, two of the population, and one of either that is mutated, each in another way."""
    part = -(-n // 5)
    yield from of_lab(2 * part, seed)
    yield from of_population(2 * part, seed)
    yield from of_mutated(chain(of_lab(part // 2, seed + 1), of_population(part - part // 2, seed + 1)))


def asked(run: Run) -> dict[str, Any]:
    """How many findings and facts a run's texts hold, and what its data deny."""
    dx = diagnose(run)
    return {
        "findings": len(dx.findings),
        "facts": sum(len(text.facts) for _, text in texts(dx) if isinstance(text, Message)),
        "denied": [(rule.__name__, said) for rule in ABOUT_TEXTS for said in rule(dx)],
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Ask all runs, print what is denied, and keep the figures."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.facts", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--runs", type=int, default=sized(ENOUGH, 20))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--failures", type=int, default=30, help="how many of them are printed")
    parser.add_argument(
        "--rows", type=Path, help="a file that keeps finished runs, so that a long run can be continued"
    )
    options = parser.parse_args(arguments)
    rows = dict(map(json.loads, options.rows.open())) if options.rows and options.rows.exists() else {}
    start = time.monotonic()
    for name, made in sample(options.runs, options.seed):
        if name not in rows:
            rows[name] = asked(made())
            if options.rows:
                with options.rows.open("a") as file:
                    file.write(json.dumps([name, rows[name]]) + "\n")
    denied = [(name, rule, said) for name, row in rows.items() for rule, said in row["denied"]]
    for name, rule, said in denied[: options.failures]:
        print(f"{name}: {rule}: {said}")
    report = {
        "runs": len(rows),
        "findings": sum(row["findings"] for row in rows.values()),
        "facts": sum(row["facts"] for row in rows.values()),
        "denied": dict(Counter(rule for _, rule, _ in denied)),
        "runs with a denied text": len({name for name, _, _ in denied}),
    }
    print(json.dumps(report, indent=1), f"{time.monotonic() - start:.0f} s")
    if len(rows) >= ENOUGH or SMALLEST:
        place(RESULTS).write_text(json.dumps(environment("python -m benchmarks.facts") | report, indent=1) + "\n")


if __name__ == "__main__":
    main()
