"""The page about security: what is written there by hand, and the table of the last campaign."""

from pathlib import Path

from benchmarks.docs.markdown import table
from benchmarks.docs.results import measured, result

PAGE = Path(__file__).parents[2] / "docs" / "security.md"
HEADING = "## The last campaign"
WORDS = {
    "links": "names of a run's files as links, pipes and sockets, each to reports, close-out and agents",
    "bombs": "small files that decode to 1 GiB, with a budget of 0.125 GiB",
    "injections": "payloads as every name and text of a run, in six reports",
    "clients": "clients at once against `firstbreak serve`, half of them hostile",
    "kills": "`kill -9` of writers of bundles, ledgers, marks and surveys, and of their processes",
    "damaged": "kinds of logs with each damage, beside a sound training",
    "databases": "databases that are locked or cut",
    "surroundings": "commands with closed or full streams, no room, home or folder, and odd variables",
    "outputs": "commands told to write over logs, samples, scripts and older reports, on a full disk as well",
    "crowds": "requests beside 560 connections without the token, and for odd names and numbers",
    "beside": "empty files, models, copies and foreign files beside a run, in five layouts",
    "growth": "files of each format at three sizes, wide, deep, in reverse, or with a hole",
    "signals": "Ctrl-C at random moments of each command",
    "semantic": "valid files with hostile values, read",
    "diagnosed": "of the same kind, diagnosed, and written in every report",
}
MEASURED = {"most_gib": "at most {:g} GiB taken", "slowest_honest_s": "slowest honest answer {:g} s",
            "slowest_end_s": "slowest end {:g} s", "longest_s": "longest {:g} s"}  # fmt: skip


def page() -> str:
    """docs/security.md"""
    figures = result("attack")
    rows = [
        (
            words,
            f"{figures['attacks'][name]['asked']:,}",
            sum(figures["attacks"][name]["fell"].values()),
            ", ".join(MEASURED[what].format(value) for what, value in figures["attacks"][name]["measured"].items()),
        )
        for name, words in WORDS.items()
        if name in figures["attacks"]
    ]
    head = PAGE.read_text("utf-8").partition(HEADING)[0]
    return f"{head}{HEADING}\n\n{measured(figures)}\n\n{table(('attack', 'asked', 'fell', 'measured'), rows)}\n"
