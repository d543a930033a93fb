"""How often firstbreak is right, and how often it accuses a healthy run: one page, and three numbers for the first pages."""

from pathlib import Path

from benchmarks.docs.markdown import filled, percent, table
from benchmarks.docs.results import result
from benchmarks.lab import page as between_marks

ROOT = Path(__file__).resolve().parents[2]
HEAD = ("runs", "right link", "healthy accused", "healthy stopped")
DRAWN = {"accepted": "harmful", "healthy_broken": "healthy", "healthy_stopped": "healthy"}
FIELD = ("called broken, and an accepted link", "healthy accused", "healthy stopped")


def page() -> str:
    """docs/evidence.md"""
    sets, drawn, field = result("relations")["fresh"], result("population"), result("field")["unseen"]
    public = [f"{percent(field['all'][name]['share'])} of {field['all'][name]['of']}" for name in FIELD]
    n = sum(drawn["all"][f"n_{kind}"] for kind in ("harmful", "harmless", "healthy"))
    shares = [f"{percent(drawn['all'][name]['share'])} of {drawn['all'][f'n_{kind}']}" for name, kind in DRAWN.items()]
    rows = [
        ["unseen runs by other hands", *_asked("link_accepted", "accused", "stopped")],
        ["the same, the two most probable links", *_asked("link_two"), "", ""],
        ["the same, read by a person", *_asked("reader_link_accepted", "reader_accused"), ""],
        [f"{n:,} drawn runs, partly seen", *shares],
        [f"{field['all']['runs']} public runs, scored once a release", *public],
    ]
    each = [
        [name, *(one[key] for key in ("n_broken", "link_accepted", "n_healthy", "accused"))]
        for name, one in sets.items()
    ]
    return filled(
        "evidence",
        table=table(HEAD, rows),
        n_sets=len(sets),
        sets=table(["", "broken", "right link", "sound", "accused"], each),
        population=drawn["date"],
        field=field["date"],
    )


def first_page(path: str) -> str:
    """README.md or docs/index.md, with its three numbers."""
    rows = [
        ["firstbreak, asked once", *_asked("link_accepted", "accused", "stopped")],
        ["a person with the same logs", *_asked("reader_link_accepted", "reader_accused"), ""],
    ]
    head = ("runs that others made", "broken: right link of ten", "sound: warned of", "sound: told to stop")
    return between_marks((ROOT / path).read_text("utf-8"), {"figures": table(head, rows)})


def _asked(*keys: str) -> list[str]:
    """Each figure of the fresh sets: those of a link are of the broken runs."""
    sets = result("relations")["fresh"].values()
    kinds = ["n_broken" if "link" in key else "n_healthy" for key in keys]
    sums = [
        (sum(one[key] for one in sets), sum(one[kind] for one in sets)) for key, kind in zip(keys, kinds, strict=True)
    ]
    return [f"{hits} of {n} ({100 * hits / n:.0f} %)" for hits, n in sums]
