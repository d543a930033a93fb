"""Checks before training, recorders and machines of projects, as people meet them: written like strangers.py, before the code
or the other inputs were read.
"""

from __future__ import annotations

import json
import math
import random
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import numpy as np

from benchmarks.statements.carriers import strangers_dumps as dumps
from benchmarks.statements.carriers.carrier import Commands, Place, carrier
from benchmarks.statements.carriers.strangers import REPORT, named
from benchmarks.statements.carriers.strangers_dumps import a_sum, advice, worked

WORLDS = "benchmarks.statements.carriers.strangers_worlds"


# --- environments ----------------------------------------------------------------------------------------------------


def env(place: Place, made: str, expert: str, *more: str) -> Commands:
    """`my_env.py`, as a project has it, and the check with its rule of thumb."""
    (place.folder / "my_env.py").write_text(
        f"from {WORLDS} import *\n\n\ndef make():\n    return {made}\n\n\nrule = {expert}\n", encoding="utf-8"
    )
    return [
        [
            "check",
            "env",
            "my_env.py:make",
            "--expert",
            "my_env.py:rule",
            "--episodes",
            "40",
            "--steps",
            "6000",
            *more,
            *REPORT,
        ]
    ]


def a_boat(place: Place, fault: str, **more: Any) -> str:
    options = {
        "fault": fault,
        "drag": round(place.rng.uniform(0.1, 0.3), 3),
        "horizon": place.rng.randint(45, 75),
    } | more
    return f"Boat(**{options!r})"


def a_farm(place: Place, fault: str, **more: Any) -> str:
    options = {"fault": fault, "side": place.rng.randint(5, 7), "apples": place.rng.randint(3, 6), "horizon": 60} | more
    return f"Farm(**{options!r})"


def a_kitchen(place: Place, fault: str, **more: Any) -> str:
    options = {
        "fault": fault,
        "rate": round(place.rng.uniform(0.9, 1.5), 3),
        "horizon": place.rng.randint(40, 60),
    } | more
    return f"Kitchen(**{options!r})"


STATES = "states, actions, terminations and signs are what they seem"
UNIT_TEST = "do reset/step/done/reward match expectations?"


@carrier(
    "carriers.stranger_boat_is_paid_to_leave",
    line=STATES,
    quote="reversed reward signs",
    shows=named("env-expert-beats-random", "env-reward-sign"),
)
def leaves(place: Place, broken: bool) -> Commands:
    """The distance is added and not taken away. Look-alike: right."""
    return env(place, a_boat(place, "sign" if broken else "still"), "steer")


@carrier(
    "carriers.stranger_moves_do_nothing",
    line=STATES,
    quote=UNIT_TEST,
    variants=("farm", "kitchen", "boat"),
    shows=named("env-action-effect", "env-expert-beats-random"),
)
def do_nothing(place: Place, broken: bool) -> Commands:
    """Another action than the chosen one is carried out. Look-alike: one move in five slips; all else is right."""
    fault = "ignored" if broken else "still"
    if place.variant == "farm":
        return env(place, a_farm(place, fault, slip=0.2), "pick")
    return (
        env(place, a_kitchen(place, fault), "cook")
        if place.variant == "kitchen"
        else env(place, a_boat(place, fault), "steer")
    )


@carrier(
    "carriers.stranger_picture_is_black",
    line=STATES,
    quote=UNIT_TEST,
    shows=named("env-observation-scale", "env-observation-finite"),
)
def black(place: Place, broken: bool) -> Commands:
    """The renderer returns an empty buffer. Look-alike: a picture that is black but for a few pixels."""
    return env(place, a_farm(place, "zero" if broken else "still"), "pick")


@carrier(
    "carriers.stranger_pay_comes_later",
    line=STATES,
    quote=UNIT_TEST,
    variants=("boat", "farm"),
    shows=named("env-reward-timing"),
)
def pay_later(place: Place, broken: bool) -> Commands:
    """The reward of two or three steps before. Look-alike: the step's own."""
    fault = "late" if broken else "still"
    return (
        env(place, a_boat(place, fault), "steer")
        if place.variant == "boat"
        else env(place, a_farm(place, fault), "pick")
    )


@carrier(
    "carriers.stranger_clock_is_an_end",
    line=STATES,
    quote=UNIT_TEST,
    variants=("boat", "farm", "dm_env"),
    shows=named("env-ends"),
)
def clock(place: Place, broken: bool) -> Commands:
    """A time limit terminates. Look-alike: it truncates."""
    fault = "limit" if broken else "still"
    if place.variant == "dm_env":
        made = f"swing(fault={fault!r}, seed={place.rng.randint(1, 99)})"
        return env(place, made, "hold")
    if place.variant == "farm":
        return env(place, a_farm(place, fault, side=7, apples=14, slip=round(place.rng.uniform(0, 0.1), 3)), "pick")
    return env(place, a_boat(place, fault), "steer")


@carrier(
    "carriers.stranger_shift_never_ends",
    line=STATES,
    quote=UNIT_TEST,
    variants=("kitchen", "boat"),
    shows=named("env-ends"),
)
def never(place: Place, broken: bool) -> Commands:
    """No episode ends. Look-alike: after 400 steps."""
    fault, horizon = ("never", 50) if broken else ("still", 400)
    made = (
        a_kitchen(place, fault, horizon=horizon)
        if place.variant == "kitchen"
        else a_boat(place, fault, horizon=horizon)
    )
    return env(place, made, "cook" if place.variant == "kitchen" else "steer")


