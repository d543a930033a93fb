"""What firstbreak says of the runs of the field, beside what their readers say."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any

from benchmarks.answers import Answer, answer
from benchmarks.field.index import Reading, by_run
from benchmarks.population import READING
from benchmarks.resume import kept
from firstbreak.engine.detection import check
from firstbreak.engine.stats.proportion import wilson
from firstbreak.model import Link
from firstbreak.readers import Unreadable
from firstbreak.readers.grouping import find_runs
from firstbreak.readers.read import read

FIRM = ("high", "medium")


@dataclass(frozen=True, kw_only=True)
class Said:
    """What firstbreak says of one run: an answer, or why there is none."""

    id: str
    answer: Answer | None
    problem: str = ""

    @property
    def links(self) -> list[str]:
        """The links by the probability of their causes, the most probable first; empty without an answer."""
        links = self.answer.links if self.answer else {}
        return sorted(links, key=lambda link: -links[link][0])

    @property
    def accused(self) -> bool:
        """Whether the run is called broken."""
        return self.answer is not None and self.answer.link is not None

    @property
    def stopped(self) -> bool:
        """Whether the advice is to stop or to go back."""
        return self.answer is not None and self.answer.stop


def ask(folders: Mapping[str, Path], kept_in: Path, processes: int) -> list[Said]:
    """What is said of each run. The file holds what the same code said before."""
    work = partial(row_of, folders)
    return [_said(row) for row in kept(kept_in, list(folders), work, processes, *READING, "benchmarks/answers.py")]


def _said(row: Mapping[str, Any]) -> Said:
    return Said(**{**row, "answer": Answer(**row["answer"]) if row["answer"] else None})


def row_of(folders: Mapping[str, Path], id_: str) -> dict[str, Any]:
    """What is said of one run, as it is kept."""
    return asdict(one_run(id_, folders[id_]))


def one_run(id_: str, folder: Path) -> Said:
    """What is said of the run in a folder; of the first one, where firstbreak sees several."""
    try:
        run = read(find_runs(folder)[0])
    except Unreadable as error:
        return Said(id=id_, answer=None, problem=str(error).replace(str(folder), id_))
    return Said(id=id_, answer=answer(run, check(run)))


# Figures ------------------------------------------------------------------------------------------------------------------


def figures(said: Iterable[Said], readings: Sequence[Reading]) -> dict[str, Any]:
    """The figures of some runs. Where two readers differ on the verdict, the run is in neither group."""
    read_by = by_run(readings)
    answered = [(one, read_by[one.id]) for one in said]
    broken = [(one, by) for one, by in answered if _all(by, "broken")]
    healthy = [(one, by) for one, by in answered if _all(by, "healthy")]
    return {
        "runs": len(answered),
        "repositories": len({by[0].repository for _, by in answered}),
        "not read": sum(one.answer is None for one, _ in answered),
        "broken": len(broken),
        "found": _share(one.accused for one, _ in broken),
        "link first, strict": _share(_right(one, by, 1, _strict) for one, by in broken),
        "link first, accepted": _share(_right(one, by, 1, _accepted) for one, by in broken),
        "link among two, accepted": _share(_right(one, by, 2, _accepted) for one, by in broken),
        "called broken, and an accepted link": _share(
            one.accused and one.answer is not None and one.answer.link in _accepted(by) for one, by in broken
        ),
        "always policy_update, accepted": _share(Link.POLICY_UPDATE in _accepted(by) for _, by in broken),
        "healthy": len(healthy),
        "healthy accused": _share(one.accused for one, _ in healthy),
        "healthy stopped": _share(one.stopped for one, _ in healthy),
    }


def readers_agree(readings: Sequence[Reading]) -> dict[str, Any]:
    """How far two readers of the same run agree."""
    pairs = [pair for by in by_run(readings).values() for pair in combinations(by, 2)]
    both = [(a, b) for a, b in pairs if a.verdict == b.verdict == "broken"]
    return {
        "runs read twice": len(pairs),
        "same verdict": _share(a.verdict == b.verdict for a, b in pairs),
        "broken for both": len(both),
        "same link": _share(a.link == b.link for a, b in both),
        "accepted by the other": _share(a.link in b.accepted or b.link in a.accepted for a, b in both),
        "verdicts": dict(Counter(" / ".join(sorted((a.verdict, b.verdict))) for a, b in pairs)),
    }


def misses(said: Iterable[Said], readings: Sequence[Reading]) -> list[str]:
    """One line for each run that is wrong. Only for the part that may be looked at."""
    read_by = by_run(readings)
    return [line for one in said for line in _miss(one, read_by[one.id])]


def _miss(one: Said, by: Sequence[Reading]) -> list[str]:
    said = one.problem or (
        f"{'called broken at ' + one.answer.link if one.answer and one.answer.link else 'not called broken'}; "
        f"first {', '.join(one.links[:2])}; healthy {one.answer.healthy if one.answer else 0:.2f}"
    )
    wanted = by[0].link or by[0].verdict
    wrong = (_all(by, "broken") and not (one.accused and _right(one, by, 1, _accepted))) or (
        _all(by, "healthy") and (one.accused or one.answer is None)
    )
    return [f"{one.id} ({by[0].trainer}, {by[0].confidence}): {wanted}: {said}"] if wrong else []


def _all(by: Sequence[Reading], verdict: str) -> bool:
    return all(one.verdict == verdict for one in by)


def _strict(by: Sequence[Reading]) -> set[Link]:
    return {one.link for one in by if one.link}


def _accepted(by: Sequence[Reading]) -> set[Link]:
    return {link for one in by for link in one.accepted}


def _right(one: Said, by: Sequence[Reading], among: int, wanted: Callable[[Sequence[Reading]], set[Link]]) -> bool:
    return bool(set(one.links[:among]) & wanted(by))


def _share(of: Iterable[bool]) -> dict[str, Any] | None:
    """Count, share and 95 % interval; None of nothing."""
    values = list(of)
    if not values:
        return None
    low, high = wilson(sum(values), len(values))
    return {
        "of": len(values),
        "share": round(sum(values) / len(values), 4),
        "interval": [round(low, 4), round(high, 4)],
    }
