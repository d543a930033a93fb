"""What lies on a GPU, when, and for whom: `ledger(plan)` is a pure function from a plan to its entries.

A step of training goes through phases (rollout, scoring, update); within a phase memory has several peaks (the loss, the
backward pass, the optimizer's step), and what counts is the highest. Bytes are those of one GPU, of the fullest rank.

Sources: Rajbhandari et al. 2019 (ZeRO); Dettmers et al. 2021, 2023 (8-bit optimizers, QLoRA); transformers, PEFT, TRL
and DeepSpeed for what their code keeps. `benchmarks/memory.py` measures the sums.
"""

from collections.abc import Iterator

from firstbreak.preflight.memory import activations
from firstbreak.preflight.memory.activations import FP32, PRECISIONS, Numbers
from firstbreak.preflight.memory.decoder import Decoder
from firstbreak.values import dataclass, replace

GIB = 1 << 30
NF4 = 0.5 + 1 / 64 + FP32 / (64 * 256)  #: bytes of a 4-bit weight with its doubly quantised scales (QLoRA)
EIGHT_BIT = 1 + FP32 / 256  #: bytes of an 8-bit optimizer state with the scale of its block (bitsandbytes)
CONTEXT = 1 * GIB  #: CUDA context, cuBLAS workspaces, NCCL buffers: an assumption, 0.5 to 1.5 GiB in practice
BUCKET = 500_000_000  #: numbers in flight while gradients are reduced: DeepSpeed's default `reduce_bucket_size`
TILE = (4096, 32768)  #: tokens and vocabulary of one tile of TRL's fused output layer
INT64 = 8
#: what is kept of rollouts until the update: without a critic, and with one
STORED = (
    "rollouts (ids, masks, log-probs, advantages)",
    "rollouts (ids, masks, log-probs, values, returns, advantages)",
)


@dataclass(frozen=True)
class Optimizer:
    """Bytes for one trained number of e bytes: `states` of its size, `constant` ones, and temporaries in the step."""

    states: int = 0
    constant: float = 0.0
    temporaries: int = 0

    def state(self, e: int) -> float:
        """Bytes that stay."""
        return self.states * e + self.constant