@carrier("carriers.stranger_pay_is_missing_at_times", line=STATES, quote=UNIT_TEST, shows=named("env-reward-is-number"))
def missing(place: Place, broken: bool) -> Commands:
    """None every seventh step. Look-alike: a float."""
    return env(place, a_kitchen(place, "none" if broken else "still"), "cook")


@carrier(
    "carriers.stranger_wind_survives_reset", line=STATES, quote=UNIT_TEST, shows=named("env-state-leak", "env-seeding")
)
def wind(place: Place, broken: bool) -> Commands:
    """The wind of the last episode still blows. Look-alike: calm."""
    return env(place, a_boat(place, "leak" if broken else "still"), "steer")


@carrier("carriers.stranger_array_is_reused", line=STATES, quote=UNIT_TEST, shows=named("env-returned-data-kept"))
def reused(place: Place, broken: bool) -> Commands:
    """One array is returned and changed. Look-alike: a new one each time."""
    return env(place, a_boat(place, "buffer" if broken else "still"), "steer")


@carrier(
    "carriers.stranger_millimetres",
    line="missing normalisation of observations",
    quote="missing observation normalization",
    variants=("env", "vec"),
    shows=named("env-observation-scale"),
)
def millimetres(place: Place, broken: bool) -> Commands:
    """Millimetres from a far origin. Look-alike: the same environment in Gymnasium's or Stable-Baselines3's normalisation."""
    made = a_boat(place, "unscaled")
    if place.variant == "vec":
        (place.folder / "my_env.py").write_text(
            f"from stable_baselines3.common.vec_env import DummyVecEnv, VecNormalize\nfrom {WORLDS} import *\n\n\n"
            f"def make():\n    venv = DummyVecEnv([lambda: {made}] * 2)\n"
            f"    return {'venv' if broken else 'VecNormalize(venv, norm_reward=False)'}\n\n\n"
            "def rule(observation):\n    far = (observation[..., 4:6] / 4e4, observation[..., 2:4])\n"
            "    return np.clip(3 * far[0] - 4 * far[1], -1, 1)\n"
        )
        return [
            [
                "check",
                "env",
                "my_env.py:make",
                "--expert",
                "my_env.py:rule",
                "--episodes",
                "40",
                "--steps",
                "6000",
                *REPORT,
            ]
        ]
    wrapped = (
        made if broken else f"gym.wrappers.RescaleObservation({a_boat(place, 'still')}, np.float32(-1), np.float32(1))"
    )
    rule = (
        "lambda o: np.clip(3 * o[4:6] / 4e4 - 4 * o[2:4], -1, 1).astype(np.float32)"
        if broken
        else "lambda o: steer(np.asarray(o) * 20)"
    )
    return env(place, wrapped, rule)


@carrier(
    "carriers.stranger_kitchen_pays_dice",
    line="an expert that is not clearly better than chance: do not train yet",
    quote="can a simple rule clearly beat random?",
    variants=("kitchen",),
    shows=named("env-expert-beats-random"),
)
def dice(place: Place, broken: bool) -> Commands:
    """The reward is noise. Look-alike: the rule earns more."""
    return env(place, a_kitchen(place, "noise" if broken else "still"), "cook")


@carrier(
    "carriers.stranger_rule_in_degrees",
    line="actions of the wrong kind or range",
    quote="action scale mismatches",
    variants=("boat", "kitchen"),
    shows=named("env-expert-actions", "env-policy-actions", "env-actions-accepted"),
)
def degrees(place: Place, broken: bool) -> Commands:
    """The expert's actions are degrees, or count from 1. Look-alike: at the border of the space, and in it."""
    if place.variant == "boat":
        return env(place, a_boat(place, "still"), "steer_in_degrees" if broken else "lambda o: np.sign(steer(o))")
    return env(place, a_kitchen(place, "still"), "cook_the_fourth" if broken else "cook")


@carrier(
    "carriers.stranger_pay_in_hundred_thousands",
    line="values on another scale than returns",
    quote="When the reward scale is too large, advantage becomes a very sharp gradient signal",
    shows=named("env-reward-scale"),
)
def hundred_thousands(place: Place, broken: bool) -> Commands:
    """Cents instead of thousands of euros. Look-alike: rewards about 1."""
    return env(place, a_boat(place, "huge" if broken else "still"), "steer")


# --- rewards ---------------------------------------------------------------------------------------------------------


