"""Which reward hacks the audit of samples finds, its false alarms, and its speed."""

from benchmarks.docs.markdown import filled, percent, table
from benchmarks.docs.results import measured, result


def page() -> str:
    """docs/audit-figures.md"""
    figures = result("audit")
    onset, harmless, others = (figures[name] for name in ("onset", "harmless_hacks", "other_faults"))
    alone = [[f"`{name}`", "-" if area is None else f"{area:.2f}"] for name, area in figures["scalars_alone"].items()]
    variants = [[f"`{name}`", f"{n['accused']} of {n['of']}"] for name, n in figures["by_variant"].items()]
    low, high = (percent(edge) for edge in figures["found_interval"])
    low_false, high_false = (percent(edge) for edge in figures["false_accusations_interval"])
    return filled(
        "audit-figures",
        **figures
        | {
            "measured": measured(figures),
            "found": percent(figures["found"]),
            "low": low,
            "high": high,
            "false_accusations": percent(figures["false_accusations"]),
            "low_false": low_false,
            "high_false": high_false,
            "inside": f"{100 * onset['inside_interval']:.0f}",
            "width": percent(onset["median_width"]),
            "harmless": percent(harmless["accused"] or 0),
            "others": percent(others["accused"] or 0),
            "variants": table(["fault and severity", "found"], variants),
            "alone": table(["signal", "area"], alone),
        },
    )
