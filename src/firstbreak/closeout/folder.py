"""The folder of a close-out, with a manifest of hashes, so that the folder can be verified later."""

import datetime
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firstbreak import __version__
from firstbreak.closeout import deliverables as make
from firstbreak.closeout.deliverables import Deliverable, Delivered, Material, Missing, NotNeeded
from firstbreak.readers import Unreadable, why
from firstbreak.readers.opening import beneath, open_raw, read_whole
from firstbreak.reports.markdown import code, prose
from firstbreak.values import dataclass

SCHEMA = "firstbreak.closeout/1"
MANIFEST, SUMMARY = "manifest.json", "summary.md"

#: name -> function that makes it; every run should leave the first six
DELIVERABLES: Mapping[str, Callable[[Material], Deliverable]] = {
    "best checkpoint": make.best_checkpoint,
    "last checkpoint": make.last_checkpoint,
    "failed checkpoint": make.failed_checkpoint,
    "samples for the reward audit": make.audit_samples,
    "results of several seeds": make.multi_seed,
    "report of the private set": make.private_report,
    "experiment context": make.experiment_context,
    "diagnosis": make.the_diagnosis,
}


@dataclass(frozen=True)
class FolderProblem:
    """A file that does not agree with the manifest."""

    path: str
    problem: str


def close_out(material: Material) -> dict[str, Deliverable]:
    """Fill the folder and write its summary and manifest. Raises Unreadable where the folder holds other files."""
    folder = material.folder
    if folder.exists() and any(folder.iterdir()) and not (folder / MANIFEST).exists():
        raise Unreadable(folder, "is not empty and is not a close-out", "give a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    _clear(folder)
    outcomes = {name: fill(material) for name, fill in DELIVERABLES.items()}
    material.write(SUMMARY, summary(material, outcomes))
    (folder / MANIFEST).write_text(json.dumps(_manifest(material, outcomes), indent=1) + "\n", encoding="utf-8")
    return outcomes


def _clear(folder: Path) -> None:
    """Remove the files of an earlier close-out, and no other files. Raises Unreadable where a link could lead out of it."""
    if links := [path for path in _entries(folder) if path.is_symlink()]:
        raise Unreadable(links[0], "is a link, and nothing is written or removed through one", "give a new folder")
    if (folder / MANIFEST).exists():
        for name in _manifest_of(folder)[0]:
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise Unreadable(folder / MANIFEST, f"names a file outside the folder ({name})", "give a new folder")
            (folder / name).unlink(missing_ok=True)


def _manifest_of(folder: Path) -> tuple[dict[str, str], dict[str, dict[str, Any]]]:
    """The hash of each file, and the entry of each deliverable."""
    try:
        manifest = json.loads(read_whole(folder / MANIFEST, 1 << 28))
        files = {str(file["path"]): str(file["sha256"]) for file in manifest["files"]}
        deliverables = {str(n): {**e, "status": str(e["status"])} for n, e in manifest["deliverables"].items()}
        if manifest["schema"] != SCHEMA:
            raise ValueError(f"schema {manifest['schema']}")
        if outside := [name for name in files if "\0" in name]:
            raise ValueError(f"the name {outside[0]!r}")
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise Unreadable(folder / MANIFEST, f"is not a manifest ({why(error)})", "run the close-out again") from None
    return files, deliverables


def manifest_hash(folder: Path) -> str:
    """The SHA-256 of the manifest, which vouches for all other files. Raises Unreadable."""
    return sha256(folder / MANIFEST)


def check(folder: Path) -> tuple[list[FolderProblem], dict[str, dict[str, Any]]]:
    """Files that do not agree with the manifest (missing, changed or added), and the entry of each deliverable."""
    files, deliverables = _manifest_of(folder)
    there = {_name(folder, path): path for path in _entries(folder)}
    not_files = {name for name, path in there.items() if path.is_symlink() or not path.is_file()}
    problems = [FolderProblem(name, "is missing") for name in files if name not in there]
    problems += [FolderProblem(name, "was added") for name in there if name not in files]
    problems += [FolderProblem(name, "is a link or no regular file") for name in not_files if name in files]
    asked = files.keys() & (there.keys() - not_files)
    changed = (name for name in asked if sha256(there[name]) != files[name])
    problems += [FolderProblem(name, "was changed") for name in changed]
    return sorted(problems, key=lambda p: p.path), deliverables


def summary(material: Material, outcomes: Mapping[str, Deliverable]) -> str:
    """The summary of one page."""
    run, verdict = material.run, material.diagnosis.verdict
    steps = f"steps {run.first_step:g} to {run.last_step:g}" if run.last_step is not None else "no steps"
    about = f"{run.trainer or 'Unknown trainer'}, {run.algorithm or 'unknown algorithm'}"
    lines = [
        f"# Close-out of {code(Path(run.path).name)}",
        "",
        prose(f"{about}, {steps}; {make.score_of(run)}."),
        "",
        f"**{prose(verdict.summary)}**",
        "",
        f"- upside of continuing: {prose(verdict.upside)}",
        f"- risk of continuing: {prose(verdict.risk)}",
        f"- do this first: {prose(verdict.do_first)}",
        "",
        "| deliverable | | |",
        "|---|---|---|",
    ]
    for name, outcome in outcomes.items():
        entry = _described(material.folder, outcome)
        said = "; ".join(entry[key] for key in ("said", "why", "how") if key in entry)
        lines.append(f"| {name} | {entry['status']} | {prose(said)} |")
    return "\n".join(lines)


def _manifest(material: Material, outcomes: Mapping[str, Deliverable]) -> dict[str, Any]:
    folder = material.folder
    return {
        "schema": SCHEMA,
        "run": material.run.path,
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "firstbreak": __version__,
        "ledger_head": material.head,
        "deliverables": {name: _described(folder, outcome) for name, outcome in outcomes.items()},
        "files": [{"path": _name(folder, p), "bytes": p.stat().st_size, "sha256": sha256(p)} for p in _entries(folder)],
    }


def _described(folder: Path, outcome: Deliverable) -> dict[str, Any]:
    match outcome:
        case Delivered(said, files):
            return {"status": "there", "said": said, "files": [_name(folder, path) for path in files]}
        case Missing(why, how):
            return {"status": "missing", "why": why, "how": how}
        case NotNeeded(why):
            return {"status": "not needed", "why": why}


def _entries(folder: Path) -> Iterator[Path]:
    """Whatever lies in the folder and is no folder, except the manifest; links to folders are among it."""
    for parent, folders, files in os.walk(folder):
        there = [*(Path(parent, name) for name in files), *(Path(parent, name) for name in folders)]
        yield from sorted(p for p in there if p != folder / MANIFEST and (p.is_symlink() or not p.is_dir()))


def _name(folder: Path, path: Path) -> str:
    return path.relative_to(folder).as_posix()


def sha256(path: Path) -> str:
    """The SHA-256 of a file of any size."""
    with beneath(path.parent), open_raw(path) as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def missing(outcomes: Mapping[str, Deliverable]) -> Sequence[str]:
    """The names of the missing deliverables."""
    return [name for name, outcome in outcomes.items() if isinstance(outcome, Missing)]
