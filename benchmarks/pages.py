"""The pages of docs/ that are made from code and from committed figures: `make docs`. No number in them is typed."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks import guard, reference, statements, walkthroughs
from firstbreak import dialects, signals
from firstbreak.engine import registry
from firstbreak.experiments.catalogue import Design, catalogue

ROOT = Path(__file__).resolve().parent.parent
DOCS, RESULTS = ROOT / "docs", ROOT / "benchmarks" / "results"


def coverage() -> str:
    """Share of each trainer's logged names that are understood; what the guides ask for, and what carries it."""
    figures = _result("coverage")
    peers = figures["peers"]["rldoctor"]
    rows = [
        [name, dialects.dialects()[name].TITLE, c["logged"], c["understood"], peers.get(name, {}).get("understood", 0)]
        for name, c in figures["trainers"].items()
    ]
    total = ["**all**", "", *(sum(row[i] for row in rows) for i in (2, 3, 4))]
    return "\n".join(
        [
            "# What is covered",
            "",
            "## Which names are understood",
            "",
            "Names that each trainer is known to log, how many of them firstbreak translates into a signal with the right sign,",
            "scale and estimator, and how many the nearest peer, rl-doctor, recognises in the same run. A name that is known to",
            "carry no usable number is refused with the reason, and counts as not understood.",
            "",
            _made(figures),
            "",
            _table(["dialect", "trainer", "logged", "understood", "rl-doctor"], [*rows, total]),
            "",
            *statements.section(),
        ]
    )


def readers() -> str:
    """What can be read, and how fast."""
    figures = _result("readers")
    formats = [[f"`{name}`", getattr(m, "DESCRIPTION", "")] for name, m in sorted(registry.readers().items())]
    return "\n".join(
        [
            "# What is read, and how fast",
            "",
            _table(["format", "written by"], formats),
            "",
            "A database or repository that holds several runs is read one run at a time: `mlflow.db#name`, `.aim#name`. An Aim",
            "repository is copied before Aim opens it, so the writer of a live run is not disturbed.",
            "",
            "## Written by the real thing",
            "",
            "The tests run these trainers and loggers, and read what they wrote; the writers of wandb, trackio, Aim and",
            "TensorBoard are also killed in the middle (`kill -9`): TRL on the Hugging Face Trainer, Stable-Baselines3, skrl,",
            "RLlib with Tune, wandb (offline), trackio, MLflow (database and file store), SwanLab, Neptune (offline), ClearML",
            "(offline), DVCLive, Aim, tensorboard, tensorboardX, torch's SummaryWriter, and the CSVLoggers of TorchRL and Acme.",
            "",
            "Not run, because of what they need; their names come from their sources, their files from published runs:",
            "",
            "- Tianshou: holds pandas below 3 and brings numba with LLVM.",
            "- Dopamine: TensorFlow, JAX and Keras, over 1 GB.",
            "- Sample Factory: holds NumPy below 2 and gymnasium below 1.",
            "- PufferLib: fetches and compiles its environments while it is installed.",
            "- rl_games: holds psutil below 6; its files are TensorBoard's.",
            "- CleanRL, Spinning Up: scripts to copy; they write with TensorBoard's writer and into a tab-separated file.",
            "- verl, AReaL, OpenRLHF, NeMo-RL, SkyRL, slime, ROLL, prime-rl, open-instruct: engines that need GPUs.",
            "- Tinker: a service.",
            "",
            *_fuzzed(_result("fuzz")),
            "## Speed",
            "",
            "Seconds, each in a process of its own, one file for all, checksums verified where the format has them.",
            "",
            _made(figures),
            "",
            *(line for name in figures if isinstance(figures[name], dict) for line in _speed(name, figures[name])),
        ]
    )


def _fuzzed(figures: dict[str, Any]) -> list[str]:
    """What mutated files did to the readers."""
    rows = [
        [f"`{name}`", tally["executions"], tally["refused"], tally["crashes"]]
        for name, tally in figures["readers"].items()
    ]
    total = ["**all**", figures["executions"], sum(row[2] for row in rows), figures["crashes"]]
    return [
        "## Damaged and hostile files",
        "",
        "Mutants of whole files: bits flipped, parts cut, repeated and spliced, tokens put in that formats are made of. A",
        "crash is any exception but the one line that refuses a file, more than 2 seconds of the processor, or more than 1 GiB.",
        "",
        _made(figures),
        "",
        _table(["reader", "mutants", "refused", "crashes"], [*rows, total]),
        "",
    ]


