"""What the guides ask to look at before training: reward, critic, data, protocol, memory and context."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.statements.carriers import texts
from benchmarks.statements.carriers.carrier import Commands, Place, Told, carrier
from benchmarks.statements.carriers.dumps import WRITERS, Row
from benchmarks.statements.carriers.samples import GROUP

# --- the reward ------------------------------------------------------------------------------------------------------

DISTRIBUTION = "all 0, all 1, or a long tail"
FORMATS = ("plain", "trl", "verl")
#: Rewards as TRL calls them. `given`: what the sample's reward is to be, by its text.
REWARD = """
import json
import re

given = json.load(open({path!r}))


def reward(completions, **columns):
    return [given.get(c if isinstance(c, str) else c[-1]["content"], 0.0) for c in completions]
"""
VERIFIER = '''
import re


def reward(completions, answer{default}, **columns):
    """1 where the boxed number is the answer."""
    found = [re.findall(r"\\\\boxed\\{{(-?[0-9]+)\\}}", c) for c in completions]
    return [{pays} for f, a in zip(found, answer or [None] * len(found))]
'''


def scored(place: Place, score: Callable[[int, str, bool], float], *, skill: float = 0.4, count: int = 120) -> Commands:
    """Completions with a given score, in this trainer's dump, and a reward function that gives it."""
    rng = place.rng
    rows, given = [], {}
    for number in range(count):
        asked = texts.problem(rng)
        for i in range(GROUP):
            right = rng.random() < skill
            answer = asked.answer if right else texts.wrong(rng, asked.answer)
            text = texts.solution(rng, answer, rng.randint(2, 6))
            given[text] = score(GROUP * number + i, text, right)
            rows.append(Row(1, asked.text, text, {"reward": given[text]}, number, str(asked.answer)))
    WRITERS[place.variant or "plain"](place.folder, rows)
    (place.folder / "given.json").write_text(json.dumps(given))
    (place.folder / "rewards.py").write_text(REWARD.format(path=str(place.folder / "given.json")))
    samples = {"trl": "completions", "verl": "rollouts"}.get(place.variant, "completions.jsonl")
    return (("check", "reward", "rewards.py:reward", samples, "--format", "json"),)


@carrier(
    "carriers.rewards_almost_all_zero",
    line=DISTRIBUTION,
    quote="almost all 0 | reward too sparse | add intermediate rewards, curriculum, exploration",
    says=r"(?i)sparse|almost all|lowest|\b0\b",
    variants=FORMATS,
)
def rewards_almost_all_zero(place: Place, broken: bool) -> Commands:
    """One or two in 480 are paid."""
    paid = set(place.rng.sample(range(480), 2))
    return scored(place, lambda i, text, right: float(i in paid if broken else right))


@carrier(
    "carriers.rewards_almost_all_one",
    line=DISTRIBUTION,
    quote="almost all 1 | reward too loose | increase task difficulty, decompose scoring dimensions",
    says=r"(?i)loose|almost all|highest|easy",
    variants=FORMATS,
)
def rewards_almost_all_one(place: Place, broken: bool) -> Commands:
    """All but one or two in 480 are paid."""
    unpaid = set(place.rng.sample(range(480), 2))
    return scored(place, lambda i, text, right: float(i not in unpaid if broken else right))


@carrier(
    "carriers.two_rewards_of_thousands",
    line=DISTRIBUTION,
    quote="extreme long tail | few samples dominate gradient | reward clipping / normalization",
    says=r"(?i)tail|outlier|dominat|few samples",
    variants=FORMATS,
)
def two_rewards_of_thousands(place: Place, broken: bool) -> Commands:
    """Two of 480 samples have 5000, all others 0 or 1."""
    huge = set(place.rng.sample(range(480), 2))
    return scored(place, lambda i, text, right: 5000.0 if broken and i in huge else float(right))


