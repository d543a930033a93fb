"""Faults as users plant them: by the script that trains. Written from the README and the text of the task alone, before there
was a recorder; each names the link that breaks and the causes that a good answer may name."""

import copy
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from benchmarks.recorder.script import Script, accuracy, digits
from firstbreak.model import Link


@dataclass(frozen=True)
class Planted:
    """A fault: what it does to a script, and what is then true."""

    name: str
    link: Link
    causes: tuple[str, ...]  #: identifiers, any of which is right
    plant: Callable[[Script], None]


FAULTS: dict[str, Planted] = {}


def fault(link: Link, *causes: str) -> Callable[[Callable[[Script], None]], Callable[[Script], None]]:
    """Add a fault to the list, under the name of the function."""

    def add(plant: Callable[[Script], None]) -> Callable[[Script], None]:
        name = plant.__name__.replace("_", "-")
        FAULTS[name] = Planted(name, link, causes, plant)
        return plant

    return add


# ---- reward functions ------------------------------------------------------------------------------------------------------


@fault(Link.REWARD, "reward-sign-wrong")
def penalty_for_right_answers(script: Script) -> None:
    """The number of errors is returned where a reward is expected."""
    script.rewards = [lambda **given: [1 - 2 * score for score in accuracy(**given)]]
    script.rewards[0].__name__ = "errors"


@fault(Link.REWARD, "rewards-of-other-rows", "answers-misaligned")
def scores_one_row_late(script: Script) -> None:
    """A judge that answers asynchronously: every score belongs to the completion before it."""

    def judge(**given: Any) -> list[Any]:
        scores = accuracy(**given)
        return scores[-1:] + scores[:-1]

    script.rewards = [judge]


@fault(Link.REWARD, "rewards-of-other-rows", "answers-misaligned")
def scores_in_another_order(script: Script) -> None:
    """A pool of workers that returns results as they are done."""
    rng = random.Random(3)

    def pooled(**given: Any) -> list[Any]:
        scores = accuracy(**given)
        rng.shuffle(scores)
        return scores

    script.rewards = [pooled]


@fault(Link.REWARD, "rewards-of-other-rows", "answers-misaligned")
def cached_by_prompt(script: Script) -> None:
    """A cache whose key is the prompt: all completions of a prompt get the first one's score."""
    known: dict[str, Any] = {}

    def cached(prompts: list[str], completions: list[str], answer: list[str], **_: Any) -> list[Any]:
        for prompt, score in zip(prompts, accuracy(completions, answer), strict=True):
            known.setdefault(prompt, score)
        return [known[prompt] for prompt in prompts]

    script.rewards = [cached]


@fault(Link.REWARD, "answers-misaligned")
def references_sorted_apart(script: Script) -> None:
    """The column of right answers was sorted, and the prompts were not."""
    script.reference = sorted


@fault(Link.REWARD, "verdicts-noisy")
def judge_is_random(script: Script) -> None:
    """A judge whose verdict changes from call to call."""
    rng = random.Random(5)

    def judge(**given: Any) -> list[Any]:
        return [0.3 * score + rng.random() for score in accuracy(**given)]

    script.rewards = [judge]


@fault(Link.REWARD, "rewards-not-computed")
def parser_gives_up(script: Script) -> None:
    """A parser that returns None for most completions."""

    def parsed(completions: list[str], answer: list[str], **_: Any) -> list[Any]:
        scores = accuracy(completions, answer)
        return [score if text.startswith("..") else None for text, score in zip(completions, scores, strict=True)]

    script.rewards = [parsed]


@fault(Link.REWARD, "rewards-not-computed")
def divided_by_zero(script: Script) -> None:
    """A reward that is not a number for completions without filler."""

    def per_dot(completions: list[str], answer: list[str], **_: Any) -> list[Any]:
        scores = accuracy(completions, answer)
        return [s / n if (n := t.count(".")) else float("nan") for t, s in zip(completions, scores, strict=True)]

    script.rewards = [per_dot]


@fault(Link.REWARD, "outages-graded-as-failures")
def server_goes_down(script: Script) -> None:
    """From the tenth call on, the server of the judge does not answer, and the exception is taken for a wrong answer."""
    calls = iter(range(10_000))

    def judge(**given: Any) -> list[Any]:
        down = next(calls) >= 14
        return [0.0 if down else score for score in accuracy(**given)]

    script.rewards = [judge]


