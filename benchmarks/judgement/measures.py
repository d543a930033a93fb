"""The parts of the yardstick: for each its jobs, and what one job gives. A row is kept, so that a long run can be continued."""

import base64
import csv
import json
import re
import shutil
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from firstbreak_lab.population.build import packs, unpacked

from benchmarks import peers, population
from benchmarks.judgement.contradictions import STOPS, Said, contradictions
from benchmarks.judgement.courses import TRAINERS, Course, draw, written
from firstbreak.engine.diagnose import diagnose
from firstbreak.model import Diagnosis, Run, Series
from firstbreak.readers import Unreadable
from firstbreak.readers.read import read
from firstbreak.reports import json as json_report
from firstbreak.reports import terminal

ROOT = Path(__file__).resolve().parents[2]
SHARED = ROOT.parent / "shared"
SAID = SHARED / "inputs" / "said"
RUNS = SHARED / "runs"
WIDTH = 100  #: columns of the printed report

Row = dict[str, Any]


def report(dx: Diagnosis) -> Said:
    """The report as it is printed, as JSON, with the exit code of `firstbreak diagnose`."""
    stops = dx.verdict.action.value in STOPS
    code = 1 if stops else 2 if dx.run.unread else 0
    return Said.of(terminal.render(dx, width=WIDTH), json_report.render(dx), code)


# said: logs with what is right to say -----------------------------------------------------------------------------------


@cache
def expected() -> dict[str, dict[str, str]]:
    """The right answers by name; nothing where the inputs are not there."""
    path = SAID / "expected.csv"
    return {row["id"]: row for row in csv.DictReader(path.open())} if path.exists() else {}


def said_row(name: str) -> Row:
    """Which of state, link and action are right for one log, and whether a phrase that is false there was printed."""
    dx = diagnose(read(SAID / name))
    told = report(dx)
    return {"id": name, **right(told, expected()[name])}


def right(said: Said, wanted: Mapping[str, str]) -> Row:
    """State, link and action against expected.csv. Its `must_say` needs a reader; `must_not_say` is searched as it stands."""
    first = said.report["first_break"]
    links = [link for link in wanted["links"].split(";") if link]
    named = first["link"] if first else None
    sign = first is not None and first.get("kind") == "first_sign"
    state = {"healthy": first is None, "broken": first is not None, "watch": first is None or sign}[wanted["state"]]
    phrase = wanted["must_not_say"]
    return {
        "state": state,
        "link": named is None
        if wanted["state"] == "healthy"
        else "any" in links or named in links or (named is None and state),
        "action": said.action in wanted["actions"].split(";"),
        "must_not_say": bool(phrase) and phrase.lower() in said.line.lower(),
        "must_say": bool(wanted["must_say"]),
        "said": f"{said.action} {named or '-'}",
    }


# sweeps: one property each, of as many seeds as asked -------------------------------------------------------------------

TEXT = [name for name in TRAINERS if name != "sb3"]
WITH_KL = [name for name in TEXT if name != "areal"]  # which logs no divergence from a reference model


def swept(name: str, seed: int) -> Course:
    """The course of a sweep at one seed; trainers take turns."""
    trainers = WITH_KL if name == "kl_flat_spoken" else TEXT
    score, signs, steps, evaluations = {
        "peak_rollback": ("peaked", ("kl steady",), 200, 11),
        "rise_rising": ("rise", (), 120, 7),
        "flat_moved": ("flat", (), 120, 7),
        "straight_converged": ("rising", (), 200, 11),
        "kl_flat_spoken": ("rise then flat", ("kl line",), 200, 11),
    }[name]
    return Course(trainers[seed % len(trainers)], score, score, signs, steps, evaluations, 1000 + seed)


SWEEPS = ("peak_rollback", "rise_rising", "flat_moved", "straight_converged", "kl_flat_spoken")


def sweep_row(job: str) -> Row:
    """Whether the property holds in one run. The job is `sweep seed`."""
    name, seed = job.split()
    with tempfile.TemporaryDirectory() as folder:
        told = report(diagnose(read(written(swept(name, int(seed)), Path(folder)))))
    return {"id": job, "sweep": name, "holds": HOLDS[name](told), "said": f"{told.action}: {told.verdict('summary')}"}


def course_of(said: Said) -> str:
    """What the score is said to do: rising, plateau, falling, or what else stands in the JSON; of the words of the summary."""
    if isinstance(score := said.report.get("score"), Mapping) and "course" in score:
        return str(score["course"])
    words = {
        "plateau": r"plateau|converged",
        "falling": r"\bfalls\b|peaked|collapsed|\bfell\b",
        "rising": r"\brises\b|\brising\b",
        "flat": r"has not changed|\bflat\b",
    }
    about = re.search(r"(?:evaluation|score) (.*?)(?:, and the training|\.)", said.verdict("summary"))
    return next((name for name, pattern in words.items() if about and re.search(pattern, about[1])), "")


