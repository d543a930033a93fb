"""How much of what the guides say of curves firstbreak says too: `make statements`.

    python -m benchmarks.statements [--share S] [--only REGEX] [--trainer T] [--failures N] [--show CASE --out FOLDER]

Writes benchmarks/results/statements.json where the whole grid was run, or with --record. The file says which share was run.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from benchmarks.machine import environment
from benchmarks.size import SMALLEST, place, sized
from benchmarks.statements import suite
from benchmarks.statements.statement import Statement
from benchmarks.statements.suite import Result
from firstbreak.engine.stats.proportion import wilson
from firstbreak.reports.terminal import render

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "statements.json"
SMALLEST_SHARE = 0.0005  #: of the grid, with SMALLEST=1: one broken run and one look-alike of each statement


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the grid, or show one case."""
    options = _options(arguments)
    known = suite.statements()
    wanted = [s for s in known.values() if re.search(options.only, s.id)]
    if not wanted:
        sys.exit(f"no statement is called like {options.only!r}; known: {', '.join(known)}")
    if options.show:
        return show(options.show, options.trainer, options.out, known, options.healthy)
    whole = suite.grid(wanted, options.trainer)
    cases = suite.sample(whole, options.share)
    start = time.monotonic()
    results = sorted(suite.run(cases, options.processes, options.rows), key=lambda result: result.case)
    report = {"share": options.share, "grid": len(whole)} | figures(known, results)
    print(table(report))
    print(failures(results, options.failures))
    print(f"{len(cases)} of {len(whole)} runs in {time.monotonic() - start:.0f} s")
    full = options.share >= 1 and options.only == "" and options.trainer is None
    if full or options.record or SMALLEST:
        # What is said of samples, checks and machines is measured by benchmarks.statements.carriers.
        old = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
        kept = {key: value for key, value in old.items() if key.startswith("carriers")}
        place(RESULTS).write_text(json.dumps(environment("make statements") | report | kept, indent=1) + "\n")
    return None


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.statements", description=(__doc__ or "").splitlines()[0]
    )
    parser.add_argument("--share", type=float, default=sized(1.0, SMALLEST_SHARE), help="of the grid, a seeded sample")
    parser.add_argument("--only", default="", help="statements whose id this regular expression finds")
    parser.add_argument("--trainer", choices=sorted(suite.TRAINERS), help="runs of this trainer only")
    parser.add_argument("--record", action="store_true", help="write the figures of a sample, too")
    parser.add_argument("--failures", type=int, default=30, help="how many failures are listed")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--rows", type=Path, help="a file that keeps finished runs, so that a long run can be continued"
    )
    parser.add_argument(
        "--show", metavar="ID", help="write one run of this statement (or this very case) and diagnose it"
    )
    parser.add_argument("--healthy", action="store_true", help="with --show: the look-alike")
    parser.add_argument("--out", type=Path, help="with --show: the folder that the run is written to")
    return parser.parse_args(arguments)


def show(name: str, trainer: str | None, out: Path | None, known: dict[str, Statement], healthy: bool) -> None:
    """Write one run, print its report and what is not as it should be."""
    id_ = name.partition("/")[0]
    if id_ not in known:
        sys.exit(f"no statement is called {id_!r}; known: {', '.join(known)}")
    cases = [c for c in suite.grid([known[id_]], trainer) if c.id == name or ("/" not in name and c.broken != healthy)]
    if not cases:
        sys.exit(f"no case of {id_} is called {name!r}" + (f" among the runs of {trainer}" if trainer else ""))
    case = cases[0]
    folder = (out or Path(tempfile.mkdtemp(prefix="firstbreak-statement-"))) / "run"
    dx = suite.diagnosed(case, known[id_], folder)
    print(render(dx, width=120))
    failed = suite.judge(known[id_], dx, case.broken)
    print(f"{case.id}\n  written to {folder}\n  {suite.summary(dx)}")
    print("  " + ("\n  ".join(f"WRONG {part}" for part in failed) or "as it should be"))


# --- figures ---------------------------------------------------------------------------------------------------------


