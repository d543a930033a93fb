"""The size of a benchmark. With SMALLEST=1 in the environment each one runs at its smallest size, in a minute at most.

Figures of that size mean nothing: they show only that a benchmark still runs. For this reason they are written below a
temporary folder, and the committed figures and pages stay as they are. SMALLEST=FOLDER writes them below FOLDER.
"""

import os
import sys
import tempfile
from functools import cache
from pathlib import Path
from typing import TypeVar

T = TypeVar("T")
ROOT = Path(__file__).resolve().parent.parent
SMALLEST = os.environ.get("SMALLEST", "") not in ("", "0")

#: the smallest corpus: one fault and the healthy runs of two trainers, with as many seeds as the harm test needs
FEW = (
    "untouched/language-grpo-sort-0-*",
    "verifier-exploited/language-grpo-sort-1-*",
    "untouched/classic-ppo-cartpole-0-*",
    "reward-sign-flipped/classic-ppo-cartpole-1-*",
)


def sized(full: T, smallest: T) -> T:
    """The size of a benchmark: `full`, or `smallest` with SMALLEST=1."""
    return smallest if SMALLEST else full


def place(path: Path) -> Path:
    """Where a benchmark writes a file of the repository: there, or with SMALLEST=1 below a temporary folder."""
    if not SMALLEST or ROOT not in path.absolute().parents:
        return path
    there = _scratch() / path.absolute().relative_to(ROOT)
    there.parent.mkdir(parents=True, exist_ok=True)
    return there


@cache
def corpus() -> Path:
    """The corpus, or with SMALLEST=1 a folder of links to a few of its runs."""
    folder = ROOT / "corpus"
    if not SMALLEST:
        return folder
    few = place(folder)
    if not few.exists():  # else a process that started this one has made it
        for path in (folder / "manifest.json", *(run for pattern in FEW for run in sorted(folder.glob(pattern)))):
            place(path).symlink_to(path)
    return few


@cache
def _scratch() -> Path:
    if (given := os.environ["SMALLEST"]) != "1":
        return Path(given).absolute()
    folder = Path(tempfile.mkdtemp(prefix="firstbreak-smallest-"))
    os.environ["SMALLEST"] = str(folder)  # the processes that this one starts write there too
    print(f"SMALLEST=1: files are written below {folder}", file=sys.stderr)
    return folder
