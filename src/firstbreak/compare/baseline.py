"""How a run stands beside earlier healthy runs of the same task: the band of their curves, and where the run first leaves it.

For each signal, the runs' curves are averaged in equal bins of the steps that all cover. The band is the mean of the earlier runs
and their spread, which is pooled over neighbouring bins and never far below the spread of the whole run: a few runs that happen
to agree at one step do not make a narrow band. Nor is it narrower than the noise of the run from bin to bin. A departure is a
stretch in which four of five bins lie outside. How far is outside depends on the number of runs (`LIMITS`). How many healthy
runs leave the band in any signal was counted on tasks that were held out (`FALSE_ALARMS`).
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from firstbreak.compare.arms import Member
from firstbreak.compare.first_difference import STAYS, at, grid
from firstbreak.dialects import signals
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.stats.noise import noise_scale
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.model import Departure, EarlierRuns, FirstBreak, Link, Run, Series
from firstbreak.readers import Unreadable
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import claimed, read
from firstbreak.values import dataclass

LEAST = 3  #: runs that make a band
MOST = 10  #: the newest are taken
#: number of earlier runs -> spreads beyond which a curve has left their band (set on the lab, with a look at held-out
#: tasks: LOG.md, Evaluation and comparisons)
LIMITS = {3: 5.0, 4: 4.0}
FALSE_ALARMS = {3: 0.06, 4: 0.07}  #: share of healthy runs, held out, that leave the band anywhere
MOST_KEPT = 64  #: runs of a folder that are held in memory for the next one
NEAR = 5  #: bins on each side over which the spread is pooled
SHARE = 0.5  #: of the typical spread of the run: the least spread of a bin
FLAT = 1e-3  #: of the size of a curve: a spread below it is rounding, of a console or of 32 bits
WIDE = 10.0  #: a positive curve whose values differ by more than this factor is compared by ratios
#: what differs between machines and clocks, and what the settings say
_LEFT_OUT = ("progress.", "time.", "memory.", "throughput.")


def limit(runs: int) -> float:
    """Spreads beyond which a curve has left the band of so many runs."""
    return LIMITS[min(max(runs, LEAST), max(LIMITS))]


def stand(run: Run, earlier: Sequence[Run], left_out: Sequence[str] = ()) -> EarlierRuns:
    """The run beside earlier healthy ones. `left_out`: what is said of runs of the folder that are not among them."""
    names = tuple(other.path for other in earlier)
    if len(earlier) < LEAST:
        return EarlierRuns(runs=names, left_out=tuple(left_out))
    found = [
        departure
        for name in run.series
        if not name.startswith(_LEFT_OUT)
        and (curves := _curves(name, earlier)) is not None
        and (departure := depart(name, run.series[name].finite, curves)) is not None
    ]
    found.sort(key=lambda d: (d.step, -d.size))
    inputs = Inputs(run)
    scores = ((c, _curves(c.name, earlier)) for c in (inputs.score, inputs.second_score) if c is not None)
    curve, others = next(((c, theirs) for c, theirs in scores if theirs is not None), (None, None))
    return EarlierRuns(
        runs=names,
        left_out=tuple(left_out),
        departures=tuple(found),
        compared=sum(not name.startswith(_LEFT_OUT) and _curves(name, earlier) is not None for name in run.series),
        false_alarms=FALSE_ALARMS[min(len(earlier), max(FALSE_ALARMS))],
        score=None if curve is None or others is None else _now(curve.name, curve.finite, others),
    )


def depart(name: str, curve: Series, earlier: Sequence[Series]) -> Departure | None:
    """Where a curve leaves the band of earlier ones for good, or None."""
    signal = signals.lookup(name.partition("@")[0])
    if signal is None or signal.link is None or len(curve) < STAYS:
        return None
    compared = _compared(curve, earlier)
    if compared is None:
        return None
    beyond = limit(len(earlier))
    sizes = (compared.mine - compared.others.mean(axis=0)) / compared.spread
    places = compared.places
    step = first_sustained(Series(name=name, steps=places, values=sizes), lambda z: np.abs(z) > beyond, STAYS)
    if step is None:
        return None
    i = int(np.searchsorted(places, step))
    logged = float(curve.steps[min(int(np.searchsorted(curve.steps, step)), len(curve) - 1)])
    return _place(compared, i, beyond, signal.link, name, logged, float(np.median(np.abs(sizes[i:]))))


def _now(name: str, curve: Series, earlier: Sequence[Series]) -> Departure | None:
    """The last value of a curve that the earlier runs cover, beside theirs."""
    compared = _compared(curve, earlier)
    signal = signals.lookup(name.partition("@")[0])
    if compared is None or signal is None or signal.link is None:
        return None
    size = abs(compared.mine[-1] - compared.others[:, -1].mean()) / compared.spread[-1]
    return _place(compared, -1, limit(len(earlier)), signal.link, name, float(compared.places[-1]), float(size))


def _place(compared: _Compared, i: int, beyond: float, link: Link, name: str, step: float, size: float) -> Departure:
    """The curve and the earlier ones in bin `i`, in the unit of the curve."""
    back = np.exp if compared.ratios else np.asarray
    theirs = compared.others[:, i]
    width = beyond * compared.spread[i]
    value, seen = float(back(compared.mine[i])), (float(back(theirs.min())), float(back(theirs.max())))
    band = (float(back(theirs.mean() - width)), float(back(theirs.mean() + width)))
    return Departure(link=link, metric=name, step=step, value=value, seen=seen, band=band, size=size)


@dataclass(frozen=True)
class _Compared:
    """A curve and earlier ones in equal bins."""

    places: np.ndarray  #: (bins,) right edges, in steps
    mine: np.ndarray  #: (bins,)
    others: np.ndarray  #: (runs, bins)
    spread: np.ndarray  #: (bins,) of a further run round the mean of the others
    ratios: bool  #: whether the values are logarithms


def _compared(curve: Series, earlier: Sequence[Series]) -> _Compared | None:
    """The curves in the bins that all cover, or None where these are too few."""
    places = grid([curve, *earlier])
    if len(places) < STAYS:
        return None
    mine, others = at(curve, places), np.stack([at(other, places) for other in earlier])
    everything = np.concatenate([mine[None], others])
    ratios = bool(everything.min() > 0 and others.max() > WIDE * others.min())
    if ratios:
        mine, others = np.log(mine), np.log(others)
    n = len(others)
    variance = others.var(axis=0, ddof=1)
    sums = np.cumsum([0.0, *variance])
    first = np.maximum(np.arange(len(places)) - NEAR, 0)
    last = np.minimum(np.arange(len(places)) + NEAR + 1, len(places))
    pooled = np.sqrt((sums[last] - sums[first]) / (last - first))
    spread = np.maximum(pooled, SHARE * math.sqrt(float(np.median(variance))))
    spread = np.maximum(spread, noise_scale(mine))
    spread = np.maximum(spread, FLAT * float(np.abs(others).max()) + 1e-300)
    return _Compared(places, mine, others, spread * math.sqrt(1 + 1 / n), ratios)


def _curves(name: str, runs: Sequence[Run]) -> list[Series] | None:
    """The curves of a signal in all runs, or None where one lacks it."""
    curves = [run.series[name].finite for run in runs if name in run.series]
    return curves if len(curves) == len(runs) and all(len(curve) >= STAYS for curve in curves) else None


Look = Callable[[Path], tuple[Run, FirstBreak | None]]


def earlier_runs(
    run: Run, folder: str | Path, trainer: str | None = None, look: Look | None = None
) -> tuple[list[Run], list[str]]:
    """The newest healthy runs of the same task in a folder, and what is said of the others. Raises `Unreadable`.

    Left out are the run itself, runs of another task or trainer, and runs in which the diagnosis names a break. `look` reads
    and diagnoses a run.
    """
    kept: list[Run] = []
    left_out: list[str] = []
    mine = Member(run, None)
    paths = [path for path in find_runs(folder) if path.resolve() != Path(run.path).resolve()]
    for path in sorted(paths, key=_changed, reverse=True):
        if len(kept) == MOST:
            left_out.append(f"older runs than the newest {MOST}")
            break
        try:
            other, broken = _looked_at(path, trainer) if look is None else look(path)
        except Unreadable as error:
            left_out.append(str(error))
            continue
        theirs = Member(other, None)
        if mine.task and theirs.task and mine.task != theirs.task:
            left_out.append(f"{path.name}: another task ({theirs.task})")
        elif other.trainer != run.trainer or other.algorithm != run.algorithm:
            left_out.append(f"{path.name}: another trainer or algorithm ({other.trainer}, {other.algorithm})")
        elif broken is not None:
            left_out.append(f"{path.name}: not healthy, {broken.link.value} broke")
        elif any(theirs.copies(Member(one, None)) for one in (run, *kept)):
            left_out.append(f"{path.name}: a copy")
        else:
            kept.append(other)
    return kept, left_out


class EarlierFolder:
    """A folder of earlier runs for many runs: each is read and diagnosed once, and again when its files have changed."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._known: dict[Path, tuple[float, tuple[Run, FirstBreak | None]]] = {}
        self._lock = threading.Lock()

    def compare(self, run: Run) -> EarlierRuns:
        """The run beside the healthy ones of the folder. A folder that cannot be read is said among what is left out."""
        with self._lock:
            try:
                return stand(run, *earlier_runs(run, self.folder, look=self._look))
            except Unreadable as error:
                return EarlierRuns(runs=(), left_out=(str(error),))

    def _look(self, path: Path) -> tuple[Run, FirstBreak | None]:
        changed = _changed(path)
        if path not in self._known or self._known[path][0] != changed:
            self._known.pop(path, None)
            self._known[path] = changed, _looked_at(path, None)
            if len(self._known) > MOST_KEPT:
                del self._known[next(iter(self._known))]
        return self._known[path][1]


def _looked_at(path: Path, trainer: str | None) -> tuple[Run, FirstBreak | None]:
    run = read(path, trainer=trainer)
    return run, diagnose(run).first_break


def _changed(path: Path) -> float:
    files = [path] if path.is_file() else [file for file, _ in claimed(path)]
    return max((file.stat().st_mtime for file in files if file.exists()), default=0.0)
