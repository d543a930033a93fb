"""The memory ledger: parameters exactly, peaks as they are measured, and what it tells a user."""

import json
from dataclasses import replace
from html import escape
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.cli import app
from firstbreak.model import Action, Status
from firstbreak.preflight import ReportTable, Stacks, memory
from firstbreak.preflight.memory import activations, classic, decoder, drawing
from firstbreak.preflight.memory.ledger import (
    ALGORITHMS,
    ENGINES,
    GIB,
    OFFLOADS,
    OPTIMIZERS,
    SHARDS,
    Plan,
    ledger,
    peaks,
    ranked,
    total,
    until_it_fits,
    worst,
)
from firstbreak.readers import Unreadable
from tests.command import printed
from tests.lazy import lazy
from tests.preflight.reports import page

benchmarks_memory = lazy("benchmarks.memory")

SMALL = {
    "vocab_size": 512, "hidden_size": 64, "intermediate_size": 160, "num_hidden_layers": 3, "num_attention_heads": 4,
    "num_key_value_heads": 2, "pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2,
}  # fmt: skip
GPT2 = {
    "vocab_size": 512,
    "n_embd": 64,
    "n_layer": 3,
    "n_head": 4,
    "n_positions": 128,
    "bos_token_id": 1,
    "eos_token_id": 2,
}
MOE = SMALL | {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
FAMILIES: list[tuple[str, dict[str, Any]]] = [
    ("llama", SMALL),
    ("llama", SMALL | {"attention_bias": True, "mlp_bias": True, "tie_word_embeddings": True}),
    ("mistral", SMALL),
    ("qwen2", SMALL),
    ("qwen2", SMALL | {"tie_word_embeddings": True}),
    ("qwen3", SMALL | {"head_dim": 32}),
    ("qwen3", SMALL | {"attention_bias": True}),
    ("gemma", SMALL | {"num_key_value_heads": 1}),
    ("gemma2", SMALL | {"head_dim": 32}),
    ("gemma3_text", SMALL | {"head_dim": 32}),
    ("phi", SMALL | {"num_key_value_heads": 4}),
    ("phi3", SMALL),
    ("gpt2", GPT2),
    ("gpt2", GPT2 | {"n_inner": 96}),
    ("gpt_neox", SMALL),
    ("gpt_neox", SMALL | {"attention_bias": False}),
    ("mixtral", SMALL | {"num_local_experts": 4, "shared_expert_intermediate_size": 48}),  # a key of another family
    ("qwen2_moe", MOE | {"shared_expert_intermediate_size": 48, "mlp_only_layers": [1]}),
    ("qwen2_moe", MOE | {"qkv_bias": False}),
    ("qwen3_moe", MOE | {"head_dim": 32, "decoder_sparse_step": 2}),
]
LLAMA_8B = {
    "model_type": "llama", "vocab_size": 128256, "hidden_size": 4096, "intermediate_size": 14336, "num_hidden_layers": 32,
    "num_attention_heads": 32, "num_key_value_heads": 8,
}  # fmt: skip
BIG = decoder.decoder(LLAMA_8B)


@pytest.mark.parametrize(("family", "config"), FAMILIES, ids=lambda v: v if isinstance(v, str) else "")
def test_parameters_are_those_of_the_model_that_transformers_builds(family: str, config: dict[str, Any]) -> None:
    pytest.importorskip("transformers")
    built = decoder.meta_model({"model_type": family, **config})
    counted = decoder.decoder({"model_type": family, **config})
    by_layer = [sum(p.numel() for n, p in built.named_parameters() if f".{i}." in n) for i in range(3)]
    linear = [m for n, m in built.named_modules() if type(m).__name__ in ("Linear", "Conv1D") and "lm_head" not in n]
    assert counted.parameters == sum(p.numel() for p in built.parameters())
    assert counted.largest_layer == max(by_layer)
    assert sum(a * b for a, b in counted.adapted) == sum(m.weight.numel() for m in linear)


def test_a_family_outside_the_table_is_counted_on_the_meta_device() -> None:
    pytest.importorskip("transformers")
    config = {"model_type": "stablelm", **SMALL}
    counted = decoder.decoder(config)
    assert counted.parameters == sum(p.numel() for p in decoder.meta_model(config).parameters())
    assert "activations as in a llama" in counted.note


def test_published_sizes() -> None:
    assert BIG.parameters == 8_030_261_248  # Llama 3.1 8B


@pytest.mark.parametrize("family", ["llama", "qwen3", "gemma3_text", "gpt2", "gpt_neox"])
@pytest.mark.parametrize(("precision", "fused"), [("fp32", True), ("bf16", True), ("bf16", False)])
def test_what_a_layer_keeps_is_what_autograd_saves(family: str, precision: str, fused: bool) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    config = dict(next(c for f, c in FAMILIES if f == family))
    kept = []
    for layers in (2, 3):
        config["n_layer" if family == "gpt2" else "num_hidden_layers"] = layers
        built = transformers.AutoConfig.for_model(family, **config)
        dtype = torch.bfloat16 if precision == "bf16" else torch.float32
        model = transformers.AutoModelForCausalLM.from_config(
            built, dtype=dtype, attn_implementation="sdpa" if fused else "eager"
        ).eval()
        kept.append(saved_bytes(torch, model, torch.randint(0, 500, (2, 64))) / 128)
    expected = activations.kept_by_layer(
        decoder.decoder({"model_type": family, **config}), activations.PRECISIONS[precision], 64, fused
    )
    assert kept[1] - kept[0] == pytest.approx(expected, rel=0.02)


def saved_bytes(torch: Any, model: Any, ids: Any) -> int:
    """Bytes that autograd keeps of a forward pass, each storage once, weights left out."""
    stores: dict[int, int] = {}
    weights = {p.untyped_storage().data_ptr() for p in model.parameters()}
    alive = []  # so that no address is used twice

    def pack(tensor: Any) -> Any:
        store = tensor.untyped_storage()
        alive.append(store)
        if store.data_ptr() not in weights:
            stores[store.data_ptr()] = store.nbytes()
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
        result = model.base_model(input_ids=ids, use_cache=False).last_hidden_state
    assert result.requires_grad
    return sum(stores.values())


@pytest.mark.parametrize(
    "name",
    [
        "deep, no accumulation",
        pytest.param("lora, bf16", marks=pytest.mark.thorough),
        pytest.param("grpo, rows, temperature 0.7", marks=pytest.mark.thorough),
    ],
)
def test_the_ledger_agrees_with_measured_peaks(name: str) -> None:
    for module in ("transformers", "peft", "trl"):
        pytest.importorskip(module)
    for row in benchmarks_memory.measure(next(case for case in benchmarks_memory.CASES if case.name == name)):
        assert abs(row.error) <= 0.1, row


# --- the ledger as a function ----------------------------------------------------------------------------------------

plans = st.builds(
    Plan,
    algorithm=st.sampled_from(ALGORITHMS),
    actor=st.just(BIG),
    gpus=st.sampled_from([1, 2, 8]),
    micro_batch=st.integers(1, 8),
    rollouts=st.integers(1, 64),
    prompt=st.integers(1, 4096),
    completion=st.integers(1, 4096),
    precision=st.sampled_from(["fp32", "bf16", "mixed"]),
    optimizer=st.sampled_from(list(OPTIMIZERS)),
    shard=st.sampled_from(SHARDS),
    lora=st.sampled_from([0, 16]),
    checkpointing=st.booleans(),
    fused_attention=st.booleans(),
    engine=st.sampled_from(ENGINES),
    engine_share=st.none() | st.floats(0.05, 0.9),
    offload=st.frozensets(st.sampled_from(OFFLOADS)),
)


@given(plans)
def test_every_plan_has_a_ledger_that_adds_up(plan: Plan) -> None:
    entries = ledger(plan)
    assert all(entry.bytes >= 0 for entry in entries)
    assert sum(peaks(entries).values()) == pytest.approx(total(entries))
    phases = {entry.phase for entry in entries if entry.place == "trainer"}
    assert "update" in phases
    assert ("rollout" in phases) == plan.generates


@given(plans)
def test_more_work_never_takes_less_memory_and_a_remedy_never_more(plan: Plan) -> None:
    for larger in (
        replace(plan, micro_batch=plan.micro_batch * 2),
        replace(plan, completion=plan.completion * 2),
        replace(plan, rollouts=plan.rollouts * 2),
    ):
        assert worst(larger) >= worst(plan)
    for saved, _, changed in ranked(plan):
        assert worst(plan) - worst(changed) == pytest.approx(saved)


@given(plans)
def test_fully_sharded_state_is_divided_by_the_gpus(plan: Plan) -> None:
    for kind in ("gradients", "optimizer"):
        one, eight = (
            sum(e.bytes for e in ledger(replace(plan, gpus=n, shard="fsdp", offload=frozenset())) if e.kind == kind)
            for n in (1, 8)
        )
        assert eight <= one / 7.9 or one == 0 or eight < one / 4  # the highest moment may be another one


def test_adam_in_mixed_precision_takes_sixteen_bytes_a_parameter() -> None:
    plan = Plan(algorithm="sft", actor=BIG, master=True)
    kinds = {e.kind: e.bytes / BIG.parameters for e in ledger(plan)}
    assert kinds["weights"] + kinds["gradients"] + kinds["optimizer"] == pytest.approx(2 + 2 + 12)


def test_a_reference_costs_nothing_under_adapters() -> None:
    plan = Plan(algorithm="grpo", actor=BIG, lora=16)
    assert not any(entry.role == "reference" for entry in ledger(plan))


def test_an_engine_that_sleeps_is_gone_in_the_update_and_there_in_the_rollout() -> None:
    plan = Plan(algorithm="grpo", actor=BIG, engine="colocated", engine_share=0.4, offload=frozenset({"engine"}))
    phases = {entry.phase for entry in ledger(plan) if entry.role == "engine"}
    assert phases == {"rollout"}
    awake = replace(plan, offload=frozenset())
    assert {e.phase for e in ledger(awake) if e.role == "engine"} == {"rollout", "scoring", "update"}
    reserved = sum(e.bytes for e in ledger(plan) if e.role == "engine")
    assert reserved == pytest.approx(0.4 * plan.gpu_memory)


def test_changes_are_taken_until_it_fits() -> None:
    plan = Plan(algorithm="ppo", actor=BIG, precision="fp32", checkpointing=False, micro_batch=4)
    steps, then = until_it_fits(plan, 80 * GIB)
    assert worst(plan) > 80 * GIB
    assert worst(then) <= 80 * GIB
    assert len(steps) >= 2


# --- the check -------------------------------------------------------------------------------------------------------


@pytest.fixture
def config(tmp_path: Path) -> Path:
    path = tmp_path / "config.json"
    path.write_text(json.dumps(LLAMA_8B))
    return path


def test_what_does_not_fit_is_critical_and_names_the_change(config: Path) -> None:
    report = memory.check(str(config), algo="grpo", gpu_memory=48)
    assert report.action is Action.STOP
    (found,) = [o for o in report.outcomes if o.detector == "memory-fits"]
    assert found.finding is not None
    assert "Change first: " in found.finding.message
    changes = report.numbers["changes"]
    assert changes == sorted(changes, key=lambda row: -row["saves"])
    assert report.numbers["parameters"]["actor"] == 8_030_261_248


def test_what_fits_is_ok_with_its_margin(config: Path) -> None:
    report = memory.check(str(config.parent), algo="grpo", gpus=8, shard="zero3", host_memory=64)
    assert report.action is Action.CONTINUE
    assert report.summary.startswith("Fits: ")
    table = next(e for e in report.exhibits if isinstance(e, ReportTable))
    assert table.columns[1:] == ("rollout", "scoring", "update")


def test_the_stacks_hold_every_byte_of_every_phase_and_end_where_it_no_longer_fits(config: Path) -> None:
    report = memory.check(str(config), algo="ppo", engine="separate", offload=["optimizer"])
    (drawn,) = [e for e in report.exhibits if isinstance(e, Stacks)]
    heights = {label: sum(amounts) for label, amounts in drawn.rows}
    sums = {place: size / GIB for place, size in report.numbers["peaks"].items()}
    assert heights == {
        "engine's GPU": pytest.approx(sums["engine rollout"], abs=0.05),
        **{phase: pytest.approx(sums[f"trainer {phase}"], abs=0.05) for phase in ("rollout", "scoring", "update")},
    }
    assert drawn.capacity == 80
    update = dict(drawn.rows)["update"]
    assert drawn.room(update).endswith("free") == (sums["trainer update"] <= 80)
    assert dict(zip(drawn.columns, update, strict=True))["gradients"] > 10  # what only the update has


def test_a_saved_report_gives_the_same_drawing_beside_its_run(config: Path, tmp_path: Path) -> None:
    call = ["check", "memory", "--model", str(config), "--algo", "grpo", "--fail-on", "never", "--format"]
    assert CliRunner().invoke(app, [*call, "json", "-o", str(tmp_path / "memory.json")]).exit_code == 0
    report = memory.check(str(config), algo="grpo")
    assert drawing.saved(tmp_path) == next(e for e in report.exhibits if isinstance(e, Stacks))
    assert drawing.saved(config.parent / "elsewhere") is None
    page = CliRunner().invoke(app, [*call, "html"]).output
    for said in (report.summary, "Memory of one GPU by phase", "capacity, 80 GiB", "What to change, by memory saved"):
        assert escape(said) in page
    assert "<script" not in page
    assert "://" not in page


def test_an_engine_whose_share_does_not_hold_its_weights_is_critical(config: Path) -> None:
    report = memory.check(str(config), algo="grpo", gpus=8, shard="zero3", engine="colocated", engine_share=0.15)
    (found,) = [o for o in report.outcomes if o.detector == "memory-engine"]
    assert found.finding is not None
    assert "Raise --engine-share" in found.finding.message


def test_offloaded_state_must_fit_the_host(config: Path) -> None:
    report = memory.check(str(config), algo="sft", offload=["optimizer"], host_memory=16)
    (found,) = [o for o in report.outcomes if o.detector == "memory-host"]
    assert found.status is Status.FOUND
    roomy = memory.check(str(config), algo="sft", offload=["optimizer"], host_memory=64)
    assert next(o for o in roomy.outcomes if o.detector == "memory-host").status is Status.OK


@pytest.mark.parametrize(
    ("content", "options", "said"),
    [
        ("{", {}, "is no JSON"),
        ("[]", {}, "no model's configuration"),
        ('{"model_type": "llama"}', {}, "does not say"),
        ('{"model_type": "bert", "hidden_size": -3}', {}, "describes no decoder"),
        (json.dumps(LLAMA_8B), {"algo": "grop"}, "give one of"),
        (json.dumps(LLAMA_8B), {"shard": "zero4"}, "give one of"),
        (json.dumps(LLAMA_8B), {"four_bit": True}, "add --lora"),
        (json.dumps(LLAMA_8B), {"gpus": 0}, "above 0"),
    ],
)
def test_a_bad_call_is_one_clear_line(content: str, options: dict[str, Any], said: str, tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text(content)
    with pytest.raises(Unreadable, match=said):
        memory.check(str(tmp_path / "config.json"), **{"algo": "grpo", **options})


@pytest.mark.parametrize(
    ("algorithm", "discrete"),
    [("dqn", True), ("sac", False), ("td3", False), ("ddpg", False), ("ppo", True), ("ppo", False)],
)
@pytest.mark.parametrize("images", [False, True])
def test_small_networks_and_buffers_are_those_of_stable_baselines(algorithm: str, discrete: bool, images: bool) -> None:
    sb3 = pytest.importorskip("stable_baselines3")
    gymnasium = pytest.importorskip("gymnasium")
    import numpy as np

    spaces = gymnasium.spaces
    shape = (4, 84, 84) if images else (17,)
    seen = spaces.Box(0, 255, shape, np.uint8) if images else spaces.Box(-1, 1, shape, np.float32)
    acted = spaces.Discrete(6) if discrete else spaces.Box(-1, 1, (6,), np.float32)

    class World(gymnasium.Env):  # type: ignore[misc]
        observation_space, action_space = seen, acted

    size = {"n_steps": 100} if algorithm == "ppo" else {"buffer_size": 100}
    trained = getattr(sb3, algorithm.upper())("CnnPolicy" if images else "MlpPolicy", World(), **size, device="cpu")
    plan = classic.ClassicPlan(
        algorithm=algorithm, observation=shape, actions=6, discrete=discrete, buffer=100, steps=100
    )
    assert sum(n for _, n, _ in classic.networks(plan)) == sum(p.numel() for p in trained.policy.parameters())
    held = trained.rollout_buffer if algorithm == "ppo" else trained.replay_buffer
    arrays = [v for v in vars(held).values() if isinstance(v, np.ndarray)]
    assert classic.stored(plan) == pytest.approx(sum(a.nbytes for a in arrays), rel=0.01)


def test_a_replay_buffer_larger_than_the_host_is_found() -> None:
    report = memory.check("cnn", algo="dqn", observation="4x84x84", actions=6, host_memory=16)
    assert report.action is Action.STOP
    assert "replay buffer: 52.6 GiB" in report.summary


def test_on_the_command_line(config: Path) -> None:
    arguments = ["check", "memory", "--model", str(config), "--algo", "dpo", "--gpus", "2", "--format", "json"]
    assert json.loads(printed(app, *arguments, code=1))["verdict"]["action"] == "stop"
    assert "█" in page(app, *arguments[:-2], "--gpus", "8", "--shard", "fsdp")