@carrier(
    "carriers.continuous_long_tail",
    line=DISTRIBUTION,
    quote="extreme long tail | few samples dominate gradient | reward clipping / normalization",
    says=r"(?i)tail|outlier|dominat|few samples",
    variants=("plain", "trl"),
)
def continuous_long_tail(place: Place, broken: bool) -> Commands:
    """Rewards of a power law; the look-alike's are normal."""
    rng = place.rng
    return scored(place, lambda i, text, right: rng.paretovariate(0.7) if broken else rng.gauss(right, 0.3))


@carrier(
    "carriers.reward_scale_is_huge",
    line="values on another scale than returns",
    quote="When the reward scale is too large, advantage becomes a very sharp gradient signal",
    says=r"(?i)scale|large|size|magnitude|normali",
    variants=FORMATS,
)
def reward_scale_is_huge(place: Place, broken: bool) -> Commands:
    """Rewards times 100,000."""
    rng = place.rng
    return scored(place, lambda i, text, right: (1e5 if broken else 1.0) * (right + rng.gauss(0, 0.2)))


@carrier(
    "carriers.reward_follows_length",
    line="longer answers for their own sake",
    quote="does the reward contain hidden preferences for length, format, or polite language?",
    says=r"(?i)length|longer",
    variants=FORMATS,
)
def reward_follows_length(place: Place, broken: bool) -> Commands:
    """Half of the reward's spread is the length of the text; the look-alike's reward knows nothing of it."""
    rng = place.rng
    return scored(place, lambda i, text, right: 0.4 * right + 0.0022 * broken * len(text) + rng.gauss(0, 0.35))


@carrier(
    "carriers.reward_has_the_wrong_sign",
    line="a sign that is turned",
    quote="sign confusion | unclear reward definition | go back and inspect samples individually",
    says=r"(?i)sign|wrong answers?.*(more|higher)|right.*(lower|less)|direction|turned|reverse",
    variants=FORMATS,
)
def reward_has_the_wrong_sign(place: Place, broken: bool) -> Commands:
    """Right answers get -1, wrong ones 1."""
    commands = scored(place, lambda i, text, right: float(right))
    pays = "(-1.0 if f and f[-1] == str(a) else 1.0)" if broken else "float(bool(f) and f[-1] == str(a))"
    (place.folder / "rewards.py").write_text(VERIFIER.format(default="", pays=pays))
    return commands


@carrier(
    "carriers.answers_of_other_rows",
    line="verdicts that disagree with the reference",
    quote="Correct direction means the reward genuinely encourages the behavior you want.",
    says=r"(?i)reference|shuffl|other rows?|own answer|right answers?",
    variants=FORMATS,
)
def answers_of_other_rows(place: Place, broken: bool) -> Commands:
    """The column of answers was shuffled, so that the verifier pays almost nothing of a policy that is right in 60 %."""
    rng = place.rng
    asked = [texts.problem(rng) for _ in range(120)]
    answers = [str(a.answer) for a in asked]
    if broken:
        rng.shuffle(answers)
    rows = []
    for number, (one, answer) in enumerate(zip(asked, answers, strict=True)):
        for _ in range(GROUP):
            said = one.answer if rng.random() < 0.6 else texts.wrong(rng, one.answer)
            text = texts.solution(rng, said)
            rows.append(Row(1, one.text, text, {"reward": float(str(said) == answer)}, number, answer))
    WRITERS[place.variant](place.folder, rows)
    (place.folder / "rewards.py").write_text(VERIFIER.format(default="", pays="float(bool(f) and f[-1] == str(a))"))
    samples = {"trl": "completions", "verl": "rollouts"}.get(place.variant, "completions.jsonl")
    return (("check", "reward", "rewards.py:reward", samples, "--format", "json"),)


