"""Public runs that nobody tuned to: what firstbreak says of them beside the readings that were written before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from benchmarks.docs.markdown import percent, table
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
    return "\n".join(
        [
            "# Runs of strangers",
            "",
            f"{len(runs)} public runs of {len({one.repository.lower() for one in found})} repositories and threads, each read",
            f"curve by curve before firstbreak had read it; {broken} of them are broken by the first reading.",
            "`benchmarks/field/index.jsonl` says where each run is (repository, commit, path, hash), its verdict, first link,",
            "the links that the reader would accept as well, the onset and the reason. The runs themselves are not in the",
            "project. The repositories are split by a hash of their names: the part *seen* may be looked at, miss by miss; the",
            "part *unseen* is scored once a release and never looked at.",
            "",
            "    python -m benchmarks.field --part seen --misses        brings the files from GitHub and scores them",
            "    python -m benchmarks.field --clones FOLDER             the same, from clones named owner+name",
            "",
            measured(figures[PARTS[0]]),
            "",
            f"{readers['runs read twice']} runs were read twice, the second time without the first reading: the same verdict in",
            f"{percent(readers['same verdict']['share'])}; of those that are broken for both, the same first link in",
            f"{percent(readers['same link']['share'])}, and a link that the other accepts in",
            f"{percent(readers['accepted by the other']['share'])}. Where two readers differ on the verdict, the run counts in",
            "neither group below; a link is right where either reader says so.",
            "",
            "*Found*: a first break is named. *Link first*: the link whose causes are the most probable together, asked of every",
            "broken run. *Strict*: it is the reader's link; *accepted*: the reader accepts it. In brackets: the 95 % interval.",
            "A run that cannot be read counts as missed.",
            "",
            table(
                ["", *columns],
                [_counts(columns), *([name, *(_share(c, name) for c in columns.values())] for name in SHARES)],
            ),
            "",
            "The first column is the part *seen* before anything was corrected on it. The others are of the present code.",
            "",
        ]
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