OPTIMIZERS = {
    "adamw": Optimizer(states=2),  # torch's fused kernel
    "adamw_foreach": Optimizer(states=2, temporaries=1),  # torch's default on GPUs: one temporary of every tensor
    "adamw_8bit": Optimizer(constant=2 * EIGHT_BIT),
    "sgd": Optimizer(),
    "sgd_momentum": Optimizer(states=1),
}
SHARDS = ("none", "zero1", "zero2", "zero3", "fsdp")
ENGINES = ("trainer", "colocated", "separate")
LOGITS = ("full", "rows", "fused")
OFFLOADS = ("optimizer", "trainer", "reference", "engine")
PAIRED = frozenset({"dpo", "ipo", "kto", "orpo", "simpo", "cpo"})
GROUPED = frozenset({"grpo", "rloo", "dapo", "gspo", "dr_grpo", "reinforce", "remax", "online_dpo"})
ALGORITHMS = ("sft", "reward", "ppo", *sorted(PAIRED), *sorted(GROUPED))
WITHOUT_REFERENCE = frozenset({"sft", "reward", "orpo", "simpo", "cpo"})


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What is going to be trained, on what. Sizes in tokens and sequences for one GPU, memory in bytes."""

    algorithm: str
    actor: Decoder
    critic: Decoder | None = None  #: for PPO; the actor's shape where it is None
    reward_model: Decoder | None = None  #: None: rewards come from code
    reference: bool = True  #: a frozen copy of the actor gives log-probabilities (where the algorithm has a use for it)
    gpus: int = 1  #: that train
    gpu_memory: int = 80 * GIB
    prompt: int = 512
    completion: int = 1024
    micro_batch: int = 1  #: sequences (pairs, for preference learning) of one forward and backward pass
    rollouts: int = 8  #: completions that one GPU generates at a time and keeps for the update
    accumulation: bool = True  #: gradients of several micro-batches are added up
    precision: str = "bf16"  #: "fp32"; "bf16": weights too; "mixed": float32 weights, bfloat16 computation
    master: bool | None = None  #: float32 copy of bfloat16 weights in the optimizer; None: under ZeRO
    optimizer: str = "adamw"
    shard: str = "none"
    lora: int = 0  #: rank, 0 for none
    four_bit: bool = False  #: frozen weights in 4 bits
    checkpointing: bool = True
    fused_attention: bool = True  #: attention by a fused kernel
    logits: str = "full"  #: "full": float32 log-softmax of all; "rows": one sequence at a time; "fused": in tiles
    temperature: float = 1.0
    engine: str = "trainer"  #: what generates: the trainer's own model, an engine beside it, or one on other GPUs
    engine_gpus: int = 1  #: GPUs of one copy of the engine (tensor parallel)
    engine_share: float | None = None  #: of a GPU that the engine reserves; None: what the rollouts need
    offload: frozenset[str] = frozenset()  #: to the host: see OFFLOADS
    context: int = CONTEXT

    @property
    def length(self) -> int:
        """Tokens of one sequence."""
        return self.prompt + self.completion

    @property
    def sequences(self) -> int:
        """Sequences of one forward pass: a pair is two."""
        return self.micro_batch * (2 if self.algorithm in PAIRED else 1)

    @property
    def generates(self) -> bool:
        """Whether there is a rollout phase."""
        return self.algorithm in GROUPED or self.algorithm == "ppo"

    @property
    def refers(self) -> bool:
        """Whether a reference model takes part."""
        return self.reference and self.algorithm not in WITHOUT_REFERENCE

    @property
    def numbers(self) -> Numbers:
        """Bytes of weights and of activations."""
        return PRECISIONS[self.precision]


@dataclass(frozen=True)
class Entry:
    """One line: so many bytes of this kind, for this role, in this phase."""

    place: str  #: "trainer", "engine" or "host"
    phase: str  #: "rollout", "scoring", "update"
    moment: str  #: when in the phase
    role: str  #: "actor", "critic", "reference", "reward model", "engine", ""
    kind: str  #: "weights", "gradients", "optimizer", "activations", "logits", "kv cache", ...
    bytes: float


def ledger(plan: Plan) -> tuple[Entry, ...]:
    """The entries at the highest moment of each phase, for one GPU of each place (for the host: of all its GPUs)."""
    highest: dict[tuple[str, str], list[Entry]] = {}
    for moment in moments(plan):
        key = (moment[0].place, moment[0].phase)
        if key not in highest or total(moment) > total(highest[key]):
            highest[key] = moment
    return tuple(entry for moment in highest.values() for entry in moment)


def total(entries: tuple[Entry, ...] | list[Entry]) -> float:
    """The sum of bytes."""
    return sum(entry.bytes for entry in entries)


def peaks(entries: tuple[Entry, ...]) -> dict[tuple[str, str], float]:
    """(place, phase) -> bytes."""
    sums: dict[tuple[str, str], float] = {}
    for entry in entries:
        sums[entry.place, entry.phase] = sums.get((entry.place, entry.phase), 0.0) + entry.bytes
    return sums


# --- one model -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Role:
    """A model with a part in training, and what it takes on one GPU."""

    name: str
    model: Decoder
    trained: bool
    plan: Plan
    scores: bool = False  #: one number for a token instead of logits

    @property
    def parameters(self) -> int:
        """All of them: a value head is one row in the place of the output matrix."""
        d = self.model
        return d.parameters - (0 if d.tied or not self.scores else d.head) + (d.hidden if self.scores else 0)

    @property
    def trainable(self) -> int:
        if not self.trained:
            return 0
        return adapters(self.model, self.plan.lora) if self.plan.lora else self.parameters

    @property
    def trained_bytes(self) -> int:
        """Bytes of one trained number: PEFT keeps adapters in float32 whatever the model's precision."""
        return FP32 if self.plan.lora else self.plan.numbers.weight

    @property
    def frozen(self) -> int:
        return self.parameters - (self.trainable if not self.plan.lora else 0)

    @property
    def whole(self) -> float:
        """Bytes of all weights, unsharded."""
        e = self.plan.numbers.weight if self.trained else self.plan.numbers.compute
        four_bit = self.model.matrices if self.plan.four_bit and self.frozen else 0
        base = four_bit * NF4 + (self.parameters - four_bit) * e
        return base + (self.trainable * self.trained_bytes if self.plan.lora else 0)

    @property
    def weights(self) -> float:
        return self.whole / (self.plan.gpus if self.plan.shard in ("zero3", "fsdp") else 1)

    @property
    def gathered(self) -> float:
        """Layers that are whole at a time where weights are sharded: one in use, one on its way, and the vocabulary."""
        if self.plan.shard not in ("zero3", "fsdp") or self.plan.gpus == 1:
            return 0.0
        d, e = self.model, self.plan.numbers.compute
        return min(self.parameters, 2 * d.largest_layer + d.head) * e

    @property
    def cast(self) -> float:
        """Copies that autocast makes of float32 weights, and keeps until the end of the pass."""
        if not self.plan.numbers.cast or self.plan.shard in ("zero3", "fsdp") or self.plan.four_bit:
            return 0.0
        return (self.model.matrices + (0 if self.scores else self.model.head)) * self.plan.numbers.compute

    @property
    def gradients(self) -> float:
        return self.trainable * self.trained_bytes / (self.plan.gpus if self.plan.shard in SHARDS[2:] else 1)

    @property
    def optimizer(self) -> float:
        kind, e = OPTIMIZERS[self.plan.optimizer], self.trained_bytes
        master = self.plan.master if self.plan.master is not None else self.plan.shard.startswith("zero")
        number = FP32 + kind.state(FP32) if master and e < FP32 else kind.state(e)
        return self.trainable * number / (self.plan.gpus if self.plan.shard != "none" else 1)

    @property
    def step(self) -> float:
        """Temporaries of the optimizer's step."""
        temporary = OPTIMIZERS[self.plan.optimizer].temporaries * self.trained_bytes
        return self.trainable * temporary / (self.plan.gpus if self.plan.shard != "none" else 1)

    @property
    def communication(self) -> float:
        """The bucket that DeepSpeed reduces gradients in."""
        if not self.plan.shard.startswith("zero") or self.plan.gpus == 1:
            return 0.0
        return min(BUCKET, self.trainable) * self.plan.numbers.compute

    # of a pass over the plan's sequences

    @property
    def tokens(self) -> int:
        return self.plan.sequences * self.plan.length

    @property
    def by_layer(self) -> float:
        """What one layer keeps for its backward pass."""
        d, plan = self.model, self.plan
        kept = activations.kept_by_layer(d, plan.numbers, plan.length, plan.fused_attention)
        if plan.lora:
            kept += activations.changed_by_adapters(d, plan.numbers, plan.lora)
        return kept * self.tokens

    @property
    def kept(self) -> float:
        """What all layers keep: everything, or the inputs of the layers and, for a time, one layer."""
        end = activations.kept_at_the_end(self.model, self.plan.numbers) * self.tokens
        if self.plan.checkpointing:
            return activations.kept_by_checkpoint(self.model, self.plan.numbers) * self.tokens * self.model.layers + end
        return self.by_layer * self.model.layers + end

    @property
    def working(self) -> float:
        """Gradients of activations that are alive beside what a layer keeps, where its MLP is widest."""
        d = self.model
        width = max(d.intermediate, d.experts_per_token * d.expert_width)
        return (2 * width + 2 * d.hidden) * self.plan.numbers.compute * self.tokens

    def through(self, tokens: int) -> float:
        """A forward pass without gradients: the residual stream and what is alive inside attention or the MLP."""
        d = self.model
        width = max(d.intermediate, d.experts_per_token * d.expert_width)
        one_map = 5 if d.activation == "gelu_new" else 2
        # gate, up and their product; in one piece they live on until it is made
        wide = (4 if d.recipe.fused else 3) if d.recipe.gated else one_map
        if self.trained and self.plan.lora:  # the adapter's result, and the same scaled, beside the map's
            wide += 2 if d.recipe.gated and d.recipe.fused else 1
        mlp = wide * width + 3 * d.hidden
        queries, keys = d.heads * d.head_dim, d.kv_heads * d.head_dim
        attention = 2 * d.hidden + 4 * queries + 2 * keys  # query, key and value, and a query while it is rotated
        return max(mlp, attention) * self.plan.numbers.compute * tokens

    @property
    def result(self) -> float:
        """What a forward pass without gradients leaves: the last hidden state, before and after its norm."""
        return 2 * self.model.hidden * self.plan.numbers.compute * self.tokens

    @property
    def scored(self) -> int:
        """Positions that get logits: all of a pair or an example, the completion of a rollout."""
        return self.plan.sequences * (self.plan.completion + 1 if self.plan.generates else self.plan.length)

    def logits(self, backward: bool) -> float:
        """Logits with their copies at the worst moment of the loss."""
        if self.scores:
            return 0.0
        plan, d, e = self.plan, self.model, self.plan.numbers.compute
        number, cells = plan.logits, self.scored * d.vocab
        if number == "fused":
            tile = min(self.scored, TILE[0]) * min(d.vocab, TILE[1]) * e
            head = d.head * FP32 if backward and not plan.lora else 0  # its gradient is added up in float32
            return tile + (self.scored * d.hidden * FP32 + head if backward else 0)
        if number == "rows":
            row = e / plan.sequences
            tempered = e if plan.temperature != 1 and (e < FP32 or not backward) else 0
            if not backward:  # float32 needs no log-softmax: it subtracts a logsumexp
                return cells * (e + tempered + (row if e == FP32 else min(e, 2 * row)))
            return cells * (3 * e if e == FP32 else max(tempered + 2 * e, e + 3 * row))
        forward = e + 2 * FP32  # logits, a float32 or contiguous copy of all but the last, the log-softmax
        return cells * (max(forward, 3 * FP32) if backward else forward)  # backward: the log-softmax and two gradients

    @property
    def head_gradient(self) -> float:
        """The gradient of the vocabulary's matrix before it is added to what it belongs to."""
        if not self.trained or self.plan.lora or self.scores:
            return 0.0
        return self.model.head * self.plan.numbers.weight


