"""Checks of training data: preference pairs, prompts, texts with answers, episodes with tools, or recorded transitions.

Rows are read by `rows`; `pairs`, `prompts`, `episodes` and `offline` look at what is in them, `tokens` at what the model will
see of it: the tokenizer's template and end of text, and which tokens get loss in a batch that the trainer itself made.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from firstbreak.model import Link, NotMeasured, Outcome
from firstbreak.preflight import Answer, Report, ReportTable, asking, critical, histogram
from firstbreak.preflight.data import episodes, offline, pairs, prompts, rows, tokens
from firstbreak.preflight.data.rows import Row
from firstbreak.preflight.target import load
from firstbreak.readers import Unreadable

COUNTED = 5000  #: rows whose tokens are counted (convention)
_ask = asking(Link.ENVIRONMENT)


def check(
    data: str,
    *,
    test: str | None = None,
    tokenizer: str | None = None,
    max_prompt: int | None = None,
    trainer: str | None = None,
    collate: str | None = None,
    judge: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Report:
    """Check a data set: a file or folder of rows, or an .npz or HDF5 file of transitions.

    `test` is a file of prompts that must not be in it; `tokenizer` a folder, tokenizer.json or name on the hub, and
    `max_prompt` the limit in tokens. `trainer` ("sft", "dpo", "reward") has TRL make a batch with `settings`, `collate`
    ("module:function" of rows and tokenizer) any other trainer's. `judge` ("module:function" of prompt and completion)
    says which answer of a pair is better. Raises `Unreadable` where a file or an option cannot be understood.
    """
    if data.endswith(offline.SUFFIXES):
        return _offline(data)
    found = rows.rows(data)
    if trainer is not None and trainer not in tokens.TRAINERS:
        raise Unreadable("--trainer", f"{trainer!r} is not known", f"give one of {', '.join(tokens.TRAINERS)}")
    if (trainer or collate) and tokenizer is None:
        raise Unreadable("--trainer" if trainer else "--collate", "needs a tokenizer", "give --tokenizer")
    loaded = tokens.load(tokenizer) if tokenizer else None
    outcomes = [*_pairs(found, judge), *_prompts(found, test, loaded, max_prompt)]
    if with_tools := episodes.episodes(found, data):
        outcomes.append(_ask("data-failed-calls", lambda: episodes.failed_calls(with_tools)))
    lines: Sequence[tokens.Line] = ()
    if loaded is not None:
        outcomes += [
            _ask("data-template", lambda: tokens.template(loaded, found)),
            _ask("data-end-of-text", lambda: tokens.ends(loaded, found)),
            _ask("data-special-tokens", lambda: tokens.specials(loaded, found)),
        ]
    if trainer or collate:
        lines, told = _batch(found, loaded, trainer, collate, settings or {})
        outcomes += told
    names = ", ".join(found[0])
    facts = (("rows", f"{len(found)}{' (the first)' if len(found) == rows.MAX_ROWS else ''}"), ("columns", names))
    return Report(
        check="data",
        target=data,
        outcomes=tuple(outcomes),
        checked=facts,
        exhibits=tuple(_exhibits(found, lines, loaded)),
        numbers={"rows": len(found), "columns": list(found[0])},
    )


def _pairs(found: Sequence[Row], judge: str | None) -> Iterator[Outcome]:
    kept = pairs.pairs(found)
    if not kept:
        return
    better = None if judge is None else load(judge)
    lost = len(found) - len(kept)
    if lost:
        yield _ask("data-pairs", lambda: critical(f"{lost} of {len(found)} rows lack chosen or rejected. Remove them."))
    yield _ask("data-identical", lambda: pairs.identical(kept))
    yield _ask("data-duplicates", lambda: pairs.duplicates(kept))
    yield _ask("data-swapped", lambda: pairs.swapped(kept, found, better))
    yield _ask("data-length-leak", lambda: pairs.length_leak(kept))
    yield _ask("data-pair-prompts", lambda: pairs.implicit_prompt(found, kept))


def _prompts(found: Sequence[Row], test: str | None, tokenizer: Any, limit: int | None) -> Iterator[Outcome]:
    asked, name = prompts.texts(found), prompts.column(found)
    if name is None:
        if not pairs.pairs(found):
            known = ", ".join(found[0])
            yield _ask("data-prompts", lambda: NotMeasured(f"no column of prompts among {known}"))
        return
    tested = prompts.texts(rows.rows(test)) if test else []
    if test and not tested:
        raise Unreadable(test, "has no column of prompts", f"name it {' or '.join(prompts.NAMES[:3])}")
    yield _ask("data-empty-prompts", lambda: prompts.empty(asked))
    yield _ask("data-repeated-prompts", lambda: prompts.repeated(asked))
    yield _ask("data-test-overlap", lambda: prompts.overlap(asked, tested), Link.EVALUATION)
    yield _ask("data-prompt-length", lambda: _lengths(found, name, tokenizer, limit))


def _lengths(found: Sequence[Row], name: str, tokenizer: Any, limit: int | None) -> Answer:
    if tokenizer is None:
        return prompts.lengths(None, limit)
    asked = [row[name] for row in found[:COUNTED] if row.get(name)]
    try:
        counted = [len(tokens.encode(tokenizer, value, generation=name != "messages")) for value in asked]
    except Exception as error:  # a template is a program; what is wrong with it is told by data-template
        return NotMeasured(f"the chat template fails: {type(error).__name__}")
    return prompts.lengths(counted, limit)


def _batch(
    found: Sequence[Row], tokenizer: Any, trainer: str | None, collate: str | None, settings: Mapping[str, Any]
) -> tuple[list[tokens.Line], list[Outcome]]:
    if collate is None and (missing := [m for m in ("trl", "datasets") if importlib.util.find_spec(m) is None]):
        return [], [_ask("data-loss-mask", lambda: NotMeasured(f"{missing[0]} is not installed"))]
    make = load(collate) if collate else None
    try:
        if make is not None:
            lines = tokens.from_function(make, found, tokenizer)
        else:
            lines = tokens.from_trl(str(trainer), found, tokenizer, settings)
    except Exception as error:  # the trainer's, or the user's own code
        said = f"{trainer or collate} fails on the data: {type(error).__name__}: {(str(error).splitlines() or [''])[0]}"
        return [], [_ask("data-loss-mask", lambda: critical(said + ". Training would begin with this error."))]
    return lines, [
        _ask("data-loss-mask", lambda: tokens.masked(lines, tokenizer, str(trainer))),
        _ask("data-starts-twice", lambda: tokens.starts_twice(lines, tokenizer)),
    ]


def _exhibits(found: Sequence[Row], lines: Sequence[tokens.Line], tokenizer: Any) -> Iterator[Any]:
    if lines:
        yield from tokens.shown(lines, tokenizer)
    kept = pairs.pairs(found)
    if kept:
        lengths = {side: [len(getattr(pair, side)) for pair in kept] for side in ("chosen", "rejected")}
        yield histogram("Length in characters", lengths)


def _offline(data: str) -> Report:
    steps = offline.read(data)
    whole = _ask("offline-arrays", lambda: offline.whole(steps))
    outcomes = [whole]
    if whole.finding is None:  # the rest needs arrays that belong together
        outcomes += [
            _ask("offline-ends", lambda: offline.masks(steps)),
            _ask("offline-time-limits", lambda: offline.time_limits(steps)),
            _ask("offline-rewards", lambda: offline.aligned(steps), Link.REWARD),
        ]
    shapes = tuple((name, str(a.shape)) for name, a in vars(steps).items() if a is not None)
    table = ReportTable(title="Arrays of the file", columns=("array", "shape"), rows=shapes)
    return Report(check="data", target=data, outcomes=tuple(outcomes), exhibits=(table,), numbers=dict(shapes))
