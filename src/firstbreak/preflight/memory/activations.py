"""What the backward pass of a decoder keeps, in bytes for one token: counted from the modelling code of transformers.

A tensor is kept where some operation needs it for its gradient: a linear map keeps its input, a product both factors, a
softmax its result; what is kept twice is stored once. `benchmarks/memory.py` measures the sums on real models.
"""

from firstbreak.preflight.memory.decoder import Decoder
from firstbreak.values import dataclass

FP32 = 4


@dataclass(frozen=True)
class Numbers:
    """Bytes of one number. Under autocast (`cast`) weights and the residual stream stay in float32."""

    weight: int
    compute: int
    cast: bool = False


PRECISIONS = {"fp32": Numbers(4, 4), "bf16": Numbers(2, 2), "mixed": Numbers(4, 2, True)}


def kept_by_layer(d: Decoder, n: Numbers, length: int, fused_attention: bool) -> float:
    """Bytes for one token of a sequence of `length` tokens, averaged over the layers."""
    e, r = n.compute, d.recipe
    queries, keys = d.heads * d.head_dim, d.kv_heads * d.head_dim
    dense = _mlp(d, d.intermediate) * e
    sparse = _experts(d, e) if d.sparse_layers else 0.0
    mlp = ((d.layers - d.sparse_layers) * dense + d.sparse_layers * sparse) / d.layers
    norms = _norms(d, n)
    heads = (FP32 + (FP32 if r.norm == "rms1p" else e)) * (queries + keys) if r.head_norm else 0
    return norms + heads + _attention(d, e, length, fused_attention) + mlp


def kept_by_checkpoint(d: Decoder, n: Numbers) -> float:
    """Bytes for one token and layer where only the layer's input is kept, and the rest computed again."""
    return d.hidden * (FP32 if n.cast else n.compute)


def kept_at_the_end(d: Decoder, n: Numbers) -> float:
    """Bytes for one token: what the last norm keeps, and the input of the output matrix."""
    return d.hidden * _norm(d, n, readers=1)


def _norm(d: Decoder, n: Numbers, readers: int) -> float:
    """Bytes for one number of the residual stream; `readers` linear maps use the result."""
    e = n.compute
    result = e * readers if n.cast else e  # autocast makes a copy of its own for each of them
    if d.recipe.norm == "layer":  # torch's own kernel: its input
        return (FP32 if n.cast else e) + result
    if d.recipe.norm == "rms1p" or n.cast:  # the input and the normalised input, both in float32
        return 2 * FP32 + result
    return FP32 + e + result


def _norms(d: Decoder, n: Numbers) -> float:
    h, r = d.hidden, d.recipe
    projections = 1 if r.fused else 3
    mlp_readers = 2 if r.gated and not r.fused else 1
    if r.norms == 1:  # attention and MLP read one result
        return h * _norm(d, n, projections + mlp_readers)
    both = h * (_norm(d, n, projections) + _norm(d, n, mlp_readers))
    if r.parallel:  # two norms of one residual, which is kept once
        both -= h * (FP32 if n.cast else n.compute)
    # the norms behind attention and MLP (gemma 2 and 3) keep input and normalised input; nothing reads their result again
    return both + (r.norms - 2) * h * 2 * FP32


def _attention(d: Decoder, e: int, length: int, fused: bool) -> float:
    queries, keys = d.heads * d.head_dim, d.kv_heads * d.head_dim
    out = queries * e
    if fused:  # flash attention: query, key, value, result, and one float32 for each head
        beside_value = (queries + keys) * e if d.recipe.fused and not d.recipe.positions else 0
        copied = out if d.recipe.pieced_rotary else 0
        return (queries + 2 * keys) * e + beside_value + out + copied + FP32 * d.heads
    upcast = FP32 if e < FP32 and d.recipe.softmax_fp32 else 0  # beside the copy in the numbers of the computation
    probabilities = d.heads * length * (e + upcast)
    return 3 * queries * e + probabilities + out


def _mlp(d: Decoder, width: int) -> float:
    """Numbers kept for one token: gate, its activation, up, and their product; or the one map and its activation."""
    if d.recipe.gated:
        return 4 * width
    # gelu_new is spelt out in Python, each step keeps its input
    return (5 if d.activation == "gelu_new" else 2) * width


def _experts(d: Decoder, e: int) -> float:
    """Bytes for one token: every expert it goes to gets a copy of it, and gives back a result that is weighed."""
    chosen = d.experts_per_token * (_mlp(d, d.expert_width) + 2 * d.hidden) * e
    shared = (_mlp(d, d.shared_width) + d.hidden) * e if d.shared_width else 0
    return chosen + shared + 3 * FP32 * d.experts


def changed_by_adapters(d: Decoder, n: Numbers, rank: int) -> float:
    """Bytes for one token and layer that LoRA on every linear map adds to `kept_by_layer` (negative: takes off).

    Frozen maps and norms keep nothing for their own gradients. An adapter keeps its input: the one that the map would
    have kept, or where the model is in bfloat16 a float32 copy of it for each map (PEFT keeps adapters in float32).
    """
    maps = d.adapted[: len(d.adapted) // d.layers]
    normalised = {"rms": n.compute, "rms1p": FP32, "layer": 0}[d.recipe.norm] * d.recipe.norms * d.hidden
    inside = FP32 * rank * len(maps)
    if n.compute == FP32:
        return inside - normalised
    shared = n.compute * (2 * d.hidden + d.heads * d.head_dim + d.intermediate)  # the inputs that several maps read
    return inside - normalised + FP32 * sum(a for a, _ in maps) - shared