def statistics() -> str:
    """What the statistics find, and how often they are wrong."""
    figures = _result("statistics")
    lines = ["# How good the statistics are", "", "Simulated curves with a known answer.", "", _made(figures), ""]
    for name, part in figures.items():
        if isinstance(part, dict) and name != "versions":
            lines += [f"## {name.replace('_', ' ')}", "", _table(["", "value"], _flat(part)), ""]
    return "\n".join(lines)


def preflight() -> str:
    """Which defects of an environment each checker names, and which verifiers the adversarial suite sees through."""
    figures = _result("preflight")
    checkers = {
        "firstbreak": "firstbreak",
        "gymnasium": "Gymnasium's `check_env`",
        "sb3": "Stable-Baselines3's `check_env`",
    }
    caught, alarms = figures["env_faults_caught"], figures["env_false_alarms"]
    faults = [
        [f"`{name}`", f"`{fault['probe']}`", *(_mark(fault[who]) for who in checkers)]
        for name, fault in figures["env_faults"].items()
    ]
    healthy = [
        [f"`{name}`", *(_mark(said[who]) if who in said else "" for who in checkers)]
        for name, said in figures["env_healthy"].items()
    ]
    others = [[f"`{name}`", _mark(found)] for name, found in figures["env_faults_of_other_interfaces"].items()]
    verifier = figures["verifier"]
    trl = verifier["trl_accuracy_reward"]
    return "\n".join(
        [
            "# What pre-flight checks find",
            "",
            _made(figures),
            "",
            "## Environments",
            "",
            _table(
                ["", *checkers.values()],
                [
                    [
                        f"of {figures['n_env_faults']} broken environments, named",
                        *(f"{caught[who]:.0%}" for who in checkers),
                    ],
                    ["of the healthy ones it can be shown, accused", *(f"{alarms[who]:.0%}" for who in checkers)],
                ],
            ),
            "",
            "An exception or warning of a `check_env` counts, unless it says the same of the healthy environment that the broken",
            "one is made from; a finding of firstbreak counts if its severity is above a notice, and for a broken environment",
            "only if the right probe made it. A checker that hangs has said nothing. `RewardReversed` and `RewardIsNoise` show",
            "only beside an expert, which firstbreak is given and the others cannot take. The classes are in",
            "`tests/preflight/broken.py`. firstbreak played 40 episodes within 4,000 steps with each policy.",
            "",
            "They were written along with the probes: that all are named says that the probes do their work, not which share of",
            "the defects of the world they would name. The comparison shows which kinds the others do not look for.",
            "",
            _table(["defect", "probe", *checkers.values()], faults),
            "",
            "Vectorised, PettingZoo and dm_env environments, which the others cannot be shown:",
            "",
            _table(["defect", "firstbreak"], others),
            "",
            "Healthy environments that were accused. What the others say of them are recommendations: to bound a space, to",
            "normalise the actions, or that Stable-Baselines3 does not support a space.",
            "",
            _table(["environment", *checkers.values()], healthy),
            "",
            "## Verifiers",
            "",
            _table(
                ["", "share"],
                [
                    ["sound verifiers that the suite accuses", f"{verifier['false_positive']:.0%}"],
                    ["defective verifiers that it does not see through", f"{verifier['false_negative']:.0%}"],
                    ["TRL's `accuracy_reward`: rewarded without deserving it", f"{trl['false_positive']:.1%}"],
                    ["TRL's `accuracy_reward`: right answers refused", f"{trl['false_negative']:.1%}"],
                ],
            ),
            "",
            "What TRL's `accuracy_reward` makes of the suite, on sums of three and four digits:",
            "",
            _table(
                ["completion", "cases", "rewarded"],
                [[kind, r["cases"], r["rewarded"]] for kind, r in trl["suite"].items()],
            ),
            "",
            *(_memory(figures) if "memory" in figures else ()),
        ]
    )


