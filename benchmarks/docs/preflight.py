"""What pre-flight checks find of what is known to be broken, and how near the memory ledger is."""

from __future__ import annotations

from typing import Any

from benchmarks.docs.markdown import mark, table
from benchmarks.docs.results import measured, result


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
                    [
                        "of the healthy environments that it supports, called broken",
                        *(f"{alarms[who]:.0%}" for who in checkers),
                    ],
                ],
            ),
            "",
            "An exception or warning of a `check_env` counts, unless the healthy version of the environment",
            "gives the same one. A",
            "finding of firstbreak counts if its severity is above a notice, and for a broken environment only",
            "if it comes from",
            "the right probe. A checker that hangs has found nothing. `RewardReversed` and `RewardIsNoise` are only visible in",
            "comparison with an expert policy, which only firstbreak accepts. The classes are in",
            "`tests/preflight/broken.py`. firstbreak played 40 episodes within 4,000 steps with each policy.",
            "",
            "The defects were written together with the probes. A share of 100 % shows that the probes work. It",
            "does not show which",
            "share of all possible defects they find. The comparison shows which kinds the other checkers do not test.",
            "",
            table(["defect", "probe", *checkers.values()], faults),
            "",
            "Vectorised, PettingZoo and dm_env environments, which the other checkers do not support:",
            "",
            table(["defect", "firstbreak"], others),
            "",
            "Healthy environments that were called broken. The messages of the other checkers are",
            "recommendations: limit a space,",
            "normalise the actions, or a space is not supported by Stable-Baselines3.",
            "",
            table(["environment", *checkers.values()], healthy),
            "",
            "## Verifiers",
            "",
            table(
                ["", "share"],
                [
                    ["sound verifiers that the suite calls defective", f"{verifier['false_positive']:.0%}"],
                    ["defective verifiers that the suite does not find", f"{verifier['false_negative']:.0%}"],
                    ["TRL's `accuracy_reward`: wrong answers rewarded", f"{trl['false_positive']:.1%}"],
                    ["TRL's `accuracy_reward`: right answers not rewarded", f"{trl['false_negative']:.1%}"],
                ],
            ),
            "",
            "The results of TRL's `accuracy_reward` on the suite, with sums of three and four digits:",
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
    """The ledger compared with measured peaks, and with other estimators."""
    estimators = [
        who for who in ("firstbreak", "accelerate", "deepspeed") if any(who in row for row in figures["memory"])
    ]

    def estimated(row: dict[str, Any], who: str) -> str:
        return f"{row[who] / 2**20:.1f} ({row[who] / row['measured'] - 1:+.0%})" if who in row else ""

    rows = [
        [
            f"{row['case']}, {row['phase']}",
            f"{row['measured'] / 2**20:.1f}",
            *(estimated(row, who) for who in estimators),
        ]
        for row in figures["memory"]
    ]
    drawn = figures["memory_max_error_drawn"]
    return [
        "## Memory",
        "",
        f"The highest allocation of a phase in MiB, measured with torch's own allocator ({figures['memory_device']}), and the",
        f"estimate of the ledger: {figures['memory_rows']} phases, with a largest error of {figures['memory_max_error']:.1%}.",
        f"The formulas were developed on the first cases. On the random cases, the largest error is {drawn:.1%}. The other",
        "estimators include weights, gradients and optimizer of the trained models, but no activations. They are compared",
        "with the update phase. On a GPU: `python -m benchmarks.memory --device cuda`.",
        "",
        table(["case", "measured", *estimators], rows),
    ]
