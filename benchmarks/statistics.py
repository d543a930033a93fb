"""Are the statistics as honest as they say? `python -m benchmarks.statistics` writes results/statistics.json.

`python -m benchmarks.statistics changes` measures `changes` alone, and adds its figures to that file.
`python -m benchmarks.statistics calibrate` prints the points from which the constants of `stats.onset.p_value` were read.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.curves import SCORES, SEEN, UNSEEN, Rng, ar1_noise, healthy, score, variant
from benchmarks.machine import environment
from benchmarks.size import place, sized
from firstbreak.engine.stats.breaks import find_breaks
from firstbreak.engine.stats.ceiling import outlook
from firstbreak.engine.stats.changes import changes
from firstbreak.engine.stats.noise import autocorrelation, quasi_difference, spread
from firstbreak.engine.stats.onset import KINDS, onset
from firstbreak.engine.stats.points import rescale
from firstbreak.engine.stats.shape import trajectory
from firstbreak.engine.stats.smooth import healthy_shapes
from firstbreak.engine.stats.trend import trend

RESULT = Path(__file__).parent / "results" / "statistics.json"
SHAPES = (*SEEN, *UNSEEN)
POINTS, RHO = (12, 20, 50, 100, 300, 500), (0.0, 0.3, 0.6, 0.8, 0.95)
TAILS, AMPLITUDE = (3.0, 4.0, 8.0, 100.0), (3, 10, 20)
FAULTS = (("level", 2.0), ("level", 3.0), ("ramp", 6.0), ("ramp", 10.0), ("variance", 2.0), ("variance", 3.0))
CHANGED = (
    *(("level", size) for size in (2.0, 3.0, 5.0, 10.0)),
    ("ramp", 10.0),
    ("variance", 3.0),
    *(("burst", size) for size in (5.0, 10.0)),
    *(("recovery", size) for size in (3.0, 5.0)),
    *((kind, 1.0) for kind in ("zero", "nan")),
)
PLACES = (0.02, 0.3, 0.7, 0.95)  # of the curve, where a change begins
PARAMETERS = {"constant": 1, "linear": 2, "cosine": 2, "exponential": 3, "power": 3, "logistic": 4, "entropy": 4}
NEAR = 0.03  # of the curve, and 2 points at least: how far from there it may be found
Alarm = tuple[float, float]  # how sure, and which step


def false_alarms(rng: Rng, runs: int) -> dict[str, Any]:
    """Share of healthy curves with an onset at its default level of 5 %, by everything that was varied."""
    varied = ("points", "rho", "tails", "amplitude", "shape", "all")
    seen: dict[str, dict[str, list[bool]]] = {name: {} for name in varied}
    for _ in range(runs):
        draw = {
            "points": int(rng.choice(POINTS)),
            "rho": float(rng.choice(RHO)),
            "tails": float(rng.choice(TAILS)),
            "amplitude": int(rng.choice(AMPLITUDE)),
            "shape": str(rng.choice(SHAPES)),
            "all": "all",
        }
        y = healthy(rng, draw["points"], draw["shape"], draw["amplitude"])
        alarm = onset(y + ar1_noise(rng, draw["points"], draw["rho"], draw["tails"])) is not None
        for name, value in draw.items():
            seen[name].setdefault(str(value), []).append(alarm)
    return {name: {value: _share(hits) for value, hits in sorted(by.items())} for name, by in seen.items()}


def detection(rng: Rng, nulls: int, runs: int, known: bool) -> dict[str, Any]:
    """Share of injected changes found by each method with its threshold at 5 % false alarms on healthy curves of its own.

    300 points, AR(1) 0 to 0.7, t4 noise, a change at 120 to 220. `known`: the methods know the family of the curve.
    """
    methods: dict[str, Callable[[np.ndarray, Sequence[str] | None], Alarm]] = {
        "firstbreak": _firstbreak,
        "cusum of residuals": _cusum,
        "static threshold": _static,
    }
    quiet: dict[str, list[float]] = {name: [] for name in methods}
    for i in range(nulls):
        y, families = _curve(rng, "none", 0.0, 0, list(SEEN)[i % len(SEEN)], known)
        for name, method in methods.items():
            quiet[name].append(method(y, families)[0])
    limit = {name: float(np.quantile(scores, 0.95)) for name, scores in quiet.items()}
    table: dict[str, Any] = {name: {} for name in methods}
    for kind, size in FAULTS:
        found: dict[str, list[float]] = {name: [] for name in methods}
        for i in range(runs):
            at = int(rng.integers(120, 220))
            y, families = _curve(rng, kind, size, at, list(SEEN)[i % len(SEEN)], known)
            for name, method in methods.items():
                sure, step = method(y, families)
                if sure > limit[name]:
                    found[name].append(abs(step - at))
        for name, errors in found.items():
            median = float(np.median(errors)) if errors else None
            table[name][f"{kind} {size:g}"] = {"found": round(len(errors) / runs, 3), "median_error": median}
    if not known:
        for name, method in methods.items():
            unseen = [_curve(rng, "none", 0.0, 0, UNSEEN[i % len(UNSEEN)], known)[0] for i in range(nulls // 2)]
            table[name]["false alarms on unseen shapes"] = _share([method(y, None)[0] > limit[name] for y in unseen])
            grown = [_noise_follows_level(rng, list(SEEN)[i % len(SEEN)]) for i in range(nulls // 2)]
            table[name]["false alarms on noise that follows the level"] = _share(
                [method(y, None)[0] > limit[name] for y in grown]
            )
    return table


def changes_found(rng: Rng, runs: int) -> dict[str, Any]:
    """Share of changes found by `onset` at 1 % and by `changes`, by points, kind, size and place; shape known to be flat."""
    table: dict[str, Any] = {}
    for n in sized((12, 50, 300, 2000), (12, 50)):
        for kind, size in CHANGED:
            shares: dict[str, list[float]] = {"onset": [], "changes": []}
            for share in PLACES:
                at = max(1, round(share * n))
                hits: dict[str, list[bool]] = {"onset": [], "changes": []}
                for _ in range(runs):
                    y = variant(rng, ar1_noise(rng, n, rng.uniform(0, 0.6)), kind, at, size)
                    first = onset(y, families=["constant"], level=0.01)
                    hits["onset"].append(first is not None and abs(first.step - at) <= max(2, NEAR * n))
                    every = changes(y, families=["constant"])
                    hits["changes"].append(any(abs(c.step - at) <= max(2, NEAR * n) for c in every))
                for name, hit in hits.items():
                    shares[name].append(_share(hit))
            table.setdefault(str(n), {})[f"{kind} {size:g}"] = shares
    return {"places": PLACES, "found": table}


def changes_alarms(rng: Rng, runs: int) -> dict[str, Any]:
    """Share of healthy curves in which `changes` sees any change at all, by everything that was varied."""
    seen: dict[str, dict[str, list[bool]]] = {
        name: {} for name in ("points", "rho", "tails", "amplitude", "shape", "all")
    }
    for _ in range(runs):
        draw: dict[str, Any] = {
            "points": int(rng.choice((*POINTS, 2000, 5000))),
            "rho": float(rng.choice(RHO)),
            "tails": float(rng.choice(TAILS)),
            "amplitude": int(rng.choice((0, *AMPLITUDE))),
            "shape": str(rng.choice(SHAPES)),
            "all": "all",
        }
        y = healthy(rng, draw["points"], draw["shape"], draw["amplitude"])
        alarm = bool(changes(y + ar1_noise(rng, draw["points"], draw["rho"], draw["tails"])))
        for name, value in draw.items():
            seen[name].setdefault(str(value), []).append(alarm)
    return {name: {value: _share(hits) for value, hits in sorted(by.items())} for name, by in seen.items()}


def of_changes(rng: Rng, runs: int = 1) -> dict[str, Any]:
    """The figures of `changes`."""
    alarms, each = sized((2000 * runs, 20 * runs), (20, 1))
    return {"false_alarms": changes_alarms(rng, alarms), **changes_found(rng, each)}


def default_detection(rng: Rng, runs: int) -> dict[str, Any]:
    """What `onset` does as it is called (level 5 %): share found, coverage of the interval, its width, the right kind."""
    table: dict[str, Any] = {}
    for known in (True, False):
        for kind, size in FAULTS:
            hits = []
            for i in range(runs):
                at = int(rng.integers(120, 220))
                y, families = _curve(rng, kind, size, at, list(SEEN)[i % len(SEEN)], known)
                if found := onset(y, families=families):
                    low, high = found.interval
                    hits.append((low <= at <= high, high - low, found.kind == kind, abs(found.step - at)))
            covered, width, right, error = np.array(hits).T
            table[f"{kind} {size:g}, {'known' if known else 'mixed'} shapes"] = {
                "found": round(len(hits) / runs, 3),
                "covered": _share(covered),
                "median_width": float(np.median(width)),
                "median_error": float(np.median(error)),
                "right_kind": _share(right),
            }
    return table


def line(rng: Rng, runs: int) -> dict[str, Any]:
    """Coverage of the 95 % interval of the slope, by points and AR(1) coefficient."""
    table: dict[str, Any] = {}
    for n in (5, 8, 12, 30, 100, 1000):
        for rho in (0.0, 0.3, 0.6, 0.8, 0.95):
            inside = []
            for _ in range(runs):
                low, high = trend(np.linspace(0, 2, n) + ar1_noise(rng, n, rho)).interval
                inside.append(low <= 2 / (n - 1) <= high)
            table.setdefault(str(n), {})[str(rho)] = _share(inside)
    return table


def stories(rng: Rng, runs: int) -> dict[str, Any]:
    """Share of score curves that `trajectory` calls what a reader would call them, by points; and falsely called lost."""
    table: dict[str, Any] = {}
    for story, accepted in SCORES.items():
        for n in sized((8, 20, 50, 200, 2000), (8, 20)):
            kinds = [trajectory(score(rng, n, story, 10.0, rng.choice([0, 0.3, 0.6]))).kind for _ in range(runs)]
            entry = {"right": _share([k in accepted for k in kinds])}
            if not {"declining", "peaked", "collapsed"} & set(accepted):
                entry["called lost"] = _share([k in ("declining", "peaked", "collapsed") for k in kinds])
            table.setdefault(story, {})[str(n)] = entry
    return table


def forecast(rng: Rng, runs: int) -> dict[str, Any]:
    """Coverage of the 95 % ranges of the asymptote and of the gain over as many steps again."""
    table: dict[str, Any] = {}
    for n in (12, 50, 300):
        asymptote, gain = [], []
        for i in range(runs):
            tau, top = float(rng.uniform(0.1, 1.0)), float(rng.uniform(5, 20))

            def law(x: np.ndarray, tau: float = tau, power: bool = i % 2 == 0) -> np.ndarray:
                return x / (x + tau) if power else -np.expm1(-x / tau)

            view = outlook(top * law(np.linspace(0, 1, n)) + ar1_noise(rng, n, 0.3))
            assert view is not None
            (_, (low, high)), (_, (least, most)) = view.asymptote, view.gain(n - 1)
            asymptote.append(low <= top <= high)
            gain.append(least <= top * float(law(np.array(2.0)) - law(np.array(1.0))) <= most)
        table[str(n)] = {"asymptote": _share(asymptote), "gain": _share(gain)}
    return table


def seconds(rng: Rng) -> dict[str, float]:
    """Median time of one call."""
    functions: dict[str, Callable[[np.ndarray], Any]] = {"trend": trend, "trajectory": trajectory, "onset": onset}
    took = {}
    for name, function in functions.items():
        for n in sized((300, 100_000), (300,)):
            y = rng.normal(size=n)
            function(y)
            times = []
            for _ in range(sized(9, 1)):
                start = time.perf_counter()
                function(y)
                times.append(time.perf_counter() - start)
            took[f"{name}, {n} points"] = round(float(np.median(times)), 5)
    return took


def calibrate(rng: Rng, runs: int) -> None:
    """Print upper points of the likelihood ratio on healthy curves, by the AR(1) coefficient that was estimated."""
    drawn: dict[str, list[tuple[float, float]]] = {"level or ramp": [], "variance": []}
    for _ in range(runs):
        n = int(rng.choice(POINTS))
        y = healthy(rng, n, str(rng.choice(SHAPES)), int(rng.choice(AMPLITUDE)))
        z, _, _ = rescale(y + ar1_noise(rng, n, float(rng.choice(RHO)), float(rng.choice(TAILS))))
        breaks = find_breaks(z, KINDS)
        for name, kinds in (("level or ramp", ("level", "ramp")), ("variance", ("variance",))):
            drawn[name].append(max(((b.ratio, b.rho) for b in breaks if b.kind in kinds), default=(0.0, 0.0)))
    for name, pairs in drawn.items():
        ratio, rho = np.array(pairs).T
        for low, high in ((0.0, 0.05), (0.05, 0.35), (0.35, 0.65), (0.65, 0.9), (0.9, 1.0)):
            part = ratio[(rho >= low) & (rho < high)]
            if len(part) >= 200:
                points = np.quantile(part, [0.9, 0.95, 0.975, 0.99, 0.999]).round(1)
                print(f"{name:14s} rho {low:.2f} to {high:.2f}, {len(part):5d} curves: 90 95 97.5 99 99.9 % {points}")


def _curve(rng: Rng, kind: str, size: float, at: int, shape: str, known: bool) -> tuple[np.ndarray, tuple[str] | None]:
    noise = ar1_noise(rng, 300, rng.uniform(0, 0.7))
    y = noise if kind == "none" else variant(rng, noise, kind, at, size)
    return y + healthy(rng, 300, shape, 10.0), (SEEN[shape],) if known else None


def _noise_follows_level(rng: Rng, shape: str) -> np.ndarray:
    """A healthy curve whose noise grows or shrinks with its level by a factor of 4, as rewards and losses do."""
    curve = healthy(rng, 300, shape, 10.0)
    moved = np.abs(curve - curve[0]) / max(float(np.ptp(curve)), 1e-9)
    sd = 0.4 + 1.2 * (moved if rng.random() < 0.5 else 1 - moved)
    return curve + sd * ar1_noise(rng, 300, rng.uniform(0, 0.7))


def _firstbreak(y: np.ndarray, families: Sequence[str] | None) -> Alarm:
    found = onset(y, level=1.0, families=families)
    return (-np.log(max(found.p, 1e-300)), found.step) if found else (-np.inf, 0.0)


def _beside_healthy(y: np.ndarray, families: Sequence[str] | None) -> np.ndarray:
    """What is left beside the healthy shape with the best BIC; residuals beyond 3.5 sd are pulled in once."""
    z, _, scale = rescale(y)
    n, shapes = len(z), healthy_shapes(len(z), None if families is None else tuple(sorted(set(families))))
    cost = np.array([PARAMETERS[family] for family in shapes.families]) * np.log(n)

    def fitted(values: np.ndarray) -> np.ndarray:
        along = shapes.basis @ values
        rss = np.maximum(float(np.sum((values - values.mean()) ** 2)) - along**2, 1e-24)
        best = int(np.argmin(n * np.log(rss / n) + cost))
        return values.mean() + along[best] * shapes.basis[best]

    rough = fitted(z)
    limit = 3.5 * spread(z - rough)
    return (z - fitted(rough + np.clip(z - rough, -limit, limit))) * scale


def _cusum(y: np.ndarray, families: Sequence[str] | None) -> Alarm:
    """CUSUM (Page 1955) of the whitened residual and of its square, the larger of the two."""
    residual = _beside_healthy(y, families)
    white = quasi_difference(residual, autocorrelation(residual))
    walks = [
        np.abs(np.cumsum(w - w.mean())) / (w.std() * np.sqrt(len(w)))
        for w in (white, np.minimum(white**2, 9 * white.var()))
    ]
    best = max(walks, key=lambda walk: float(walk.max()))
    return float(best.max()), float(np.argmax(best) + 1)


def _static(y: np.ndarray, families: Sequence[str] | None) -> Alarm:
    """Distance from the mean of the first fifth in its standard deviations: what a fixed threshold sees."""
    first = y[: len(y) // 5]
    z = np.abs(y - first.mean()) / first.std()
    return float(z.max()), float(np.argmax(z))


def _share(hits: Sequence[bool] | np.ndarray) -> float:
    return round(float(np.mean(hits)), 3)


def main(runs: int = 1) -> None:
    """Measure everything; `runs` scales the number of simulations."""
    curves, nulls, faulty, lines, scores, laws = sized(
        tuple(n * runs for n in (6000, 400, 140, 400, 100, 300)), (50, 10, 10, 1, 1, 2)
    )
    rng = np.random.default_rng(2026)
    report = {
        **environment("python -m benchmarks.statistics"),
        "onset": {
            "false_alarms": false_alarms(rng, curves),
            "matched_false_alarms": {
                "known shapes": detection(rng, nulls, faulty, known=True),
                "mixed shapes": detection(rng, nulls, faulty, known=False),
            },
            "default": default_detection(rng, faulty),
        },
        "changes": of_changes(np.random.default_rng(2027), runs),
        "trend_coverage": line(rng, lines),
        "trajectory": stories(rng, scores),
        "outlook_coverage": forecast(rng, laws),
        "seconds": seconds(rng),
    }
    place(RESULT).write_text(json.dumps(report, indent=1) + "\n")
    print(json.dumps(report, indent=1))


if __name__ == "__main__":
    if sys.argv[1:] == ["calibrate"]:
        calibrate(np.random.default_rng(2025), 20_000)
    elif sys.argv[1:] == ["changes"]:
        measured = of_changes(np.random.default_rng(2027))
        place(RESULT).write_text(json.dumps(json.loads(RESULT.read_text()) | {"changes": measured}, indent=1) + "\n")
        print(json.dumps(measured, indent=1))
    else:
        main()
