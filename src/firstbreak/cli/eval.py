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

from firstbreak.cli._output import write
from firstbreak.evals import protocol as protocols
from firstbreak.evals.ledger import Conflict, Ledger
from firstbreak.evals.protocol import Comparison, Protocol
from firstbreak.evals.splits import KINDS, History, Split, Use, declare, history, record
from firstbreak.readers import Unreadable
from firstbreak.words import number

if TYPE_CHECKING:
    from firstbreak.evals.importers import Evaluation

LEDGER = click.option(
    "--ledger",
    "place",
    envvar="FIRSTBREAK_LEDGER",
    default="firstbreak-ledger.db",
    show_default=True,
    help="A file, or postgresql://user@host/database for a team. [env: FIRSTBREAK_LEDGER]",
)
FILE = click.Path(path_type=Path, dir_okay=False)
SHORT = 8  #: digits of a hash that a person reads


class BadCall(click.ClickException):
    """What the user can put right: one line on stderr."""

    exit_code = 2


@click.group("eval")
def command() -> None:
    """Evaluation that stays clean: protocols that are locked, splits that are looked at for what they are for.

    Every evaluation is a row of a ledger in which nothing can be changed without trace.
    """


@command.command()
def fields() -> None:
    """What a protocol holds: every field, with its meaning."""
    from firstbreak.compare.text import table

    rows = [(field.name, field.type, field.meaning) for field in protocols.FIELDS.values()]
    write(table([("field", "type", "meaning"), *rows]))
    click.echo("\nanything else that changes a score goes below `other:`")


@command.command()
@click.argument("source", metavar="SOURCE")
@click.option("-o", "--output", type=FILE, required=True, help="Where the locked protocol is written (JSON).")
def lock(source: str, output: Path) -> None:
    """Write a protocol down, with one hash over it.

    A protocol is everything that changes a score and is not the policy.

    SOURCE is a YAML file of fields, a result of lm-eval, Inspect, lighteval or Stable-Baselines3, or a training run.
    """
    found, _ = _source(source)
    output.write_text(json.dumps(found.record(), indent=1) + "\n", encoding="utf-8")
    write(f"{output}: {found.hash[:SHORT]}, {len(found.values)} fields")
    if found.missing:
        write(fill(f"not known, so nobody can measure this again: {', '.join(found.missing)}", 80))


@command.command()
@click.argument("left")
@click.argument("right")
@click.option("--accept", multiple=True, metavar="FIELD", help="A difference that you vouch for; may be repeated.")
@LEDGER
def compare(left: str, right: str, accept: tuple[str, ...], place: str) -> None:
    """Compare two scores, if they were measured alike. Exit code 1, and the fields that differ, if not.

    LEFT and RIGHT are results of harnesses (FILE, or FILE#TASK where it holds several), locked protocols, or rows of the
    ledger (row:12).
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
@click.option("--looks", type=click.IntRange(1), help="How many are allowed.  [default: as the kind has it]")
@click.option("--size", type=click.IntRange(1), help="Problems or episodes; needed to bound what re-use explains.")
@click.option("--range", "bounds", type=(float, float), default=(0.0, 1.0), show_default=True, help="Of one score.")
@LEDGER
def split_(name: str, kind: str, looks: int | None, size: int | None, bounds: tuple[float, float], place: str) -> None:
    """Declare a split: what it is for, how many looks."""
    allowed = KINDS[kind].looks if looks is None else looks
    split = Split(name=name, kind=kind, looks=allowed, size=size, low=bounds[0], high=bounds[1])
    with _ledger(place) as ledger:
        row = declare(ledger, split)
    often = "any number of looks" if allowed is None else f"{allowed} look{'' if allowed == 1 else 's'}"
    uses = ", ".join(use for use in Use if use in split.uses)
    write(f"row {row.number}: {name} is there to {KINDS[kind].purpose}\n{often}, for {uses}")


def what_was_looked_at(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options that record and baseline share."""
    for option in (
        click.option("--result", metavar="FILE[#TASK]", help="Of lm-eval, Inspect, lighteval or Stable-Baselines3."),
        click.option("--protocol", "protocol_", type=FILE, help="The protocol, locked or not."),
        click.option("--key", help="Whoever records the same key again records nothing."),
        LEDGER,
    ):
        function = option(function)
    return function


