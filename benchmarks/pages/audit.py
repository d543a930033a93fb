"""Which hacks the audit of samples finds, whom it accuses wrongly, and how fast it reads."""

from __future__ import annotations

from benchmarks.pages.markdown import percent, table
from benchmarks.pages.results import measured, result


def page() -> str:
    """docs/audit-figures.md"""
    figures = result("audit")
    onset, dump, harmless, others = (figures[name] for name in ("onset", "dump", "harmless_hacks", "other_faults"))
    alone = [[f"`{name}`", "-" if area is None else f"{area:.2f}"] for name, area in figures["scalars_alone"].items()]
    plants = [[f"`{name}`", f"{n['accused']} of {n['of']}"] for name, n in figures["by_plant"].items()]
    low, high = (percent(edge) for edge in figures["found_interval"])
    low_false, high_false = (percent(edge) for edge in figures["false_accusations_interval"])
    return "\n".join(
        [
            "# What the audit of samples finds",
            "",
            measured(figures),
            "",
            "## Hacks and their legitimate twins",
            "",
            f"Runs of the lab whose seeds are {figures['seeds']}: the audit was developed on the others. A hack counts where its",
            "setting does harm over five seeds.",
            "",
            f"- Found: {percent(figures['found'])} of {figures['n_hacks']} hacking runs (95 % interval {low} to {high}).",
            f"- Accused wrongly: {percent(figures['false_accusations'])} of {figures['n_twins']} healthy runs ({low_false} to",
            f"  {high_false}), among them policies that write longer, shorter or better formatted because that is better.",
            f"- Onset: {100 * onset['inside_interval']:.0f} % of the true onsets lie inside the interval that is given, of which",
            f"  half are at most {percent(onset['median_width'])} of the run wide; on average the interval misses by",
            f"  {figures['onset_distance']:.1f} steps, {onset['total_steps']:.0f} in all (the distance of CHERRL, zero inside).",
            f"- Hacks that do no harm: {percent(harmless['accused'] or 0)} of {harmless['n']} accused.",
            f"- Runs with another fault, whose reward is honest: {percent(others['accused'] or 0)} of {others['n']} accused.",
            "",
            "All of them, with those that do no harm:",
            "",
            table(["fault and severity", "accused"], plants),
            "",
            "## One scalar alone",
            "",
            "How well the rise of one curve tells the hacking runs from healthy runs of the same task: area under the ROC",
            "curve, where 0.5 is a coin.",
            "",
            table(["signal", "area"], alone),
            "",
            "## Speed and memory",
            "",
            f"`{dump['command']}`: {dump['samples']:,} samples, {dump['megabytes']:,.0f} MB of JSON lines,",
            "with prose, markdown, code and tool calls in a made-up language of 20,000 words.",
            f"{dump['processes']} processes took {dump['seconds']:,.0f} s ({figures['mb_per_s']:.1f} MB/s) and",
            f"{dump['processor_seconds']:,.0f} s of processor time ({figures['mb_per_processor_s']:.1f} MB for each): the two",
            "differ by what else the machine had to do, which was a great deal where the first is larger. At most",
            f"{figures['peak_mb']:,.0f} MB of memory were held, by all processes together.",
        ]
    )
