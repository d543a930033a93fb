"""RLOO: which day is it? The last word of the completion counts."""
import copy, json, os, random, sys, time

import torch
from datasets import Dataset
from transformers import LlamaForCausalLM, TrainerCallback, set_seed
from trl import RLOOConfig, RLOOTrainer

import firstbreak
from tiny import cached, make_tokenizer, sample

name = sys.argv[1]
out = f"runs/{name}"
DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
NAMES = "ann bob cem dan eva fay gus hal ida jon kim lea max nia otto".split()
NUMBERS = "one two three".split()
tokenizer = make_tokenizer([*DAYS, *NAMES, *NUMBERS, "days", "after", "before", "?", ":", "so"])
rng = random.Random(0)


def problem(r, shift=0):
    who, n, day, way = r.choice(NAMES), r.randrange(3), r.randrange(7), 1
    word = "after" if way > 0 else "before"
    answer = DAYS[(day + way * (n + 1) + shift) % 7]
    return f"{who} : {NUMBERS[n]} days {word} {DAYS[day]} ?", answer


def noisy():
    p, a = problem(rng)
    words = []
    u = rng.random()
    if u < 0.35:  # names a few days first
        words = rng.choices(DAYS, k=rng.randrange(1, 4)) + ["so"]
    if rng.random() < 0.5:
        a = rng.choice(DAYS)
    return p, " ".join([*words, a])


path = cached("days", tokenizer, noisy, 1100)

data_rng = random.Random(1)
train_rows = [problem(data_rng) for _ in range(200)]
seen = {p for p, _ in train_rows}
held_out = {}
while len(held_out) < 128:
    p, a = problem(data_rng)
    if p not in seen:
        held_out[p] = a
held_out = list(held_out.items())
eval_rows, test_rows = held_out[:32], held_out[32:]

if name == "days_off_by_one":
    # the script that made the data counts the first day as day one
    def shifted(p, a):
        return p, DAYS[(DAYS.index(a) + (-1 if "after" in p else 1)) % 7]

    train_rows = [shifted(p, a) for p, a in train_rows]
    eval_rows = [shifted(p, a) for p, a in eval_rows]

train_data = Dataset.from_list([{"prompt": p, "day": a} for p, a in train_rows])
eval_data = Dataset.from_list([{"prompt": p, "day": a} for p, a in eval_rows])


def correct(prompts, completions, day, **kwargs):
    if name == "days_any_word":
        return [float(d in c.split()) for c, d in zip(completions, day)]
    if name == "days_plus_minus":
        return [2.0 if c.split()[-1:] == [d] else -2.0 for c, d in zip(completions, day)]
    return [float(c.split()[-1:] == [d]) for c, d in zip(completions, day)]


settings = dict(
    output_dir=out, per_device_train_batch_size=64, num_generations=8, max_completion_length=8, max_steps=100,
    learning_rate=7e-4, lr_scheduler_type="linear", warmup_steps=5, logging_steps=1, report_to=[], seed=5,
    temperature=1.0, beta=0.002, save_strategy="no", eval_strategy="steps", eval_steps=20, per_device_eval_batch_size=32,
    use_cpu=True, bf16=False, disable_tqdm=True, gradient_checkpointing=False, dataloader_pin_memory=False,
)
Trainer = RLOOTrainer
callbacks = []
optimizers = (None, None)
model = LlamaForCausalLM.from_pretrained(path)

if name == "days_seed_rollout":
    settings.update(max_steps=50, eval_strategy="no")
    class Trainer(RLOOTrainer):
        # slow: fewer updates
        """Reproducible samples: every row is generated with the seed of the run."""

        def _generate_single_turn(self, prompt_ids, images, multimodal_fields):
            ids = []
            for row in prompt_ids:
                torch.manual_seed(self.args.seed + self.state.global_step)
                ids += super()._generate_single_turn([row], images, multimodal_fields)
            return ids
elif name == "days_perm_adv":
    class Trainer(RLOOTrainer):
        """Rows are sorted by length, so that minibatches need less padding."""

        def _generate_and_score_completions(self, inputs):
            output = super()._generate_and_score_completions(inputs)
            order = torch.argsort(output["completion_mask"].sum(1))
            for key in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask", "old_logps"):
                output[key] = output[key][order]
            return output
elif name == "days_ema":
    class Ema(TrainerCallback):
        """A moving average of the weights."""

        def on_train_begin(self, args, state, control, model=None, **kwargs):
            self.shadow = {k: v.detach().clone() for k, v in model.state_dict().items()}

        def on_step_end(self, args, state, control, model=None, **kwargs):
            for k, v in model.state_dict().items():
                self.shadow[k].lerp_(v, 0.02)
            model.load_state_dict(self.shadow)

    callbacks.append(Ema())
