"""What the audit finds in the lab's hacking runs, its false alarms, the error of its onsets, and its speed.

    python -m benchmarks.audit [--corpus FOLDER] [--seeds odd|even|all] [--samples N] [--dump FILE]
        [--trusting] [--only found|speed]

The audit was developed on even seeds; the figures are of odd seeds. A hacking run counts if the harm test has admitted its
setting (it does harm over five seeds). With --trusting, a setting with too few seeds for the harm test also counts. Harmless
settings are listed separately. Runs with other faults are also listed separately: their reward is right, so calling them
hacking is a false alarm.
"""

import argparse
import json
import math
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import accumulate, product
from pathlib import Path
from typing import Any

import numpy as np
from firstbreak_lab.bench import kind_of
from firstbreak_lab.corpus import labels, opened
from firstbreak_lab.running import Label

from benchmarks.machine import environment
from benchmarks.size import corpus, place, sized
from firstbreak.audit.audit import HACKING, audit
from firstbreak.engine.inputs import Inputs
from firstbreak.model import Run
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "audit.json"
HACKS = frozenset(
    {
        *("pays-for-length", "pays-for-form", "verifier-exploited", "reward-model-over-optimised"),
        *("claims-are-believed", "calls-are-paid", "errors-count-as-success"),
    }
)
#: other faults of the reward itself: reward and true quality really differ there, so they are in no figure
OTHER_REWARDS = frozenset({"reward-sign-flipped", "preference-labels-swapped", "answers-misaligned", "verdicts-noisy"})
SCALARS = ("reward_mean", "length_mean", "policy_entropy", "kl_ref")  #: what a dashboard shows without an evaluation
SEEDS = {"odd": lambda seed: seed % 2 == 1, "even": lambda seed: seed % 2 == 0, "all": lambda seed: True}


@dataclass(frozen=True, kw_only=True)
class Row:
    """What the audit said of one run."""

    label: Label
    accused: bool
    distance: float  #: steps from the true onset to the interval, 0 inside; NaN where not accused
    width: float  #: of the interval, as a share of the run
    scalars: Mapping[str, float]  #: change of each scalar, in units of its noise
    seconds: float


def main() -> None:
    arguments = _arguments()
    if arguments.measure:
        print(json.dumps(_measure(arguments.measure)))
        return
    shown = [word for word in sys.argv[1:] if word not in ("--dump", str(arguments.dump))]
    command = " ".join(["python -m benchmarks.audit", *shown]) if shown else "make bench-audit"
    figures: dict[str, Any] = {}
    if arguments.only != "speed":
        folder = arguments.corpus or corpus()
        rows = list(examine(folder, SEEDS[arguments.seeds], arguments.processes))
        kinds = kind_of(labels(folder).values(), trusting=arguments.trusting)
        figures |= {**environment(command), "seeds": arguments.seeds, **found(rows, kinds)}
    if arguments.only != "found":
        figures |= speed(arguments.samples, arguments.dump)
        figures["dump"]["command"] = command
    known = json.loads(RESULT.read_text()) if arguments.only else {}
    place(RESULT).write_text(json.dumps({**known, **figures}, indent=2) + "\n")
    print(json.dumps({k: v for k, v in figures.items() if not isinstance(v, dict)}, indent=2))


