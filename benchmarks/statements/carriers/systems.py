"""What the guides ask to look at in the machine: logs of trainers, wandb's system metrics, and `nvidia-smi` beside a run.

The run itself is a healthy one of the worlds of curves, in its trainer's own file; what the machine did is added under the
names that this trainer, wandb or nvidia-smi gives it.
"""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable
from pathlib import Path

import numpy as np
from tests.readers.blocklog import block_log

from benchmarks.statements import worlds
from benchmarks.statements.carriers.carrier import Commands, Place, carrier
from benchmarks.statements.trainers import write
from benchmarks.statements.worlds import World

STEPS = 120
SECONDS = 60.0  #: of a step
DIAGNOSE: Commands = (("diagnose", ".", "--format", "json"),)
#: machine: seconds since the start -> values of one GPU
Gpu = Callable[[float], float]
SLOWER = (
    "Throughput drops, low GPU utilization, rollout workers waiting on the environment, or reward model scoring"
    " becoming a bottleneck"
)


def healthy(place: Place, trainer: str, **more: np.ndarray) -> World:
    """Write a healthy run of this trainer, with curves (n,) of its own names added."""
    world = worlds.make(trainer, "grpo", STEPS, 10, place.rng.randint(0, 2**31))
    write(place.folder, world, dict(world.healthy))
    for name, curve in more.items():
        add(place.folder, name, curve)
    return world


def add(folder: Path, name: str, curve: np.ndarray) -> None:
    """One more column (n,) of verl's file."""
    path = folder / "experiment.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for row, value in zip(rows, curve, strict=True):
        if not math.isnan(value):
            row["data"][name] = float(value)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))


def nemo_rl(place: Place, **columns: np.ndarray) -> None:
    """NeMo-RL's metrics as wandb exports them: one row a step."""
    noise = np.random.default_rng(place.rng.randint(0, 2**31))
    x = np.linspace(0, 1, STEPS)
    base = {
        "train/reward": 0.3 + 0.4 * x + noise.normal(0, 0.02, STEPS), "train/loss": noise.normal(0, 0.02, STEPS),
        "train/grad_norm": 0.5 + 0.05 * noise.random(STEPS), "train/kl_penalty": 0.001 + 0.002 * x,
        "train/mean_gen_tokens_per_sample": 400 + noise.normal(0, 10, STEPS),
        "train/approx_entropy": 0.6 - 0.1 * x + noise.normal(0, 0.01, STEPS),
        "timing/train/total_step_time": SECONDS + noise.normal(0, 1, STEPS),
        "timing/train/generation": 24 + noise.normal(0, 1, STEPS), "timing/train/policy_training": 20 + noise.normal(0, 1, STEPS),
    }  # fmt: skip
    table = base | columns
    with (place.folder / "metrics.jsonl").open("w") as out:
        for i in range(STEPS):
            row = {name: float(curve[i]) for name, curve in table.items() if not math.isnan(curve[i])}
            out.write(
                json.dumps({"_step": i, "_runtime": SECONDS * i, "_timestamp": 1.76e9 + SECONDS * i} | row) + "\n"
            )


def machine(place: Place, **curves: Gpu) -> None:
    """What a GPU of 80 GiB did (`util` percent, `power` watts, `memory` GiB), every ten seconds, as this variant writes it."""
    noise = np.random.default_rng(place.rng.randint(0, 2**31))
    times = np.arange(0, STEPS * SECONDS, 10.0)
    usual: dict[str, Gpu] = {"util": lambda t: 92.0, "power": lambda t: 560.0, "memory": lambda t: 58.0}
    sizes = {"util": 3.0, "power": 15.0, "memory": 0.3}
    limits = {"util": 100.0, "power": 700.0, "memory": 79.6}
    values = {
        name: np.clip([curves.get(name, usual[name])(t) + sizes[name] * noise.normal() for t in times], 0, limits[name])
        for name in usual
    }
    {"nvidia_smi": _nvidia_smi, "wandb_events": _wandb_events, "wandb": _wandb}[place.variant](
        place.folder, times, values
    )


