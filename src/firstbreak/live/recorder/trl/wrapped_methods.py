"""The wrapped methods of one of TRL's trainers, in the order of an update."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak.live.recorder.data import answers_in, column_of, count_different, prompts_of, rows_of, text_of, texts_of
from firstbreak.live.recorder.identities.parameters import Sampled
from firstbreak.live.recorder.measuring import Price
from firstbreak.live.recorder.trl.batch import Scored
from firstbreak.live.recorder.trl.minibatch import Known, Minibatch
from firstbreak.live.recorder.trl.passes import forward
from firstbreak.live.recorder.weights import Weights, finite, stages

ASKED = 4096  #: rows of the data whose prompts are compared with each other
SHOWN = {"image", "images", "video", "videos", "audio", "tools"}  #: columns that the policy is told beside the prompt
TOLD = ("environments", "environment_factory", "tools", "rollout_func")  #: of a trainer: the same, later
ONLINE = "_generate_and_score_completions"  #: a trainer that samples has it


class WrappedMethods:
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
        self.scored: Scored | None = None
        self.passes: list[Any] = []  #: log-probabilities that were worked out while a batch was made
        self.catching = False
        self.policy_passes = 0
        self.probe: dict[str, Any] = {}
        self.sampled: list[Sampled] = []
        tokenizer = getattr(trainer, "_tokenizer", trainer.processing_class)
        self.tokenizer = getattr(tokenizer, "tokenizer", tokenizer)
        self.known: Known = {}
        self._begin()
        if self.online:
            self._wrap("_calculate_rewards", self._rewarded)
            self._wrap("_generate_and_score_completions", self._generated)
            self._wrap("_generate_single_turn", self._drawn)
            self._wrap("_get_per_token_logps_and_entropies", self._passed)
        self._wrap("compute_loss", self._loss)
        trainer.model.register_forward_hook(self._caught)
        inner = getattr(trainer.model, "get_base_model", None)  # an adapter samples with the model inside of it
        (inner() if inner else trainer.model).register_forward_hook(self._counted)
        adapted = (m for m in trainer.model.modules() if isinstance(getattr(m, "disable_adapters", None), bool))
        self.adapter = next(adapted, None)  #: one layer of it: switched off, another model samples
        first = self.optimizer.register_step_pre_hook(lambda *_: self._before())
        # before a guard asks for the numbers
        self.optimizer._optimizer_step_pre_hooks.move_to_end(first.id, last=False)
        self.optimizer.register_step_post_hook(lambda *_: self._after())

    def _wrap(self, name: str, around: Callable[..., Any]) -> None:
        """A method of the trainer is called by one of ours, which gets it first."""
        setattr(self.trainer, name, partial(around, getattr(self.trainer, name)))

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

    def _rewarded(
        self, original: Callable[..., Any], inputs: Any, prompts: Any, completions: Any, ids: Any, *more: Any
    ) -> Any:
        rewards = original(inputs, prompts, completions, ids, *more)
        self.scored = Scored(self.trainer, self.tokenizer, inputs, prompts, completions, ids, rewards)
        return rewards

    def _drawn(self, original: Callable[..., Any], *given: Any, **options: Any) -> Any:
        self.policy_passes = 0
        made = original(*given, **options)
        if self.trainer.model.training and not getattr(self.trainer, "use_vllm", False):
            with self.recorder.measuring(Price.LOOK, self.step):
                self._note({"policy_passes": float(self.policy_passes)})
        return made

    def _passed(self, original: Callable[..., Any], *given: Any, **options: Any) -> Any:
        result = original(*given, **options)
        if not self.catching:
            self.passes.append(result[0])
        return result

    def _generated(self, original: Callable[..., Any], inputs: Any) -> Any:
        self.passes = []
        made = original(inputs)
        if self.trainer.model.training:
            self.since = 0
            if self.scored is not None:
                with self.recorder.measuring(Price.GLANCE, self.step):
                    self.repeated = self.recorder.batch_begins(self.step, [text_of(p) for p in self.scored.prompts])
            if self.scored is not None and self.recorder.due(self.step, Price.LOOK):
                with self.recorder.measuring(Price.LOOK, self.step):
                    more = {"repeated": self.repeated, "different": self.different}
                    self._note(more | self.scored.described(made, self.passes, self.answers))
            if self.scored is not None and self.rescore and self.recorder.due(self.step, Price.WORK):
                with self.recorder.measuring(Price.WORK, self.step):
                    self._note(self.scored.rescored())
            self.scored = None
        return made

    # ---- the loss -------------------------------------------------------------------------------------------------

    def _loss(self, original: Callable[..., Any], model: Any, inputs: Any, *given: Any, **options: Any) -> Any:
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
            untrained = self.weights.updates == 0 and not self.resumed
            minibatch = Minibatch(self.trainer, self.tokenizer, self.seen, self.since == 0, untrained)
            if "logps" in self.seen:  # a loss of one's own may not use the model's log-probabilities
                *notes, view = minibatch.sampled() if self.online else minibatch.pairs(self.known)
                for given in (*notes, view):
                    self._note(given)
        if self.recorder.due(self.step, Price.WORK):
            with self.recorder.measuring(Price.WORK, self.step):
                self.sampled = self.weights.before()
                if view:
                    notes, self.probe = minibatch.probe_sampled(view) if self.online else minibatch.probe_pairs()
                    for given in notes:
                        self._note(given)
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
            logps = forward(self.trainer, self.tokenizer, self.trainer.model, self.probe["rows"])[0]
            self._note({k: self.probe[k] for k in ("logps_before", "mask", "advantages")} | {"logps_after": logps})
