"""How often firstbreak is right, and how often it accuses a healthy run: one page, and a few rows of it for the first pages."""

from collections.abc import Mapping
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.docs.markdown import filled, folded, table
from benchmarks.docs.results import result
from benchmarks.field.index import by_run, readings
from benchmarks.lab import page as between_marks

ROOT = Path(__file__).resolve().parents[2]
HEAD = ("runs", "broken: right link", "healthy: a link named", "healthy: told to stop")
DRAWN = {"accepted": "harmful", "healthy_broken": "healthy", "healthy_stopped": "healthy"}
FIELD = ("called broken, and an accepted link", "healthy accused", "healthy stopped")
ALWAYS, FORCED = "always policy_update, accepted", "link first, accepted"


def page() -> str:
    """docs/evidence.md"""
    sets, drawn, field = result("relations")["fresh"], result("population"), result("field")["unseen"]
    counted = ("n_broken", "link_accepted", "n_healthy", "accused")
    each = [[name, *(one[key] for key in counted)] for name, one in sets.items()]
    right = sorted(round(100 * one["link_accepted"] / one["n_broken"]) for one in sets.values())
    groups = [[name, *_shares(field[name], FIELD[0], FORCED, ALWAYS, *FIELD[1:])] for name in ("language", "control")]
    two = ["the same, one of the two most probable links", *_asked("link_two"), "", ""]
    return filled(
        "evidence",
        table=table(HEAD, [*_rows()[:2], two, *_rows()[2:]]),
        groups=table(("public runs", HEAD[1], "most probable link", "always policy update", *HEAD[2:]), groups),
        accepted=_accepted(),
        told=[_shares(field[name], FIELD[2])[0] for name in ("language", "control")],
        n_public=field["all"]["runs"],
        doubtful=field["all"]["runs"] - field["all"]["broken"] - field["all"]["healthy"],
        drawn=drawn["all"],
        n_sets=len(sets),
        least=right[0],
        most=right[-1],
        sets=folded(f"All {len(sets)} sets", table(["", "broken", "right link", "healthy", "accused"], each)),
        population=drawn["date"],
        field=field["date"],
    )


def first_page(path: str) -> str:
    """README.md or docs/index.md, with its figures."""
    right, named = (_percent(100 * hits / n) for hits, n in _counts("link_accepted", "accused"))
    said = f"firstbreak names the right link in {right} % of unseen broken projects, and a link in {named} % of the healthy ones:"
    note = f"*Unseen*: nothing was corrected on these runs before. Several links may be right: {_accepted()} in a public run."
    return between_marks((ROOT / path).read_text("utf-8"), {"figures": f"{said}\n\n{table(HEAD, _rows())}\n\n{note}"})


def _rows() -> list[list[str]]:
    """What is unseen comes first, each with what a person or a constant guess reaches on the same runs."""
    field, drawn = result("field")["unseen"]["all"], result("population")["all"]
    of_lab = [(round(drawn[name]["share"] * drawn[f"n_{kind}"]), drawn[f"n_{kind}"]) for name, kind in DRAWN.items()]
    return [
        ["projects that others made for the test, unseen", *_asked("link_accepted", "accused", "stopped")],
        ["the same, a person with logs and configuration", *_asked("reader_link_accepted", "reader_accused"), ""],
        ["public runs, unseen", *_shares(field, *FIELD)],
        ["the same, the most probable link of every run", *_shares(field, FORCED), "", ""],
        ['the same, always "policy update"', *_shares(field, ALWAYS), "", ""],
        ["drawn runs of the lab, partly seen", *map(_said, of_lab)],
    ]


def _accepted() -> str:
    """How many links count as right, in the mean over the broken public runs that nobody looks at."""
    runs = [
        by for by in by_run(readings()).values() if by[0].part == "unseen" and {r.verdict for r in by} == {"broken"}
    ]
    return f"{mean(len(frozenset().union(*(reading.accepted for reading in by))) for by in runs):.1f}"


def _shares(figures: Mapping[str, Any], *names: str) -> list[str]:
    return [_said((round(figures[name]["share"] * figures[name]["of"]), figures[name]["of"])) for name in names]


def _asked(*keys: str) -> list[str]:
    return [_said(count) for count in _counts(*keys)]


def _counts(*keys: str) -> list[tuple[int, int]]:
    """Each figure of the fresh sets, and of how many runs: those of a link are of the broken runs."""
    sets = result("relations")["fresh"].values()
    of = {key: "n_broken" if "link" in key else "n_healthy" for key in keys}
    return [(sum(one[key] for one in sets), sum(one[kind] for one in sets)) for key, kind in of.items()]


def _said(count: tuple[int, int]) -> str:
    """All of them are 100 %, and nothing less is."""
    hits, n = count
    return f"{hits} of {n} ({_percent(100 * hits / n)} %)"


def _percent(share: float) -> str:
    return f"{share:.{1 if 0 < share < 10 or 99 <= share < 100 else 0}f}"
