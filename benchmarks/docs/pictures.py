"""What a fault looks like: a curve of a broken run of the lab beside the same curve of its healthy twin, as SVG.

`pictured.json` names the run for each detector and cause: of the corpus (`python -m benchmarks.docs.pictures` chooses again in
two minutes), or of a user's script with the recorder (`proofs`). All pictures are kept in one file, which `make docs` draws in a
minute (`PACKED`). What a page says beside a picture is the picture's own title and description.
"""

import io
import json
import lzma
import tarfile
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
from firstbreak_lab.archives import unpack
from firstbreak_lab.corpus import labels, opened
from firstbreak_lab.running import Label

from benchmarks.size import place
from firstbreak.engine import registry
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.knowledge.detectors.systems._shares import share, step_time
from firstbreak.model import Diagnosis, Finding, Interval, Run, Series, Severity
from firstbreak.readers.read import read
from firstbreak.reports import content, curves, reference, svg
from firstbreak.reports.content import Exhibit
from firstbreak.reports.markup import Markup, element, join

ROOT = Path(__file__).resolve().parents[2]
CORPUS = ROOT / "corpus"
CHOSEN = Path(__file__).with_name("pictured.json")
PACKED = ROOT / "src" / "firstbreak" / "reports" / "pictures.tar.xz"
RECORDER = "recorder"  #: the folder beside this file with runs of users' scripts, each below its trainer

MOST_POINTS = 80  #: of a curve
MOST_ROWS = 2  #: curves of a run in one picture
# One picture, in units of its view box: two panels with their labels to the left, and the rows below a line of headings.
WIDTH, PANEL, LEFT, GAP = 720, 280, 72, 76
HEAD, CAPTION, PLOT = 26, 18, svg.FLAG + svg.PLOT + svg.LABELS
STYLE = """
text{font:12px system-ui,-apple-system,"Segoe UI",Roboto,"Liberation Sans",Arial,sans-serif;fill:#5d626b}
.name{fill:#1d1f23}.head{font-size:13px;font-weight:600;fill:#1d1f23}.edge{font-size:11px}
.trace{fill:none;stroke:#2b5a8c;stroke-width:1.5;stroke-linejoin:round;stroke-linecap:round;vector-effect:non-scaling-stroke}
.axis{stroke:#c9c8c2}.level{stroke:#5d626b;stroke-dasharray:5 4}.affected{fill:#b3261e0b}.band{fill:#b3261e14}
.onset line{stroke:#b3261e;stroke-width:1.5}.onset text{fill:#b3261e;font-weight:600}.gap{stroke:#b3261e;stroke-width:1.5}
"""


@dataclass(frozen=True)
class Row:
    """One metric in both runs."""

    exhibit: Exhibit  #: of the broken run, with its marks
    broken: Series
    healthy: Series | None


def chosen(kind: str) -> Mapping[str, str]:
    """Detector or cause (`kind`: "detectors", "causes") -> its archive in the corpus, or in `recorder/`."""
    return json.loads(CHOSEN.read_text("utf-8"))[kind]


def shown(kind: str, name: str, folder: str) -> list[str]:
    """The paragraphs of a page that show a picture, or say why there is none. `folder`: where they lie."""
    if name not in chosen(kind):
        return [f"No picture: {_none(kind, name)}."]
    title, described = list(ElementTree.fromstring(packed(name)))[:2]
    lab = f"[the lab]({folder.removesuffix('pictures/')}lab.md), a package of its own"
    said = (described.text or "").replace("Made by `firstbreak lab", f"Made by {lab}: `firstbreak lab")
    found = "that was found, the shaded band its interval" if kind == "detectors" else "of the fault"
    return [f"![{title.text}]({folder}{kind}/{name}.svg)", *said.split("\n"), f"The red line is the onset {found}."]


def packed(name: str) -> str:
    """The picture of a detector or a cause as it is kept. Raises LookupError where none was drawn yet."""
    svg = reference.picture(name)
    if svg is None:
        raise LookupError(f"there is no picture of {name}: run `make docs`")
    return svg


