"""Will it fit: the memory on a GPU in each phase of training, by role, and what to change first if it does not fit.

`options` checks what is asked for, `decoder` reads the model's shape, `activations` knows what a backward pass keeps, `ledger`
adds up a plan for a language model and `classic` one for small networks; `drawing` stacks it. Nothing is downloaded or allocated.
"""

import inspect
import os
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from firstbreak.model import Link, NotApplicable, Outcome, Severity
from firstbreak.preflight import Answer, Report, ReportTable, asking, critical, notice, warning
from firstbreak.preflight.memory import classic
from firstbreak.preflight.memory.activations import PRECISIONS
from firstbreak.preflight.memory.drawing import stacked
from firstbreak.preflight.memory.ledger import (
    GIB,
    STORED,
    Entry,
    Plan,
    engine_cache,
    engine_weights,
    kv_bytes,
    ledger,
    peaks,
    ranked,
    roles,
    total,
    until_it_fits,
)
from firstbreak.preflight.memory.ledger import worst as worst_of
from firstbreak.preflight.memory.options import NETWORKS, Options
from firstbreak.values import replace

#: share of a GPU's memory: the rest is lost to fragmentation, and a card sold as 80 GB has 79.2 GiB (convention)
USABLE = 0.92
_ask = asking(Link.SYSTEMS)


def check(model: str, **options: Any) -> Report:
    """The ledger of a plan, whether it fits, and what to change first.

    The options are those of `Options`. Raises `Unreadable` where the model or an option cannot be understood, and TypeError for
    an option of another name.
    """
    given = Options(model=model, **options)
    host = _memory_of_this_machine() if given.host_memory is None else given.host_memory * GIB
    if model in NETWORKS:
        return _small(given.classic_plan(), model, given.gpu_memory * GIB, host)
    return _large(given.plan(), model, host)


#: `check plan` and the documentation read the names of the options here
check.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
    [
        option.replace(kind=option.POSITIONAL_OR_KEYWORD) if name == "model" else option
        for name, option in inspect.signature(Options).parameters.items()
    ],
    return_annotation=Report,
)


def _large(plan: Plan, target: str, host: float) -> Report:
    entries = ledger(plan)
    limit = plan.gpu_memory * USABLE
    outcomes = [
        _ask("memory-fits", lambda: _fits(plan, entries)),
        _ask("memory-engine", lambda: _engine(plan, entries)),
        _ask("memory-host", lambda: _host(entries, host)),
        _ask("memory-spare", lambda: _spare(plan, entries)),
    ]
    changes = ranked(plan)
    rows = [
        (text, f"{saved / GIB:.1f}", f"{worst_of(new) / GIB:.1f}", "yes" if _all_fit(new) else "no")
        for saved, text, new in changes
    ]
    columns = ("change", "saves GiB", "then GiB", "fits")
    table = ReportTable(title="What to change, by memory saved", columns=columns, rows=tuple(rows[:8]))
    worst = _highest(entries, "trainer")
    tables = (table,) if rows and worst.bytes > limit / 2 else ()
    return Report(
        check="memory",
        target=f"{target}, {plan.algorithm}, {plan.gpus} x {plan.gpu_memory / GIB:.0f} GiB",
        outcomes=tuple(outcomes),
        summary=_headline(outcomes, worst, plan.gpu_memory),
        checked=tuple(_facts(plan)),
        exhibits=(stacked(entries, plan.gpu_memory), _phases(entries), *tables),
        numbers=_numbers(entries, plan.gpu_memory)
        | {"parameters": {role.name: role.parameters for role in roles(plan)}, "trainable": roles(plan)[0].trainable}
        | {"changes": [{"change": text, "saves": saved, "fits": _all_fit(new)} for saved, text, new in changes]},
    )