@command.command("record")
@click.argument("split")
@click.option("--use", type=click.Choice([use.value for use in Use]), required=True, help="What the score is for.")
@click.option("--score", "given", multiple=True, metavar="METRIC=VALUE", help="May be repeated.")
@click.option("--run", "run_", help="The training run.")
@click.option("--checkpoint", help="What was evaluated.")
@click.option("--step", type=float, help="Of training.")
@click.option("--fed", help="The decision that the score went into, in words.")
@what_was_looked_at
def record_(
    split: str, use: str, given: tuple[str, ...], protocol_: Path | None, result: str | None, key: str | None,
    place: str, run_: str | None, checkpoint: str | None, step: float | None, fed: str | None,
) -> None:  # fmt: skip
    """Record an evaluation.

    Which SPLIT, for what, with which protocol, at what, and the decision that its score fed."""
    found = _result(result) if result else None
    scores = {**(found.scores if found else {}), **dict(map(_pair, given))}
    if not scores:
        raise BadCall("no score: give --score accuracy=0.71, or --result FILE")
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
@click.argument("run_path", metavar="RUN")
@click.option("--split", required=True, help="The split that the score is of.")
@what_was_looked_at
def baseline(
    run_path: str, split: str, result: str | None, protocol_: Path | None, key: str | None, place: str
) -> None:
    """Record the score before training.

    It is the first row of RUN: the evaluation that RUN has made of itself before its first step, with the training
    workflow's own code; or --result, an evaluation of the base model.
    """
    if result:
        found = _result(result)
        scores, protocol = dict(found.scores), found.protocol
    else:
        from firstbreak.engine.read import read
        from firstbreak.evals.training import before_training, protocol_of

        run = read(run_path)
        scores, protocol = dict([before_training(run)]), protocol_of(run)
    with _ledger(place) as ledger:
        earlier = [look for look in history(ledger).looks if look.run == run_path and look.use is not Use.BASELINE]
        if earlier:
            raise BadCall(f"row {earlier[0].number} has scored {run_path} already: a baseline comes first")
        row = record(
            ledger,
            split=split,
            use=Use.BASELINE,
            scores=scores,
            protocol=protocols.read(protocol_) if protocol_ else protocol,
            key=key or f"baseline-{run_path}-{split}",
            run=run_path,
            step=0.0,
        )
        write(f"row {row.number}: {run_path} before training, {split}: {_said(scores)}")
        _warn(history(ledger), split)


@command.command("log")
@click.option("--split", help="Only this one.")
@LEDGER
def log(split: str | None, place: str) -> None:
    """Every look at every split, and what is wrong with it.

    Says as well how much of a score re-use of the split can explain."""
    with _ledger(place, made=False) as ledger:
        rows = list(ledger)
    write("\n".join(_log(history(rows), split)))
    if rows:
        write(f"\n{len(rows)} rows, the last one with the hash\n{rows[-1].hash}")


@command.command()
@click.option("--holds", metavar="HASH", help="The hash of a row that you have seen: is it still there?")
@LEDGER
def verify(holds: str | None, place: str) -> None:
    """Check that no row was changed or taken out.

    Exit code 1, and the row, if one was."""
    with _ledger(place, made=False) as ledger:
        broken = ledger.verify(holds)
        rows = list(ledger)
    if broken:
        write(f"{place}: broken at row {broken.number}: {broken.problem}")
        sys.exit(1)
    last = f", the last one with the hash\n{rows[-1].hash}" if rows else ""
    write(f"{place}: {len(rows)} rows, unbroken{last}")


