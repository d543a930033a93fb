"""The deliverables of a finished run: one function for each, which fills a folder or says what is missing and how to get it."""

import json
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from functools import cached_property
from pathlib import Path
from typing import BinaryIO

from firstbreak import context
from firstbreak.audit.audit import audit
from firstbreak.audit.report import render_json as audit_json
from firstbreak.compare.arms import arms, of_one_setting
from firstbreak.compare.plots import scores
from firstbreak.compare.statistics import estimate
from firstbreak.compare.text import render as comparison
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.inputs import Inputs
from firstbreak.evals.hygiene import findings
from firstbreak.evals.splits import EvaluationHistory, EvaluationRecord, Use
from firstbreak.masking import Mask, by_look
from firstbreak.model import Checkpoint, Diagnosis, Run
from firstbreak.readers import Unreadable
from firstbreak.readers.checkpoints import named, only_model
from firstbreak.readers.opening import beneath, open_raw, read_whole, roots_of
from firstbreak.reports import html, markdown
from firstbreak.reports import json as report
from firstbreak.values import dataclass
from firstbreak.words import number

PROGRESS_EVERY = 1 << 30  #: bytes of a copy
#: what Stable-Baselines3's EvalCallback, rl-zoo, CleanRL and hand-written loops call the best and the last model
BEST = re.compile(r"best([-_](model|agent|checkpoint|policy))?(\.(zip|pt|pth|ckpt|safetensors))?")
FINAL = re.compile(
    r"(\w+_)?(final|last)([-_](model|agent|checkpoint|policy))?(\.(zip|pt|pth|ckpt|safetensors))?|(checkpoint_final|agent\.pt|\w+\.cleanrl_model)"
)
SETTINGS = "settings.json"  #: the options of a run without a context
FEW_SEEDS = 3  #: fewer seeds do not show whether a success was luck


@dataclass(frozen=True)
class Delivered:
    """The deliverable is in the folder."""

    said: str  #: its content in one line
    files: tuple[Path, ...]  #: below the folder


@dataclass(frozen=True)
class Missing:
    """The deliverable is missing. `how` says what to do."""

    why: str
    how: str


@dataclass(frozen=True)
class NotNeeded:
    """The deliverable does not apply to this run."""

    why: str


Deliverable = Delivered | Missing | NotNeeded