def speaks_of_divergence(said: Said) -> bool:
    """A warning about the KL divergence, and no low risk."""
    of_kl = [one for one in said.serious if str(one["metric"]).startswith("kl.") or "KL" in one["message"]]
    return bool(of_kl) and not said.verdict("risk").startswith("low")


HOLDS = {
    "peak_rollback": lambda said: said.action == "rollback",
    "rise_rising": lambda said: course_of(said) == "rising",
    "flat_moved": lambda said: course_of(said) in ("rising", "plateau", "falling", "peaked", "collapsed"),
    "straight_converged": lambda said: course_of(said) == "plateau" or "converged" in said.line,
    "kl_flat_spoken": speaks_of_divergence,
}


# contradictions: drawn courses ------------------------------------------------------------------------------------------


def course_row(seed: str) -> Row:
    """The report of one drawn course, packed: so that a new rule asks it without a new diagnosis."""
    course = draw(int(seed))
    with tempfile.TemporaryDirectory() as folder:
        told = report(diagnose(read(written(course, Path(folder)))))
    printed = json.dumps([told.text, told.report, told.exit]).encode()
    return {"id": seed, "course": course.id, "printed": base64.b85encode(zlib.compress(printed, 9)).decode()}


def printed(row: Row) -> Said:
    """The report of a course's row."""
    return Said(*json.loads(zlib.decompress(base64.b85decode(row["printed"]))))


# peers ------------------------------------------------------------------------------------------------------------------


def peers_row(job: str) -> Row:
    """One run of a peer (`peer signature seed`): whether the first link is right; of a healthy one, whether it is accused."""
    peer, signature, seed = job.split()
    links, _ = peers.SIGNATURES[peer][signature]
    with tempfile.TemporaryDirectory() as folder:
        dx = diagnose(read(peers.PEERS[peer](signature, int(seed), Path(folder))))
    link = dx.first_break.link if dx.first_break else None
    return {
        "id": job,
        "healthy": not links,
        "any": links == peers.ANY,
        "right": link in links,
        "accused": not links and (link is not None or dx.verdict.action.value in STOPS),
        "said": f"{dx.verdict.action.value} {link.value if link else '-'}",
    }


# healthy runs of the population -----------------------------------------------------------------------------------------


def healthy_jobs() -> list[str]:
    """The packs of the population."""
    return [path.name for path in packs(ROOT / "population")]


def healthy_row(pack: str) -> Row:
    """The healthy runs of one pack: stopped, or called broken; without the counts of their own trainer family."""
    with unpacked(ROOT / "population" / pack) as runs:
        told = [population.said(path, label.family) for path, label in runs if label.link is None]
    return {
        "id": pack,
        "n": len(told),
        "stopped": sum(one["stop"] for one in told),
        "broken": sum(one["link"] is not None for one in told),
    }


# metamorphic: what must not change the answer ---------------------------------------------------------------------------

REWARD = re.compile(r"(?:eval\.)?(?:reward|returns|value)(?:$|\.(?!.*(?:frac|explained|count)))")


def scaled(run: Run, times: float = 1.0, plus: float = 0.0) -> Run:
    """The run of the same policy where the reward is `times` as large, and then `plus` larger."""

    def changed(name: str, curve: Series) -> Series:
        if not REWARD.match(name):
            return curve
        if name == "value.loss":
            return replace(curve, values=curve.values * times**2)
        return replace(curve, values=curve.values * times + (0.0 if name.endswith((".std", ".sd")) else plus))

    held = {key: x * times for key, x in run.config.raw.items() if key.endswith(("v_min", "v_max"))}  # of values
    series = {name: changed(name, curve) for name, curve in run.series.items()}
    return replace(run, config=replace(run.config, raw={**run.config.raw, **held}), series=series)


def cut(run: Run, share: float = 0.05) -> Run:
    """The run without its last `share` of steps."""
    ends: dict[str, float] = {}
    for curve in run.series.values():
        if len(curve):
            ends[curve.axis] = max(ends.get(curve.axis, -np.inf), float(curve.steps[-1]))
    return replace(
        run, series={name: c.between(-np.inf, (1 - share) * ends.get(c.axis, 0.0)) for name, c in run.series.items()}
    )


@contextmanager
def with_lines(folder: Path, how: str) -> Iterator[Path | None]:
    """A copy of the run whose rows stand twice, or in another order; None where no file of it is a table of rows."""
    with tempfile.TemporaryDirectory() as place:
        copy, changed = Path(place) / folder.name, False
        shutil.copytree(folder, copy)
        for path in [*copy.rglob("*.csv"), *copy.rglob("*.jsonl"), *copy.rglob("result.json")]:
            lines = path.read_text().splitlines()
            # Monitor's file has a comment above its names: a row that stands above them belongs to no run
            head = 1 + lines[0].startswith("#") if path.suffix == ".csv" else 0
            rows = lines[head:]
            rows = (
                [row for row in rows for _ in range(2)]
                if how == "twice"
                else list(np.random.default_rng(0).permutation(rows))
            )
            path.write_text("\n".join([*lines[:head], *rows]) + "\n")
            changed = changed or len(rows) > 1
        yield copy if changed else None


