"""What pre-flight checks find of what is known to be broken, and how near the memory ledger is."""

from typing import Any

from benchmarks.docs.markdown import filled, mark, table
from benchmarks.docs.results import measured, result


def page() -> str:
    """docs/preflight-figures.md"""
    figures = result("preflight")
    libraries = {"gymnasium": "Gymnasium", "sb3": "Stable-Baselines3"}
    checkers = {"firstbreak": "firstbreak", **{name: f"{title}'s `check_env`" for name, title in libraries.items()}}
    caught, alarms = figures["env_faults_caught"], figures["env_false_alarms"]
    named = [f"of {figures['n_env_faults']} broken environments, named", *(f"{caught[who]:.0%}" for who in checkers)]
    alarmed = [
        "of the healthy environments that it supports, called broken",
        *(f"{alarms[who]:.0%}" for who in checkers),
    ]
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
    return filled(
        "preflight-figures",
        **{name: value for name, value in figures.items() if name.startswith("memory_")},
        measured=measured(figures),
        checkers=table(["", *checkers.values()], [named, alarmed]),
        faults=table(["defect", "probe", *checkers.values()], faults),
        others=table(["defect", "firstbreak"], others),
        healthy=table(["environment", *checkers.values()], healthy),
        verifiers=table(
            ["", "share"],
            [
                ["sound verifiers that the suite calls defective", f"{verifier['false_positive']:.0%}"],
                ["defective verifiers that the suite does not find", f"{verifier['false_negative']:.0%}"],
                ["TRL's `accuracy_reward`: wrong answers rewarded", f"{trl['false_positive']:.1%}"],
                ["TRL's `accuracy_reward`: right answers not rewarded", f"{trl['false_negative']:.1%}"],
            ],
        ),
        suite=table(
            ["completion", "cases", "rewarded"], [[kind, r["cases"], r["rewarded"]] for kind, r in trl["suite"].items()]
        ),
        memory=_memory(figures),
    )


def _memory(figures: dict[str, Any]) -> str:
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
    return table(["case", "measured", *estimators], rows)
