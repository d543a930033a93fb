"""Experiments that are rows of a table: a short run that differs from the user's in one thing, and what is asked of it.

catalogue.toml has one table for each, by its id:

- `title`, and the texts of the page (`PAGE`), in double quotes and without escapes.
- `overrides`: [canonical option or intervention, what it becomes] (see overrides.py; "none" turns it off). An option whose name
  ends in "?" changes only where the trainer has it.
- `asks`: [question, answer, P(yes | cause) as `likelihoods` reads it]. The answer is the name of a function of engine/questions
  or _asked.py, or a list of the name and what it is given: a mapping as pairs, keywords in a table at the end. Further fields of
  the question stand in a table at the end: `families`, if fewer than the experiment's, `needs`, `again`, `instead`.
  The name of another experiment stands for all its questions, and [name, question] for one of them.

Where there is more to say:

- `length`: share of the original run's steps (0.1); `seeds`: least seeds of each arm (1).
- `control`: the overrides of a second arm of the same length; `bare`: it makes sense without any override.
- `families`, the only ones for which it makes sense, or `without`, methods for which it does not (names of families.NAMED).
- `then`: "yes" or "no" to the first question -> experiments that come next; `do`: -> what the verdict says to do first, of a
  score that does not rise.
- `code`: trainer -> code for the user's script, where the trainer has no option for it.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from inspect import isfunction
from typing import Any

from firstbreak.engine import index, questions
from firstbreak.engine.catalogue import Design, catalogue
from firstbreak.engine.questions import Answer, Asked, OfCurve, Question
from firstbreak.engine.questions.arms import Named
from firstbreak.knowledge import _rows
from firstbreak.knowledge.experiments import _asked
from firstbreak.model import EMPTY
from firstbreak.plugins import BadPlugin

PAGE = {"done": "What is done", "tells": "What it tells", "misleads": "When it misleads", "references": "References"}
NEEDED = {"title", "overrides", "asks", *PAGE}
MORE = {"length", "seeds", "control", "bare", "families", "without", "then", "do", "code"}


#: the functions of engine/questions and of _asked.py, by what they return
_RETURNS = {
    f: f.__annotations__["return"] for f in (*vars(questions).values(), *vars(_asked).values()) if isfunction(f)
}
_PUT = {f for f in _RETURNS if hasattr(f, "__wrapped__")}  #: a question that gets all but the arms first
#: what a row may name alone
ANSWERS = {f.__name__: f for f, returned in _RETURNS.items() if returned is Answer and f not in _PUT}
#: what it names with what it is given
ASKED = {f.__name__: f for f, returned in _RETURNS.items() if f in _PUT or returned in (Asked, Named, OfCurve)}


def rows() -> Mapping[str, Mapping[str, Any]]:
    """What the table says beside its texts, by id. Raises BadPlugin where a row lacks a key, or has one too many."""
    table = _rows.read(index.file_of("experiments", index.CATALOGUE), "an experiment", NEEDED, MORE)
    return {name: {key: value for key, value in row.items() if key not in PAGE} for name, row in table.items()}


def design(name: str, row: Mapping[str, Any]) -> Design:
    """A row as an experiment. Raises BadPlugin where it names a function or a family that does not exist."""
    file = index.file_of("experiments", index.CATALOGUE)
    named = _rows.named(file, name)
    try:
        asked = tuple(question for one in row["asks"] for question in _questions(named, one))
    except BadPlugin:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise BadPlugin(f"{file}: [{name}]: asks: {error!r}") from None
    return Design(
        id=name,
        title=row["title"],
        page=partial(_rows.page, file, name, row["title"], PAGE),
        overrides=_overrides(row["overrides"]),
        questions=asked,
        control=_overrides(row["control"]) if "control" in row else None,
        then={word: tuple(names) for word, names in row.get("then", EMPTY).items()},
        families=_rows.families_of(row, named),
        **{key: row[key] for key in ("length", "seeds", "bare", "do", "code") if key in row},
    )


def _overrides(pairs: Sequence[Sequence[Any]]) -> Mapping[str, Any]:
    return {option: None if value == "none" else value for option, value in pairs}


def _questions(named: _rows.Named, one: str | list[Any]) -> Iterable[Question]:
    if isinstance(one, str):
        return named("asks", one, catalogue()).questions  # type: ignore[no-any-return]
    if len(one) == 2:
        return [named("asks", one[1], {question.asks: question for question in _questions(named, one[0])})]
    asks, answer, chances, *more = one
    fields = {key: tuple(value) if key in ("again", "instead") else value for key, value in dict(*more).items()}
    if "families" in fields:
        fields["families"] = _rows.families_of(fields, named)
    return [_asked.ask(asks, _answer(named, answer), chances, **fields)]


def _answer(named: _rows.Named, said: str | list[Any]) -> Asked:
    """What a row says of an answer; among what its function is given may be other such lists."""
    if isinstance(said, str):
        return named("asks", said, ANSWERS)  # type: ignore[no-any-return]
    name, *given = said
    more = given.pop() if given and isinstance(given[-1], Mapping) else EMPTY
    values = (
        one if not isinstance(one, list) else _answer(named, one) if isinstance(one[0], str) else dict(one)
        for one in given
    )
    return named("asks", name, ASKED)(*values, **more)  # type: ignore[no-any-return]