@contextmanager
def with_backup(folder: Path) -> Iterator[Path]:
    """The run with a copy of itself in backup/."""
    with tempfile.TemporaryDirectory() as place:
        copy = Path(place) / folder.name
        shutil.copytree(folder, copy)
        shutil.copytree(folder, copy / "backup")
        yield copy


def answer(run: Run) -> str:
    """Action and first link."""
    dx = diagnose(run)
    return f"{dx.verdict.action.value} {dx.first_break.link.value if dx.first_break else '-'}"


CHANGES = ("reward_x1000", "reward_plus_100", "rows_twice", "rows_shuffled", "backup", "cut_5_percent")


def metamorphic_row(name: str) -> Row:
    """The answer to one run, and to the same run after each change; None where a change cannot be made to its files."""
    folder = RUNS / name
    run = read(folder)
    told: dict[str, str | None] = {
        "reward_x1000": answer(scaled(run, times=1000.0)),
        "reward_plus_100": answer(scaled(run, plus=100.0)),
        "cut_5_percent": answer(cut(run)),
    }
    for change, how in (("rows_twice", "twice"), ("rows_shuffled", "shuffled")):
        with with_lines(folder, how) as copy:
            told[change] = None if copy is None else _read_and_answered(copy)
    with with_backup(folder) as copy:
        told["backup"] = _read_and_answered(copy)
    return {"id": name, "said": answer(run), "then": told}


def _read_and_answered(folder: Path) -> str:
    try:
        return answer(read(folder))
    except Unreadable as error:
        return f"unreadable: {str(error)[-120:]}"


def metamorphic_jobs() -> list[str]:
    """The shared runs, where they are there."""
    return sorted(path.name for path in RUNS.iterdir() if path.is_dir()) if RUNS.is_dir() else []


# figures ----------------------------------------------------------------------------------------------------------------


def figures(rows: Mapping[str, Sequence[Row]]) -> dict[str, Any]:
    """The figures of judgement.json, of the rows of each part; a part that was not asked has none."""
    parts = {
        "said": _said,
        "peers": _peers,
        "sweeps": _sweeps,
        "contradictions": _contradictions,
        "healthy": _healthy,
        "metamorphic": _metamorphic,
    }
    return {name: count(rows[name]) for name, count in parts.items() if rows.get(name)}


def _said(rows: Sequence[Row]) -> Row:
    automatic = [row for row in rows if row["state"] and row["link"] and row["action"]]
    return {
        "n": len(rows),
        "right": len(automatic),
        "right_and_nothing_false": sum(not row["must_not_say"] for row in automatic),
        **{part: sum(row[part] for row in rows) for part in ("state", "link", "action")},
        "false_phrase_printed": sum(row["must_not_say"] for row in rows),
        "not_judged_must_say": sum(row["must_say"] for row in rows),
        "runs": {row["id"]: {k: row[k] for k in ("state", "link", "action", "must_not_say", "said")} for row in rows},
    }


def _peers(rows: Sequence[Row]) -> Row:
    broken = [row for row in rows if not row["healthy"] and not row["any"]]
    return {
        "n_runs": len(broken),
        "first_link_right": round(sum(row["right"] for row in broken) / len(broken), 4) if broken else None,
        "healthy": sum(row["healthy"] for row in rows),
        "healthy_accused": sum(row["accused"] for row in rows),
        "said": {row["id"]: row["said"] for row in rows},
    }


def _sweeps(rows: Sequence[Row]) -> Row:
    counted: Row = {"of": len({row["id"].split()[1] for row in rows})}
    return counted | {name: sum(row["holds"] for row in rows if row["sweep"] == name) for name in SWEEPS}


def _contradictions(rows: Sequence[Row]) -> Row:
    found = [(row["course"], rule, sentence) for row in rows for rule, sentence in contradictions(printed(row))]
    rules = Counter(rule for _, rule in {(course, rule) for course, rule, _ in found})
    return {
        "courses": len(rows),
        "found": len(found),
        "courses_with_one": len({course for course, _, _ in found}),
        "rules": dict(rules.most_common()),
        "examples": {rule: [course, sentence] for course, rule, sentence in reversed(found)},
    }


def _healthy(rows: Sequence[Row]) -> Row:
    return {"packs": len(rows)} | {key: sum(row[key] for row in rows) for key in ("n", "stopped", "broken")}


def _metamorphic(rows: Sequence[Row]) -> Row:
    """For each change in how many runs action or first link change, and in how many it could be made."""
    counted: Row = {}
    for change in CHANGES:
        pairs = [(row["said"], row["then"][change]) for row in rows if row["then"][change] is not None]
        counted[change] = sum(before != after for before, after in pairs)
        counted[f"{change}_n"] = len(pairs)
    changed = {
        row["id"]: {c: [row["said"], s] for c, s in row["then"].items() if s not in (None, row["said"])} for row in rows
    }
    return counted | {"changed": {name: what for name, what in changed.items() if what}}