@fault(Link.REWARD, "reward-saturated", "failures-graded-as-success", "verifier-exploited")
def every_answer_passes(script: Script) -> None:
    """`"" in text` is true: the reference is read from a column that is empty."""

    def contains(completions: list[str], gold: str = "", **_: Any) -> list[Any]:
        return [float(gold in text) for text in completions]

    script.rewards = [contains]


@fault(Link.REWARD, "answers-misaligned", "verifier-rejects-all", "rewards-not-computed")
def compared_with_a_number(script: Script) -> None:
    """The completion is a text, the reference a number: never equal."""

    def equal(completions: list[str], answer: list[str], **_: Any) -> list[Any]:
        return [float(text.lstrip(".") == int(a)) for text, a in zip(completions, answer, strict=True)]

    script.rewards = [equal]


@fault(Link.REWARD, "reward-pays-for-length")
def longer_is_better(script: Script) -> None:
    script.rewards = [lambda completions, **_: [len(text) / 14 for text in completions]]
    script.rewards[0].__name__ = "thorough"


@fault(Link.REWARD, "reward-pays-for-form")
def weight_on_the_wrong_function(script: Script) -> None:
    """The weights are in another order than the functions."""
    script.rewards = [accuracy, digits]
    script.config["reward_weights"] = [0.0, 1.0]


@fault(Link.REWARD, "rewards-of-other-rows", "verdicts-noisy")
def scored_against_the_batch(script: Script) -> None:
    """The reward of a completion is its rank among all that were scored together, ties broken by place."""

    def rank(**given: Any) -> list[Any]:
        scores = accuracy(**given)
        order = sorted(range(len(scores)), key=lambda i: scores[i])
        return [order.index(i) / len(order) for i in range(len(order))]

    script.rewards = [rank]


# ---- advantages ------------------------------------------------------------------------------------------------------------


def _changed(change: Callable[[Any, dict[str, Any]], None]) -> type:
    """A subclass that changes what `_generate_and_score_completions` returns, in training."""

    class Changed:
        def _generate_and_score_completions(self, inputs: Any) -> Any:
            made = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
            if self.model.training:  # type: ignore[attr-defined]
                change(self, made)
            return made

    return Changed


@fault(Link.ADVANTAGE, "advantage-sign-wrong")
def baseline_minus_reward(script: Script) -> None:
    def change(_: Any, made: dict[str, Any]) -> None:
        made["advantages"] = -made["advantages"]

    script.mixins.append(_changed(change))


@fault(Link.ADVANTAGE, "advantage-sign-wrong")
def baseline_minus_reward_in_rloo(script: Script) -> None:
    script.kind = "rloo"
    baseline_minus_reward(script)


@fault(Link.ADVANTAGE, "groups-mixed", "advantages-of-other-rows")
def advantages_one_row_late(script: Script) -> None:
    def change(_: Any, made: dict[str, Any]) -> None:
        made["advantages"] = made["advantages"].roll(1)

    script.mixins.append(_changed(change))


@fault(Link.ADVANTAGE, "groups-mixed")
def sampler_without_groups(script: Script) -> None:
    """The sampler draws rows at random, so that eight neighbours are eight prompts."""

    class Shuffled:
        def _get_train_sampler(self, dataset: Any = None) -> Any:
            import torch

            return torch.utils.data.RandomSampler(self.train_dataset)  # type: ignore[attr-defined]

    script.mixins.append(Shuffled)


@fault(Link.ADVANTAGE, "groups-mixed")
def sampler_without_groups_in_rloo(script: Script) -> None:
    script.kind = "rloo"
    sampler_without_groups(script)


def _rewarded(compute: Callable[[Any, int], Any]) -> type:
    """A subclass with its own advantages from the rewards of a batch."""

    class Rewarded:
        def _calculate_rewards(self, *given: Any) -> Any:
            self.held = super()._calculate_rewards(*given)  # type: ignore[misc]
            return self.held

        def _generate_and_score_completions(self, inputs: Any) -> Any:
            made = super()._generate_and_score_completions(inputs)  # type: ignore[misc]
            made["advantages"] = compute(self.held.nansum(1), self.num_generations)  # type: ignore[attr-defined]
            return made

    return Rewarded


