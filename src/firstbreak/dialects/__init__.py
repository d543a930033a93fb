"""Names -> signals: one file per TRAINER, or one part of small.toml. A dialect knows no file format.

A dialect is a module with

    TITLE: str                         the trainer's name as people write it
    NAMES: dict[str, str | Name]       raw name -> canonical signal; `<x>`, `<path:x>`, `<int:x>` and `<stat>` in a raw name
                                       match a part of it and fill the same placeholder in the signal (see _table.py)
    MARKS: frozenset[str]              raw names that hardly any other trainer writes; two of them choose the dialect

and, where there is something to say,

    WRITES_TEXT: bool                  whether every policy of this trainer writes text
    STRONG: tuple[frozenset[str], ...] names that choose the dialect where they occur together
    ALONE: frozenset[str]              names that choose the dialect where exactly these are logged
    CONFIG_MARKS: frozenset[str]       options that hardly any other trainer has; they count like MARKS
    PREFIXES: dict[str, str]           what loggers put before names -> "" (nothing new), "eval" (held-out data) or "@part";
                                       the first that fits is taken off, then the first that fits the rest
    NOT_CONVERTED: dict[str, str]      raw names that are known and carry no usable number -> why
    AXIS: tuple[str, ...]              raw names of the step axis of tables, the best first
    STEP: str                          what the step counts that the trainer gives to loggers, where it is no update:
                                       "env_steps", ...
    CONFIG: dict[str, str]             this trainer's option -> canonical hyperparameter (see hyperparameters.py); where
                                       several options have one meaning, today's name first
    DEFAULTS: dict[str, dict[str, Any]]  algorithm ("" for all) -> canonical hyperparameter -> the trainer's default, used
                                       only where the run does not say
    OLDER: tuple[Older, ...]           defaults of earlier versions, each with the names or options that such a run is
                                       known by, the newest first
    LOG: dict[str, str]                canonical signal -> how to make this trainer log it (its own option)
    def context(names) -> dict[str, str | Name]              names that mean something else beside these others
    def algorithm(names, config) -> str | None               "grpo", "ppo", ... in lower case
    def refine(values, names, config) -> dict[str, Any]      canonical hyperparameters that are more than a renamed option

Where one signal is logged several times over (per environment, data set, layer, critic), the name of a part is
`signal@part`; see signals.py. Unknown names are kept and listed, never dropped in silence.
"""

import importlib
import json
import os
import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Set
from functools import cache, lru_cache, reduce
from pathlib import Path
from types import ModuleType
from typing import Any

from firstbreak import plugins
from firstbreak.dialects import _small
from firstbreak.dialects._table import Name as Name
from firstbreak.dialects._table import NameTable
from firstbreak.dialects._table import Older as Older
from firstbreak.dialects._table import Origin as Origin
from firstbreak.dialects.signals import STATISTICS, evaluation, lookup
from firstbreak.model import EMPTY
from firstbreak.patterns import pattern
from firstbreak.values import replace

ENOUGH = 2  #: marks that it takes to choose a dialect
#: What each file is recognised by, so that only the run's own dialect is imported. `make docs` writes it. A file that has
#: changed since then, or is new, is imported to see.
INDEX = Path(__file__).with_name("index.json")


class Listed(ModuleType):
    """A dialect whose file is imported where it is asked for more than the index holds."""

    def __init__(self, name: str, row: Mapping[str, Any]) -> None:
        super().__init__(name)
        self.MARKS = frozenset(row["marks"])
        self.STRONG = tuple(map(frozenset, row.get("strong", ())))
        self.ALONE = frozenset(row.get("alone", ()))
        self.CONFIG_MARKS = frozenset(row.get("config_marks", ()))
        self.PREFIXES: Mapping[str, str] = row.get("prefixes", EMPTY)

    def __getattr__(self, attribute: str) -> Any:
        return getattr(importlib.import_module(self.__name__), attribute)

    @property
    def __doc__(self) -> str | None:  # type: ignore[override]
        """What the page of this trainer says."""
        return importlib.import_module(self.__name__).__doc__


