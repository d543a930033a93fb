"""A second set for the checks before training, the recorder and the machine, written after these were repaired and measured
once before anything was corrected: other environments, files and faults than the first set's, for the same words of the guides.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.statements.carriers import recorders, systems, texts
from benchmarks.statements.carriers.carrier import Commands, Place, carrier
from benchmarks.statements.carriers.preflight import CRITICS, FITTING, LLAMA, rollouts
from benchmarks.statements.carriers.systems import DIAGNOSE, SECONDS, STEPS

WIRED = "states, actions, terminations and signs are what they seem"
UNIT = "Environment unit test | do reset/step/done/reward match expectations?"
#: A robot on a board of numbered cells, which is paid for being near a corner, and stops when it is there.
BOARD = """
import gymnasium as gym
import numpy as np


class Board(gym.Env):
    observation_space = gym.spaces.Discrete(49)
    action_space = gym.spaces.Discrete(4)

    def reset(self, *, seed=None, options=None):
        super().reset(seed=seed)
        self.at = self.np_random.integers(0, 5, 2)
        self.t, self.paid = 0, [0.0] * 6
        return int(7 * self.at[0] + self.at[1]), {{}}

    def step(self, action):
        self.at = np.clip(self.at + [(0, 1), (1, 0), (0, -1), (-1, 0)][{move}], 0, 6)
        self.t += 1
        self.paid = [-float((6 - self.at).sum()) / 12, *self.paid[:5]]
        there = bool((self.at == 6).all())
        return int(7 * self.at[0] + self.at[1]), {reward}, there, self.t >= 50, {{}}


def expert(cell):
    return {act}
"""
MOVED = {"move": "int(action)", "reward": "self.paid[0]", "act": "0 if cell % 7 < 6 else 1"}


def board(place: Place, **changes: str) -> Commands:
    """Write the board, and check it with its expert."""
    (place.folder / "board.py").write_text(BOARD.format(**MOVED | changes))
    return (
        (
            "check",
            "env",
            "board.py:Board",
            "--expert",
            "board.py:expert",
            "--episodes",
            "40",
            "--steps",
            "3000",
            "--format",
            "json",
        ),
    )


@carrier("carriers.again_late_on_a_board", line=WIRED, quote=UNIT, says=r"(?i)reward.*(late|delay|earlier|ago)")
def again_late_on_a_board(place: Place, broken: bool) -> Commands:
    """Cells have numbers; the reward is four steps old."""
    return board(place, **({"reward": "self.paid[4]"} if broken else {}))


@carrier("carriers.again_fifth_of_four_actions", line="actions of the wrong kind or range", quote="action scale mismatches",
         says=r"(?i)action.*(space|Discrete|range)")  # fmt: skip
def again_fifth_of_four_actions(place: Place, broken: bool) -> Commands:
    """The expert counts its four actions from 1, and the board takes what comes modulo four."""
    return board(place, **({"move": "int(action) % 4", "act": "4 if cell % 7 < 6 else 1"} if broken else {}))


@carrier("carriers.again_no_reward_at_the_end", line=WIRED, quote=UNIT, says=r"None")
def again_no_reward_at_the_end(place: Place, broken: bool) -> Commands:
    """The last step of an episode has no reward."""
    return board(place, **({"reward": "None if there else self.paid[0]"} if broken else {}))


@carrier("carriers.again_moves_are_drawn", line=WIRED, quote="Are actions being executed correctly by the environment?",
         says=r"(?i)action|expert")  # fmt: skip
def again_moves_are_drawn(place: Place, broken: bool) -> Commands:
    """The board moves as it likes."""
    return board(place, **({"move": "int(self.np_random.integers(4))"} if broken else {}))


STACKED = """
import gymnasium as gym
import numpy as np
from stable_baselines3.common.vec_env import DummyVecEnv, VecFrameStack, VecNormalize


class Pressure(gym.ObservationWrapper):
    def __init__(self):
        super().__init__(gym.make("Pendulum-v1"))
        self.observation_space = gym.spaces.Box(-np.inf, np.inf, (3,), np.float32)

    def observation(self, observation):
        return (101325 + {gain} * observation).astype(np.float32)


def make():
    return {wrap}
"""


@carrier("carriers.again_pressure_in_pascal", line="missing normalisation of observations",
         quote="missing observation normalization", says=r"(?i)observation.*(scale|reach|normali|large)")  # fmt: skip
def again_pressure_in_pascal(place: Place, broken: bool) -> Commands:
    """Stacked frames of a sensor around 101,325; the look-alike's are normalised first."""
    plain = "DummyVecEnv([Pressure] * 3)"
    wrap = f"VecFrameStack({plain if broken else f'VecNormalize({plain})'}, 2)"
    (place.folder / "stacked.py").write_text(STACKED.format(wrap=wrap, gain=place.rng.randint(20, 200)))
    return (("check", "env", "stacked.py:make", "--episodes", "12", "--steps", "2500", "--format", "json"),)