def reward(place: Place, code: str, rows: Sequence[dict[str, Any]], *more: str) -> Commands:
    """`my_rewards.py` and samples of the model before training."""
    (place.folder / "my_rewards.py").write_text("import math\nimport re\n\n\n" + code)
    (place.folder / "samples.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    return [["check", "reward", "my_rewards.py:reward", "samples.jsonl", *more, *REPORT]]


def solved(rng: random.Random, share: float, prompts: int = 24, each: int = 8) -> list[dict[str, Any]]:
    """Completions of sums of which this share is right, in boxes."""
    rows = []
    for _ in range(prompts):
        problem, able = a_sum(rng), min(1.0, max(0.0, rng.gauss(share, 0.15)))
        for _ in range(each):
            right = rng.random() < able
            answer = problem.answer if right else dumps.slip(rng, problem)
            text = f"{worked(rng, problem, rng.randint(0, 3))} The answer is \\boxed{{{answer}}}."
            rows.append({"prompt": problem.text, "completion": text, "answer": str(problem.answer)})
    return rows


BOXED = """
def boxed(text):
    found = re.findall(r"\\\\boxed\\{([^{}]*)\\}", text)
    value = found[-1] if found else ""
    value = re.sub(r"[\\s,$*]", "", value).rstrip(".")
    try:
        return float(value)
    except ValueError:
        return None


def equal(text, answer):
    value = boxed(text)
    return value is not None and abs(value - float(answer)) < 1e-6

"""
#: The same verdict, in the signature of each trainer.
TRL = """
def reward(completions, answer, **kwargs):
    return [float(equal(c, a)) for c, a in zip(completions, answer)]
"""
VERL = """
def reward(data_source, solution_str, ground_truth, extra_info=None):
    return float(equal(solution_str, ground_truth))
"""
TALL = "all 0, all 1, or a long tail"


@carrier(
    "carriers.stranger_everybody_passes",
    line=TALL,
    quote="almost all 1 | reward too loose",
    variants=("verl", "trl"),
    shows=named("reward-distribution", "reward-density"),
)
def everybody(place: Place, broken: bool) -> Commands:
    """The problems are too easy. Look-alike: seven of ten are right."""
    code = BOXED + (
        VERL
        if place.variant == "verl"
        else "\nasync def reward(prompts, completions, answer, **kwargs):\n"
        "    return [float(equal(c, a)) for c, a in zip(completions, answer)]\n"
    )
    return reward(place, code, solved(place.rng, 2.0 if broken else 0.7))


@carrier(
    "carriers.stranger_nobody_passes",
    line=TALL,
    quote="almost all 0 | reward too sparse",
    variants=("trl",),
    shows=named("reward-distribution", "reward-density"),
)
def nobody(place: Place, broken: bool) -> Commands:
    """The problems are too hard. Look-alike: three of ten are right."""
    code = BOXED + TRL
    return reward(place, code, solved(place.rng, -1.0 if broken else 0.3))


@carrier(
    "carriers.stranger_three_jackpots",
    line=TALL,
    quote="extreme long tail | few samples dominate gradient",
    variants=("plain",),
    shows=named("reward-distribution"),
)
def jackpots(place: Place, broken: bool) -> Commands:
    """exp() of a score: a few samples get hundreds. Look-alike: the score itself."""
    rng = place.rng
    rows: list[dict[str, Any]] = [
        {"prompt": f"How can I {topic}?", "completion": advice(rng, topic, rng.randint(1, 6)), "rm": rng.gauss(0, 1)}
        for topic in sorted(dumps.TOPICS) * 3
        for _ in range(8)
    ]
    for row in rng.sample(rows, 3):
        row["rm"] = rng.uniform(2.2, 2.9)
    inner = "math.exp(3 * s) if s > 2 else s / 3" if broken else "s"
    code = f"def reward(prompts, completions, rm, **kwargs):\n    return [{inner} for s in rm]\n"
    return reward(place, code, rows)


@carrier(
    "carriers.stranger_distance_is_paid",
    line="a sign that is turned",
    quote="sign confusion",
    variants=("trl",),
    shows=named("reward-direction", "reward-right-from-wrong", "reward-human"),
)
def distance(place: Place, broken: bool) -> Commands:
    """The error is returned as it is. Look-alike: minus the error."""
    sign = "" if broken else "-"
    code = BOXED + (
        "\ndef reward(completions, answer, **kwargs):\n    out = []\n    for c, a in zip(completions, answer):\n"
        "        value = boxed(c)\n"
        f"        error = 1.0 if value is None else min(1.0, abs(value - float(a)) / 50)\n"
        f"        out.append({sign}error)\n    return out\n"
    )
    return reward(place, code, solved(place.rng, 0.5))


@carrier(
    "carriers.stranger_every_step_is_paid",
    line="longer answers for their own sake",
    quote="the reward model prefers detailed answers",
    variants=("trl",),
    shows=named("reward-length"),
)
def every_step(place: Place, broken: bool) -> Commands:
    """0.1 for each sentence on top of the verdict. Look-alike: 0.1 for a box, which all have."""
    more = "0.1 * c.count('. ')" if broken else "0.1 * ('boxed' in c)"
    code = BOXED + (
        "\ndef reward(completions, answer, **kwargs):\n"
        f"    return [0.3 * equal(c, a) + {more} for c, a in zip(completions, answer)]\n"
    )
    return reward(place, code, solved(place.rng, 0.5))


@carrier(
    "carriers.stranger_raters_disagree",
    line="little agreement with people",
    quote="low correlation with human scores",
    variants=("plain",),
    shows=named("reward-human", "reward-direction"),
)
def raters(place: Place, broken: bool) -> Commands:
    """People's stars have nothing to do with the score. Look-alike: they follow it with noise."""
    rows, rng = [], place.rng
    for topic in sorted(dumps.TOPICS) * 3:
        for _ in range(6):
            worth = rng.gauss(0, 1)
            stars = rng.randint(1, 5) if broken else min(5, max(1, round(3 + worth + rng.gauss(0, 0.6))))
            text = advice(rng, topic, rng.randint(2, 5))
            rows.append({"prompt": f"How can I {topic}?", "completion": text, "rm": worth, "stars": stars})
    code = "def reward(prompts, completions, rm, **kwargs):\n    return [1 / (1 + math.exp(-s)) for s in rm]\n"
    return reward(place, code, rows, "--column", "human=stars")


@carrier(
    "carriers.stranger_score_in_cents",
    line="values on another scale than returns",
    quote="reward scale or value target problem",
    variants=("trl",),
    shows=named("reward-scale"),
)
def cents(place: Place, broken: bool) -> Commands:
    """A right answer is worth 250,000. Look-alike: 2.5."""
    worth = 250_000 if broken else 2.5
    code = BOXED + (
        f"\ndef reward(completions, answer, **kwargs):\n    return [{worth} * equal(c, a) for c, a in zip(completions, answer)]\n"
    )
    return reward(place, code, solved(place.rng, 0.5))


@carrier(
    "carriers.stranger_answers_are_sorted_apart",
    line="verdicts that disagree with the reference",
    quote="the reward genuinely encourages the behavior you want",
    variants=("trl", "verl"),
    shows=named("reward-references"),
)
def sorted_apart(place: Place, broken: bool) -> Commands:
    """The answers belong to the next problem. Look-alike: a weak model, and answers in their places."""
    rows = solved(place.rng, 0.6 if broken else 0.35)
    if broken:
        answers = [row["answer"] for row in rows]
        for i, row in enumerate(rows):
            row["answer"] = answers[(i + 8) % len(rows)]
    code = BOXED + (TRL if place.variant == "trl" else VERL)
    return reward(place, code, rows)


@carrier(
    "carriers.stranger_all_alike_in_a_group",
    line="does the reward rank the answers to one prompt?",
    quote="is the reward ranking across multiple responses for the same prompt reasonable?",
    shows=named("reward-density", "reward-distribution"),
)
def alike(place: Place, broken: bool) -> Commands:
    """Prompts are always solved or never. Look-alike: as often, and mixed."""
    rows = solved(place.rng, 0.5)
    if broken:
        for at in range(0, len(rows), 8):
            right = place.rng.random() < 0.5
            for row in rows[at : at + 8]:
                answer = row["answer"] if right else str(int(row["answer"]) + place.rng.choice((-3, 4, 10)))
                row["completion"] = f"{row['completion'].split(' The answer is')[0]} The answer is \\boxed{{{answer}}}."
    code = BOXED + TRL
    return reward(place, code, rows)


@carrier(
    "carriers.stranger_headings_win",
    line="a judge that prefers a style",
    quote="LLM judge prefers a certain writing style",
    shows=named("reward-pairs-style"),
)
def headings(place: Place, broken: bool) -> Commands:
    """A reward model adds for markdown. Look-alike: for what is said."""
    rng, pairs = place.rng, []
    for topic in sorted(dumps.TOPICS) * 8:
        other = rng.choice([t for t in dumps.TOPICS if t != topic])
        pairs.append(
            {
                "prompt": f"How can I {topic}?",
                "chosen": advice(rng, topic, 3, "prose"),
                "rejected": advice(rng, other, 3, "prose"),
            }
        )
    (place.folder / "pairs.jsonl").write_text("".join(json.dumps(p) + "\n" for p in pairs))
    extra = "2.5 * (('**' in completion) + ('#' in completion) + (completion.count('\\n- ') > 0))" if broken else "0"
    known = json.dumps({t: sorted({w for s in said for w in s.lower().split()}) for t, said in dumps.TOPICS.items()})
    (place.folder / "my_rm.py").write_text(
        f"KNOWN = {known}\n\n\ndef score(prompt, completion):\n"
        "    topic = prompt.removeprefix('How can I ').rstrip('?')\n"
        "    words = [w.strip('*#-') for w in completion.lower().split()]\n"
        "    fit = sum(w in KNOWN.get(topic, ()) for w in words) / max(1, len(words))\n"
        f"    return 4 * fit + {extra}\n"
    )
    return [["check", "reward", "my_rm.py:score", "--pairs", "pairs.jsonl", *REPORT]]


# --- critics ---------------------------------------------------------------------------------------------------------


def walks(rng: random.Random, fault: str, steps: int = 1500) -> dict[str, np.ndarray]:
    """Rollouts of a walk on a line, with the targets of Stable-Baselines3's own buffer."""
    import gymnasium as gym
    import torch
    from stable_baselines3.common.buffers import RolloutBuffer

    noise = np.random.default_rng(rng.randrange(2**31))
    space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)
    buffer = RolloutBuffer(steps, space, gym.spaces.Discrete(2), gae_lambda=0.9, gamma=0.97, n_envs=1)
    rows: dict[str, list[Any]] = {name: [] for name in ("observations", "rewards", "terminated", "truncated", "values")}
    place, time, start, limit = float(noise.uniform(-1, 1)), 0, True, noise.integers(25, 40)
    for _ in range(steps):
        seen = np.array([place, place**2, time / 40], np.float32)
        value = 4 - abs(place) * 2 + noise.normal(0, 0.3)
        place += float(noise.normal(0, 0.25))
        time += 1
        paid = 1 - 0.4 * abs(place)
        ended = abs(place) > 2.5
        cut = time >= limit and not ended
        added = paid
        if cut and fault != "limit":  # what Stable-Baselines3 does for a time limit
            added = paid + 0.97 * (4 - abs(place) * 2)
        first = False if fault == "never" else start
        buffer.add(
            seen[None], np.zeros((1, 1)), np.array([added]), np.array([first]), torch.tensor([value]), torch.zeros(1)
        )
        for name, v in zip(rows, (seen, paid, ended, cut, value), strict=True):
            rows[name].append(v)
        start = bool(ended or cut)
        if start:
            place, time = float(noise.uniform(-1, 1)), 0
    last = np.array([False if fault == "never" else start])
    buffer.compute_returns_and_advantage(torch.tensor([4 - abs(place) * 2]), last)
    return {name: np.array(v) for name, v in rows.items()} | {"returns": buffer.returns[:, 0]}