def adapters(d: Decoder, rank: int) -> int:
    """Parameters of LoRA adapters of that rank on every linear map of the layers."""
    return sum(rank * (a + b) for a, b in d.adapted)


def roles(plan: Plan) -> list[_Role]:
    """Who takes part, the actor first."""
    found = [_Role("actor", plan.actor, True, plan, scores=plan.algorithm == "reward")]
    if plan.algorithm == "ppo":
        found.append(_Role("critic", plan.critic or plan.actor, True, plan, scores=True))
    if plan.refers and not plan.lora:  # with adapters the reference is the actor without them
        found.append(_Role("reference", plan.actor, False, plan))
    if plan.reward_model is not None:
        found.append(_Role("reward model", plan.reward_model, False, plan, scores=True))
    return found


# --- the phases ------------------------------------------------------------------------------------------------------


def moments(plan: Plan) -> Iterator[list[Entry]]:
    """Every moment that may be the highest of its phase and place."""
    cast = roles(plan)
    trained = [role for role in cast if role.trained]
    if plan.generates:
        yield from _rollout(plan, cast)
    if plan.generates or plan.algorithm in PAIRED:
        yield from _scoring(plan, cast)
    for role in trained:
        yield from _update(plan, cast, role)
    host = list(_host(plan, cast))
    if host:
        yield host


