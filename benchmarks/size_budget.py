"""Is each package within its budget? `make size`, part of `make lint`.

Counts the lines of Python and of tables of each package (those of `src` one by one), and the words of the pages that people
write, compares them with the table in CONTRIBUTING.md, and writes benchmarks/results/size.json. One line for each package
that is above its budget, or has none; then the exit code is 1.
"""

import json
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import PurePosixPath

from benchmarks.size import ROOT, place

RESULT = ROOT / "benchmarks" / "results" / "size.json"
BUDGET = ROOT / "CONTRIBUTING.md"
WORDS = "docs (words)"  #: the row of the table that counts words
PARTS = ("src", "lab", "benchmarks", "tests")
KINDS = (".py", ".toml")  #: what is counted everywhere
TABLES = (".csv", ".json", ".yaml", ".yml")  #: what is counted in src besides
#: files of src that a program writes, or that a run has left: no table that a person keeps
WRITTEN = ("*/measured.json", "*/published_settings.csv", "*/index.json", "*/demo/run/*", "*/diagnosis.schema.json")
#: committed pages that `make docs` writes as a whole, or that grow by their nature
MADE = (
    *(
        "docs/trainers/*",
        "docs/trainers.md",
        "docs/agents.md",
        "docs/security.md",
        "docs/evidence.md",
        "docs/readers.md",
    ),
    "LOG.md",
)
ROW = re.compile(r"^\| `([\w./]+)` \| ([\d,]+) \|", re.MULTILINE)
ROW_OF_WORDS = re.compile(rf"^\| {re.escape(WORDS)} \| ([\d,]+) \|", re.MULTILINE)
FILLED = re.compile(r"<!-- made:[\w-]+ -->.*?<!-- /made -->", re.DOTALL)  #: the parts of a page that `make docs` writes


def counted(files: Iterable[str]) -> Counter[str]:
    """Package -> lines of Python and tables. A module that lies directly in `src/firstbreak` counts to `src/firstbreak`."""
    lines: Counter[str] = Counter()
    for name in files:
        path = PurePosixPath(name)
        part, kind = path.parts[0], path.suffix
        if part not in PARTS or not (kind in KINDS or (part == "src" and kind in TABLES and not _any(path, WRITTEN))):
            continue
        package = (
            "/".join(path.parts[:3]) if part == "src" and len(path.parts) > 3 else str(PurePosixPath(*path.parts[:2]))
        )
        lines[package if part == "src" else part] += (ROOT / name).read_text("utf-8").count("\n")
    return lines


def words(files: Iterable[str]) -> int:
    """Words of the pages that people write, without the parts that `make docs` fills in."""
    pages = [name for name in files if name.endswith(".md") and ("/" not in name or name.startswith("docs/"))]
    written = (name for name in pages if not _any(PurePosixPath(name), MADE))
    return sum(len(FILLED.sub("", (ROOT / name).read_text("utf-8")).split()) for name in written)


def budgets(page: str) -> dict[str, int]:
    """Package -> most lines, and `WORDS` -> most words, as the table says."""
    rows = [*ROW.findall(page), *((WORDS, most) for most in ROW_OF_WORDS.findall(page))]
    return {name: int(most.replace(",", "")) for name, most in rows}


def complaints(sizes: Mapping[str, int], most: Mapping[str, int]) -> list[str]:
    """One line for each package that is above its budget, has none, or is no longer there."""
    said = []
    for name in sorted(sizes.keys() | most.keys()):
        if name not in most:
            said.append(f"{name}: {sizes[name]:,}, and no budget: add a row to the table in {BUDGET.name}")
        elif name not in sizes:
            said.append(f"{name}: is no longer there: take its row out of the table in {BUDGET.name}")
        elif sizes[name] > most[name]:
            over = sizes[name] - most[name]
            said.append(
                f"{name}: {sizes[name]:,}, {over:,} above its budget of {most[name]:,}: take something out, or raise the number "
                f"in {BUDGET.name} and write the reason beside it"
            )
    return said


def _any(path: PurePosixPath, patterns: Iterable[str]) -> bool:
    return any(path.match(pattern) for pattern in patterns)


def main() -> int:
    """Print what is above its budget; 1 where anything is."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    files = sorted(name for name in listed.stdout.splitlines() if (ROOT / name).is_file())
    packages, n_words = counted(files), words(files)
    parts = {part: sum(n for name, n in packages.items() if name.split("/")[0] == part) for part in PARTS}
    sizes = {**packages, "src": parts["src"], WORDS: n_words}
    figures = {**parts, "docs_words": n_words, "packages": dict(sorted(packages.items()))}
    place(RESULT).write_text(json.dumps(figures, indent=1) + "\n")
    said = complaints(sizes, budgets(BUDGET.read_text("utf-8")))
    print("\n".join(said) or f"{sum(parts.values()):,} lines and {n_words:,} words: each package is within its budget")
    return 1 if said else 0


if __name__ == "__main__":
    sys.exit(main())
