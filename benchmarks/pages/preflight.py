"""What pre-flight checks find of what is known to be broken, and how near the memory ledger is."""

from __future__ import annotations

from typing import Any

from benchmarks.pages.markdown import mark, table
from benchmarks.pages.results import measured, result


def page() -> str:
    """docs/preflight-figures.md"""
    figures = result("preflight")
    checkers = {
        "firstbreak": "firstbreak",
        "gymnasium": "Gymnasium's `check_env`",
        "sb3": "Stable-Baselines3's `check_env`",
    }
    caught, alarms = figures["env_faults_caught"], figures["env_false_alarms"]
    faults = [
        [f"`{name}`", f"`{fault['probe']}`", *(mark(fault[who]) for who in checkers)]
        for name, fault in figures["env_faults"].items()
    ]
    healthy = [
        [f"`{name}`", *(mark(said[who]) if who in said else "" for who in checkers)]
        for name, said in figures["env_healthy"].items()
    ]
    others = [[f"`{name}`", mark(found)] for name, found in figures["env_faults_of_other_interfaces"].items()]
    verifier = figures["verifier"]
    trl = verifier["trl_accuracy_reward"]
    return "\n".join(
        [
            "# What pre-flight checks find",
            "",
            measured(figures),
            "",
            "## Environments",
            "",
            table(
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
            table(["defect", "probe", *checkers.values()], faults),
            "",
            "Vectorised, PettingZoo and dm_env environments, which the others cannot be shown:",
            "",
            table(["defect", "firstbreak"], others),
            "",
            "Healthy environments that were accused. What the others say of them are recommendations: to bound a space, to",
            "normalise the actions, or that Stable-Baselines3 does not support a space.",
            "",
            table(["environment", *checkers.values()], healthy),
            "",
            "## Verifiers",
            "",
            table(
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
            table(
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
        table(["case", "measured", *estimators], rows),
    ]
