"""What an experiment is worth, what it costs, and that it leaves nothing behind: benchmarks/results/experiments.json.

    python -m benchmarks.experiments [--cases N] [--kills N] [--fleet N] [--corpus FOLDER]

Ambiguous cases come from the lab's corpus: faulty runs in which no cause holds 80 % after the first look, and the planted
one is among the five that are shown. Each gets the single experiment that `firstbreak experiment plan` puts first, on the
lab's own trainer with the same fault, started by the same command that a user would type.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import environment
from firstbreak.engine.check import check
from firstbreak.engine.rank import rank
from firstbreak.engine.read import read
from firstbreak.experiments import conduct, supervisor
from firstbreak.experiments.plan import propose
from firstbreak.experiments.runner import Trial, stored
from firstbreak.experiments.settings import Limits, Settings
from firstbreak.fleet import survey
from firstbreak.inputs import Inputs
from firstbreak.lab import corpus
from firstbreak.lab.running import Label
from firstbreak.model import RankedCause

RESULT = Path(__file__).parent / "results" / "experiments.json"
ROOT = Path(__file__).resolve().parent.parent
SURE = 0.8  #: a ranking whose first cause holds less is ambiguous
SHOWN = 5  #: causes of a report
FLEET = (500, 1000, 2000, 5000, 10_000)  #: sizes at which the survey is timed
NO_CAUSE = frozenset({"healthy", "none-of-these"})

#: canonical option -> what the lab's trainers call it
LANGUAGE = {
    "total_steps": "total_train_steps", "eval_interval": "eval_every", "learning_rate": "lr", "kl_coef": "kl_ctl",
    "value_learning_rate": "critic_lr", "warmup_steps": "lr_warmup_steps", "minibatches": "ppo_n_minibatches",
    "clip_range": "eps_clip", "entropy_coef": "entropy_coef", "temperature": "temperature", "top_p": "top_p",
    "max_new_tokens": "max_new_tokens", "group_size": "n_samples", "batch_size": "batch_size", "gamma": "discount",
    "max_staleness": "max_head_offpolicyness", "recompute_logprob": "recompute_logprob",
    "use_decoupled_loss": "use_decoupled_loss", "behave_weight_cap": "behave_imp_weight_cap",
}  # fmt: skip
CLASSIC = {
    "total_steps": "total_timesteps", "eval_interval": "eval_every", "learning_rate": "hyperparameters.learning_rate",
    "gamma": "hyperparameters.gamma", "entropy_coef": "hyperparameters.ent_coef", "clip_range": "hyperparameters.clip_range",
    "epochs_per_batch": "hyperparameters.n_epochs", "minibatch_size": "hyperparameters.batch_size",
    "value_coef": "hyperparameters.vf_coef",
}  # fmt: skip
TRL = {
    "total_steps": "steps", "eval_interval": "grpo.eval_steps", "learning_rate": "grpo.learning_rate",
    "kl_coef": "grpo.beta", "temperature": "grpo.temperature", "top_p": "grpo.top_p", "group_size": "grpo.num_generations",
    "max_new_tokens": "grpo.max_completion_length", "clip_range": "grpo.epsilon", "epochs_per_batch": "grpo.num_iterations",
    "scale_rewards": "grpo.scale_rewards",
}  # fmt: skip
OPTIONS = {"language": LANGUAGE, "agent": LANGUAGE, "preference": LANGUAGE, "classic": CLASSIC, "trl": TRL}


# --- ambiguous faults ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A faulty run of the corpus whose first ranking is ambiguous."""

    archive: str
    label: Label
    ranked: tuple[RankedCause, ...]


def ambiguous(folder: Path) -> list[Case]:
    """The first seed of every faulty setting, where the first ranking leaves more than one cause in question."""
    cases: dict[tuple[str, str, float], Case] = {}
    for archive in corpus.archives(folder):
        with corpus.opened(folder, archive) as (path, label):
            setting = (label.plant, label.base, label.severity)
            if label.cause is None or setting in cases or label.base == "classic/sac-pendulum":
                continue
            run = read(path)
            ranked = rank(Inputs(run), check(run))
        likely = [c for c in ranked if c.id not in NO_CAUSE]
        if likely[0].probability < SURE and label.cause in {c.id for c in likely[:SHOWN]}:
            cases[setting] = Case(archive, label, ranked)
    return list(cases.values())