def _small(plan: classic.ClassicPlan, target: str, gpu_memory: float, host: float) -> Report:
    entries = classic.ledger(plan)
    parameters = {role: size for role, size, _ in classic.networks(plan)}
    worst = _highest(entries, "trainer")

    def fits() -> Answer:
        if worst.bytes > gpu_memory * USABLE:
            return critical(f"{_said(worst, gpu_memory)}. Make the batch or the layers smaller.")
        return _said(worst, gpu_memory)

    outcomes = [_ask("memory-fits", fits), _ask("memory-host", lambda: _host(entries, host))]

    return Report(
        check="memory",
        target=f"{target}, {plan.algorithm}",
        outcomes=tuple(outcomes),
        summary=_headline(outcomes, worst, gpu_memory),
        checked=(("networks", ", ".join(f"{role} {size:,} parameters" for role, size in parameters.items())),),
        exhibits=(stacked(entries, gpu_memory), _phases(entries)),
        numbers=_numbers(entries, gpu_memory) | {"parameters": parameters},
    )


# --- probes ----------------------------------------------------------------------------------------------------------


def _fits(plan: Plan, entries: tuple[Entry, ...]) -> Answer:
    worst = _highest(entries, "trainer")
    said = _said(worst, plan.gpu_memory)
    if worst.bytes <= plan.gpu_memory * USABLE:
        return said
    steps, then = until_it_fits(plan, plan.gpu_memory * USABLE)
    enough = worst_of(then) <= plan.gpu_memory * USABLE
    first = "; then ".join(steps) or "shorter completions"
    way = f"Change first: {first}" + ("." if enough else ", which is not enough: take more GPUs or a smaller model.")
    if worst.bytes <= plan.gpu_memory:
        return warning(f"{said}: fragmentation can take the rest. {way}", changes=steps)
    return critical(f"{said}. {way}", changes=steps, enough=enough)


def _engine(plan: Plan, entries: tuple[Entry, ...]) -> Answer:
    if not plan.generates or plan.engine == "trainer":
        return NotApplicable("the trainer's own model generates, or nothing is generated")
    sequence = plan.length * kv_bytes(plan.actor, PRECISIONS["bf16"].compute) / plan.engine_gpus
    holds = int(engine_cache(plan) / sequence + 1e-6)
    reserved = plan.engine_share * plan.gpu_memory if plan.engine_share is not None else None
    if reserved is not None and holds == 0:
        return critical(
            f"the engine's share of a GPU is {_gib(reserved)}; its weights take {_gib(engine_weights(plan))}, and "
            f"one sequence of {plan.length} tokens {_gib(sequence)} of cache. Raise --engine-share or --engine-gpus."
        )
    separate = _highest(entries, "engine")
    if separate.bytes > plan.gpu_memory * USABLE:
        return critical(
            f"an engine's GPU needs {_gib(separate.bytes)} of {_gib(plan.gpu_memory)}. Raise --engine-gpus, or generate "
            "fewer completions at a time."
        )
    if holds < plan.rollouts:
        return notice(
            f"the engine's cache holds {holds} sequences of full length, but {plan.rollouts} are generated at a time: the others "
            "wait, or are preempted and computed again. Raise --engine-share if rollouts are slow.",
            sequences=holds,
        )
    return f"its cache holds {holds} sequences of {plan.length} tokens"


def _host(entries: tuple[Entry, ...], host: float) -> Answer:
    needed = total([entry for entry in entries if entry.place == "host"])
    if not needed:
        return NotApplicable("nothing is in the memory of the host")
    what = " and ".join(dict.fromkeys(entry.kind for entry in entries if entry.place == "host"))
    said = f"{what}: {_gib(needed)} in the memory of the host, which has {_gib(host)}"
    if needed > host * USABLE:
        return critical(f"{said}. Use a smaller buffer, images as bytes, or less offloading.")
    return said


def _spare(plan: Plan, entries: tuple[Entry, ...]) -> Answer:
    """A GPU that is mostly empty: its memory can make training faster."""
    worst = _highest(entries, "trainer")
    if worst.bytes > plan.gpu_memory / 3:
        return None
    larger = plan
    while larger.micro_batch < 4096:
        double = replace(larger, micro_batch=larger.micro_batch * 2)
        if worst_of(double) > plan.gpu_memory * USABLE:
            break
        larger = double
    return notice(
        f"two thirds of the GPU are unused: a micro-batch of {larger.micro_batch} fits as well"
        + (", or no checkpointing." if plan.checkpointing else ".")
    )


