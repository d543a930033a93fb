"""Feeds mutated files to the readers and counts what breaks.

    python -m tests.fuzz.run --executions 100000                      every reader
    python -m tests.fuzz.run --reader csv --executions 100000 --seed 0
    python -m tests.fuzz.run --reader csv --seed 0 --only 4711        one execution again, with its traceback

A crash is any exception other than Unreadable, a message of several lines, arrays of unequal length, more than
2 seconds of the processor (30 by the clock), or more than 1 GiB. Every execution is made from (reader, seed, number) alone.
"""

import argparse
import contextlib
import json
import random
import resource
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType, ModuleType

from benchmarks.machine import environment
from benchmarks.size import place, sized

from firstbreak.readers import Recording, Unreadable, readers
from tests.fuzz.mutate import mutate
from tests.fuzz.seeds import names as read_by
from tests.fuzz.seeds import seeds

SECONDS, BY_THE_CLOCK = 2.0, 30.0
BYTES = 1 << 30


@dataclass
class Tally:
    """What came of the executions of one reader."""

    reader: str
    executions: int = 0
    refused: int = 0  #: ended in Unreadable, as broken files may
    seconds: float = 0.0
    crashes: Counter[str] = field(default_factory=Counter)  #: kind -> how often
    first: dict[str, int] = field(default_factory=dict)  #: kind -> the number of its first execution


class TooSlow(Exception):
    """An execution took too long."""


class Wrong(Exception):
    """A recording that breaks the contract."""


def fuzz(name: str, executions: int, seed: int) -> Tally:
    """Runs one reader on that many mutants."""
    tally = Tally(name)
    started = time.perf_counter()
    with workplace() as folder, alarm():
        for number in range(executions):
            try:
                execute(name, seed, number, folder)
            except Unreadable:
                tally.refused += 1
            except Exception as error:  # the whole point: nothing else may come out of a reader
                kind = kind_of(error)
                tally.crashes[kind] += 1
                tally.first.setdefault(kind, number)
            tally.executions += 1
    tally.seconds = time.perf_counter() - started
    return tally


def execute(name: str, seed: int, number: int, folder: Path) -> None:
    """One mutant, read as it is; every fourth one grows or is rewritten, and is read again from where it ended."""
    reader = readers()[name]
    rng = random.Random(f"{name}:{seed}:{number}")
    file, data = rng.choice(seeds(name))
    mutant = mutate(rng, data, rng.choice(seeds(name))[1])
    path = folder / file
    place = lay_out(name, folder, file)
    path.write_bytes(mutant)
    set_timers(SECONDS, BY_THE_CLOCK)
    try:
        _check(reader.sniff(path, mutant[:4096]), bool)
        resume = _read(reader, place, None).resume
        if rng.random() < 0.25:
            longer = mutate(rng, data, mutant) if rng.random() < 0.3 else mutant + mutate(rng, data, mutant)
            path.write_bytes(longer)
            _read(reader, place, resume)
    except Unreadable as error:
        if "\n" in str(error):
            raise Wrong(f"a message of several lines: {error}") from None
        raise
    finally:
        set_timers(0, 0)


def lay_out(name: str, folder: Path, file: str) -> Path:
    """Writes a whole recording, of which `file` is or will be a part; returns the file or folder to read."""
    reader, whole = readers()[name], [(file, b"")]
    if hasattr(reader, "claims"):
        whole = [(other, data) for other, data in seeds(name) if Path(other).parts[0] == Path(file).parts[0]]
    for other, data in whole:
        path = folder / other
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    parents = [parent for parent in (folder / file).parents if folder in parent.parents]
    return next((p for p in parents if hasattr(reader, "claims") and reader.claims(p)), folder / file)


def _read(reader: ModuleType, path: Path, resume: object) -> Recording:
    recording = reader.read(path, resume)
    _check(recording, Recording)
    for name, curve in recording.curves.items():
        if not len(curve.index) == len(curve.values):
            raise Wrong(f"{name}: {len(curve.index)} steps and {len(curve.values)} values")
    if recording.has_samples:
        for _ in reader.samples(path):
            pass
    return recording


