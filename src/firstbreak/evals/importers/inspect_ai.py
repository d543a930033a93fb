"""Logs of Inspect: `*.eval` (a zip) and `*.json` (version 0.3.285, log version 2)."""

import json
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from firstbreak.evals.importers import Evaluation, load, made
from firstbreak.readers import Unreadable
from firstbreak.readers.tool_turns import tool_turns, tool_use

_SAME_NAME = ("temperature", "top_p", "top_k", "best_of", "frequency_penalty", "presence_penalty", "seed")
_GENERATION = {
    **{name: name for name in _SAME_NAME},
    "max_tokens": "max_new_tokens",
    "stop_seqs": "stop",
    "system_message": "system_prompt",
}
_REASONING = ("reasoning_effort", "reasoning_tokens", "effort")
_HOW_NOT_WHAT = ("max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "max_connections",
                 "adaptive_connections", "cache", "cache_prompt", "batch")  # fmt: skip
_LARGEST_HEADER = 256 * 2**20


def recognises(path: Path, head: bytes) -> bool:
    """A zip called .eval, or JSON that begins with version, status and the evaluation."""
    if path.suffix == ".eval":
        return head.startswith(b"PK")
    return path.suffix == ".json" and b'"version"' in head[:200] and b'"eval_id"' in head


def read(path: Path) -> list[Evaluation]:
    """The evaluation of the log, with its solvers (as the prompt) and its limits."""
    data = _header(path) if path.suffix == ".eval" else load(path)
    if data.get("status") != "success":
        raise Unreadable(path, f"is the log of a run that ended with {data.get('status')}", "give a log that is whole")
    spec, plan, config = data["eval"], data.get("plan", {}), data["eval"].get("config", {})
    generation = {**(spec.get("model_generate_config") or {}), **(plan.get("config") or {})}
    dataset = spec.get("dataset", {})
    limits = {name: config.get(name) for name in ("token_limit", "working_limit", "cost_limit")}
    rest = {k: v for k, v in generation.items() if k not in (*_GENERATION, *_REASONING, *_HOW_NOT_WHAT)}
    scored = data.get("results") or {}
    fields = {
        "task": spec.get("task"),
        "task_version": spec.get("task_version"),
        "dataset": dataset.get("name"),
        "split": (spec.get("task_args") or {}).get("split"),
        "problems": dataset.get("samples") if not config.get("limit") else len(dataset.get("sample_ids") or []) or None,
        "prompt_template": _prompts(plan),
        "tools": _tools(plan),
        "tool_permissions": _given(sandbox=spec.get("sandbox"), approval=config.get("approval")),
        "max_turns": config.get("message_limit") or config.get("turn_limit"),
        "time_limit": config.get("time_limit"),
        "samples_per_problem": config.get("epochs") or 1,
        "reducer": config.get("epochs_reducer")
        or sorted({score["reducer"] for score in scored.get("scores", []) if score.get("reducer")})
        or None,
        "scorer": [{k: s[k] for k in ("name", "options") if k in s} for s in spec.get("scorers") or []] or None,
        "metric": sorted(name for name in _scores(scored) if not name.endswith("/stderr")),
        "reasoning": _given(**{name: generation.get(name) for name in _REASONING}),
        "harness": "inspect_ai",
        "harness_version": (spec.get("packages") or {}).get("inspect_ai"),
        "other.task_args": spec.get("task_args") or None,
        "other.generation": rest or None,
        "other.limits": _given(**limits),
        "other.shuffled": dataset.get("shuffled") or None,
        **{_GENERATION[name]: value for name, value in generation.items() if name in _GENERATION},
    }
    scores = _scores(scored)
    return [
        Evaluation(
            protocol=made(path, fields),
            scores={n: v for n, v in scores.items() if not n.endswith("/stderr")} | _tool_use(path, data),
            errors={  # the standard error of the mean, under any name
                name: scores[error]
                for name in scores
                if name.endswith(("/accuracy", "/mean")) and (error := f"{name.partition('/')[0]}/stderr") in scores
            },
            model=spec.get("model"),
            source=str(path),
        )
    ]


def _tool_use(path: Path, data: Mapping[str, Any]) -> dict[str, float]:
    """Legality and cost of the calls of tools, and the recovery from those that fail, beside the scores."""
    use = tool_use(tool_turns(sample.get("messages") or []) for sample in _samples(path, data))
    if use is None:
        return {}
    recovered = {} if use.made_good is None else {"tools/recovered": use.made_good}
    return {"tools/illegal": use.illegal, **recovered, "tools/call_length": use.size}


def _samples(path: Path, data: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """The samples of a log, of a zip one after the other. One that cannot be read is left out: it takes no score away."""
    if path.suffix != ".eval":
        yield from data.get("samples") or []
        return
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.startswith("samples/") and archive.getinfo(name).file_size <= _LARGEST_HEADER:
                with suppress(ValueError, zipfile.BadZipFile, NotImplementedError):
                    yield json.loads(archive.read(name))


def _given(**options: Any) -> dict[str, Any] | None:
    """The options that are set, or None without any."""
    return {name: value for name, value in options.items() if value} or None


def _header(path: Path) -> Any:
    """The header of the zip. The read is bounded, because an archive can declare any size."""
    try:
        with zipfile.ZipFile(path) as archive, archive.open("header.json") as file:
            return json.loads(file.read(_LARGEST_HEADER))
    except NotImplementedError:
        remedy = f"`inspect log convert {path} --to json --output-dir .`, then give the JSON"
        raise Unreadable(path, "is compressed with Zstandard, which Python cannot unpack", remedy) from None
    except (zipfile.BadZipFile, KeyError, ValueError, OSError) as error:
        raise Unreadable(path, f"is not a complete log ({error})", "give a log of a finished evaluation") from None


def _prompts(plan: Mapping[str, Any]) -> list[Any]:
    """The solvers in order. Each is a part of the prompt, or of the loop around the model."""
    steps = [(step["solver"], step.get("params") or {}) for step in plan.get("steps", [])]
    return [[solver, {name: value for name, value in params.items() if name != "tools"}] for solver, params in steps]


def _tools(plan: Mapping[str, Any]) -> list[str]:
    """The names of the tools of all solvers."""
    given = [tool for step in plan.get("steps", []) for tool in (step.get("params") or {}).get("tools") or []]
    return sorted({str(tool.get("name")) if isinstance(tool, dict) else str(tool) for tool in given})


def _scores(results: Mapping[str, Any]) -> dict[str, float]:
    """`scorer/metric` -> value."""
    return {
        f"{score['name']}/{name}": float(metric["value"])
        for score in results.get("scores", [])
        for name, metric in score.get("metrics", {}).items()
        if isinstance(metric.get("value"), (int, float))
    }