def _files() -> Iterator[tuple[str, int]]:
    """(name, bytes) of the files of this folder that may be dialects."""
    for entry in os.scandir(INDEX.parent):
        if entry.name.endswith(".py") and not entry.name.startswith("_"):
            yield entry.name.removesuffix(".py"), entry.stat().st_size


def _row(name: str, size: int) -> Mapping[str, Any]:
    """What the index holds of a file; its size alone where it is no dialect."""
    module = importlib.import_module(f"{__name__}.{name}")
    if not hasattr(module, "NAMES"):
        return {"bytes": size}
    found = {key: getattr(module, key.upper(), ()) for key in ("strong", "alone", "config_marks", "prefixes")}
    found["strong"] = [sorted(names) for names in found["strong"]]
    said = {key: value if isinstance(value, dict | list) else sorted(value) for key, value in found.items() if value}
    return {"bytes": size, "marks": sorted(module.MARKS), **said}


def table() -> str:
    """The index as it has to be, one line for each file, for `make docs`."""
    rows = {name: _row(name, size) for name, size in sorted(_files())} | {_small.FILE.name: _small.recognised()}
    return "{\n" + ",\n".join(f" {json.dumps(name)}: {json.dumps(row)}" for name, row in rows.items()) + "\n}\n"


@cache
def dialects() -> Mapping[str, ModuleType]:
    """Dialect by name: each module of this folder, each trainer of small.toml, each entry point of firstbreak.dialects.

    Raises firstbreak.plugins.BadPlugin where two have one name.
    """
    known = json.loads(INDEX.read_text("utf-8")) if INDEX.exists() else {}
    found = _small.modules(known.get(_small.FILE.name))
    files: list[ModuleType] = []
    for name, size in _files():
        row = known.get(name)
        row = row if row is not None and row["bytes"] == size else _row(name, size)
        files += [Listed(f"{__name__}.{name}", row)] if "marks" in row else []
    for module in (*files, *map(importlib.import_module, plugins.elsewhere("firstbreak.dialects"))):
        if (short := _short(module)) in found:
            raise plugins.BadPlugin(f"{module.__name__}: the name {short!r} is taken by {found[short].__name__}")
        found[short] = module
    return dict(sorted(found.items()))


def choose(names: Collection[str], config: Mapping[str, Any], trainer: str | None = None) -> ModuleType:
    """The dialect of the trainer that wrote these names; `generic` where no trainer is recognised.

    Raises ValueError where `trainer` is given and there is no such dialect.
    """
    known = dialects()
    if trainer is not None:
        if trainer not in known:
            raise ValueError(f"no trainer is called {trainer!r}; known: {', '.join(known)}")
        return known[trainer]
    cleaned = {_clean(name) for name in names}
    scores = {name: _score(name, cleaned, config) for name in known}
    best = max(scores.values())
    tied = [name for name, score in scores.items() if score == best]
    if best < ENOUGH:
        return known["generic"]
    return known[max(tied, key=lambda name: sum(_own(raw, name) is not None for raw in cleaned))]


def _score(dialect: str, names: Set[str], config: Mapping[str, Any]) -> int:
    """Marks of a dialect that a run bears, each counted once."""
    module = dialects()[dialect]
    bare = names | {short for name in names for short, _ in _unprefixed(name, dialect)}
    exact, patterns = _marks(dialect)
    marks = {mark.signal for name in bare if (mark := patterns.get(name))} if patterns else set()
    together = [strong for strong in getattr(module, "STRONG", ()) if strong <= bare]
    alone = names and names == getattr(module, "ALONE", frozenset())
    options = [option for option in getattr(module, "CONFIG_MARKS", ()) if option in config]
    return len(exact & bare) + len(marks) + len(options) + ENOUGH * (len(together) + bool(alone))


@cache
def _marks(dialect: str) -> tuple[frozenset[str], NameTable | None]:
    marks: frozenset[str] = dialects()[dialect].MARKS
    patterns = {mark: Name(f"mark {i}") for i, mark in enumerate(sorted(m for m in marks if "<" in m))}
    return marks - patterns.keys(), NameTable(patterns) if patterns else None


