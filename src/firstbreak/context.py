"""What a run was made with, in one file beside it: `firstbreak-context.json`.

    firstbreak.context.record("runs/ppo", config=args, seed=7)      in the training script, before training
    firstbreak.context.load("runs/ppo")                             -> Context, or None where there is none
    firstbreak.context.differences(before, after)                   what is not the same in two of them

The configuration is read back like any other configuration file of a run, so `diagnose` knows it too. The file is meant
to be shown to others: secrets in the configuration, the command line, the repository's address and the diff are masked,
and of the environment only variables that change how a run behaves are kept, by name.
"""

import datetime
import hashlib
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, fields, is_dataclass
from pathlib import Path
from typing import Any, TypeVar

from firstbreak.masking import Mask
from firstbreak.readers import Unreadable
from firstbreak.readers.opening import CONTEXT, beneath, read_whole, roots_of
from firstbreak.values import dataclass, field
from firstbreak.written import write

FILE = CONTEXT
SCHEMA = "firstbreak.context/1"
MAX_BYTES = 1 << 28
DIFF_BYTES = 1 << 18  #: of the diff that many are kept; its hash covers all of it
T = TypeVar("T")

_ENVIRONMENT = re.compile(
    r"(CUDA_|NCCL_|OMP_|MKL_|TORCH(_|DYNAMO|INDUCTOR)|PYTORCH_|PYTHONHASHSEED$|XLA_|JAX_|TOKENIZERS_|VLLM_|SGLANG_|DS_"
    r"|ACCELERATE_|WORLD_SIZE$|LOCAL_WORLD_SIZE$|RANK$|SLURM_(JOB_ID|NNODES|NTASKS|GPUS\w*)$|MUJOCO_GL$)"
)


@dataclass(frozen=True, kw_only=True)
class Code:
    """The code of a run, as git knows it. `dirty` is None where there is no repository."""

    commit: str = ""
    branch: str = ""
    remote: str = ""
    dirty: bool | None = None  #: something differs from the commit: tracked files, or files that git does not know
    digest: str = ""  #: SHA-256 of all that differs from the commit, "" where nothing does
    diff: str = ""  #: the first DIFF_BYTES of it, secrets masked
    diff_cut: bool = False
    untracked: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Hardware:
    """The machine. Sizes in bytes."""

    system: str = ""
    processor: str = ""
    cores: int = 0
    memory: int = 0
    gpus: tuple[Mapping[str, Any], ...] = ()  #: {"name", "memory", "driver"} each


@dataclass(frozen=True, kw_only=True)
class Context:
    """What a run was made with."""

    created: str = ""  #: UTC, ISO 8601
    command: tuple[str, ...] = ()
    config: Mapping[str, Any] = field(default_factory=dict)
    seeds: Mapping[str, int] = field(default_factory=dict)
    code: Code = field(default_factory=Code)
    python: str = ""
    packages: Mapping[str, str] = field(default_factory=dict)
    hardware: Hardware = field(default_factory=Hardware)
    environment: Mapping[str, str] = field(default_factory=dict)
    checkpoint: str = ""  #: where the weights are written, or a run began
    logs: tuple[str, ...] = ()  #: where the training logs are
    evaluation: str = ""  #: the command that measures the score


@dataclass(frozen=True)
class Difference:
    """One thing that is not the same: `part` is "config", "code", "packages", ...; None where one side lacks it."""

    part: str
    name: str
    before: Any
    after: Any


def record(
    folder: str | os.PathLike[str],
    *,
    config: Any = None,
    seed: Any = None,
    code: Path | None = None,
    checkpoint: str | os.PathLike[str] = "",
    logs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    evaluation: str | Sequence[str] = "",
) -> Context:
    """Writes the context of this process into the run's folder (made where it is missing), and returns it.

    `config` is a mapping, a dataclass or an argparse.Namespace; `seed` a number or a mapping of names to numbers, and is
    looked for in the configuration where it is not given; `code` a folder of the repository (the current one). `checkpoint` and
    `logs` are paths, `evaluation` the command that measures the score, as text or as arguments.
    """
    context = capture(config=config, seed=seed, code=code, checkpoint=checkpoint, logs=logs, evaluation=evaluation)
    path = Path(folder) / FILE
    path.parent.mkdir(parents=True, exist_ok=True)
    write(path, (json.dumps({"schema": SCHEMA, **asdict(context)}, indent=1) + "\n").encode())
    return context