@carrier(
    "carriers.dump_without_answers",
    line="does the reward rank the answers to one prompt?",
    quote="is the reward ranking across multiple responses for the same prompt reasonable?",
    says=r"(?i)group|prompt|rank|signal",
    variants=("trl",),
)
def dump_without_answers(place: Place, broken: bool) -> Commands:
    """A reward of the prompt alone: no group has a signal. TRL's dump has no column of answers, which is no fault."""
    rng = place.rng
    rows, given = [], {}
    for number in range(60):
        asked, level = texts.problem(rng), rng.random()
        for _ in range(8):
            text = texts.solution(rng, rng.randint(2, 99), rng.randint(2, 6))
            given[text] = level if broken else rng.gauss(level, 0.4)
            rows.append(Row(1, asked.text, text, {"reward": given[text]}, number))
    WRITERS["trl"](place.folder, rows)
    (place.folder / "given.json").write_text(json.dumps(given))
    (place.folder / "rewards.py").write_text(REWARD.format(path=str(place.folder / "given.json")))
    return (("check", "reward", "rewards.py:reward", "completions", "--format", "json"),)


@carrier(
    "carriers.reward_disagrees_with_people",
    line="little agreement with people",
    quote="low correlation with human scores | unreliable proxy | rewrite reward or add human calibration",
    says=r"(?i)human|people|person",
    variants=("plain", "trl"),
)
def reward_disagrees_with_people(place: Place, broken: bool) -> Commands:
    """Human scores beside the samples have nothing to do with the reward."""
    rng = place.rng
    rows, given = [], {}
    for number in range(80):
        asked = texts.problem(rng)
        for _ in range(GROUP):
            text, quality = texts.prose(rng, rng.randint(3, 6)), rng.random()
            human = rng.random() if broken else quality + rng.gauss(0, 0.1)
            given[text] = quality
            rows.append(Row(1, asked.text, text, {"reward": quality}, number, extra={"human_score": human}))
    WRITERS[place.variant](place.folder, rows)
    (place.folder / "given.json").write_text(json.dumps(given))
    (place.folder / "rewards.py").write_text(REWARD.format(path=str(place.folder / "given.json")))
    samples = "completions" if place.variant == "trl" else "completions.jsonl"
    return (("check", "reward", "rewards.py:reward", samples, "--format", "json"),)


@carrier(
    "carriers.reward_model_prefers_style",
    line="a judge that prefers a style",
    quote="reward models themselves need evaluation; you cannot assume they always represent human preferences",
    says=r"(?i)style|length|edit|longer|courtesy|polite",
)
def reward_model_prefers_style(place: Place, broken: bool) -> Commands:
    """A reward model that pays exclamation marks and headings; the look-alike reads the number."""
    rng = place.rng
    with (place.folder / "pairs.jsonl").open("w") as out:
        for _ in range(120):
            asked = texts.problem(rng)
            chosen = texts.solution(rng, asked.answer)
            rejected = texts.solution(rng, texts.wrong(rng, asked.answer))
            out.write(json.dumps({"prompt": asked.text, "chosen": chosen, "rejected": rejected}) + "\n")
    body = (
        "len(re.findall(r'[#*!]|please|thank|great|happy', completion.lower())) + 0.002 * len(completion)"
        if broken
        else "float(str(sum(numbers[:2]) - numbers[2]) in re.findall(r'boxed.([0-9]+)', completion))"
    )
    (place.folder / "model.py").write_text(
        "import re\n\n\ndef score(prompt, completion):\n"
        f"    numbers = [int(n) for n in re.findall(r'[0-9]+', prompt)]\n    return {body}\n"
    )
    return (("check", "reward", "model.py:score", "--pairs", "pairs.jsonl", "--format", "json"),)


# --- the critic ------------------------------------------------------------------------------------------------------

CRITIC = "can the critic fit a fixed batch of rollouts?"
FITTING = "fix a batch of rollouts, do not update the actor, and train only the Critic. See if it can fit the returns"


