"""What can be read, and how fast."""

from typing import Any

from benchmarks.docs.markdown import filled, table
from benchmarks.docs.results import measured, result
from firstbreak import readers


def page() -> str:
    """docs/readers.md"""
    figures, fuzz = result("readers"), result("fuzz")
    formats = [[f"`{name}`", getattr(m, "DESCRIPTION", "")] for name, m in sorted(readers.readers().items())]
    mutants = {**{f"`{name}`": tally for name, tally in fuzz["readers"].items()}, "**all**": fuzz}
    refused = sum(tally["refused"] for tally in fuzz["readers"].values())
    rows = [[name, t["executions"], t.get("refused", refused), t["crashes"]] for name, t in mutants.items()]
    return filled(
        "readers",
        formats=table(["format", "written by"], formats),
        fuzz_measured=measured(fuzz),
        fuzzed=table(["reader", "mutants", "refused", "crashes"], rows),
        measured=measured(figures),
        speed="\n\n".join(filter(None, (_speed(n, part) for n, part in figures.items() if isinstance(part, dict)))),
    )


def _speed(name: str, part: dict[str, Any]) -> str:
    seconds = part.get("all_s") or {key.removesuffix("_s"): value for key, value in part.items() if key.endswith("_s")}
    if not seconds or name == "versions":
        return ""
    rows = [[who, "-" if s is None else f"{s:.3f}"] for who, s in seconds.items()]
    return f"**{name}**\n\n{table(['reader', 'seconds'], rows)}"
