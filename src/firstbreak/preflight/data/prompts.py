"""Prompts: how many are different, are some of them in the test set, and are they short enough?"""

import re
from collections import Counter
from collections.abc import Sequence

import numpy as np

from firstbreak.evals.contamination import ALIKE, COVERED, PIECE, Index
from firstbreak.model import NotApplicable, NotMeasured
from firstbreak.preflight import Answer, critical, notice, warning
from firstbreak.preflight.data.rows import Row
from firstbreak.readers._samples import as_text
from firstbreak.words import number, percent

NAMES = ("prompt", "question", "problem", "query", "instruction", "input", "text", "messages")
MIN_PROMPTS = 50  #: prompts: a policy memorises fewer (convention)
_SPACE = re.compile(r"\s+")


def column(rows: Sequence[Row]) -> str | None:
    """The name of the column that holds prompts."""
    return next((name for name in NAMES if name in rows[0]), None)


def texts(rows: Sequence[Row]) -> list[str]:
    """The prompts as text, "" where a row has none; of a chat without a prompt the turns before the last answer."""
    name = column(rows)
    return [as_text(_before_answer(r.get(name)) if name == "messages" else r.get(name)) for r in rows] if name else []


def _before_answer(turns: object) -> object:
    if isinstance(turns, list) and turns and isinstance(turns[-1], dict) and turns[-1].get("role") == "assistant":
        return turns[:-1]
    return turns


def empty(prompts: Sequence[str]) -> Answer:
    """Rows without a prompt."""
    none = [i for i, text in enumerate(prompts, 1) if not text.strip()]
    if none:
        return critical(f"{len(none)} of {len(prompts)} rows have an empty prompt (first: row {none[0]}). Remove them.")
    return None


def repeated(prompts: Sequence[str]) -> Answer:
    """The same prompt more than once, ignoring case and spacing."""
    counts = Counter(_SPACE.sub(" ", text.strip().casefold()) for text in prompts)
    distinct, most = len(counts), counts.most_common(1)[0]
    extra = len(prompts) - distinct
    said = f"{distinct} different prompts in {len(prompts)} rows"
    if distinct < MIN_PROMPTS:
        return warning(f"{said}: a policy memorises so few. Add prompts.", distinct=distinct)
    if extra / len(prompts) > 0.01:
        shown = most[0][:40] + ("..." if len(most[0]) > 40 else "")
        return warning(
            f"{said}: {percent(extra / len(prompts))} are repetitions, and repeated prompts count more ({shown!r} "
            f"occurs {most[1]} times). Remove the repetitions, unless the weights are intended.",
            repeated=extra,
        )
    return f"{said}, {extra} of them repeated"


def overlap(prompts: Sequence[str], tested: Sequence[str]) -> Answer:
    """Test prompts that are in the training data: word for word, in long parts, or reworded."""
    if not tested:
        return NotApplicable("no test set was given (--test)")
    found = Index(tested).search(prompts)
    if not found.contaminated:
        templates = f"; {len(found.templates)} follow the same template with other numbers" if found.templates else ""
        return f"none of {len(tested)} test prompts is in the training data{templates}"
    pieces = [i for i, share in found.pieces.items() if share >= COVERED and i not in found.exact]
    whole = {i: (t, 1.0) for i, t in found.exact.items()}
    test, (train, *_) = min({**whole, **found.reworded}.items(), default=(0, (0,)))
    return critical(
        f"{len(found.contaminated)} of {len(tested)} test prompts are in the training data: {len(found.exact)} word for "
        f"word, {len(found.reworded)} reworded (half of all runs of three words shared), {len(pieces)} in pieces of {PIECE} "
        f"words. First: test row {test + 1} is training row {train + 1}. Remove these rows from the training data.",
        exact=len(found.exact),
        reworded=len(found.reworded),
        pieces=len(pieces),
        similarity=ALIKE,
    )


def lengths(tokens: Sequence[int] | None, limit: int | None) -> Answer:
    """Prompts longer than the limit in tokens."""
    if tokens is None:
        return NotMeasured("counting tokens needs the tokenizer: give --tokenizer")
    median, longest = float(np.median(tokens)), max(tokens)
    said = f"median {number(median)}, 99 % below {number(float(np.percentile(tokens, 99)))}, longest {longest} tokens"
    if limit is None:
        return notice(
            f"{said}; the trainer cuts or drops prompts that are longer than its limit. Give --max-prompt to check that."
        )
    over = [i for i, n in enumerate(tokens, 1) if n > limit]
    if over:
        share = len(over) / len(tokens)
        text = (
            f"{len(over)} of {len(tokens)} prompts ({percent(share)}) are longer than {limit} tokens (first: row {over[0]}, "
            f"{tokens[over[0] - 1]}; {said}): the trainer cuts them, and with them the question. Raise the limit or "
            "remove the rows."
        )
        return critical(text, share=share) if share > 0.05 else warning(text, share=share)
    return f"{said}, limit {limit}"
