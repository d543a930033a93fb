"""docs/signals.md: the vocabulary as a page, in the order of the loop."""

import inspect

from benchmarks.docs.markdown import table
from firstbreak.dialects import signals


def page() -> str:
    """What the vocabulary says of itself, and the signals of each link with their units and meanings."""
    parts = ["# Signals: what names such as reward, KL and entropy mean", inspect.cleandoc(signals.__doc__ or "")]
    for link, rows in signals.LINKS:
        shown = [(f"`{name}`", unit, better or "", meaning) for name, better, unit, meaning in rows]
        question = f"{link.question[0].upper()}{link.question[1:]}"
        parts += [f"## {link.value}", question, table(("signal", "unit", "better", "meaning"), shown)]
    return "\n\n".join(parts)
