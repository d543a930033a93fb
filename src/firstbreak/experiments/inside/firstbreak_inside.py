"""Interventions that no option of a trainer offers, made in its own process without touching its code.

A module that is known here is changed right after it was imported: TRL's GRPO and RLOO trainers, Stable-Baselines3's
algorithms, and the trainer of firstbreak's own lab. Every intervention that took hold is written down in
`interventions.jsonl` of the trial's folder; what it measures goes to `watch.jsonl`, one row a batch.

A trainer that is not known can be told with one line beside each copy of its weights, which does nothing outside an
experiment:

    from firstbreak_inside import record_weights
    record_weights("trainer", step, model.named_parameters())
"""

from __future__ import annotations

import functools
import hashlib
import importlib.abc
import importlib.machinery
import inspect
import json
import os
import random
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

Wanted = Mapping[str, Any]
Scores = list[float]
ANSWERS = ("answer", "solution", "ground_truth", "target", "label")  #: columns of a data set that hold the right answer
PRICE = 0.3  #: of a completion of the first batch's mean length, in units of reward


def wanted() -> Wanted:
    """The interventions that this trial asks for."""
    asked: Wanted = json.loads(os.environ.get("FIRSTBREAK_INTERVENE", "{}"))
    return asked


def install() -> None:
    """Change the known modules as they are imported."""
    sys.meta_path.insert(0, _Hook())


class _Hook(importlib.abc.MetaPathFinder):
    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if name not in CHANGES:
            return None
        others = (finder for finder in sys.meta_path if finder is not self)
        spec = next((s for finder in others if (s := finder.find_spec(name, path, target))), None)
        if spec is not None and spec.loader is not None:
            load = spec.loader.exec_module

            def exec_module(module: ModuleType) -> None:
                load(module)
                CHANGES[name](module, wanted())

            spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec


def note(file: str, **row: Any) -> None:
    """One line in a file of the trial's folder; nothing outside a trial."""
    if folder := os.environ.get("FIRSTBREAK_FOLDER"):
        with open(os.path.join(folder, file), "a") as lines:
            lines.write(json.dumps(row) + "\n")


def took_hold(what: str, value: Any, where: str) -> None:
    """An intervention is in force."""
    note("interventions.jsonl", intervention=what, value=value, where=where)


# --- rewards of texts ------------------------------------------------------------------------------------------------


