"""Is what firstbreak says right, and does it contradict itself? `make bench-judgement`.

    python -m benchmarks.judgement [--parts said,sweeps] [--share 0.02] [--processes 1]

said            logs with the right answer, in ../shared/inputs/said: state, link and action. What has to be said, in any
                words, is judged by a reader, and not here
peers           both peers' runs with a signature that has links: the first link is one of them; healthy runs accused
sweeps          one property each over 100 seeds: peak and decline is rolled back, a rise is called rising, ...
contradictions  20,000 drawn courses (score x signs x trainers): statements of one report that contradict each other
healthy         healthy runs of the population: stopped, called broken
metamorphic     the shared runs: in how many do action or first link change with the reward's unit, order, a copy, the end

Parts whose inputs are not there are left out. --share takes a part of the courses and of the population's packs, and ten
times this part of the small ones (seeds of sweeps and peers, shared runs); the shares stand in the figures. Rows are kept
in out/judgement/, so that a measurement that was interrupted continues; after a change of the code they are made again.
Parts that are not asked keep their committed figures.

Writes benchmarks/results/judgement.json.
"""

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from benchmarks import peers
from benchmarks.judgement import measures
from benchmarks.machine import PACKAGES, environment
from benchmarks.resume import kept
from benchmarks.size import place, sized

ROOT = Path(__file__).resolve().parents[2]
RESULT = ROOT / "benchmarks" / "results" / "judgement.json"
FIELD = RESULT.with_name("field.json")
KEPT = ROOT / "out" / "judgement"  #: not committed
COURSES, SEEDS = 20_000, 100
#: all of the product that decides a report; READING of benchmarks.population has no reports
PRODUCT = tuple(f"src/firstbreak/{name}" for name in ("engine", "knowledge", "dialects", "readers", "reports"))
OWN = "benchmarks/judgement"


@dataclass(frozen=True)
class Part:
    """One part of the yardstick: its jobs, what does one, and the files beside the product that decide its rows."""

    jobs: Callable[[float], Sequence[str]]
    work: Callable[[str], dict[str, Any]]
    code: tuple[str, ...]


def _seeds(full: int, share: float) -> range:
    return range(sized(max(1, round(full * min(1.0, share))), 2))


PARTS: dict[str, Part] = {
    "said": Part(lambda _: sorted(measures.expected())[: sized(None, 2)], measures.said_row, (f"{OWN}/measures.py",)),
    "sweeps": Part(
        lambda share: [f"{name} {seed}" for seed in _seeds(SEEDS, 10 * share) for name in measures.SWEEPS],
        measures.sweep_row,
        (f"{OWN}/measures.py", f"{OWN}/courses.py", "benchmarks/judgement"),
    ),
    "contradictions": Part(
        lambda share: [str(seed) for seed in _seeds(COURSES, share)],
        measures.course_row,
        (f"{OWN}/courses.py", "benchmarks/judgement"),
    ),
    "peers": Part(lambda share: _peers(_seeds(peers.SEEDS, 10 * share)), measures.peers_row, ("benchmarks/peers.py",)),
    "healthy": Part(
        lambda share: _some(measures.healthy_jobs(), share)[: sized(None, 1)],
        measures.healthy_row,
        ("benchmarks/population.py",),
    ),
    "metamorphic": Part(
        lambda share: _some(measures.metamorphic_jobs(), 10 * share)[: sized(None, 2)],
        measures.metamorphic_row,
        (f"{OWN}/measures.py",),
    ),
}


def _some(jobs: Sequence[str], share: float) -> Sequence[str]:
    """Every so many of them."""
    return jobs[:: max(1, round(1 / share))]


def _peers(seeds: Sequence[int]) -> list[str]:
    """Every signature at these seeds, where both peers are installed."""
    if find_spec("rl_doctor") is None or not Path(sys.executable).with_name("rlprobe").exists():
        return []
    return [
        f"{peer} {signature} {seed}"
        for peer, signatures in peers.SIGNATURES.items()
        for signature in list(signatures)[: sized(None, 2)]
        for seed in seeds[: peers.SEEDS]
    ]


def told(part: str, work: Callable[[str], dict[str, Any]], job: str) -> dict[str, Any]:
    """One row, and a line on stderr: how far the part is shows the file in out/judgement/."""
    row = work(job)
    print(f"{part} {job}", file=sys.stderr)
    return row


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", default=",".join(PARTS), help="of these, divided by commas")
    parser.add_argument(
        "--share", type=float, default=1.0, help="of the courses and packs; of the sweeps' seeds ten times it"
    )
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args(arguments)
    rows: dict[str, list[dict[str, Any]]] = {}
    for name in options.parts.split(","):
        part = PARTS[name]
        if jobs := part.jobs(options.share):
            work = partial(told, name, part.work)
            rows[name] = kept(place(KEPT) / f"{name}.jsonl", jobs, work, options.processes, *PRODUCT, *part.code)
        else:
            print(f"{name}: its inputs are not here", file=sys.stderr)
    before = json.loads(RESULT.read_text()) if RESULT.exists() else {}
    share = before.get("share", {}) | {name: round(len(rows[name]) / len(PARTS[name].jobs(1.0)), 4) for name in rows}
    content = {
        **environment("make bench-judgement", PACKAGES),
        "share": share,
        **{name: before[name] for name in PARTS if name in before},
        **measures.figures(rows),
        "public": json.loads(FIELD.read_text())["forty"]["all"],  # of `python -m benchmarks.field --part forty`
    }
    place(RESULT).write_text(json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps({name: short(content[name]) for name in PARTS if name in content}, indent=1, ensure_ascii=False))


def short(figures: dict[str, Any]) -> dict[str, Any]:
    """The numbers of a part, without its runs and examples."""
    return {key: value for key, value in figures.items() if not isinstance(value, dict) or key == "rules"}


if __name__ == "__main__":
    main()
