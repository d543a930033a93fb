"""Rows of a data set as TRL's trainers hold them: prompts, right answers, pairs, each text as one string."""

from typing import Any

import numpy as np

from firstbreak.live.hooks.firstbreak_texts import ANSWERS
from firstbreak.live.recorder.measuring import LOG

READ = 512  #: rows that are looked at
PAIRS = 20_000  #: pairs whose sides are known


def text_of(value: Any) -> str:
    """A prompt or completion as text: the contents of a conversation's messages."""
    if isinstance(value, list):
        return "\n".join(str(message.get("content", "")) for message in value)
    return str(value)


def in_place_of(original: Any, text: str) -> Any:
    return [{**original[-1], "content": text}] if isinstance(original, list) else text


def rows_of(data: Any, most: int = READ) -> Any:
    """Some rows of a data set with a length, spread without a period, as rows may repeat with one; None for a stream."""
    if data is None or not hasattr(data, "select") or not hasattr(data, "__len__"):
        return None
    return data.select(np.sort(np.random.default_rng(0).permutation(len(data))[:most]).tolist())


def prompts_of(data: Any, tokenizer: Any) -> list[str] | None:
    """Prompts as the model gets them: a conversation in the tokenizer's template, where that can be applied."""
    from trl.data_utils import maybe_apply_chat_template

    rows = rows_of(data)
    if rows is None or "prompt" not in rows.column_names:
        return None
    try:
        return [str(maybe_apply_chat_template({"prompt": p}, tokenizer)["prompt"]) for p in rows["prompt"]]
    except Exception as error:  # templates are programs of their own, and some want more than messages
        LOG.warning("prompts are compared without their chat template: %s: %s", type(error).__name__, error)
        return [text_of(p) for p in rows["prompt"]]


def count_different(data: Any) -> float | None:
    """Different prompts in some rows of a data set."""
    rows = rows_of(data)
    return (
        None if rows is None or "prompt" not in rows.column_names else float(len({text_of(p) for p in rows["prompt"]}))
    )


def answers_in(data: Any) -> str | None:
    """The column with the right answers."""
    names = data[0].keys() if isinstance(data, list) else getattr(data, "column_names", None) or ()
    return next((name for name in ANSWERS if name in names), None)


def column_of(data: Any, name: str | None) -> list[str] | None:
    rows = rows_of(data)
    return None if rows is None or name is None else [str(value) for value in rows[name]]


def texts_of(data: Any) -> dict[tuple[int, ...], tuple[int, bool]]:
    """Tokens of a text of the data -> tokens of its prompt, and whether it is the chosen one."""
    rows = data if hasattr(data, "column_names") else None
    if rows is None or not {"chosen_ids", "rejected_ids"} <= set(rows.column_names):
        return {}
    found: dict[tuple[int, ...], tuple[int, bool]] = {}
    for row in rows.select(range(min(len(rows), PAIRS))):
        prompt = list(row.get("prompt_ids", ()))
        for name, chosen in (("chosen_ids", True), ("rejected_ids", False)):
            found.setdefault((*prompt, *row[name]), (len(prompt), chosen))
    return found
