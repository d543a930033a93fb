"""Results of Hugging Face's lighteval: `results_<date>.json` (version 0.13.0)."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firstbreak.evals.importers import Evaluation, load, made

#: fields of a protocol with the same name
_GENERATION = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty",
               "max_new_tokens", "seed")  # fmt: skip


def recognises(path: Path, head: bytes) -> bool:
    """JSON that begins with the general configuration."""
    return path.suffix == ".json" and b'"config_general"' in head[:200]


def read(path: Path) -> list[Evaluation]:
    """One evaluation for each task; "all" and averages over subsets are aggregates of tasks and are left out."""
    data = load(path)
    configs = data.get("config_tasks", {})
    # of `suite|task|shots`; older versions leave the shots out of the name
    found = {name: configs.get(name) or configs.get(name.rpartition("|")[0]) for name in data["results"]}
    return [_task(path, data, name, config) for name, config in found.items() if isinstance(config, dict)]


def _task(path: Path, data: Mapping[str, Any], name: str, config: Mapping[str, Any]) -> Evaluation:
    general = data["config_general"]
    model = general.get("model_config") or {}
    parameters = model.get("generation_parameters") or {}
    generation = {k: v for k, v in parameters.items() if k in _GENERATION and v is not None}
    generation.setdefault("max_new_tokens", config.get("generation_size"))
    stop = [*(config.get("stop_sequence") or []), *(parameters.get("stop_tokens") or [])]
    values = {m: float(v) for m, v in data["results"][name].items() if isinstance(v, (int, float)) and v == v}
    problems = config.get("effective_num_docs", -1)
    hashes = (data.get("summary_tasks", {}).get(name) or {}).get("hashes", {})
    fields = {
        "task": config.get("name") or name,
        "task_version": config.get("version", data.get("versions", {}).get(name)),
        "dataset": "/".join(filter(None, (config.get("hf_repo"), config.get("hf_subset")))) or None,
        "dataset_revision": config.get("hf_revision"),
        "split": ",".join(config.get("evaluation_splits") or []) or None,
        "problems": problems if problems >= 0 else general.get("max_samples"),
        # the template is a function, known by its name; the hash covers the prompts that it made
        "prompt_template": {"function": config.get("prompt_function"), "prompts": hashes.get("hash_full_prompts")},
        "system_prompt": model.get("system_prompt"),
        "fewshot": config.get("num_fewshots", config.get("num_fewshot")),
        "scorer": config.get("metrics", config.get("metric")),
        "metric": sorted(m for m in values if not m.endswith("_stderr")),
        "samples_per_problem": max(config.get("num_samples") or [1]),
        "precision": model.get("dtype") or general.get("model_dtype"),
        "stop": stop,
        "harness": "lighteval",
        "harness_version": None if general.get("lighteval_sha") in ("?", "", None) else general["lighteval_sha"],
        **generation,
    }
    return Evaluation(
        protocol=made(path, fields),
        scores={m: v for m, v in values.items() if not m.endswith("_stderr")},
        errors={m.removesuffix("_stderr"): v for m, v in values.items() if m.endswith("_stderr")},
        model=general.get("model_name"),
        source=str(path),
    )
