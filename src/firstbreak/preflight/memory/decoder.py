"""The shape of a language model, from its `config.json`: how many parameters it has, and where they are.

For the families in `FAMILIES` the parameters are counted from the configuration alone, exactly; tests compare every
family with the model that transformers builds. For any other decoder transformers builds it on the meta device, where
weights have a shape and no memory.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from firstbreak.readers import Unreadable
from firstbreak.values import dataclass, field


@dataclass(frozen=True, kw_only=True)
class Architecture:
    """What the configuration of a family does not say: its modelling code does (transformers/models/<family>)."""

    norm: str = "rms"  #: "rms" (transformers' own, in float32), "rms1p" (gemma's), "layer" (torch's)
    norms: int = 2  #: on the residual stream, in each layer
    head_norm: bool = False  #: queries and keys are normalised, each with a weight of one head's width
    gated: bool = True  #: the MLP is down(act(gate(x)) * up(x))
    qkv_bias: bool = False
    out_bias: bool = False
    mlp_bias: bool = False
    head_bias: bool = False
    fused: bool = False  #: maps of one input are one matrix: what keeps the value alive keeps query and key alive too
    parallel: bool = False  #: attention and MLP read the same residual
    positions: bool = False  #: learned positions, instead of rotated queries and keys
    #: rotated and other parts are put together anew, so that the result of attention is copied
    pieced_rotary: bool = False
    softmax_fp32: bool = True  #: attention without a fused kernel takes its softmax in float32
    defaults: Mapping[str, Any] = field(default_factory=dict)


_GEMMA = {"tie_word_embeddings": True, "head_dim": 256}
FAMILIES: Mapping[str, Architecture] = MappingProxyType(
    {
        "llama": Architecture(),
        "mistral": Architecture(defaults={"num_key_value_heads": 8}),
        "qwen2": Architecture(qkv_bias=True, defaults={"num_key_value_heads": 32}),
        "qwen3": Architecture(head_norm=True, defaults={"num_key_value_heads": 32, "head_dim": 128}),
        "gemma": Architecture(norm="rms1p", defaults=_GEMMA),
        "gemma2": Architecture(norm="rms1p", norms=4, defaults=_GEMMA),
        "gemma3_text": Architecture(norm="rms1p", norms=4, head_norm=True, defaults=_GEMMA),
        "phi3": Architecture(fused=True, pieced_rotary=True),
        "phi": Architecture(
            norm="layer", norms=1, gated=False, qkv_bias=True, out_bias=True, mlp_bias=True, head_bias=True, parallel=True,
            pieced_rotary=True,
            defaults={"hidden_act": "gelu_new"},
        ),
        "gpt2": Architecture(
            norm="layer", gated=False, qkv_bias=True, out_bias=True, mlp_bias=True, fused=True, positions=True,
            softmax_fp32=False,
            defaults={"tie_word_embeddings": True, "hidden_act": "gelu_new"},
        ),
        "gpt_neox": Architecture(
            norm="layer", gated=False, qkv_bias=True, out_bias=True, mlp_bias=True, fused=True, parallel=True,
            pieced_rotary=True,
        ),
        "mixtral": Architecture(defaults={"num_key_value_heads": 8}),
        "qwen2_moe": Architecture(qkv_bias=True, defaults={"num_key_value_heads": 16, "num_experts": 60, "num_experts_per_tok": 4,
                                                  "moe_intermediate_size": 1408, "shared_expert_intermediate_size": 5632}),
        "qwen3_moe": Architecture(head_norm=True, defaults={"num_key_value_heads": 4, "num_experts": 128,
                                                        "num_experts_per_tok": 8,
                                                        "moe_intermediate_size": 768}),
    }
)  # fmt: skip

#: configuration key -> the names that other families give it
_ALIASES = {
    "hidden_size": ("n_embd",),
    "num_hidden_layers": ("n_layer",),
    "num_attention_heads": ("n_head",),
    "intermediate_size": ("n_inner",),
    "max_position_embeddings": ("n_positions",),
    "hidden_act": ("activation_function", "hidden_activation"),
    "num_experts": ("num_local_experts",),
}


@dataclass(frozen=True, kw_only=True)
class Decoder:
    """A decoder's shape. Widths are in numbers, not bytes; `parameters` counts tied weights once."""

    family: str
    layers: int
    hidden: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate: int  #: width of a dense MLP
    vocab: int
    parameters: int
    largest_layer: int  #: parameters of the largest layer: what ZeRO-3 gathers at a time
    matrices: int  #: parameters of the layers' linear maps: what is quantised
    adapted: tuple[tuple[int, int], ...]  #: (in, out) of every linear map that LoRA adapts, all layers
    activation: str = "silu"
    tied: bool = False
    experts: int = 0
    experts_per_token: int = 0
    expert_width: int = 0
    shared_width: int = 0  #: of the MLP that every token goes through beside its experts
    sparse_layers: int = 0  #: layers with experts
    recipe: Architecture = Architecture()
    note: str = ""  #: what of it is an estimate

    @property
    def head(self) -> int:
        """Parameters of the output matrix, tied or not."""
        return self.vocab * self.hidden


