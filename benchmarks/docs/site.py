"""Write the pages that are on the site alone, and not committed: `python -m benchmarks.docs.site` (seconds; `make site`)."""

from pathlib import Path

from benchmarks.docs import BUILT, ROOT

FOLDERS = ("reference", "pictures/detectors", "pictures/causes")  #: nothing else lies in them


def write(folder: Path) -> None:
    """Write each page below `folder`, and remove those whose rule is gone."""
    for path in (path for part in FOLDERS for path in (folder / part).rglob("*.*")):
        if path.relative_to(folder).as_posix() not in BUILT:
            path.unlink()
    for name, made in BUILT.items():
        page = folder / name
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text(made().rstrip() + "\n", "utf-8")


if __name__ == "__main__":
    write(ROOT / "docs")