def _resident(plan: Plan, cast: list[_Role], phase: str, moment: str, busy: str = "") -> Iterator[Entry]:
    """What lies on a training GPU in a phase, whoever is at work; `busy` is the role that is."""

    def entry(role: str, kind: str, size: float) -> Entry:
        return Entry("trainer", phase, moment, role, kind, size)

    yield entry("", "cuda context", plan.context)
    for role in cast:
        away = "trainer" in plan.offload and role.trained and phase != "update"
        away |= "reference" in plan.offload and role.name != busy and not role.trained
        used_to_generate = phase == "rollout" and plan.engine == "trainer" and role.name == "actor"
        scores_itself = phase == "scoring" and role.name == busy
        if not away or used_to_generate or scores_itself:
            yield entry(role.name, "weights", role.weights)
        if role.trained and not away and "optimizer" not in plan.offload:
            yield entry(role.name, "optimizer", role.optimizer)
    if plan.generates:
        yield entry("", STORED[plan.algorithm == "ppo"], _storage(plan))
    if plan.engine == "colocated" and plan.generates and (phase == "rollout" or "engine" not in plan.offload):
        yield from _engine(plan, "trainer", phase, moment)


def _rollout(plan: Plan, cast: list[_Role]) -> Iterator[list[Entry]]:
    if plan.engine == "separate":
        context = Entry("engine", "rollout", "generation", "", "cuda context", plan.context)
        yield [context, *_engine(plan, "engine", "rollout", "generation")]
    here = list(_resident(plan, cast, "rollout", "generation", busy="actor"))
    if plan.engine == "trainer":
        actor, d, e = cast[0], plan.actor, plan.numbers.compute
        token = plan.rollouts * kv_bytes(d, e)
        gathered = actor.whole if actor.gathered else 0.0  # generation gathers the whole model, not layer after layer
        for moment, work in {
            "prompts": {"kv cache": token * plan.prompt, "activations": actor.through(plan.rollouts * plan.prompt)},
            # a layer's keys, then its values, are copied to grow by one token
            "last token": {"kv cache": token * (plan.length + plan.length / d.layers / 2)},
        }.items():
            work |= {"logits": plan.rollouts * d.vocab * (e + 2 * FP32), "working set": gathered + actor.cast}
            resident = [replace(entry, moment=moment) for entry in here]
            yield resident + [Entry("trainer", "rollout", moment, "actor", kind, size) for kind, size in work.items()]
    else:
        yield here


