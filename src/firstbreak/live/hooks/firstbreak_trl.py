"""Hooks in TRL's trainers, and in their base class in transformers."""

from __future__ import annotations

import functools
import inspect
import re
from types import ModuleType
from typing import Any

from firstbreak_hooks import Wanted, ignore_errors, note, took_hold
from firstbreak_process import SettingsInForce
from firstbreak_resume import resume_transformers
from firstbreak_texts import (
    ANSWERS,
    DRAWN,
    FEW_PROMPTS,
    Rewards,
    Scores,
    agreement,
    by_errors,
    probe,
    prompts_compared,
    ranking,
    shuffled,
    worse_chosen,
)


def online(module: ModuleType, asked: Wanted) -> None:
    """GRPOTrainer and RLOOTrainer: change rewards and data sets, and check the advantages of each batch."""
    for name in ("GRPOTrainer", "RLOOTrainer"):
        if trainer := vars(module).get(name):
            _change_arguments(trainer, asked)
            if kind := asked.get("reward"):
                _change_rewards(trainer, kind)
            if "process" in asked.get("watch", ""):
                _watch(trainer)


def _change_rewards(trainer: type[Any], kind: str) -> None:
    """Change what the reward functions give together, once, and in training only: an evaluation keeps the true rewards."""
    original, change, tell = trainer._calculate_rewards, Rewards(kind), functools.cache(took_hold)

    @functools.wraps(original)
    def rewarded(self: Any, inputs: Any, prompts: Any, completions: Any, *args: Any, **kwargs: Any) -> Any:
        from accelerate.utils import gather_object

        parts = original(self, inputs, prompts, completions, *args, **kwargs)  # of all processes
        if not self.model.training:
            return parts
        groups, texts = ([_text(one) for one in gather_object(list(all_))] for all_ in (prompts, completions))
        tell("reward", kind, trainer.__name__)
        if kind == "negated":
            return -parts
        if kind == "shuffled":
            return parts[shuffled(list(range(len(parts))), groups, change.rng)]
        scored, weights = ~parts.isnan().all(1), self.reward_weights.to(parts.device)
        total = (parts * weights).nansum(1)
        learned = total.new_tensor(change(total.tolist(), texts, groups))
        if kind == "toy":
            parts = 0 * parts
        at, others = int(weights.abs().argmax()), (parts * weights).nansum(1)
        parts[:, at] = parts[:, at].nan_to_num() + (learned - others) / weights[at]
        parts[~scored] = float("nan")
        return parts

    trainer._calculate_rewards = rewarded