@fault(Link.ADVANTAGE, "groups-mixed")
def baseline_of_the_whole_batch(script: Script) -> None:
    script.mixins.append(_rewarded(lambda rewards, _: (rewards - rewards.mean()) / (rewards.std() + 1e-4)))


@fault(Link.ADVANTAGE, "groups-mixed")
def groups_by_column(script: Script) -> None:
    """The rewards are reshaped as (generations, prompts) instead of (prompts, generations)."""

    def compute(rewards: Any, generations: int) -> Any:
        table = rewards.view(generations, -1)
        return ((table - table.mean(0)) / (table.std(0) + 1e-4)).view(-1)

    script.mixins.append(_rewarded(compute))


@fault(Link.ADVANTAGE, "baseline-missing")
def no_baseline(script: Script) -> None:
    """The reward itself is used as the advantage."""
    script.mixins.append(_rewarded(lambda rewards, _: rewards))


@fault(Link.ADVANTAGE, "advantage-sign-wrong", "advantages-of-other-rows", "baseline-missing")
def absolute_advantages(script: Script) -> None:
    """Good and bad completions are both made more probable."""

    def change(_: Any, made: dict[str, Any]) -> None:
        made["advantages"] = made["advantages"].abs()

    script.mixins.append(_changed(change))


# ---- masks -----------------------------------------------------------------------------------------------------------------


@fault(Link.ADVANTAGE, "loss-mask-wrong")
def padding_in_the_loss(script: Script) -> None:
    def change(_: Any, made: dict[str, Any]) -> None:
        made["completion_mask"] = made["completion_mask"].new_ones(made["completion_mask"].shape)

    script.mixins.append(_changed(change))


@fault(Link.ADVANTAGE, "loss-mask-wrong")
def mask_one_token_late(script: Script) -> None:
    def change(_: Any, made: dict[str, Any]) -> None:
        made["completion_mask"] = made["completion_mask"].roll(1, 1)

    script.mixins.append(_changed(change))


@fault(Link.ADVANTAGE, "loss-mask-wrong", "end-not-learned")
def end_left_out_of_the_loss(script: Script) -> None:
    """The mask is made with "is not a special token", and the end of the answer is one."""

    def change(trainer: Any, made: dict[str, Any]) -> None:
        made["completion_mask"] = made["completion_mask"] * (made["completion_ids"] > 1)

    script.mixins.append(_changed(change))


@fault(Link.ADVANTAGE, "loss-mask-wrong")
def only_the_last_token(script: Script) -> None:
    def change(_: Any, made: dict[str, Any]) -> None:
        mask = made["completion_mask"]
        made["completion_mask"] = mask * (mask.flip(1).cumsum(1).flip(1) == 1)

    script.mixins.append(_changed(change))


class _Collator:
    """TRL's collator for preferences with a change of what it returns."""

    def __init__(self, change: Callable[[dict[str, Any]], None]) -> None:
        from trl.trainer.dpo_trainer import DataCollatorForPreference

        self.make, self.change = DataCollatorForPreference(pad_token_id=0), change

    def __call__(self, examples: Any) -> Any:
        made = self.make(examples)
        self.change(made)
        return made


@fault(Link.ADVANTAGE, "loss-mask-wrong")
def prompt_in_the_loss_of_dpo(script: Script) -> None:
    def change(made: dict[str, Any]) -> None:
        made["completion_mask"] = made["attention_mask"].clone()

    script.kind, script.options["data_collator"] = "dpo", _Collator(change)
    script.config["learning_rate"] = 1e-4


@fault(Link.ADVANTAGE, "loss-mask-wrong")
def padding_in_the_loss_of_dpo(script: Script) -> None:
    def change(made: dict[str, Any]) -> None:
        made["completion_mask"] = (made["completion_mask"].cumsum(1) > 0).long()
        made["attention_mask"] = made["attention_mask"].new_ones(made["attention_mask"].shape)

    script.kind, script.options["data_collator"] = "dpo", _Collator(change)
    script.config.update(learning_rate=1e-4, pad_to_multiple_of=None)

    def uneven(row: dict[str, Any]) -> dict[str, Any]:
        return row | {"rejected": row["rejected"] + "0" * (len(row["prompt"]) % 3 + int(row["chosen"][0]) % 3)}

    script.rows.append(uneven)