@command.command()
@click.argument("train", type=FILE)
@click.argument("splits", nargs=-1, required=True, type=FILE, metavar="SPLIT...")
@click.option("--field", "names", multiple=True, help="Of a row, that makes up its text; may be repeated.")
@click.option("-o", "--output", type=FILE, help="Every problem that was found, as JSON lines.")
def contamination(train: Path, splits: tuple[Path, ...], names: tuple[str, ...], output: Path | None) -> None:
    """Look for the problems of splits in training data.

    Exit code 1 if any problem of a SPLIT is in TRAIN.

    Files hold JSON lines (also gzipped), Parquet, or one text a line. Only the splits are held in memory.
    """
    from firstbreak.compare.text import table
    from firstbreak.evals.contamination import Found, Index, documents

    rows: list[Sequence[str]] = [("split", "problems", "exact", "pieces", "reworded", "in all", "same template")]
    results: list[tuple[Path, Found]] = []
    for path in splits:
        found = Index(list(documents(path, names))).look_in(documents(train, names))
        results.append((path, found))
        here = len(found.contaminated)
        share = f"{here} ({100 * here / max(1, found.documents):.1f} %)"
        pieces = sum(value >= 0.5 for value in found.pieces.values())
        counts = (found.documents, len(found.exact), pieces, len(found.reworded))
        rows.append((path.name, *map(str, counts), share, str(len(found.templates.keys() - found.contaminated))))
    write(table(rows))
    if output:
        lines = [json.dumps({"split": path.name} | row) for path, found in results for row in _located(found)]
        output.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    if any(found.contaminated for _, found in results):
        write("take these problems out of training, or score without them")
        sys.exit(1)


@command.command()
@click.argument("split", type=FILE)
@click.option("--field", "names", multiple=True, help="Of a row, that makes up its text; may be repeated.")
@click.option("-o", "--output", type=FILE, required=True)
def prefixes(split: Path, names: tuple[str, ...], output: Path) -> None:
    """Write the beginnings of problems, to be continued.

    Let the model continue each `prompt` greedily, add what it writes as `completion`, and give the file to `eval recited`.
    """
    from firstbreak.evals.contamination import documents
    from firstbreak.evals.contamination import prefixes as cut

    rows = [{"prompt": start, "expected": rest} for start, rest in cut(documents(split, names))]
    output.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    write(f"{output}: {len(rows)} beginnings")


@command.command()
@click.argument("outputs", type=FILE)
def recited(outputs: Path) -> None:
    """How many problems a model knows by heart.

    OUTPUTS has rows with `expected` and `completion`. Exit code 1 if more are continued word for word than by chance."""
    from firstbreak.evals.contamination import documents
    from firstbreak.evals.contamination import recited as count

    expected, written = (documents(outputs, [name]) for name in ("expected", "completion"))
    found = count(zip(expected, written, strict=True))
    share = len(found.recited) / max(1, found.documents)
    write(
        f"{len(found.recited)} of {found.documents} problems are continued word for word ({100 * share:.1f} %), "
        f"{100 * found.by_chance:.1f} % by chance"
    )
    if share > found.by_chance and len(found.recited) > 1:
        write("the model has seen them: score on problems that are newer than its training data")
        sys.exit(1)


# --- where things come from ---------------------------------------------------------------------------------------------


@contextmanager
def _ledger(place: str, made: bool = True) -> Iterator[Ledger]:
    """The ledger; one that is only read is not `made` where there is none."""
    if not made and "://" not in place and not Path(place).exists():
        raise BadCall(
            f"{place}: there is no ledger here; name it with --ledger, or write its first row with `eval record`"
        )
    try:
        with Ledger(place) as ledger:
            yield ledger
    except (LookupError, Conflict, ValueError) as error:
        raise BadCall(str(error.args[0])) from None


def _source(text: str, place: str | None = None) -> tuple[Protocol, Evaluation | None]:
    """A protocol, and the evaluation that it is of where there is one."""
    if text.startswith("row:") and place is not None:
        return _row(text.removeprefix("row:"), place)
    path, _, task = text.partition("#")
    if Path(path).is_dir():
        from firstbreak.engine.read import read
        from firstbreak.evals.training import protocol_of

        return protocol_of(read(path)), None
    from firstbreak.evals import importers

    try:
        found = importers.read(Path(path))
    except Unreadable as error:
        if "no known harness" not in error.problem:
            raise
        return protocols.read(Path(path)), None
    chosen = [e for e in found if not task or task in (e.protocol.values.get("task"), number(e.step))]
    if len({e.protocol.hash for e in chosen}) != 1:
        names = ", ".join(sorted({str(e.protocol.values.get("task")) for e in found}))
        raise Unreadable(path, f"holds several evaluations ({names})", f"name one: {path}#TASK")
    return chosen[-1].protocol, chosen[-1]


