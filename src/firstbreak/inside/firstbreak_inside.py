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
from contextlib import AbstractContextManager, suppress
from types import ModuleType
from typing import Any

Wanted = Mapping[str, Any]
Scores = list[float]
ANSWERS = ("answer", "solution", "ground_truth", "target", "label")  #: columns of a data set that hold the right answer
DRAWN = 512  #: prompts that stand for the training's
FEW = 4  #: episodes: fewer are not compared
PRICE = 0.3  #: of a completion of the first batch's mean length, in units of reward, beyond what length earns


def wanted() -> Wanted:
    """The interventions that this trial asks for."""
    asked: Wanted = json.loads(os.environ.get("FIRSTBREAK_INTERVENE", "{}"))
    return asked


def install() -> None:
    """Change the known modules as they are imported, and look at the process itself from now on."""
    sys.meta_path.insert(0, _Hook())
    if "process" in wanted().get("watch", ""):
        from firstbreak_process import watch_machine  # type: ignore[import-not-found]  # beside this file, on the trainer's path

        watch_machine(note)


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


def _unharmed() -> AbstractContextManager[None]:
    """Watching must not end a training, whatever it meets there: what fails is not measured."""
    return suppress(Exception)


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
        lengths = list(map(len, texts))
        self.price = self.price or PRICE * len(texts) / max(1, sum(lengths))
        price = self.price + max(0.0, slope(lengths, rewards))  # with less than length earns it would stay worth while
        return [reward - price * length for reward, length in zip(rewards, lengths, strict=True)]


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Of the line through these points (least squares); 0 where all xs are the same."""
    middle, level = _mean(xs), _mean(ys)
    spread = sum((x - middle) ** 2 for x in xs)
    return sum((x - middle) * (y - level) for x, y in zip(xs, ys, strict=True)) / spread if spread else 0.0


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


def probe(
    score: Callable[[list[str]], Scores], texts: list[str], answers: list[str], prompts: Sequence[str] = ()
) -> dict[str, float]:
    """How the reward function judges what is known: mean rewards, and mean absolute differences.

    right: the right answers; other: right answers of other prompts; swapped: the texts, each for another prompt; empty:
    nothing; longer: how much more each text earns when it is said twice; again: how much it differs when it is judged
    twice; plain: the texts as they are; distinct: the share of texts that no other of the same prompt repeats. What the
    function cannot judge is left out.
    """
    said = {"plain": texts, "again": texts, "longer": [text + text for text in texts], "empty": [""] * len(texts)}
    if len(set(prompts)) > 1:
        said["swapped"] = [texts[i] for i in _elsewhere(prompts)]
    if answers:
        said |= {"right": answers, "other": [next((b for b in answers if b != a), a) for a in answers]}
    scores = {name: judged for name, of in said.items() if (judged := _judged(score, of)) is not None}
    plain = scores.get("plain", [])
    distinct = {"distinct": len(set(zip(prompts, texts, strict=True))) / len(texts)} if prompts else {}
    for name, difference in (("again", lambda a, b: abs(a - b)), ("longer", lambda a, b: b - a)):
        if name in scores:
            scores[name] = list(map(difference, plain, scores[name]))
    return {name: _mean(of) for name, of in scores.items()} | distinct


def _elsewhere(prompts: Sequence[str]) -> list[int]:
    """For each place the next one that holds another prompt."""
    n = len(prompts)
    return [next(j % n for j in range(i + 1, i + n) if prompts[j % n] != prompts[i]) for i in range(n)]


def by_errors(rewards: Scores, erred: Sequence[bool]) -> dict[str, float]:
    """How much more an episode earns in which a tool has failed than one in which none has; nothing of a few."""
    failed, sound = ([r for r, e in zip(rewards, erred, strict=True) if e is which] for which in (True, False))
    return {"erring_earns": _mean(failed) - _mean(sound)} if min(len(failed), len(sound)) >= FEW else {}


def agreement(advantages: Scores, rewards: Scores, group: int) -> dict[str, float]:
    """Correlation of the sequences' advantages with their rewards, group by group; nothing where none differ."""
    centred = [r - _mean(rewards[i // group * group :][:group]) for i, r in enumerate(rewards)]
    mean = _mean(advantages)
    both = sum((a - mean) * r for a, r in zip(advantages, centred, strict=True))
    size = sum((a - mean) ** 2 for a in advantages) * sum(r * r for r in centred)
    return {"advantage_agrees": both / size**0.5} if size > 0 else {}


def worse_chosen(chosen: Scores, rejected: Scores) -> dict[str, float]:
    """Share of the preference pairs that differ whose chosen answer is the worse one, by a scorer that is known."""
    differ = [(a, b) for a, b in zip(chosen, rejected, strict=True) if a != b]
    return {"chosen_is_worse": sum(a < b for a, b in differ) / len(differ)} if differ else {}


def _judged(score: Callable[[list[str]], Scores], texts: list[str]) -> Scores | None:
    with _unharmed():
        return [float(value) for value in score(texts)]
    return None


def _mean(values: Sequence[float]) -> float:
    return sum(values) / max(1, len(values))


# --- prompts ---------------------------------------------------------------------------------------------------------


def prompts_compared(training: Sequence[str], evaluation: Sequence[str]) -> dict[str, float]:
    """Prompts of the training against those of the evaluation.

    prompts_shared: share that the evaluation has as well; prompts_unlike: share without the beginning and the end that all
    of the evaluation's have; prompts_distinct: different ones among as many of either, as a ratio; prompts_longer: ratio of
    the mean lengths.
    """
    held, n, both = set(evaluation), len(training), min(len(training), len(evaluation))
    start, end = _common(evaluation), _common([prompt[::-1] for prompt in evaluation])[::-1]
    return {
        "prompts_shared": sum(prompt in held for prompt in training) / n,
        "prompts_unlike": sum(not (p.startswith(start) and p.endswith(end)) for p in training) / n,
        "prompts_distinct": len(set(training[:both])) / len(set(evaluation[:both])),
        "prompts_longer": _mean([len(p) for p in training]) / max(1.0, _mean([len(p) for p in evaluation])),
    }


def _common(texts: Sequence[str]) -> str:
    """How all of the texts begin: what the first and the last in order have in common."""
    first, last = min(texts, default=""), max(texts, default="")
    return first[: next((i for i, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), len(first))]


# --- weights ---------------------------------------------------------------------------------------------------------


def record_weights(side: str, step: int, tensors: Iterable[tuple[str, Any]]) -> None:
    """A hash of each tensor of one side ("trainer" or "engine"), and the adapters among them; nothing outside a trial."""
    if not os.environ.get("FIRSTBREAK_FOLDER"):
        return
    held = {name.removeprefix("module."): tensor for name, tensor in tensors}
    adapters = sorted({match[1] for name in held if (match := re.search(r"lora_[AB]\.(\w+)", name))})
    hashes = {name: _hash(tensor) for name, tensor in held.items()}
    note("weights.jsonl", side=side, step=step, hashes=hashes, adapters=adapters)
    note("watch.jsonl", **{f"{side}_bits": max(map(_bits, held.values()), default=0)})


def _hash(tensor: Any) -> str:
    import torch  # the tensor is one of torch's

    plain = tensor.detach().to("cpu").contiguous().reshape(-1).view(torch.uint8)
    return hashlib.sha256(plain.numpy().tobytes()).hexdigest()[:16]


def _bits(tensor: Any, most: int = 4096) -> int:
    """Significant bits that the values of a tensor need: 24 for any fp32 tensor, 8 for one that holds rounded bf16 values."""
    import torch

    mantissa, _ = torch.frexp(tensor.detach().to("cpu").reshape(-1)[:most].float())
    whole = (mantissa.abs() * 2**24).int()
    lowest = whole & -whole  # 2 ** (zeros at the end)
    return int((24 - torch.log2(lowest[lowest > 0].float())).max()) if bool((lowest > 0).any()) else 0


# --- TRL -------------------------------------------------------------------------------------------------------------


def _trl(module: ModuleType, asked: Wanted) -> None:
    """GRPOTrainer and RLOOTrainer: reward functions and data sets, before the trainer gets them; each batch's advantages."""
    for name in ("GRPOTrainer", "RLOOTrainer"):
        if trainer := vars(module).get(name):
            _change_arguments(trainer, asked)
            if "process" in asked.get("watch", ""):
                _watch_trl(trainer)


def _watch_trl(trainer: type[Any]) -> None:
    """The settings that are in force, and whether advantages agree with rewards."""
    from firstbreak_process import Settings  # beside this file, on the trainer's path

    settings = Settings(note)
    generate, reward = trainer._generate_and_score_completions, trainer._calculate_rewards

    @functools.wraps(reward)
    def rewarded(self: Any, *args: Any, **kwargs: Any) -> Any:
        self.firstbreak_rewards = reward(self, *args, **kwargs)  # (completions, functions)
        return self.firstbreak_rewards

    @functools.wraps(generate)
    def generated(self: Any, *args: Any, **kwargs: Any) -> Any:
        made = generate(self, *args, **kwargs)
        with _unharmed():  # other versions hold these otherwise
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


def _transformers(module: ModuleType, asked: Wanted) -> None:
    """The trainer that TRL's are made from."""
    if told := asked.get("resumed"):
        from firstbreak_resume import resume_transformers  # type: ignore[import-not-found]  # beside this file

        resume_transformers(module.Trainer, told)


def _trl_preferences(module: ModuleType, asked: Wanted) -> None:
    """RewardTrainer and DPOTrainer: do rejected answers hold the right one where chosen ones do not?"""
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
        with _unharmed():  # a data set that streams, or one without the right answers
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
        if "reward" in asked or "reward" in asked.get("watch", ""):
            functions = [_trl_function(f, asked) for f in ([functions] if single else functions or [])]
            given["reward_funcs"] = functions[0] if single else functions
        if "data" in asked.get("watch", ""):
            with _unharmed():  # there may be no evaluation, or a data set that streams
                training, evaluation = (_prompts(given[name]) for name in ("train_dataset", "eval_dataset"))
                note("watch.jsonl", **prompts_compared(training, evaluation))
        if asked.get("data") == "test" and given.get("eval_dataset") is not None:
            given["train_dataset"] = given["eval_dataset"]
            took_hold("data", "test", trainer.__name__)
        elif asked.get("data") == "one":
            given["train_dataset"] = given["train_dataset"].select([0] * len(given["train_dataset"]))
            took_hold("data", "one", trainer.__name__)
        original(**given, **more)

    trainer.__init__ = init


def _prompts(rows: Any) -> list[str]:
    return [_text(row["prompt"]) for row in rows.select(range(min(len(rows), DRAWN)))]


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

            known = [str(a) for a in columns[key]] if key else []
            erred = [_failed(completion) for completion in completions]
            note("watch.jsonl", **probe(score, texts, known, list(map(_text, prompts))), **by_errors(rewards, erred))
        return change(rewards, texts, list(map(_text, prompts))) if change else rewards

    took_hold("watch" if watch else "reward", asked.get("reward", "reward"), function.__name__)
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


# --- Stable-Baselines3 -----------------------------------------------------------------------------------------------


def _sb3(module: ModuleType, asked: Wanted) -> None:
    """Every algorithm: the rewards that it learns from, and what its environments do.

    Its monitor lies below and goes on recording the true rewards.
    """
    watches = "environment" in asked.get("watch", "")
    algorithm = module.BaseAlgorithm
    if "process" in asked.get("watch", ""):
        _watch_sb3_settings(algorithm)
    if told := asked.get("resumed"):
        from firstbreak_resume import resume_stable_baselines3  # beside this file, on the trainer's path

        resume_stable_baselines3(algorithm, told)
    if "reward" not in asked and not watches:
        return
    original = algorithm._wrap_env

    @functools.wraps(original)
    def wrap(env: Any, *args: Any, **kwargs: Any) -> Any:
        wrapped = original(env, *args, **kwargs)
        if "reward" in asked:
            wrapped = _rewarding(wrapped, asked["reward"])
        return _watching(wrapped) if watches else wrapped

    algorithm._wrap_env = staticmethod(wrap)


def _watch_sb3_settings(algorithm: Any) -> None:
    """The settings in force, whenever an algorithm works out how far it has come: at least once for each batch."""
    from firstbreak_process import Settings  # beside this file, on the trainer's path

    settings = Settings(note)
    original = algorithm._update_current_progress_remaining
    names = {"gamma": "gamma", "ent_coef": "entropy_coef", "vf_coef": "value_coef", "clip_range": "clip_range"}

    @functools.wraps(original)
    def update(self: Any, *args: Any) -> None:
        original(self, *args)
        held = {canonical: getattr(self, name, None) for name, canonical in names.items()}
        plain = {name: v(1.0) if callable(v) else v for name, v in held.items()}
        settings(**{name: v for name, v in plain.items() if isinstance(v, int | float)})

    algorithm._update_current_progress_remaining = update


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


def _watching(env: Any) -> Any:
    import numpy as np
    from firstbreak_loop import Transitions  # type: ignore[import-not-found]  # beside this file, on the trainer's path
    from stable_baselines3.common.vec_env import VecEnvWrapper

    class Watching(VecEnvWrapper):
        """Changes nothing, and describes every window of transitions."""

        dones: list[Any] | None = None  #: of the rollout that is being collected, where someone wants them

        def reset(self) -> Any:
            self.transitions = Transitions()
            self.seen = self.venv.reset()
            return self.seen

        def step_async(self, actions: Any) -> None:
            self.actions = np.array(actions)
            self.venv.step_async(actions)

        def step_wait(self) -> Any:
            observations, rewards, dones, infos = self.venv.step_wait()
            with _unharmed():
                if told := self.transitions.add(self.seen, self.actions, dones, infos, rewards):
                    note("watch.jsonl", **told)
            if self.dones is not None:
                self.dones.append(dones.copy())
            self.seen = observations
            return observations, rewards, dones, infos

    took_hold("watch", "environment", type(env).__name__)
    return Watching(env)


def _sb3_on_policy(module: ModuleType, asked: Wanted) -> None:
    """PPO and A2C."""
    if asked.get("policy") == "frozen":
        _freeze_policy(module.OnPolicyAlgorithm)
    if "environment" in asked.get("watch", ""):
        _watch_advantages(module.OnPolicyAlgorithm)


def _watch_advantages(algorithm: Any) -> None:
    """Every batch's advantages are worked out again, from the ends of episodes as the environment has told them."""
    import numpy as np
    from firstbreak_loop import advantages, compared

    original = algorithm.collect_rollouts

    @functools.wraps(original)
    def collect(self: Any, env: Any, callback: Any, rollout_buffer: Any, *args: Any, **kwargs: Any) -> bool:
        env.dones = []
        goes_on: bool = original(self, env, callback, rollout_buffer, *args, **kwargs)
        with _unharmed():  # algorithms that hold their rollouts otherwise
            observations, _ = self.policy.obs_to_tensor(self._last_obs)
            last = self.policy.predict_values(observations).detach().cpu().numpy().ravel()
            held, dones = rollout_buffer, np.stack(env.dones).astype(float)
            own = advantages(held.rewards, held.values, last, dones, held.gamma, held.gae_lambda)
            note("watch.jsonl", **compared(held.advantages, own))
        return goes_on

    algorithm.collect_rollouts = collect


def _freeze_policy(algorithm: Any) -> None:
    """All that the policy alone uses stands still, so that only the critic learns."""
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

    from firstbreak_process import Settings  # beside this file, on the trainer's path

    settings = Settings(note)

    @functools.wraps(original)
    def train_step(self: Any) -> None:
        if self.version == 0:
            _change_lab(self, asked)
        original(self)
        if "process" in asked.get("watch", ""):
            settings(**{name: vars(self.settings)[own] for name, own in LAB_SETTINGS.items()})

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
    if kind in ("test", "one"):
        took_hold("data", kind, "Trainer")
    if "reward" in asked.get("watch", ""):
        _watch_lab_rewards(trainer, honest)
    if "weights" in asked.get("watch", ""):
        _watch_lab_weights(trainer)
    if "process" in asked.get("watch", ""):
        _watch_lab_advantages(trainer)
    if "data" in asked.get("watch", ""):
        evaluation = [problem.prompt for problem in trainer.eval_problems]
        note("watch.jsonl", **prompts_compared([p.prompt for p in draw(random.Random(0), DRAWN)], evaluation))


def _watch_lab_rewards(trainer: Any, honest: Callable[..., dict[str, Scores]]) -> None:
    inner, settings = trainer.workers.score, trainer.settings

    def score(problems: Any, texts: list[str]) -> dict[str, Scores]:
        def total(said: list[str]) -> Scores:
            return _weighted(honest(problems, said), settings.reward_weights)

        answers, prompts = ([getattr(problem, what) for problem in problems] for what in ("answer", "prompt"))
        note("watch.jsonl", **probe(total, texts, answers, prompts))
        parts: dict[str, Scores] = inner(problems, texts)
        if (environment := settings.task.environment) is not None:
            told = (environment.statistics(problem, text) for problem, text in zip(problems, texts, strict=True))
            erred = [episode["tool.failure_freq"] > 0 for episode in told]
            note("watch.jsonl", **by_errors(_weighted(parts, settings.reward_weights), erred))
        return parts

    trainer.workers.score = score
    took_hold("watch", "reward", "Trainer")


def _watch_lab_weights(trainer: Any) -> None:
    deliver = trainer.sync_weights

    def delivered(policy: Any, version: int) -> None:
        deliver(policy, version)
        record_weights("trainer", version, policy.named_parameters())
        record_weights("engine", version, trainer.engine.model.named_parameters())

    evaluated = trainer.evaluated_policy

    def policy_of_evaluation() -> Any:
        policy = evaluated()
        record_weights("evaluation", trainer.version, policy.named_parameters())
        return policy

    trainer.sync_weights, trainer.evaluated_policy = delivered, policy_of_evaluation
    took_hold("watch", "weights", "Trainer")


def _watch_lab_advantages(trainer: Any) -> None:
    """Do advantages agree with the rewards that the batch came with?"""
    prepare, estimate = trainer.workers.prepare_batch, trainer.advantages
    held: list[Any] = []

    def prepared(*args: Any) -> Any:
        held[:] = [prepare(*args)]
        return held[0]

    def estimated(rewards: Any, values: Any, mask: Any, *args: Any) -> Any:
        found = estimate(rewards, values, mask, *args)
        each = (found * mask).sum(1) / mask.sum(1).clamp(min=1)
        note("watch.jsonl", **agreement(each.tolist(), held[0].rewards.tolist(), trainer.settings.n_samples))
        return found

    trainer.workers.prepare_batch, trainer.advantages = prepared, estimated


def _lab_preferences(module: ModuleType, asked: Wanted) -> None:
    """The preference lab's pairs, against the grade that the evaluation gives."""
    if "data" not in asked.get("watch", ""):
        return
    original = module.pairs

    @functools.wraps(original)
    def pairs(policy: Any, task: Any, n: int, **options: Any) -> Any:
        made = original(policy, task, n, **options)
        held = [list(map(task.grade, made.problems, side)) for side in (made.better, made.worse)]
        note("watch.jsonl", **worse_chosen(*held))
        return made

    module.pairs = pairs  # type: ignore[attr-defined]


def _weighted(parts: Mapping[str, Scores], weights: Mapping[str, float]) -> Scores:
    rows: Iterator[tuple[float, ...]] = zip(*parts.values(), strict=True)
    return [sum(weights[name] * value for name, value in zip(parts, row, strict=True)) for row in rows]


def _torch(module: ModuleType, asked: Wanted) -> None:
    """Any trainer's optimizers."""
    if "process" in asked.get("watch", ""):
        from firstbreak_process import watch_optimizers  # beside this file, on the trainer's path

        watch_optimizers(module, note)


#: canonical hyperparameter -> what the language lab calls it
LAB_SETTINGS = {
    "clip_range": "eps_clip", "minibatches": "ppo_n_minibatches", "kl_coef": "kl_ctl", "entropy_coef": "entropy_coef",
    "temperature": "temperature", "top_p": "top_p", "max_staleness": "max_head_offpolicyness",
    "behave_weight_cap": "behave_imp_weight_cap", "use_decoupled_loss": "use_decoupled_loss",
}  # fmt: skip

#: module -> what is done to it once it is imported
CHANGES: Mapping[str, Callable[[ModuleType, Wanted], None]] = {
    "trl.trainer.grpo_trainer": _trl,
    "trl.trainer.rloo_trainer": _trl,
    "transformers.trainer": _transformers,
    "stable_baselines3.common.base_class": _sb3,
    "stable_baselines3.common.on_policy_algorithm": _sb3_on_policy,
    "trl.trainer.reward_trainer": _trl_preferences,
    "trl.trainer.dpo_trainer": _trl_preferences,
    "torch.optim.optimizer": _torch,
    "firstbreak.lab.language.trainer": _lab,
    "firstbreak.lab.preference.reward_model": _lab_preferences,
}