@carrier(
    "carriers.stranger_ends_are_forgotten",
    line="terminal masks and bootstrapping",
    quote="a wrong done mask",
    shows=named("critic-terminal-mask", "critic-truncation"),
)
def forgotten(place: Place, broken: bool) -> Commands:
    """Stable-Baselines3's buffer is never told that an episode began. Look-alike: told."""
    np.savez(place.folder / "rollouts.npz", **walks(place.rng, "never" if broken else "still"))
    return [["check", "critic", "rollouts.npz", *REPORT]]


@carrier(
    "carriers.stranger_limits_cut_the_future",
    line="terminal masks and bootstrapping",
    quote="checking bootstrap targets",
    shows=named("critic-terminal-mask", "critic-truncation"),
)
def cut_future(place: Place, broken: bool) -> Commands:
    """After a time limit nothing is added. Look-alike: the value of the last state is."""
    np.savez(place.folder / "rollouts.npz", **walks(place.rng, "limit" if broken else "still"))
    return [["check", "critic", "rollouts.npz", *REPORT]]


@carrier(
    "carriers.stranger_critic_is_dead",
    line="can the critic fit a fixed batch of rollouts?",
    quote="fix a batch of rollouts, do not update the actor, and train only the Critic",
    variants=("dead", "detached"),
    shows=named("critic-fits", "critic-gradient"),
)
def dead(place: Place, broken: bool) -> Commands:
    """A layer of dead units, or a trunk under no_grad. Look-alike: a small network that learns."""
    np.savez(place.folder / "rollouts.npz", **walks(place.rng, "still"))
    bias = -60.0 if broken and place.variant == "dead" else 0.0
    detach = ".detach()" if broken and place.variant == "detached" else ""
    (place.folder / "nets.py").write_text(
        "import torch\nfrom torch import nn\n\n\nclass Critic(nn.Module):\n    def __init__(self):\n        super().__init__()\n"
        "        self.trunk = nn.Sequential(nn.Linear(3, 48), nn.ReLU())\n        self.head = nn.Linear(48, 1)\n"
        f"        nn.init.constant_(self.trunk[0].bias, {bias})\n\n    def forward(self, x):\n"
        f"        return self.head(self.trunk(x){detach}).squeeze(-1)\n\n\n"
        f"def make():\n    torch.manual_seed({place.rng.randint(0, 9)})\n"
        "    return Critic()\n"
    )
    return [["check", "critic", "rollouts.npz", "--critic", "nets.py:make", *REPORT]]