def _engine(plan: Plan, place: str, phase: str, moment: str) -> Iterator[Entry]:
    """An inference engine's own weights and its cache: what it reserves, or what the rollouts need."""
    weights = engine_weights(plan)
    yield Entry(place, phase, moment, "engine", "weights", weights)
    yield Entry(place, phase, moment, "engine", "kv cache", engine_cache(plan))


def engine_weights(plan: Plan) -> float:
    """Bytes of the engine's weights on one of its GPUs: bfloat16, adapters merged."""
    return plan.actor.parameters * PRECISIONS["bf16"].compute / plan.engine_gpus


def engine_cache(plan: Plan) -> float:
    """Bytes of the engine's KV cache on one of its GPUs; negative shares of a GPU are none."""
    if plan.engine_share is not None:
        return max(0.0, plan.engine_share * plan.gpu_memory - engine_weights(plan))
    return plan.rollouts * plan.length * kv_bytes(plan.actor, PRECISIONS["bf16"].compute) / plan.engine_gpus


def kv_bytes(d: Decoder, e: int) -> int:
    """Bytes of one token in the KV cache (sliding windows are not taken off)."""
    return 2 * d.layers * d.kv_heads * d.head_dim * e


def _storage(plan: Plan) -> float:
    """Rollouts kept for the update: ids and mask, log-probabilities (old, reference), advantages; for PPO values and returns."""
    numbers = 2 + plan.refers + (2 if plan.algorithm == "ppo" else 0)
    return plan.rollouts * (plan.length * 2 * INT64 + plan.completion * numbers * FP32)


