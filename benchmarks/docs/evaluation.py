"""How fast the ledger writes, whether intervals cover, what contamination is found."""

from __future__ import annotations

from benchmarks.docs.markdown import table
from benchmarks.docs.results import measured, result


def page() -> str:
    """docs/evaluation-figures.md"""
    figures = result("evaluation")
    speeds = [
        ["one writer, a transaction each", figures["ledger_records_per_s"]],
        ["64 writers at once, a transaction each", figures["ledger_records_per_s_64_writers"]],
        ["in one batch", figures["ledger_records_per_s_in_one_batch"]],
        ["checked by `eval verify`", figures["ledger_verified_per_s"]],
    ]
    covered = [
        [
            row["shape"],
            row["tasks"],
            row["runs"],
            *(f"{100 * row[k]:.1f} %" for k in ("iqm", "difference", "percentile")),
        ]
        for row in figures["coverage"]
    ]
    published = [
        [name, *(f"{value:.6g}" for value in row["ours"]), "yes" if row["agree"] else "no"]
        for name, row in (figures.get("published") or {}).items()
    ]
    found = [
        [f"{100 * float(k):.0f} %", f"{100 * v:.1f} %"] for k, v in figures["recall_by_share_of_words_changed"].items()
    ]
    return "\n".join(
        [
            "# Evaluation: figures",
            "",
            measured(figures),
            "",
            "## The ledger",
            "",
            "Records a second, in SQLite.",
            "",
            table(["", "records a second"], speeds),
            "",
            "## Do the intervals cover?",
            "",
            "Share of simulated experiments in which the 95 % interval holds the truth: of the interquartile mean, of the",
            "difference of two settings that do not differ, and, for comparison, of the interquartile mean by the usual",
            "percentile bootstrap. Where runs succeed or fail and a single task is run three or five times, all runs are",
            "often alike, and no interval can know better.",
            "",
            table(["scores", "tasks", "runs", "interquartile mean", "difference", "percentile bootstrap"], covered),
            "",
            "## Do the aggregates agree with published ones?",
            "",
            "Scores of every run on the Atari 100k benchmark, as published beside arXiv:2209.00588; the digits to be met are",
            "those that the notebook of arXiv:2108.13264 prints (mean and median) and of table 1 of arXiv:2209.00588.",
            "",
            table(["", "mean", "median", "interquartile mean", "optimality gap", "agree"], published),
            "",
            "## Is contamination found?",
            "",
            f"{figures['documents']:,} texts of 30 to 90 words, in which reworded copies of 2,000 of 4,000 problems are hidden,",
            f"5 % of their words changed: {100 * figures['contamination_recall']:.2f} % of them are found, and",
            f"{100 * figures['contamination_false']:.2f} % of the clean problems are reported.",
            f"{figures['documents_per_s']:,} texts a second ({figures['documents_per_cpu_s']:,} a second of processor time,",
            f"on one core), at most {figures['contamination_peak_mb']:,} MB of memory.",
            "The more of a problem is changed, the less it is the same problem:",
            "",
            table(["words changed", "found"], found),
        ]
    )