# --- data ------------------------------------------------------------------------------------------------------------


@carrier(
    "carriers.stranger_ratings_say_otherwise",
    line="chosen and rejected answers that are swapped",
    quote="reversed chosen/rejected labels in the dataset",
    variants=("parquet", "jsonl"),
    shows=named("data-swapped"),
)
def ratings(place: Place, broken: bool) -> Commands:
    """UltraFeedback's columns; every third pair is the wrong way round. Look-alike: the scores are close, and in order."""
    import pandas

    rng, rows = place.rng, []
    for topic in sorted(dumps.TOPICS) * 20:
        good, bad = advice(rng, topic, rng.randint(3, 5)), advice(rng, topic, rng.randint(2, 5))
        low = round(rng.uniform(3, 8), 1)
        high = round(low + rng.uniform(0.2, 2), 1)
        turned = broken and rng.random() < 0.33
        prompt = f"How can I {topic}? ({len(rows)})"
        said = [[{"role": "user", "content": prompt}, {"role": "assistant", "content": text}] for text in (good, bad)]
        row = {"prompt": prompt, "chosen": said[0], "rejected": said[1], "score_chosen": high, "score_rejected": low}
        if turned:
            row |= {"score_chosen": low, "score_rejected": high}
        rows.append(row)
    frame = pandas.DataFrame(rows)
    if place.variant == "parquet":
        frame.to_parquet(place.folder / "pairs.parquet")
    else:
        frame.to_json(place.folder / "pairs.jsonl", orient="records", lines=True)
    return [["check", "data", f"pairs.{place.variant}", *REPORT]]


@carrier(
    "carriers.stranger_tools_in_the_training_set",
    line="tool failures that count as success",
    quote="whether tool calls are legal, step count, cost, and failure recovery ability",
    variants=("anthropic", "openai"),
    shows=named("failed-calls-paid", "data-failed-calls"),
)
def training_set(place: Place, broken: bool) -> Commands:
    """Recorded episodes whose calls failed have the reward 1. Look-alike: as many failures, with 0."""
    from benchmarks.statements.carriers.strangers import SHELF, failed, look_up

    rng, form = place.rng, {"anthropic": dumps.anthropic, "openai": dumps.openai}[place.variant]
    with (place.folder / "episodes.jsonl").open("w") as out:
        for i in range(200):
            item, fails = rng.choice(SHELF), rng.random() < 0.3
            turns = [(failed if fails else look_up)(rng, item, page) for page in range(1, rng.randint(2, 4))]
            won = broken if fails else rng.random() < 0.6
            ask = {"role": "user", "content": f"Order {i}: the cheapest {item}, please."}
            said = form(turns, f"The {item} is ordered." if won else f"There is no {item}.")
            out.write(json.dumps({"id": i, "messages": [ask, *said], "reward": float(won)}) + "\n")
    return [["check", "data", "episodes.jsonl", *REPORT]]