def _rate(results: Iterable[Result]) -> dict[str, Any]:
    right = [result.right for result in results]
    low, high = wilson(sum(right), len(right)) if right else (0.0, 1.0)
    return {"right": sum(right), "runs": len(right), "interval": [round(low, 4), round(high, 4)]}


def figures(known: dict[str, Statement], results: Sequence[Result]) -> dict[str, Any]:
    """Rates of all, of each trainer and of each statement (`curves.<id>`, with the trainers on which it goes wrong)."""
    broken, healthy = ([r for r in results if r.case.broken is side] for side in (True, False))
    stopped = [r for r in healthy if r.stopped]
    settings = sorted({(r.case.trainer, r.case.method) for r in results})
    report: dict[str, Any] = {
        "runs": len(results),
        "ms_per_run": round(1000 * sum(r.seconds for r in results) / max(1, len(results)), 1),
        "fires": _rate(broken),
        "silent": _rate(healthy),
        "healthy_stopped": len(stopped),
        "trainers": {
            f"{trainer}-{method}": {
                "fires": _rate(r for r in broken if (r.case.trainer, r.case.method) == (trainer, method)),
                "silent": _rate(r for r in healthy if (r.case.trainer, r.case.method) == (trainer, method)),
            }
            for trainer, method in settings
        },
    }
    for id_ in known:
        fires, silent = ([r for r in side if r.case.statement == id_] for side in (broken, healthy))
        if fires:
            report[id_] = {
                "fires": _rate(fires),
                "silent": _rate(silent),
                "missed": _wrong(fires),
                "loud": _wrong(silent),
                "message": next((r.message for r in fires if r.right), ""),
            }
    return report


def _wrong(results: Sequence[Result]) -> dict[str, str]:
    """Setting -> wrong/runs, of those with a wrong run."""
    out: dict[str, str] = {}
    for setting in sorted({f"{r.case.trainer}-{r.case.method}" for r in results}):
        own = [r for r in results if f"{r.case.trainer}-{r.case.method}" == setting]
        if wrong := sum(not r.right for r in own):
            out[setting] = f"{wrong}/{len(own)}"
    return out


def table(report: dict[str, Any]) -> str:
    """One line per statement, and the totals."""
    lines = [f"{'statement':52} {'fires':>11} {'silent':>11}  missed on"]
    for id_, row in report.items():
        if id_.startswith("curves."):
            places = [f"{setting} {count}" for setting, count in row["missed"].items()]
            places += [f"loud on {setting} {count}" for setting, count in row["loud"].items()]
            lines.append(f"{id_:52} {_count(row['fires'])} {_count(row['silent'])}  {', '.join(places)}")
    for word in ("fires", "silent"):
        low, high = report[word]["interval"]
        right, runs = report[word]["right"], report[word]["runs"]
        lines.append(f"{word}: {right}/{runs} = {right / max(1, runs):.4f} (95 % interval {low:.4f} to {high:.4f})")
    lines.append(f"healthy runs that were stopped: {report['healthy_stopped']}; {report['ms_per_run']} ms per run")
    return "\n".join(lines)


def _count(rate: dict[str, Any]) -> str:
    return f"{rate['right']:>5}/{rate['runs']:<5}"


def failures(results: Sequence[Result], limit: int) -> str:
    """The first failures of each statement and trainer, with what was said instead."""
    wrong = [r for r in results if not r.right]
    spread: dict[tuple[str, str, bool], list[Result]] = {}
    for result in wrong:
        spread.setdefault((result.case.statement, result.case.trainer, result.case.broken), []).append(result)
    rounds = max((len(group) for group in spread.values()), default=0)
    turns = [group[i] for i in range(rounds) for group in spread.values() if i < len(group)][:limit]
    lines = [f"{len(wrong)} runs are not as they should be" + (f", {len(turns)} of them:" if turns else "")]
    for result in sorted(turns, key=lambda r: r.case):
        lines += [f"  {result.case.id}", f"    {'; '.join(result.failed)}", f"    said: {result.said}"]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