# --- rewards ---------------------------------------------------------------------------------------------------------

SCORES = """
import csv

given = {{row["response"]: float(row["score"]) for row in csv.DictReader(open({path!r}, newline=""))}}


def score(prompt, completion):
    return given.get(completion, {other})
"""


def table(place: Place, score: Callable[[str, int], float], human: Callable[[float], float] | None = None) -> Commands:
    """Essays with a reward model's scores, in CSV; `human` gives what a person says of a score."""
    rng = place.rng
    with (place.folder / "essays.csv").open("w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["question", "response", "score", *(["human_rating"] if human else [])])
        for number in range(60):
            for i in range(5):
                text = texts.prose(rng, rng.randint(2, 9))
                value = score(text, 5 * number + i)
                writer.writerow([f"Describe picture {number}.", text, value, *([human(value)] if human else [])])
    (place.folder / "model.py").write_text(SCORES.format(path=str(place.folder / "essays.csv"), other=0.0))
    return (("check", "reward", "model.py:score", "essays.csv", "--format", "json"),)


@carrier("carriers.again_one_very_bad_score", line="all 0, all 1, or a long tail",
         quote="extreme long tail | few samples dominate gradient | reward clipping / normalization",
         says=r"(?i)tail|outlier|dominat|decide")  # fmt: skip
def again_one_very_bad_score(place: Place, broken: bool) -> Commands:
    """Three of 300 essays get -20,000 for being empty, all others around 1."""
    bad, rng = set(place.rng.sample(range(300), 3)), place.rng
    return table(place, lambda text, i: -20000.0 if broken and i in bad else rng.gauss(1, 0.4))


@carrier("carriers.again_words_are_paid", line="longer answers for their own sake",
         quote="does the reward contain hidden preferences for length, format, or polite language?",
         says=r"(?i)length|longer")  # fmt: skip
def again_words_are_paid(place: Place, broken: bool) -> Commands:
    """A score that grows with the number of words, among noise; the look-alike's is noise."""
    rng = place.rng
    return table(place, lambda text, i: rng.gauss(0, 1) + broken * 0.035 * len(text.split()))


@carrier("carriers.again_scores_in_millions", line="values on another scale than returns",
         quote="When the reward scale is too large, advantage becomes a very sharp gradient signal",
         says=r"(?i)scale|larger|size|magnitude")  # fmt: skip
def again_scores_in_millions(place: Place, broken: bool) -> Commands:
    """Profits in cents."""
    rng = place.rng
    return table(place, lambda text, i: rng.gauss(2, 1) * (1e6 if broken else 1))


@carrier("carriers.again_people_say_the_opposite", line="little agreement with people",
         quote="low correlation with human scores | unreliable proxy | rewrite reward or add human calibration",
         says=r"(?i)human|people")  # fmt: skip
def again_people_say_the_opposite(place: Place, broken: bool) -> Commands:
    """Ratings from 1 to 5 that have nothing to do with the score."""
    rng = place.rng
    rate = (lambda v: rng.randint(1, 5)) if broken else (lambda v: max(1, min(5, round(3 + v + rng.gauss(0, 0.4)))))
    return table(place, lambda text, i: rng.gauss(0, 1), rate)


VERL = '''
import re


def compute_score(data_source, solution_str, ground_truth, extra_info=None):
    """1 where what stands behind #### is the truth."""
    found = re.findall(r"#### (-?[0-9.,]+)", solution_str)
    return {pays}
'''


def sums(place: Place, truth: Callable[[list[int]], list[int]], pays: str, column: str = "ground_truth") -> Commands:
    """Right and wrong sums with the truth beside them, scored by a function for verl."""
    rng = place.rng
    asked = [(rng.randint(100, 900), rng.randint(100, 900)) for _ in range(50)]
    given = truth([a + b for a, b in asked])
    with (place.folder / "sums.jsonl").open("w") as out:
        for (a, b), told in zip(asked, given, strict=True):
            for _ in range(6):
                said = a + b if rng.random() < 0.7 else a + b + rng.randint(1, 40)
                row: dict[str, Any] = {
                    "prompt": f"{a} plus {b}?",
                    "response": f"I add them.\n#### {said}",
                    "data_source": "sums",
                }
                out.write(json.dumps(row | ({column: str(told)} if column else {})) + "\n")
    (place.folder / "score.py").write_text(VERL.format(pays=pays))
    return (("check", "reward", "score.py:compute_score", "sums.jsonl", "--format", "json"),)


PAYS = "float(bool(found) and found[-1].rstrip('.').replace(',', '') == ground_truth)"


@carrier("carriers.again_truth_one_row_late", line="verdicts that disagree with the reference",
         quote="Correct direction means the reward genuinely encourages the behavior you want.",
         says=r"(?i)shift|shuffl|other row|row")  # fmt: skip
def again_truth_one_row_late(place: Place, broken: bool) -> Commands:
    """The truth of the next prompt."""
    return sums(place, lambda told: [*told[1:], told[0]] if broken else told, PAYS)


@carrier("carriers.again_wrong_is_paid", line="a sign that is turned",
         quote="sign confusion | unclear reward definition | go back and inspect samples individually",
         says=r"(?i)sign|reversed|right answers score (less|the same)")  # fmt: skip
def again_wrong_is_paid(place: Place, broken: bool) -> Commands:
    """A penalty for being right."""
    return sums(place, lambda told: told, f"-{PAYS}" if broken else PAYS)


# --- critic and data -------------------------------------------------------------------------------------------------


@carrier("carriers.again_features_without_gradient", line="can the critic fit a fixed batch of rollouts?", quote=FITTING,
         says=r"(?i)gradient")  # fmt: skip
def again_features_without_gradient(place: Place, broken: bool) -> Commands:
    """The features pass through numpy on their way to the head."""
    rollouts(place)
    features = "torch.as_tensor(self.trunk(observations).data.numpy())" if broken else "self.trunk(observations)"
    (place.folder / "critics.py").write_text(
        CRITICS.format(seed=place.rng.randint(0, 999), features=features, act="ReLU")
    )
    return (("check", "critic", "rollouts.npz", "--critic", "critics.py:Critic", "--format", "json"),)


@carrier("carriers.again_time_limits_as_done", line="terminal masks and bootstrapping",
         quote="checking bootstrap targets, and checking terminal masks", says=r"(?i)time limit")  # fmt: skip
def again_time_limits_as_done(place: Place, broken: bool) -> Commands:
    """The targets count nothing behind a time limit; `dones` holds both reasons, and `timeouts` one."""
    rollouts(place, limits_as_ends=broken)
    with np.load(place.folder / "rollouts.npz") as file:
        arrays = dict(file)
    late = arrays.pop("truncated")
    np.savez(place.folder / "rollouts.npz", dones=arrays.pop("terminated") | late, timeouts=late, **arrays)
    return (("check", "critic", "rollouts.npz", "--format", "json"),)


@carrier("carriers.again_rewards_of_later_rows", line=WIRED,
         quote="If errors exist at this level, subsequent algorithm updates are merely optimizing on incorrect data.",
         says=r"(?i)reward.*(row|shift|step)")  # fmt: skip
def again_rewards_of_later_rows(place: Place, broken: bool) -> Commands:
    """A recorded drive, in D4RL's names, whose rewards are those of three rows on."""
    noise = np.random.default_rng(place.rng.randint(0, 2**31))
    seen, acted, paid, over, late = [], [], [], [], []
    for _ in range(25):
        state, length = noise.normal(size=4), int(noise.integers(60, 120))
        for t in range(length):
            action = noise.normal(size=2)
            seen.append(state)
            acted.append(action)
            paid.append(-abs(state[0] - state[1]) - 0.1 * float(action @ action))
            over.append(t == length - 1 and length < 100)
            late.append(t == length - 1 and length >= 100)
            state = 0.9 * state + 0.3 * noise.normal(size=4) + 0.2 * np.tile(action, 2)
    np.savez(
        place.folder / "drive.npz", observations=np.array(seen, np.float32), actions=np.array(acted, np.float32),
        rewards=np.roll(paid, -3 if broken else 0), terminals=np.array(over), timeouts=np.array(late),
    )  # fmt: skip
    return (("check", "data", "drive.npz", "--format", "json"),)


# --- plans and memory ------------------------------------------------------------------------------------------------


@carrier("carriers.again_key_of_the_memory_check", line="does it fit, and what uses the memory",
         quote="Memory estimate | can the hardware handle model count, batch, seq_len?",
         shows=lambda told: told.code != 0 and "micro_batch" in told.text and "gpus" in told.text)  # fmt: skip
def again_key_of_the_memory_check(place: Place, broken: bool) -> Commands:
    """An option that no check has, in pyproject.toml."""
    (place.folder / "config.json").write_text(json.dumps(LLAMA))
    key = "seq_len = 4096" if broken else "completion = 512"
    (place.folder / "pyproject.toml").write_text(
        f'[tool.firstbreak.check.memory]\nmodel = "config.json"\nalgo = "grpo"\ngpus = 16\nshard = "fsdp"\n{key}\n'
    )
    return (("check", "plan", "pyproject.toml"),)


# --- the recorder and the machine ------------------------------------------------------------------------------------


class Masked(recorders.Zeroed):
    """Ones instead of zeros."""

    def observation(self, observation: Any) -> Any:
        return np.ones_like(observation)


@carrier(
    "carriers.again_recorded_ones", line=WIRED, quote="Is the agent seeing the correct states?", says=r"(?i)observation"
)
def again_recorded_ones(place: Place, broken: bool) -> Commands:
    """Every observation is 1."""
    place = Place(place.folder, place.rng, "ppo")
    return recorders.trained(place, Masked, broken)


def gauges(place: Place, **curves: systems.Gpu) -> Commands:
    """A healthy run with readings of the machine beside it."""
    systems.healthy(place, "verl")
    systems.machine(place, **curves)
    return DIAGNOSE


@carrier("carriers.again_gpu_waits_at_random", line="throughput that falls, workers that wait", quote=systems.SLOWER,
         says=r"(?i)utili[sz]ation|idle", variants=("nvidia_smi", "wandb"))  # fmt: skip
def again_gpu_waits_at_random(place: Place, broken: bool) -> Commands:
    """Four readings of five are near 10 %, in no order; in the look-alike one of five."""
    busy = {t: place.rng.random() < (0.2 if broken else 0.8) for t in range(0, int(STEPS * SECONDS), 10)}
    return gauges(place, util=lambda t: 88.0 if busy[int(t)] else 11.0)


@carrier("carriers.again_memory_full_in_generation", line="does it fit, and what uses the memory",
         quote="If memory is near capacity during one phase, the other phase has headroom.",
         says=r"(?i)memory", variants=("nvidia_smi", "wandb_events"))  # fmt: skip
def again_memory_full_in_generation(place: Place, broken: bool) -> Commands:
    """Generation takes 78.5 GiB of 80 for two thirds of a step, training 40; the look-alike's 66."""
    return gauges(place, memory=lambda t: (78.5 if broken else 66.0) if t % SECONDS < 40 else 40.0)


@carrier("carriers.again_power_is_low", line="generation that takes most of a step",
         quote="Generation phase: GPU power is noticeably lower than during training. ... If the generation phase is taking a"
         " disproportionate share of step time, it may be the bottleneck.",
         says=r"(?i)power|generat|rollout", variants=("nvidia_smi", "wandb_events"))  # fmt: skip
def again_power_is_low(place: Place, broken: bool) -> Commands:
    """300 of 480 W for nine tenths of every two steps; in the look-alike for a half."""
    share = 0.9 if broken else 0.5
    return gauges(place, power=lambda t: 300.0 if t % (2 * SECONDS) < share * 2 * SECONDS else 480.0)


@carrier("carriers.again_scoring_grows_in_trl", line="throughput that falls, workers that wait", quote=systems.SLOWER,
         says=r"(?i)scor|reward (model|function|calculation)", variants=("nemo_rl",))  # fmt: skip
def again_scoring_grows_in_trl(place: Place, broken: bool) -> Commands:
    """The judge takes longer and longer, up to three quarters of a step."""
    noise = np.random.default_rng(place.rng.randint(0, 2**31))
    share = np.linspace(0.1, 0.75 if broken else 0.14, STEPS)
    systems.nemo_rl(place, **{
        "timing/train/reward_calculation": share * SECONDS + noise.normal(0, 0.5, STEPS),
        "timing/train/generation": (0.85 - share) * SECONDS + noise.normal(0, 0.5, STEPS),
        "timing/train/policy_training": 0.12 * SECONDS + noise.normal(0, 0.3, STEPS),
    })  # fmt: skip
    return DIAGNOSE


@carrier("carriers.again_scale_falls_to_one", line="overflow and skipped steps",
         quote="fp16 overflow | loss scale, NaN step | bf16, dynamic loss scaling", says=r"(?i)loss.scale",
         variants=("actor/fp16_loss_scale", "optim/loss_scale"))  # fmt: skip
def again_scale_falls_to_one(place: Place, broken: bool) -> Commands:
    """Halved at every step from step 60 on, down to 1; the look-alike's stays."""
    scale = np.full(STEPS, 2.0**15)
    if broken:
        scale[60:76] = 2.0 ** np.arange(15, -1, -1)
        scale[76:] = 1.0
    systems.healthy(place, "verl", **{place.variant: scale})
    return DIAGNOSE
