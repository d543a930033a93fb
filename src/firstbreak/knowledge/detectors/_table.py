"""Checks that are a row of a table: an identity of the recorder that lies beyond a limit.

<link>/proofs.toml has one table for each, by its id:

- `proof`: the recorder's signal without `proof.`, or one of the log; `limit`: side ("above" or "below"), value, unit, why so
  much, and the source where it is no convention; `says`: the message, in which `{value}` is the first number that failed.
- `also`: further signals; the first that fails counts. `unless`: signals of other checks, which say it where they are above 0.
- `missing`: where any one of the signals will do, what is said of a run that has none.
- `median`: true where the median of all measurements must lie beyond the limit as well; `every`: each of so many or more.
- `first`: where the first measurement must lie: "beyond" the limit or "within", or "equal" but for rounding, or "unequal".
- `title` and the texts of the page (`PAGE`), one line each; `fix` and `references` may be lists; no `references`: TRL's code.
- `asks`: true where two readings are possible: what is found is a question, a warning of low confidence, and proves nothing.
- `of`: the signal with the number of rows that a share is of: the share is judged by its sampling error, over all of them.
- `roles`, where it is not ["proof"].
"""

import tomllib
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from textwrap import fill
from typing import Any

from firstbreak.engine.checks import Check, at
from firstbreak.engine.inputs import known
from firstbreak.engine.stats.points import median
from firstbreak.knowledge.detectors._proof import proved, share_proved
from firstbreak.model import Confidence, Config, Finding, Link, NotMeasured, Role, Series, Severity
from firstbreak.plugins import BadPlugin
from firstbreak.values import replace

Found = Finding | NotMeasured | None
ROUNDED = 2e-3  #: distance from equal of what was computed twice in one way (convention)
PAGE = {
    "looks_for": "What it looks for",
    "why": "Why it matters",
    "false_alarm": "When it is a false alarm",
    "fix": "Fix",
    "experiment": "Smallest experiment",
    "references": "References",
}


@cache
def proofs(link: Link) -> Mapping[str, Check]:
    """The rows of a link's table as checks, by id. Raises BadPlugin where a row names no signal."""
    file = Path(__file__).parent / link.value / "proofs.toml"
    return {name: _check(name, link, row, file) for name, row in tomllib.loads(file.read_text("utf-8")).items()}


def _check(name: str, link: Link, row: Mapping[str, Any], file: Path) -> Check:
    row = {"references": "https://github.com/huggingface/trl", **row}
    asked, unless, counts = (
        [_signal(name, file) for name in names]
        for names in ([row["proof"], *row.get("also", ())], row.get("unless", ()), [row["of"]] if "of" in row else [])
    )
    needed = 0 if "missing" in row else 1
    side, *said = row["limit"]
    return Check(
        id=name,
        link=link,
        title=row["title"],
        doc="\n\n".join([row["title"], *(f"## {heading}\n{_text(row[key])}" for key, heading in PAGE.items())]),
        ask=_asked(row, asked, unless, counts),
        needs=(*asked[:needed], "config"),
        uses=(*asked[needed:], *unless, *counts),
        thresholds={side: at(*said).threshold},
        roles=frozenset(map(Role, row.get("roles", [] if row.get("asks") else [Role.PROOF]))),
    )


def _text(said: str | Sequence[str]) -> str:
    """A text, or the lines of a list, as a docstring holds it."""
    lines = [said] if isinstance(said, str) else said
    options: Any = {"subsequent_indent": "  " if lines is said else "", "break_long_words": False}
    return "\n".join(fill(line, 120, break_on_hyphens=False, **options) for line in lines)


def _signal(name: str, file: Path) -> str:
    """The argument of the recorder's signal, or else of the log's. Raises BadPlugin where neither is known."""
    found = next((argument for argument in (f"proof_{name}", name) if known(argument)), None)
    if found is None:
        raise BadPlugin(f"{file}: {name!r} is no signal")
    return found


def _asked(
    row: Mapping[str, Any], signals: Sequence[str], unless: Sequence[str], counts: Sequence[str]
) -> Callable[..., Found]:
    says, where, (side, value, *_) = row["says"], row.get("first"), row["limit"]

    def ask(config: Config, **given: Any) -> Found:
        limit = given.get(side, value)
        if any((given[name].finite.values > 0).any() for name in unless if given.get(name) is not None):
            return None
        curves = [given[name] for name in signals if given.get(name) is not None]
        if not curves and "missing" in row:
            return NotMeasured(row["missing"])
        if row.get("median"):
            curves = [c for c in curves if len(c.finite) and _beyond(median(c.finite.values), side, limit)]
        if least := row.get("every"):
            curves = [
                c for c in curves if len(v := c.finite.values) >= least and all(_beyond(x, side, limit) for x in v)
            ]
        asked = (curve for curve in curves if where is None or where in _begins(curve, side, limit))
        for name in counts:
            shares = (share_proved(curve, given.get(name), config, says, limit) for curve in asked)
            return next(filter(None, shares), None)
        found = next(filter(None, (proved(curve, config, says, **{side: limit}) for curve in asked)), None)
        if found is None or not row.get("asks"):
            return found
        return replace(found, severity=Severity.WARNING, confidence=Confidence.LOW)

    return ask


def _begins(curve: Series, side: str, limit: float) -> tuple[str, ...]:
    """Where the first measurement lies; empty where there is none."""
    first = curve.finite.values[:1]
    equal = "equal" if all(abs(value) <= ROUNDED for value in first) else "unequal"
    return ("beyond" if _beyond(float(first[0]), side, limit) else "within", equal) if len(first) else ()


def _beyond(value: float, side: str, limit: float) -> bool:
    return value > limit if side == "above" else value < limit