def _nvidia_smi(folder: Path, times: np.ndarray, values: dict[str, np.ndarray]) -> None:
    """`nvidia-smi --query-gpu=... --format=csv -l 10 > gpu.csv`"""
    start = datetime.datetime(2026, 11, 20, 10, 0, 0)
    head = "timestamp, index, name, utilization.gpu [%], power.draw [W], memory.used [MiB], memory.total [MiB]\n"
    with (folder / "gpu.csv").open("w") as out:
        out.write(head)
        for i, t in enumerate(times):
            at = (start + datetime.timedelta(seconds=float(t))).strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]
            for gpu in range(2):
                out.write(
                    f"{at}, {gpu}, NVIDIA H100 80GB HBM3, {values['util'][i]:.0f} %, {values['power'][i]:.2f} W, "
                    f"{values['memory'][i] * 1024:.0f} MiB, 81559 MiB\n"
                )


def _named(values: dict[str, np.ndarray], i: int) -> dict[str, float]:
    """wandb's names of the metrics of the machine."""
    row: dict[str, float] = {"system.cpu": 30.0, "system.memory": 41.0}
    for gpu in range(2):
        row |= {
            f"system.gpu.{gpu}.gpu": round(float(values["util"][i]), 1),
            f"system.gpu.{gpu}.powerWatts": round(float(values["power"][i]), 1),
            f"system.gpu.{gpu}.memoryAllocated": round(float(values["memory"][i]) / 80 * 100, 2),
            f"system.gpu.{gpu}.memoryAllocatedBytes": round(float(values["memory"][i]) * 2**30),
        }
    return row


def _wandb_events(folder: Path, times: np.ndarray, values: dict[str, np.ndarray]) -> None:
    """`run.history(stream="events")`, as JSON lines."""
    with (folder / "wandb-events.jsonl").open("w") as out:
        for i, t in enumerate(times):
            row = {"_runtime": float(t), "_timestamp": 1.76e9 + float(t), "_wandb": True}
            out.write(json.dumps(row | _named(values, i)) + "\n")


def _wandb(folder: Path, times: np.ndarray, values: dict[str, np.ndarray]) -> None:
    """The records of a run that wandb keeps itself: wandb's own messages, history and statistics."""
    from wandb.proto import wandb_internal_pb2 as pb

    rows = [json.loads(line)["data"] for line in (folder / "experiment.jsonl").read_text().splitlines()]
    (folder / "experiment.jsonl").unlink()
    records: list[bytes] = []
    per_step = len(times) // len(rows)
    for step, row in enumerate(rows):
        record = pb.Record(num=len(records) + 1)
        record.history.step.num = step
        extra = {"_step": step, "_runtime": SECONDS * (step + 1), "_timestamp": 1.76e9 + SECONDS * (step + 1)}
        for name, value in (row | extra).items():
            record.history.item.add(nested_key=[name], value_json=json.dumps(value))
        records.append(record.SerializeToString())
        for i in range(step * per_step, (step + 1) * per_step):
            record = pb.Record(num=len(records) + 1)
            record.stats.stats_type = pb.StatsRecord.SYSTEM
            record.stats.timestamp.FromSeconds(int(1.76e9 + times[i]))
            for name, value in _named(values, i).items():
                record.stats.item.add(key=name.removeprefix("system."), value_json=json.dumps(value))
            records.append(record.SerializeToString())
    place = folder / "offline-run-20261120_100000-abcd1234"
    place.mkdir()
    (place / "run-abcd1234.wandb").write_bytes(block_log(b":W&B\xe1\xbe\x00", records))


def phases(generation: float, low: float, high: float) -> Gpu:
    """Low in the first part of each step, which generates, and high in the rest, which trains."""
    return lambda t: low if t % SECONDS < generation * SECONDS else high