# --- words -----------------------------------------------------------------------------------------------------------


def _highest(entries: Sequence[Entry], place: str) -> Entry:
    """The highest phase of a place, as an entry with all its bytes."""
    sizes = peaks(tuple(entries))
    of_place = [replace(e, bytes=sizes[place, e.phase]) for e in entries if e.place == place]
    return max(
        of_place, key=lambda e: e.bytes, default=Entry(place=place, phase="", moment="", role="", kind="", bytes=0.0)
    )


def _all_fit(plan: Plan) -> bool:
    return all(worst_of(plan, place) <= plan.gpu_memory * USABLE for place in ("trainer", "engine"))


def _said(worst: Entry, memory: float) -> str:
    return f"{worst.phase} ({worst.moment}) needs {_gib(worst.bytes)} of the GPU's {_gib(memory)}"


def _headline(outcomes: Sequence[Outcome], worst: Entry, memory: float) -> str:
    """Whether it fits; where it does and something else stands in the way, that."""
    if worst.bytes > memory:
        return f"Does not fit: {_gib(worst.bytes - memory)} too much in the {worst.phase} phase."
    other = next((o for o in outcomes if o.finding and o.finding.severity is Severity.CRITICAL), None)
    return other.finding.message if other and other.finding else f"Fits: {_gib(memory - worst.bytes)} to spare."


def _phases(entries: tuple[Entry, ...]) -> ReportTable:
    """Role and kind down, place and phase across, in GiB."""
    columns, least = list(peaks(entries)), 0.005 * GIB
    lines: dict[tuple[str, str], dict[tuple[str, str], float]] = {}
    for entry in entries:
        line = lines.setdefault((entry.role, entry.kind), {})
        line[entry.place, entry.phase] = line.get((entry.place, entry.phase), 0.0) + entry.bytes
    rows = [
        (f"{role} {kind}".strip(), *(f"{s / GIB:.2f}" if (s := line.get(c, 0.0)) >= least else "-" for c in columns))
        for (role, kind), line in lines.items()
        if max(line.values()) >= least or kind in STORED
    ]
    sums = ("together", *(f"{size / GIB:.2f}" for size in peaks(entries).values()))
    heads = [phase if place == "trainer" else place for place, phase in columns]
    return ReportTable(title="The ledger, GiB on one GPU", columns=("", *heads), rows=(*rows, sums))


def _facts(plan: Plan) -> Iterator[tuple[str, str]]:
    for role in roles(plan):
        d = role.model
        trained = f", {role.trainable / role.parameters:.1%} of it trained" if role.trained and plan.lora else ""
        yield (
            role.name,
            f"{d.family}, {role.parameters:,} parameters{trained}, {d.layers} layers of {d.hidden}, vocabulary {d.vocab:,}",
        )
    yield (
        "sequences",
        f"{plan.sequences} of {plan.length} tokens in a pass"
        + (f", {plan.rollouts} generated at a time" if plan.generates else ""),
    )
    if plan.actor.note:
        yield "estimated", plan.actor.note
    yield (
        "assumed",
        f"{_gib(plan.context)} for CUDA and its libraries, one host, nothing padded; {1 - USABLE:.0%} lost to fragmentation",
    )


def _numbers(entries: tuple[Entry, ...], memory: float) -> dict[str, Any]:
    return {
        "gpu_memory": memory,
        "peaks": {f"{place} {phase}": round(size) for (place, phase), size in peaks(entries).items()},
        "entries": [asdict(e) | {"bytes": round(e.bytes)} for e in entries],
    }


def _gib(size: float) -> str:
    return f"{size / GIB:.1f} GiB"


def _memory_of_this_machine() -> float:
    """Bytes; of a container its limit."""
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        text = Path(limit).read_text().strip() if Path(limit).is_file() else ""
        if text.isdigit() and int(text) < 1 << 50:
            return float(text)
    return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
