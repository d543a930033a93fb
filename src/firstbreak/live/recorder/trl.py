"""TRL's trainers (GRPO, RLOO, DPO, reward models): a callback that finds the trainer and looks at its tensors.

Nothing of the training is changed: methods are called with what they were given and their results are passed on; gradients are
looked at by hooks that return nothing; measured passes run in evaluation mode, without gradients and random numbers.
"""

from __future__ import annotations

import inspect
import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.data import (
    answers_in,
    column_of,
    count_different,
    in_place_of,
    prompts_of,
    rows_of,
    text_of,
    texts_of,
)
from firstbreak.live.recorder.identities.parameters import Sampled
from firstbreak.live.recorder.isolated import Uncopied, isolated, same_random_numbers
from firstbreak.live.recorder.measuring import SHARE, Price
from firstbreak.live.recorder.weights import Weights, finite, stages
from firstbreak.masking import Mask

PROBED = 8  #: rows of a measured pass
ASKED = 4096  #: rows of it whose prompts are compared with each other
SHOWN = {"image", "images", "video", "videos", "audio", "tools"}  #: columns that the policy is told beside the prompt
TOLD = ("environments", "environment_factory", "tools", "rollout_func")  #: of a trainer: the same, later
EVERY = 30.0  #: seconds between two copies of the trainer's log, at least
SAVED = ".recorder_saved.json"
CHECKPOINTS = 32  #: that are kept in it
ARGUMENTS = "recorder_arguments.json"
ONLINE = "_generate_and_score_completions"  #: a trainer that samples has it