# --- utilisation and scoring -----------------------------------------------------------------------------------------


@carrier(
    "carriers.gpu_is_idle",
    line="throughput that falls, workers that wait",
    quote=SLOWER,
    says=r"(?i)utili[sz]ation|idle",
    variants=("nvidia_smi", "wandb_events", "wandb", "nemo_rl"),
)
def gpu_is_idle(place: Place, broken: bool) -> Commands:
    """A GPU that works a sixth of the time; the look-alike's dips only while a checkpoint is saved."""

    def util(t: float) -> float:
        if broken:
            return 96.0 if t % SECONDS < SECONDS / 6 else 2.0
        return 5.0 if t % (20 * SECONDS) < SECONDS / 2 else 93.0

    if place.variant == "nemo_rl":
        mean = np.array([np.mean([util(SECONDS * i + s) for s in range(0, 60, 10)]) for i in range(STEPS)])
        nemo_rl(place, **{f"ray/node.0.gpu.{g}.util": mean for g in range(2)})
    else:
        healthy(place, "verl")
        machine(place, util=util)
    return DIAGNOSE


@carrier(
    "carriers.scoring_is_the_bottleneck",
    line="throughput that falls, workers that wait",
    quote=SLOWER,
    says=r"(?i)scor|reward (model|function|calculation)|judge|verifier",
    variants=("verl", "nemo_rl", "trl"),
)
def scoring_is_the_bottleneck(place: Place, broken: bool) -> Commands:
    """Scoring takes two thirds of every step from the start; the look-alike's takes a twentieth."""
    noise = np.random.default_rng(place.rng.randint(0, 2**31))
    share = place.rng.uniform(0.55, 0.7) if broken else 0.05
    if place.variant == "nemo_rl":
        nemo_rl(place, **{
            "timing/train/reward_calculation": share * SECONDS + noise.normal(0, 0.5, STEPS),
            "timing/train/generation": (0.8 - share) * SECONDS + noise.normal(0, 0.5, STEPS),
            "timing/train/policy_training": 0.15 * SECONDS + noise.normal(0, 0.5, STEPS),
        })  # fmt: skip
        return DIAGNOSE
    world = worlds.make(place.variant, "grpo", STEPS, 10, place.rng.randint(0, 2**31))
    step = world.healthy["time.step"]
    scored = share * step * (1 + 0.03 * noise.normal(size=STEPS))
    if place.variant == "verl":
        curves = dict(world.healthy)
        for name in ("time.rollout", "time.train"):
            curves[name] = (0.85 - share) / 2 * step
        write(place.folder, world, curves)
        add(place.folder, "timing_s/reward", scored)
        return DIAGNOSE
    write(place.folder, world, dict(world.healthy))
    path = place.folder / "trainer_state.json"
    state = json.loads(path.read_text())
    rows = iter(scored)
    for row in state["log_history"]:
        if "loss" in row:
            row["profiling/Time taken: GRPOTrainer._calculate_rewards"] = float(next(rows))
    path.write_text(json.dumps(state))
    return DIAGNOSE


# --- numbers that overflow -------------------------------------------------------------------------------------------


@carrier(
    "carriers.loss_scale_falls",
    line="overflow and skipped steps",
    quote="fp16 overflow | loss scale, NaN step | bf16, dynamic loss scaling",
    says=r"(?i)loss.scale",
    variants=("loss_scale", "train/loss_scale", "actor/loss_scale"),
)
def loss_scale_falls(place: Place, broken: bool) -> Commands:
    """The loss scale is halved again and again, down to 1; the look-alike's is halved once, and doubles again."""
    scale, curve = 65536.0, []
    for i in range(STEPS):
        if broken and i > 40 and place.rng.random() < 0.35:
            scale = max(1.0, scale / 2)
        elif not broken and i == 40:
            scale /= 2
        elif not broken and i in (60, 100):
            scale *= 2
        curve.append(scale)
    healthy(place, "verl", **{place.variant: np.array(curve)})
    return DIAGNOSE