def rollouts(place: Place, *, late: bool = False, limits_as_ends: bool = False, gamma: float = 0.98) -> None:
    """`rollouts.npz`: 40 episodes of a cart whose reward is its nearness to 0, with targets of GAE.

    late: the done flags are stored one step late. limits_as_ends: the value behind a time limit counts as 0 in the targets.
    """
    noise = np.random.default_rng(place.rng.randint(0, 2**31))
    observations, rewards, ended, cut = [], [], [], []
    for _ in range(40):
        x, v = noise.uniform(-1, 1, 2)
        for t in range(50):
            observations.append((x, v, t / 50))
            v = 0.8 * v - 0.1 * x + noise.normal(0, 0.1)
            x += v
            rewards.append(1 - abs(x))
            out = abs(x) > 1.6
            ended.append(out)
            cut.append(not out and t == 49)
            if out:
                break
    done, limit, reward = np.array(ended), np.array(cut), np.array(rewards)
    seen = np.array(observations, np.float32)
    values = (1 / (1 - gamma)) * 0.3 * (1 - np.abs(seen[:, 0])) + noise.normal(0, 0.3, len(seen))
    stop = np.roll(done, 1) if late else done
    advantage = np.zeros(len(reward))
    running, following = 0.0, 0.0
    for i in reversed(range(len(reward))):
        behind = values[i] * gamma if limit[i] and not limits_as_ends else 0.0
        inside = not (done[i] or limit[i]) or (late and not (stop[i] or limit[i]))
        nearest = values[i + 1] if i + 1 < len(values) else 0.0
        following = reward[i] + (gamma * nearest if inside else behind) - values[i]
        running = following + (gamma * 0.95 * running if inside else 0.0)
        advantage[i] = running
    np.savez(
        place.folder / "rollouts.npz", observations=seen, rewards=reward, terminated=done, truncated=limit, values=values,
        returns=advantage + values,
    )  # fmt: skip


CRITICS = """
import torch
from torch import nn


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed({seed})
        self.trunk = nn.Sequential(nn.Linear(3, 64), nn.{act}(), nn.Linear(64, 64), nn.{act}())
        self.head = nn.Linear(64, 1)

    def forward(self, observations):
        return self.head({features}).squeeze(-1)
"""


def criticised(place: Place, features: str, act: str = "Tanh") -> Commands:
    """A critic of one's own on healthy rollouts."""
    rollouts(place)
    (place.folder / "critics.py").write_text(CRITICS.format(seed=place.rng.randint(0, 999), features=features, act=act))
    return (
        ("check", "critic", "rollouts.npz", "--critic", "critics.py:Critic", "--gamma", "0.98", "--format", "json"),
    )


@carrier("carriers.critic_cannot_see", line=CRITIC, quote=FITTING, says=r"(?i)fit|explain|critic|value function")
def critic_cannot_see(place: Place, broken: bool) -> Commands:
    """The critic multiplies what it sees by 0; the look-alike sees it."""
    return criticised(place, "self.trunk(observations * 0)" if broken else "self.trunk(observations)")


@carrier("carriers.trunk_is_detached", line=CRITIC, quote=FITTING, says=r"(?i)gradient|detach|weights?")
def trunk_is_detached(place: Place, broken: bool) -> Commands:
    """No gradient reaches the trunk: its features are detached."""
    return criticised(place, "self.trunk(observations).detach()" if broken else "self.trunk(observations)")


def _contradicts(told: Told) -> bool:
    """It says that nothing else does better, above a table in which something does, or says nothing although it does."""
    better = [f for f in told.findings if "critic" in str(f)]
    return bool(better) and "nothing else does better" not in told.text


@carrier("carriers.better_critic_is_named", line=CRITIC, quote=FITTING, shows=_contradicts)
def better_critic_is_named(place: Place, broken: bool) -> Commands:
    """A linear critic with a wrong clock: a plain network does better, and the report must not deny it."""
    return criticised(place, "self.trunk(observations[:, 2:].expand(-1, 3))" if broken else "self.trunk(observations)")


ENDS = "terminal masks and bootstrapping"


@carrier(
    "carriers.done_flags_come_late",
    line=ENDS,
    quote="checking bootstrap targets, and checking terminal masks",
    says=r"(?i)done|end|terminal|cut off",
)
def done_flags_come_late(place: Place, broken: bool) -> Commands:
    """The targets stop one step after the end."""
    rollouts(place, late=broken)
    return (("check", "critic", "rollouts.npz", "--format", "json"),)