def read(model: str) -> Decoder:
    """The shape of the model that a config.json, a folder with one, or a name on the Hugging Face hub describes.

    Raises Unreadable where there is none, or where it describes no decoder.
    """
    path = Path(model) / "config.json" if Path(model).is_dir() else Path(model)
    if path.is_file():
        try:
            config = json.loads(path.read_bytes())
        except (ValueError, RecursionError) as error:
            raise Unreadable(path, f"is no JSON ({error})", "give the model's config.json") from None
    elif Path(model).is_dir():
        raise Unreadable(model, "holds no config.json", "give the folder that the model was saved to")
    else:
        config = _from_hub(model)
    if not isinstance(config, dict) or not isinstance(config.get("text_config", config), dict):
        raise Unreadable(model, "is no model's configuration", "give the model's config.json")
    try:
        return decoder(config)
    except KeyError as error:
        raise Unreadable(model, f"does not say {error}", "give the config.json of a decoder-only model") from None
    except (TypeError, ValueError, ZeroDivisionError) as error:
        raise Unreadable(model, f"describes no decoder ({error})", "give a decoder-only model's config.json") from None


def decoder(config: Mapping[str, Any]) -> Decoder:
    """The shape that a configuration describes; of one with several parts (text and vision) the text part.

    Raises KeyError for a size that is missing, ValueError for a model that cannot be built.
    """
    note = ""
    if "text_config" in config:
        note = "the text part alone: what reads images is not counted"
        config = {"model_type": f"{config.get('model_type')}_text", **config["text_config"]}
    family = str(config.get("model_type", ""))
    if family not in FAMILIES:
        return _on_meta_device(config, note)
    return _counted(family, config, note)


