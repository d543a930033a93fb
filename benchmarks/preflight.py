"""Pre-flight checks on things with a known answer: `make bench-preflight`.

Broken environments (tests/preflight/broken.py) and healthy ones are shown to firstbreak, to Gymnasium's check_env and to
Stable-Baselines3's. What a checker says of the healthy environment that a broken one is made from does not count; any
other exception or warning of a check_env does, and any finding of firstbreak above a notice. A checker that hangs has
said nothing. Two defects lie in the reward alone and show only beside an expert, which firstbreak is given and a
check_env cannot take.
"""

import json
import random
import tempfile
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import gymnasium
from tests.preflight import broken, defects, rewards

from benchmarks import memory
from benchmarks.machine import PACKAGES, environment
from benchmarks.size import place, sized
from firstbreak.preflight import env, reward
from firstbreak.preflight.deadline import Overdue, deadline
from firstbreak.preflight.env import worlds

ROOT = Path(__file__).resolve().parent.parent
RESULT = ROOT / "benchmarks" / "results" / "preflight.json"
HERE, EXPERT = "tests.preflight.broken", "tests.preflight.broken:to_the_middle"
EPISODES, STEPS = sized((40, 4000), (4, 100))
FAULTY = sized(defects.BROKEN, dict(list(defects.BROKEN.items())[:2]))
NEEDS_EXPERT = frozenset({"RewardReversed", "RewardIsNoise"})
SECONDS = 120.0  # for a check_env: one of the defects is a step that never returns
HEALTHY = (
    *(f"{HERE}:{name}" for name in defects.HEALTHY),
    "CartPole-v1",
    "MountainCar-v0",
    "MountainCarContinuous-v0",
    "Acrobot-v1",
    "Pendulum-v1",
    "FrozenLake-v1",
    "FrozenLake8x8-v1",
    "Taxi-v4",
    "CliffWalking-v1",
    "Blackjack-v1",
    "LunarLander-v3",
    "LunarLanderContinuous-v3",
    "BipedalWalker-v3",
)

Said = set[str]
Checker = Callable[[str], Said]


def firstbreak(name: str, expert: str | None = None) -> Said:
    """The probes that found something above a notice."""
    report = env.check(name, expert=expert, episodes=EPISODES, steps=STEPS)
    return {o.detector for o in report.findings if o.finding is not None and o.finding.severity.rank}


def gymnasium_checker(name: str) -> Said:
    """The exception and warnings of Gymnasium's check_env."""
    from gymnasium.utils.env_checker import check_env

    return _said(lambda: check_env(_made(name), skip_render_check=True))


def sb3_checker(name: str) -> Said:
    """The exception and warnings of Stable-Baselines3's check_env."""
    from stable_baselines3.common.env_checker import check_env

    return _said(lambda: check_env(_made(name)))


PEERS: dict[str, Checker] = {"gymnasium": gymnasium_checker, "sb3": sb3_checker}


def _made(name: str) -> Any:
    """The environment with a spec, without which Gymnasium's checker leaves out its tests of determinism."""
    if ":" not in name:
        return gymnasium.make(name, disable_env_checker=True).unwrapped
    kind = name.partition(":")[2]
    gymnasium.register(f"{kind}-v0", entry_point=name, order_enforce=False, disable_env_checker=True)
    return gymnasium.make(f"{kind}-v0").unwrapped


def _said(check: Callable[[], None]) -> Said:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with deadline(SECONDS):
                check()
        except Overdue:
            return set()
        except Exception as error:
            return {f"{type(error).__name__}: {error}", *_texts(caught)}
    return _texts(caught)


def _texts(caught: Iterable[Any]) -> Said:
    """Warnings of the checkers; notes on deprecated or re-registered things are not about the environment."""
    texts = {str(w.message) for w in caught if issubclass(w.category, UserWarning)}
    return {text for text in texts if "Overriding environment" not in text}


def _twin(name: str) -> str:
    """The healthy environment that a broken one is made from."""
    continuous = issubclass(getattr(broken, name), broken.Continuous)
    return f"{HERE}:{'Continuous' if continuous else 'Corridor'}"


