"""Is the protocol of the evaluation complete and fixed, before the first number is measured with it?"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from firstbreak import dialects
from firstbreak.dialects.hyperparameters import canonical_config
from firstbreak.evals import protocol as protocols
from firstbreak.evals.canonical import plain
from firstbreak.evals.protocol import FIELDS, Protocol
from firstbreak.evals.training import SETTINGS
from firstbreak.model import Config, Link, NotApplicable
from firstbreak.preflight import Answer, Report, ReportTable, ask, critical, notice, warning
from firstbreak.readers import Unreadable, config_file
from firstbreak.readers.read import read as read_run

#: names whose meaning changes with time
MOVING = frozenset({"latest", "main", "master", "head", "newest", "current", "nightly", "auto"})
#: files that a harness wrote, with what it happened to record of the protocol
HARNESS = frozenset({".npz", ".zip"})
#: an option of the evaluations that a trainer makes itself
EVALUATION = re.compile(r"(?:^|[._])(?:eval|val)(?:[^.]*\.|_)\w+$")


def check(protocol: str, *, rollout: str | None = None, expect: str | None = None) -> Report:
    """Check a protocol (YAML or JSON, see `firstbreak eval fields`), or what Stable-Baselines3 recorded of one.

    That is its `evaluations.npz`, or a saved model (.zip) with that file beside it; nothing is unpickled.
    `rollout` is a run or a training configuration whose settings of generation are compared; `expect` the hash (or its
    beginning) that the protocol was locked with. Raises `Unreadable` where a file cannot be read, or where a locked
    protocol was edited.
    """
    path = Path(protocol)
    harness = path.suffix in HARNESS
    found = _of_harness(path) if harness else protocols.read(path)
    trained = None if rollout is None else _settings(rollout)
    probes = (
        ("eval-complete", lambda: complete(found, harness)),
        ("eval-fixed", lambda: fixed(found)),
        ("eval-locked", lambda: locked("" if harness else path.read_text(encoding="utf-8"), found, expect)),
        ("eval-rollout", lambda: like_rollouts(found, trained)),
    )
    return Report(
        check="eval",
        target=protocol,
        outcomes=tuple(ask(name, Link.EVALUATION, probe) for name, probe in probes),
        checked=(
            ("scores", found.kind),
            *((name, str(found.values[name])) for name in ("env_id", "episodes") if name in found.values and harness),
            ("fields", str(len(found.values))),
            ("hash", found.hash[:16]),
        ),
        exhibits=() if trained is None else (_table(found, trained),),
        numbers={"hash": found.hash, "missing": list(found.missing)},
    )


def _of_harness(path: Path) -> Protocol:
    """What the files of a harness tell of the protocol. Raises Unreadable."""
    from firstbreak.evals.importers import sb3

    if not path.is_file():
        raise Unreadable(path, "there is no such file", "give the file that EvalCallback wrote")
    evaluations = sb3.read(sb3.evaluations_of(path) if path.suffix == ".zip" else path)
    if not evaluations:
        raise Unreadable(path, "holds no evaluation yet", "wait for the first one")
    return evaluations[-1].protocol


def complete(found: Protocol, harness: bool) -> Answer:
    """Every field that is needed to measure the score again is there. What a harness leaves out is no fault of its file."""
    if not found.missing:
        return f"all fields that a score of {found.kind} needs"
    if harness:
        return warning(
            f"{found.values.get('harness')} does not record {', '.join(f'`{name}`' for name in found.missing)}: write these "
            "into a protocol (`firstbreak eval fields` explains them), else the score cannot be measured again.",
            missing=list(found.missing),
        )
    what = "; ".join(f"`{name}`: {FIELDS[name].meaning}" for name in found.missing)
    return critical(
        f"fields are missing, so the score cannot be measured again: {what}. Add them; `null` says that there is none.",
        missing=list(found.missing),
    )


def fixed(found: Protocol) -> Answer:
    """No value changes its meaning with time, and random samples have a seed."""
    moving = [name for name, value in found.values.items() if isinstance(value, str) and value.lower() in MOVING]
    if moving:
        said = ", ".join(f"{name}: {found.values[name]}" for name in moving)
        return warning(f"{said}: the meaning changes with time. Name a version, a commit or a date.")
    drawn = found.values.get("temperature")
    if found.kind == "answers" and drawn and found.values.get("seed") is None:
        return warning(
            f"answers are sampled at temperature {drawn:g} without a seed: two measurements differ by chance. Set `seed`, or "
            "sample several answers for each problem."
        )
    if found.values.get("pass_k") and (found.values.get("samples_per_problem") or 0) < found.values["pass_k"]:
        return critical(
            f"pass@{found.values['pass_k']} needs at least that many answers, but samples_per_problem is "
            f"{found.values.get('samples_per_problem')}. Sample more (twice k for a usable estimate)."
        )
    return "no value changes its meaning with time"


def locked(text: str, found: Protocol, expect: str | None) -> Answer:
    """The file's text contains its own hash (else `protocols.read` raises), and the hash is the expected one."""
    if expect is not None and not found.hash.startswith(expect):
        return critical(
            f"the hash is {found.hash[:16]}, not {expect[:16]}: this is not the protocol that was agreed on. "
            "Scores are not comparable."
        )
    if expect is None and protocols.SCHEMA not in text:
        return warning(
            "the protocol is not locked: it can change between two evaluations, and nothing shows the change. "
            f"`firstbreak eval lock` writes it with its hash ({found.hash[:16]})."
        )
    return f"locked as {found.hash[:16]}"