def capture(
    *,
    config: Any = None,
    seed: Any = None,
    code: Path | None = None,
    command: Sequence[str] | None = None,
    checkpoint: str | os.PathLike[str] = "",
    logs: str | os.PathLike[str] | Sequence[str | os.PathLike[str]] = (),
    evaluation: str | Sequence[str] = "",
) -> Context:
    """The context of this process, secrets masked. Never raises for want of git, a repository or a GPU."""
    options = _plain(_mapping(config))
    seeds = {"seed": seed} if isinstance(seed, int) else dict(seed) if seed is not None else dict(_seeds(options))
    mask = Mask(os.environ)
    paths = [logs] if isinstance(logs, str | os.PathLike) else logs
    measured = shlex.split(evaluation) if isinstance(evaluation, str) else list(evaluation)
    return Context(
        created=datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        command=tuple(mask.command(sys.orig_argv if command is None else command)),
        config=mask.tree(options),
        seeds=seeds,
        code=_code(code or Path.cwd(), mask),
        python=platform.python_version(),
        packages=_packages(),
        hardware=_hardware(),
        environment={k: mask.text(v) for k, v in sorted(os.environ.items()) if _ENVIRONMENT.match(k)},
        checkpoint=mask.text(os.fspath(checkpoint)),
        logs=tuple(mask.text(os.fspath(path)) for path in paths),
        evaluation=shlex.join(mask.command(measured)),
    )


def load(folder: str | os.PathLike[str]) -> Context | None:
    """The context that lies in a run's folder (or in the given file); None where there is none.

    Raises Unreadable where the file is there and is no context.
    """
    place = Path(folder)
    path = place / FILE if place.is_dir() else place if place.name == FILE else place.parent / FILE
    if not path.is_file():
        return None
    try:
        with beneath(*roots_of(path.parent)):
            tree = json.loads(read_whole(path, MAX_BYTES))
    except (ValueError, RecursionError) as error:
        raise Unreadable(path, f"is no JSON ({error})", "record the context again") from None
    if not isinstance(tree, dict) or tree.get("schema") != SCHEMA:
        raise Unreadable(path, f"is no {SCHEMA} file", "record the context again with this version of firstbreak")
    try:
        code, hardware = _build(Code, tree.pop("code", {})), _build(Hardware, tree.pop("hardware", {}))
        return _build(Context, {**tree, "code": code, "hardware": hardware})
    except (TypeError, ValueError, AttributeError) as error:
        raise Unreadable(path, f"is no {SCHEMA} file ({error})", "record the context again") from None


def differences(before: Context, after: Context) -> list[Difference]:
    """What is not the same, in the order in which a reader would suspect it: configuration, seeds, code, packages, ..."""
    pairs: list[tuple[str, Mapping[str, Any], Mapping[str, Any]]] = [
        ("config", dict(leaves(before.config)), dict(leaves(after.config))),
        ("seeds", before.seeds, after.seeds),
        ("code", _identity(before.code), _identity(after.code)),
        ("packages", {"python": before.python, **before.packages}, {"python": after.python, **after.packages}),
        ("hardware", asdict(before.hardware), asdict(after.hardware)),
        ("environment", before.environment, after.environment),
        ("command", {"command": " ".join(before.command)}, {"command": " ".join(after.command)}),
    ]
    return [
        Difference(part, name, old.get(name), new.get(name))
        for part, old, new in pairs
        for name in dict.fromkeys((*old, *new))
        if old.get(name) != new.get(name)
    ]


def _identity(code: Code) -> dict[str, str]:
    return {"commit": code.commit, "changes": code.digest}


# --- what is looked at -----------------------------------------------------------------------------------------------


def _git(folder: Path, *arguments: str, stdin: bytes | None = None) -> bytes | None:
    """What git says, or None where there is no git, no repository, or no answer within ten seconds."""
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, input=stdin, capture_output=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout if done.returncode == 0 else None


