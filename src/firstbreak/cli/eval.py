"""firstbreak eval fields | lock | compare | split | record | baseline | log | verify | contamination | prefixes"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import fill
from typing import TYPE_CHECKING, Any

import click

from firstbreak.cli import _options
from firstbreak.cli._output import BadCall, bar, say, write
from firstbreak.evals import protocol as protocols
from firstbreak.evals.ledger import Conflict, Ledger
from firstbreak.evals.metrics import main, named
from firstbreak.evals.protocol import Comparison, Protocol
from firstbreak.evals.splits import KINDS, EvaluationHistory, Split, Use, declare, history, record
from firstbreak.model import Finding, Interval
from firstbreak.readers import Unreadable
from firstbreak.words import number

if TYPE_CHECKING:
    from firstbreak.evals.importers import Evaluation

LEDGER = _options.ledger("A file, or postgresql://user@host/database for a team. [env: FIRSTBREAK_LEDGER]")
FILE = click.Path(path_type=Path, dir_okay=False)
NAMES = click.option("--field", "names", multiple=True, help="A field of a row that holds text; may be repeated.")
SHORT = 8  #: digits of a hash that a person reads


@click.group("eval")
def command() -> None:
    """Lock evaluation protocols, declare splits with a purpose, and record every evaluation.

    Each evaluation is one row of a ledger. A later change of a row is detected.
    """


@command.command()
def fields() -> None:
    """List the fields of a protocol, with their meanings."""
    from firstbreak.compare.text import table

    rows = [(field.name, field.type, field.meaning) for field in protocols.FIELDS.values()]
    write(table([("field", "type", "meaning"), *rows]))
    click.echo("\nput anything else that changes a score under `other:`")


@command.command()
@click.argument("source", metavar="SOURCE")
@click.option("-o", "--output", type=FILE, required=True, help="The file for the locked protocol (JSON).")
def lock(source: str, output: Path) -> None:
    """Write a protocol into a file, with a hash.

    A protocol is everything except the policy that changes a score.

    SOURCE is a YAML file of fields, a result of lm-eval, Inspect, lighteval or Stable-Baselines3, or a training run.
    """
    found, _ = _source(source)
    write(json.dumps(found.record(), indent=1), output)
    write(f"{output}: {found.hash[:SHORT]}, {len(found.values)} fields")
    if found.missing:
        write(fill(f"not known, so this score cannot be reproduced: {', '.join(found.missing)}", 80))


@command.command()
@click.argument("left")
@click.argument("right")
@click.option("--accept", multiple=True, metavar="FIELD", help="Ignore a difference in this field; may be repeated.")
@LEDGER
def compare(left: str, right: str, accept: tuple[str, ...], place: str) -> None:
    """Compare two scores, if both have the same protocol. If not, list the fields that differ (exit code 1).

    LEFT and RIGHT are results of harnesses (FILE, or FILE#TASK for a file with several tasks), locked protocols, or rows of
    the ledger (row:12).
    """
    (one, before), (other, after) = (_source(text, place) for text in (left, right))
    found = protocols.compare(one, other, accept)
    write(_comparison(found, left, right))
    if not found.alike:
        sys.exit(1)
    if before and after:
        write(_scores(before, after))


@command.command("split")
@click.argument("name")
@click.option("--kind", type=click.Choice(list(KINDS)), required=True)
@click.option("--looks", type=click.IntRange(1), help="Number of evaluations allowed.  [default: depends on the kind]")
@click.option("--size", type=click.IntRange(1), help="Number of problems or episodes; bounds the effect of re-use.")
@click.option(
    "--range",
    "bounds",
    type=(float, float),
    metavar="LOW HIGH",
    help="Lowest and highest score of one problem or episode; scores outside are refused.  [default: 0 1 where all "
    "scores lie there, else unknown]",
)
@LEDGER
def split_(name: str, kind: str, looks: int | None, size: int | None, bounds: Interval | None, place: str) -> None:
    """Declare a split: its purpose, and how many evaluations it allows."""
    allowed = KINDS[kind].allowed if looks is None else looks
    split = Split(name=name, kind=kind, allowed=allowed, size=size, low=bounds and bounds[0], high=bounds and bounds[1])
    with _ledger(place) as ledger:
        row = declare(ledger, split)
    often = "any number of evaluations" if allowed is None else f"{allowed} evaluation{'' if allowed == 1 else 's'}"
    uses = ", ".join(use for use in Use if use in split.uses)
    write(f"row {row.number}: {name}, to {KINDS[kind].purpose}\n{often}, for {uses}")


def evaluation_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of both `record` and `baseline`."""
    for option in (
        click.option("--result", metavar="FILE[#TASK]", help="From lm-eval, Inspect, lighteval or Stable-Baselines3."),
        click.option("--protocol", "protocol_", type=FILE, help="The protocol file, locked or not."),
        click.option("--key", help="A record with a known key is not written again."),
        LEDGER,
    ):
        function = option(function)
    return function


@command.command("record")
@click.argument("split")
@click.option("--use", type=click.Choice([use.value for use in Use]), required=True, help="The purpose of the score.")
@click.option("--score", "given", multiple=True, metavar="METRIC=VALUE", help="May be repeated.")
@click.option("--run", "run_", help="The training run.")
@click.option("--checkpoint", help="The checkpoint that was evaluated.")
@click.option("--step", type=float, help="The training step of the checkpoint.")
@click.option("--fed", help="The decision that used the score, in words.")
@evaluation_options
def record_(
    split: str, use: str, given: tuple[str, ...], protocol_: Path | None, result: str | None, key: str | None,
    place: str, run_: str | None, checkpoint: str | None, step: float | None, fed: str | None,
) -> None:  # fmt: skip
    """Record an evaluation of SPLIT: its purpose, scores, protocol, checkpoint, and the decision that used the score."""
    found = _result(result) if result else None
    scores = {**(found.scores if found else {}), **dict(map(_pair, given))}
    if not scores:
        raise BadCall("no score was given; use --score accuracy=0.71, or --result FILE")
    if key is None and found:
        from firstbreak.evals.importers import key_of

        key = f"{key_of(found)}-{split}-{use}"
    with _ledger(place) as ledger:
        row = record(
            ledger,
            split=split,
            use=Use(use),
            scores=scores,
            errors=found.errors if found else None,
            protocol=protocols.read(protocol_) if protocol_ else found.protocol if found else None,
            key=key,
            run=run_,
            checkpoint=checkpoint or (found.model if found else None),
            step=step if step is not None or found is None else found.step,
            fed=fed,
        )
        write(f"row {row.number}: {split}, {use}: {_said(scores)}")
        _warn(history(ledger), split)


@command.command()
@click.argument("run_", metavar="RUN")
@click.option("--split", required=True, help="The split that was evaluated.")
@evaluation_options
def baseline(run_: str, split: str, result: str | None, protocol_: Path | None, key: str | None, place: str) -> None:
    """Record the score before training.

    The score is the first evaluation inside RUN, made before its first training step with the code of the training
    workflow. With --result, it is an evaluation of the base model by a harness.
    """
    if result:
        found = _result(result)
        scores, protocol = dict(found.scores), found.protocol
    else:
        from firstbreak.cli._grouping import read_one
        from firstbreak.evals.training import before_training, protocol_of

        run = read_one(run_)
        scores, protocol = dict([before_training(run)]), protocol_of(run)
    with _ledger(place) as ledger:
        earlier = [e for e in history(ledger).evaluations if e.run == run_ and e.use is not Use.BASELINE]
        if earlier:
            raise BadCall(f"row {earlier[0].number} already holds a score of {run_}; record the baseline first")
        row = record(
            ledger,
            split=split,
            use=Use.BASELINE,
            scores=scores,
            protocol=protocols.read(protocol_) if protocol_ else protocol,
            key=key or f"baseline-{run_}-{split}",
            run=run_,
            step=0.0,
        )
        write(f"row {row.number}: {run_} before training, {split}: {_said(scores)}")
        _warn(history(ledger), split)


@command.command("log")
@click.option("--split", help="Show only this split.")
@LEDGER
def log(split: str | None, place: str) -> None:
    """List every evaluation of every split, with warnings.

    Also shows how much of a score the re-use of a split can explain."""
    with _ledger(place, made=False) as ledger:
        rows = list(ledger)
    write("\n".join(_log(history(rows), split)))
    if rows:
        write(f"\n{len(rows)} rows, the last one with the hash\n{rows[-1].hash}")


@command.command()
@click.option("--holds", metavar="HASH", help="The hash of an earlier row: check that this row still exists.")
@LEDGER
def verify(holds: str | None, place: str) -> None:
    """Check that no row was changed or removed.

    If one was, the row is named and the exit code is 1."""
    with _ledger(place, made=False) as ledger:
        broken = ledger.verify(holds)
        rows = list(ledger)
    if broken:
        write(f"{place}: broken at row {broken.number}: {broken.problem}")
        sys.exit(1)
    last = f", the last one with the hash\n{rows[-1].hash}" if rows else ""
    write(f"{place}: {len(rows)} rows, all intact{last}")


@command.command()
@click.argument("train", type=FILE)
@click.argument("splits", nargs=-1, required=True, type=FILE, metavar="SPLIT...")
@NAMES
@click.option("-o", "--output", type=FILE, help="Write every problem that was found into this file, as JSON lines.")
def contamination(train: Path, splits: tuple[Path, ...], names: tuple[str, ...], output: Path | None) -> None:
    """Search training data for the problems of splits.

    Exit code 1 if any problem of a SPLIT is in TRAIN.

    Files are JSON lines (also gzipped), Parquet, or one text on each line. Only the splits are held in memory.
    """
    from firstbreak.compare.text import table
    from firstbreak.evals.contamination import Found, Index, documents, rows_in

    rows: list[Sequence[str]] = [("split", "problems", "exact", "pieces", "reworded", "in all", "same template")]
    results: list[tuple[Path, Found]] = []
    total = rows_in(train)
    for path in splits:
        index = Index(list(documents(path, names)))
        with bar(f"texts against {path.name}", total) as advance:
            found = index.search(documents(train, names), report=advance)
        results.append((path, found))
        here = len(found.contaminated)
        share = f"{here} ({100 * here / max(1, found.documents):.1f} %)"
        pieces = sum(value >= 0.5 for value in found.pieces.values())
        counts = (found.documents, len(found.exact), pieces, len(found.reworded))
        rows.append((path.name, *map(str, counts), share, str(len(found.templates.keys() - found.contaminated))))
    write(table(rows))
    if output:
        lines = [json.dumps({"split": path.name} | row) for path, found in results for row in _located(found)]
        write("\n".join(lines), output)
    if any(found.contaminated for _, found in results):
        write("remove these problems from the training data, or score without them")
        sys.exit(1)


@command.command()
@click.argument("split", type=FILE)
@NAMES
@click.option("-o", "--output", type=FILE, required=True)
def prefixes(split: Path, names: tuple[str, ...], output: Path) -> None:
    """Write the beginnings of problems, for a model to continue.

    Let the model continue each `prompt` greedily, add its text as `completion`, and give the file to `eval recited`.
    """
    from firstbreak.evals.contamination import documents
    from firstbreak.evals.contamination import prefixes as cut

    rows = [{"prompt": start, "expected": rest} for start, rest in cut(documents(split, names))]
    write("\n".join(map(json.dumps, rows)), output)
    write(f"{output}: {len(rows)} beginnings")


@command.command("recited")
@click.argument("outputs", type=FILE)
def memorised(outputs: Path) -> None:
    """Count the problems that a model has memorised.

    OUTPUTS has rows with `expected` and `completion`. Exit code 1 if the model continues more problems word for word than by
    chance."""
    from firstbreak.evals.contamination import documents
    from firstbreak.evals.contamination import memorised as count

    expected, written = (documents(outputs, [name]) for name in ("expected", "completion"))
    found = count(zip(expected, written, strict=True))
    share = len(found.memorised) / max(1, found.documents)
    write(
        f"{len(found.memorised)} of {found.documents} problems are continued word for word ({100 * share:.1f} %), "
        f"{100 * found.by_chance:.1f} % by chance"
    )
    if share > found.by_chance and len(found.memorised) > 1:
        write("the model has memorised them: score on problems that are newer than its training data")
        sys.exit(1)


# --- where things come from ---------------------------------------------------------------------------------------------


@contextmanager
def _ledger(place: str, made: bool = True) -> Iterator[Ledger]:
    """The ledger. With `made` false, a missing ledger is not created."""
    if not made and "://" not in place and not Path(place).exists():
        raise BadCall(f"{place}: no such ledger; name one with --ledger, or write its first row with `eval record`")
    try:
        with Ledger(place, reads=not made) as ledger:
            yield ledger
    except (LookupError, Conflict, ValueError) as error:
        raise BadCall(str(error.args[0])) from None


def _source(text: str, place: str | None = None) -> tuple[Protocol, Evaluation | None]:
    """A protocol, and the evaluation that used it (None for a protocol file)."""
    if text.startswith("row:") and place is not None:
        return _row(text.removeprefix("row:"), place)
    path, _, task = text.partition("#")
    if Path(path).is_dir():
        from firstbreak.cli._grouping import read
        from firstbreak.evals.training import protocol_of

        return protocol_of(read(path)), None
    from firstbreak.evals import importers

    try:
        found = importers.read(Path(path))
    except Unreadable as error:
        if "not a result of a known harness" not in error.problem:
            raise
        return protocols.read(Path(path)), None
    chosen = [e for e in found if not task or task in (e.protocol.values.get("task"), number(e.step))]
    if len({e.protocol.hash for e in chosen}) != 1:
        names = ", ".join(sorted({str(e.protocol.values.get("task")) for e in found}))
        raise Unreadable(path, f"holds several evaluations ({names})", f"name one: {path}#TASK")
    return chosen[-1].protocol, chosen[-1]


def _row(text: str, place: str) -> tuple[Protocol, Evaluation | None]:
    from firstbreak.evals.importers import Evaluation

    with _ledger(place, made=False) as ledger:
        found = history(ledger)
    entry = next((entry for entry in found.evaluations if str(entry.number) == text), None)
    if entry is None or entry.protocol is None:
        raise BadCall(f"row {text} of {place} is no evaluation with a protocol; `firstbreak eval log` lists the rows")
    protocol = found.protocols[entry.protocol]
    return protocol, Evaluation(protocol=protocol, scores=entry.scores, errors=entry.errors)


def _result(text: str) -> Evaluation:
    _, found = _source(text)
    if found is None:
        raise BadCall(f"{text} is a protocol and holds no score; give it with --protocol")
    return found


def _pair(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        return name or "score", float(value)
    except ValueError:
        raise BadCall(f"{text!r} is not a score; write accuracy=0.71") from None


# --- how it is said -----------------------------------------------------------------------------------------------------


def _comparison(found: Comparison, left: str, right: str) -> str:
    from firstbreak.compare.text import table
    from firstbreak.reports.text import count

    def shown(value: Any, side: str, only: str | None) -> str:
        text = "not recorded" if only and only != side else json.dumps(value, ensure_ascii=False)
        return text if len(text) <= 28 else f"{text[:25]}..."

    rows = [
        (d.field, shown(d.left, "left", d.only), shown(d.right, "right", d.only), what)
        for what, group in (("", found.differs), ("unknown", found.unknown), ("accepted", found.accepted))
        for d in group
    ]
    shown_rows = [table([("field", "left", "right", ""), *rows])] if rows else []
    if found.alike:
        return "\n".join([f"same protocol: {left} and {right}", *shown_rows])
    n = len(found.differs) + len(found.unknown)
    return "\n".join(
        [
            f"not comparable: {count(n, 'protocol field')} {'differs or is' if n == 1 else 'differ or are'} unknown",
            *shown_rows,
            "score one of them again with the other's protocol, or use --accept FIELD",
        ]
    )


def _scores(before: Evaluation, after: Evaluation) -> str:
    from firstbreak.compare.text import table

    rows = [("metric", "left", "right", "difference", "")]
    one, other = named(before.scores), named(after.scores)
    for metric in one:
        if metric not in other:
            continue
        left, right = one[metric], other[metric]
        errors = [named(side.errors).get(metric) for side in (before, after)]
        interval = ""
        if errors[0] is not None and errors[1] is not None:
            error = math.hypot(errors[0], errors[1])
            interval = f"+- {number(1.96 * error)} (95 %)"
            interval += ", within noise" if abs(right - left) <= 1.96 * error else ", beyond noise"
        rows.append((metric, number(left), number(right), f"{right - left:+.4g}", interval))
    return table(rows) if len(rows) > 1 else "both sides report no common metric"


def _log(found: EvaluationHistory, only: str | None) -> Iterator[str]:
    from firstbreak.compare.text import table
    from firstbreak.evals.hygiene import explained, findings, in_words

    entries = [entry for entry in found.evaluations if only in (None, entry.split)]
    rows = [("row", "when", "split", "use", "protocol", "score", "step", "decision")]
    rows += [
        (
            str(entry.number),
            entry.at[5:16].replace("T", " "),
            entry.split,
            entry.use.value,
            (entry.protocol or "-")[:SHORT],
            _said(entry.scores, 1),
            "-" if entry.step is None else number(entry.step),
            entry.fed or "-",
        )
        for entry in entries
    ]
    yield table(rows) if entries else "no evaluation is recorded yet"
    names = [name for name in found.splits if only in (None, name)]
    said = [f"{name}: {in_words(words)}" for name in names if (words := explained(found, name))]
    if said:
        yield ""
        yield from (fill(line, 80, subsequent_indent="  ") for line in said)
    wrong = [f for f in findings(found) if f.numbers["split"] in names]
    if wrong:
        yield ""
        yield from map(_worded, wrong)


def _warn(found: EvaluationHistory, split: str) -> None:
    """Warnings about the newest evaluation, on stderr. The evaluation itself is recorded."""
    from firstbreak.evals.hygiene import findings

    newest = found.evaluations_of(split)[-1].number
    for finding in findings(found):
        if newest in finding.numbers["rows"]:
            say(_worded(finding))


def _worded(finding: Finding) -> str:
    rows = finding.numbers["rows"]
    listed = ", ".join(map(str, rows[:6])) + (", ..." if len(rows) > 6 else "")
    said = f"{finding.severity.value}: {finding.message} (row{'' if len(rows) == 1 else 's'} {listed})"
    return fill(said, 80, subsequent_indent="  ")


def _located(found: Any) -> Iterator[dict[str, Any]]:
    """One row for each problem that was found: how, and in which row of the training data (first row: 1)."""
    for problem in sorted(found.contaminated | found.templates.keys()):
        yield {
            "problem": problem + 1,
            "exact": found.exact[problem] + 1 if problem in found.exact else None,
            "pieces": found.pieces.get(problem, 0.0),
            "reworded": found.reworded[problem][0] + 1 if problem in found.reworded else None,
            "similarity": found.reworded[problem][1] if problem in found.reworded else None,
            "template": found.templates[problem] + 1 if problem in found.templates else None,
        }


def _said(scores: Any, most: int = 4) -> str:
    known = named(scores)
    first = main(known)
    ordered = sorted(known.items(), key=lambda item: item[0] != first)
    return ", ".join(f"{name} {number(value)}" for name, value in ordered[:most])