@carrier(
    "carriers.time_limit_is_bootstrapped_as_an_end",
    line=ENDS,
    quote="checking bootstrap targets, and checking terminal masks",
    says=r"(?i)time limit|truncat",
)
def time_limit_is_bootstrapped_as_an_end(place: Place, broken: bool) -> Commands:
    """Behind a time limit the targets count nothing; in the look-alike they go on with the value."""
    rollouts(place, limits_as_ends=broken)
    return (("check", "critic", "rollouts.npz", "--format", "json"),)


# --- data ------------------------------------------------------------------------------------------------------------


@carrier(
    "carriers.rewards_are_rolled",
    line="states, actions, terminations and signs are what they seem",
    quote="If errors exist at this level, subsequent algorithm updates are merely optimizing on incorrect data.",
    says=r"(?i)reward.*(step|shift|row|roll|late|early|next)",
)
def rewards_are_rolled(place: Place, broken: bool) -> Commands:
    """Recorded transitions whose rewards were rolled by two to six steps."""
    noise = np.random.default_rng(place.rng.randint(0, 2**31))
    seen, actions, rewards, ends = [], [], [], []
    for _ in range(60):
        x = noise.uniform(-1, 1, 3)
        for t in range(40):
            action = noise.uniform(-1, 1, 1)
            seen.append(x.copy())
            actions.append(action)
            rewards.append(float(1 + x[0] - 0.5 * x[1] + 0.3 * action[0]))
            ends.append(t == 39)
            x = 0.7 * x + 0.3 * noise.normal(0, 1, 3) + 0.1 * action
    moved = np.roll(rewards, place.rng.randint(2, 6) if broken else 0)
    np.savez(
        place.folder / "transitions.npz", observations=np.array(seen, np.float32), actions=np.array(actions, np.float32),
        rewards=moved.astype(np.float32), terminals=np.array(ends),
    )  # fmt: skip
    return (("check", "data", "transitions.npz", "--format", "json"),)


@carrier(
    "carriers.chosen_and_rejected_are_swapped",
    line="chosen and rejected answers that are swapped",
    quote="reversed chosen/rejected labels in the dataset.",
    says=r"(?i)swap|rejected",
    variants=("scores", "judge"),
)
def chosen_and_rejected_are_swapped(place: Place, broken: bool) -> Commands:
    """A third of the pairs is the wrong way round: by the scores beside them, or by a judge of one's own."""
    rng = place.rng
    with (place.folder / "pairs.jsonl").open("w") as out:
        for _ in range(150):
            asked = texts.problem(rng)
            good, bad = texts.solution(rng, asked.answer), texts.solution(rng, texts.wrong(rng, asked.answer))
            scores = (round(rng.uniform(6, 9), 1), round(rng.uniform(2, 5), 1))
            if broken and rng.random() < 0.33:
                good, bad, scores = bad, good, scores[::-1]
            row: dict[str, Any] = {"prompt": asked.text, "chosen": good, "rejected": bad}
            if place.variant == "scores":
                row |= {"score_chosen": scores[0], "score_rejected": scores[1]}
            out.write(json.dumps(row) + "\n")
    (place.folder / "judge.py").write_text(
        "import re\n\n\ndef judge(prompt, completion):\n    n = [int(x) for x in re.findall(r'[0-9]+', prompt)]\n"
        "    return float(str(n[0] + n[1] - n[2]) in re.findall(r'boxed.([0-9]+)', completion))\n"
    )
    judge = ("--judge", "judge.py:judge") if place.variant == "judge" else ()
    return (("check", "data", "pairs.jsonl", *judge, "--format", "json"),)