def _memory(figures: dict[str, Any]) -> list[str]:
    """The ledger beside measured peaks, and beside what other estimators say."""
    estimators = [
        who for who in ("firstbreak", "accelerate", "deepspeed") if any(who in row for row in figures["memory"])
    ]

    def said(row: dict[str, Any], who: str) -> str:
        return f"{row[who] / 2**20:.1f} ({row[who] / row['measured'] - 1:+.0%})" if who in row else ""

    rows = [
        [f"{row['case']}, {row['phase']}", f"{row['measured'] / 2**20:.1f}", *(said(row, who) for who in estimators)]
        for row in figures["memory"]
    ]
    drawn = figures["memory_max_error_drawn"]
    return [
        "## Memory",
        "",
        f"The highest allocation of a phase in MiB, measured with torch's own allocator ({figures['memory_device']}), and what",
        f"the ledger says: {figures['memory_rows']} phases, the largest error {figures['memory_max_error']:.1%}.",
        "The formulas were written while looking at the first cases; at the drawn ones nobody had looked before:",
        f"{drawn:.1%} at most. The other estimators speak of weights, gradients and optimizer of the trained models, and of no",
        "activations; they stand beside the update. On a GPU: `python -m benchmarks.memory --device cuda`.",
        "",
        _table(["case", "measured", *estimators], rows),
    ]


def evaluation() -> str:
    """How fast the ledger writes, whether intervals cover, what contamination is found."""
    figures = _result("evaluation")
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
            _made(figures),
            "",
            "## The ledger",
            "",
            "Records a second, in SQLite.",
            "",
            _table(["", "records a second"], speeds),
            "",
            "## Do the intervals cover?",
            "",
            "Share of simulated experiments in which the 95 % interval holds the truth: of the interquartile mean, of the",
            "difference of two settings that do not differ, and, for comparison, of the interquartile mean by the usual",
            "percentile bootstrap. Where runs succeed or fail and a single task is run three or five times, all runs are",
            "often alike, and no interval can know better.",
            "",
            _table(["scores", "tasks", "runs", "interquartile mean", "difference", "percentile bootstrap"], covered),
            "",
            "## Do the aggregates agree with published ones?",
            "",
            "Scores of every run on the Atari 100k benchmark, as published beside arXiv:2209.00588; the digits to be met are",
            "those that the notebook of arXiv:2108.13264 prints (mean and median) and of table 1 of arXiv:2209.00588.",
            "",
            _table(["", "mean", "median", "interquartile mean", "optimality gap", "agree"], published),
            "",
            "## Is contamination found?",
            "",
            f"{figures['documents']:,} texts of 30 to 90 words, in which reworded copies of 2,000 of 4,000 problems are hidden,",
            f"5 % of their words changed: {100 * figures['contamination_recall']:.2f} % of them are found, and",
            f"{100 * figures['contamination_false']:.2f} % of the clean problems are accused.",
            f"{figures['documents_per_s']:,} texts a second ({figures['documents_per_cpu_s']:,} a second of processor time,",
            f"on one core), at most {figures['contamination_peak_mb']:,} MB of memory.",
            "The more of a problem is changed, the less it is the same problem:",
            "",
            _table(["words changed", "found"], found),
        ]
    )


