"""`evaluations.npz` of Stable-Baselines3's EvalCallback: one evaluation for each point, with its episodes.

The file holds only returns and lengths. The environment comes from files in the same folder: args.yml or config.yml of RL
Baselines3 Zoo, or the first line of the Monitor's monitor.csv. Whether actions were sampled is not recorded, so this field
stays unknown. A saved model (.zip) holds nothing of its evaluation: the file beside it is read.
"""

from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.evals.importers import Evaluation, made
from firstbreak.readers import Unreadable
from firstbreak.readers._json import loads

FILE = "evaluations.npz"
_ARCHIVE = b"PK"
HEADER_BYTES = 4096  #: of a monitor.csv
_CONFIGURATIONS = ("args.yml", "config.yml")


def recognises(path: Path, head: bytes) -> bool:
    """The callback's archive, under whatever name it was copied."""
    return path.name == FILE or (path.suffix == ".npz" and head.startswith(_ARCHIVE))


def evaluations_of(model: Path) -> Path:
    """The evaluations that lie beside a saved model, or one folder below. Raises Unreadable."""
    found = next((f for f in (model.parent / FILE, *sorted(model.parent.glob(f"*/{FILE}"))) if f.is_file()), None)
    if found is None:
        raise Unreadable(
            model,
            "holds weights and options of the training, and nothing of an evaluation",
            f"give the {FILE} that EvalCallback(log_path=...) writes",
        )
    return found


def read(path: Path) -> list[Evaluation]:
    """Oldest first; `scores` holds the mean return (eval.reward, as in a run), `errors` its standard error over the episodes."""
    try:
        with np.load(path, allow_pickle=False) as archive:
            steps, returns, lengths = (np.asarray(archive[name]) for name in ("timesteps", "results", "ep_lengths"))
    except (OSError, ValueError, KeyError) as error:
        raise Unreadable(path, f"is not an evaluation file ({error})", "give a file that EvalCallback wrote") from None
    values = _configuration(path)
    protocol = made(
        path,
        {
            "env_id": values.get("env_id") or values.get("env") or _monitored(path),
            "episodes": int(returns.shape[1]),
            "metric": "eval.reward",
            "harness": "stable-baselines3",
        },
    )
    spread = returns.std(axis=1, ddof=1) if returns.shape[1] > 1 else np.full(len(returns), np.nan)
    return [
        Evaluation(
            protocol=protocol,
            scores={"eval.reward": float(r.mean()), "eval.episode_length": float(n.mean())},
            errors={"eval.reward": float(s / np.sqrt(len(r)))} if np.isfinite(s) else {},
            step=float(step),
            source=str(path),
        )
        for step, r, n, s in zip(steps, returns, lengths, spread, strict=True)
    ]


def _configuration(path: Path) -> dict[str, Any]:
    """The options from the same folder or one folder below."""
    import yaml

    for name in _CONFIGURATIONS:
        for file in (path.parent / name, *path.parent.glob(f"*/{name}")):
            if not file.is_file():
                continue
            try:
                data = yaml.safe_load(file.read_text(encoding="utf-8"))
            except (OSError, ValueError, yaml.YAMLError):
                continue  # RL Baselines3 Zoo writes Python objects, which are never built; the file is optional
            if isinstance(data, dict):
                return data
    return {}


def _monitored(path: Path) -> str | None:
    """The environment that the monitor files of the same folder name, where they name one."""
    named = set()
    for file in path.parent.glob("*monitor.csv"):
        try:
            with file.open("rb") as opened:
                first = opened.readline(HEADER_BYTES)
            header = loads(first.lstrip(b"# ")) if first.startswith(b"#") else {}
        except (OSError, ValueError):
            continue
        named.add(header.get("env_id") if isinstance(header, dict) else None)
    only = named.pop() if len(named) == 1 else None
    return only if isinstance(only, str) else None