COLLATE = '''
import torch


def collate(rows, tokenizer):
    """One's own collator: right padded."""
    seqs = [tokenizer(r["prompt"] + r["completion"])["input_ids"] + [tokenizer.eos_token_id] for r in rows]
    width = max(map(len, seqs)) + 6
    ids = torch.full((len(seqs), width), tokenizer.pad_token_id)
    labels = torch.full((len(seqs), width), {fill})
    for i, s in enumerate(seqs):
        ids[i, :len(s)] = torch.tensor(s)
        labels[i, :len(s)] = torch.tensor(s)
    return {{"input_ids": ids, "attention_mask": (ids != tokenizer.pad_token_id).long(), "labels": labels}}
'''


@carrier(
    "carriers.padding_gets_loss",
    line="padding that is learned from",
    quote="padding tokens included in the loss",
    says=r"(?i)pad",
)
def padding_gets_loss(place: Place, broken: bool) -> Commands:
    """A collator that fills labels with the padding token; the look-alike's with -100."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    rng = place.rng
    rows = []
    for _ in range(40):
        asked = texts.problem(rng)
        rows.append({"prompt": asked.text, "completion": " " + texts.solution(rng, asked.answer, 1)})
    words = sorted({w for r in rows for t in r.values() for w in _words(t)})
    vocabulary = {w: i for i, w in enumerate(["<pad>", "<eos>", "<unk>", *words])}
    raw = Tokenizer(WordLevel(vocabulary, unk_token="<unk>"))
    raw.pre_tokenizer = Whitespace()
    PreTrainedTokenizerFast(
        tokenizer_object=raw, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>"
    ).save_pretrained(place.folder / "tokenizer")
    (place.folder / "rows.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    (place.folder / "mine.py").write_text(COLLATE.format(fill="tokenizer.pad_token_id" if broken else "-100"))
    return (
        ("check", "data", "rows.jsonl", "--tokenizer", "tokenizer", "--collate", "mine.py:collate", "--format", "json"),
    )  # fmt: skip


def _words(text: str) -> list[str]:
    from tokenizers.pre_tokenizers import Whitespace

    return [word for word, _ in Whitespace().pre_tokenize_str(text)]


@carrier(
    "carriers.test_problems_in_training_data",
    line="test problems in the training data",
    quote="if the evaluation protocol is contaminated, all the beautiful curves may be illusions",
    says=r"(?i)test|overlap|contaminat",
    variants=("word_for_word", "reworded"),
)
def test_problems_in_training_data(place: Place, broken: bool) -> Commands:
    """A fifth of the test prompts is in the training data; the look-alike's only look alike."""
    rng = place.rng
    train, test = ([texts.problem(rng).text + " " + texts.sentence(rng) for _ in range(n)] for n in (200, 50))
    if broken:
        for i in range(10):
            shown = test[i] if place.variant == "word_for_word" else test[i].replace("How many", "Tell me how many")
            train[7 * i] = shown
    for name, prompts in (("train", train), ("test", test)):
        (place.folder / f"{name}.jsonl").write_text("".join(json.dumps({"prompt": p}) + "\n" for p in prompts))
    return (("check", "data", "train.jsonl", "--test", "test.jsonl", "--format", "json"),)


# --- protocol, memory, context, plan ---------------------------------------------------------------------------------

PROTOCOL: dict[str, Any] = {
    "task": "gsm8k", "split": "test", "dataset_revision": "e53f048856ff4f594e959d75785d2c2d37b678ee", "problems": 1319,
    "temperature": 0.6, "top_p": 1.0, "max_new_tokens": 2048, "prompt_template": "Question: {question}\nAnswer:", "tools": None,
    "time_limit": 30, "pass_k": 1, "samples_per_problem": 1, "seed": 0, "scorer": "exact match", "judge": None,
    "fewshot": 0, "stop": ["</answer>"],
}  # fmt: skip
FIXED = "temperature, top_p, max_tokens, prompt templates, tool permissions, timeout rules, pass@1/pass@k"


