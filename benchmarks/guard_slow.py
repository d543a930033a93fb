"""Whether the guard speaks of failures that come slowly: `python -m benchmarks.guard_slow [--seed N] [--population]`.

Draws runs of six trainers that are healthy at first, and in which one number then drifts away over 25 to 200 steps of 0.02 to
5 seconds, and as many healthy ones whose numbers drift as they do in a run that learns. A failure counts as spoken of where the
guard reports a decision about that number before a quarter of the harm. Harm is linear for the reward, the divergence and the
length, and in the logarithm for what grows or sinks by orders of magnitude: a quarter of it is done after a quarter of the steps.
With `--population`, the population's healthy runs are replayed too, with steps of the same lengths (half an hour).
"""

import argparse
import json
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from firstbreak_lab.population.build import packs, unpacked

from benchmarks.guard import PATIENT, as_logged
from benchmarks.population import PACKS
from benchmarks.size import place
from firstbreak.live.guard.decision import GuardDecision
from firstbreak.live.guard.guard import Guard
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "instruments.json"
RUNS = 30
SEED = 3  #: 1 was the first asking; 2, 5 and 20 to 25 were looked at
FIRST_ASKING = 2  #: of RUNS, spoken of in time before the guard asked for slow changes (seed 1)

#: trainer -> number -> its name
NAMES: Mapping[str, Mapping[str, str]] = {
    "trl": dict(
        reward="reward", kl="kl", entropy="entropy", grad="grad_norm", length="completions/mean_length", loss="loss",
        cut="completions/clipped_ratio", clip="clip_ratio/region_mean", spread="reward_std",
    ),
    "sb3": dict(
        reward="rollout/ep_rew_mean", kl="train/approx_kl", entropy="train/entropy_loss", value="train/value_loss",
        clip="train/clip_fraction", explained="train/explained_variance", loss="train/loss",
    ),
    "verl": dict(
        reward="critic/score/mean", kl="actor/ppo_kl", entropy="actor/entropy", grad="actor/grad_norm", loss="actor/pg_loss",
        value="critic/vf_loss", length="response_length/mean", cut="response_length/clip_ratio", clip="actor/pg_clipfrac",
    ),
    "openrlhf": dict(
        reward="reward", kl="kl", grad="actor_grad_norm", value="critic_loss", length="response_length", loss="policy_loss",
    ),
    "cleanrl": dict(
        reward="charts/episodic_return", kl="losses/approx_kl", entropy="losses/entropy", value="losses/value_loss",
        clip="losses/clipfrac", explained="losses/explained_variance", loss="losses/policy_loss",
    ),
    "": dict(
        reward="mean_reward", kl="approx_kl", entropy="entropy", grad="grad_norm", value="value_loss", loss="loss",
        clip="clip_fraction",
    ),
}  # fmt: skip
#: number -> beginnings of the signals that a decision about it names
ABOUT = {
    "reward": ("reward", "success", "eval"), "kl": ("kl",), "entropy": ("policy.entropy", "reward"), "grad": ("grad",),
    "value": ("value",), "length": ("length",),
}  # fmt: skip


class Drawn(NamedTuple):
    """A run, row by row, and what drifts in it."""

    trainer: str
    config: dict[str, Any]
    rows: list[dict[str, float]]
    seconds: float  #: of a step
    kind: str  #: the number that drifts
    onset: int
    quarter: int  #: the step after which a quarter of the harm is done


