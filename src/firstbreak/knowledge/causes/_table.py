"""Causes that are rows of a table: what a run shows where it is broken so, and what to do about it.

<link>.toml has one table for each, by its id:

- `title`, and the texts of the page (`PAGE`), in double quotes and without escapes. A line for some families only begins with
  their names: `- text: ...`.
- `findings`: [detector, probability that this cause shows it], in the order in which they are expected.
- `experiments`: ids of the catalogue; the first that holds for the run's family is proposed.

Where there is more to say:

- `prior`, where it is not 1; `settings`: [hyperparameter, "high", "low" or "off": what is wrong with it].
- `families`, the only ones for which it is possible, or `without`, methods for which it is not (names of families.NAMED).
- `applies`: a function of possible.py that says for which runs it is possible beyond that; or `measured_inside`: signals of the
  recorder without `proof.`, one of which must have been measured.
- `weights`: a function of evidence.py; `refuted_by`: functions of engine/refutations.py.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from inspect import isfunction
from types import ModuleType
from typing import Any

from firstbreak.dialects import signals
from firstbreak.engine import index, refutations
from firstbreak.engine.common_settings import Side
from firstbreak.engine.inputs import Inputs
from firstbreak.engine.registry import Cause, always, no_weights
from firstbreak.knowledge import _rows
from firstbreak.knowledge.causes import evidence, possible
from firstbreak.model import Link

PAGE = {
    "happens": "What happens",
    "healthy": "When it is healthy",
    "fix": "Fix",
    "smallest_experiment": "Smallest experiment",
    "code": "Where in code to look",
    "references": "References",
}
NEEDED = {"title", "findings", "experiments", *PAGE}
MORE = {"prior", "settings", "families", "without", "applies", "measured_inside", "weights", "refuted_by"}


def _functions(module: ModuleType) -> Mapping[str, Callable[[Inputs], Any]]:
    """What a row may name of a module: the public functions that are defined in it."""
    own = (f for f in vars(module).values() if isfunction(f) and f.__module__ == module.__name__)
    return {f.__name__: f for f in own if not f.__name__.startswith("_")}


APPLIES, WEIGHTS, REFUTATIONS = map(_functions, (possible, evidence, refutations))
PROOFS = {name.removeprefix("proof."): name for name in signals.SIGNALS if name.startswith("proof.")}
SIDES = {side.value: side for side in Side}


class Row(Cause):
    """A cause of a table, whose texts are read when it is shown."""

    @cached_property
    def doc(self) -> str:
        return _rows.page(index.file_of("causes", self.link), self.id, self.title, PAGE)


def rows(link: Link) -> Mapping[str, Mapping[str, Any]]:
    """What a link's table says beside its texts, by id. Raises BadPlugin where a row lacks a key, or has one too many."""
    table = _rows.read(index.file_of("causes", link), "a cause", NEEDED, MORE)
    return {name: {key: value for key, value in row.items() if key not in PAGE} for name, row in table.items()}


def cause(name: str, link: Link, row: Mapping[str, Any]) -> Cause:
    """A row as a cause. Raises BadPlugin where it names a function, a family, a side or a signal that does not exist."""
    named = _rows.named(index.file_of("causes", link), name)
    found = object.__new__(Row)
    vars(found).update(
        id=name,
        link=link,
        title=row["title"],
        findings=dict(row["findings"]),
        prior=row.get("prior", 1.0),
        families=_rows.families_of(row, named),
        applies=_applies(named, row),
        weights=named("weights", row["weights"], WEIGHTS) if "weights" in row else no_weights,
        settings={option: named("settings", side, SIDES) for option, side in row.get("settings", ())},
        refuted_by=tuple(named("refuted_by", one, REFUTATIONS) for one in row.get("refuted_by", ())),
        experiments=tuple(row["experiments"]),
    )
    return found


def _applies(named: _rows.Named, row: Mapping[str, Any]) -> Callable[[Inputs], bool]:
    if "measured_inside" not in row:
        return named("applies", row["applies"], APPLIES) if "applies" in row else always
    identities = [named("measured_inside", one, PROOFS) for one in row["measured_inside"]]
    return lambda inputs: any(identity in inputs.run.series for identity in identities)