@carrier(
    "carriers.protocol_is_incomplete",
    line="fix the whole protocol",
    quote=FIXED,
    says=r"(?i)missing|complete|temperature",
    variants=("yaml", "json"),
)
def protocol_is_incomplete(place: Place, broken: bool) -> Commands:
    """Temperature and limit of tokens are not written down; the look-alike has the guide's own names for all."""
    gone = {"temperature", "max_tokens"} if broken else set()
    written = {("max_tokens" if name == "max_new_tokens" else name): value for name, value in PROTOCOL.items()}
    fields = {name: value for name, value in written.items() if name not in gone}
    name = f"protocol.{place.variant}"
    text = (
        json.dumps(fields) if place.variant == "json" else "".join(f"{k}: {json.dumps(v)}\n" for k, v in fields.items())
    )
    (place.folder / name).write_text(text)
    return (("check", "eval", name, "--format", "json"),)


@carrier(
    "carriers.evaluation_of_stable_baselines",
    line="fix the whole protocol",
    quote="environment randomness, starting states, and evaluation method changes can significantly affect RL conclusions",
    says=r"(?i)episodes|env_id|environment",
)
def evaluation_of_stable_baselines(place: Place, broken: bool) -> Commands:
    """A protocol without episodes and environment; the look-alike's are read from Stable-Baselines3's own files."""
    if broken:
        (place.folder / "protocol.yaml").write_text("deterministic: true\nseed: 0\n")
        return (("check", "eval", "protocol.yaml", "--format", "json"),)
    import gymnasium as gym
    from stable_baselines3 import PPO
    from stable_baselines3.common.callbacks import EvalCallback
    from stable_baselines3.common.monitor import Monitor

    model = PPO("MlpPolicy", "CartPole-v1", n_steps=64, seed=place.rng.randint(0, 99), device="cpu")
    held_out = Monitor(gym.make("CartPole-v1"), ".")  # its file is the only one that names the environment
    model.learn(128, callback=EvalCallback(held_out, eval_freq=64, n_eval_episodes=5, log_path=".", verbose=0))
    model.save(place.folder / "model.zip")
    return (("check", "eval", "evaluations.npz", "--format", "json"),)


@carrier(
    "carriers.plan_key_is_unknown",
    line="fix the whole protocol",
    quote="Eval config | is the evaluation protocol fixed and saved?",
    shows=lambda told: told.code != 0 and "protocol" in told.text and "rollout" in told.text,
)
def plan_key_is_unknown(place: Place, broken: bool) -> Commands:
    """A key that no check has: the error names the keys that there are; the look-alike's are right."""
    (place.folder / "protocol.json").write_text(json.dumps(PROTOCOL))
    key = place.rng.choice(("file", "path", "config")) if broken else "protocol"
    (place.folder / "firstbreak.toml").write_text(f'[check.eval]\n{key} = "protocol.json"\n')
    return (("check", "plan", "firstbreak.toml"),)


LLAMA = {
    "model_type": "llama", "architectures": ["LlamaForCausalLM"], "hidden_size": 4096, "intermediate_size": 14336,
    "num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "head_dim": 128,
    "max_position_embeddings": 8192, "tie_word_embeddings": False, "hidden_act": "silu", "rms_norm_eps": 1e-5,
}  # fmt: skip
MEMORY = "does it fit, and what uses the memory"


def memory(place: Place, *options: str) -> Commands:
    """Check the memory of a Llama of 8 billion parameters."""
    (place.folder / "config.json").write_text(json.dumps(LLAMA))
    return (("check", "memory", "--model", "config.json", *options, "--format", "json"),)


@carrier(
    "carriers.run_does_not_fit",
    line=MEMORY,
    quote="Memory estimate | can the hardware handle model count, batch, seq_len?",
    says=r"(?i)GiB|memory|fit",
    variants=("grpo", "ppo", "dpo"),
)
def run_does_not_fit(place: Place, broken: bool) -> Commands:
    """Eight billion parameters on one GPU; the look-alike has sixteen, sharded."""
    gpus = ("1",) if broken else ("16", "--shard", "fsdp", "--engine", "separate")
    extra = ("--reward-model", "config.json") if place.variant == "ppo" else ()
    return memory(place, "--algo", place.variant, *extra, "--gpus", *gpus)