elif name == "days_cold":
    settings.update(temperature=0.15)
elif name == "days_replay":
    class Trainer(RLOOTrainer):
        """Generation is slow: most updates take a batch from the buffer."""

        def _prepare_inputs(self, generation_batch):
            if not self.model.training:
                return super()._prepare_inputs(generation_batch)
            self.kept = getattr(self, "kept", [])
            if len(self.kept) >= 4 and self.state.global_step % 10:
                batch = dict(random.choice(self.kept))
                with torch.no_grad():
                    ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
                    mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
                    logps = self._get_per_token_logps_and_entropies(self.model, ids, mask, batch["completion_ids"].size(1))[0]
                    batch["old_logps"] = (logps * batch["completion_mask"]).sum(1)
                return batch
            self.kept.append(super()._prepare_inputs(generation_batch))
            return self.kept[-1]
elif name == "days_fifty_epochs":
    class Trainer(RLOOTrainer):
        """Generation is slow: each batch is used for 50 updates."""

        def _prepare_inputs(self, generation_batch):
            if not self.model.training:
                return super()._prepare_inputs(generation_batch)
            if self.state.global_step % 50 == 0:
                self.kept = super()._prepare_inputs(generation_batch)
            batch = dict(self.kept)
            with torch.no_grad():
                ids = torch.cat([batch["prompt_ids"], batch["completion_ids"]], 1)
                mask = torch.cat([batch["prompt_mask"], batch["completion_mask"]], 1)
                logps = self._get_per_token_logps_and_entropies(self.model, ids, mask, batch["completion_ids"].size(1))[0]
                batch["old_logps"] = (logps * batch["completion_mask"]).sum(1)
            return batch
elif name == "days_nan_guard":
    class Trainer(RLOOTrainer):
        """Advantages in units of the group's standard deviation."""

        def _generate_and_score_completions(self, inputs):
            output = super()._generate_and_score_completions(inputs)
            adv = output["advantages"].view(-1, self.num_generations)
            output["advantages"] = (adv / adv.std(1, keepdim=True)).view(-1)
            return output

    class Guard(TrainerCallback):
        """No update with gradients that are not finite."""

        def on_pre_optimizer_step(self, args, state, control, model=None, **kwargs):
            if any(p.grad is not None and not torch.isfinite(p.grad).all() for p in model.parameters()):
                for p in model.parameters():
                    if p.grad is not None:
                        p.grad.zero_()

    callbacks.append(Guard())
    settings.update(eval_strategy="no", num_generations=4)
elif name == "days_rollback":
    class Rollback(TrainerCallback):
        """Back to the last good weights if the gradient spikes."""

        def on_train_begin(self, args, state, control, model=None, **kwargs):
            self.good = copy.deepcopy(model.state_dict())

        def on_log(self, args, state, control, logs=None, model=None, **kwargs):
            if logs and logs.get("grad_norm", 0) > 0.9 and state.global_step % 4 == 0:
                model.load_state_dict(self.good)

    callbacks.append(Rollback())
elif name == "days_wrong_decay":
    # the groups of the optimizer are exchanged, and the decay is that of an SGD recipe
    optimizers = (torch.optim.AdamW(model.parameters(), lr=7e-4, weight_decay=60.0), None)
elif name == "days_half_frozen":
    # only the head and the last norm are trained: "the name of the layers has 'model' in it"
    for n, p in model.named_parameters():
        p.requires_grad = "model" not in n
elif name == "days_normalised":
    settings.update(normalize_advantages=True, learning_rate=3e-4)
elif name == "days_nesterov":
    optimizers = (torch.optim.SGD(model.parameters(), lr=0.12, momentum=0.9, nesterov=True), None)
elif name == "days_accumulate":
    settings.update(per_device_train_batch_size=16, gradient_accumulation_steps=4, num_generations=4, beta=0.0,
                    lr_scheduler_type="cosine")

set_seed(5)
start = time.time()
trainer = Trainer(
    model=model, reward_funcs=correct, args=RLOOConfig(**settings), train_dataset=train_data, eval_dataset=eval_data,
    processing_class=tokenizer, optimizers=optimizers, callbacks=[firstbreak.recorder(), *callbacks],
)
trainer.train()


def evaluate(model):
    texts, ended = sample(model, tokenizer, [p for p, _ in test_rows])
    ok = [e and t.split()[-1:] == [test_rows[i // 4][1]] for i, (t, e) in enumerate(zip(texts, ended))]
    return sum(ok) / len(ok)


result = {"name": name, "before": evaluate(LlamaForCausalLM.from_pretrained(path)),
          "after": evaluate(trainer.accelerator.unwrap_model(trainer.model)), "seconds": time.time() - start}
print(json.dumps(result))
with open("results.jsonl", "a") as f:
    f.write(json.dumps(result) + "\n")