class Rewards:
    """What a reward intervention makes of the rewards of a batch of texts."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self.rng = random.Random(0)
        self.price = 0.0

    def __call__(self, rewards: Scores, texts: Sequence[str], groups: Sequence[Any]) -> Scores:
        """The rewards to learn from instead; texts of one group stand for one prompt."""
        if self.kind == "negated":
            return [-reward for reward in rewards]
        if self.kind == "toy":
            return [toy(text) for text in texts]
        if self.kind == "shuffled":
            return shuffled(rewards, groups, self.rng)
        self.price = self.price or PRICE * len(texts) / max(1, sum(map(len, texts)))
        return [reward - self.price * len(text) for reward, text in zip(rewards, texts, strict=True)]


def toy(text: str) -> float:
    """The share of characters with an even code point: dense, smooth, and easy to raise for any policy that is updated."""
    return sum(ord(c) % 2 == 0 for c in text) / len(text) if text else 0.0


def shuffled(rewards: Scores, groups: Sequence[Any], rng: random.Random) -> Scores:
    """The same rewards, dealt out anew within each group."""
    places: dict[Any, list[int]] = {}
    for i, group in enumerate(groups):
        places.setdefault(group, []).append(i)
    dealt = list(rewards)
    for members in places.values():
        for i, j in zip(members, rng.sample(members, len(members)), strict=True):
            dealt[i] = rewards[j]
    return dealt


def probe(score: Callable[[list[str]], Scores], texts: list[str], answers: list[str]) -> dict[str, float]:
    """How the reward function judges what is known: mean rewards, and mean absolute differences.

    right: the right answers; other: right answers of other prompts; empty: nothing; longer: how much more each text
    earns when it is said twice; again: how much it differs when it is judged twice; plain: the texts as they are.
    """
    plain, again = score(texts), score(texts)
    twice = score([text + text for text in texts])
    seen = {
        "plain": _mean(plain),
        "again": _mean([abs(a - b) for a, b in zip(plain, again, strict=True)]),
        "longer": _mean([b - a for a, b in zip(plain, twice, strict=True)]),
        "empty": _mean(score([""] * len(texts))),
    }
    if answers:
        others = [next((b for b in answers if b != a), a) for a in answers]
        seen |= {"right": _mean(score(answers)), "other": _mean(score(others))}
    return seen


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


# --- weights ---------------------------------------------------------------------------------------------------------


def record_weights(side: str, step: int, tensors: Iterable[tuple[str, Any]]) -> None:
    """A hash of each tensor of one side ("trainer" or "engine"), and the adapters among them; nothing outside a trial."""
    if not os.environ.get("FIRSTBREAK_FOLDER"):
        return
    hashes = {name.removeprefix("module."): _hash(tensor) for name, tensor in tensors}
    adapters = sorted({match[1] for name in hashes if (match := re.search(r"lora_[AB]\.(\w+)", name))})
    note("weights.jsonl", side=side, step=step, hashes=hashes, adapters=adapters)


def _hash(tensor: Any) -> str:
    import torch  # the tensor is one of torch's

    plain = tensor.detach().to("cpu").contiguous().reshape(-1).view(torch.uint8)
    return hashlib.sha256(plain.numpy().tobytes()).hexdigest()[:16]


# --- TRL -------------------------------------------------------------------------------------------------------------


def _trl(module: ModuleType, asked: Wanted) -> None:
    """GRPOTrainer and RLOOTrainer: reward functions and data sets, before the trainer gets them."""
    for name in ("GRPOTrainer", "RLOOTrainer"):
        if trainer := vars(module).get(name):
            _change_arguments(trainer, asked)


def _change_arguments(trainer: type[Any], asked: Wanted) -> None:
    original = trainer.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def init(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments
        more = given.pop("kwargs", {})
        functions = given.get("reward_funcs")
        single = not isinstance(functions, list | tuple)
        if "reward" in asked or "reward" in asked.get("watch", ""):
            functions = [_trl_function(f, asked) for f in ([functions] if single else functions or [])]
            given["reward_funcs"] = functions[0] if single else functions
        if asked.get("data") == "test" and given.get("eval_dataset") is not None:
            given["train_dataset"] = given["eval_dataset"]
            took_hold("data", "test", trainer.__name__)
        elif asked.get("data") == "one":
            given["train_dataset"] = given["train_dataset"].select([0] * len(given["train_dataset"]))
            took_hold("data", "one", trainer.__name__)
        original(**given, **more)

    trainer.__init__ = init


def _trl_function(function: Any, asked: Wanted) -> Any:
    if not callable(function) or not hasattr(function, "__name__"):
        return function  # a reward model: TRL calls it on tokens, not on texts
    change = Rewards(asked["reward"]) if "reward" in asked else None
    watch = "reward" in asked.get("watch", "")

    @functools.wraps(function)
    def judged(*, prompts: Any, completions: Any, **columns: Any) -> Scores:
        rewards: Scores = function(prompts=prompts, completions=completions, **columns)
        texts = list(map(_text, completions))
        if watch:
            key = next((name for name in ANSWERS if name in columns), None)

            def score(replaced: list[str]) -> Scores:
                said = [_as(original, text) for original, text in zip(completions, replaced, strict=True)]
                scores: Scores = function(prompts=prompts, completions=said, **columns)
                return scores

            note("watch.jsonl", **probe(score, texts, [str(a) for a in columns[key]] if key else []))
        return change(rewards, texts, list(map(_text, prompts))) if change else rewards

    took_hold("watch" if watch else "reward", asked.get("reward", "reward"), function.__name__)
    return judged


def _text(message: Any) -> str:
    return message if isinstance(message, str) else "".join(str(part.get("content", "")) for part in message)


def _as(original: Any, text: str) -> Any:
    """A text in the shape of a completion: plain, or one message of a conversation."""
    return text if isinstance(original, str) else [{"role": "assistant", "content": text}]


# --- Stable-Baselines3 -----------------------------------------------------------------------------------------------


def _sb3(module: ModuleType, asked: Wanted) -> None:
    """Every algorithm: the rewards that it learns from. Its monitor lies below and goes on recording the true ones."""
    if "reward" not in asked:
        return
    algorithm = module.BaseAlgorithm
    original = algorithm._wrap_env

    @functools.wraps(original)
    def wrap(env: Any, *args: Any, **kwargs: Any) -> Any:
        return _rewarding(original(env, *args, **kwargs), asked["reward"])

    algorithm._wrap_env = staticmethod(wrap)


def _rewarding(env: Any, kind: str) -> Any:
    import numpy as np
    from stable_baselines3.common.vec_env import VecEnvWrapper

    rng = np.random.default_rng(0)

    class Rewarding(VecEnvWrapper):
        """Rewards are negated, dealt out anew among the environments of a step, or replaced by a toy."""

        steps = 0
        total = 0.0

        def reset(self) -> Any:
            return self.venv.reset()

        def step_async(self, actions: Any) -> None:
            self.actions = np.asarray(actions)
            self.venv.step_async(actions)

        def step_wait(self) -> Any:
            observations, rewards, dones, infos = self.venv.step_wait()
            learned = self.changed(rewards)
            self.steps, self.total = self.steps + 1, self.total + float(np.mean(learned))
            if self.steps % 64 == 0:
                note("watch.jsonl", toy=self.total / 64)
                self.total = 0.0
            return observations, learned, dones, infos

        def changed(self, rewards: Any) -> Any:
            if kind == "negated":
                return -rewards
            if kind == "shuffled":
                return rng.permutation(rewards)
            flat = self.actions.reshape(len(rewards), -1)
            return (flat[:, 0] <= 0).astype(np.float32)  # the first action, or a negative one, is right

    took_hold("reward", kind, type(env).__name__)
    return Rewarding(env)


def _sb3_on_policy(module: ModuleType, asked: Wanted) -> None:
    """PPO and A2C: all that the policy alone uses stands still, so that only the critic learns."""
    if asked.get("policy") != "frozen":
        return
    algorithm = module.OnPolicyAlgorithm
    original = algorithm._setup_model

    @functools.wraps(original)
    def setup(self: Any) -> None:
        original(self)
        for name, parameter in self.policy.named_parameters():
            if re.search(r"action_net|policy_net|log_std|pi_features", name):
                parameter.requires_grad_(False)
        took_hold("policy", "frozen", type(self).__name__)

    algorithm._setup_model = setup


# --- firstbreak's own lab ----------------------------------------------------------------------------------------------


def _lab(module: ModuleType, asked: Wanted) -> None:
    """The language lab's trainer, at its first step: by then it is complete, with whatever is wrong with it."""
    trainer = module.Trainer
    original = trainer.train_step

    @functools.wraps(original)
    def train_step(self: Any) -> None:
        if self.version == 0:
            _change_lab(self, asked)
        original(self)

    trainer.train_step = train_step