def _none(kind: str, name: str) -> str:
    """Why no run shows a detector or a cause as a curve beside a healthy one."""
    if kind == "causes":
        return "no published run of the lab or of the recorder's scripts has this cause as its most probable one"
    needs = registry.detectors()[name].needs
    if "samples" in needs:
        return "it reads samples, and no curve"
    if any(need.startswith("proof_") for need in needs):
        return "of the scripts with planted faults none shows it, or it is one number and no curve"
    if any(need == "machine" or need.startswith(("memory_", "env_")) for need in needs):
        return "no published run records what it needs"
    return "no published run shows it as a curve beside a healthy run of the same task"


def drawn(kind: str, name: str) -> str:
    """The picture of a detector or a cause. Raises LookupError where the chosen run no longer shows it."""
    archive = chosen(kind)[name]
    dx, label = _diagnosed(archive)
    healthy = _read(_healthy(archive, label))
    onset = label.onset if label else None
    rows = _of_finding(dx, healthy, name) if kind == "detectors" else _of_cause(dx, onset, healthy, name)
    if not rows:
        raise LookupError(f"{archive} shows no {name}: run `python -m benchmarks.docs.pictures`")
    title = f"{', '.join(row.broken.name for row in rows)} of a broken run and of its healthy twin"
    made_by = command(label) if label else f"python -m benchmarks.recorder --make FOLDER {_script(archive)}"
    found = _finding(dx, name) if kind == "detectors" else None
    described = join(f"Here: *{found.message}*.", Markup("\n")) if found else Markup()
    return _drawn(rows, f"{kind}-{name}", title, join(described, f"Made by `{made_by}`.")) + "\n"


def place_of(archive: str) -> Path:
    """Where an archive lies."""
    return (CHOSEN.parent if archive.startswith(f"{RECORDER}/") else CORPUS) / archive


def _script(archive: str) -> str:
    return Path(archive).name.removesuffix(".tar.xz")


def _healthy(archive: str, label: Label | None) -> str:
    """The run without the fault."""
    return f"{Path(archive).parent.as_posix()}/healthy.tar.xz" if label is None else twin(label)


def command(label: Label) -> str:
    """The command that makes the run."""
    return f"firstbreak lab run {label.variant} --base {label.base} --severity {label.severity:g} --seed {label.seed} -o run"


def twin(label: Label) -> str:
    """The archive of the run without the fault: the same task, trainer and seed."""
    return f"untouched/{label.base.replace('/', '-')}-0-{label.seed}.tar.xz"


@cache
def _diagnosed(archive: str) -> tuple[Diagnosis, Label | None]:
    """The diagnosis, and the label of a run of the corpus."""
    if archive.startswith(f"{RECORDER}/"):
        return diagnose(_read(archive)), None
    with opened(CORPUS, archive) as (folder, label):
        return diagnose(read(folder)), label


@cache
def _read(archive: str) -> Run:
    with tempfile.TemporaryDirectory() as scratch:
        unpack(place_of(archive), Path(scratch))
        return read(Path(scratch) / "run")