def settings_of(label: Label, python: str = sys.executable) -> Settings:
    """How a user of the lab would start this run again."""
    program = str(Path(python).with_name("firstbreak"))
    shorter = corpus.SHORTER.get(label.base, {})
    said = [word for key, value in shorter.items() for word in ("--set", f"{key}={value}")]
    fault = ["--base", label.base, "--severity", str(label.severity), "--seed", str(label.seed)]
    command = (program, "lab", "run", label.plant, *fault, *said, "{overrides}", "-o", "{folder}")
    kind = label.base.partition("/")[0]
    return Settings(
        command=command,
        directory=ROOT,
        logs="{folder}/run",
        syntax="--set {option}={value}",
        hooks=True,
        complete=True,
        options=OPTIONS[kind],
        now={"total_steps": label.steps} | ({"eval_interval": 5_000} if kind == "classic" else {}),
        environment={"OMP_NUM_THREADS": "1"},
        limits=Limits(minutes=15, retries=1),
    )


def first(ranked: tuple[RankedCause, ...]) -> str:
    """The likeliest cause, whether or not a healthy run is likelier."""
    return next(c.id for c in ranked if c.id not in NO_CAUSE)


def decide_one(case: Case, folder: Path, scratch: Path) -> dict[str, Any]:
    """Run the one experiment that the plan puts first; what was believed before and after."""
    settings = settings_of(case.label)
    with corpus.opened(folder, case.archive) as (path, _):
        run = read(path)
        proposal = propose(run, case.ranked, settings)[0]
        start = time.perf_counter()
        place = scratch / case.archive.replace("/", "-")
        conclusion = conduct.conduct(proposal.design, run, settings, place, execute=conduct.local(1))
        after = rank(Inputs(run), check(run), conduct.evidence(place, run))
    return {
        "archive": case.archive,
        "cause": case.label.cause,
        "before": first(case.ranked),
        "experiment": proposal.design.id,
        "answers": [answer.yes for answer in conclusion.answers],
        "after": first(after),
        "share": round(conclusion.share, 4),
        "seconds": round(time.perf_counter() - start, 1),
        "original_seconds": case.label.seconds,
    }


# --- kills -----------------------------------------------------------------------------------------------------------

TREE = ROOT / "tests" / "experiments" / "tree.py"
RUN_ONE = (
    "import sys; from pathlib import Path; from benchmarks.experiments import tree, run; run(tree(Path(sys.argv[1])))"
)


def tree(folder: Path, name: str = "treated-0", seconds: float = 600.0) -> Trial:
    """A trainer that starts workers, one of which leaves its process group."""
    command = (sys.executable, "-S", str(TREE), str(folder / name), str(seconds))
    return Trial(name=name, folder=folder / name, arguments=command, directory=str(ROOT))


def run(trial: Trial) -> None:
    """In a process of its own, to be killed."""
    from firstbreak.experiments import runner

    runner.run(trial)


def kill_once(rng: random.Random, scratch: Path) -> tuple[int, int]:
    """Kill runner, supervisor or trainer at a random moment: processes left after ten seconds, results lost."""
    done, victim = tree(scratch, "control-0", 0.0), tree(scratch)
    run(done)
    kept = stored(done)
    with subprocess.Popen([sys.executable, "-c", RUN_ONE, str(scratch)], cwd=ROOT, stderr=subprocess.DEVNULL) as runner:
        until(lambda: (victim.folder / "group.json").exists(), 60)
        time.sleep(rng.uniform(0, 0.3))
        trainer = int((victim.folder / "group.json").read_text())
        chain = {"runner": runner.pid, "supervisor": parent(trainer), "trainer": trainer}
        os.kill(chain[rng.choice(sorted(chain))], signal.SIGKILL)
        until(lambda: not supervisor.marked(victim.mark), 10)
        orphans = len(supervisor.marked(victim.mark))
        runner.kill()
    half = stored(victim)
    lost = int(stored(done) != kept) + int(half is not None and half.final)
    return orphans, lost