@cache
def _names(dialect: str) -> NameTable:
    return NameTable(dialects()[dialect].NAMES)


@cache
def _prefixes(dialect: str) -> tuple[re.Pattern[str], list[str]] | None:
    """One pattern for all prefixes, and what each of them does to the signal, as a format of its groups."""
    prefixes: Mapping[str, str] = getattr(dialects()[dialect], "PREFIXES", {})
    if not prefixes:
        return None
    groups = [f"(?P<_{i}>{re.sub(r'<[^<>]+>', '([^/]+)', re.escape(prefix))})" for i, prefix in enumerate(prefixes)]
    return re.compile("|".join(groups)), [re.sub(r"<[^<>]+>", "{}", effect) for effect in prefixes.values()]


def translate(name: str, dialect: ModuleType) -> Name | None:
    """What a raw name means in this dialect: exact, by pattern, behind a known prefix, as a canonical name, generic.

    None where it is not known, and where it is known to carry no usable number (see `not_converted`).
    """
    return _translate(name, _short(dialect))


@lru_cache(maxsize=65536)
def _translate(name: str, dialect: str) -> Name | None:
    raw = _clean(name)
    if _refusal(raw, dialect):
        return None
    own = _own(raw, dialect)
    if own is None and (labelled := _LABELS.fullmatch(raw)):
        whole = _translate(labelled[1], dialect)
        return _with(whole, f"@{labelled[2]}") if whole else None
    if own is None and "." in raw and lookup(raw) is not None:
        return Name(raw)  # logged in our own vocabulary, as our adapters and lab do
    if own is not None or dialect == "generic":
        return own
    generic = dialects()["generic"]
    plain: Name | None = generic.translate(raw)
    return None if plain is None or generic.ambiguous(raw) else plain


def _own(raw: str, dialect: str) -> Name | None:
    """What a cleaned name means to the trainer itself."""
    if dialect == "generic":
        return dialects()["generic"].translate(raw)  # type: ignore[no-any-return]
    return _behind_prefix(raw, dialect, _names(dialect))


def _behind_prefix(raw: str, dialect: str, table: NameTable) -> Name | None:
    """The name itself, else what stands behind a prefix, else a pattern that fits the name with its prefix."""
    if exact := table.exact(raw):
        return exact
    for short, effects in _unprefixed(raw, dialect):
        if found := table.get(short):
            return reduce(_with, effects, found)
    return table.get(raw)


def _unprefixed(raw: str, dialect: str) -> Iterator[tuple[str, list[str]]]:
    """The name without its first prefix, its first two, ..., with what they do to the signal, the inner one first."""
    prefixes = _prefixes(dialect)
    effects: list[str] = []
    while prefixes and (match := prefixes[0].match(raw)) and match.lastgroup and match.lastindex:
        effect = prefixes[1][int(match.lastgroup[1:])]
        effects.insert(0, effect.format(*match.groups()[match.lastindex :]))
        raw = raw[match.end() :]
        yield raw, effects


def _with(name: Name, effect: str) -> Name:
    if effect == "eval":
        return replace(name, signal=evaluation(name.signal))
    if effect.startswith("@") and "@" not in name.signal:
        return replace(name, signal=f"{name.signal}{effect}")
    return name