# ---- update ----------------------------------------------------------------------------------------------------------------


def _loss(change: Callable[[Any], Any]) -> type:
    class Loss:
        def compute_loss(self, model: Any, inputs: Any, *given: Any, **options: Any) -> Any:
            result = super().compute_loss(model, inputs, *given, **options)  # type: ignore[misc]
            return (change(result[0]), *result[1:]) if isinstance(result, tuple) else change(result)

    return Loss


@fault(Link.POLICY_UPDATE, "loss-sign-wrong", "advantage-sign-wrong", "direction-reversed")
def ascent_on_the_loss(script: Script) -> None:
    script.mixins.append(_loss(lambda loss: -loss))


@fault(Link.POLICY_UPDATE, "loss-sign-wrong", "advantage-sign-wrong", "direction-reversed")
def ascent_on_the_loss_of_dpo(script: Script) -> None:
    script.kind = "dpo"
    script.config["learning_rate"] = 1e-4
    script.mixins.append(_loss(lambda loss: -loss))


@fault(Link.POLICY_UPDATE, "loss-sign-wrong", "advantage-sign-wrong", "direction-reversed")
def ascent_of_the_reward_model(script: Script) -> None:
    script.kind = "reward"
    script.config["learning_rate"] = 1e-4
    script.mixins.append(_loss(lambda loss: -loss))


@fault(Link.POLICY_UPDATE, "loss-sign-wrong", "advantage-sign-wrong", "direction-reversed")
def optimizer_maximises(script: Script) -> None:
    """`maximize=True`, from a script in which the objective was a reward."""
    import torch

    script.optimizer = lambda model: torch.optim.AdamW(model.parameters(), lr=5e-4, maximize=True)


@fault(Link.POLICY_UPDATE, "dropout-active")
def dropout_left_on(script: Script) -> None:
    def dropout(model: Any) -> Any:
        import torch

        for module in model.modules():
            if isinstance(module, torch.nn.Dropout):
                module.p = 0.3
        return model

    script.model.append(dropout)
    script.config["num_iterations"] = 2


@fault(Link.POLICY_UPDATE, "dropout-active")
def dropout_left_on_in_dpo(script: Script) -> None:
    script.kind = "dpo"
    dropout_left_on(script)
    del script.config["num_iterations"]
    script.config.update(learning_rate=1e-4, disable_dropout=False)


@fault(Link.POLICY_UPDATE, "optimiser-not-connected", "parameters-not-trained")
def optimizer_of_another_copy(script: Script) -> None:
    """The optimizer was made before the model was loaded again."""
    import torch

    script.optimizer = lambda model: torch.optim.AdamW(copy.deepcopy(model).parameters(), lr=5e-4)


@fault(Link.POLICY_UPDATE, "optimiser-not-connected", "parameters-not-trained")
def optimizer_of_the_biases(script: Script) -> None:
    """The filter for weight decay keeps the wrong half, and the other half is never added."""
    import torch

    script.optimizer = lambda model: torch.optim.AdamW(
        [p for name, p in model.named_parameters() if name.endswith("bias")], lr=5e-4
    )


@fault(Link.POLICY_UPDATE, "optimiser-not-connected", "parameters-not-trained")
def frozen_adapter(script: Script) -> None:
    """An adapter whose matrices were frozen with the base model; only its layer norms learn."""
    from peft import LoraConfig

    script.options["peft_config"] = LoraConfig(
        r=8, target_modules=["c_attn", "c_proj", "c_fc"], fan_in_fan_out=True, modules_to_save=["ln_f"]
    )
    script.config["learning_rate"] = 5e-3

    def freeze(trainer: Any) -> None:
        for name, parameter in trainer.model.named_parameters():
            if "lora_" in name:
                parameter.requires_grad_(False)

    script.after.append(freeze)


def _callback(**hooks: Callable[..., None]) -> Any:
    from transformers import TrainerCallback

    def bound(hook: Callable[..., None]) -> Any:
        def called(self: Any, args: Any, state: Any, control: Any, **given: Any) -> None:
            hook(state=state, **given)

        return called

    return type("Callback", (TrainerCallback,), {name: bound(hook) for name, hook in hooks.items()})()


