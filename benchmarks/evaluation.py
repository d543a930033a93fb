"""The evaluation part, measured: how fast the ledger writes, whether intervals cover, what contamination is found.

    python -m benchmarks.evaluation                    everything, some minutes
    python -m benchmarks.evaluation --documents 50000  a smaller haystack
    python -m benchmarks.evaluation --published DIR    the aggregates against published Atari 100k scores as well

DIR is the folder `results/data` of github.com/eloialonso/iris: scores of every run of SimPLe, CURL, DrQ, SPR and IRIS on 26
games, with the random and human scores that normalise them. The digits to be met were printed by the notebook of
google-research/rliable (mean, median) and in table 1 of arXiv:2209.00588 (interquartile mean, optimality gap).
"""

from __future__ import annotations

import argparse
import json
import resource
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import environment
from benchmarks.size import place, sized
from firstbreak.compare import statistics
from firstbreak.compare.statistics import Scores, difference, estimate, iqm, mean
from firstbreak.evals.contamination import Index
from firstbreak.evals.ledger import Ledger

RESULT = Path(__file__).parent / "results" / "evaluation.json"
RECORDS, WRITERS = sized((5_000, 64), (64, 4))
SPLIT, REWORDED = sized(
    (4_000, 2_000), (100, 50)
)  #: problems, and how many of them have a reworded copy in the training data
RATES = (0.02, 0.05, 0.1, 0.15)  #: share of a problem's words that a rewording changes
HEADLINE_RATE = 0.05

#: name -> mean, median (rliable's notebook), interquartile mean, optimality gap (arXiv:2209.00588, table 1)
PUBLISHED = {
    "SimPLe": (0.3319978533732483, 0.13405558483729887, 0.130, 0.729),
    "CURL": (0.26148856121438463, 0.09234861529, 0.113, 0.768),
    "DrQ(eps)": (0.4647412513971657, 0.312901399063074, 0.280, 0.631),
    "SPR": (0.6157957428691673, 0.39562938291779215, 0.337, 0.577),
    "IRIS": (1.046, 0.289, 0.501, 0.512),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=sized(1_000_000, 500))
    parser.add_argument("--draws", type=int, default=sized(400, 2), help="of each simulated experiment")
    parser.add_argument("--published", type=Path)
    parser.add_argument("--output", type=Path, default=place(RESULT))
    arguments = parser.parse_args()
    figures = ledger_speed() | coverage(arguments.draws) | contamination(arguments.documents)
    if arguments.published:
        figures["published"] = published(arguments.published)
    elif arguments.output.exists():  # what needs other people's data is kept from the last time that it was there
        figures["published"] = json.loads(arguments.output.read_text()).get("published")
    command = f"python -m benchmarks.evaluation --documents {arguments.documents} --draws {arguments.draws}"
    result = environment(command, ("firstbreak", "numpy", "rensa")) | {"draws": arguments.draws} | figures
    arguments.output.write_text(json.dumps(result, indent=1) + "\n")
    print(json.dumps(figures, indent=1))


# --- the ledger ---------------------------------------------------------------------------------------------------------