def _counted(family: str, config: Mapping[str, Any], note: str) -> Decoder:
    recipe = FAMILIES[family]

    def get(name: str, default: Any = None) -> Any:
        for key in (name, *_ALIASES.get(name, ())):
            if config.get(key) is not None:
                return config[key]
        return recipe.defaults.get(name, default)

    def size(name: str) -> int:
        value = get(name)
        if value is None:
            raise KeyError(name)
        return int(value)

    h, layers = size("hidden_size"), size("num_hidden_layers")
    vocab, heads = size("vocab_size"), size("num_attention_heads")
    kv_heads = int(get("num_key_value_heads", heads)) if family not in ("gpt2", "gpt_neox") else heads
    d = int(get("head_dim", h // heads))
    i = int(get("intermediate_size", 4 * h))
    if min(h, layers, vocab, heads, kv_heads, d, i) < 1:
        raise ValueError("a size below 1")
    queries, keys = heads * d, kv_heads * d
    bias = bool(get("attention_bias", False))
    qkv_bias = bool(get("qkv_bias", recipe.qkv_bias)) or bias
    if family == "gpt_neox":  # the one family whose option takes the bias away
        qkv_bias = out_bias = bool(get("attention_bias", True))
    else:
        out_bias = recipe.out_bias or (bias and family not in ("qwen2_moe", "mistral", "mixtral"))
    attention = [(h, queries), (h, keys), (h, keys), (queries, h)]
    mlp_bias = recipe.mlp_bias or bool(get("mlp_bias", False))

    sparse = _sparse_layers(family, get, layers)
    experts = int(get("num_experts", 0)) if sparse else 0
    expert_width = int(get("moe_intermediate_size", i)) if sparse else 0
    shared_width = int(get("shared_expert_intermediate_size", 0)) if sparse and family == "qwen2_moe" else 0

    norms = recipe.norms * h * (2 if recipe.norm == "layer" else 1) + (2 * d if recipe.head_norm else 0)
    biases = (queries + 2 * keys if qkv_bias else 0) + (h if out_bias else 0)
    around = _area(attention) + biases + norms
    dense_mlp = _mlp(h, i, recipe.gated)
    dense = around + _area(dense_mlp) + ((i * (2 if recipe.gated else 1) + h) if mlp_bias else 0)
    shared_mlp = _mlp(h, shared_width, True) if shared_width else []
    sparse_mlp = experts * 3 * h * expert_width + experts * h + _area(shared_mlp) + (h if shared_width else 0)

    tied = bool(get("tie_word_embeddings", False))
    positions = size("max_position_embeddings") * h if recipe.positions else 0
    head = 0 if tied else vocab * h + (vocab if recipe.head_bias else 0)
    final_norm = h * (2 if recipe.norm == "layer" else 1)
    in_dense, in_sparse = [*attention, *dense_mlp], [*attention, *shared_mlp]
    adapted = in_dense * (layers - sparse) + (in_sparse + [(h, 1)] * bool(shared_width)) * sparse
    if recipe.fused:
        in_one = [(h, queries + 2 * keys), (queries, h), *([(h, 2 * i)] if recipe.gated else [(h, i)]), (i, h)]
        adapted = in_one * layers
    inside = (layers - sparse) * dense + sparse * (around + sparse_mlp)
    return Decoder(
        family=family,
        layers=layers,
        hidden=h,
        heads=heads,
        kv_heads=kv_heads,
        head_dim=d,
        intermediate=i,
        vocab=vocab,
        parameters=vocab * h + positions + head + final_norm + inside,
        largest_layer=max(dense if sparse < layers else 0, around + sparse_mlp if sparse else 0),
        matrices=(layers - sparse) * _area(in_dense) + sparse * (_area(in_sparse) + experts * 3 * h * expert_width),
        adapted=tuple(adapted),
        activation=str(get("hidden_act", "silu")),
        tied=tied,
        experts=experts,
        experts_per_token=int(get("num_experts_per_tok", 2)) if sparse else 0,
        expert_width=expert_width,
        shared_width=shared_width,
        sparse_layers=sparse,
        recipe=recipe,
        note=note,
    )


def _sparse_layers(family: str, get: Any, layers: int) -> int:
    """How many layers have experts (transformers/models/qwen2_moe: every `decoder_sparse_step`-th, unless excepted)."""
    if family == "mixtral":
        return layers
    if not family.endswith("_moe") or not get("num_experts", 0):
        return 0
    step, dense = int(get("decoder_sparse_step", 1)), set(get("mlp_only_layers", ()) or ())
    return sum((index + 1) % step == 0 and index not in dense for index in range(layers))


def _mlp(hidden: int, width: int, gated: bool) -> list[tuple[int, int]]:
    return [(hidden, width)] * (2 if gated else 1) + [(width, hidden)]


def _area(maps: list[tuple[int, int]]) -> int:
    return sum(a * b for a, b in maps)


# --- with transformers -----------------------------------------------------------------------------------------------


def _from_hub(name: str) -> dict[str, Any]:
    if name.endswith(".json") or name.startswith((".", "/", "~")):
        raise Unreadable(name, "no such file", "give the model's config.json or the folder it was saved to")
    try:
        from transformers import AutoConfig
    except ImportError:
        raise Unreadable(
            name, "no such file or folder", "give the model's config.json, or install `firstbreak[check]` for the hub"
        ) from None
    try:
        return dict(AutoConfig.from_pretrained(name).to_dict())
    except Exception as error:  # whatever the hub, the cache and the network answer
        problem = f"is no file, and cannot be had from the hub ({str(error).splitlines()[0]})"
        raise Unreadable(name, problem, "give the model's config.json") from None


def meta_model(config: Mapping[str, Any]) -> Any:
    """The model on the meta device: shapes without memory. Raises ValueError where transformers knows no such decoder."""
    import torch
    from transformers import AutoConfig, AutoModelForCausalLM

    options = {key: value for key, value in config.items() if key != "model_type"}
    try:
        built = AutoConfig.for_model(str(config.get("model_type", "")), **options)
        with torch.device("meta"):
            return AutoModelForCausalLM.from_config(built)
    except Exception as error:  # a configuration is the user's: whatever it breaks is about the configuration
        raise ValueError(str(error).splitlines()[0] if str(error) else type(error).__name__) from None


def _on_meta_device(config: Mapping[str, Any], note: str) -> Decoder:
    """The shape of a family that is not in the table: parameters exactly, widths from the common names."""
    try:
        import transformers  # noqa: F401
    except ImportError:
        known = ", ".join(FAMILIES)
        raise ValueError(
            f"model_type {config.get('model_type')!r} is not one of {known}: install `firstbreak[check]` to count it"
        ) from None
    model = meta_model(config)
    built = model.config
    linear = {n: m for n, m in model.named_modules() if type(m).__name__ in ("Linear", "Conv1D")}
    head = model.get_output_embeddings()
    inside = [tuple(m.weight.shape) for m in linear.values() if m is not head]
    stacks = [m for m in model.modules() if type(m).__name__ == "ModuleList" and len(m) == built.num_hidden_layers]
    h, heads = int(built.hidden_size), int(built.num_attention_heads)
    embedding, tied = model.get_input_embeddings().weight, _tied(model)
    return Decoder(
        family=str(config["model_type"]),
        layers=int(built.num_hidden_layers),
        hidden=h,
        heads=heads,
        kv_heads=int(getattr(built, "num_key_value_heads", None) or heads),
        head_dim=int(getattr(built, "head_dim", None) or h // heads),
        intermediate=int(getattr(built, "intermediate_size", None) or 4 * h),
        vocab=int(embedding.shape[0]),
        parameters=sum(p.numel() for p in model.parameters()),
        largest_layer=max((sum(p.numel() for p in layer.parameters()) for s in stacks for layer in s), default=0),
        matrices=sum(p.numel() for p in model.parameters() if p.ndim > 1) - (2 - tied) * embedding.numel(),
        adapted=tuple((b, a) for a, b in inside),
        activation=str(getattr(built, "hidden_act", "silu")),
        tied=tied,
        note="; ".join(filter(None, [note, "activations as in a llama of this size: the family is not in the table"])),
    )


def _tied(model: Any) -> bool:
    head = model.get_output_embeddings()
    return head is not None and head.weight is model.get_input_embeddings().weight