def _change_lab(trainer: Any, asked: Wanted) -> None:
    workers, settings = trainer.workers, trainer.settings
    honest, draw = workers.score, workers.draw
    if kind := asked.get("reward"):
        change = Rewards(kind)

        def score(problems: Any, texts: list[str]) -> dict[str, Scores]:
            parts: dict[str, Scores] = honest(problems, texts)
            total = _weighted(parts, settings.reward_weights)
            learned = change(total, texts, [problem.prompt for problem in problems])
            shift = [b - a for a, b in zip(total, learned, strict=True)]
            name, weight = max(settings.reward_weights.items(), key=lambda part: abs(part[1]))
            return parts | {name: [v + s / weight for v, s in zip(parts[name], shift, strict=True)]}

        workers.score = score
        took_hold("reward", kind, "Trainer")
    if (kind := asked.get("data")) == "test":
        workers.draw = lambda rng, n: [trainer.eval_problems[i % len(trainer.eval_problems)] for i in range(n)]
    elif kind == "one":
        only = draw(random.Random(0), 1)
        workers.draw = lambda rng, n: only * n
    if kind:
        took_hold("data", kind, "Trainer")
    if "reward" in asked.get("watch", ""):
        _watch_lab_rewards(trainer, honest)
    if "weights" in asked.get("watch", ""):
        _watch_lab_weights(trainer)


def _watch_lab_rewards(trainer: Any, honest: Callable[..., dict[str, Scores]]) -> None:
    inner, settings = trainer.workers.score, trainer.settings

    def score(problems: Any, texts: list[str]) -> dict[str, Scores]:
        def total(said: list[str]) -> Scores:
            return _weighted(honest(problems, said), settings.reward_weights)

        note("watch.jsonl", **probe(total, texts, [problem.answer for problem in problems]))
        parts: dict[str, Scores] = inner(problems, texts)
        return parts

    trainer.workers.score = score
    took_hold("watch", "reward", "Trainer")


def _watch_lab_weights(trainer: Any) -> None:
    deliver = trainer.sync_weights

    def delivered(policy: Any, version: int) -> None:
        deliver(policy, version)
        record_weights("trainer", version, policy.named_parameters())
        record_weights("engine", version, trainer.engine.model.named_parameters())

    trainer.sync_weights = delivered
    took_hold("watch", "weights", "Trainer")


def _weighted(parts: Mapping[str, Scores], weights: Mapping[str, float]) -> Scores:
    rows: Iterator[tuple[float, ...]] = zip(*parts.values(), strict=True)
    return [sum(weights[name] * value for name, value in zip(parts, row, strict=True)) for row in rows]


#: module -> what is done to it once it is imported
CHANGES: Mapping[str, Callable[[ModuleType, Wanted], None]] = {
    "trl.trainer.grpo_trainer": _trl,
    "trl.trainer.rloo_trainer": _trl,
    "stable_baselines3.common.base_class": _sb3,
    "stable_baselines3.common.on_policy_algorithm": _sb3_on_policy,
    "firstbreak.lab.language.trainer": _lab,
}