@dataclass(frozen=True)
class Material:
    """The inputs of a close-out."""

    run: Run
    seeds: Sequence[Run]  #: other runs of the same setting
    ledger: EvaluationHistory | None
    head: str | None  #: hash of the ledger's last row
    folder: Path
    progress: Callable[[str], None] = lambda said: None

    @cached_property
    def diagnosis(self) -> Diagnosis:
        """The diagnosis of the run."""
        return diagnose(self.run)

    def copy(self, checkpoint: Checkpoint, name: str) -> tuple[str, Path]:
        """Copy a checkpoint into the folder. Returns what was left out, in words, and the copy.

        A link to the checkpoint would change with it when the trainer writes the file again.
        """
        source = Path(self.run.path) / checkpoint.path
        target = self.folder / name / source.name
        left_out = []
        for file in _files_of(source):
            try:
                with beneath(*roots_of(Path(self.run.path))):
                    self._copy_file(file, target / file.relative_to(source))
            except Unreadable as error:
                left_out.append(str(error))
        return f"; left out: {'; '.join(left_out)}" if left_out else "", target

    def _copy_file(self, source: Path, target: Path) -> None:
        with open_raw(source) as file:
            size, done = os.fstat(file.fileno()).st_size, 0
            target.parent.mkdir(parents=True, exist_ok=True)
            with target.open("xb") as copy:
                for count in _copied(file, copy):
                    done += count
                    if size > PROGRESS_EVERY:
                        self.progress(f"{target}: {done / 1e9:.1f} of {size / 1e9:.1f} GB copied")

    def write(self, name: str, text: str) -> Path:
        """Write a file into the folder, without secrets."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(by_look(text).rstrip("\n") + "\n", encoding="utf-8", errors="backslashreplace")
        return path


def best_checkpoint(material: Material) -> Deliverable:
    """The saved model with the best score, which is not always the last one."""
    best = material.diagnosis.best_checkpoint
    if best is None:
        return Missing("no score is recorded, so no checkpoint is best", "evaluate the checkpoints on a dev split")
    where = f"{best.metric} is best at step {number(best.step)} ({number(best.value)})"
    if (kept := _saved_as(material.run, BEST)) is not None:
        left_out, copy = material.copy(kept, "best")
        return Delivered(f"{kept.path}, which the training kept as its best; {where}{left_out}", (copy,))
    saved = next((c for c in material.run.checkpoints if c.path == best.path), None)
    if saved is None:
        again = f"train again to step {number(best.step)} with {_saving(material)}"
        return Missing(f"{where}, and no model is saved", again)
    far = "" if saved.step == best.step else f"; the nearest model is of step {number(saved.step)}"
    left_out, copy = material.copy(saved, "best")
    return Delivered(where + far + left_out, (copy,))


def last_checkpoint(material: Material) -> Deliverable:
    """The last saved model, to continue from or to reproduce the end of training."""
    final = _saved_as(material.run, FINAL)
    if final is None and not material.run.checkpoints and Path(material.run.path).is_dir():
        final = only_model(Path(material.run.path), besides=BEST)
    if final is not None:
        left_out, copy = material.copy(final, "last")
        return Delivered(f"{final.path}{left_out}", (copy,))
    if not material.run.checkpoints:
        return Missing("no model is saved", f"train again with {_saving(material)}")
    last = material.run.checkpoints[-1]
    left_out, copy = material.copy(last, "last")
    return Delivered(f"step {number(last.step)}{left_out}", (copy,))


def _saved_as(run: Run, names: re.Pattern[str]) -> Checkpoint | None:
    return named(Path(run.path), names) if Path(run.path).is_dir() else None


def failed_checkpoint(material: Material) -> Deliverable:
    """The first saved model after the break, with the symptom."""
    broke = material.diagnosis.first_break
    if broke is None:
        return NotNeeded("nothing broke")
    found = [o.finding for o in material.diagnosis.findings if o.finding is not None]
    symptom = next((f for f in found if f.metric == broke.metric and f.onset == broke.step), found[0])
    step = broke.step if broke.step is not None else material.run.first_step or 0.0
    said = f"{broke.link.value} broke first, at step {number(step)}"
    note = material.write("failed/symptom.txt", f"{said}\n\n{symptom.message}")
    after = next((c for c in material.run.checkpoints if c.step >= step), None)
    if after is None:
        return Missing(
            f"no model is saved after the break at step {number(step)}; the symptom is in failed/{note.name}",
            f"train again to shortly after step {number(step)} with {_saving(material)}",
        )
    left_out, copy = material.copy(after, "failed")
    said = f"step {number(after.step)}, after {broke.link.value} broke at {number(step)}{left_out}"
    return Delivered(said, (copy, note))


def audit_samples(material: Material) -> Deliverable:
    """Samples for a person to read, to see whether the policy deserves its reward."""
    run = material.run
    how = "log completions or episodes with their rewards (TRL: log_completions), or give a dump to `firstbreak audit`"
    if run.samples is None:
        return Missing("no samples are recorded", how)
    try:
        audited = audit(run.samples, path=run.path, run=run)
    except Unreadable as error:
        return Missing(error.problem, how)
    rows = [
        {"kind": p.kind, "why": p.why, "step": p.sample.step, "reward": p.sample.reward,
         "prompt": p.sample.prompt, "completion": p.sample.completion}
        for p in audited.selected
    ]  # fmt: skip
    files = (
        material.write("samples/to-read.jsonl", "\n".join(json.dumps(row) for row in rows)),
        material.write("samples/audit.json", audit_json(audited)),
    )
    n = len(audited.findings)
    return Delivered(f"{len(rows)} samples to read, {n} finding{'' if n == 1 else 's'} of the audit", files)


def multi_seed(material: Material) -> Deliverable:
    """Results of the same setting with other seeds, to see whether the result was luck."""
    mine_ = Path(material.run.path).resolve()
    runs = [material.run, *(run for run in material.seeds if Path(run.path).resolve() != mine_)]
    sides = arms([(run.path, [run]) for run in runs])
    if not any(member.settings for arm in sides for member in arm.members):  # then the user's word counts
        sides = [of_one_setting(Path(material.run.path).name, runs)]
    mine = next(arm for arm in sides if any(m.run is material.run for m in arm.members))
    count = max((len(values) for values in mine.scores.values()), default=0)
    if count < FEW_SEEDS:
        others = f", and {len(sides) - 1} of the runs given have another setting" if len(sides) > 1 else ""
        return Missing(
            f"{len(mine.members)} run{'' if len(mine.members) == 1 else 's'} of this setting{others}",
            f"train this setting with {FEW_SEEDS - count} more seeds, and name these runs with --seed-run",
        )
    rows = [{"run": m.run.path, "seed": m.seed, "task": m.task, "final_score": m.final} for m in mine.members]
    files = (
        material.write("seeds/scores.json", json.dumps(rows, indent=1)),
        material.write("seeds/comparison.txt", comparison(sides)),
        material.write("seeds/scores.svg", scores(sides)),
    )
    middle = estimate(list(mine.scores.values()))
    low, high = middle.interval or (middle.value, middle.value)
    return Delivered(f"{count} seeds: {number(middle.value)} [{number(low)}, {number(high)}]", files)


def private_report(material: Material) -> Deliverable:
    """The scores of this run on the private test, and all earlier evaluations on the private test."""
    how = f"`firstbreak eval record NAME --use release --run {material.run.path} --score METRIC=VALUE --protocol FILE`"
    if material.ledger is None:
        return Missing("there is no ledger", f"`firstbreak eval split NAME --kind private_test`, then {how}")
    private = [name for name, split in material.ledger.splits.items() if split[-1].kind == "private_test"]
    if not private:
        return Missing("no private test is declared", f"`firstbreak eval split NAME --kind private_test`, then {how}")
    path = os.path.abspath(material.run.path)  # "runs/a/" or the whole path may be recorded for "runs/a"
    mine = [e for e in material.ledger.evaluations if e.split in private and e.run and os.path.abspath(e.run) == path]
    if not mine:
        return Missing(f"{', '.join(private)} was not evaluated for this run", how)
    wrong = [f for f in findings(material.ledger) if f.numbers["split"] in private]
    record = {
        "looks": [_as_dict(record) for record in mine],
        "opened_before": [_as_dict(e) for e in material.ledger.evaluations if e.split in private and e not in mine],
        "protocols": _protocols(material.ledger, mine),
        "warnings": [f.message for f in wrong],
        "ledger_head": material.head,
    }
    kept = material.write("private/report.json", json.dumps(record, indent=1))
    released = [e for e in mine if e.use is Use.RELEASE]
    if not released:  # an evaluation for selection is contaminated by it, and is no result
        used = ", ".join(dict.fromkeys(e.use.value for e in mine))
        return Missing(
            f"{mine[-1].split} was evaluated to {used}, and never for the release: that score is no private result "
            f"(it is in private/{kept.name})",
            f"on a private set that chose nothing: {how}",
        )
    last = released[-1]
    said = ", ".join(f"{metric} {number(value)}" for metric, value in last.scores.items())
    doubt = f", with {len(wrong)} warning{'' if len(wrong) == 1 else 's'} about its use" if wrong else ""
    return Delivered(f"{last.split}: {said}{doubt}", (kept,))


def _protocols(ledger: EvaluationHistory, records: Sequence[EvaluationRecord]) -> dict[str, dict[str, object]]:
    """The protocols of these evaluations, by hash."""
    hashes = dict.fromkeys(record.protocol for record in records if record.protocol in ledger.protocols)
    return {h: dict(ledger.protocols[h].values) for h in hashes if h is not None}


def _as_dict(record: EvaluationRecord) -> dict[str, object]:
    return {**asdict(record), "scores": dict(record.scores), "errors": dict(record.errors), "use": record.use.value}


def experiment_context(material: Material) -> Deliverable:
    """Configuration, seeds, code, packages, machine and command."""
    found = context.load(material.run.path) if Path(material.run.path).exists() else None
    if found is None:
        how = "call firstbreak.context.record(folder, config=..., seed=...) in the training script"
        recorded_options = material.run.config.raw
        if not recorded_options:
            return Missing(f"there is no {context.FILE} in the folder of the run", how)
        kept = material.write(SETTINGS, json.dumps(Mask(os.environ).tree(report.plain(recorded_options)), indent=1))
        n = len(recorded_options)
        return Missing(
            f"the run records its settings ({n} option{'' if n == 1 else 's'}, kept in {kept.name}), and neither code, packages, "
            "machine nor command",
            how,
        )
    source = Path(material.run.path) / context.FILE
    with beneath(*roots_of(source.parent)):
        recorded = read_whole(source, context.MAX_BYTES)
    code = found.code
    commit = f"commit {code.commit[:10]}{', changed' if code.dirty else ''}" if code.commit else "no commit"
    masked = json.dumps(Mask(os.environ).tree(json.loads(recorded)), indent=1)
    return Delivered(commit, (material.write(context.FILE, masked),))


def the_diagnosis(material: Material) -> Deliverable:
    """The diagnosis as HTML, Markdown and JSON."""
    dx = material.diagnosis
    files = (
        material.write("diagnosis/diagnosis.json", report.render(dx)),
        material.write("diagnosis/diagnosis.html", html.render(dx)),
        material.write("diagnosis/diagnosis.md", markdown.render(dx)),
    )
    return Delivered(f"{dx.verdict.action.value}: {dx.verdict.summary}", files)


def _saving(material: Material) -> str:
    return f"`{material.run.config.option('save_interval')}` set, so that models are kept"


def _files_of(checkpoint: Path) -> Iterator[Path]:
    """The checkpoint's files; links to folders are among them, and are not followed."""
    if not checkpoint.is_dir():
        yield checkpoint
        return
    for parent, folders, files in os.walk(checkpoint, onerror=_stop_at):
        here = Path(parent)
        yield from (here / name for name in sorted(files))
        yield from (here / name for name in sorted(folders) if (here / name).is_symlink())


def _stop_at(error: OSError) -> None:
    raise error


def _copied(source: BinaryIO, target: BinaryIO) -> Iterator[int]:
    """Copy a file, and share its blocks where the file system can. Yields the bytes of each part."""
    try:
        while count := os.copy_file_range(source.fileno(), target.fileno(), PROGRESS_EVERY):
            yield count
    except (AttributeError, OSError):  # not on this system, between two file systems, on some network file systems
        pass
    while data := source.read(PROGRESS_EVERY >> 6):
        yield target.write(data)


def score_of(run: Run) -> str:
    """The first and the last score, in words."""
    score = Inputs(run).score
    if score is None or not len(score):
        return "no score is recorded"
    return f"{score.name} from {number(float(score.values[0]))} to {number(float(score.tail(0.1).values.mean()))}"