def understand(names: Collection[str], dialect: ModuleType, named: Mapping[str, str] = EMPTY) -> dict[str, Name]:
    """Every raw name that is understood, in the order given, with its meaning among all the others:

    - `named` holds raw names that the user has explained: name -> canonical signal;
    - where a trainer uses one word for two things, the other names tell which (`context` of the dialect);
    - a slice that stands alone, or is called "all", stands for the whole: where only one data set is evaluated,
      `eval.accuracy@gsm8k` is `eval.accuracy`. A moment of the update is no such slice.
    """
    cleaned = {name: _clean(name) for name in names}
    its = [_own(raw, _short(dialect)) for raw in cleaned.values()]
    if None in its and all(m is None or m.signal.startswith(("progress.", "throughput.", "time.")) for m in its):
        dialect = dialects()["generic"]  # its options alone were recognised: the names are a script's own
    others = frozenset(cleaned.values()) - {""}
    context = getattr(dialect, "context", None)
    special = NameTable(context(set(cleaned.values()))) if context else None
    by_words = NameTable({} if context else dialects()["generic"].context(set(cleaned.values())))
    found: dict[str, Name] = {}
    for name, raw in cleaned.items():
        if signal := named.get(name, named.get(raw)):
            found[name] = Name(signal, note="named by the user", origin=Origin.USER)
            continue
        meaning = (special and _behind_prefix(raw, _short(dialect), special)) or translate(name, dialect)
        if meaning is not None and meaning.origin is Origin.WORDS:  # the trainer does not write it: a script's own name
            meaning = by_words.exact(raw) or meaning
        own = raw.partition("/")[2] or raw.partition("_")[2]  # nobody knows what it is in training either
        if meaning is None and own not in others and not_converted(name, dialect) is None:
            meaning = _evaluation(raw)
        if meaning is not None:
            found[name] = meaning
    parts: defaultdict[str, set[str]] = defaultdict(set)
    for meaning in found.values():
        parts[meaning.signal.partition("@")[0]].add(meaning.signal)
    for_all = {_for_all(whole, signals): whole for whole, signals in parts.items()}
    return {name: replace(n, signal=for_all.get(n.signal, n.signal)) for name, n in found.items()}


#: `eval_gsm8k`, `heldout/math`: what people call the scores of their own evaluations
#: a share of wins against an opponent that does not learn
_HELD_OUT = pattern(
    r"(?:(?:eval(?:uation)?|val(?:id(?:ation)?)?|held[-_]?out|test|benchmarks?)[-_/.]+)?"
    r"((?:(?:win(?:_?rate)?|score)_)?(?:vs|against)_(?!.*(?:self|pool|latest|past|prev|old|opponent|ckpt|checkpoint)).+)"
    r"|(?:eval(?:uation)?|val(?:id(?:ation)?)?|held[-_]?out|test|benchmarks?)[-_/.]+(.+)"
    r"|((?:\w+/)?(?:aime|amc|math_?500|gsm8?k|k?mmlu|humaneval|mbpp|livecode\w*|swe_?bench|spider|hotpotqa)\d*(?:[-_/. @].+)?)",
    re.IGNORECASE,
)
#: words of what an evaluation measures beside its score
_NO_SCORE = pattern(
    r"(?:^|[^a-z])(?:loss|time|runtime|seconds?|secs?|per|len|length|lengths|tokens?|turns|steps?|epochs?|iter|count|num|n|problems|questions|prompts"
    r"|total|samples|episodes?|size|kl|entropy|ratio|clip\w*|grad\w*|lr|rate|std|var|variance|min|max|median|p\d+|error"
    r"|err|mse|mae|rmse|regret|perplexity|ppl|cost|dist(?:ance)?s?|collisions?|crash\w*|energy|delays?|latency|wait\w*|violations?|penalt\w*|terminat\w*|memory|mem|gpu|speed|throughput|temperature|seed|id|index|jobs?|restarts?|ranks?|nodes?|folds?|attempts?|versions?|format|truncat\w*|abort\w*"
    r"|no|none|opponents?|dead|deaths?|lost|missing|every|(?:result|return|reward|score)s?_\d{1,3}$|fail\w*|timeouts?|invalid|empty|repeat\w*|logp\w*|logits?|margins?|chosen|rejected|advantages?|values?|actions?|obs\w*)"
    r"(?:[^a-z]|$)",
    re.IGNORECASE,
)

_CAMEL = pattern(r"(?<=[a-z])(?=[A-Z])")
_SCORES = ("reward.", "success_rate", "score.", "returns.", "rm.", "pref.reward.accuracy", "eval.")
_WON = pattern(r"(?:win|won|pass|success|solve|accept)\w*[-_ ]?rate", re.IGNORECASE)