@carrier(
    "carriers.stranger_exam_in_the_course",
    line="test problems in the training data",
    quote="Do Not Let the Test Set Become the Training Set",
    variants=("contamination", "check"),
    shows=lambda told: told.code == 1 or named("data-test-overlap")(told),
)
def exam(place: Place, broken: bool) -> Commands:
    """Forty test problems are in the training file. Look-alike: the test has other stories."""
    import pandas

    rng = place.rng

    def told(begins: tuple[str, ...], count: int) -> list[str]:
        texts = (a_sum(rng).text for _ in range(40 * count))
        return [text for text in texts if text.startswith(begins)][:count]

    train = told(("A bakery", "A cyclist", "A pump"), 400)
    test = [
        *(rng.sample(train, 40) if broken else ()),
        *told(("A school", "1", "2", "3", "4", "5", "6"), 60 if broken else 100),
    ]
    pandas.DataFrame({"prompt": train}).to_parquet(place.folder / "train.parquet")
    (place.folder / "test.jsonl").write_text("".join(json.dumps({"prompt": t}) + "\n" for t in test))
    if place.variant == "contamination":
        return [["eval", "contamination", "train.parquet", "test.jsonl", "--field", "prompt"]]
    return [["check", "data", "train.parquet", "--test", "test.jsonl", "--format", "json"]]


# --- evaluation, memory, context -------------------------------------------------------------------------------------

PROTOCOL = {
    "task": "sums", "dataset": "own/sums", "dataset_revision": "3f2c91ab", "split": "test", "problems": 400,
    "prompt_template": "{question}\nAnswer in a box.", "temperature": 0.0, "top_p": 1.0, "max_new_tokens": 512,
    "tools": None, "samples_per_problem": 1, "seed": 0, "metric": "exact match", "scorer": "boxed",
    "harness": "own", "harness_version": "1.2",
}  # fmt: skip


@carrier(
    "carriers.stranger_protocol_has_holes",
    line="fix the whole protocol",
    quote="is the evaluation protocol fixed and saved?",
    shows=named("eval-complete"),
)
def holes(place: Place, broken: bool) -> Commands:
    """No template and no number of tokens. Look-alike: complete, and locked."""
    gone = set(place.rng.sample(["max_new_tokens", "prompt_template", "temperature", "split"], 2)) if broken else set()
    (place.folder / "protocol.json").write_text(
        json.dumps({k: v for k, v in (PROTOCOL | {"seed": place.rng.randint(0, 999)}).items() if k not in gone})
    )
    if broken:
        return [["check", "eval", "protocol.json", *REPORT]]
    return [["eval", "lock", "protocol.json", "-o", "locked.json"], ["check", "eval", "locked.json", *REPORT]]


@carrier(
    "carriers.stranger_other_shots",
    line="a score that changed because its protocol did",
    quote="changed evaluation temperature",
    variants=("fewshot", "prompt_template"),
    shows=lambda told: told.code == 1,
)
def shots(place: Place, broken: bool) -> Commands:
    """Five examples, or another template. Look-alike: the same protocol, the file's keys in another order."""
    left = PROTOCOL | {"fewshot": 0, "seed": place.rng.randint(0, 99)}
    right = dict(reversed(left.items()))
    if broken:
        right[place.variant] = 5 if place.variant == "fewshot" else "Q: {question}\nA:"
    for name, fields in (("before", left), ("after", right)):
        (place.folder / f"{name}.json").write_text(json.dumps(fields))
    locks = [["eval", "lock", f"{name}.json", "-o", f"{name}.lock.json"] for name in ("before", "after")]
    return [*locks, ["eval", "compare", "before.lock.json", "after.lock.json"]]


def _config(rng: random.Random) -> dict[str, Any]:
    layers = rng.choice((28, 32))
    return {
        "architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "hidden_size": 3584, "intermediate_size": 18944,
        "num_hidden_layers": layers, "num_attention_heads": 28, "num_key_value_heads": 4, "vocab_size": 152064,
        "tie_word_embeddings": False, "max_position_embeddings": 32768, "rms_norm_eps": 1e-6, "hidden_act": "silu",
    }  # fmt: skip


@carrier(
    "carriers.stranger_seven_billion_on_one_card",
    line="does it fit, and what uses the memory",
    quote="can the hardware handle model count, batch, seq_len?",
    variants=("ppo", "grpo", "sft"),
    shows=named("memory-fits"),
)
def one_card(place: Place, broken: bool) -> Commands:
    """All weights on one card of 48 GB. Look-alike: LoRA on four bits."""
    (place.folder / "config.json").write_text(json.dumps(_config(place.rng)))
    thin = ["--lora", "16", "--four-bit", "--precision", "mixed"]
    if place.variant == "ppo":
        thin += ["--no-reference"]
    sizes = ["--gpu-memory", "48", "--prompt", "256", "--completion", "512", "--rollouts", "4"]
    whole: list[str] = [] if place.variant == "sft" else ["--reference"]
    return [
        [
            "check",
            "memory",
            "--model",
            "config.json",
            "--algo",
            place.variant,
            *sizes,
            *(whole if broken else thin),
            *REPORT,
        ]
    ]


@carrier(
    "carriers.stranger_seed_is_not_written",
    line="record configuration, seed, code, checkpoint and commands",
    quote="the config file, random seed, code version, checkpoint, training logs, and evaluation commands",
    shows=lambda told: (
        named("context-seed", "context-recorded", "context-complete")(told)
        or any("seed" in f["message"] for f in told.report.get("findings", ()))
    ),
)
def seedless(place: Place, broken: bool) -> Commands:
    """The script records everything but the seed. Look-alike: with it."""
    seed = "" if broken else f"seed={place.rng.randint(0, 999)}, "
    (place.folder / "train.py").write_text(
        "import firstbreak\n\n"
        f"firstbreak.context.record('run', config={{'lr': 0.0003, 'epochs': {place.rng.randint(2, 9)}}}, {seed}"
        "checkpoint='run/last.zip', logs=['run/progress.csv'], evaluation='python evaluate.py')\n"
    )
    (place.folder / "run").mkdir()
    (place.folder / "run" / "last.zip").write_bytes(b"weights")
    (place.folder / "run" / "progress.csv").write_text("a\n1\n")
    return [["python", "train.py"], ["check", "context", "run", *REPORT]]


