"""Which names of which trainer are understood."""

from benchmarks.docs.markdown import table
from benchmarks.docs.results import measured, result
from firstbreak import dialects


def page() -> str:
    """docs/coverage.md"""
    figures = result("coverage")
    peers = figures["peers"]["rldoctor"]
    rows = [
        [name, dialects.dialects()[name].TITLE, c["logged"], c["understood"], peers.get(name, {}).get("understood", 0)]
        for name, c in figures["trainers"].items()
    ]
    total = ["**all**", "", *(sum(row[i] for row in rows) for i in (2, 3, 4))]
    return "\n\n".join(
        [
            "# What is covered",
            "## Which names are understood",
            "Names that each trainer is known to log, how many of them firstbreak translates into a signal with the right sign, "
            "scale and estimator, and how many the nearest peer, rl-doctor, recognises in the same run. A name that is known to "
            "carry no usable number is refused with the reason, and counts as not understood.",
            measured(figures),
            table(["dialect", "trainer", "logged", "understood", "rl-doctor"], [*rows, total]),
        ]
    )
