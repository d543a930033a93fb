"""Results of EleutherAI's lm-evaluation-harness: `results_<date>.json` (version 0.4.13)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstbreak.evals.importers import Evaluation, load, made, number

_SAME_NAME = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty")
_DECODING = {
    **{name: name for name in _SAME_NAME},
    **dict.fromkeys(("max_gen_toks", "max_new_tokens", "max_tokens"), "max_new_tokens"),
    "until": "stop",
}


def recognises(path: Path, head: bytes) -> bool:
    """The file begins with results, and names its configurations later on."""
    return path.suffix == ".json" and head.lstrip().startswith(b"{") and b'"alias"' in head and b'"results"' in head


def read(path: Path) -> list[Evaluation]:
    """One evaluation for each task; groups are aggregates of tasks and are left out."""
    data = load(path)
    return [_task(path, data, name) for name in data["results"] if name in data.get("configs", {})]


def _task(path: Path, data: Mapping[str, Any], name: str) -> Evaluation:
    config, run = data["configs"][name], data.get("config", {})
    values = {metric: value for metric, value in data["results"][name].items() if "," in metric}
    errors = {metric.replace("_stderr", ""): v for metric, v in values.items() if "_stderr," in metric}
    generation = {**(config.get("generation_kwargs") or {}), **_pairs(run.get("gen_kwargs"))}
    decoding = {_DECODING[key]: number(value) for key, value in generation.items() if key in _DECODING}
    if generation.get("do_sample") is False:
        decoding["temperature"] = 0
    stop = decoding.get("stop")
    seeds = {key: run[key] for key in ("random_seed", "numpy_seed", "torch_seed") if run.get(key) is not None}
    fields = {
        "task": name,
        "task_version": data.get("versions", {}).get(name),
        "dataset": "/".join(filter(None, (config.get("dataset_path"), config.get("dataset_name")))) or None,
        "dataset_revision": (config.get("dataset_kwargs") or {}).get("revision"),
        "split": config.get("test_split") or config.get("validation_split"),
        "problems": data.get("n-samples", {}).get(name, {}).get("effective"),
        "prompt_template": {
            key: config[key]
            for key in ("description", "doc_to_text", "doc_to_choice", "target_delimiter", "gen_prefix")
            if config.get(key)
        },
        "chat_template": data.get("chat_template_sha") or data.get("chat_template"),
        "system_prompt": data.get("system_instruction"),
        "fewshot": data.get("n-shot", {}).get(name),
        "fewshot_seed": run.get("fewshot_seed") if data.get("n-shot", {}).get(name) else None,
        "fewshot_as_multiturn": data.get("fewshot_as_multiturn"),
        "metric": sorted(metric for metric in values if "_stderr," not in metric),
        "scorer": config.get("metric_list"),
        "answer_filter": config.get("filter_list"),
        "samples_per_problem": config.get("repeats"),
        "seed": seeds or None,
        "harness": "lm-evaluation-harness",
        "harness_version": data.get("lm_eval_version"),
        "other.output_type": config.get("output_type"),
        "other.generation": {k: v for k, v in generation.items() if k not in _DECODING and k != "do_sample"} or None,
        "other.task_hash": data.get("task_hashes", {}).get(name),
        **decoding,
        "stop": [stop] if isinstance(stop, str) else stop,
    }
    return Evaluation(
        protocol=made(path, fields),
        scores={metric: float(v) for metric, v in values.items() if "_stderr," not in metric and _is_number(v)},
        errors={metric: float(v) for metric, v in errors.items() if _is_number(v)},
        model=data.get("model_name"),
        source=str(path),
    )


def _pairs(given: Any) -> dict[str, Any]:
    """`temperature=0.7,top_p=1` of the command line, or the mapping that later versions write."""
    if isinstance(given, str):
        return dict(pair.split("=", 1) for pair in given.split(",") if "=" in pair)
    return dict(given or {})


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == value