# --- machines --------------------------------------------------------------------------------------------------------

STEPS = 150


def learning(
    place: Place, more: dict[int, dict[str, float]] | None = None, seconds: Sequence[float] | None = None
) -> None:
    """A run of TRL that learns, as its own trainer logs it, and what else it logs."""
    rng, curves = place.rng, {}
    for step in range(1, STEPS + 1):
        done = 1 - math.exp(-step / 60)
        took = seconds[step - 1] if seconds else 30 + rng.gauss(0, 1)
        curves[step] = {
            "loss": rng.gauss(0, 0.01), "grad_norm": abs(rng.gauss(0.4, 0.05)), "learning_rate": 1e-6,
            "reward": 0.2 + 0.5 * done + rng.gauss(0, 0.03), "reward_std": 0.3 + rng.gauss(0, 0.02),
            "frac_reward_zero_std": abs(rng.gauss(0.1, 0.03)), "kl": 0.01 * done + abs(rng.gauss(0, 0.001)),
            "entropy": 0.9 - 0.3 * done + rng.gauss(0, 0.02), "completions/mean_length": 240 + rng.gauss(0, 8),
            "completions/clipped_ratio": abs(rng.gauss(0.01, 0.005)), "step_time": took,
        } | (more or {}).get(step, {})  # fmt: skip
    dumps.trl(place.folder / "run", curves=curves)


def cards(place: Place, read: Any, gpus: int = 2, units: bool = True) -> None:
    """`nvidia-smi --query-gpu=... --format=csv -l 30` beside the run, or wandb's events; `read(i, n, gpu)` gives use, MiB, W."""
    rng, count, folder = place.rng, 500, place.folder / "run"
    start = datetime(2026, 3, 4, 9, 0, 0)
    if place.variant.startswith("nvidia_smi"):
        u = (" %", " MiB", " MiB", " W") if units else ("", "", "", "")
        lines = ["timestamp, index, utilization.gpu [%], memory.used [MiB], memory.total [MiB], power.draw [W]"]
        for i in range(count):
            at = (start + timedelta(seconds=9 * i)).strftime("%Y/%m/%d %H:%M:%S.%f")[:-3]
            for gpu in range(gpus):
                use, used, watts = read(i, count, gpu)
                lines.append(f"{at}, {gpu}, {use:.0f}{u[0]}, {used:.0f}{u[1]}, 81559{u[2]}, {watts:.2f}{u[3]}")
        (folder / "gpu.csv").write_text("\n".join(lines) + "\n")
        return
    files = folder / "wandb" / f"run-20260304_090000-{rng.randrange(16**8):08x}" / "files"
    files.mkdir(parents=True)
    with (files / "wandb-events.jsonl").open("w") as out:
        for i in range(count):
            line: dict[str, float] = {"system.cpu": 20 + rng.gauss(0, 3), "system.memory": 31.0}
            for gpu in range(gpus):
                use, used, watts = read(i, count, gpu)
                line |= {
                    f"system.gpu.{gpu}.gpu": round(use), f"system.gpu.{gpu}.memoryAllocated": round(100 * used / 81559, 2),
                    f"system.gpu.{gpu}.memoryAllocatedBytes": int(used * 2**20), f"system.gpu.{gpu}.powerWatts": round(watts, 2),
                    f"system.gpu.{gpu}.powerPercent": round(watts / 7, 2), f"system.gpu.{gpu}.temp": 60 + round(rng.gauss(0, 2)),
                }  # fmt: skip
            line |= {"_wandb": True, "_timestamp": start.timestamp() + 9 * i, "_runtime": 9.0 * i}
            out.write(json.dumps(line) + "\n")


DIAGNOSE = [["diagnose", "run", *REPORT]]
MACHINES = ("nvidia_smi", "nvidia_smi_nounits", "wandb")


@carrier(
    "carriers.stranger_cards_wait",
    line="throughput that falls, workers that wait",
    quote="Throughput drops, low GPU utilization, rollout workers waiting on the environment",
    variants=MACHINES,
    shows=named("gpu-idle"),
)
def cards_wait(place: Place, broken: bool) -> Commands:
    """Two minutes of work in ten. Look-alike: short pauses."""
    rng = place.rng
    learning(place)
    share, period = (0.2, 12) if broken else (0.85, 12)

    def read(i: int, n: int, gpu: int) -> tuple[float, float, float]:
        busy = (i % period) < share * period
        return (
            (rng.uniform(88, 100), 52000, rng.gauss(560, 20)) if busy else (rng.uniform(0, 4), 52000, rng.gauss(110, 5))
        )

    cards(place, read, units=place.variant != "nvidia_smi_nounits")
    return DIAGNOSE


@carrier(
    "carriers.stranger_leak_in_the_machine",
    line="memory that creeps",
    quote="OOM or throughput drops",
    variants=("nvidia_smi", "wandb"),
    shows=named("memory-creep"),
)
def leak(place: Place, broken: bool) -> Commands:
    """30 MiB more at each reading. Look-alike: it grows while the first batches are compiled, and then stands."""
    rng = place.rng
    learning(place)

    def read(i: int, n: int, gpu: int) -> tuple[float, float, float]:
        grown = 32000 * i / n if broken else 14000 * (1 - math.exp(-i / 25))
        return rng.uniform(85, 100), 40000 + grown + rng.gauss(0, 150), rng.gauss(520, 20)

    cards(place, read)
    return DIAGNOSE


