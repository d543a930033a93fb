"""Tutorials that run: each command is executed and its output written under it (`make docs`); a test compares.

In docs/tutorials/*.md a block ```` ```console ```` holds commands (`$ ...`) and what they print, and a block with
`title="NAME"` is a file of that name. All commands of a page run in one empty folder, in order.

    python -m benchmarks.tutorials [PAGE...] [--runs DIR]

With --runs the folders of DIR are there from the start, and commands that train (`firstbreak lab run`) are left as they stand.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.size import place, sized

TUTORIALS = Path(__file__).resolve().parent.parent / "docs" / "tutorials"
DIGEST = re.compile(r"\b[0-9a-f]{64}\b")  #: of files that hold the time at which they were written
BLOCK = re.compile(r'^```(?P<kind>\w+)(?: title="(?P<file>[\w.-]+)")?\n(?P<body>.*?)^```$', re.MULTILINE | re.DOTALL)
LIMIT = 600  # seconds for one command, on a machine that has more to do


def pages() -> list[Path]:
    """Every tutorial, and the first steps."""
    return sorted([*TUTORIALS.glob("*.md"), TUTORIALS.with_name("quickstart.md")])


def retold(page: str, runs: Path | None = None) -> str:
    """The page with the output that its commands print now."""
    with tempfile.TemporaryDirectory() as folder:
        if runs:
            shutil.copytree(runs, folder, dirs_exist_ok=True)

        def block(match: re.Match[str]) -> str:
            if match["file"]:
                (Path(folder) / match["file"]).write_text(match["body"])
            if match["kind"] != "console" or (runs and "firstbreak lab run" in match["body"]):
                return match[0]
            commands = [line[2:] for line in match["body"].splitlines() if line.startswith("$ ")]
            return "```console\n" + "".join(f"$ {c}\n{_printed(c, Path(folder))}" for c in commands) + "```"

        return BLOCK.sub(block, page)


def _printed(command: str, folder: Path) -> str:
    """What a command writes to the terminal of a reader who typed it, 80 columns wide."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "COLUMNS": "80", "PYTHONUTF8": "1"}
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, timeout=LIMIT, **streams)
    return "".join(f"{DIGEST.sub('<sha256>', line.rstrip())}\n" for line in done.stdout.splitlines())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pages", type=Path, nargs="*", default=sized(pages(), pages()[:1]))
    parser.add_argument("--runs", type=Path)
    arguments = parser.parse_args()
    for page in arguments.pages:
        place(page).write_text(retold(page.read_text(), arguments.runs))
        print(page)


if __name__ == "__main__":
    main()