def archive_of_all() -> bytes:
    """`PACKED`: all pictures together, the same bytes each time."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:xz", preset=9 | lzma.PRESET_EXTREME) as archive:
        for kind, name in [(of, each) for of in ("detectors", "causes") for each in chosen(of)]:
            data = drawn(kind, name).encode()
            member = tarfile.TarInfo(f"{name}.svg")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return buffer.getvalue()


# What is drawn ---------------------------------------------------------------------------------------------------------


def _finding(dx: Diagnosis, name: str) -> Finding | None:
    return next((o.finding for o in dx.findings if o.detector == name), None)


def _of_finding(dx: Diagnosis, healthy: Run, name: str) -> list[Row]:
    """The curves of a finding, those first that the twin has as well."""
    finding = _finding(dx, name)
    exhibits = () if finding is None else content.exhibits(dx, finding)
    rows = [Row(e, e.series, _curve(healthy, e.series.name)) for e in exhibits if e.series is not None]
    return sorted(rows, key=lambda row: row.healthy is None)[:MOST_ROWS]


def _of_cause(dx: Diagnosis, onset: float | None, healthy: Run, name: str) -> list[Row]:
    """The curve of the finding that speaks most for the cause, and the score; both with the step at which the fault began."""
    expected = registry.causes()[name].findings
    rows = [
        row
        for symptom in sorted(expected, key=lambda symptom: -expected[symptom])
        for row in _of_finding(dx, healthy, symptom)[:1]
        if row.healthy is not None
    ][:1]
    rows += [Row(Exhibit("", s, None, None), s, _curve(healthy, s.name)) for s in reversed(content.scores(dx))]
    once = {row.broken.name: row for row in reversed(rows)}
    rows = [row for row in rows if once[row.broken.name] is row][:MOST_ROWS]
    return [replace(row, exhibit=Exhibit("", row.broken, onset, None)) for row in rows]


def _curve(run: Run, name: str) -> Series | None:
    """A curve of the log, or one that detectors make of it."""
    if name in run.series:
        return run.series[name]
    inputs = Inputs(run)
    seconds = step_time(inputs.ask("time"))
    if seconds is None:
        return None
    parts = {"throughput.tok_s": "tokens.train", "time.rollout share": "time.rollout"}
    if name in parts and parts[name] in run.series:
        return share(run.series[parts[name]], seconds)
    return seconds if name == "time.step" else None


# How it is drawn -------------------------------------------------------------------------------------------------------


def _drawn(rows: list[Row], uid: str, title: str, described: Markup) -> str:
    height = HEAD + len(rows) * (CAPTION + PLOT) + 4
    right = LEFT + PANEL + GAP
    return element(
        "svg",
        element("title", title),
        element("desc", described),
        element("style", Markup(STYLE)),
        element("rect", width=WIDTH, height=height, rx=6, fill="#fff"),
        element("text", "broken", x=LEFT, y=18, class_="head"),
        element("text", "healthy twin: the same task and seed", x=right, y=18, class_="head"),
        *(_row(row, HEAD + i * (CAPTION + PLOT), f"{uid}-{i}") for i, row in enumerate(rows)),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {WIDTH} {height}",
        width=WIDTH,
        height=height,
    )


def _row(row: Row, top: float, uid: str) -> Markup:
    """The caption, and both curves on one scale and one axis."""
    both = [s for s in (row.broken, row.healthy) if s is not None]
    ends = [(float(s.steps[0]), float(s.steps[-1])) for s in both]
    domain: Interval = (min(start for start, _ in ends), max(end for _, end in ends))
    scale = curves.scale(
        replace(row.broken, steps=np.arange(sum(map(len, both))), values=np.concatenate([s.values for s in both])),
        row.exhibit.level,
    )
    edges = [] if scale is None else [(scale.high, svg.FLAG + 8), (scale.low, svg.FLAG + svg.PLOT)]
    plain = Exhibit("", row.healthy, None, None, level=row.exhibit.level)
    panels = [(LEFT, row.exhibit, row.broken), (LEFT + PANEL + GAP, plain, row.healthy)]
    name = row.broken.name + (" (logarithmic)" if scale is not None and scale.log else "")
    return element(
        "g",
        element("text", name, x=LEFT, y=12, class_="name"),
        *(
            element("text", curves.label(value), x=x - 6, y=CAPTION + y, text_anchor="end", class_="edge")
            for x, _, series in panels
            for value, y in edges
            if series is not None
        ),
        *(
            element("text", "not in the log of the healthy run", x=x, y=CAPTION + svg.FLAG + svg.PLOT / 2)
            if series is None
            else element(
                "svg",
                svg.curve(exhibit, _thin(series), domain, f"{uid}-{x}", scale),
                x=x,
                y=CAPTION,
                width=PANEL,
                height=PLOT,
                overflow="visible",
            )
            for x, exhibit, series in panels
        ),
        transform=f"translate(0,{top:g})",
    )


def _thin(series: Series) -> Series:
    """At most about MOST_POINTS points, with the extremes; one point that is not finite between pieces."""
    if len(series) <= MOST_POINTS:
        return series
    pieces = curves.thin(series, MOST_POINTS)
    steps, values = [np.asarray(pieces[0].steps)], [np.asarray(pieces[0].values)]
    for piece in pieces[1:]:
        steps += [piece.steps[:1], piece.steps]
        values += [np.array([np.nan]), piece.values]
    return replace(series, steps=np.concatenate(steps), values=np.concatenate(values))


# The choice ------------------------------------------------------------------------------------------------------------


def main() -> None:
    """Choose a run for each detector and cause, and write `pictured.json`."""
    places: dict[str, dict[str, tuple[float, ...]]] = {"detectors": {}, "causes": {}}
    choice: dict[str, dict[str, str]] = {"detectors": {}, "causes": {}}
    for archive, label in _candidates():
        for kind, name, rank in _shows(archive, label):
            if rank > places[kind].get(name, ()):
                places[kind][name], choice[kind][name] = rank, archive
        print(archive)
    kept = {kind: dict(sorted(names.items())) for kind, names in choice.items()}
    place(CHOSEN).write_text(json.dumps(kept, indent=1) + "\n", "utf-8")


def _candidates() -> Iterator[tuple[str, Label]]:
    """The first seed of the largest and of the middle severity of each fault in each of its tasks."""
    by_setting: dict[tuple[str, str], dict[float, list[tuple[int, str, Label]]]] = {}
    for archive, label in labels(CORPUS).items():
        if label.cause is not None:
            of_fault = by_setting.setdefault((label.variant, label.base), {})
            of_fault.setdefault(abs(label.severity), []).append((label.seed, archive, label))
    for of_fault in by_setting.values():
        for severity in sorted({max(of_fault), sorted(of_fault)[len(of_fault) // 2]}):
            _, archive, label = min(of_fault[severity])
            yield archive, label


def _shows(archive: str, label: Label) -> Iterator[tuple[str, str, tuple[float, ...]]]:
    """(kind, name, how well this run shows it): first what the fault explains, what the twin does not have, and few findings."""
    if not (CORPUS / twin(label)).exists():
        return
    (dx, _), (healthy, _) = _diagnosed(archive), _diagnosed(twin(label))
    expected = registry.causes()[label.cause].findings if label.cause in registry.causes() else {}
    for outcome in dx.findings:
        rows = _of_finding(dx, healthy.run, outcome.detector)
        if rows and outcome.finding is not None:
            clean = _finding(healthy, outcome.detector) is None
            seen = rows[0].healthy is not None
            counts = outcome.finding.severity is not Severity.NOTICE
            rank = (seen, counts, clean, outcome.detector in expected, _contrast(rows[0]), -len(dx.findings))
            yield "detectors", outcome.detector, rank
    if label.cause in registry.causes() and (rows := _of_cause(dx, label.onset, healthy.run, label.cause)):
        first = bool(dx.causes) and dx.causes[0].id == label.cause
        symptom = rows[0].broken.name not in {s.name for s in content.scores(dx)} or len(rows) == 1
        yield "causes", label.cause, (rows[0].healthy is not None, first, len(rows), symptom, _contrast(rows[0]))


def _contrast(row: Row) -> float:
    """How far the broken curve leaves the healthy one, in ranges of that; at most 10, above which more shows no more."""
    if row.healthy is None or not len(row.healthy.finite):
        return 0.0
    usual = row.healthy.finite.values
    far = np.abs(row.broken.finite.values - np.median(usual)).max(initial=0.0)
    return float(min(10.0, far / (np.ptp(usual) or 1e-9)))


if __name__ == "__main__":
    main()
