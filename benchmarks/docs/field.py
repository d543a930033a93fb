"""Public runs that nobody tuned to: what firstbreak says of them beside the readings that were written before."""

from collections.abc import Mapping
from typing import Any

from benchmarks.docs.markdown import filled, percent, table
from benchmarks.docs.results import measured, result
from benchmarks.field.index import PARTS, by_run, readings

#: the rows of the table, as benchmarks/field/score.py calls them
SHARES = (
    "found",
    "link first, strict",
    "link first, accepted",
    "link among two, accepted",
    "called broken, and an accepted link",
    "always policy_update, accepted",
    "healthy accused",
    "healthy stopped",
)


def page() -> str:
    """docs/field.md"""
    figures, found = result("field"), readings()
    runs = by_run(found)
    broken = sum(by[0].verdict == "broken" for by in runs.values())
    readers = figures["readers"]
    columns = {
        "seen, first": figures["first"]["all"],
        **{part: figures[part]["all"] for part in PARTS if part in figures},
        **{
            f"{part}, {group}": figures[part][group]
            for part in PARTS
            if part in figures
            for group in ("language", "control", "high confidence")
        },
    }
    return filled(
        "field",
        runs=len(runs),
        repositories=len({one.repository.lower() for one in found}),
        broken=broken,
        measured=measured(figures[PARTS[0]]),
        read_twice=readers["runs read twice"],
        same_verdict=percent(readers["same verdict"]["share"]),
        same_link=percent(readers["same link"]["share"]),
        accepted=percent(readers["accepted by the other"]["share"]),
        shares=table(
            ["", *columns],
            [_counts(columns), *([name, *(_share(c, name) for c in columns.values())] for name in SHARES)],
        ),
    )


def _counts(columns: Mapping[str, Mapping[str, Any]]) -> list[str]:
    return [
        "broken / healthy / not read",
        *(f"{c['broken']} / {c['healthy']} / {c['not read']}" for c in columns.values()),
    ]


def _share(column: Mapping[str, Any], name: str) -> str:
    of = column[name]
    return (
        "-" if of is None else f"{percent(of['share'])} ({percent(of['interval'][0])} to {percent(of['interval'][1])})"
    )
