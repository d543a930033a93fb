"""The protocol of an evaluation: everything except the policy that changes a score, in one record with one hash.

Two scores are comparable only if both come from the same protocol. An absent field is *not known*. A null field is known
to be empty (no tools, no limit). Neither is filled in from a guess.
"""

import difflib
import tomllib
from collections.abc import Callable, Collection, Mapping
from functools import cached_property
from pathlib import Path
from types import MappingProxyType
from typing import Any

from firstbreak.dialects._table import spelled, words
from firstbreak.evals.canonical import canonical, digest, plain
from firstbreak.readers import Unreadable, why
from firstbreak.values import dataclass, field

SCHEMA = "firstbreak.protocol/1"
FIELDS_FILE = Path(__file__).with_suffix(".toml")


@dataclass(frozen=True)
class Field:
    """One entry of the record. `type` is number, flag, text, list, set (order does not count) or any."""

    name: str
    type: str
    meaning: str


#: other names that trainers and engines give a field
ALIASES: Mapping[str, str] = MappingProxyType(
    spelled(max_new_tokens="max_tokens max_completion_tokens max_output_tokens max_gen_toks", time_limit="timeout")
)
FIELDS: Mapping[str, Field] = MappingProxyType(
    {name: Field(name, *row) for name, row in tomllib.loads(FIELDS_FILE.read_text("utf-8")).items()}
)
OTHER = "other."  #: prefix for what a harness records outside the vocabulary; these fields are compared as well

#: fields without which a score of answers, or of episodes, cannot be reproduced
NEEDED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "answers": words(
            "task split problems prompt_template temperature top_p max_new_tokens tools metric samples_per_problem seed"
        ),
        "episodes": words("env_id env_version episodes episode_cap start_states seeds deterministic reward"),
    }
)
NEEDED_WITH: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {"tools": ("tool_permissions", "tool_timeout", "max_turns"), "pass_k": ("pass_estimator",)}
)
#: fields that only a score of episodes has
EPISODES = frozenset(
    {*NEEDED["episodes"], "env_options", "wrappers", "n_envs", "sticky_actions", "frame_skip", "life_loss_ends"}
    | {"full_action_space", "observation_statistics", "discount"}
)