def _check(value: object, kind: type) -> None:
    if not isinstance(value, kind):
        raise Wrong(f"{type(value).__name__} instead of {kind.__name__}")


def kind_of(error: BaseException) -> str:
    """The exception and the innermost line of the project that it went through."""
    place = ""
    trace = error.__traceback__
    while trace is not None:
        file = trace.tb_frame.f_code.co_filename
        if "firstbreak" in file:
            place = f" at {Path(file).name}:{trace.tb_lineno}"
        trace = trace.tb_next
    return f"{type(error).__name__}: {str(error)[:80]}{place}"


@contextlib.contextmanager
def workplace() -> Iterator[Path]:
    """A folder in memory where there is one: a disk would be most of the time."""
    shm = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=shm if shm.is_dir() else None) as folder:
        yield Path(folder)


def set_timers(seconds: float, by_the_clock: float) -> None:
    signal.setitimer(signal.ITIMER_PROF, seconds)
    signal.setitimer(signal.ITIMER_REAL, by_the_clock)


@contextlib.contextmanager
def alarm() -> Iterator[None]:
    def stop(signal_: int, frame: FrameType | None) -> None:
        raise TooSlow(f"more than {SECONDS} s")

    previous = {timer: signal.signal(timer, stop) for timer in (signal.SIGPROF, signal.SIGALRM)}
    try:
        yield
    finally:
        for timer, handler in previous.items():
            signal.signal(timer, handler)


def limit_memory() -> None:
    """Lets the process grow by BYTES at most; beyond that an execution ends in MemoryError."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + BYTES, used + BYTES))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--reader", action="append", help="a reader's name; every reader with seeds if left out")
    parser.add_argument("--executions", type=int, default=10_000, help="of each reader")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int, metavar="NUMBER", help="run one execution again and show its traceback")
    parser.add_argument(
        "--output", type=Path, help="write the tallies into this JSON file; those of other readers stay"
    )
    options = parser.parse_args()
    names = options.reader or sorted(readers().keys() & set(read_by()))
    limit_memory()
    if options.only is not None:
        with workplace() as folder, alarm():
            execute(names[0], options.seed, options.only, folder)
        return 0
    tallies = []
    for name in names:
        tally = fuzz(name, sized(options.executions, 20), options.seed)
        tallies.append(tally)
        print(
            f"{name:16s} {tally.executions:9,d} executions {sum(tally.crashes.values()):6,d} crashes "
            f"{tally.refused:9,d} refused {tally.seconds:8.1f} s",
            flush=True,
        )
        for kind, count in tally.crashes.most_common():
            print(f"    {count:6,d} x {kind}  (first: --only {tally.first[kind]})")
    executions = sum(tally.executions for tally in tallies)
    crashes = sum(sum(tally.crashes.values()) for tally in tallies)
    print(f"{'all':16s} {executions:9,d} executions {crashes:6,d} crashes")
    if options.output:
        where = environment("make fuzz")
        before = json.loads(options.output.read_text())["readers"] if options.output.exists() else {}
        place(options.output).write_text(
            json.dumps({**where, **_summary(before, tallies, options.seed)}, indent=2) + "\n"
        )
    return 1 if crashes else 0


def _summary(before: dict[str, dict[str, float]], tallies: list[Tally], seed: int) -> dict[str, object]:
    ran = {
        tally.reader: {
            "executions": tally.executions,
            "crashes": sum(tally.crashes.values()),
            "refused": tally.refused,
            "seconds": round(tally.seconds, 1),
        }
        for tally in tallies
    }
    every = dict(sorted({**before, **ran}.items()))
    return {
        "seed": seed,
        "executions": sum(tally["executions"] for tally in every.values()),
        "crashes": sum(tally["crashes"] for tally in every.values()),
        "readers": every,
    }


if __name__ == "__main__":
    sys.exit(main())