def _watch(trainer: type[Any]) -> None:
    """Log the settings in force, and the correlation of advantages with rewards."""
    settings = SettingsInForce()
    generate, reward = trainer._generate_and_score_completions, trainer._calculate_rewards

    @functools.wraps(reward)
    def rewarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.firstbreak_rewards = reward(self, *args, **kwargs)  # (completions, functions)
        with ignore_errors():  # no right answers, or rewards of several processes
            rows, prompts, completions, *_ = args
            total = (self.firstbreak_rewards.cpu() * self.reward_weights.cpu()).nansum(1).tolist()
            key = next(name for name in ANSWERS if name in rows[0])
            found = [str(row[key]) in _text(said) for row, said in zip(rows, completions, strict=True)]
            note("watch.jsonl", **ranking(total, list(map(_text, prompts)), found))
        return self.firstbreak_rewards

    @functools.wraps(generate)
    def generated(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = generate(self, *args, **kwargs)
        with ignore_errors():  # other versions may store these differently
            if self.model.training:
                total = (self.firstbreak_rewards.cpu() * self.reward_weights.cpu()).nansum(1)
                note("watch.jsonl", **agreement(made["advantages"].tolist(), total.tolist(), self.num_generations))
                settings(
                    kl_coef=self.beta,
                    clip_range=self.epsilon_low,
                    temperature=self.temperature,
                    top_p=self.top_p,
                    epochs_per_batch=self.num_iterations,
                )
        return made

    trainer._generate_and_score_completions, trainer._calculate_rewards = generated, rewarded


def transformers(module: ModuleType, asked: Wanted) -> None:
    """The base class of TRL's trainers."""
    if plan := asked.get("resumed"):
        resume_transformers(module.Trainer, plan)


def preferences(module: ModuleType, asked: Wanted) -> None:
    """RewardTrainer and DPOTrainer: check whether rejected answers are right while chosen answers are wrong."""
    if "data" not in asked.get("watch", ""):
        return
    for name in ("RewardTrainer", "DPOTrainer"):
        if trainer := vars(module).get(name):
            _watch_pairs(trainer)


def _watch_pairs(trainer: type[Any]) -> None:
    original = trainer.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def init(*args: Any, **kwargs: Any) -> None:
        with ignore_errors():  # a data set that streams, or one without the right answers
            data = signature.bind(*args, **kwargs).arguments["train_dataset"]
            rows = data.select(range(min(len(data), DRAWN)))
            key = next(name for name in ANSWERS if name in rows.column_names)
            held = [[float(str(row[key]) in _text(row[side])) for row in rows] for side in ("chosen", "rejected")]
            note("watch.jsonl", **worse_chosen(*held))
        original(*args, **kwargs)

    trainer.__init__ = init


def _change_arguments(trainer: type[Any], asked: Wanted) -> None:
    original = trainer.__init__
    signature = inspect.signature(original)

    @functools.wraps(original)
    def init(*args: Any, **kwargs: Any) -> None:
        given = signature.bind(*args, **kwargs).arguments
        more = given.pop("kwargs", {})
        functions = given.get("reward_funcs")
        single = not isinstance(functions, list | tuple)
        if "reward" in asked.get("watch", ""):
            functions = [_judging(f) for f in ([functions] if single else functions or [])]
            given["reward_funcs"] = functions[0] if single else functions
        if "data" in asked.get("watch", ""):
            with ignore_errors():  # there may be no evaluation, or a data set that streams
                sets = (given["train_dataset"], given["eval_dataset"])
                some = ([_text(r["prompt"]) for r in rows.select(range(min(len(rows), DRAWN)))] for rows in sets)
                note("watch.jsonl", **prompts_compared(*some))
        if asked.get("data") == "test" and given.get("eval_dataset") is not None:
            given["train_dataset"] = given["eval_dataset"]
            took_hold("data", "test", trainer.__name__)
        elif (few := {"one": 1, "few": FEW_PROMPTS}.get(asked.get("data", ""))) is not None:
            n = len(given["train_dataset"])
            given["train_dataset"] = given["train_dataset"].select([i % min(few, n) for i in range(n)])
            took_hold("data", asked["data"], trainer.__name__)
        original(**given, **more)

    trainer.__init__ = init


def _judging(function: Any) -> Any:
    """A reward function that is also asked for known answers."""
    if not callable(function) or not hasattr(function, "__name__") or inspect.iscoroutinefunction(function):
        return function  # a reward model: TRL calls it with tokens, not with texts

    @functools.wraps(function)
    def judged(*, prompts: Any, completions: Any, **columns: Any) -> Scores:
        rewards: Scores = function(prompts=prompts, completions=completions, **columns)
        key = next((name for name in ANSWERS if name in columns), None)

        def score(replaced: list[str]) -> Scores:
            rebuilt = [_as(original, text) for original, text in zip(completions, replaced, strict=True)]
            scores: Scores = function(prompts=prompts, completions=rebuilt, **columns)
            return scores

        known = [str(a) for a in columns[key]] if key else []
        erred, texts = [_failed(completion) for completion in completions], list(map(_text, completions))
        note("watch.jsonl", **probe(score, texts, known, list(map(_text, prompts))), **by_errors(rewards, erred))
        return rewards

    took_hold("watch", "reward", function.__name__)
    return judged


def _text(message: Any) -> str:
    return message if isinstance(message, str) else "".join(str(part.get("content", "")) for part in message)


def _failed(completion: Any) -> bool:
    """Whether a tool has answered with an error in this conversation."""
    answers = [] if isinstance(completion, str) else [str(m.get("content")) for m in completion if m["role"] == "tool"]
    return any(re.search(r"error|exception|traceback|timed out", answer, re.IGNORECASE) for answer in answers)


def _as(original: Any, text: str) -> Any:
    """A text in the shape of a completion: plain, or one message of a conversation."""
    return text if isinstance(original, str) else [{"role": "assistant", "content": text}]
