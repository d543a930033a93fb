"""docs/signals.md: the vocabulary as a page, in the order of the loop."""

import inspect

from firstbreak.dialects import signals


def page() -> str:
    """What the vocabulary says of itself, and the signals of each link with their units and meanings."""
    lines = ["# Signals", "", inspect.cleandoc(signals.__doc__ or ""), ""]
    for link, rows in signals.LINKS:
        lines += [
            f"## {link.value}",
            "",
            f"{link.question[0].upper()}{link.question[1:]}",
            "",
            "| signal | unit | better | meaning |",
            "|---|---|---|---|",
        ]
        lines += [f"| `{name}` | {unit} | {better or ''} | {meaning} |" for name, better, unit, meaning in rows]
        lines.append("")
    return "\n".join(lines)