def audit() -> str:
    """Which hacks the audit of samples finds, whom it accuses wrongly, and how fast it reads."""
    figures = _result("audit")
    onset, dump, harmless, others = (figures[name] for name in ("onset", "dump", "harmless_hacks", "other_faults"))
    alone = [[f"`{name}`", "-" if area is None else f"{area:.2f}"] for name, area in figures["scalars_alone"].items()]
    plants = [[f"`{name}`", f"{n['accused']} of {n['of']}"] for name, n in figures["by_plant"].items()]
    low, high = (_percent(edge) for edge in figures["found_interval"])
    low_false, high_false = (_percent(edge) for edge in figures["false_accusations_interval"])
    return "\n".join(
        [
            "# What the audit of samples finds",
            "",
            _made(figures),
            "",
            "## Hacks and their legitimate twins",
            "",
            f"Runs of the lab whose seeds are {figures['seeds']}: the audit was developed on the others. A hack counts where its",
            "setting does harm over five seeds.",
            "",
            f"- Found: {_percent(figures['found'])} of {figures['n_hacks']} hacking runs (95 % interval {low} to {high}).",
            f"- Accused wrongly: {_percent(figures['false_accusations'])} of {figures['n_twins']} healthy runs ({low_false} to",
            f"  {high_false}), among them policies that write longer, shorter or better formatted because that is better.",
            f"- Onset: {100 * onset['inside_interval']:.0f} % of the true onsets lie inside the interval that is given, of which",
            f"  half are at most {_percent(onset['median_width'])} of the run wide; on average the interval misses by",
            f"  {figures['onset_distance']:.1f} steps, {onset['total_steps']:.0f} in all (the distance of CHERRL, zero inside).",
            f"- Hacks that do no harm: {_percent(harmless['accused'] or 0)} of {harmless['n']} accused.",
            f"- Runs with another fault, whose reward is honest: {_percent(others['accused'] or 0)} of {others['n']} accused.",
            "",
            "All of them, with those that do no harm:",
            "",
            _table(["fault and severity", "accused"], plants),
            "",
            "## One scalar alone",
            "",
            "How well the rise of one curve tells the hacking runs from healthy runs of the same task: area under the ROC",
            "curve, where 0.5 is a coin.",
            "",
            _table(["signal", "area"], alone),
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


def experiments() -> str:
    """What the single proposed experiment decides and costs, what the lab shows of each, kills, and the survey of a fleet."""
    figures = _result("experiments")
    low, high = figures["cause_top1_after_interval"]
    cases = figures["cases"]
    run = {p["experiment"] for p in figures["proofs"]}
    by_design = [[f"`{name}`", *_decided(of)] for name in _names(cases) if (of := _of(cases, name))]
    wrong = [
        [c["archive"].removesuffix(".tar.xz"), c["cause"], c["before"], c["experiment"], c["after"]]
        for c in cases
        if c["after"] != c["cause"]
    ]
    return "\n".join(
        [
            "# The smallest experiment: figures",
            "",
            _made(figures),
            "",
            "## Does it decide a diagnosis?",
            "",
            "Runs with odd seeds of the [lab's](lab.md) corpus whose fault does measurable harm, and whose first diagnosis",
            "is in doubt: the first cause holds less than 80 %, or is not the planted one. Each gets the one experiment that",
            "`firstbreak experiment plan` puts first, run on the lab's trainer with the same fault; its answers are weighed by",
            "what the runs with even seeds have shown. Today's questions were designed on even seeds alone; some of the first ones",
            "were written with runs of odd seeds in view, so the share after the experiment may still be a little too good.",
            "",
            f"Of {figures['in_doubt']} such runs {figures['decided']} were decided. The planted cause was first in",
            f"{_percent(figures['cause_top1_before'])} before, and in {_percent(figures['cause_top1_after'])} after",
            f"(95 % interval {_percent(low)} to {_percent(high)}).",
            f"Median cost: {_percent(figures['median_cost_fraction'])} of the original run's steps,",
            f"{_percent(figures['median_cpu_fraction'])} of its processor time (an experiment evaluates",
            "after every update, and starts and ends like a whole run).",
            "",
            _table(["experiment", "runs", "right before", "right after", "steps"], by_design),
            "",
            "Those that are still wrong:",
            "",
            _table(["run", "planted", "first before", "experiment", "first after"], wrong),
            "",
            "## Does each tell apart what it claims?",
            "",
            "For every question of every experiment a run with the planted cause that it speaks of most clearly, beside a",
            "healthy run, or beside one with another fault where a healthy run should be answered alike.",
            "",
            f"{figures['proven']} of the {len(run)} experiments that were run tell at least",
            f"one such pair apart; for {len(figures['not_in_the_lab'])} the lab has no pair.",
            "",
            _table(
                ["experiment", "what is done", "arms", "steps", "in the lab"], [_proven(d, figures) for d in _designs()]
            ),
            "",
            "### Question by question",
            "",
            _table(
                ["experiment", "question", "planted", "answer", "beside", "answer", "apart"],
                [
                    [
                        f"`{p['experiment']}`",
                        p["asks"],
                        p["cause"],
                        _said(p["answer"]),
                        p["rival"],
                        _said(p["rival_answer"]),
                        _mark(p["separates"]),
                    ]
                    for p in figures["proofs"]
                ],
            ),
            "",
            "## Killed in the middle",
            "",
            f"Runner, supervisor or trainer was killed (`kill -9`) at a random moment, {figures['kills']} times; the trainer had",
            "started workers, one of which had left its process group.",
            f"Processes left after ten seconds: {figures['orphans']}. Results lost or half written: {figures['lost']}.",
            "",
            *(_fleet(figures) if "fleet_seconds" in figures else []),
        ]
    )


def _fleet(figures: dict[str, Any]) -> list[str]:
    surveyed = [
        [f"{int(n):,}", seconds, figures["fleet_cpu_ms_per_run"][n]] for n, seconds in figures["fleet_seconds"].items()
    ]
    return [
        "## A fleet",
        "",
        f"`firstbreak diagnose DIR --recursive` over short runs of 40 steps, from nothing, in {figures['fleet_processes']}",
        "processes. Wall time depends on what else the machine does; processor time does not.",
        "",
        _table(["runs", "seconds", "processor ms a run"], surveyed),
    ]


def _designs() -> list[Design]:
    return list(catalogue().values())


def _proven(design: Design, figures: dict[str, Any]) -> list[Any]:
    told = [p for p in figures["proofs"] if p["experiment"] == design.id]
    apart = next((p for p in told if p["separates"]), None)
    if apart:
        shown = f"{apart['cause']} {_said(apart['answer'])}, {apart['rival']} {_said(apart['rival_answer'])}"
    else:
        shown = "not told apart" if told else f"not shown: {figures['not_in_the_lab'].get(design.id, 'not run')}"
    return [f"`{design.id}`", design.title, len(design.arms), f"{design.length:.0%}", shown]


def _names(cases: list[dict[str, Any]]) -> list[str]:
    return sorted({c["experiment"] for c in cases}, key=lambda name: (-len(_of(cases, name)), name))


def _of(cases: list[dict[str, Any]], experiment: str) -> list[dict[str, Any]]:
    return [c for c in cases if c["experiment"] == experiment]


def _decided(cases: list[dict[str, Any]]) -> list[Any]:
    right = [sum(c[when] == c["cause"] for c in cases) for when in ("before", "after")]
    return [len(cases), *right, _percent(median(c["share"] for c in cases))]


def _said(yes: bool | None) -> str:
    return "open" if yes is None else "yes" if yes else "no"


def _percent(share: float) -> str:
    return f"{100 * share:.1f} %"


def _mark(yes: bool) -> str:
    return "yes" if yes else "-"


PAGES: dict[str, Callable[[], str]] = {
    **reference.PAGES,
    "guard.md": guard.made,
    "signals.md": signals.glossary,
    "coverage.md": coverage,
    "readers.md": readers,
    "statistics.md": statistics,
    "walkthroughs.md": walkthroughs.page,
    "preflight-figures.md": preflight,
    "audit-figures.md": audit,
    "evaluation-figures.md": evaluation,
    "experiment-figures.md": experiments,
}


def _result(name: str) -> dict[str, Any]:
    figures: dict[str, Any] = json.loads((RESULTS / f"{name}.json").read_text())
    return figures


def _made(figures: dict[str, Any]) -> str:
    made = f"Measured by `{figures['command']}` on {figures['date']}: {figures['machine']}, Python {figures['python']}."
    return f"{made} *Note: {figures['note']}.*" if "note" in figures else made


def _speed(name: str, part: dict[str, Any]) -> list[str]:
    seconds = part.get("all_s") or {key.removesuffix("_s"): value for key, value in part.items() if key.endswith("_s")}
    if not seconds or name == "versions":
        return []
    rows = [[who, "-" if s is None else f"{s:.3f}"] for who, s in seconds.items()]
    return [f"### {name}", "", _table(["reader", "seconds"], rows), ""]


def _flat(part: dict[str, Any], before: str = "") -> list[list[Any]]:
    rows: list[list[Any]] = []
    for key, value in part.items():
        name = f"{before}{key.replace('_', ' ')}"
        if isinstance(value, dict):
            rows += _flat(value, name + ", ")
        elif isinstance(value, int | float | str):
            rows.append([name, f"{value:.3g}" if isinstance(value, float) else value])
    return rows


def _table(head: list[str], rows: list[list[Any]]) -> str:
    cells = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(str(c).replace("|", "\\|") for c in row) + " |" for row in cells)


def main() -> None:
    for name, render in PAGES.items():
        (DOCS / name).parent.mkdir(exist_ok=True)
        (DOCS / name).write_text(render().rstrip() + "\n")
        print(f"docs/{name}")


if __name__ == "__main__":
    main()
