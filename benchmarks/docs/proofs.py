"""Runs of users' scripts with the recorder, for the pictures of what it proves: `python -m benchmarks.docs.proofs FOLDER`.

FOLDER holds the runs that `python -m benchmarks.recorder --make FOLDER` makes (CPU, half an hour). For each detector and cause
of which no run of the corpus has a picture, the run that shows it with the fewest other findings is kept, packed in `recorder/`.
"""

import json
import sys
import tarfile
from pathlib import Path

import firstbreak
from benchmarks.docs import pictures
from benchmarks.recorder.faults import FAULTS
from benchmarks.recorder.script import Script
from benchmarks.size import place
from firstbreak.model import Diagnosis

READ = ("recorder.jsonl", "recorder_config.json", "trainer_state.json", "training_args.json")
HEALTHY = {"grpo": "grpo-0", "rloo": "rloo-0", "dpo": "dpo-0", "reward": "reward-model-0"}


def main(folder: Path) -> None:
    """Choose, pack, and write the choice into `pictured.json`."""
    choice = json.loads(pictures.CHOSEN.read_text("utf-8"))
    choice = {kind: {n: a for n, a in found.items() if not _own(a)} for kind, found in choice.items()}
    runs = {p.name.rpartition("-")[0]: p for p in sorted(folder.glob("*-0")) if (p / READ[2]).exists()}
    read = {name: firstbreak.diagnose(firstbreak.read(path)) for name, path in runs.items() if name in FAULTS}
    for name, dx in sorted(read.items(), key=lambda item: len(item[1].findings)):
        archive = f"{pictures.RECORDER}/{_kind(name)}/{name}.tar.xz"
        for detector in _seen(dx):
            choice["detectors"].setdefault(detector, archive)
        for cause in FAULTS[name].causes:
            if dx.causes and dx.causes[0].id == cause and _seen(dx):
                choice["causes"].setdefault(cause, archive)
    kept = {Path(a).name.removesuffix(".tar.xz") for found in choice.values() for a in found.values() if _own(a)}
    for name in kept:
        _pack(runs[name], pictures.place_of(f"{pictures.RECORDER}/{_kind(name)}/{name}.tar.xz"))
    for kind, healthy in HEALTHY.items():
        _pack(folder / healthy, pictures.place_of(f"{pictures.RECORDER}/{kind}/healthy.tar.xz"))
    written = {kind: dict(sorted(found.items())) for kind, found in choice.items()}
    place(pictures.CHOSEN).write_text(json.dumps(written, indent=1) + "\n", "utf-8")


def _own(archive: str) -> bool:
    return archive.startswith(f"{pictures.RECORDER}/")


def _kind(name: str) -> str:
    script = Script()
    FAULTS[name].plant(script)
    return script.kind


def _seen(dx: Diagnosis) -> list[str]:
    """The detectors whose finding can be drawn."""
    return [
        o.detector for o in dx.findings if any(e.series is not None and len(e.series) > 1 for e in o.finding.evidence)
    ]


def _pack(run: Path, archive: Path) -> None:
    """What is read of a run, without the times of the files."""
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(place(archive), "w:xz", preset=9) as packed:
        for name in READ:
            if (run / name).exists():
                member = tarfile.TarInfo(f"run/{name}")
                member.size = (run / name).stat().st_size
                with (run / name).open("rb") as file:
                    packed.addfile(member, file)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