def ledger_speed() -> dict[str, Any]:
    """Records a second in SQLite, each in a transaction of its own: one writer, and 64 at once."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "one.db"
        with Ledger(place) as ledger:
            alone = RECORDS / _seconds(lambda: [ledger.append("evaluation", _record(i)) for i in range(RECORDS)])
            batch = RECORDS / _seconds(
                lambda: ledger.extend([("evaluation", _record(i), None) for i in range(RECORDS)])
            )
            checked = 2 * RECORDS / _seconds(lambda: ledger.verify())
        crowd = str(Path(folder) / "crowd.db")
        Ledger(crowd).close()
        each = RECORDS // WRITERS
        with ProcessPoolExecutor(WRITERS, get_context("fork")) as pool:
            together = (
                WRITERS * each / _seconds(lambda: list(pool.map(_write, [(crowd, w, each) for w in range(WRITERS)])))
            )
        with Ledger(crowd) as ledger:
            assert ledger.verify() is None
            assert sum(1 for _ in ledger) == WRITERS * each
    return {
        "ledger_records_per_s": round(alone),
        "ledger_records_per_s_64_writers": round(together),
        "ledger_records_per_s_in_one_batch": round(batch),
        "ledger_verified_per_s": round(checked),
    }


def _record(i: int) -> dict[str, Any]:
    return {"split": "dev", "use": "tune", "scores": {"accuracy": i / RECORDS}, "step": i, "checkpoint": f"step-{i}"}


def _write(job: tuple[str, int, int]) -> None:
    place, writer, count = job
    with Ledger(place) as ledger:
        for i in range(count):
            ledger.append("evaluation", _record(i), key=f"{writer}-{i}")


def _seconds(call: Callable[[], Any]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


# --- intervals ----------------------------------------------------------------------------------------------------------

SHAPES: dict[str, Callable[[np.random.Generator, int, int], np.ndarray]] = {
    "normal": lambda rng, n, tasks: rng.normal(size=(tasks, n)),
    "skewed": lambda rng, n, tasks: rng.exponential(size=(tasks, n)),
    "succeed or fail": lambda rng, n, tasks: (rng.random((tasks, n)) > 0.3) + 0.05 * rng.normal(size=(tasks, n)),
}


def coverage(draws: int) -> dict[str, Any]:
    """How often a 95 % interval holds the truth, for few and more runs of one and of several tasks of unequal spread."""
    statistics.REPLICATIONS = 500
    rng = np.random.default_rng(0)
    rows = []
    for shape, draw in SHAPES.items():
        for tasks in (1, 6, 26):
            level, scale = rng.normal(size=(tasks, 1)), rng.uniform(0.2, 0.6, (tasks, 1))

            def scores(n: int, draw: Any = draw, level: Any = level, scale: Any = scale, tasks: int = tasks) -> Scores:
                return list(level + scale * draw(rng, n, tasks))

            truth = float(iqm(np.concatenate([*scores(300_000 // tasks)])))
            for n in (3, 5, 10):
                hits = np.zeros(3)
                for _ in range(draws):
                    one, other = scores(n), scores(n)
                    hits += (
                        _holds(estimate(one).interval, truth),
                        _holds(difference(one, other).interval, 0.0),
                        _holds(_percentile(one, rng), truth),
                    )
                share = [round(float(h), 4) for h in hits / draws]
                setting = {"shape": shape, "tasks": tasks, "runs": n}
                rows.append(setting | dict(zip(("iqm", "difference", "percentile"), share, strict=True)))
    smooth = [row for row in rows if row["shape"] != "succeed or fail"]
    return {
        "bootstrap_coverage": round(float(np.mean([row["iqm"] for row in smooth])), 4),
        "difference_coverage": round(float(np.mean([row["difference"] for row in smooth])), 4),
        "percentile_bootstrap_coverage": round(float(np.mean([row["percentile"] for row in smooth])), 4),
        "coverage": rows,
    }


def _holds(interval: tuple[float, float] | None, truth: float) -> bool:
    return interval is not None and interval[0] <= truth <= interval[1]


def _percentile(scores: Scores, rng: np.random.Generator) -> tuple[float, float]:
    """The percentile bootstrap as it is usually done, for comparison."""
    copies = np.concatenate([task[rng.integers(0, len(task), (500, len(task)))] for task in scores], axis=1)
    low, high = np.quantile(iqm(copies), (0.025, 0.975))
    return float(low), float(high)


def published(folder: Path) -> dict[str, Any]:
    """Our aggregates of published scores, and whether they round to the published digits."""
    found = {}
    for name, printed in PUBLISHED.items():
        scores = _atari(folder, name)
        every, median = np.concatenate([*scores]), float(np.median([np.mean(task) for task in scores]))
        ours = (mean(scores), median, float(iqm(every)), 1 - float(np.mean(np.minimum(every, 1))))
        agree = all(abs(a - b) < (1e-12 if len(f"{b}") > 8 else 0.0005001) for a, b in zip(ours, printed, strict=True))
        found[name] = {"ours": [round(value, 6) for value in ours], "printed": list(printed), "agree": agree}
    return found


def _atari(folder: Path, name: str) -> Scores:
    random, human = (json.loads((folder / f"{who}.json").read_text()) for who in ("RANDOM", "HUMAN"))
    games = sorted(random)
    if name == "CURL":
        rows = json.loads((folder / "CURL_10_evals.json").read_text())
        return [np.array([row["HNS"] for row in rows if row["game"] == game]) for game in games]
    raw = json.loads((folder / f"{name}.json").read_text())
    return [(np.array(raw[g]) - random[g][0]) / (human[g][0] - random[g][0]) for g in games]


# --- contamination ------------------------------------------------------------------------------------------------------


def contamination(size: int) -> dict[str, Any]:
    """Reworded copies of problems in a haystack: how many are found, how many clean problems are reported, how fast."""
    rng = np.random.default_rng(0)
    words = np.array([f"{a}{b}{c}{d}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdgklmnrst" for d in "aeiou"])
    frequency = 1 / np.arange(2, len(words) + 2)
    frequency /= frequency.sum()
    split = list(_texts(SPLIT, words, frequency, rng))
    found = {}
    for rate in RATES:
        train = [_reworded(text, rate, words, rng) for text in split[:REWORDED]]
        train += list(_texts(REWORDED, words, frequency, rng))
        hits = Index(split).search(train).contaminated
        found[str(rate)] = round(len(hits & set(range(REWORDED))) / REWORDED, 4)
    index = Index(split)
    reworded = [_reworded(text, HEADLINE_RATE, words, rng) for text in split[:REWORDED]]
    start, cpu = time.perf_counter(), time.process_time()
    hay = _Timed(_hidden(reworded, _texts(size - REWORDED, words, frequency, rng)))
    searched = index.search(hay)
    seconds = time.perf_counter() - start - hay.seconds
    hits = searched.contaminated
    return {
        "documents": searched.trained,
        "documents_per_s": round(searched.trained / seconds),
        "documents_per_cpu_s": round(searched.trained / (time.process_time() - cpu - hay.cpu)),
        "contamination_recall": round(len(hits & set(range(REWORDED))) / REWORDED, 4),
        "contamination_false": round(len(hits - set(range(REWORDED))) / (SPLIT - REWORDED), 4),
        "recall_by_share_of_words_changed": found,
        "contamination_peak_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def _texts(n: int, words: np.ndarray, frequency: np.ndarray, rng: np.random.Generator) -> Iterator[str]:
    """Texts of 30 to 90 words; words are as frequent as in a language (Zipf)."""
    for start in range(0, n, 5_000):
        lengths = rng.integers(30, 91, min(5_000, n - start))
        drawn = words[np.searchsorted(np.cumsum(frequency), rng.random(int(lengths.sum()))).clip(0, len(words) - 1)]
        yield from (" ".join(piece) for piece in np.split(drawn, np.cumsum(lengths)[:-1]))


def _reworded(text: str, rate: float, words: np.ndarray, rng: np.random.Generator) -> str:
    """A share `rate` of the words replaced, left out or followed by another; other case and punctuation."""
    out: list[str] = []
    for word in text.split():
        kind = rng.random() / rate
        out += [] if kind < 1 / 3 else [str(rng.choice(words))] if kind < 2 / 3 else [word]
        out += [str(rng.choice(words))] if 2 / 3 < kind < 1 else []
    return ", ".join(out).capitalize()


def _hidden(needles: list[str], hay: Iterator[str]) -> Iterator[str]:
    """The needles among the first documents of the hay, one after every second."""
    for needle in needles:
        yield from (text for _, text in zip(range(2), hay, strict=False))
        yield needle
    yield from hay


class _Timed:
    """An iterator that knows what making its items has cost, so that it can be taken off."""

    def __init__(self, items: Iterator[str]) -> None:
        self.items, self.seconds, self.cpu = items, 0.0, 0.0

    def __iter__(self) -> Iterator[str]:
        while True:
            start, cpu = time.perf_counter(), time.process_time()
            batch = [text for _, text in zip(range(5_000), self.items, strict=False)]
            self.seconds += time.perf_counter() - start
            self.cpu += time.process_time() - cpu
            if not batch:
                return
            yield from batch


if __name__ == "__main__":
    main()
