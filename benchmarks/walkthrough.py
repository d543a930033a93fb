"""Run the commands that a page shows, and put what they really print below them.

    python -m benchmarks.walkthrough docs/evaluation.md [--runs DIR]

In every ```console block each line that begins with "$ " is run in a shell, all of a page in one empty folder, and what
stands below it is replaced by what it prints. With --runs the folders of DIR are there from the start, and commands that
train (`firstbreak lab run`) are left as they stand.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

BLOCK = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
TRAINS = "firstbreak lab run"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("--runs", type=Path)
    arguments = parser.parse_args()
    text = arguments.page.read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if arguments.runs:
            shutil.copytree(arguments.runs, folder, dirs_exist_ok=True)
        filled = BLOCK.sub(lambda block: _block(block[0], folder, bool(arguments.runs)), text)
    arguments.page.write_text(filled)


def _block(block: str, folder: Path, trained: bool) -> str:
    """The block with fresh output."""
    if trained and TRAINS in block:
        return block
    return "".join(_command(line, folder) for line in block.splitlines() if line.startswith("$ "))


def _command(line: str, folder: Path) -> str:
    """The line, and what its command prints to a person: both streams."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "NO_COLOR": "1"}
    done = subprocess.run(
        line.removeprefix("$ "), shell=True, cwd=folder, env=environment, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
    )  # fmt: skip
    print(line, f"-> {done.returncode}", file=sys.stderr)
    return f"{line}\n{done.stdout}"


if __name__ == "__main__":
    main()
