"""The reference tables of logged names: which trainer writes which name, and what it stands for."""

import csv
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

FILES = ("llm_metrics.csv", "classic_metrics.csv")

DIALECTS = {
    "tinker_cookbook": "tinker",
    "rllib-old": "rllib",
    "sb3-contrib": "sb3",
    "sb3-evaluations.npz": "sb3",
    "sb3-monitor.csv": "sb3",
}

# Trainers of one framework that share words: the names of one are read beside its own only.
_TRAINERS = ("DPO trainer", "RM trainer", "DPO pipeline")


@dataclass(frozen=True)
class Row:
    """One line of the reference tables."""

    framework: str
    logged: str
    canonical: str
    definition: str
    unit: str

    @property
    def dialect(self) -> str:
        """The name of the dialect that must understand it."""
        base = self.framework if self.framework.startswith("sb3-") else re.split(r"[ .(]", self.framework)[0]
        return DIALECTS.get(base, base)

    @property
    def trainer(self) -> str:
        """Rows with one value of this are written by one program, side by side."""
        return next((f"{self.framework} {t}" for t in _TRAINERS if t in self.definition), self.framework)

    @property
    def names(self) -> list[str]:
        """Every raw name that the row stands for, placeholders filled in."""
        return [name for alternative in _alternatives(self.logged) for name in _spelled_out(alternative)]


def rows(shared: Path) -> Iterator[Row]:
    """Every row of both tables that speaks of a metric (a few are remarks on directories)."""
    for file in FILES:
        with (shared / "reference" / file).open(newline="") as stream:
            for line in csv.DictReader(stream):
                row = Row(
                    line["framework"],
                    line["logged_name"],
                    line["canonical"],
                    line["definition"],
                    line["direction_or_unit"],
                )
                if row.canonical != "-":
                    yield row


def _alternatives(logged: str) -> list[str]:
    """`a, b` is two names; v0.3 of AReaL is described by "without its scope"."""
    if "without update/ scope" in logged:
        statistic = logged.partition("/")[2].partition(",")[0]
        return [f"{name}/{statistic}" for name in ("importance_weight", "behave_imp_weight", "approx_kl")]
    if logged == "<domain>/<metric>":
        return ["x/actor/pg_loss"]
    if logged == "environment/<key>":
        return [f"environment/{key}" for key in ("episode_return", "episode_length", "score")]
    return logged.split(", ")


_FILLED = {
    "env": "x",
    "int": "1",
    "n": "4",
    "N": "4",
    "k": "4",
    "i": "1",
    "j": "1",
    "q": "25",
    "r": "0",
    "reward": "0",
    "..": "x",
    "...": "x",
    "any name via log_metric": "<any name via log_metric>",
    "any scalar": "x",
    "any of the above": "loss",
    "extra_logs key": "<extra_logs key>",
    "service metrics": "x",
    "log_agent_stats_keys": "x",
    "subset": "effective",
}


def _spelled_out(name: str) -> list[str]:
    if name in ("<any name via log_metric>", "<extra_logs key>"):
        return [name]
    parts = re.split(r"(<[^<>]*>|\[[^\]]*\])", name)
    choices: list[list[str]] = []
    for part in parts:
        if part.startswith("<"):
            inner = part[1:-1]
            choices.append(inner.split("|") if "|" in inner else [_FILLED.get(inner, "x")])
        elif part.startswith("["):
            inner = part[1:-1]
            options = inner.split("|") if inner.startswith("_") or ":" in inner else [inner]
            choices.append(["", *(choice for option in options for choice in _spelled_out(option))])
        else:
            choices.append([part])
    return ["".join(chosen) for chosen in product(*choices)]