def _scoring(plan: Plan, cast: list[_Role]) -> Iterator[list[Entry]]:
    """Log-probabilities and scores of what was generated: forward passes, one role after the other."""
    for role in cast:
        if plan.algorithm in PAIRED and role is not _reference(plan, cast):
            continue
        for name, work in {
            "layers": {"activations": role.through(role.tokens)},
            "output": {"activations": role.result, "logits": role.logits(backward=False)},
        }.items():
            moment = f"{role.name}, {name}"
            here = list(_resident(plan, cast, "scoring", moment, busy=role.name))
            work["working set"] = role.gathered + role.cast
            yield here + [Entry("trainer", "scoring", moment, role.name, kind, size) for kind, size in work.items()]


def _reference(plan: Plan, cast: list[_Role]) -> _Role | None:
    """Who gives the reference's log-probabilities: a model of its own, or the actor without its adapters."""
    return (cast[0] if plan.lora else next(r for r in cast if r.name == "reference")) if plan.refers else None


def _update(plan: Plan, cast: list[_Role], role: _Role) -> Iterator[list[Entry]]:
    """One trained model: the loss, the backward pass at its top and at its end, the optimizer's step."""
    held = role.gradients if plan.accumulation else 0.0
    one_layer = role.by_layer if plan.checkpointing else 0.0
    between = {"working set": role.cast + role.gathered + role.communication}

    def moment(name: str, parts: dict[str, float]) -> list[Entry]:
        name = name if len([r for r in cast if r.trained]) == 1 else f"{role.name}, {name}"
        here = list(_resident(plan, cast, "update", name))
        return here + [Entry("trainer", "update", name, role.name, kind, size) for kind, size in parts.items()]

    loss = role.logits(backward=True)
    yield moment("loss", between | {"gradients": held, "activations": role.kept, "logits": loss})
    # the output's share of a tied matrix, until the input's comes
    waiting = role.head_gradient if role.model.tied else 0.0
    top = held + waiting if plan.accumulation else role.head_gradient
    yield moment("backward", between | {"gradients": top, "activations": role.kept + one_layer + role.working})
    first = between | {"gradients": role.gradients, "activations": one_layer}
    yield moment("first layer", first | {"working set": between["working set"] + waiting})
    # the input's share, and where it is added to something, that: the other share, or what was accumulated
    shares = (3 if plan.accumulation else 2) if role.model.tied else 1 if plan.accumulation else 0
    yield moment("embedding", between | {"gradients": role.gradients + shares * role.head_gradient})
    yield moment("optimizer step", {"gradients": role.gradients, "working set": role.step})
    reference = _reference(plan, cast)
    if plan.algorithm in PAIRED and reference is not None:
        cell = {"full": FP32, "rows": plan.numbers.compute, "fused": 0}[plan.logits]
        waits = {"gradients": held, "activations": role.kept, "logits": role.scored * role.model.vocab * cell}
        for name, kind, size in (
            ("layers of the reference", "activations", reference.through(role.tokens)),
            ("output of the reference", "logits", reference.result + reference.logits(backward=False)),
        ):
            yield moment(name, between | waits | {kind: waits[kind] + size})


def _host(plan: Plan, cast: list[_Role]) -> Iterator[Entry]:
    """What was moved to the memory of the host, for all GPUs that train (one host is assumed)."""
    for role in cast:
        if role.trained and plan.offload & {"optimizer", "trainer"}:
            yield Entry("host", "update", "always", role.name, "optimizer", role.optimizer * plan.gpus)
        if ("trainer" if role.trained else "reference") in plan.offload:
            yield Entry("host", "update", "always", role.name, "weights", role.weights * plan.gpus)


# --- what to change --------------------------------------------------------------------------------------------------


def worst(plan: Plan, place: str = "trainer") -> float:
    """The highest bytes of a place, over its phases."""
    return max((size for (where, _), size in peaks(ledger(plan)).items() if where == place), default=0.0)