# --- memory and power ------------------------------------------------------------------------------------------------


@carrier(
    "carriers.memory_spikes_with_uploads",
    line="an uploader or a merger that competes for the machine",
    quote="step time increases during merge/upload operations, or memory spikes that coincide with background activity.",
    says=r"(?i)memory.*(spike|sav|upload|checkpoint|background)|(sav|upload|checkpoint|background).*memory",
    variants=("verl", "nemo_rl"),
)
def memory_spikes_with_uploads(place: Place, broken: bool) -> Commands:
    """Every tenth step saves, and memory jumps by 15 GB in these; the look-alike saves without that."""
    noise = np.random.default_rng(place.rng.randint(0, 2**31))
    saves = np.arange(STEPS) % 10 == 9
    seconds = np.where(saves, 30 + noise.normal(0, 2, STEPS), np.nan)
    used = 58 + noise.normal(0, 0.4, STEPS) + (15.0 if broken else 0.0) * saves
    slower = np.where(saves, 1.6 if broken else 1.02, 1.0)
    if place.variant == "nemo_rl":
        step = SECONDS * slower + noise.normal(0, 1, STEPS)
        nemo_rl(place, **{"timing/train/checkpointing": seconds, "timing/train/total_step_time": step,
                          "ray/node.0.gpu.0.mem_gb": used})  # fmt: skip
        return DIAGNOSE
    world = worlds.make("verl", "grpo", STEPS, 10, place.rng.randint(0, 2**31))
    curves = dict(world.healthy) | {"memory.gpu": used, "time.step": world.healthy["time.step"] * slower}
    write(place.folder, world, curves)
    add(place.folder, "timing_s/save_checkpoint", seconds)
    return DIAGNOSE


@carrier(
    "carriers.memory_is_nearly_full_in_one_phase",
    line="does it fit, and what uses the memory",
    quote="Memory usage may shift between phases. If memory is near capacity during one phase, the other phase has headroom.",
    says=r"(?i)memory",
    variants=("nvidia_smi", "wandb_events", "wandb"),
)
def memory_is_nearly_full_in_one_phase(place: Place, broken: bool) -> Commands:
    """Training takes 79 of 80 GiB, generation 52; the look-alike takes 61 and 52."""
    healthy(place, "verl")
    machine(place, memory=phases(0.4, 52.0, 79.0 if broken else 61.0))
    return DIAGNOSE


@carrier(
    "carriers.memory_of_the_machine_creeps",
    line="memory that creeps",
    quote="Memory usage may shift between phases.",
    says=r"(?i)memory",
    variants=("nvidia_smi", "wandb_events", "wandb"),
)
def memory_of_the_machine_creeps(place: Place, broken: bool) -> Commands:
    """Memory grows from 40 to 78 GiB over the run; the look-alike's settles in the first steps."""
    length = STEPS * SECONDS
    healthy(place, "verl")
    machine(place, memory=lambda t: 40 + 38 * t / length if broken else 58 - 10 * math.exp(-t / (3 * SECONDS)))
    return DIAGNOSE


@carrier(
    "carriers.power_is_low_most_of_the_step",
    line="generation that takes most of a step",
    quote="Generation phase: GPU power is noticeably lower than during training. ... If the generation phase is taking a"
    " disproportionate share of step time, it may be the bottleneck.",
    says=r"(?i)power|generat|rollout",
    variants=("nvidia_smi", "wandb_events", "wandb"),
)
def power_is_low_most_of_the_step(place: Place, broken: bool) -> Commands:
    """The low power of generation lasts five sixths of each step; in the look-alike a third."""
    healthy(place, "verl")
    machine(place, power=phases(5 / 6 if broken else 1 / 3, 240.0, 620.0))
    return DIAGNOSE