def _row(text: str, place: str) -> tuple[Protocol, Evaluation | None]:
    from firstbreak.evals.importers import Evaluation

    with _ledger(place) as ledger:
        found = history(ledger)
    look = next((look for look in found.looks if str(look.number) == text), None)
    if look is None or look.protocol is None:
        raise BadCall(f"row {text} of {place} is no evaluation with a protocol; `firstbreak eval log` shows the rows")
    protocol = found.protocols[look.protocol]
    return protocol, Evaluation(protocol=protocol, scores=look.scores, errors=look.errors)


def _result(text: str) -> Evaluation:
    _, found = _source(text)
    if found is None:
        raise BadCall(f"{text} is a protocol and holds no score: give it with --protocol")
    return found


def _pair(text: str) -> tuple[str, float]:
    name, _, value = text.rpartition("=")
    try:
        return name or "score", float(value)
    except ValueError:
        raise BadCall(f"{text!r} is no score: write accuracy=0.71") from None


# --- how it is said -----------------------------------------------------------------------------------------------------


def _comparison(found: Comparison, left: str, right: str) -> str:
    from firstbreak.compare.text import table

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
        return "\n".join([f"measured alike: {left} and {right}", *shown_rows])
    n = len(found.differs) + len(found.unknown)
    return "\n".join(
        [
            f"not comparable: {n} field{'' if n == 1 else 's'} of the protocol {'is' if n == 1 else 'are'} not known to agree",
            *shown_rows,
            "score one of them again with the other's protocol, or --accept a field that does not matter here",
        ]
    )


def _scores(before: Evaluation, after: Evaluation) -> str:
    from firstbreak.compare.text import table

    rows = [("metric", "left", "right", "difference", "")]
    for metric in before.scores:
        if metric not in after.scores:
            continue
        left, right = before.scores[metric], after.scores[metric]
        errors = [side.errors.get(metric) for side in (before, after)]
        told = ""
        if errors[0] is not None and errors[1] is not None:
            error = math.hypot(errors[0], errors[1])
            told = f"+- {number(1.96 * error)} (95 %)"
            told += ", within noise" if abs(right - left) <= 1.96 * error else ", beyond noise"
        rows.append((metric, number(left), number(right), f"{right - left:+.4g}", told))
    return table(rows) if len(rows) > 1 else "no metric that both report"


def _log(found: History, only: str | None) -> Iterator[str]:
    from firstbreak.compare.text import table
    from firstbreak.evals.hygiene import explained, findings, in_words

    looks = [look for look in found.looks if only in (None, look.split)]
    rows = [("row", "when", "split", "use", "protocol", "score", "step", "decision")]
    rows += [
        (
            str(look.number),
            look.at[5:16].replace("T", " "),
            look.split,
            look.use.value,
            (look.protocol or "-")[:SHORT],
            _said(look.scores, 1),
            "-" if look.step is None else number(look.step),
            look.fed or "-",
        )
        for look in looks
    ]
    yield table(rows) if looks else "no evaluation is recorded yet"
    names = [name for name in found.splits if only in (None, name)]
    said = [f"{name}: {in_words(words)}" for name in names if (words := explained(found, name))]
    if said:
        yield ""
        yield from (fill(line, 80, subsequent_indent="  ") for line in said)
    wrong = [f for f in findings(found) if f.facts["split"] in names]
    if wrong:
        yield ""
        yield from (_worded(f.severity.value, f.message, f.facts["rows"]) for f in wrong)


def _warn(found: History, split: str) -> None:
    """What the newest look has made wrong, on stderr: the record itself was kept."""
    from firstbreak.evals.hygiene import findings

    newest = found.looks_at(split)[-1].number
    for finding in findings(found):
        if newest in finding.facts["rows"]:
            click.echo(_worded(finding.severity.value, finding.message, finding.facts["rows"]), err=True)


def _worded(severity: str, message: str, rows: Sequence[int]) -> str:
    listed = ", ".join(map(str, rows[:6])) + (", ..." if len(rows) > 6 else "")
    return fill(f"{severity}: {message} (row{'' if len(rows) == 1 else 's'} {listed})", 80, subsequent_indent="  ")


def _located(found: Any) -> Iterator[dict[str, Any]]:
    """One row for each problem that was found: how, and where in the training data (first row: 1)."""
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
    return ", ".join(f"{name} {number(value)}" for name, value in list(scores.items())[:most])