@fault(Link.POLICY_UPDATE, "optimiser-not-connected", "parameters-not-trained")
def gradients_cleared_too_early(script: Script) -> None:
    """A callback that frees memory before the optimizer's step."""

    def clear(model: Any, **_: Any) -> None:
        for parameter in model.parameters():
            parameter.grad = None

    script.callbacks.append(_callback(on_pre_optimizer_step=clear))


@fault(Link.POLICY_UPDATE, "optimiser-not-connected", "parameters-not-trained", "weights-replaced")
def weights_loaded_again(script: Script) -> None:
    """A callback that should load the best weights so far loads the first ones after every step."""
    first: dict[str, Any] = {}

    def begin(model: Any, **_: Any) -> None:
        first.update(copy.deepcopy(model.state_dict()))

    script.callbacks.append(
        _callback(on_train_begin=begin, on_step_end=lambda model, **_: model.load_state_dict(first))
    )


@fault(Link.POLICY_UPDATE, "optimiser-not-connected", "learning-rate-too-low")
def warm_up_longer_than_the_run(script: Script) -> None:
    script.config.update(warmup_steps=100_000, lr_scheduler_type="constant_with_warmup")


@fault(Link.POLICY_UPDATE, "step-size-too-large")
def rate_of_a_supervised_script(script: Script) -> None:
    script.config["learning_rate"] = 2e-2


def _random(model: Any) -> dict[str, Any]:
    """The weights of a new model with this one's configuration."""
    state: dict[str, Any] = type(model)(model.config).state_dict()
    return state


@fault(Link.POLICY_UPDATE, "reference-model-wrong")
def reference_of_random_weights(script: Script) -> None:
    """The reference is built from the configuration, and its weights are never loaded."""

    def random_reference(trainer: Any) -> None:
        trainer.ref_model.load_state_dict(_random(trainer.ref_model))

    script.after.append(random_reference)
    script.config["beta"] = 0.1


@fault(Link.POLICY_UPDATE, "reference-model-wrong")
def reference_is_the_policy(script: Script) -> None:
    def same(trainer: Any) -> None:
        trainer.ref_model = trainer.model

    script.after.append(same)


@fault(Link.POLICY_UPDATE, "reference-model-wrong")
def reference_of_random_weights_in_dpo(script: Script) -> None:
    script.kind = "dpo"
    reference_of_random_weights(script)
    script.config["learning_rate"] = 1e-4


@fault(Link.POLICY_UPDATE, "old-log-probabilities-wrong")
def old_log_probabilities_of_another_temperature(script: Script) -> None:
    def change(_: Any, made: dict[str, Any]) -> None:
        made["old_per_token_logps"] = made["old_per_token_logps"] * 1.3

    script.config["num_iterations"] = 2
    script.mixins.append(_changed(change))


# ---- rollout ---------------------------------------------------------------------------------------------------------------


@fault(Link.ROLLOUT, "end-not-learned")
def end_token_suppressed(script: Script) -> None:
    script.config["generation_kwargs"] = {"suppress_tokens": [1]}


@fault(Link.ROLLOUT, "samples-without-variety")
def greedy_sampling(script: Script) -> None:
    script.config["generation_kwargs"] = {"do_sample": False}


@fault(Link.ROLLOUT, "length-limit-too-short")
def limit_left_from_a_test(script: Script) -> None:
    script.config["max_completion_length"] = 4


def _generated(change: Callable[[Any, list[list[int]]], list[list[int]]]) -> type:
    """A subclass that changes the tokens that were sampled."""

    class Generated:
        def _generate_single_turn(self, *given: Any, **options: Any) -> Any:
            tokens, *rest = super()._generate_single_turn(*given, **options)  # type: ignore[misc]
            return change(self, tokens), *rest

    return Generated


@fault(Link.ROLLOUT, "samples-without-variety")
def one_sample_for_all(script: Script) -> None:
    """The server was asked for one sample, and its answer is repeated."""

    def change(trainer: Any, tokens: list[list[int]]) -> list[list[int]]:
        n = trainer.num_generations
        return [tokens[i - i % n] for i in range(len(tokens))]

    script.mixins.append(_generated(change))