def _evaluation(raw: str) -> Name | None:
    """What nothing explains, where it is called an evaluation and by no word of something else than a score."""
    named = _HELD_OUT.fullmatch(raw)
    own = (named[1] or named[2] or named[3]).removesuffix("/mean") if named else ""
    if not re.search("[a-z]", own, re.IGNORECASE) or _NO_SCORE.search(_WON.sub("", _CAMEL.sub("_", own))):
        return None
    known = dialects()["generic"].translate(own)
    if known is not None and not known.signal.startswith(_SCORES):
        return None  # `eval/eps`: what is no score in training is none here
    name = re.sub(r"\W+", "_", own).strip("_")
    if name.lower() in ("mean", "avg", "average"):
        return Name("eval.reward", origin=Origin.WORDS)
    return Name(f"eval.named.{name}", note="an evaluation under its own name", origin=Origin.WORDS)


#: `policy.ratio.absdev@first_minibatch`: before anything was learned
MOMENT = pattern(r"@(first_minibatch|minibatch\d+)$")


def _for_all(whole: str, signals: Set[str]) -> str:
    """Which of a signal's slices stands for the whole."""
    if whole in signals or len(signals) > 1:
        return whole if whole in signals else f"{whole}@all"
    alone = next(iter(signals))
    return whole if MOMENT.search(alone) else alone


def not_converted(name: str, dialect: ModuleType) -> str | None:
    """Why a name that this trainer is known to write carries no usable number; None where that is not so."""
    return _refusal(_clean(name), _short(dialect))


def _refusal(raw: str, dialect: str) -> str | None:
    reasons = _reasons(dialect)
    if not reasons or raw in reasons:
        return reasons.get(raw)
    return next((reasons[short] for short, _ in _unprefixed(raw, dialect) if short in reasons), None)


@cache
def _reasons(dialect: str) -> Mapping[str, str]:
    return getattr(dialects()[dialect], "NOT_CONVERTED", {})


def axes(dialect: ModuleType) -> tuple[str, ...]:
    """Raw names that a table's step axis may have, the best first."""
    return tuple(dict.fromkeys((*getattr(dialect, "AXIS", ()), *dialects()["generic"].AXIS)))


_KINDS = {
    "progress.env_steps": "env_steps",
    "progress.iterations": "iteration",
    "progress.episodes": "episode",
    "progress.epoch": "epoch",
}
_LOOKS_LIKE = (
    ("env_steps", pattern(r"time_?steps?|env|interact|frames|agent_steps|actor_steps|num_steps", re.I)),
    ("iteration", pattern(r"iter|rollout", re.I)),
    ("episode", pattern(r"episode", re.I)),
    ("epoch", pattern(r"epoch", re.I)),
    ("second", pattern(r"seconds", re.I)),
)


def writes_text(name: str | None) -> bool:
    """Whether every policy that this trainer trains writes text."""
    return bool(getattr(dialects().get(name or ""), "WRITES_TEXT", False))


def axis_kind(axis: str, dialect: ModuleType | None = None) -> str:
    """What one unit of a step axis is: "env_steps", "iteration", "episode", "epoch" or "step".

    Without a name, it is the step that the trainer gives to its logger.
    """
    if not axis:
        return getattr(dialect, "STEP", "step")
    meaning = translate(axis, dialect) if dialect else None
    if meaning and meaning.signal in _KINDS:
        return _KINDS[meaning.signal]
    return next((kind for kind, pattern in _LOOKS_LIKE if pattern.search(axis)), "step")


def trainer_name(dialect: ModuleType) -> str | None:
    """The dialect's name, None where no trainer was recognised."""
    name = _short(dialect)
    return None if name == "generic" else name


def algorithm(dialect: ModuleType, names: Collection[str], config: Mapping[str, Any]) -> str | None:
    """The algorithm, in lower case, where the names or the configuration tell it."""
    infer = getattr(dialect, "algorithm", None)
    return infer({_clean(name) for name in names}, config) if infer else None