def parent(process: int) -> int:
    """The process above, as /proc has it."""
    return int(Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[1])


def until(condition: Callable[[], object], seconds: float) -> None:
    """Wait for it, at most so long."""
    deadline = time.monotonic() + seconds
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.02)


# --- fleet -----------------------------------------------------------------------------------------------------------


def write_runs(folder: Path, n: int) -> None:
    """Short runs of 40 steps: two thirds rise, the others are flat or fall in the middle."""
    rng = np.random.default_rng(0)
    rises, falls = np.linspace(0.2, 0.8, 40), np.concatenate([np.linspace(0.2, 0.7, 20), np.linspace(0.7, 0.1, 20)])
    for i in range(n):
        place = folder / f"{i // 100:03d}" / f"run-{i:05d}"
        place.mkdir(parents=True)
        rewards = (falls if i % 9 == 0 else rises if i % 3 else np.full(40, 0.2)) + rng.normal(0, 0.03, 40)
        rows = ({"step": k + 1, "reward": float(v), "kl": k / 4000, "entropy": 1.0} for k, v in enumerate(rewards))
        (place / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))


def time_fleet(sizes: tuple[int, ...], processes: int) -> Iterator[tuple[int, float]]:
    """Seconds of a survey of so many runs, from nothing."""
    for n in sizes:
        with tempfile.TemporaryDirectory() as scratch:
            write_runs(Path(scratch) / "runs", n)
            start = time.perf_counter()
            rows = survey([Path(scratch) / "runs"], store=Path(scratch) / "store.jsonl", processes=processes)
            assert len(rows) == n
            yield n, time.perf_counter() - start


# --- all of it -------------------------------------------------------------------------------------------------------


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, default=ROOT / "corpus")
    parser.add_argument("--cases", type=int, default=0, help="ambiguous faults to decide; 0 for all")
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--fleet", type=int, default=FLEET[-1], help="largest survey")
    parser.add_argument("--output", type=Path, default=RESULT)
    options = parser.parse_args()
    rng = random.Random(0)

    cases = ambiguous(options.corpus)
    found = len(cases)
    if options.cases:
        cases = rng.sample(cases, min(options.cases, found))
    with tempfile.TemporaryDirectory() as scratch:
        decided = []
        for case in cases:
            decided.append(decide_one(case, options.corpus, Path(scratch)))
            print(json.dumps(decided[-1]), file=sys.stderr, flush=True)
        killed = [kill_once(rng, Path(scratch) / f"kill-{i}") for i in range(options.kills)]
    sizes = tuple(n for n in FLEET if n <= options.fleet)
    seconds = dict(time_fleet(sizes, os.cpu_count() or 1))
    result = environment(shlex.join(["python", "-m", "benchmarks.experiments", *sys.argv[1:]])) | {
        "ambiguous": found,
        "decided": len(decided),
        "cause_top1_before": share(d["before"] == d["cause"] for d in decided),
        "cause_top1_after": share(d["after"] == d["cause"] for d in decided),
        "median_cost_fraction": statistics.median(d["share"] for d in decided) if decided else None,
        "kills": len(killed),
        "orphans": sum(orphans for orphans, _ in killed),
        "lost": sum(lost for _, lost in killed),
        "fleet_runs_per_s": round(sizes[-1] / seconds[sizes[-1]], 1) if sizes else None,
        "fleet_seconds": {str(n): round(s, 2) for n, s in seconds.items()},
        "cases": decided,
    }
    options.output.write_text(json.dumps(result, indent=1) + "\n")
    print(f"{options.output}: {', '.join(f'{k} {result[k]}' for k in KEYS)}")


KEYS = ("cause_top1_before", "cause_top1_after", "median_cost_fraction", "kills", "orphans", "lost", "fleet_runs_per_s")


def share(hits: Any) -> float | None:
    """The fraction that is true; None of nothing."""
    told = list(hits)
    return round(sum(told) / len(told), 4) if told else None


if __name__ == "__main__":
    main()
