"""What `make bench-web` measured."""

from benchmarks.docs.markdown import table
from benchmarks.docs.results import measured, result


def page() -> str:
    """docs/web-figures.md"""
    figures = result("web")
    rows = [
        [meaning, figures[key], *(("", "") if most is None else (f"at most {most}", _YES_NO[figures[key] <= most]))]
        for key, (meaning, most) in _FIGURES.items()
    ]
    installed, wheel = figures["core_install_parts_mb"], figures["core_wheel_parts_kb"]
    light = {name: size for name, size in installed.items() if size >= 0.1}
    left = 60 - installed["numpy"]
    return "\n\n".join(
        [
            "# Figures of the page and the package",
            measured(figures),
            table(["", "value", "goal", "met"], rows),
            "## What an installation weighs",
            f"NumPy, with the OpenBLAS and the tests in its wheel, leaves {left:.1f} MB of the 60 for everything else; "
            f"firstbreak itself takes {installed['firstbreak']:.1f}. The files of each project, without bytecode:",
            table(["project", "MB"], [[name, f"{size:.2f}"] for name, size in light.items()]),
            "## What the wheel weighs",
            f"{figures['core_wheel_files']} files, one for each detector, cause, reader, dialect, fault and experiment, each "
            "compressed by itself: Python with its documentation, which `firstbreak explain` shows. Compressed, the chart "
            "library with it:",
            table(["part", "KiB"], [[name, size] for name, size in wheel.items() if size >= 10]),
        ]
    )


_YES_NO = {True: "yes", False: "no"}

#: key of web.json -> what it is, and the most that it should be
_FIGURES = {
    "first_paint_s": ("first paint of a run page with 100 metrics x 10,000 points (seconds)", 0.5),
    "first_paint_after_start_s": ("the same, asked for before the server had read the run (seconds)", None),
    "curves_drawn_s": ("from the request to the curves in view (seconds)", None),
    "million_first_paint_s": ("first paint of a run page with 1,000,000 points (seconds)", 0.5),
    "many_first_paint_s": ("first paint of the list of 1,000 runs (seconds)", 0.5),
    "many_longest_task_s": ("longest task of the page while that list is filtered and sorted (seconds)", 0.2),
    "live_update_s": ("from a line in the log to the new diagnosis on the page (seconds)", 2),
    "live_update_worst_s": ("the slowest of these (seconds)", None),
    "million_points_zoom_s": ("one zoom into a curve of 1,000,000 points (seconds)", None),
    "axe_serious": ("serious problems that axe-core finds, over all pages, two widths and two themes", 0),
    "core_wheel_kb": ("wheel without the chart library (KiB)", 1024),
    "core_install_mb": ("installation of the core with all it depends on (MB)", 60),
    "import_s": ("`import firstbreak` (seconds)", 0.15),
}