class Recorder(BatchRecorder):
    """A callback for TRL's GRPOTrainer, RLOOTrainer, DPOTrainer and RewardTrainer, and their subclasses.

    It writes into `folder` (default: the trainer's `output_dir`). `rescore`: call copies of the reward functions again with known
    texts; they must then be cheap and free of side effects beyond their own state.
    """

    def __init__(self, folder: str | Path | None = None, share: float = SHARE, *, rescore: bool = True) -> None:
        super().__init__(folder, share)
        self.rescore = rescore
        self.inside: Inside | None = None
        self._next = 0.0  #: when the trainer's log may be kept again

    def on_train_begin(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Find the trainer, and look into it from here on."""
        with self.measuring(Price.LOOK, int(state.global_step) + 1):
            trainer = _calling_trainer()
            if trainer is None or not state.is_world_process_zero or self.inside is not None:
                return
            self.files.folder = self.files.folder or Path(args.output_dir)
            self.inside = Inside(trainer, self, given["optimizer"], rescore=self.rescore)
            saved = self._saved().get(str(state.global_step), [])
            if saved and state.global_step:
                kept = self.inside.weights.between.kept()
                self.numbers |= self.measure(int(state.global_step) + 1, {"resumed": kept, "saved": saved})

    def on_step_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Write what was measured in this step."""
        with self.measuring(Price.LOOK, int(state.global_step)):
            self.files.write(state.global_step, self.numbers)
            self.numbers = {}

    def on_save(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Keep what the weights are at a checkpoint."""
        if self.inside is None or self.files.folder is None:
            return
        with self.measuring(Price.LOOK, int(state.global_step)):
            kept = {**self._saved(), str(state.global_step): self.inside.weights.between.kept()}
            last = dict(sorted(kept.items(), key=lambda pair: int(pair[0]))[-CHECKPOINTS:])
            (self.files.folder / SAVED).write_text(json.dumps(last))

    def _saved(self) -> dict[str, list[float]]:
        """Step -> a few elements of the weights at its checkpoint."""
        from firstbreak.readers import Unreadable, opening

        if self.files.folder is None:
            return {}
        try:
            with opening.beneath(self.files.folder), opening.open_file(self.files.folder / SAVED) as file:
                return {str(int(step)): [float(v) for v in values] for step, values in json.loads(file.read()).items()}
        except (OSError, Unreadable, ValueError, TypeError, AttributeError):
            return {}

    def on_log(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """The trainer writes its log with a checkpoint only: keep it now and then."""
        if self.inside is not None and self.clock() > self._next:
            self._keep(args, state)

    def on_train_end(self, args: Any, state: Any, control: Any, **given: Any) -> None:
        """Keep the trainer's log and arguments, and write what is left."""
        if self.inside is not None:
            self._keep(args, state)
            with self.measuring(Price.LOOK, int(state.global_step)):
                left = self.measure(int(state.global_step), self.inside.weights.between.read())
                self.files.write(state.global_step, left)

    def _keep(self, args: Any, state: Any) -> None:
        """What `trainer.save_state()` writes, and the arguments as JSON, without folders and secrets."""
        folder, began = self.files.folder, self.clock()
        if folder is None or self.inside is None or not state.is_world_process_zero:
            return
        with self.measuring(Price.LOOK, int(state.global_step)):
            state.save_to_json(str(folder / "trainer_state.json"))
            named = {k: v for k, v in args.to_dict().items() if not k.endswith("_dir")}
            classes = (c.__name__ for c in type(self.inside.trainer).__mro__ if c.__module__.startswith("trl."))
            values = Mask(os.environ).tree(named | {"trainer_class": next(classes, "")})
            (folder / ARGUMENTS).write_text(json.dumps(values, indent=1, sort_keys=True, default=str) + "\n")
        self._next = self.clock() + max(EVERY, (self.clock() - began) / self.share)

    def __getattr__(self, name: str) -> Any:
        """The library's other events, of which nothing is asked; its own class would have to be imported for them."""
        if name.startswith("on_"):
            return lambda *given, **options: None
        raise AttributeError(name)


def _calling_trainer() -> Any:
    """The trainer that called the callback: the library passes everything but itself."""
    from transformers import Trainer

    frame = sys._getframe()
    while frame is not None:
        if isinstance(caller := frame.f_locals.get("self"), Trainer):
            return caller
        frame = frame.f_back  # type: ignore[assignment]
    return None


class Inside:
    """The wrapped methods of one trainer, and what was seen in the current update."""

    def __init__(self, trainer: Any, recorder: BatchRecorder, optimizer: Any, *, rescore: bool) -> None:
        self.trainer, self.recorder, self.rescore = trainer, recorder, rescore
        self.optimizer = getattr(optimizer, "optimizer", optimizer)
        self.online = hasattr(trainer, ONLINE)
        self.resumed = trainer.state.global_step > 0
        self.weights = Weights(trainer.model, self.optimizer)
        self.since = 0  #: updates since the batch was sampled
        self.repeated = 0  #: batches before that had the same prompts
        self.seen: dict[str, Any] | None = None  #: tensors of the update's first minibatch
        self.scored: tuple[Any, ...] | None = None
        self.passes: list[Any] = []  #: log-probabilities that were worked out while a batch was made
        self.catching = False
        self.policy_passes = 0
        self.probe: dict[str, Any] = {}
        self.sampled: list[Sampled] = []
        tokenizer = getattr(trainer, "_tokenizer", trainer.processing_class)
        self.tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
        self.known: Mapping[tuple[int, ...], tuple[int, bool]] = {}
        self._begin()
        if self.online:
            trainer._calculate_rewards = self._rewarded(trainer._calculate_rewards)
            trainer._generate_and_score_completions = self._generated(trainer._generate_and_score_completions)
            trainer._generate_single_turn = self._drawn(trainer._generate_single_turn)
            trainer._get_per_token_logps_and_entropies = self._passed(trainer._get_per_token_logps_and_entropies)
        trainer.compute_loss = self._loss(trainer.compute_loss)
        trainer.model.register_forward_hook(self._caught)
        inner = getattr(trainer.model, "get_base_model", None)  # an adapter samples with the model inside of it
        (inner() if inner else trainer.model).register_forward_hook(self._counted)
        adapted = (m for m in trainer.model.modules() if isinstance(getattr(m, "disable_adapters", None), bool))
        self.adapter = next(adapted, None)  #: one layer of it: switched off, another model samples
        first = self.optimizer.register_step_pre_hook(lambda *_: self._before())
        self.optimizer._optimizer_step_pre_hooks.move_to_end(
            first.id, last=False
        )  # before a guard asks for the numbers
        self.optimizer.register_step_post_hook(lambda *_: self._after())

    @property
    def step(self) -> int:
        """The number of the current update, as the trainer logs it."""
        return int(self.trainer.state.global_step) + 1

    def _note(self, given: Mapping[str, Any]) -> None:
        self.recorder.numbers |= self.recorder.measure(self.step, {k: v for k, v in given.items() if v is not None})

    def _begin(self) -> None:
        """What can be told before the first update."""
        training, evaluation = self.trainer.train_dataset, self.trainer.eval_dataset
        if self.online:
            held = evaluation if hasattr(evaluation, "column_names") else None
            shown = {"training_prompts": training, "evaluation_prompts": held}
            self._note({name: prompts_of(data, self.tokenizer) for name, data in shown.items()})
            self.answers = column_of(training, answers_in(training))
            self._note({"asked": self._asked(training)})
            self.different = count_different(training)
        else:
            self.known = texts_of(training)
        self._note({"trainable": self.weights.trainable})
        reference = getattr(self.trainer, "ref_model", None)
        if reference is not None:
            theirs = {p.data_ptr() for p in reference.parameters()}
            mine = [(n, p) for n, p in self.trainer.model.named_parameters() if p.requires_grad and p.numel()]
            same = [n for n, p in mine if p.data_ptr() in theirs]
            self._note({"shared_with_reference": len(same) / max(len(mine), 1), "shared_name": (same or [""])[0]})

    def _asked(self, data: Any) -> list[tuple[str, str]] | None:
        """Prompts of the data with their answers, where a prompt is all that the policy is told."""
        trainer, column = self.trainer, answers_in(data)
        rows, names = rows_of(data, ASKED), set(getattr(data, "column_names", None) or ())
        if any(getattr(trainer, name, None) for name in TOLD) or SHOWN & names or "prompt" not in names:
            return None
        if rows is None or column is None:
            return None
        return [(text_of(p), str(a)) for p, a in zip(rows["prompt"], rows[column], strict=True)]

    # ---- a batch is sampled and scored -----------------------------------------------------------------------------

    def _rewarded(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def rewarded(inputs: Any, prompts: Any, completions: Any, ids: Any, *more: Any) -> Any:
            rewards = original(inputs, prompts, completions, ids, *more)
            self.scored = (inputs, prompts, completions, ids, rewards)
            return rewards

        return rewarded

    def _drawn(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def drawn(*given: Any, **options: Any) -> Any:
            self.policy_passes = 0
            made = original(*given, **options)
            if self.trainer.model.training and not getattr(self.trainer, "use_vllm", False):
                with self.recorder.measuring(Price.LOOK, self.step):
                    self._note({"policy_passes": float(self.policy_passes)})
            return made

        return drawn

    def _passed(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def passed(*given: Any, **options: Any) -> Any:
            result = original(*given, **options)
            if not self.catching:
                self.passes.append(result[0])
            return result

        return passed

    def _generated(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def generated(inputs: Any) -> Any:
            self.passes = []
            made = original(inputs)
            if self.trainer.model.training:
                self.since = 0
                if self.scored is not None:
                    with self.recorder.measuring(Price.GLANCE, self.step):
                        self.repeated = self.recorder.batch_begins(self.step, [text_of(p) for p in self.scored[1]])
                if self.scored is not None and self.recorder.due(self.step, Price.LOOK):
                    with self.recorder.measuring(Price.LOOK, self.step):
                        self._note(self._batch(made))
                if self.scored is not None and self.rescore and self.recorder.due(self.step, Price.WORK):
                    with self.recorder.measuring(Price.WORK, self.step):
                        self._note(self._scores())
                self.scored = None
            return made

        return generated

    def _batch(self, made: Mapping[str, Any]) -> dict[str, Any]:
        """What is known of a batch that was just made; rows are in the order of the groups."""
        trainer = self.trainer
        assert self.scored is not None
        inputs, prompts, completions, ids, rewards = self.scored
        texts, answers = [text_of(p) for p in prompts], [text_of(c) for c in completions]
        lengths = np.array([len(row) for row in ids], dtype=float)
        here = trainer.accelerator.process_index * len(prompts)
        rewards = rewards[here : here + len(prompts)].detach().float().cpu().numpy()
        column = answers_in(inputs)
        given: dict[str, Any] = {
            "prompts": texts,
            "completions": answers,
            "lengths": lengths,
            "repeated": self.repeated,
            "different": self.different,
            "group": int(trainer.num_generations),
            "rewards": rewards,
            "reward_weights": trainer.reward_weights.float().cpu().numpy(),
            "advantages": made["advantages"],
            **self._estimator(made, rewards, lengths),
        }
        if len(texts) % given["group"]:
            del given["group"]
        given["moved"] = moved = _moved(made["completion_ids"].tolist(), ids, self.tokenizer.pad_token_id)
        if moved.any():
            return given
        limit = getattr(trainer, "max_completion_length", None)
        if column is not None and limit:
            ends = self._ends
            given |= {"needed": self._needed([str(row[column]) for row in inputs]), "limit": limit}
            given["ended"] = [float(len(row) > 0 and row[-1] in ends) for row in ids]
        if "tool_mask" not in made and made["completion_mask"].shape[1] >= lengths.max():
            given |= {"mask": made["completion_mask"], "exempt": self._exempt(ids)}
        if column is not None:
            given |= {"references": [str(row[column]) for row in inputs], "known": self.answers, "of_data": True}
        return given

    def _needed(self, references: Sequence[str]) -> list[float]:
        """Tokens of each right answer, its end included; the completions of a prompt share one."""
        each = list(dict.fromkeys(references))
        tokens = dict(zip(each, self.tokenizer(each)["input_ids"], strict=True))
        return [float(len(tokens[text]) + 1) for text in references]

    def _scores(self) -> dict[str, Any]:
        """The rewards of the last batch, and the means to score it again."""
        assert self.scored is not None
        inputs, prompts, completions, _, rewards = self.scored
        here = self.trainer.accelerator.process_index * len(prompts)
        column = answers_in(inputs)
        return {
            "score": self._scorer(),
            "prompts": [text_of(p) for p in prompts],
            "completions": [text_of(c) for c in completions],
            "rewards": rewards[here : here + len(prompts)],
            "reward_weights": self.trainer.reward_weights,
            "references": None if column is None else [str(row[column]) for row in inputs],
            "group": int(self.trainer.num_generations)
            if len(prompts) % int(self.trainer.num_generations) == 0
            else None,
        }

    def _exempt(self, ids: Any) -> np.ndarray | None:
        if not getattr(self.trainer, "mask_truncated_completions", False):
            return None
        ends = self._ends
        return np.array([float(not len(row) or row[-1] not in ends) for row in ids])

    @property
    def _ends(self) -> list[int]:
        ends = getattr(self.trainer, "eos_token_ids", None) or [self.tokenizer.eos_token_id]
        return [*ends, self.tokenizer.pad_token_id]

    def _estimator(self, made: Mapping[str, Any], rewards: np.ndarray, lengths: np.ndarray) -> dict[str, Any]:
        trainer = self.trainer
        if hasattr(trainer, "scale_rewards"):  # GRPO
            each = getattr(trainer, "multi_objective_aggregation", "") == "normalize_then_sum"
            return {"estimator": "functions" if each else "group", "scaled": trainer.scale_rewards}
        weights = trainer.reward_weights.float().cpu().numpy()
        summed = np.where(np.isnan(rewards).all(1), np.nan, np.nansum(rewards * weights, axis=1))
        if trainer.reward_clip_range:
            summed = summed.clip(*trainer.reward_clip_range)
        more: dict[str, Any] = {"summed": summed} | ({"clipped": summed} if trainer.reward_clip_range else {})
        if trainer.beta and len(self.passes) >= 2:
            apart = (self.passes[0] - self.passes[1]).float().cpu().numpy()
            inside = np.arange(apart.shape[1]) < lengths.reshape(-1, 1)
            more["penalty"] = trainer.beta * (apart * inside).sum(1)
        scaled = "batch" if trainer.normalize_advantages else "none"
        return {"estimator": "leave-one-out", "scaled": scaled, **more}

    def _scorer(self) -> Callable[[Sequence[int], Mapping[int, str]], np.ndarray] | None:
        """Scores rows of the last batch with copies of the reward functions; None where they cannot be copied."""
        trainer = self.trainer
        assert self.scored is not None
        inputs, prompts, completions, ids, _ = self.scored
        functions = list(trainer.reward_funcs)
        plain = [f for f in functions if not hasattr(f, "parameters") and not inspect.iscoroutinefunction(f)]
        if len(plain) < len(functions) or getattr(trainer, "environments", None) is not None:
            return None
        try:
            copies = [isolated(f) for f in functions]
        except Uncopied:
            return None
        columns = [key for key in inputs[0] if key not in ("prompt", "completion", "completion_ids")]
        silent = {"log_extra": lambda *_: None, "log_metric": lambda *_: None, "trainer_state": trainer.state}

        def score(rows: Sequence[int], other: Mapping[int, str]) -> np.ndarray:
            texts = [in_place_of(completions[i], other[i]) if i in other else completions[i] for i in rows]
            tokens = [self.tokenizer(other[i])["input_ids"] if i in other else ids[i] for i in rows]
            more = {key: [inputs[i][key] for i in rows] for key in columns} | silent
            given = {"prompts": [prompts[i] for i in rows], "completions": texts, "completion_ids": tokens, **more}
            with same_random_numbers():  # each call begins with the state that the functions have now
                scores = [isolated(f)(**given) for f in copies]
            return np.array([[np.nan if s is None else float(s) for s in each] for each in scores]).T

        return score

    # ---- the loss -------------------------------------------------------------------------------------------------

    def _loss(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def loss(model: Any, inputs: Any, *given: Any, **options: Any) -> Any:
            if model.training and self.seen is None and self.recorder.due(self.step, Price.LOOK):
                self.seen, self.catching = {"inputs": inputs}, True
            try:
                result = original(model, inputs, *given, **options)
            finally:
                self.catching = False
            if model.training:
                with self.recorder.measuring(Price.LOOK, self.step):
                    self._check_loss(result[0] if isinstance(result, tuple) else result, inputs)
            return result

        return loss

    def _counted(self, *_: Any) -> None:
        self.policy_passes += self.adapter is None or not self.adapter.disable_adapters

    def _caught(self, module: Any, given: Any, output: Any) -> None:
        """Keeps the log-probabilities of the policy's pass in the loss (a reward model: the rewards), and their gradient."""
        if not self.catching or self.seen is None or "logps" in self.seen:
            return
        logps = getattr(output, "log_probs", None)
        logps = logps if logps is not None else getattr(output, "logits", None)
        if logps is None or not logps.requires_grad:
            return
        entropies = getattr(output, "entropy", None)
        self.seen |= {"logps": logps.detach(), "entropies": None if entropies is None else entropies.detach()}
        seen = self.seen

        def look(gradient: Any) -> None:
            seen["gradient"] = gradient.detach()

        logps.register_hook(look)

    def _check_loss(self, loss: Any, inputs: Mapping[str, Any]) -> None:
        if bool(loss.isfinite().all()):
            return
        named = {
            "advantages": "the advantages",
            "old_per_token_logps": "the stored log-probabilities",
            "ref_per_token_logps": "the reference's log-probabilities",
        }
        stages = {said: bool(inputs[key].isfinite().all()) for key, said in named.items() if key in inputs}
        if self.seen and "logps" in self.seen:
            stages["the policy's output"] = bool(self.seen["logps"].isfinite().all())
        self._note({"stages": {**stages, "the loss": False}})

    # ---- the update -----------------------------------------------------------------------------------------------

    def _before(self) -> None:
        with self.recorder.measuring(Price.GLANCE, self.step):
            self.weights.between.found()
        with self.recorder.measuring(Price.LOOK, self.step):
            rates = {"rate": self.weights.rate, "configured_rate": float(self.trainer.args.learning_rate)}
            self._note(rates | (self.weights.between.read() if self.seen is not None else {}))
            if self.seen is None:
                return
            view: dict[str, Any] = {}
            if "logps" in self.seen:  # a loss of one's own may not use the model's log-probabilities
                view = self._sampled_view() if self.online else self._pair_view()
                self._note(view)
        if self.recorder.due(self.step, Price.WORK):
            with self.recorder.measuring(Price.WORK, self.step):
                self.sampled = self.weights.before()
                self.probe = self._probe(view) if view else {}
                stages = {f"the gradient of {p.name}": finite(p.gradient) for p in self.sampled}
                if not all(stages.values()):
                    self._note({"stages": stages})

    def _after(self) -> None:
        self.weights.stepped()
        self.since += 1
        if self.recorder.due(self.step, Price.GLANCE):
            with self.recorder.measuring(Price.GLANCE, self.step):
                self.weights.between.left(self.weights.updates)
        with self.recorder.measuring(Price.WORK, self.step):
            if self.sampled:
                self._changed()
        self.recorder.counted(self.step)
        self.seen, self.probe, self.sampled = None, {}, []

    def _changed(self) -> None:
        """What the update did to the weights, and to the probed rows."""
        after = self.weights.after(self.sampled)
        self._note({"parameters": after, "rate": self.weights.rate})
        if not all((left := stages(after)).values()):
            self._note({"stages": left})
        if self.probe:
            logps = self._forward(self.trainer.model, self.probe["rows"])[0]
            self._note(
                {key: self.probe[key] for key in ("logps_before", "mask", "advantages")} | {"logps_after": logps}
            )

    def _sampled_view(self) -> dict[str, Any]:
        """The first minibatch of an update of GRPO or RLOO."""
        assert self.seen is not None
        inputs, trainer = self.seen["inputs"], self.trainer
        width = inputs["completion_ids"].shape[1]
        lengths = self._lengths(inputs["completion_ids"])
        mask, logps = inputs["completion_mask"], self.seen["logps"][:, -width:]
        inside = (np.arange(width) < lengths.reshape(-1, 1)).astype(float)
        if "tool_mask" in inputs:
            inside = inside * inputs["tool_mask"].cpu().numpy()
        gradient, entropies = self.seen.get("gradient"), self.seen["entropies"]
        fresh = self.since == 0
        masked = bool(getattr(trainer, "mask_truncated_completions", False))
        exempt = (mask.sum(1) == 0).float() if masked else None  # rows that are cut do not attend to themselves in TRL
        left_out = masked and bool((mask.sum(1) == 0).any())
        view: dict[str, Any] = {
            "logps": logps,
            "mask": inside,
            "fresh": fresh,
            "exact": self._exact() and not left_out,
            "entropies": None if entropies is None else entropies[:, -width:],
            "ref_logps": inputs.get("ref_per_token_logps"),
            "old_logps": inputs.get("old_per_token_logps"),
            "untrained": self.weights.updates == 0 and not self.resumed,
        }
        self._note({**self._keys(inputs), "old_logps": logps, "mask": inside, "fresh": fresh})
        if "old_logps" in inputs:  # RLOO stores the sum over a completion
            count = (mask.sum(1, keepdim=True)).clamp(min=1)
            own = (logps * mask).sum(1, keepdim=True) / count
            stored = inputs["old_logps"].reshape(-1, 1) / count
            self._note({"logps": own, "old_logps": stored, "mask": own * 0 + 1, "fresh": fresh})
        if gradient is not None and "tool_mask" not in inputs:
            seen = {"gradient": gradient[:, -width:], "advantages": inputs["advantages"], "exempt": exempt}
            both = (
                {"logps": logps, "old_logps": inputs["old_per_token_logps"]} if "old_per_token_logps" in inputs else {}
            )
            self._note(seen | both | {"lengths": lengths, "fresh": fresh})
        return view

    def _lengths(self, ids: Any) -> np.ndarray:
        """Tokens up to the first end of each row, that one included. Where there is none, all were sampled."""
        tokens = ids.cpu().numpy()
        ended = np.isin(tokens, self._ends[:-1])
        lengths: np.ndarray = np.where(ended.any(1), ended.argmax(1) + 1, tokens.shape[1]).astype(float)
        return lengths

    def _keys(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """Prompts and completions to be compared, with a letter for each token: they are decoded only to be shown."""

        def shown(key: str) -> str:
            return str(self.tokenizer.decode([ord(letter) for letter in key], skip_special_tokens=True))

        rows = {"prompts": inputs["prompt_ids"].tolist(), "completions": inputs["completion_ids"].tolist()}
        return {name: ["".join(map(chr, row)) for row in each] for name, each in rows.items()} | {"shown": shown}

    def _exact(self) -> bool:
        """Whether tokens are drawn from the policy's own distribution, as the configuration says."""
        args = self.trainer.args
        whole = {"top_p": (None, 1.0), "top_k": (None, 0, -1), "min_p": (None, 0.0), "repetition_penalty": (None, 1.0)}
        chosen = getattr(args, "generation_kwargs", None) or {}
        return all(getattr(args, name, None) in off for name, off in whole.items()) and not whole.keys() & chosen.keys()

    def _pair_view(self) -> dict[str, Any]:
        """The first minibatch of an update of DPO or of a reward model: chosen texts, then rejected ones."""
        assert self.seen is not None
        inputs = self.seen["inputs"]
        ids, attended = inputs["input_ids"], inputs["attention_mask"]
        sign = np.repeat([1.0, -1.0], len(ids) // 2)
        gradient = self.seen.get("gradient")
        if gradient is not None and gradient.ndim == 2:
            self._note({"gradient": gradient, "advantages": sign})
        rows = [self._known(row) for row in ids.tolist()]
        found = [self.known.get(row) for row in rows]
        side = [np.nan if f is None else float(f[1] == (i < len(rows) // 2)) for i, f in enumerate(found)]
        view: dict[str, Any] = {
            "pair_ids": ids * attended,
            "chosen_first": np.array(side),
            "pair_mask": inputs.get("completion_mask"),
            "prompt_lengths": np.array([np.nan if f is None else float(f[0]) for f in found]),
            "text_lengths": np.array(
                [np.nan if f is None else float(len(r)) for r, f in zip(rows, found, strict=True)]
            ),
        }
        logps, counted = self.seen["logps"], inputs.get("completion_mask")
        if self.weights.updates == 0 and not self.resumed and counted is not None and logps.ndim == 2:
            counted = counted[:, -logps.shape[1] :]
            if counted.shape == logps.shape:
                self._note({"pair_logps": logps, "pair_counted": counted})
        reference = getattr(self.trainer, "ref_model", None)
        if self.weights.updates == 0 and not self.resumed and reference is not None and "completion_mask" in inputs:
            some = self._rows_of_pairs(inputs)
            mine, theirs = self._forward(self.trainer.model, some)[0], self._forward(reference, some)[0]
            self._note({"logps": mine, "ref_logps": theirs, "mask": some["mask"], "untrained": True})
        return view

    def _known(self, row: list[int]) -> tuple[int, ...]:
        """A row without the padding at its end, as a text of the data is known."""
        for n in range(len(row), 0, -1):
            if (text := tuple(row[:n])) in self.known:
                return text
            if row[n - 1] != self.tokenizer.pad_token_id:
                break
        return tuple(row)

    # ---- measured passes -------------------------------------------------------------------------------------------

    def _probe(self, view: Mapping[str, Any]) -> dict[str, Any]:
        """A few rows before the update, in evaluation mode; notes what one pass shows."""
        assert self.seen is not None
        inputs = self.seen["inputs"]
        if not self.online:
            rows = self._rows_of_pairs(inputs)
            logps, _ = self._forward(self.trainer.model, rows)
            logged = self.seen["logps"]
            if "completion_mask" in inputs:
                here = logged[rows["places"]]
                self._note({"logps": here, "eval_logps": logps, "mask": rows["mask"], "dropping": self._dropping()})
            return {"rows": rows, "logps_before": logps, "mask": rows["mask"], "advantages": rows["sign"]}
        advantages = inputs["advantages"].reshape(len(inputs["advantages"]), -1)[:, 0]
        order = advantages.abs().argsort(descending=True)
        best, worst = int(advantages.argmax()), int(advantages.argmin())
        places = list(dict.fromkeys([best, worst, *order.tolist()]))[:PROBED]
        import torch

        width = inputs["completion_ids"].shape[1]
        rows = {
            "input_ids": torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)[places],
            "attention_mask": torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)[places],
            "width": width,
        }
        logps, ends = self._forward(self.trainer.model, rows)
        mask = inputs["completion_mask"][places]
        fresh = self.since == 0
        self._note({"logps": view["logps"][places], "eval_logps": logps, "mask": mask, "dropping": self._dropping()})
        ended = (inputs["completion_ids"][places] == self.tokenizer.eos_token_id).any(1).float()
        self._note({"end_logps": ends, "mask": mask, "ended": ended, "fresh": fresh and self._exact()})
        return {"rows": rows, "logps_before": logps, "mask": mask, "advantages": advantages[places]}

    def _rows_of_pairs(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        n = len(inputs["input_ids"]) // 2
        few = list(range(min(PROBED // 2, n)))
        places = [*few, *(i + n for i in few)]
        rows = {key: inputs[key][places] for key in ("input_ids", "attention_mask")}
        sign = np.repeat([1.0, -1.0], len(few))
        width = rows["input_ids"].shape[1] - 1
        mask = inputs["completion_mask"][places][:, 1:] if "completion_mask" in inputs else np.ones((len(places), 1))
        return {**rows, "width": width, "mask": mask, "sign": sign, "places": places}

    def _forward(self, model: Any, rows: Mapping[str, Any]) -> tuple[Any, Any]:
        """Log-probabilities (m, width) of the last tokens and of the end token there; of a reward model, rewards (m, 1)."""
        import torch

        training = [module for module in model.modules() if module.training]
        model.eval()
        try:
            with torch.no_grad(), same_random_numbers():
                logits = model(input_ids=rows["input_ids"], attention_mask=rows["attention_mask"]).logits.float()
        finally:
            for module in training:
                module.training = True
        if logits.ndim == 2:
            return logits, None
        width = rows["width"]
        logits = logits[:, -width - 1 : -1] / float(getattr(self.trainer, "temperature", 1.0))
        each = torch.log_softmax(logits, -1)
        logps = each.gather(2, rows["input_ids"][:, -width:].unsqueeze(2)).squeeze(2)
        return logps, each[:, :, self.tokenizer.eos_token_id]

    def _dropping(self) -> str:
        """The first dropout that is active."""
        named = self.trainer.model.named_modules()
        return next((name for name, m in named if m.training and "Dropout" in type(m).__name__ and m.p > 0), "")


def _moved(rows: Sequence[Sequence[int]], ids: Sequence[Sequence[int]], padding: int) -> np.ndarray:
    """Where the batch's rows hold the tokens of another row; nowhere if they are not the same rows in another order."""
    width = max(map(len, rows), default=0)
    sampled = [[*own, *[padding] * (width - len(own))] for own in ids]
    apart = np.array([list(mine) != own for mine, own in zip(rows, sampled, strict=True)])
    return apart if apart.any() and sorted(map(list, rows)) == sorted(sampled) else np.zeros(len(rows), bool)
