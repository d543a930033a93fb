"""Which reward hacks the audit of samples finds, its false alarms, and its speed."""

from __future__ import annotations

from benchmarks.docs.markdown import percent, table
from benchmarks.docs.results import measured, result


def page() -> str:
    """docs/audit-figures.md"""
    figures = result("audit")
    onset, dump, harmless, others = (figures[name] for name in ("onset", "dump", "harmless_hacks", "other_faults"))
    alone = [[f"`{name}`", "-" if area is None else f"{area:.2f}"] for name, area in figures["scalars_alone"].items()]
    variants = [[f"`{name}`", f"{n['accused']} of {n['of']}"] for name, n in figures["by_variant"].items()]
    low, high = (percent(edge) for edge in figures["found_interval"])
    low_false, high_false = (percent(edge) for edge in figures["false_accusations_interval"])
    return "\n".join(
        [
            "# What the audit of samples finds",
            "",
            measured(figures),
            "",
            "## Hacking runs and healthy runs",
            "",
            f"Runs of the lab with {figures['seeds']} seeds; the audit was developed on the other seeds. A hack",
            "counts if its setting",
            "does harm over five seeds.",
            "",
            f"- Found: {percent(figures['found'])} of {figures['n_hacks']} hacking runs (95 % interval {low} to {high}).",
            f"- False alarms: {percent(figures['false_accusations'])} of {figures['n_twins']} healthy runs",
            f"  ({low_false} to {high_false}).",
            "  Some of these policies write longer, shorter or better formatted texts because such texts are really better.",
            f"- Onset: {100 * onset['inside_interval']:.0f} % of the true onsets are inside the given interval.",
            "  The median width of the",
            f"  interval is {percent(onset['median_width'])} of the run. The mean distance between onset and interval is",
            f"  {figures['onset_distance']:.1f} steps, {onset['total_steps']:.0f} in total (the distance of",
            "  CHERRL, zero inside).",
            f"- Hacks that do no harm: {percent(harmless['accused'] or 0)} of {harmless['n']} found.",
            f"- Runs with another fault and a right reward: {percent(others['accused'] or 0)} of {others['n']}",
            "  found (false alarms).",
            "",
            "All hacks, also those that do no harm:",
            "",
            table(["fault and severity", "found"], variants),
            "",
            "## One scalar alone",
            "",
            "How well the rise of one curve separates hacking runs from healthy runs of the same task: area",
            "under the ROC curve.",
            "0.5 is chance.",
            "",
            table(["signal", "area"], alone),
            "",
            "## Speed and memory",
            "",
            f"`{dump['command']}`: {dump['samples']:,} samples, {dump['megabytes']:,.0f} MB of JSON lines,",
            "with prose, markdown, code and tool calls in a synthetic language of 20,000 words.",
            f"{dump['processes']} processes took {dump['seconds']:,.0f} s ({figures['mb_per_s']:.1f} MB/s) and",
            f"{dump['processor_seconds']:,.0f} s of processor time ({figures['mb_per_processor_s']:.1f} MB per second). The",
            "first number is larger if other programs use the machine. The largest memory of all processes together was",
            f"{figures['peak_mb']:,.0f} MB.",
        ]
    )
