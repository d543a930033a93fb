"""The lab's language trainers with the recorder: `python -m benchmarks.recorder --make-language FOLDER`, then `--score-language`.

With a seed behind FOLDER, both take its runs, in random order: runs that nothing was corrected on. The runs of the corpus's
test split whose fault is in one of LINKS, one seed of each admitted setting, and one healthy run of each variant and base, are
trained again with `firstbreak.recorder` in the trainer's loop. Nothing else changes: their true scores are those of a run
without it (tests/lab/test_recorded.py). "Without" is the same run less what the recorder wrote. All counts in the weights come
from the other trainers; of the constants, the limit of `penalty-outweighs-reward` comes from the healthy ones of these runs.
"""

import pickle
import random
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from firstbreak_lab import bench, corpus, weights
from firstbreak_lab.catalogue import catalogue
from firstbreak_lab.corpus import Job
from firstbreak_lab.running import Label, read_label, run

import firstbreak
from benchmarks.recorder.said import judged, without_recorder
from benchmarks.size import corpus as home
from firstbreak.engine import likelihood
from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.journal import NAME
from firstbreak.live.recorder.trl.callback import Recorder
from firstbreak.model import Link

TRAINERS = ("language", "agent", "preference")
LINKS = (Link.ENVIRONMENT, Link.ROLLOUT, Link.REWARD, Link.ADVANTAGE, Link.POLICY_UPDATE, Link.NUMERICS)
SEED = 1  #: held out
INPUTS = "inputs.pickle"  #: what the identities were given, to ask others without training again


def jobs(seed: int = SEED) -> list[Job]:
    """One seed of each admitted setting and of each healthy variant: the strongest faults first, agents last; of another
    seed than SEED in random order, so that as many as are made stand for all.
    """
    labels = corpus.labels(home())
    kind = bench.kind_of(labels.values())
    wanted = [
        label
        for label in labels.values()
        if label.base.partition("/")[0] in TRAINERS and corpus.split(label) == "test" and label.seed == seed
        if label.link is None or (Link(label.link) in LINKS and kind(label) == "faulty")
    ]

    def turn(label: Label) -> tuple[bool, bool, int]:
        strongest = label.severity == catalogue()[label.variant].bases[label.base][-1]
        return label.base.startswith("agent"), not strongest, zlib.crc32(repr((label.variant, label.base)).encode())

    found = [Job(one.variant, one.base, one.severity, one.seed) for one in sorted(wanted, key=turn)]
    if seed != SEED:
        random.Random(seed).shuffle(found)
    return found


class Kept(Recorder):
    """A recorder that also keeps what it was given, outside of the time that it measures."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.path = folder.parent / INPUTS

    def batch(self, step: int, **given: Any) -> dict[str, float]:
        """Measure, then keep."""
        found = super().batch(step, **given)
        if found:
            kept = {name: _plain(value) for name, value in given.items() if not callable(value)}
            with self.path.open("ab") as file:
                pickle.dump((step, kept, found), file)
        return found


def _plain(value: Any) -> Any:
    if hasattr(value, "detach"):
        value = value.detach().numpy()
        return value.astype(np.float32) if value.dtype.kind == "f" else value
    return value


def make(folder: Path, seed: int = SEED) -> None:
    """Train what is missing in `folder`."""
    for job in jobs(seed):
        out = folder / job.archive.removesuffix(".tar.xz")
        if (out / "label.json").exists():
            continue
        (out / INPUTS).unlink(missing_ok=True)
        options = {**corpus.SHORTER.get(job.base, {}), "recorder": Kept}
        run(job.variant, out=out, seed=job.seed, severity=job.severity, base=job.base, options=options)
        print(job.archive, read_label(out).cpu_seconds, flush=True)


def again(folder: Path) -> None:
    """Ask the identities of today of the inputs that were kept; numbers that need the trainer's functions stay."""
    for path in sorted(folder.glob(f"*/*/{INPUTS}")):
        run_of = path.parent / "run"
        for path_of in (f"{NAME}.jsonl", f"{NAME}_config.json"):
            (run_of / path_of).unlink(missing_ok=True)
        recorder = BatchRecorder(run_of)
        for step, given, found in _kept(path):
            recorder.files.write(step, found | recorder.measure(step, given))


def _kept(path: Path) -> Iterator[tuple[int, dict[str, Any], dict[str, float]]]:
    with path.open("rb") as file:
        while file.peek(1):
            yield pickle.load(file)


def score(folder: Path) -> dict[str, Any]:
    """What is said of each run that lies in `folder`: the key `language` of recorder.json, or `other_seed` in it."""
    rows = []
    with likelihood.instead(weighed_by_others()):
        for path in sorted(folder.glob("*/*/label.json")):
            label, read = read_label(path.parent), firstbreak.read(path.parent / "run")
            true = {"link": label.link, "cause": label.cause}
            said = {"with": judged(read), "without": judged(without_recorder(read))}
            rows.append({"name": str(path.parent.relative_to(folder)), "true": true, **said})
    return summary(rows, "with") | {"without": summary(rows, "without"), "runs": rows}


def summary(rows: list[dict[str, Any]], which: str) -> dict[str, Any]:
    """Shares over the faulty runs and over the healthy ones."""
    faulty = [row for row in rows if row["true"]["link"] is not None]
    healthy = [row for row in rows if row["true"]["link"] is None]
    return {
        "n_faulty": len(faulty),
        "n_healthy": len(healthy),
        "link_top1": _share([row[which]["link"] == row["true"]["link"] for row in faulty]),
        "cause_top1": _share([row[which]["cause"] == row["true"]["cause"] for row in faulty]),
        "healthy_accused": _share([row[which]["link"] is not None for row in healthy]),
    }


def _share(hits: list[bool]) -> float:
    return sum(hits) / max(len(hits), 1)


def weighed_by_others() -> dict[str, dict[str, tuple[int, int, int]]]:
    """The counts in the weights, from the training runs of the other trainers alone."""
    folder = home()
    kind = bench.kind_of(corpus.labels(folder).values())
    checked = weights.examine(
        folder,
        wanted=lambda label: label.base.partition("/")[0] not in TRAINERS and weights.in_training(label),
        harmless=lambda label: kind(label) == "harmless",
    )
    counts = weights.count(checked)
    return {cause: {name: (c, s, n) for name, (c, s, n) in per.items()} for cause, per in counts.items()}