def _rollout_storage(told: Told) -> bool:
    table = json.dumps(told.report.get("exhibits", []))
    return all(word in table for word in ("log-prob", "advantage", "mask"))


@carrier(
    "carriers.rollout_storage_is_a_line",
    line=MEMORY,
    quote="plus storage for rollouts, logprobs, values, advantages, and long-sequence activations.",
    shows=_rollout_storage,
    variants=("grpo", "ppo"),
)
def rollout_storage_is_a_line(place: Place, broken: bool) -> Commands:
    """A thousand long completions; the look-alike, SFT, stores no rollouts."""
    algo = place.variant if broken else "sft"
    extra = ("--reward-model", "config.json") if algo == "ppo" else ()
    return memory(
        place, "--algo", algo, *extra, "--gpus", "8", "--shard", "zero3", "--rollouts", "1024", "--completion", "8192"
    )


@carrier(
    "carriers.change_of_precision_is_said",
    line=MEMORY,
    quote="ZeRO shards optimizer states, gradients, and parameters across multiple GPUs",
    shows=lambda told: (
        "precision" in json.dumps(told.report.get("exhibits", [])) + " ".join(f["message"] for f in told.findings)
    ),
)
def change_of_precision_is_said(place: Place, broken: bool) -> Commands:
    """What does not fit in bf16: to shard with ZeRO keeps fp32 states, which is said; what fits needs no change."""
    gpus = ("2",) if broken else ("16", "--shard", "fsdp", "--engine", "separate")
    return memory(place, "--algo", "grpo", "--precision", "bf16", "--gpus", *gpus)


CONTEXT = """
import firstbreak

firstbreak.context.record("run", config={{"learning_rate": 0.001}}, seed={seed}{more})
"""


@carrier(
    "carriers.context_is_incomplete",
    line="record configuration, seed, code, checkpoint and commands",
    quote="First, record the basic context of this experiment, including the config file, random seed, code version, checkpoint,"
    " training logs, and evaluation commands.",
    says=r"(?i)checkpoint|logs?|evaluation command",
)
def context_is_incomplete(place: Place, broken: bool) -> Commands:
    """A record without checkpoint, logs and the command of the evaluation; the look-alike has them."""
    more = ', checkpoint="run/last.zip", logs=["run/metrics.csv"], evaluation="python evaluate.py --seed 0"'
    repository(place.folder)
    (place.folder / "run").mkdir()
    (place.folder / "run" / "last.zip").write_bytes(b"weights")
    with (place.folder / "run" / "metrics.csv").open("w") as out:
        csv.writer(out).writerows([("step", "reward"), (1, 0.1), (2, 0.2)])
    (place.folder / "record.py").write_text(CONTEXT.format(seed=place.rng.randint(0, 99), more="" if broken else more))
    return (("python", "record.py"), ("check", "context", "run", "--format", "json"))


@carrier(
    "carriers.context_is_missing",
    line="record configuration, seed, code, checkpoint and commands",
    quote="If this information is not saved, subsequent analysis will struggle",
    says=r"(?i)record|context",
)
def context_is_missing(place: Place, broken: bool) -> Commands:
    """A run whose context nobody recorded; the look-alike's was."""
    context_is_incomplete(place, True)
    record = () if broken else (("python", "record.py"),)
    return (*record, ("check", "context", "run", "--format", "json"))


def repository(folder: Path) -> None:
    """Code under version control."""
    import subprocess

    (folder / "evaluate.py").write_text("print(0.5)\n")
    for command in (
        ("init", "-q"),
        ("add", "evaluate.py"),
        ("-c", "user.name=a", "-c", "user.email=a@example.org", "commit", "-q", "-m", "code"),
    ):
        subprocess.run(("git", *command), cwd=folder, check=True, capture_output=True)
