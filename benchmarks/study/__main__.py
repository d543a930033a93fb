"""Is firstbreak worth its minutes to a reader who has it at hand? `python -m benchmarks.study`

answers.jsonl has what each reader said of each project, with the seconds and commands that it took; key.jsonl has the links that
count as right, none for a sound project. Two arms: the logs and the configuration alone, or `firstbreak diagnose --format brief`
first. Whoever repeats it gives the folders of the projects to other readers, in random order, and appends their answers.

Writes results/study.json: for each arm the projects whose first link is right, sound ones accused, seconds and commands a project
(median, and the interval of the mean over projects), and how often a sentence misled.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.machine import environment
from benchmarks.size import place
from firstbreak.engine.stats.proportion import wilson

HERE = Path(__file__).parent
RESULT = HERE.parent / "results" / "study.json"
DRAWS = 2000  #: of the bootstrap over projects


def main() -> None:
    """Score, print, write."""
    key = {row["project"]: row["links"] for row in _rows("key.jsonl")}
    answers = _rows("answers.jsonl")
    arms = {
        arm: scored([a for a in answers if a["arm"] == arm], key) for arm in dict.fromkeys(a["arm"] for a in answers)
    }
    content = {**environment("python -m benchmarks.study"), "projects": len(key), **arms}
    place(RESULT).write_text(json.dumps(content, indent=1) + "\n")
    print(json.dumps(arms, indent=1))


def scored(answers: list[dict[str, Any]], key: dict[str, list[str]]) -> dict[str, Any]:
    """What one arm got right, and what it took."""
    broken, sound = ([a for a in answers if bool(key[a["project"]]) is broken] for broken in (True, False))
    right = sum(a["link"] in key[a["project"]] for a in broken)
    return {
        "readers": len({a["reader"] for a in answers}),
        "right": [right, len(broken), *(round(end, 3) for end in wilson(right, len(broken)))],
        "accused": [sum(a["link"] is not None for a in sound), len(sound)],
        **{name: _per_project([a[name] for a in answers]) for name in ("seconds", "commands")},
        "misled": sum(bool(a["misled"]) for a in answers),
    }


def _per_project(values: list[float]) -> dict[str, float | list[float]]:
    draws = np.random.default_rng(0).choice(values, (DRAWS, len(values))).mean(1)
    interval = [round(float(end), 1) for end in np.quantile(draws, (0.025, 0.975))]
    return {"median": float(np.median(values)), "mean": round(float(np.mean(values)), 1), "interval": interval}


def _rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (HERE / name).read_text().splitlines()]


if __name__ == "__main__":
    main()