@dataclass(frozen=True)
class Protocol:
    """The record. `values`: field name -> plain value. Build it with `protocol`, which checks names and types."""

    values: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the canonical record, 64 hexadecimal digits."""
        return digest(SCHEMA, canonical(self.values))

    @property
    def kind(self) -> str:
        """What is scored: "episodes" of an environment, or "answers" to problems."""
        known = self.values.keys()
        of_answers = known & set(NEEDED["answers"]) - {"seed"}
        return "episodes" if known & {"env_id", "episodes"} or (known & EPISODES and not of_answers) else "answers"

    @property
    def missing(self) -> tuple[str, ...]:
        """The missing fields without which the score cannot be reproduced."""
        values = self.values
        more = [name for cause, names in NEEDED_WITH.items() if values.get(cause) for name in names]
        told = {"metric"} if values.get("pass_k") else set()  # pass@k is the metric
        if values.get("pass_k") and values["pass_k"] == values.get("samples_per_problem"):
            told.add("pass_estimator")  # all estimators agree where k answers are drawn
        return tuple(name for name in (*NEEDED[self.kind], *more) if name not in values and name not in told)

    def record(self) -> dict[str, Any]:
        """The content of a locked file. `read` returns the same protocol and checks the hash."""
        return {"schema": SCHEMA, "hash": self.hash, "fields": dict(self.values)}


def protocol(values: Mapping[str, Any]) -> Protocol:
    """A protocol from field names and values, in one spelling.

    Raises ValueError for a name outside the vocabulary (unless it begins with `other.`) and for a value of the wrong
    type, or for a field that has two names. Otherwise a misspelt `temprature` would give a protocol without a temperature.
    """
    named = {ALIASES.get(name, name): name for name in sorted(values)}
    if len(named) < len(values):
        double = next(name for name in values if name not in named.values())
        raise ValueError(f"`{double}` and `{named[ALIASES.get(double, double)]}` are one field; write one of them")
    return Protocol(MappingProxyType({name: _checked(name, values[named[name]]) for name in sorted(named)}))


def read(path: Path) -> Protocol:
    """A protocol from a YAML or JSON file: the fields themselves, or the record that `eval lock` wrote.

    Raises Unreadable where the file is not a protocol, or where a locked protocol was edited.
    """
    import yaml

    try:
        data = yaml.safe_load(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(path, f"cannot be read ({why(error)})", "give a YAML or JSON file of fields") from None
    except yaml.YAMLError as error:
        line = str(getattr(getattr(error, "problem_mark", None), "line", 0) + 1)
        raise Unreadable(path, "is neither YAML nor JSON", "write one `field: value` on each line", line) from None
    if not isinstance(data, dict):
        raise Unreadable(path, "holds no fields", "write one `field: value` on each line, e.g. `temperature: 0.7`")
    locked = data.get("schema") == SCHEMA
    try:
        result = protocol(_nested(data.get("fields") if locked else data))
    except ValueError as error:
        raise Unreadable(path, str(error), "`firstbreak eval fields` lists the fields of a protocol") from None
    if locked and data.get("hash") != result.hash:
        was = str(data.get("hash"))[:12]
        raise Unreadable(
            path,
            f"was changed after it was locked (hash {was}, now {result.hash[:12]})",
            "restore the file, or lock the new protocol under a new name",
        )
    return result


@dataclass(frozen=True)
class FieldDifference:
    """One field whose values differ, or are known for one of two protocols only."""

    field: str
    left: Any  #: None where `only` is "right", or where the value is null
    right: Any
    only: str | None = None  #: "left" or "right" where the other side does not record the field

    @property
    def meaning(self) -> str:
        """The meaning of the field, in words."""
        return FIELDS[self.field].meaning if self.field in FIELDS else "recorded by the harness, outside the vocabulary"


@dataclass(frozen=True)
class Comparison:
    """Two protocols side by side."""

    differs: tuple[FieldDifference, ...]  #: both sides record the field, with different values
    unknown: tuple[FieldDifference, ...]  #: one side does not record the field
    accepted: tuple[FieldDifference, ...]  #: either of these, accepted by the caller

    @property
    def alike(self) -> bool:
        """Whether scores may be compared: no field differs, and no field is known for one side only."""
        return not self.differs and not self.unknown


def compare(left: Protocol, right: Protocol, accept: Collection[str] = ()) -> Comparison:
    """The fields in which two protocols differ, or may differ. `accept`: fields that do not matter to the caller."""
    names = left.values.keys() | right.values.keys()
    found = [
        FieldDifference(name, left.values.get(name), right.values.get(name), only)
        for name in (*(name for name in FIELDS if name in names), *sorted(names - FIELDS.keys()))
        if (only := "right" if name not in left.values else "left" if name not in right.values else None)
        or left.values[name] != right.values[name]
    ]
    judged = [d for d in found if d.field not in accept]
    return Comparison(
        differs=tuple(d for d in judged if d.only is None),
        unknown=tuple(d for d in judged if d.only is not None),
        accepted=tuple(d for d in found if d.field in accept),
    )


def _nested(data: Any) -> dict[str, Any]:
    """Write `other: {a: 1}` as `other.a: 1`."""
    if not isinstance(data, dict):
        raise ValueError("holds no fields")
    fields = {str(name): value for name, value in data.items() if name != "other"}
    other = data.get("other") or {}
    if not isinstance(other, dict):
        raise ValueError("`other` must be a mapping from names to values")
    return fields | {f"{OTHER}{name}": value for name, value in other.items()}


def _checked(name: str, value: Any) -> Any:
    if name.startswith(OTHER):
        return plain(value)
    if name not in FIELDS:
        near = difflib.get_close_matches(name, FIELDS, n=1)
        raise ValueError(
            f"`{name}` is not a field of a protocol; "
            + (f"did you mean `{near[0]}`?" if near else "put it under `other:` if it changes the score")
        )
    try:
        value = plain(value)
    except ValueError as error:
        raise ValueError(f"`{name}`: {error}") from None
    if value is not None and not _TYPES[FIELDS[name].type](value):
        raise ValueError(f"`{name}` must be {_A[FIELDS[name].type]}, not {value!r}")
    if FIELDS[name].type == "set" and value is not None:
        return sorted(value, key=canonical)
    return value


_TYPES: Mapping[str, Callable[[Any], bool]] = {
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "flag": lambda value: isinstance(value, bool),
    "text": lambda value: isinstance(value, str),
    "list": lambda value: isinstance(value, list),
    "set": lambda value: isinstance(value, list),
    "any": lambda value: True,
}
_A = {"number": "a number", "flag": "true or false", "text": "text", "list": "a list", "set": "a list"}