def drawn(seed: int, index: int, *, healthy: bool) -> Drawn:
    """Run `index` of a drawing: its kind comes in turn, and all else by chance."""
    rng = np.random.default_rng((seed, index, healthy))
    kind = list(ABOUT)[index % len(ABOUT)]
    trainer = str(rng.choice([name for name, numbers in NAMES.items() if kind in numbers]))
    onset, steps = int(rng.integers(60, 300)), int(rng.integers(25 if kind == "reward" else 30, 201))
    n = onset + steps * (1 + healthy)
    way = np.clip((np.arange(n) - onset) / steps, 0, 1)  #: of the drift
    learned = 1 - np.exp(-np.arange(n) / rng.uniform(30, 150))
    if not healthy:
        learned[onset:] = learned[onset]  # what fails gains nothing more
    noise = {name: noisy(rng, n) for name in (*ABOUT, "loss", "cut", "clip", "spread", "explained")}
    scale = float(10 ** rng.uniform(-0.3, 2.5)) if trainer in ("sb3", "cleanrl") else 1.0
    sigma, limit = rng.uniform(0.015, 0.04), int(rng.choice([1024, 2048, 4096]))
    about_old = NAMES[trainer]["kl"] != "kl"  # the divergence of one update does not grow in a run that learns
    kl = rng.uniform(0.002, 0.01) * (1 if about_old else 1 + 3 * learned)
    curve = {
        "reward": rng.uniform(-0.2, 0.3) + rng.uniform(0.3, 0.7) * learned + sigma * noise["reward"],
        "kl": kl * np.exp(rng.uniform(0.15, 0.4) * noise["kl"]),
        "entropy": rng.uniform(0.4, 2) * (1 - 0.3 * learned) * np.exp(rng.uniform(0.02, 0.06) * noise["entropy"]),
        "grad": 10 ** rng.uniform(-1, 1) * np.exp(rng.uniform(0.1, 0.3) * noise["grad"]),
        "value": 10 ** rng.uniform(-2, 1)
        * np.exp(rng.uniform(0.1, 0.3) * noise["value"])
        * (scale - 0.6 * scale * learned),
        "length": rng.uniform(0.1, 0.22) * limit * np.exp(rng.uniform(0.03, 0.08) * noise["length"]),
        "loss": 0.02 * noise["loss"],
        "clip": np.clip(rng.uniform(0.05, 0.12) + 0.015 * noise["clip"], 0, 1),
        "spread": 0.25 + 0.02 * noise["spread"],
        "explained": np.clip(0.85 * learned + 0.04 * noise["explained"], -1, 1),
    }
    curve[kind] = drifting(rng, kind, curve[kind], way, sigma, limit, healthy)
    if kind == "entropy" and not healthy:  # what costs no score is a policy that becomes sure
        curve["reward"] = drifting(rng, "reward", curve["reward"], way, sigma, limit, healthy)
    curve["cut"] = np.clip(0.01 + (curve["length"] / limit - 0.6) + 0.003 * noise["cut"], 0, 1)
    curve["reward"] = scale * curve["reward"]
    if trainer == "sb3":
        curve["entropy"] = -curve["entropy"]
    config: dict[str, Any] = {"learning_rate": 3e-4} if trainer in ("sb3", "cleanrl", "") else {"learning_rate": 1e-6}
    config |= {"trl": {"max_completion_length": limit, "beta": 0.01, "max_steps": 2 * n}}.get(trainer, {})
    rows = [{name: float(curve[number][i]) for number, name in NAMES[trainer].items()} for i in range(n)]
    seconds = float(np.exp(rng.uniform(np.log(0.02), np.log(5))))
    return Drawn(trainer, config, rows, seconds, kind, onset, onset + steps // 4)


def noisy(rng: np.random.Generator, n: int) -> np.ndarray:
    """Noise of size 1 of which up to half lasts from one step to the next."""
    lasting, values = rng.uniform(0, 0.5), rng.normal(size=n)
    for i in range(1, n):
        values[i] = lasting * values[i - 1] + np.sqrt(1 - lasting**2) * values[i]
    return values


def drifting(
    rng: np.random.Generator, kind: str, values: np.ndarray, way: np.ndarray, sigma: float, limit: int, healthy: bool
) -> np.ndarray:
    """The number as it goes wrong, or as it drifts in a run that learns, or dips and comes back."""
    if healthy:
        drift = {
            "reward": values - rng.uniform(1, 3) * sigma * np.sin(np.pi * way),
            "kl": values * (1 + rng.uniform(1, 3) * way),
            "entropy": values * rng.uniform(0.4, 0.7) ** way,
            "grad": values * rng.uniform(1.3, 2.5) ** way,
            "value": values * rng.uniform(1.5, 3) ** way,
            "length": np.minimum(values * rng.uniform(1.2, 1.8) ** way, limit),
        }
    else:
        drift = {
            "reward": values - rng.uniform(12, 30) * sigma * way,
            "kl": values * (1 - way) + way * values / np.median(values),
            "entropy": values * 0.01**way,
            "grad": values * rng.uniform(50, 1000) ** way,
            "value": values * (10 ** rng.uniform(3, 6)) ** way,
            "length": np.minimum(values + (limit - np.median(values)) * way, limit),
        }
    return drift[kind]


def asked(
    rows: Iterable[tuple[float, Mapping[str, Any]]], trainer: str | None, config: Mapping[str, Any], seconds: float
) -> tuple[list[GuardDecision], bool]:
    """What a guard reports of these rows, and whether it stopped the run."""
    reported: list[GuardDecision] = []
    trained = 0.0
    with tempfile.TemporaryDirectory() as kept:
        guard = Guard(
            "stop", folder=kept, trainer=trainer, config=config, on_decision=reported.append, patience=PATIENT,
            clock=lambda: time.process_time() + trained,
        )  # fmt: skip
        for step, row in rows:
            trained += seconds
            if guard.observe(step, row).stop:
                return reported, True
    return reported, False


def slow(seed: int) -> dict[str, Any]:
    """How many drawn failures are spoken of in time, and how many healthy ones are spoken of at all, or stopped."""
    found: Counter[str] = Counter()
    for healthy in (False, True):
        for index in range(RUNS):
            run = drawn(seed, index, healthy=healthy)
            reported, stopped = asked(enumerate(run.rows), run.trainer or None, run.config, run.seconds)
            about = [d for d in reported if d.finding and (d.finding.metric or "").startswith(ABOUT[run.kind])]
            first = next((d.step for d in about if d.step is not None and d.step >= run.onset), np.inf)
            found["spoke_before_quarter"] += not healthy and first <= run.quarter
            found["spoke_at_all"] += not healthy and first < np.inf
            found["spoke_before_onset"] += not healthy and any((d.step or 0) < run.onset for d in reported)
            found["alike_spoken"] += healthy and bool(reported)
            found["alike_stopped"] += healthy and stopped
    return {"n": RUNS, "seed": seed, **found}


def population(folder: Path) -> dict[str, int]:
    """How many healthy runs of the population are stopped, and how many are spoken of."""
    found: Counter[str] = Counter()
    for pack in packs(folder):
        with unpacked(pack) as runs:
            for path, label in runs:
                if label.link is not None:
                    continue
                run = read(path)
                seconds = float(np.exp(np.random.default_rng(label.seed).uniform(np.log(0.02), np.log(5))))
                reported, stopped = asked(as_logged(run), run.trainer, run.config.raw, seconds)
                found.update(healthy=1, healthy_stopped=stopped, healthy_spoken=bool(reported))
    return dict(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--population", action="store_true", help="replay the healthy runs of the population too")
    parser.add_argument("--output", type=Path, default=place(RESULT))
    given = parser.parse_args()
    figures = json.loads(given.output.read_text()) if given.output.exists() else {}
    known = figures.get("guard", {}) | {"command": "python -m benchmarks.guard_slow --population"}
    known |= {"slow": slow(given.seed) | {"first_asking": FIRST_ASKING}}
    known |= population(PACKS) if given.population else {}
    given.output.write_text(json.dumps(figures | {"guard": known}, indent=1) + "\n")


if __name__ == "__main__":
    main()