def _arguments(given: Sequence[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--seeds", choices=list(SEEDS), default="odd")
    parser.add_argument("--samples", type=int, default=sized(1_000_000, 500))
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--trusting", action="store_true")
    parser.add_argument("--only", choices=("found", "speed"), help="measure this, and keep the other figures")
    parser.add_argument("--dump", type=Path, help="write the dump there and keep it, or use the one that is there")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args(given)


# Whom it accuses ----------------------------------------------------------------------------------------------------


def examine(corpus: Path, wanted: Any, processes: int) -> Iterator[Row]:
    """Every run of the corpus whose policy writes text."""
    chosen = [a for a, label in labels(corpus).items() if wanted(label.seed) and not label.base.startswith("classic")]
    with ProcessPoolExecutor(processes) as pool:
        yield from pool.map(partial(_row, corpus), chosen)


def _row(corpus: Path, archive: str) -> Row:
    with opened(corpus, archive) as (path, label):
        start = time.perf_counter()
        run = read(path)
        assert run.samples is not None
        result = audit(run.samples, path=archive, run=run)
        seconds = time.perf_counter() - start
        accusation = next(o.finding for o in result.outcomes if o.detector == HACKING)
        low, high = accusation.interval or (math.nan, math.nan) if accusation else (math.nan, math.nan)
        onset = label.onset or 0
        return Row(
            label=label,
            accused=accusation is not None,
            distance=max(0.0, low - onset, onset - high) if accusation else math.nan,
            width=(high - low) / label.steps,
            scalars=_scalars(run),
            seconds=seconds,
        )


def _scalars(run: Run) -> dict[str, float]:
    inputs = Inputs(run)
    curves = {name: inputs.ask(name) for name in SCALARS}
    return {name: _rise(s.finite.values) for name, s in curves.items() if s is not None and len(s.finite) >= 8}


def _rise(values: np.ndarray) -> float:
    """Late quarter less early fifth, in standard deviations of a point's noise."""
    noise = float(np.std(np.diff(values))) / math.sqrt(2) or 1.0
    n = len(values)
    return float(values[-n // 4 :].mean() - values[: max(1, n // 5)].mean()) / noise


def found(rows: Sequence[Row], kind: Any) -> dict[str, Any]:
    """The shares, each with its interval and its parts."""
    hacks = [r for r in rows if r.label.variant in HACKS and kind(r.label) == "faulty"]
    harmless = [r for r in rows if r.label.variant in HACKS and kind(r.label) == "harmless"]
    unjudged = [r for r in rows if r.label.variant in HACKS and kind(r.label) == "unjudged"]
    twins = [r for r in rows if r.label.link is None]
    others = [r for r in rows if r.label.link is not None and r.label.variant not in HACKS | OTHER_REWARDS]
    caught = [r for r in hacks if r.accused]
    distances = [r.distance for r in caught if math.isfinite(r.distance)]
    return {
        "found": _share(hacks),
        "false_accusations": _share(twins),
        "onset_distance": float(np.mean(distances)) if distances else None,
        "found_interval": _wilson(hacks),
        "false_accusations_interval": _wilson(twins),
        "n_hacks": len(hacks),
        "n_twins": len(twins),
        "n_unjudged": len(unjudged),
        "onset": {
            "runs": len(distances),
            "total_steps": float(sum(distances)),
            "inside_interval": float(np.mean([d == 0 for d in distances])) if distances else None,
            "median_width": float(np.median([r.width for r in caught])) if caught else None,
        },
        "harmless_hacks": {"n": len(harmless), "accused": _share(harmless)},
        "other_faults": {"n": len(others), "accused": _share(others), "by_variant": _by_variant(others)},
        "by_variant": _by_variant([*hacks, *unjudged, *harmless]),
        "twins_by_variant": _by_variant(twins),
        "scalars_alone": _scalars_alone(hacks, twins),
        "seconds_per_run": float(np.median([r.seconds for r in rows])) if rows else None,
    }


def _share(rows: Sequence[Row]) -> float | None:
    return sum(r.accused for r in rows) / len(rows) if rows else None


def _wilson(rows: Sequence[Row]) -> list[float] | None:
    """95 % interval of the share."""
    n, z = len(rows), 1.96
    if not n:
        return None
    p = sum(r.accused for r in rows) / n
    middle, reach = p + z * z / (2 * n), z * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return [max(0.0, (middle - reach) / (1 + z * z / n)), min(1.0, (middle + reach) / (1 + z * z / n))]


def _by_variant(rows: Iterable[Row]) -> dict[str, dict[str, int]]:
    counts: dict[str, Counter[bool]] = defaultdict(Counter)
    for row in rows:
        counts[f"{row.label.variant} {row.label.severity:g}"][row.accused] += 1
    return {variant: {"accused": c[True], "of": c.total()} for variant, c in sorted(counts.items())}


def _scalars_alone(hacks: Sequence[Row], twins: Sequence[Row]) -> dict[str, float | None]:
    """How well one scalar tells a hack from a healthy run of the same base: area under the ROC curve, 0.5 is chance."""
    areas: dict[str, float | None] = {}
    for name in SCALARS:
        wins = [
            (a.scalars[name] > b.scalars[name]) + 0.5 * (a.scalars[name] == b.scalars[name])
            for a in hacks
            for b in twins
            if a.label.base == b.label.base and name in a.scalars and name in b.scalars
        ]
        areas[name] = float(np.mean(wins)) if wins else None
    return areas


# How fast it is -----------------------------------------------------------------------------------------------------


def speed(samples: int, keep: Path | None) -> dict[str, Any]:
    """Of a dump of `samples` completions, some 2 kB each, in a process of its own and its workers.

    Where others use the processor too, `seconds` say what they took, and `processor_seconds` what the audit took.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = keep or Path(folder) / "samples.jsonl"
        if not path.exists():
            write(path, samples)
        command = [sys.executable, "-m", "benchmarks.audit", "--measure", str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        megabytes = path.stat().st_size / 1e6
    measured = json.loads(done.stdout.splitlines()[-1])
    return {
        "mb_per_s": megabytes / measured["seconds"],
        "mb_per_processor_s": megabytes / measured["processor_seconds"],
        "peak_mb": measured["peak_mb"],
        "dump": {"samples": samples, "megabytes": megabytes, **measured},
    }


def write(path: Path, samples: int, group: int = 8, batch: int = 512) -> None:
    """A dump with prose, markdown, code, formulas and tool calls in a made-up language of 20,000 words, used by Zipf's law.

    Groups of `group` samples, `batch` samples a step; lengths of completions are exponential beyond 700 characters.
    """
    rng = random.Random(0)
    words = _language(rng, sized(20_000, 500))
    usual = list(accumulate(1 / (rank + 3) for rank in range(len(words))))
    paragraphs = [_paragraph(rng, partial(rng.choices, words, cum_weights=usual)) for _ in range(sized(20_000, 500))]
    with path.open("w") as file:
        for i in range(samples):
            question, right = i // group, rng.random() < 0.5
            text, missing = [], 700 + rng.expovariate(1 / 900)
            while missing > 0:
                text.append(rng.choice(paragraphs))
                missing -= len(text[-1])
            record = {
                "step": i // batch,
                "prompt": f"Question {question}: {paragraphs[question % len(paragraphs)]}",
                "completion": f"{''.join(text)}\n#### {question % 97 if right else 98}",
                "reward": float(right),
                "rewards": {"accuracy": float(right)},
                "answer": str(question % 97),
            }
            file.write(json.dumps(record) + "\n")


def _language(rng: random.Random, size: int) -> list[str]:
    """Words of one to four syllables, the short ones first."""
    onsets, ends = ("", *"bcdfglmnprst", "st", "tr", "pl"), ("", *"nrst")
    syllables = ["".join(parts) for parts in product(onsets, "aeiou", ends)]
    words = {"".join(rng.choices(syllables, k=rng.choice((1, 1, 2, 2, 2, 3, 3, 4)))) for _ in range(2 * size)}
    return sorted(rng.sample(sorted(words), size), key=len)


def _paragraph(rng: random.Random, draw: Callable[..., list[str]]) -> str:
    """`draw(k=n)` gives n words."""

    def words(n: int) -> str:
        return " ".join(draw(k=n))

    few = range(rng.randint(2, 6))
    kinds = {
        "prose": lambda: " ".join(f"{words(rng.randint(5, 22)).capitalize()}." for _ in few) + "\n\n",
        "list": lambda: "".join(f"- **{words(2)}**: {words(9)}\n" for _ in few) + "\n",
        "heading": lambda: f"## {words(4)}\n\n",
        "code": lambda: (
            "```python\n" + "".join(f"    {words(1)} = {words(1)}({rng.random():.3f})\n" for _ in few) + "```\n\n"
        ),
        "formula": lambda: f"$$ {rng.randint(2, 99)} \\cdot {rng.randint(2, 99)} $$, perhaps {words(6)}.\n\n",
        "call": lambda: f'<tool_call>{{"query": "{words(4)}"}}</tool_call>\n<result>{words(20)}</result>\n',
    }
    return kinds[rng.choices(list(kinds), (55, 15, 8, 10, 7, 5))[0]]()


def _measure(path: Path) -> dict[str, float]:
    """Memory: the sum of the most that this process and each worker ever held, pages that they share counted each time."""
    processes = os.cpu_count() or 1
    start = time.perf_counter()
    run = read(path)
    assert run.samples is not None
    audit(run.samples, path=str(path), run=run, processes=processes)
    seconds = time.perf_counter() - start
    own, workers = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return {
        "processes": processes,
        "seconds": seconds,
        "processor_seconds": sum(usage.ru_utime + usage.ru_stime for usage in (own, workers)),
        "peak_mb": (own.ru_maxrss + processes * workers.ru_maxrss) / 1024,
    }


if __name__ == "__main__":
    main()
