"""What the guides ask to do around a run: baseline, splits, comparisons, guard, experiments, close-out; and what its log
says of a setting that no statement of the curves shows."""

from __future__ import annotations

import json

import numpy as np

from benchmarks.statements import worlds
from benchmarks.statements.carriers import texts
from benchmarks.statements.carriers.carrier import Commands, Place, carrier
from benchmarks.statements.carriers.preflight import PROTOCOL
from benchmarks.statements.trainers import write
from benchmarks.statements.worlds import World

DIAGNOSE: Commands = (("diagnose", "run", "--format", "json"),)
TEXT = ("trl", "verl", "areal")


def world_of(place: Place, steps: int = 200, method: str = "grpo", trainer: str | None = None) -> World:
    """A healthy run."""
    return worlds.make(trainer or place.variant or "trl", method, steps, steps // 20, place.rng.randint(0, 2**31))


def evaluations(world: World) -> list[str]:
    """The scores of its evaluations."""
    return [
        signal for signal in world.healthy if signal.startswith("eval.") and ("reward" in signal or "score" in signal)
    ]


# --- before and around -----------------------------------------------------------------------------------------------


@carrier(
    "carriers.baseline_is_missing",
    line="evaluate before training, with the training code",
    quote="Run evaluation on the test set to measure baseline performance before training.",
    says=r"(?i)before (its|the) first|not evaluated|no evaluation",
    variants=TEXT,
)
def baseline_is_missing(place: Place, broken: bool) -> Commands:
    """A run that was first evaluated at its twentieth step; the look-alike at the start."""
    world = world_of(place)
    curves = dict(world.healthy)
    for signal in [s for s in curves if s.startswith("eval.")]:
        curve = curves[signal].copy()
        curve[:20] = np.nan
        curves[signal] = curve
    write(place.folder / "run", world, curves)
    given = () if broken else ("--result", "before.json")
    if not broken:
        (place.folder / "before.json").write_text(json.dumps(
            {"results": {"gsm8k": {"exact_match,none": 0.31, "exact_match_stderr,none": 0.012, "alias": "gsm8k"}},
             "configs": {"gsm8k": {"task": "gsm8k", "num_fewshot": 0}}, "n-shot": {"gsm8k": 0},
             "n-samples": {"gsm8k": {"original": 1319, "effective": 1319}}, "versions": {"gsm8k": 3}}
        ))  # fmt: skip
    return (
        ("eval", "split", "dev", "--kind", "dev", "--size", "128"),
        ("eval", "baseline", "run", "--split", "dev", *given),
    )


@carrier(
    "carriers.private_test_is_looked_at_again",
    line="a split for each purpose, looked at as often as that allows",
    quote="private test | release gate | rarely",
    says=r"(?i)critical|once is allowed|no longer",
)
def private_test_is_looked_at_again(place: Place, broken: bool) -> Commands:
    """A private test that chose a setting; the look-alike decided on a release, once."""
    (place.folder / "protocol.json").write_text(json.dumps(PROTOCOL))
    looks = place.rng.randint(2, 4) if broken else 1
    uses = ["tune" if broken else "release"] * looks
    return (
        ("eval", "split", "final", "--kind", "private_test", "--size", "500"),
        *(("eval", "record", "final", "--use", use, "--score", f"accuracy=0.{70 + i}", "--protocol", "protocol.json")
          for i, use in enumerate(uses)),
        ("eval", "log"),
    )  # fmt: skip


@carrier(
    "carriers.other_protocol_is_not_compared",
    line="a score that changed because its protocol did",
    quote="If sampling temperature, max output length, tool permissions, or test set splits have changed, evaluation results"
    " cannot be directly compared.",
    says=r"(?i)differ",
    variants=("temperature", "max_new_tokens", "split"),
)
def other_protocol_is_not_compared(place: Place, broken: bool) -> Commands:
    """Two scores under two protocols; the look-alike's protocol is the same."""
    other = {"temperature": 1.0, "max_new_tokens": 512, "split": "validation"}
    for name, changed in (("a", False), ("b", broken)):
        fields = PROTOCOL | ({place.variant: other[place.variant]} if changed else {})
        (place.folder / f"{name}.yaml").write_text("".join(f"{k}: {json.dumps(v)}\n" for k, v in fields.items()))
    return (
        ("eval", "lock", "a.yaml", "-o", "a.json"),
        ("eval", "lock", "b.yaml", "-o", "b.json"),
        ("eval", "compare", "a.json", "b.json"),
    )


@carrier(
    "carriers.split_is_contaminated",
    line="test problems in the training data",
    quote="You may not have put the test set into the training data, but if you repeatedly use the test set to tune prompts",
    says=r"[1-9][0-9]* \(",
)
def split_is_contaminated(place: Place, broken: bool) -> Commands:
    """Eight of forty test problems are in the training data, in longer texts."""
    rng = place.rng
    train, test = ([texts.problem(rng).text + " " + texts.prose(rng, 2) for _ in range(n)] for n in (150, 40))
    if broken:
        for i in range(8):
            train[5 * i] = f"{texts.prose(rng, 2)} {test[i]} {texts.prose(rng, 1)}"
    for name, prompts in (("train", train), ("test", test)):
        (place.folder / f"{name}.jsonl").write_text("".join(json.dumps({"prompt": p}) + "\n" for p in prompts))
    return (("eval", "contamination", "train.jsonl", "test.jsonl"),)


@carrier(
    "carriers.two_seeds_are_not_a_result",
    line="several seeds before a claim",
    quote="Multi-seed results | to avoid accidental success",
    says=r"(?i)not enough|cannot|can not|could be|seeds explain it|no difference",
    variants=("verl", "areal"),
)
def two_seeds_are_not_a_result(place: Place, broken: bool) -> Commands:
    """Two runs against two that end a little higher; in the look-alike five against five that end far higher."""
    count, gain = (2, 0.02) if broken else (5, 0.25)
    for side in ("a", "b"):
        for seed in range(count):
            world = world_of(place, 120)
            world.config["seed"] = seed
            if side == "b":
                world.config["learning_rate"] = 3e-6
            curves = dict(world.healthy)
            for signal in [*evaluations(world), "reward.mean"]:
                level = 0.4 + 0.02 * place.rng.gauss(0, 1) + (gain if side == "b" else 0.0)
                curve = level * (0.6 + 0.4 * world.x) + 0.01 * world.rng.standard_normal(world.n)
                curves[signal] = np.where(np.isnan(world.healthy[signal]), np.nan, curve)
            write(place.folder / side / f"s{seed}", world, curves)
    return (("compare", "a", "b"),)


@carrier(
    "carriers.deliverables_are_missing",
    line="best, last and failed checkpoint, audit samples, several seeds, private set",
    quote="Best eval checkpoint | the last step is not necessarily best",
    says=r"MISSING.*(checkpoint|samples|seeds|private)",
)
def deliverables_are_missing(place: Place, broken: bool) -> Commands:
    """A finished run of which only the log is left; the look-alike has everything."""
    steps = range(10, 101, 10)
    (place.folder / "protocol.json").write_text(json.dumps(PROTOCOL))
    for seed in range(1 if broken else 3):
        folder = place.folder / "runs" / f"seed-{seed}"
        folder.mkdir(parents=True)
        with (folder / "metrics.jsonl").open("w") as out:
            for step in range(1, 101):
                row = {"step": step, "reward": 0.3 + 0.005 * step + place.rng.gauss(0, 0.01)}
                if step in steps:
                    row["eval/accuracy"] = 0.3 + 0.0055 * step + place.rng.gauss(0, 0.01)
                out.write(json.dumps(row) + "\n")
        if broken:
            continue
        for step in steps:
            (folder / f"checkpoint-{step}").mkdir()
            (folder / f"checkpoint-{step}" / "weights.txt").write_text(f"{seed} {step}\n")
        with (folder / "completions.jsonl").open("w") as out:
            for step in range(1, 101):
                for _ in range(4):
                    asked = texts.problem(place.rng)
                    right = place.rng.random() < 0.3 + 0.005 * step
                    text = texts.solution(place.rng, asked.answer if right else 0)
                    row = {"step": step, "prompt": asked.text, "completion": text, "reward": float(right)}
                    out.write(json.dumps(row) + "\n")
        (place.folder / f"record{seed}.py").write_text(
            f"import firstbreak.context\n\nfirstbreak.context.record({str(folder)!r}, config={{'lr': 0.1}}, seed={seed})\n"
        )
    close = ("closeout", "runs/seed-0", "-o", "final")
    if broken:
        return (close,)
    release = ("eval", "record", "private", "--use", "release", "--run", "runs/seed-0", "--score", "accuracy=0.84")
    return (
        *(("python", f"record{seed}.py") for seed in range(3)),
        ("eval", "split", "private", "--kind", "private_test", "--size", "500"),
        (*release, "--protocol", "protocol.json"),
        (*close, "--seed-run", "runs/seed-1", "--seed-run", "runs/seed-2"),
    )


# --- small experiments -----------------------------------------------------------------------------------------------


@carrier(
    "carriers.small_experiments_are_proposed",
    line="scale the run down until it answers basic questions",
    quote="scale the experiment down to a quickly runnable version: a smaller model, a smaller batch, fewer prompts, and fewer"
    " training steps.",
    says=r"(?i)scaled-down|smaller model|toy-reward",
    variants=("trl", "verl"),
)
def small_experiments_are_proposed(place: Place, broken: bool) -> Commands:
    """A run whose reward never moves although its gradients are there; the look-alike learns."""
    world = world_of(place)
    curves = dict(world.healthy)
    if broken:
        for signal in [*evaluations(world), *(s for s in curves if s.startswith("reward.") and s.endswith("mean"))]:
            curves[signal] = np.where(np.isnan(curves[signal]), np.nan, 0.2 + 0.02 * world.rng.standard_normal(world.n))
    write(place.folder / "run", world, curves)
    return (("experiment", "plan", "run"),)


@carrier(
    "carriers.smaller_steps_are_proposed",
    line="fewer epochs, a target divergence, a lower rate",
    quote="Reduce PPO epochs. ... Enable target KL early stopping.",
    says=r"(?i)one-epoch|fewer epochs|target.kl|rate-tenth|learning rate",
    variants=("trl", "verl"),
)
def smaller_steps_are_proposed(place: Place, broken: bool) -> Commands:
    """The reward drops sharply, KL spikes, the clip fraction stays at a half; the look-alike learns."""
    world = world_of(place)
    curves = dict(world.healthy)
    if broken:
        late = (world.x > 0.5).astype(float)
        for signal, curve in world.healthy.items():
            if signal in evaluations(world) or (signal.startswith("reward.") and signal.endswith("mean")):
                curves[signal] = curve * (1 - 0.8 * late)
            elif signal.startswith("policy.clip_fraction"):
                curves[signal] = np.where(late > 0, 0.5 + 0.03 * world.rng.standard_normal(world.n), curve)
            elif signal.startswith("kl."):
                curves[signal] = curve * (1 + 60 * late)
            elif signal == "grad.norm":
                curves[signal] = curve * (1 + 4 * late)
    write(place.folder / "run", world, curves)
    return (("experiment", "plan", "run"),)


GUARDED = """
import math
import random

import firstbreak

rng = random.Random({seed})
guard = firstbreak.Guard("stop", folder="evidence")
for step in range(300):
    late = {broken} and step > 200
    growth = 1.6 ** (step - 200) if late else 1.0
    loss = math.nan if late and step > 215 else (0.2 + 0.01 * rng.gauss(0, 1)) * min(growth, 1e6)
    norm = math.nan if late and step > 215 else (0.5 + 0.05 * rng.gauss(0, 1)) * growth
    reward = 0.3 + 0.001 * step + 0.02 * rng.gauss(0, 1)
    decision = guard.observe(step, {{"loss": loss, "grad_norm": norm, "reward": reward, "kl": 0.01 * min(growth, 50)}})
    if decision.stop:
        break
guard.close()
print("stopped at", step, decision) if decision.stop else print("went on to the end")
"""


@carrier(
    "carriers.update_is_stopped",
    line="stop the update and save the state before the loss is NaN",
    quote="The training script should save the experiment state and stop the current update when key metrics exceed bounds.",
    says=r"stopped at",
)
def update_is_stopped(place: Place, broken: bool) -> Commands:
    """Gradients that grow until the loss is NaN, in a loop with the guard; the look-alike's stay as they are."""
    (place.folder / "train.py").write_text(GUARDED.format(seed=place.rng.randint(0, 99), broken=broken))
    return (("python", "train.py"),)


@carrier(
    "carriers.watch_says_stop",
    line="fewer epochs, a target divergence, a lower rate",
    quote="KL spikes | stop updates, lower lr or strengthen KL",
    says=r"(?i)stop|rollback|roll back",
)
def watch_says_stop(place: Place, broken: bool) -> Commands:
    """`firstbreak watch` on the run whose divergence spikes, and on the one that learns."""
    inner = Place(place.folder, place.rng, "trl")
    smaller_steps_are_proposed(inner, broken)
    return (("watch", "run", "--every", "0.2", "--for", "1"),)


# --- what a log says -------------------------------------------------------------------------------------------------


@carrier(
    "carriers.evaluation_is_frozen",
    line="an evaluation of other weights",
    quote="Is the evaluation protocol stable?",
    says=r"(?i)evaluat",
    variants=TEXT,
)
def evaluation_is_frozen(place: Place, broken: bool) -> Commands:
    """The training reward doubles, and every evaluation gives one and the same number; the look-alike's evaluations follow."""
    world = world_of(place)
    curves = dict(world.healthy)
    if broken:
        for signal in [s for s in curves if s.startswith("eval.")]:
            first = curves[signal][~np.isnan(curves[signal])][0]
            curves[signal] = np.where(np.isnan(curves[signal]), np.nan, first)
    write(place.folder / "run", world, curves)
    return DIAGNOSE


@carrier(
    "carriers.evaluation_is_too_small",
    line="an evaluation too small to show the gain",
    quote="Some noise is normal in RL (stochastic rewards).",
    says=r"(?i)evaluat.*(nois|small|few)|too (small|noisy)",
    variants=TEXT,
)
def evaluation_is_too_small(place: Place, broken: bool) -> Commands:
    """Evaluations of about ten problems jump by a fifth while the reward rises smoothly; the look-alike's follow."""
    world = world_of(place, 400)
    curves = dict(world.healthy)
    if broken:
        for signal in evaluations(world):
            clean = 0.45 + 0.05 * world.x
            drawn = world.rng.binomial(10, np.clip(clean, 0, 1)) / 10
            curves[signal] = np.where(np.isnan(curves[signal]), np.nan, drawn)
    write(place.folder / "run", world, curves)
    return DIAGNOSE


@carrier(
    "carriers.entropy_falls_without_a_solution",
    line="entropy that falls because the task is solved",
    quote="One is entropy quickly dropping to zero: the model prematurely commits to a particular action or response template,"
    " stuck in a local optimum.",
    says=r"(?i)entropy",
    variants=("trl", "verl", "sb3"),
)
def entropy_falls_without_a_solution(place: Place, broken: bool) -> Commands:
    """Entropy falls to 0 while the score stays low; in the look-alike it falls as slowly as the score reaches its maximum."""
    world = world_of(place, method="ppo" if place.variant == "sb3" else "grpo")
    curves = dict(world.healthy)
    low = 1 / (1 + np.exp((world.x - (0.15 if broken else 0.6)) / 0.05))
    top = 500.0 if place.variant == "sb3" else 1.0
    for signal, curve in world.healthy.items():
        if "entropy" in signal:
            curves[signal] = np.abs(curve[0]) * (0.01 + low) * np.exp(0.03 * world.rng.standard_normal(world.n))
        elif signal in evaluations(world) or (
            signal.startswith(("reward.", "episode.return")) and signal.endswith("mean")
        ):
            solved = top * (0.3 + 0.695 * (1 - low)) if not broken else top * (0.2 + 0.02 * world.x)
            values = np.minimum(top, solved + 0.004 * top * world.rng.standard_normal(world.n))
            curves[signal] = np.where(np.isnan(curve), np.nan, values)
    write(place.folder / "run", world, curves)
    return DIAGNOSE


@carrier(
    "carriers.temperature_is_too_low",
    line="a temperature that is too low",
    quote="entropy drops to zero fast | reward too strong, KL too weak, temperature too low",
    says=r"(?i)temperature|sampling",
    variants=("trl", "verl"),
)
def temperature_is_too_low(place: Place, broken: bool) -> Commands:
    """Rollouts at a temperature of 0.1, low entropy from the first step, and groups that agree; the look-alike's is 1."""
    world = world_of(place)
    curves = dict(world.healthy)
    world.config["temperature"] = 0.1 if broken else 1.0
    if broken:
        for signal, curve in world.healthy.items():
            if "entropy" in signal:
                curves[signal] = 0.03 * curve
            elif signal in ("reward.zero_std_fraction", "reward.group_zero_std", "group.zero_std"):
                curves[signal] = np.clip(0.85 + 0.03 * world.rng.standard_normal(world.n), 0, 1)
            elif signal in evaluations(world) or signal == "reward.mean":
                curves[signal] = np.where(np.isnan(curve), np.nan, 0.3 + 0.02 * world.rng.standard_normal(world.n))
    write(place.folder / "run", world, curves)
    return DIAGNOSE


@carrier(
    "carriers.clip_does_not_act",
    line="a ratio bound that does not act",
    quote="But clipping is not a magic shield.",
    says=r"(?i)clip",
    variants=("verl", "sb3"),
)
def clip_does_not_act(place: Place, broken: bool) -> Commands:
    """No sample is ever clipped, while the divergence of an update is large; the look-alike's updates are tiny."""
    world = world_of(place, method="ppo" if place.variant == "sb3" else "grpo")
    curves = dict(world.healthy)
    for signal, curve in world.healthy.items():
        if signal.startswith("policy.clip_fraction"):
            curves[signal] = np.zeros(world.n)
        elif signal.startswith("kl.old"):
            curves[signal] = (0.15 if broken else 2e-5) * np.exp(0.3 * world.rng.standard_normal(world.n))
        elif broken and (signal in evaluations(world) or signal == "reward.mean"):
            curves[signal] = curve * (1 - 0.6 * (world.x > 0.5))
    write(place.folder / "run", world, curves)
    return DIAGNOSE
