"""How fast the ledger writes, whether intervals cover, what contamination is found."""

from benchmarks.docs.markdown import filled, table
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
    return filled(
        "evaluation-figures",
        **{name: value for name, value in figures.items() if name.startswith(("documents", "contamination"))},
        measured=measured(figures),
        recall=f"{100 * figures['contamination_recall']:.2f}",
        false=f"{100 * figures['contamination_false']:.2f}",
        speeds=table(["", "records a second"], speeds),
        covered=table(["scores", "tasks", "runs", "interquartile mean", "difference", "percentile bootstrap"], covered),
        aggregates=table(["", "mean", "median", "interquartile mean", "optimality gap", "agree"], published),
        found=table(["words changed", "found"], found),
    )
