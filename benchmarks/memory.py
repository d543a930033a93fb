"""The memory ledger against real peaks: `make bench-preflight`, alone `python -m benchmarks.preflight
memory`, on a GPU `python -m benchmarks.memory --device cuda`.

Each case builds a real model, generates, scores and takes an optimizer step, and the highest allocation of each phase is
set beside the ledger's. On a CPU the allocations are those that torch.profiler records from torch's allocator; on a GPU
`torch.cuda.max_memory_allocated`. The formulas were written while looking at `CASES`; `held_out` draws others at random,
which nobody looked at before. Beside them stands what accelerate (`estimate-memory`) and DeepSpeed
(`estimate_zero2_model_states_mem_needs`, where it can be imported) say of the trained models.
"""

import argparse
import gc
import json
import random
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.machine import PACKAGES, environment
from benchmarks.size import place, sized
from firstbreak.preflight.memory.decoder import decoder
from firstbreak.preflight.memory.ledger import PAIRED, Plan, ledger, peaks, roles

RESULT = Path(__file__).resolve().parent / "results" / "memory-cuda.json"
DRAWN, SEED = sized(16, 1), 3  #: cases that are drawn at random

SIZES = {
    "vocab_size": 4096, "hidden_size": 256, "intermediate_size": 704, "num_hidden_layers": 4, "num_attention_heads": 8,
    "num_key_value_heads": 4, "max_position_embeddings": 2048, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
WIDE = SIZES | {"vocab_size": 32768, "hidden_size": 128, "intermediate_size": 352, "num_hidden_layers": 2}
DEEP = SIZES | {"hidden_size": 512, "intermediate_size": 1408, "num_hidden_layers": 6}
GPT2 = {
    "vocab_size": 4096, "n_embd": 256, "n_layer": 4, "n_head": 8, "n_positions": 2048, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip


@dataclass(frozen=True)
class Case:
    """One model and one plan; `config` is a config.json."""

    name: str
    config: dict[str, Any]
    plan: dict[str, Any] = field(default_factory=dict)


def case(name: str, family: str, sizes: dict[str, Any] | None = None, /, **plan: Any) -> Case:
    usual = {"algorithm": "sft", "precision": "fp32", "prompt": 128, "completion": 128, "micro_batch": 2, "rollouts": 4}
    return Case(name, {"model_type": family, **(sizes or SIZES)}, usual | {"checkpointing": False} | plan)


EXPERTS = SIZES | {"num_experts": 8, "num_local_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 256,
                   "intermediate_size": 256, "shared_expert_intermediate_size": 256}  # fmt: skip
CASES = [
    # the families
    case("llama", "llama"),
    case("qwen2, tied", "qwen2", SIZES | {"tie_word_embeddings": True}),
    case("qwen3", "qwen3", SIZES | {"head_dim": 64}),
    case("mistral", "mistral"),
    case("gemma", "gemma", SIZES | {"head_dim": 32}),
    case("gemma 3", "gemma3_text", SIZES | {"head_dim": 32}),
    case("phi", "phi"),
    case("phi 3", "phi3"),
    case("gpt2", "gpt2", GPT2),
    case("gpt-neox", "gpt_neox"),
    case("mixtral", "mixtral", EXPERTS),
    case("qwen2-moe", "qwen2_moe", EXPERTS),
    case("qwen3-moe", "qwen3_moe", EXPERTS | {"head_dim": 32}),
    # one option at a time
    case("bf16", "llama", precision="bf16"),
    case("mixed", "llama", precision="mixed"),
    case("checkpointing", "llama", checkpointing=True, micro_batch=8),
    case("checkpointing, bf16", "qwen3", SIZES | {"head_dim": 64}, checkpointing=True, precision="bf16", micro_batch=8),
    case("eager attention", "llama", fused_attention=False),
    case("eager attention, bf16", "qwen2", fused_attention=False, precision="bf16"),
    case("long", "llama", prompt=256, completion=1024, micro_batch=1),
    case("large vocabulary", "llama", WIDE, checkpointing=True),
    case("large vocabulary, bf16", "llama", WIDE, checkpointing=True, precision="bf16"),
    case("large vocabulary, tied", "gemma", WIDE | {"head_dim": 16, "tie_word_embeddings": True}, checkpointing=True),
    case("deep, one sequence", "llama", DEEP, micro_batch=1, prompt=32, completion=32),
    case("deep, no accumulation", "llama", DEEP, micro_batch=1, prompt=32, completion=32, accumulation=False),
    case("deep, sgd", "llama", DEEP, micro_batch=1, prompt=32, completion=32, optimizer="sgd"),
    case("lora", "llama", lora=16),
    case("lora, bf16", "qwen2", lora=16, precision="bf16"),
    case("lora, checkpointing", "llama", DEEP, lora=8, checkpointing=True),
    # the algorithms
    case("grpo", "llama", algorithm="grpo"),
    case("grpo, bf16, rows", "qwen2", WIDE, algorithm="grpo", precision="bf16", logits="rows", checkpointing=True),
    case("grpo, rows, temperature 0.7", "qwen2", WIDE, algorithm="grpo", precision="bf16", logits="rows", temperature=0.7),
    case("grpo, many rollouts", "llama", algorithm="grpo", rollouts=32, prompt=64, completion=64, reference=False),
    case("grpo, lora", "qwen2", algorithm="grpo", lora=16),
    case("dpo", "llama", algorithm="dpo"),
    case("dpo, checkpointing", "qwen3", WIDE | {"head_dim": 32}, algorithm="dpo", checkpointing=True, precision="bf16"),
    case("dpo, rows", "llama", WIDE, algorithm="dpo", logits="rows"),
    case("ppo", "llama", algorithm="ppo"),
    case("ppo, checkpointing", "qwen2", algorithm="ppo", checkpointing=True, precision="bf16"),
]  # fmt: skip
MEASURED = sized(CASES, CASES[:1])


def held_out(number: int, seed: int) -> list[Case]:
    """Cases drawn at random: family, sizes, options and algorithm."""
    draw = random.Random(seed)
    cases = []
    for i in range(number):
        family = draw.choice(["llama", "qwen2", "qwen3", "mistral", "gemma", "phi3", "gpt_neox"])
        heads = draw.choice([4, 8])
        sizes = SIZES | {
            "vocab_size": draw.choice([1000, 5000, 20000]),
            "hidden_size": heads * draw.choice([16, 32, 48]),
            "intermediate_size": draw.randrange(200, 1200, 8),
            "num_hidden_layers": draw.randrange(1, 7),
            "num_attention_heads": heads,
            "num_key_value_heads": draw.choice([2, 4]),
            "tie_word_embeddings": draw.random() < 0.5,
        }
        if family in ("qwen3", "gemma"):
            sizes["head_dim"] = draw.choice([16, 32])
        plan = {
            "algorithm": draw.choice(["sft", "grpo", "dpo", "ppo"]),
            "precision": draw.choice(["fp32", "bf16"]),
            "prompt": draw.randrange(16, 200),
            "completion": draw.randrange(16, 200),
            "micro_batch": draw.randrange(1, 5),
            "rollouts": draw.randrange(5, 12),
            "checkpointing": draw.random() < 0.5,
            "accumulation": draw.random() < 0.7,
            "lora": draw.choice([0, 0, 8]),
        }
        if plan["algorithm"] == "ppo":
            plan["lora"] = 0
        cases.append(case(f"drawn {i + 1}: {family}, {plan['algorithm']}", family, sizes, **plan))
    return cases


@dataclass(frozen=True)
class Row:
    """One phase of one case, in bytes."""

    case: str
    phase: str
    measured: int
    ledger: int

    @property
    def error(self) -> float:
        """Of the ledger, as a fraction of what was measured."""
        return self.ledger / self.measured - 1


def measure(case: Case, device: str = "cpu") -> list[Row]:
    """The phases of one case, measured and from the ledger."""
    plan = Plan(actor=decoder(case.config), context=0, **case.plan)
    expected = {phase: size for (_, phase), size in peaks(ledger(plan)).items()}
    return [
        Row(case.name, phase, peak, round(expected[phase])) for phase, peak in _Trainer(case, plan, device).phases()
    ]


class _Trainer:
    """A small trainer as the libraries write them: transformers' models, PEFT's adapters, TRL's log-probabilities."""

    def __init__(self, case: Case, plan: Plan, device: str) -> None:
        import torch

        self.torch, self.plan, self.device = torch, plan, device
        torch.manual_seed(0)
        self.actor = self._model(case.config, adapters=plan.lora)
        self.critic = self._model(case.config, value=True) if plan.algorithm == "ppo" else None
        frozen = plan.refers and not plan.lora
        self.reference = self._model(case.config).requires_grad_(False) if frozen else None
        self.optimizers = [self._optimizer(m) for m in (self.actor, self.critic) if m is not None]
        size = (plan.rollouts if plan.generates else plan.sequences, plan.length)
        self.ids = torch.randint(3, plan.actor.vocab, size, device=device)

    def _model(self, config: dict[str, Any], adapters: int = 0, value: bool = False) -> Any:
        from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForTokenClassification

        torch, plan = self.torch, self.plan
        options = {k: v for k, v in config.items() if k != "model_type"} | ({"num_labels": 1} if value else {})
        built = AutoConfig.for_model(config["model_type"], **options)
        kind = AutoModelForTokenClassification if value else AutoModelForCausalLM
        dtype = torch.bfloat16 if plan.precision == "bf16" else torch.float32
        attention = "sdpa" if plan.fused_attention else "eager"
        model = kind.from_config(built, dtype=dtype, attn_implementation=attention).to(self.device)
        if adapters:
            from peft import LoraConfig, get_peft_model

            model = get_peft_model(model, LoraConfig(r=adapters, target_modules="all-linear"))
        if plan.checkpointing:
            model.gradient_checkpointing_enable(gradient_checkpointing_kwargs={"use_reentrant": False})
            model.enable_input_require_grads()
        for module in model.modules():  # as the trainers do it for reinforcement learning
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.0
        return model.train()

    def _optimizer(self, model: Any) -> Any:
        trained = [p for p in model.parameters() if p.requires_grad]
        if self.plan.optimizer == "sgd":
            return self.torch.optim.SGD(trained, lr=1e-6)
        return self.torch.optim.AdamW(trained, lr=1e-6, fused=True)

    def phases(self) -> Iterator[tuple[str, int]]:
        """(phase, highest bytes), after a first step that makes the optimizer's state."""
        self._update()
        plan = self.plan
        if plan.generates:
            yield "rollout", self._peak(self._generate)
        if plan.generates or plan.algorithm in PAIRED:
            yield "scoring", self._peak(self._score)
        yield "update", self._peak(self._update)

    def _generate(self) -> None:
        prompts = self.ids[:, : self.plan.prompt]
        with self.torch.no_grad(), self._precision():
            # without the model's own end of text every sequence has the full length
            self.actor.eval()
            options = {"max_new_tokens": self.plan.completion, "min_new_tokens": self.plan.completion}
            self.actor.generate(input_ids=prompts, attention_mask=prompts.new_ones(prompts.shape), **options)
            self.actor.train()

    def _score(self) -> None:
        with self.torch.no_grad(), self._precision():
            if self.plan.algorithm in PAIRED:
                self._reference()
                return
            for model in (self.actor, self.reference):
                if model is not None:
                    self._log_probabilities(model)
            if self.critic is not None:
                self._values(self.critic)

    def _reference(self) -> Any:
        """The reference's log-probabilities: of a model of its own, or of the actor without its adapters."""
        if self.reference is not None:
            return self._log_probabilities(self.reference)
        with self.actor.disable_adapter():
            return self._log_probabilities(self.actor)

    def _update(self) -> None:
        for optimizer, model in zip(self.optimizers, (self.actor, self.critic), strict=False):
            for _ in range(2 if self.plan.accumulation else 1):
                with self._precision():
                    loss = self._values(model).mean() if model is self.critic else self._loss()
                loss.backward()
                del loss
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)

    def _loss(self) -> Any:
        if self.plan.algorithm == "sft":
            batch = self.ids[: self.plan.sequences]
            return self.actor(input_ids=batch, labels=batch, use_cache=False).loss
        found = self._log_probabilities(self.actor)
        if self.plan.algorithm in PAIRED:
            with self.torch.no_grad():
                reference = self._reference()
            found = found - reference
        return -found.mean()

    def _log_probabilities(self, model: Any) -> Any:
        """Of the completions (of everything, for pairs): in float32 as a whole, or one row after the other as TRL does."""
        batch = self.ids[: self.plan.sequences]
        keep = self.plan.completion + 1 if self.plan.generates else self.plan.length
        logits = model(input_ids=batch, logits_to_keep=keep, use_cache=False).logits[:, :-1]
        chosen = batch[:, 1 - keep :]
        if self.plan.logits == "rows":
            from trl.trainer.utils import selective_log_softmax

            return selective_log_softmax(logits, chosen, self.plan.temperature)
        return self.torch.log_softmax(logits.float(), -1).gather(-1, chosen[..., None]).squeeze(-1)

    def _values(self, model: Any) -> Any:
        return model(input_ids=self.ids[: self.plan.sequences], use_cache=False).logits

    def _precision(self) -> Any:
        return self.torch.autocast(self.device, self.torch.bfloat16, enabled=self.plan.precision == "mixed")

    def _peak(self, work: Callable[[], None]) -> int:
        """The highest bytes while `work` runs, what was there before included."""
        gc.collect()
        if self.device != "cpu":
            self.torch.cuda.reset_peak_memory_stats()
            work()
            return int(self.torch.cuda.max_memory_allocated())
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as recorded:
            work()
        now = peak = 0
        for event in recorded.profiler.kineto_results.events():
            if event.name() == "[memory]":
                now += event.nbytes()
                peak = max(peak, now)
        return peak + self._standing()

    def _standing(self) -> int:
        """Bytes of weights and optimizer state, each storage once."""
        tensors = [p for m in (self.actor, self.critic, self.reference) if m is not None for p in m.parameters()]
        tensors += [s for o in self.optimizers for state in o.state.values() for s in state.values() if s.ndim]
        stores = {t.untyped_storage().data_ptr(): t.untyped_storage().nbytes() for t in tensors}
        return sum(stores.values()) + self.ids.nbytes


def peers(case: Case) -> dict[str, int]:
    """What the estimators of others say of the trained models of a case, in bytes, for its optimizer step."""
    plan = Plan(actor=decoder(case.config), **case.plan)
    models = [role.parameters for role in roles(plan) if role.trained]
    found = {}
    try:
        from accelerate.commands.estimate import estimate_training_usage

        dtype = "bfloat16" if plan.precision == "bf16" else "float32"
        found["accelerate"] = sum(max(estimate_training_usage(4 * n, dtype).values()) for n in models)
    except ImportError:
        print("accelerate is not installed: left out")
    try:
        from deepspeed.runtime.zero.stage_1_and_2 import estimate_zero2_model_states_mem_needs

        found["deepspeed"] = sum(round(estimate_zero2_model_states_mem_needs(n, 1, 1, False)[1]) for n in models)
    except ImportError:
        print("deepspeed is not installed: left out")
    return found


def figures(cases: list[Case], drawn: list[Case], device: str = "cpu") -> dict[str, Any]:
    """The keys of benchmarks/results/preflight.json that speak of memory."""
    import torch

    torch.set_num_threads(1)
    warnings.simplefilter("ignore")
    rows = []
    for one in [*cases, *drawn]:
        others = peers(one)
        for row in measure(one, device):
            beside = others if row.phase == "update" else {}
            kept = {"case": row.case, "phase": row.phase, "measured": row.measured, "firstbreak": row.ledger, **beside}
            rows.append(kept | {"error": round(row.error, 4), "drawn": one in drawn})
            print(
                f"{row.case:40} {row.phase:8} {row.measured >> 10:9} {row.ledger >> 10:9} KiB {row.error:+.1%}",
                flush=True,
            )
    return {
        "memory_max_error": max(abs(row["error"]) for row in rows),
        "memory_max_error_drawn": max((abs(row["error"]) for row in rows if row["drawn"]), default=None),
        "memory_rows": len(rows),
        "memory_device": device,
        "memory": rows,
    }


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--device", default="cpu", choices=["cpu", "cuda"])
    arguments.add_argument("--only", default="", help="cases whose name contains this")
    asked = arguments.parse_args()
    import torch

    if asked.device == "cuda" and not torch.cuda.is_available():
        print("skipped: torch sees no GPU")
        return
    cases = [one for one in (*MEASURED, *held_out(DRAWN, SEED)) if asked.only in one.name]
    found = figures(cases, [], asked.device)
    if asked.device == "cuda" and not asked.only:  # a CPU's are a part of preflight.json
        where = environment(
            "python -m benchmarks.memory --device cuda", (*PACKAGES, "torch", "transformers", "peft", "trl")
        )
        place(RESULT).write_text(json.dumps({**where, "gpu": torch.cuda.get_device_name(), **found}, indent=1) + "\n")


if __name__ == "__main__":
    main()