@fault(Link.ROLLOUT, "sampler-differs-from-policy", "sampling-differs-from-scoring")
def tokens_replaced_after_sampling(script: Script) -> None:
    """A filter replaces tokens, as decoding and encoding again may do."""
    rng = random.Random(7)

    def change(_: Any, tokens: list[list[int]]) -> list[list[int]]:
        return [[t if t < 2 or rng.random() > 0.25 else rng.randint(2, 30) for t in row] for row in tokens]

    script.mixins.append(_generated(change))


@fault(Link.ROLLOUT, "sampling-differs-from-scoring", "sampler-differs-from-policy", "sampling-too-cold")
def another_temperature_in_generation(script: Script) -> None:
    script.config["generation_kwargs"] = {"temperature": 0.3}


@fault(Link.FRESHNESS, "weights-not-delivered")
def sampled_by_the_first_weights(script: Script) -> None:
    """An own engine with its own copy of the weights, which no update reaches."""

    class Engine:
        def _generate_single_turn(self, *given: Any, **options: Any) -> Any:
            policy = self.model_wrapped  # type: ignore[has-type]
            if not hasattr(self, "engine"):
                self.engine = copy.deepcopy(policy)
            self.model_wrapped = self.engine
            try:
                return super()._generate_single_turn(*given, **options)  # type: ignore[misc]
            finally:
                self.model_wrapped = policy

    script.mixins.append(Engine)
    script.config["learning_rate"] = 1e-3


# ---- prompts ---------------------------------------------------------------------------------------------------------------


@fault(Link.ENVIRONMENT, "prompts-too-narrow")
def one_prompt_in_every_row(script: Script) -> None:
    """A variable of a loop is used after the loop."""
    last: dict[str, Any] = {}

    def same(row: dict[str, Any]) -> dict[str, Any]:
        return last.setdefault("row", row)

    script.rows.append(same)


@fault(Link.ENVIRONMENT, "prompts-cut", "prompt-template-wrong")
def prompts_cut_on_the_right(script: Script) -> None:
    """The question is longer than the limit, and its end is lost."""
    script.rows.append(lambda row: row | {"prompt": row["prompt"][:7]})


@fault(Link.ENVIRONMENT, "prompt-template-wrong")
def another_template_in_training(script: Script) -> None:
    script.rows.append(lambda row: row | {"prompt": f"{row['prompt'][5:-1]}?:sort>"})


@fault(Link.ENVIRONMENT, "preference-data-wrong")
def pairs_swapped_in_dpo(script: Script) -> None:
    script.kind = "dpo"
    script.config["learning_rate"] = 1e-4
    script.rows.append(lambda row: row | {"chosen": row["rejected"], "rejected": row["chosen"]})


@fault(Link.ENVIRONMENT, "preference-data-wrong")
def pairs_swapped_by_the_collator(script: Script) -> None:
    def change(made: dict[str, Any]) -> None:
        for name in ("input_ids", "attention_mask", "completion_mask"):
            made[name] = made[name].roll(len(made[name]) // 2, 0)

    script.kind, script.options["data_collator"] = "dpo", _Collator(change)
    script.config["learning_rate"] = 1e-4


@fault(Link.ENVIRONMENT, "preference-data-wrong")
def pairs_of_equal_texts(script: Script) -> None:
    """Both columns are read from the same key."""
    script.kind = "reward"
    script.config["learning_rate"] = 1e-4
    script.rows.append(lambda row: row | {"rejected": row["chosen"]})


# ---- numerics --------------------------------------------------------------------------------------------------------------


@fault(Link.NUMERICS, "updates-rounded-away")
def weights_in_bfloat16(script: Script) -> None:
    """Weights and optimizer in 16 bits, and a small rate: most updates are rounded away."""
    import torch

    script.model.append(lambda model: model.to(torch.bfloat16))
    script.config["learning_rate"] = 2e-6


@fault(Link.NUMERICS, "gradients-not-finite")
def logarithm_of_zero(script: Script) -> None:
    """An own term in the loss: the logarithm of a probability that becomes 0."""

    class Penalised:
        def compute_loss(self, model: Any, inputs: Any, *given: Any, **options: Any) -> Any:
            loss = super().compute_loss(model, inputs, *given, **options)  # type: ignore[misc]
            share = (inputs["completion_ids"] == 0).float().mean() * (self.state.global_step >= 8)  # type: ignore[attr-defined]
            return loss + 0 * (loss.new_tensor(float("inf")) if share > 0 else loss)

    script.mixins.append(Penalised)