def remedies(plan: Plan) -> list[tuple[str, Plan]]:
    """Every single change that could lower the peak: what to do, and the plan with it."""
    more: list[tuple[str, Plan]] = []

    def offer(text: str, **changes: object) -> None:
        more.append((text, replace(plan, **changes)))  # type: ignore[arg-type]

    if not plan.checkpointing:
        offer("gradient checkpointing (a third more computation)", checkpointing=True)
    if not plan.fused_attention:
        offer("fused attention (sdpa or flash-attention)", fused_attention=True)
    if plan.logits != "fused":
        offer("a fused output layer: no whole logits", logits="fused")
    if plan.micro_batch > 1:
        offer(f"micro-batch {plan.micro_batch // 2} and twice the accumulation", micro_batch=plan.micro_batch // 2)
    if plan.precision != "bf16":
        offer("weights in bfloat16 (another precision)", precision="bf16")
    if plan.optimizer.startswith("adamw") and plan.optimizer != "adamw_8bit":
        offer("an 8-bit optimizer (its states in another precision)", optimizer="adamw_8bit")
    if not plan.lora:
        offer("LoRA of rank 16", lora=16)
    if plan.lora and not plan.four_bit:
        offer("4-bit weights under the adapters (QLoRA)", four_bit=True)
    if plan.gpus > 1:
        for shard in SHARDS[1:] if plan.shard == "none" else ("zero3",) if plan.shard in ("zero1", "zero2") else ():
            offer(f"sharding: {shard}{_precision(plan, shard)}", shard=shard)
    for what, text in (
        ("optimizer", "the optimizer's state in host memory"),
        ("reference", "frozen models in host memory when idle"),
        ("engine", "the engine asleep outside of the rollout"),
        ("trainer", "the trainer in host memory outside of updates"),
    ):
        useful = {"engine": plan.engine == "colocated", "trainer": plan.generates and plan.engine == "colocated"}
        if what not in plan.offload and useful.get(what, True):
            offer(text, offload=plan.offload | {what})
    if plan.generates and plan.rollouts > 1:
        offer(f"{plan.rollouts // 2} completions generated at a time", rollouts=plan.rollouts // 2)
    if plan.generates and plan.engine != "separate":
        offer("generation on other GPUs", engine="separate")
    if plan.refers and not plan.lora:
        offer("no reference model (KL coefficient 0)", reference=False)
    offer("completions half as long", completion=max(1, plan.completion // 2))
    offer("twice the GPUs, fully sharded", gpus=plan.gpus * 2, shard=plan.shard if plan.shard != "none" else "fsdp")
    return more


def _precision(plan: Plan, shard: str) -> str:
    """What sharding this way changes beside the place of the numbers."""
    if plan.precision != "bf16" or plan.lora or plan.master is not None or plan.shard.startswith("zero"):
        return ""
    zero = "float32 copy of the weights and states: another precision than now"
    return f" ({zero})" if shard.startswith("zero") else " (the precision stays bfloat16, states too)"


def ranked(plan: Plan) -> list[tuple[float, str, Plan]]:
    """The changes that help, by bytes saved on a training GPU, the largest first."""
    now = worst(plan)
    saved = [(now - worst(changed), text, changed) for text, changed in remedies(plan)]
    return sorted((row for row in saved if row[0] > 0), key=lambda row: -row[0])


#: changes of the question, not of the means: left to the user
_OTHER_QUESTION = ("twice the GPUs", "completions half", "no reference", "generation on other", "LoRA")


def until_it_fits(plan: Plan, limit: float, most: int = 6) -> tuple[list[str], Plan]:
    """Changes taken one after the other, the one that saves most first, until the plan fits or nothing helps.

    What changes the question is left to the user; adapters instead of all weights are taken where nothing else is enough.
    """
    steps, changed = _taken(plan, limit, most, _OTHER_QUESTION)
    return (steps, changed) if worst(changed) <= limit else _taken(plan, limit, most, _OTHER_QUESTION[:-1])


def _taken(plan: Plan, limit: float, most: int, without: tuple[str, ...]) -> tuple[list[str], Plan]:
    steps: list[str] = []
    while worst(plan) > limit and len(steps) < most:
        helps = [row for row in ranked(plan) if not row[1].startswith(without)]
        if not helps:
            break
        _, text, plan = helps[0]
        steps.append(text)
    return steps, plan
