"""How often firstbreak is right, and how often it accuses a healthy run: one page, and three numbers for the first pages."""

from pathlib import Path

from benchmarks.docs.markdown import filled, folded, percent, table
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
    right = sorted(round(100 * one["link_accepted"] / one["n_broken"]) for one in sets.values())
    return filled(
        "evidence",
        table=table(HEAD, rows),
        n_sets=len(sets),
        least=right[0],
        most=right[-1],
        sets=folded(f"All {len(sets)} sets", table(["", "broken", "right link", "healthy", "accused"], each)),
        population=drawn["date"],
        field=field["date"],
    )


def first_page(path: str) -> str:
    """README.md or docs/index.md, with its figures: of the fresh sets, of the public runs and of the drawn ones."""
    field, drawn = result("field")["unseen"]["all"], result("population")["all"]
    made = _counts("link_accepted", "accused", "stopped")
    public = [(round(field[name]["share"] * field[name]["of"]), field[name]["of"]) for name in FIELD]
    of_lab = [(round(drawn[name]["share"] * drawn[f"n_{kind}"]), drawn[f"n_{kind}"]) for name, kind in DRAWN.items()]
    read = _counts("reader_link_accepted", "reader_accused")
    head = ("runs", "broken: right link of ten", "healthy: a link named", "healthy: told to stop")
    rows = [
        ["projects that others made for the test", *map(_said, made)],
        ["public runs", *map(_said, public)],
        ["drawn runs of the lab, partly seen", *map(_said, of_lab)],
        ["a person with the logs of the first row", *map(_said, read), ""],
    ]
    right, named, _ = ([100 * hits / n for hits, n in column] for column in zip(made, public, of_lab, strict=True))
    told = {"projects": made[2], "public runs": public[2]}
    stopped = " and ".join(f"{hits} of {n} healthy {what}" for what, (hits, n) in told.items())
    text = (
        f"firstbreak names the right link in {_percent(min(right))} to {_percent(max(right))} % of broken runs, and names one in "
        f"{_percent(min(named))} to {_percent(max(named))} % of healthy runs. It told {stopped} to stop:"
    )
    return between_marks((ROOT / path).read_text("utf-8"), {"figures": f"{text}\n\n{table(head, rows)}"})


def _asked(*keys: str) -> list[str]:
    return [_said(count) for count in _counts(*keys)]


def _counts(*keys: str) -> list[tuple[int, int]]:
    """Each figure of the fresh sets, and of how many runs: those of a link are of the broken runs."""
    sets = result("relations")["fresh"].values()
    kinds = ["n_broken" if "link" in key else "n_healthy" for key in keys]
    return [
        (sum(one[key] for one in sets), sum(one[kind] for one in sets)) for key, kind in zip(keys, kinds, strict=True)
    ]


def _said(count: tuple[int, int]) -> str:
    """All of them are 100 %, and nothing less is."""
    hits, n = count
    return f"{hits} of {n} ({_percent(100 * hits / n)} %)"


def _percent(share: float) -> str:
    return f"{share:.{1 if 0 < share < 10 or 99 <= share < 100 else 0}f}"