def _code(folder: Path, mask: Mask) -> Code:
    commit = _git(folder, "rev-parse", "HEAD")
    top = _git(folder, "rev-parse", "--show-toplevel")
    if commit is None or top is None:
        return Code()
    root = Path(os.fsdecode(top.rstrip(b"\n")))
    # --no-ext-diff and --no-textconv: a repository's configuration must not choose the program that runs here
    diff = _git(root, "diff", "HEAD", "--no-color", "--no-ext-diff", "--no-textconv") or b""
    listed = _git(root, "ls-files", "--others", "--exclude-standard", "-z") or b""
    # the record itself is no change of what it records
    untracked = [os.fsdecode(name) for name in listed.split(b"\0") if name and os.path.basename(name) != FILE.encode()]
    dirty = bool(diff or untracked)
    return Code(
        commit=commit.decode().strip(),
        branch=(_git(root, "rev-parse", "--abbrev-ref", "HEAD") or b"").decode("utf-8", "replace").strip(),
        remote=mask.text((_git(root, "remote", "get-url", "origin") or b"").decode("utf-8", "replace").strip()),
        dirty=dirty,
        digest=_digest(root, diff, untracked) if dirty else "",
        diff=mask.text(diff[:DIFF_BYTES].decode("utf-8", "replace")),
        diff_cut=len(diff) > DIFF_BYTES,
        untracked=tuple(untracked),
    )


def _digest(root: Path, diff: bytes, untracked: Sequence[str]) -> str:
    """SHA-256 over the diff and over name, size and content (of files up to 1 MiB) of what git does not know."""
    digest = hashlib.sha256(diff)
    for name in untracked:
        path = root / name
        try:
            size = path.stat().st_size
            content = path.read_bytes() if path.is_file() and size <= 1 << 20 else b""
        except OSError:
            size, content = 0, b""
        digest.update(b"\0%s\0%d\0" % (os.fsencode(name), size) + content)
    return digest.hexdigest()


def _packages() -> dict[str, str]:
    from importlib.metadata import distributions

    found = {d.metadata["Name"]: d.version for d in distributions() if d.metadata["Name"]}
    return dict(sorted(found.items(), key=lambda item: item[0].lower()))


def _hardware() -> Hardware:
    return Hardware(
        system=platform.platform(),
        processor=_processor(),
        cores=os.cpu_count() or 0,
        memory=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") if hasattr(os, "sysconf") else 0,
        gpus=tuple(_gpus()),
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(errors="replace").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def _gpus() -> Iterator[dict[str, Any]]:
    """What nvidia-smi lists: asking torch would import it, and start CUDA in a process that may not want it."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return
    query = ["--query-gpu=name,memory.total,driver_version", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run([program, *query], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return
    for line in done.stdout.splitlines():
        parts = [part.strip() for part in line.split(",")]
        if len(parts) == 3 and parts[1].isdigit():
            yield {"name": parts[0], "memory": int(parts[1]) << 20, "driver": parts[2]}


# --- plain data ------------------------------------------------------------------------------------------------------


def _mapping(config: Any) -> Mapping[str, Any]:
    if config is None:
        return {}
    if isinstance(config, Mapping):
        return config
    if is_dataclass(config) and not isinstance(config, type):
        return {f.name: getattr(config, f.name) for f in fields(config)}
    if hasattr(config, "to_dict"):
        return dict(config.to_dict())
    if hasattr(config, "__dict__"):
        return dict(vars(config))
    raise TypeError(f"config is a {type(config).__name__}; give a mapping, a dataclass or a Namespace")


def _plain(value: Any) -> Any:
    """As JSON can hold it: what is neither number, text, list nor mapping becomes its text."""
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if abs(value) < float("inf") else str(value)
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(v) for v in value]
    if is_dataclass(value) and not isinstance(value, type):
        return _plain(_mapping(value))
    return value.item() if hasattr(value, "item") and getattr(value, "size", 0) == 1 else str(value)


def leaves(tree: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    """The values of a nested mapping, under their keys joined by dots."""
    for key, value in tree.items():
        inner = isinstance(value, Mapping) and value
        yield from leaves(value, f"{before}{key}.") if inner else ((f"{before}{key}", value),)


def _seeds(options: Mapping[str, Any]) -> Iterator[tuple[str, int]]:
    for name, value in leaves(options):
        if "seed" in name.rpartition(".")[2].lower() and isinstance(value, int) and not isinstance(value, bool):
            yield name, value


def _build(kind: type[T], values: Mapping[str, Any]) -> T:
    """The record, from what JSON made of it; keys of a later version are left out."""
    known = {f.name for f in fields(kind)}  # type: ignore[arg-type]  # each kind is a dataclass
    kept = {k: tuple(v) if isinstance(v, list) else v for k, v in values.items() if k in known}
    return kind(**kept)