def like_rollouts(found: Protocol, trained: dict[str, Any] | None) -> Answer:
    """Settings of generation against those of the training rollouts, and of the configuration's own evaluation."""
    if trained is None:
        return NotApplicable("no run or training configuration was given (--rollout)")
    own = [f"{n} {v}" for n, v in trained.items() if _field(n) != n and found.values.get(_field(n), v) != v]
    if own:
        return warning(
            f"the configuration itself evaluates with {', '.join(own)}, and the protocol says otherwise: correct one of the two",
            differs=own,
        )
    apart = [n for n, value in trained.items() if n in found.values and found.values[n] != value]
    limit, allowed = trained.get("max_new_tokens"), found.values.get("max_new_tokens")
    if limit and allowed and allowed < limit:
        return warning(
            f"answers may have {allowed} tokens in the evaluation and {limit} in training: long answers are cut in the "
            "evaluation, and its score falls. Raise max_new_tokens of the evaluation."
        )
    if apart:
        said = ", ".join(f"{n} {found.values[n]} (rollouts: {trained[n]})" for n in apart)
        return notice(f"{said}. That may be meant; training and evaluation scores then do not compare.", differs=apart)
    shared = ", ".join(n for n in trained if n in found.values)
    return f"as in the rollouts: {shared}" if shared else "the training configuration tells none of its settings"


def _settings(rollout: str) -> dict[str, Any]:
    """The settings of generation of a run or a training configuration; those of its own evaluations under its own names."""
    config = _config(rollout)
    found = {name: plain(config.get(name)) for name in SETTINGS if config.get(name) is not None}
    told = {n: plain(v) for n, v in config.raw.items() if v is not None and EVALUATION.search(n)}
    own = {n: value for n, value in told.items() if _field(n) in SETTINGS}
    if not found | own:
        raise Unreadable(rollout, "tells no setting of generation", f"give a file with {', '.join(SETTINGS[:3])}")
    return found | own


def _config(rollout: str) -> Config:
    """The options of a run, or of a file that holds options, whatever its name."""
    try:
        return read_run(rollout).config
    except Unreadable:
        path = Path(rollout)
        if not path.is_file() or path.suffix.lower() not in (".yaml", ".yml", ".json", ".toml"):
            raise
        options = config_file.read(path).config
        return canonical_config(options, dialects.choose((), options, None), ())


def _field(option: str) -> str:
    name = re.sub(r"^(?:eval|val)_", "", option.rpartition(".")[2])
    return protocols.ALIASES.get(name, name)


def _table(found: Protocol, trained: dict[str, Any]) -> ReportTable:
    names = [name for name in SETTINGS if name in trained or name in found.values]
    cells = [(n, str(found.values.get(n, "not recorded")), str(trained.get(n, "not recorded"))) for n in names]
    both = trained.keys() & found.values.keys()
    rows = tuple((n, left, right, "differs" if n in both and left != right else "") for n, left, right in cells)
    columns = ("setting", "evaluation", "rollouts", "")
    return ReportTable(title="Compared with the training rollouts", columns=columns, rows=rows)
