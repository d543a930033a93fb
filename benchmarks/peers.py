"""What firstbreak says of the runs that other tools make up for their own tests: `make bench-peers`.

Each peer makes one run for each failure signature of its catalogue, at several seeds and by its own command or function; no
fixture of ours is among them. SIGNATURES says which links are right for a signature and why; it was written before firstbreak
had read any of these runs. `rlwatch` comes without any log.

Writes benchmarks/results/peers.json.
"""

import json
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.machine import PACKAGES, environment
from benchmarks.size import place, sized
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Action, Diagnosis, Link
from firstbreak.readers.read import read

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "peers.json"
SEEDS = sized(5, 1)
HEALTHY = "healthy"
ANY = tuple(Link)

REWARD, ADVANTAGE, UPDATE = Link.REWARD, Link.ADVANTAGE, Link.POLICY_UPDATE
#: peer -> signature -> the links that are right, and why
SIGNATURES: dict[str, dict[str, tuple[tuple[Link, ...], str]]] = {
    "rlprobe": {
        HEALTHY: ((), "nothing is wrong with it"),
        "kl_blowup": ((UPDATE,), "the policy leaves the reference model 55-fold, and its reward gains nothing by it"),
        "entropy_collapse": ((Link.EXPLORATION,), "the entropy falls to 0.01 and the reward stays where it was"),
        "reward_hack_length": ((REWARD,), "the reward follows the length of the completions"),
        "format_gaming": ((REWARD,), "the format part reaches its ceiling, the correctness part stands still"),
        "clip_saturation": (
            (UPDATE, Link.FRESHNESS),
            "four in ten tokens are clipped: steps too large, or data too old",
        ),
        "degenerate_groups": ((REWARD, ADVANTAGE), "rewards within a group become equal, so advantages vanish"),
        "adv_collapse": ((ADVANTAGE, REWARD), "advantages vanish, as they do where rewards are equal"),
        "value_divergence": ((ADVANTAGE,), "the critic explains less than nothing, and its loss grows"),
        "grad_pathology": ((Link.NUMERICS,), "gradient norms 50 times as large, and NaN gradients"),
        "truncation_starve": ((Link.ROLLOUT,), "two thirds of the completions are cut at the length limit"),
        "repetition_spiral": (
            (Link.ROLLOUT, Link.EXPLORATION),
            "half of the text repeats itself, and the entropy falls with it",
        ),
        "reward_std_death": ((REWARD, ADVANTAGE), "nine in ten groups have equal rewards, so nothing is learned"),
        "ref_drift_asymmetry": ((UPDATE,), "the divergence from the reference model grows at the first tokens"),
        "throughput_rot": (
            (Link.SYSTEMS, Link.ROLLOUT),
            "steps take 2.5 times as long, with completions 1.8 times as long",
        ),
    },
    "rldoctor": {
        HEALTHY: ((), "nothing is wrong with it"),
        "entropy_collapse": ((Link.EXPLORATION,), "the entropy falls a hundredfold, and the score stays at 0.45"),
        "saturated_groups": ((REWARD, ADVANTAGE), "every prompt is solved: rewards within a group are equal"),
        "too_hard": ((REWARD, ADVANTAGE), "no prompt is solved: rewards within a group are equal"),
        "reward_hacking": ((REWARD, Link.EVALUATION), "the training score rises, the held-out one falls"),
        "length_hacking": ((REWARD,), "completions grow 3.6-fold with the reward, and the held-out score does not"),
        "truncation": ((Link.ROLLOUT,), "four in ten completions are cut at the length limit"),
        "kl_blowup": ((UPDATE,), "the divergence from the reference model reaches 4.5, and the score stays at 0.48"),
        "clip_saturation": (
            (UPDATE, Link.FRESHNESS, Link.EXPLORATION),
            "half of the tokens are clipped, and the entropy falls to 0.03 with it",
        ),
        "grad_spikes": ((Link.NUMERICS, UPDATE), "single gradient norms 40 to 160 times as large"),
        "plateau": (ANY, "the score stops at 0.55; which link stops it, the curves do not say"),
        "format_domination": ((REWARD,), "the format part makes up the whole reward"),
    },
}


@dataclass(frozen=True)
class Fixture:
    """What firstbreak says of one run of a peer."""

    peer: str
    signature: str
    seed: int
    action: str
    link: str | None  #: of the first break
    cause: str | None
    right: (
        bool  #: the link is one of those that are right; of a healthy run, that it is neither stopped nor called broken
    )
    noticed: bool  #: there is a finding at one of these links
    understood: int  #: metrics whose meaning is known
    logged: int
    unknown: tuple[str, ...]


def rlprobe(signature: str, seed: int, folder: Path) -> Path:
    """A recording that the command `rlprobe synth` makes."""
    run = folder / f"{signature}-{seed}"
    asked = [] if signature == HEALTHY else ["--pathology", signature]
    command = Path(sys.executable).with_name("rlprobe")
    subprocess.run([command, "synth", run, "--seed", str(seed), *asked], check=True, capture_output=True)
    return run


