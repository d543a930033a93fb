"""Write requirements/*.txt: what the release installs, each version with the hash of its wheel.

    python benchmarks/lock.py [--index https://pypi.org/simple]

pip itself resolves, and says what it would install. Wheels only, for this Python and this platform: the release workflow runs
on the same. `make test` does not use these files, because machines differ in where they find torch.
"""

import argparse
import json
import os
import platform
import subprocess
import sys
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / "requirements"
PYPI = "https://pypi.org/simple"


def lanes() -> Mapping[str, Sequence[str]]:
    """What each file is resolved from."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    core, extras = project["dependencies"], project["optional-dependencies"]
    return {
        "core": core,
        "test": [*core, *extras["test"]],
        "docs": [*core, *extras["docs"]],
        "release": ["build", "hatchling", "cyclonedx-bom"],
    }


def resolved(wanted: Sequence[str], index: str) -> list[str]:
    """Pinned requirements with hashes, in alphabetical order. No configuration of this machine has a say."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--dry-run"]
    options = ["--ignore-installed", "--only-binary", ":all:", "--index-url", index, "--report", "-"]
    done = subprocess.run(
        [*command, *options, *wanted],
        env=clean | {"PIP_CONFIG_FILE": os.devnull},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return sorted(map(_line, json.loads(done.stdout)["install"]), key=str.lower)


def _line(found: dict[str, dict[str, object]]) -> str:
    about, archive = found["metadata"], found["download_info"]["archive_info"]
    assert isinstance(archive, dict)
    return f"{about['name']}=={about['version']} --hash=sha256:{archive['hashes']['sha256']}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--index", default=PYPI)
    index = parser.parse_args().index
    FOLDER.mkdir(exist_ok=True)
    version = ".".join(platform.python_version_tuple()[:2])
    for name, wanted in lanes().items():
        head = f"# make lock; wheels of CPython {version}, {platform.system()} {platform.machine()}"
        (FOLDER / f"{name}.txt").write_text("\n".join([head, *resolved(wanted, index)]) + "\n")


if __name__ == "__main__":
    main()