def defaults(dialect: ModuleType, names: Collection[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """What the trainer assumes where the run says nothing, in the version that the names and options tell."""
    cleaned = {_clean(name) for name in names}
    bare = cleaned | {short for name in cleaned for short, _ in _unprefixed(name, _short(dialect))}
    older = [version for version in getattr(dialect, "OLDER", ()) if version.fits(bare, config)]
    method = algorithm(dialect, names, config) or ""
    tables = [getattr(dialect, "DEFAULTS", {}), *(version.defaults for version in older)]
    return {
        name: value for table in tables for part in {"": 0, method: 0} for name, value in table.get(part, {}).items()
    }


def how_to_log(trainer: str | None, signal: str) -> str:
    """The trainer's own option that makes it log a signal, else the name under which it writes it; "" where neither is known."""
    module = dialects().get(trainer or "generic")
    if how := option_to_log(trainer, signal):
        return how
    names = _written(_short(module)).get(_key(signal), ()) if trainer and module is not None else ()
    return f"{module.TITLE} writes it as `{names[0]}`, where it is switched on" if names and module is not None else ""


def option_to_log(trainer: str | None, signal: str) -> str:
    """The trainer's own option that makes it log a signal; "" where none is known."""
    module = dialects().get(trainer or "generic")
    log: Mapping[str, str] = getattr(module, "LOG", {})
    found = lookup(signal)
    stem = _STATISTIC.sub("", signal.partition("@")[0])
    of_the_same_option = (f"{stem}.mean", stem) if trainer else ()  # a loop of one's own logs each name by itself
    candidates = (signal, found.family if found else "", *of_the_same_option)
    return next((log[c] for c in candidates if c in log), "")


def logs(trainer: str | None, algorithm: str | None, signal: str) -> bool:
    """Whether an algorithm of a trainer logs a signal, as far as is known."""
    known: Mapping[str, tuple[str, ...]] = getattr(dialects().get(trainer or "generic"), "ALGORITHMS", {})
    return algorithm is None or algorithm in known.get(signal, (algorithm,))


def spellings(signal: str) -> dict[str, tuple[str, ...]]:
    """What each trainer calls a signal: dialect -> raw names, slices behind the whole."""
    called = {dialect: _written(dialect).get(_key(signal), ()) for dialect in dialects()}
    return {dialect: names for dialect, names in called.items() if names}


@cache
def _written(dialect: str) -> dict[str, tuple[str, ...]]:
    """Signal (a family by its name with `<x>`) -> the raw names that carry it."""
    carried: defaultdict[str, list[tuple[bool, str]]] = defaultdict(list)
    for raw, meaning in dialects()[dialect].NAMES.items():
        whole, sliced, _ = (meaning if isinstance(meaning, str) else meaning.signal).partition("@")
        for statistic in STATISTICS if "<stat>" in whole else ("",):
            carried[_key(whole.replace("<stat>", statistic))].append((bool(sliced), raw))
    return {signal: tuple(raw for _, raw in sorted(names, key=lambda n: n[0])) for signal, names in carried.items()}


def _key(signal: str) -> str:
    found = lookup(signal)
    return (found.family or found.name) if found else signal


_STATISTIC = pattern(rf"\.(k[123]|{'|'.join(STATISTICS)})$")


def _short(dialect: ModuleType) -> str:
    return dialect.__name__.rpartition(".")[2]


#: `reward[agent=dqn,seed=1]`: a table's labels, as readers write them
_LABELS = pattern(r"(.+)\[([^\[\]]+=[^\[\]]+)\]")
_BESIDE_SLASH = pattern(r"\s*/\s*")
_REDUCTION = pattern(r"@(?:mean|max|min|p50|p99|std|sum)$")


def _clean(name: str) -> str:
    """`rewards / f / mean` of a notebook's table is `rewards/f/mean`; `pg_loss@sum` of ROLL's console is `pg_loss`."""
    return _REDUCTION.sub("", _BESIDE_SLASH.sub("/", name.strip()))