def faulty() -> dict[str, Any]:
    """Who catches which defect."""
    worlds.SECONDS = 10.0
    twins = {twin: {who: check(twin) for who, check in PEERS.items()} for twin in map(_twin, FAULTY)}
    faults = {}
    for name, probe in FAULTY.items():
        ours = firstbreak(f"{HERE}:{name}", EXPERT if name in NEEDS_EXPERT else None)
        theirs = {who: bool(check(f"{HERE}:{name}") - twins[_twin(name)][who]) for who, check in PEERS.items()}
        faults[name] = {"probe": probe, "firstbreak": probe in ours, **theirs}
        print(name, faults[name], flush=True)
    elsewhere = {name: probe in firstbreak(f"{HERE}:{name}") for name, probe in defects.BROKEN_ELSEWHERE.items()}
    return {
        "n_env_faults": len(faults),
        "env_faults_caught": {who: _share(f[who] for f in faults.values()) for who in ("firstbreak", *PEERS)},
        "env_faults": faults,
        "env_faults_of_other_interfaces": elsewhere,
    }


def healthy() -> dict[str, Any]:
    """Who accuses which healthy environment."""
    said: dict[str, dict[str, bool]] = {}
    for name in sized(HEALTHY, HEALTHY[:2]):
        single = name not in {f"{HERE}:{n}" for n in ("vector_healthy", "vector_same_step", "Pair", "Catch")}
        said[name.removeprefix(f"{HERE}:")] = {
            "firstbreak": bool(firstbreak(name)),
            **({who: bool(check(name)) for who, check in PEERS.items()} if single else {}),
        }
        print(name, said[name.removeprefix(f"{HERE}:")], flush=True)
    return {
        "n_env_healthy": len(said),
        "env_false_alarms": {who: _share(h[who] for h in said.values() if who in h) for who in ("firstbreak", *PEERS)},
        "env_healthy": said,
    }


#: verifiers with a defect that the adversarial suite has to find, and sound ones
DEFECTIVE = ("substring", "format_only", "believes_claims", "exact", "reversed_sign", "raises", "empty_pays")
SOUND = ("sound", "sound_score", "sound_async")
PROBES = frozenset(
    {"reward-right-from-wrong", "reward-false-positives", "reward-false-negatives", "reward-nothing-pays"}
)


def verifier() -> dict[str, Any]:
    """How often the adversarial suite accuses a sound verifier or misses a defect; and what it measures of TRL's own."""
    with tempfile.TemporaryDirectory() as folder:
        samples = _sums(Path(folder) / "samples.jsonl", "<think></think><answer>{}</answer>")
        boxed = _sums(Path(folder) / "boxed.jsonl", "So it is $\\boxed{{{}}}$.")
        accused = {name: bool(_suspected(name, samples)) for name in (*SOUND, *DEFECTIVE)}
        trl = reward.check("trl.rewards:accuracy_reward", str(boxed)).numbers
    return {
        "false_positive": _share(accused[name] for name in SOUND),
        "false_negative": 1 - _share(accused[name] for name in DEFECTIVE),
        "accused": accused,
        "trl_accuracy_reward": {key: trl[key] for key in ("false_positive", "false_negative", "suite")},
    }


def _suspected(name: str, samples: Path) -> set[str]:
    report = reward.check(f"{rewards.__name__}:{name}", str(samples))
    return {o.detector for o in report.findings} & PROBES


def _sums(path: Path, form: str) -> Path:
    """Twenty sums, four completions each, a half right."""
    rng = random.Random(0)
    rows = []
    for i in range(20):
        a, b = rng.randint(100, 900), rng.randint(1000, 9000)
        for k in range(4):
            said = a + b + (k % 2) * rng.randint(1, 9)
            rows.append({"prompt": f"{a} + {b} = ?", "completion": form.format(said), "answer": str(a + b), "group": i})
            rows[-1]["solution"] = f"${a + b}$"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def _share(flags: Iterable[bool]) -> float:
    found = list(flags)
    return round(sum(found) / len(found), 4)


#: each measures one part of the file; `--only NAME` leaves the others as they are
SECTIONS: dict[str, Callable[[], dict[str, Any]]] = {
    "faulty": faulty,
    "healthy": healthy,
    "verifier": lambda: {"verifier": verifier()},
    "memory": lambda: memory.figures(memory.MEASURED, memory.held_out(memory.DRAWN, memory.SEED)),
}


def main(only: list[str] | None = None) -> None:
    where = environment("make bench-preflight", (*PACKAGES, "gymnasium", "stable-baselines3", "trl"))
    parts = [measure() for name, measure in SECTIONS.items() if not only or name in only]
    before = json.loads(RESULT.read_text()) if only and RESULT.exists() else {}  # after measuring: that takes a while
    figures = {**before, **where, **{key: value for part in parts for key, value in part.items()}}
    place(RESULT).write_text(json.dumps(figures, indent=2) + "\n")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