def rldoctor(signature: str, seed: int, folder: Path) -> Path:
    """The records of `rl-doctor demo`, which writes no log, as lines of JSON."""
    from rl_doctor.simulate import simulate

    run = folder / f"{signature}-{seed}"
    run.mkdir()
    records, config = simulate(signature, seed=seed)
    (run / "log.jsonl").write_text("".join(json.dumps(record) + "\n" for record in records))
    (run / "config.json").write_text(json.dumps(config))
    return run


PEERS: dict[str, Callable[[str, int, Path], Path]] = {"rlprobe": rlprobe, "rldoctor": rldoctor}


def measure(seeds: int = SEEDS) -> Iterator[Fixture]:
    """One diagnosis for each peer, signature and seed."""
    with tempfile.TemporaryDirectory() as folder:
        for peer, make in PEERS.items():
            here = Path(folder) / peer
            here.mkdir()
            for signature in list(SIGNATURES[peer])[: sized(None, 2)]:
                for seed in range(seeds):
                    yield _fixture(peer, signature, seed, diagnose(read(make(signature, seed, here))))


def _fixture(peer: str, signature: str, seed: int, dx: Diagnosis) -> Fixture:
    links, _ = SIGNATURES[peer][signature]
    broke = dx.first_break.link if dx.first_break else None
    firm = dx.verdict.action in (Action.STOP, Action.ROLLBACK)
    top = next((cause for cause in dx.causes if cause.link is not None), None)
    run = dx.run
    understood = len(run.series) + len(run.duplicates)
    return Fixture(
        peer=peer,
        signature=signature,
        seed=seed,
        action=dx.verdict.action.value,
        link=broke.value if broke else None,
        cause=top.id if top and broke else None,
        right=broke in links if links else not firm and broke is None,
        noticed=any(outcome.link in links for outcome in dx.findings) if links else not dx.findings,
        understood=understood,
        logged=understood + len(run.unknown),
        unknown=tuple(run.unknown),
    )


def table(fixtures: Sequence[Fixture]) -> list[dict[str, Any]]:
    """One row for each signature: in how many of its runs what was said."""
    rows: defaultdict[tuple[str, str], list[Fixture]] = defaultdict(list)
    for fixture in fixtures:
        rows[fixture.peer, fixture.signature].append(fixture)
    return [
        {
            "peer": peer,
            "signature": signature,
            "links": [link.value for link in SIGNATURES[peer][signature][0]],
            "why": SIGNATURES[peer][signature][1],
            "runs": len(runs),
            "right_link": sum(run.right for run in runs),
            "noticed": sum(run.noticed for run in runs),
            "continue": sum(run.action == Action.CONTINUE.value for run in runs),
            "said": dict(Counter(f"{run.action} {run.link or '-'} {run.cause or '-'}" for run in runs)),
        }
        for (peer, signature), runs in rows.items()
    ]


def summary(fixtures: Sequence[Fixture]) -> dict[str, dict[str, float]]:
    """For each peer: shares over its broken runs, healthy runs that are accused, and names understood."""
    return {peer: _shares([f for f in fixtures if f.peer == peer]) for peer in PEERS}


def _shares(runs: Sequence[Fixture]) -> dict[str, float]:
    broken = [run for run in runs if run.signature != HEALTHY]
    healthy = [run for run in runs if run.signature == HEALTHY]
    return {
        "broken": len(broken),
        "right_link": sum(run.right for run in broken),
        "noticed": sum(run.noticed for run in broken),
        "continue": sum(run.action == Action.CONTINUE.value for run in broken),
        "healthy": len(healthy),
        "healthy_accused": sum(not run.right for run in healthy),
        "names_logged": max(run.logged for run in runs),
        "names_understood_share": round(sum(run.understood for run in runs) / sum(run.logged for run in runs), 4),
    }


def main() -> None:
    where = environment("make bench-peers", (*PACKAGES, "rlprobe", "rldoctor"))
    fixtures = list(measure())
    content = {
        **where,
        "seeds": SEEDS,
        "peers": summary(fixtures),
        "not_understood": {p: sorted({n for f in fixtures if f.peer == p for n in f.unknown}) for p in PEERS},
        "signatures": table(fixtures),
        "runs": [{k: v for k, v in asdict(f).items() if k != "unknown"} for f in fixtures],
    }
    RESULT.parent.mkdir(exist_ok=True)
    place(RESULT).write_text(json.dumps(content, indent=1) + "\n")
    for row in content["signatures"]:
        counts = f"right {row['right_link']} noticed {row['noticed']} continue {row['continue']} of {row['runs']}"
        print(f"{row['peer']:9} {row['signature']:20} {counts:44} {row['said']}")
    for peer, shares in content["peers"].items():
        print(peer, shares, content["not_understood"][peer])


if __name__ == "__main__":
    main()