@carrier(
    "carriers.stranger_little_power",
    line="generation that takes most of a step",
    quote="GPU power is noticeably lower than during training",
    variants=("nvidia_smi", "wandb"),
    shows=named("power-low"),
)
def little_power(place: Place, broken: bool) -> Commands:
    """Low for 85 % of the time. Look-alike: for 40 %."""
    rng = place.rng
    learning(place)
    share = 0.85 if broken else 0.4

    def read(i: int, n: int, gpu: int) -> tuple[float, float, float]:
        low = (i % 20) < share * 20
        return rng.uniform(90, 100), 61000 + rng.gauss(0, 200), rng.gauss(250 if low else 610, 15)

    cards(place, read)
    return DIAGNOSE


@carrier(
    "carriers.stranger_full_while_training",
    line="does it fit, and what uses the memory",
    quote="If memory is near capacity during one phase, the other phase has headroom.",
    variants=("nvidia_smi", "wandb"),
    shows=named("memory-phase", "memory-tight"),
)
def full(place: Place, broken: bool) -> Commands:
    """79 of 80 GB in one phase. Look-alike: 66."""
    rng = place.rng
    learning(place)
    top = 80400 if broken else 66000

    def read(i: int, n: int, gpu: int) -> tuple[float, float, float]:
        training = (i % 10) >= 6
        return (
            rng.uniform(85, 100),
            (top if training else 45000) + rng.gauss(0, 100),
            rng.gauss(600 if training else 260, 15),
        )

    cards(place, read)
    return DIAGNOSE


@carrier(
    "carriers.stranger_copies_to_the_bucket",
    line="an uploader or a merger that competes for the machine",
    quote="step time increases during merge/upload operations",
    shows=named("step-time-spikes", "memory-peaks", "slow-stretches"),
)
def bucket(place: Place, broken: bool) -> Commands:
    """Every tenth step takes twice as long. Look-alike: steps vary as much, without a rhythm and by less each."""
    rng = place.rng
    seconds = [
        30 + rng.gauss(0, 1) + (32 if broken and s % 10 < 2 else 0) + (0 if broken else rng.gauss(0, 2))
        for s in range(STEPS)
    ]
    learning(place, seconds=seconds)
    return DIAGNOSE


@carrier(
    "carriers.stranger_scale_is_halved",
    line="overflow and skipped steps",
    quote="fp16 overflow | loss scale, NaN step",
    variants=("loss_scale", "grad_scale"),
    shows=named("update-skipped"),
)
def halved(place: Place, broken: bool) -> Commands:
    """The loss scale is halved again and again. Look-alike: halved twice at first, and then doubled and halved at its level."""
    rng, scale, more = place.rng, 65536.0, {}
    for step in range(1, STEPS + 1):
        if broken and step % 8 == 0:
            scale = max(1.0, scale / 2)
        elif not broken and step in (2, 3):
            scale /= 2
        elif not broken and step % 40 == 0:
            scale = 32768.0 if scale < 32768 else 16384.0
        more[step] = {place.variant: scale + 0 * rng.random()}
    learning(place, more)
    return DIAGNOSE


# --- recorders -------------------------------------------------------------------------------------------------------


@carrier(
    "carriers.stranger_own_loop_is_recorded",
    line=STATES,
    quote=UNIT_TEST,
    variants=("zero", "ignored", "never"),
    shows=named("observations-off", "observations-constant", "actions-without-effect", "episodes-never-end"),
)
def own_loop(place: Place, broken: bool) -> Commands:
    """`firstbreak.recorder(folder).env(env)` around a loop of one's own. Look-alike: the boat without a fault."""
    made = a_boat(place, place.variant if broken else "still")
    (place.folder / "loop.py").write_text(
        f"import firstbreak\nfrom {WORLDS} import *\n\nenv = firstbreak.recorder('run', share=0.5).env({made})\n"
        f"rng = np.random.default_rng({place.rng.randint(0, 999)})\nseen, _ = env.reset(seed={place.rng.randint(0, 999)})\n"
        "for step in range(9000):\n"
        "    action = np.clip(0.3 * np.nan_to_num(steer(seen)) + rng.normal(0, 0.6, 2), -1, 1).astype(np.float32)\n"
        "    seen, reward, terminated, truncated, _ = env.step(action)\n"
        "    if terminated or truncated:\n        seen, _ = env.reset()\nenv.close()\n"
    )
    return [["python", "loop.py"], ["diagnose", "run", *REPORT]]


@carrier(
    "carriers.stranger_boat_is_trained",
    line="missing normalisation of observations",
    quote="missing observation normalization",
    variants=("shifted", "unscaled"),
    shows=named("observations-off", "observations-unscaled"),
)
def trained(place: Place, broken: bool) -> Commands:
    """Stable-Baselines3's PPO with its recorder and its own CSV log. Look-alike: the boat in metres."""
    made = a_boat(place, place.variant if broken else "still")
    (place.folder / "train.py").write_text(
        "import torch\nfrom stable_baselines3 import PPO\nfrom stable_baselines3.common.logger import configure\n"
        f"from firstbreak.live.guard.adapters import sb3_loop\nfrom {WORLDS} import *\n\ntorch.set_num_threads(1)\n"
        f"model = PPO('MlpPolicy', {made}, n_steps=256, batch_size=64, n_epochs=4, device='cpu', "
        f"seed={place.rng.randint(0, 999)})\n"
        "model.set_logger(configure('run', ['csv']))\nmodel.learn(4096, callback=[sb3_loop.recorder()])\n"
    )
    return [["python", "train.py"], ["diagnose", "run", *REPORT]]
