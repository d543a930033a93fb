"""The one name of a score, whatever wrote it, and the range that it can have."""

import re
from collections.abc import Iterable, Mapping

from firstbreak.dialects.signals import lookup
from firstbreak.model import Interval

SHARE: Interval = (0.0, 1.0)
RETURN = "eval.reward"
_RETURNS = re.compile(
    r"(eval|evaluation|test|results)?[/._-]?(mean|avg|average)?[/._-]?(episode|episodic|ep)?[/._-]?"
    r"(return|reward|rew|score|result)s?[/._-]?(mean|avg)?",
    re.IGNORECASE,
)
_LENGTHS = re.compile(r"(?i)(eval|evaluation|test)?[/._-]?(mean|avg|average)[/._-]?(episode|ep)?[/._-]?len(gth)?s?")
#: what comes with a score and is none
_BESIDE = re.compile(
    r"^tools/|(?<![a-z])(len|length|lengths|count|steps?|time|duration|tokens|std|stderr|errors?|loss|perplexity)(?![a-z])",
    re.IGNORECASE,
)


def one_name(metric: str) -> str:
    """The name under which scores meet: `mean_return` of an npz, `eval/mean_reward` of a log and `eval.reward` are one score.

    A bare `score` stays what it is, and so does what is not known.
    """
    if known := lookup(metric):
        return known.name
    if metric.lower() not in ("score", "result", "results", "scores") and _RETURNS.fullmatch(metric):
        return RETURN
    return "eval.episode_length" if _LENGTHS.fullmatch(metric) else metric


def named(values: Mapping[str, float]) -> dict[str, float]:
    """Scores under their one names; of two that meet, the first counts."""
    found: dict[str, float] = {}
    for metric, value in values.items():
        found.setdefault(one_name(metric), value)
    return found


def main(scores: Iterable[str]) -> str | None:
    """The metric that decides: the first that is no length, count, time or loss."""
    names = list(scores)
    return next((name for name in names if not _BESIDE.search(name)), names[0] if names else None)


def is_score(metric: str) -> bool:
    """Whether the declared range of a split is about this metric."""
    return not _BESIDE.search(metric)


def range_of(values: Iterable[float]) -> Interval | None:
    """The range of one problem's score, learned from the scores: 0 to 1 where all lie there. Else it must be declared."""
    return SHARE if all(0 <= value <= 1 for value in values) else None
