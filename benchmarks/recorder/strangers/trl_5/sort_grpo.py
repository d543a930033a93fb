"""GRPO: sort four letters."""
import copy, functools, json, os, random, sys, time

import torch
from datasets import Dataset
from transformers import AutoTokenizer, LlamaForCausalLM, TrainerCallback, set_seed
from trl import GRPOConfig, GRPOTrainer

import firstbreak
from tiny import cached, make_model, make_tokenizer, sample

name = sys.argv[1]
out = f"runs/{name}"
LETTERS = list("abcdefghij")
tokenizer = make_tokenizer([*LETTERS, "sort", "=", "please"])
rng = random.Random(0)


def problem(r):
    k = 4
    letters = r.sample(LETTERS, k)
    intro = r.choice(["sort", "please sort"])
    return f"{intro} {' '.join(letters)} =", " ".join(sorted(letters))


def noisy():
    p, a = problem(rng)
    a = a.split()
    u = rng.random()
    if u < 0.3:
        i = rng.randrange(3)
        a[i], a[i + 1] = a[i + 1], a[i]
    elif u < 0.5:
        rng.shuffle(a)
    elif u < 0.6:
        a = a[: rng.randrange(1, 4)]
    return p, " ".join(a)


path = cached("sort", tokenizer, noisy, 700)

data_rng = random.Random(1)
train_rows = [problem(data_rng) for _ in range(1500)]
seen = {p for p, _ in train_rows}
held_out = []
while len(held_out) < 128:
    p, a = problem(data_rng)
    if p not in seen:
        held_out.append((p, a))
eval_rows, test_rows = held_out[:32], held_out[32:]

if name == "sort_prompt_cut":
    # "keep prompts within the budget": the first 5 words, the end is lost
    train_rows = [(" ".join(p.split()[:5]), a) for p, a in train_rows]
if name == "sort_answer_misaligned":
    # prompts are filtered, the answers' column is not
    prompts = [p for p, _ in train_rows if not p.startswith("please")]
    answers = [a for _, a in train_rows]
    train_rows = list(zip(prompts, answers))
if name == "sort_old_eval_file":
    # the file for validation comes from an earlier task: descending order
    eval_rows = [(p, " ".join(reversed(a.split()))) for p, a in eval_rows]

train_data = Dataset.from_list([{"prompt": p, "answer": a} for p, a in train_rows])
eval_data = Dataset.from_list([{"prompt": p, "answer": a} for p, a in eval_rows])


def right(completion, answer):
    return 1.0 if completion.split() == answer.split() else 0.0


def close(completion, answer):
    got, want = completion.split(), answer.split()
    return sum(g == w for g, w in zip(got, want)) / max(len(got), len(want), 1)


if name == "sort_lru_verifier":
    verdicts = {}

    def correct(prompts, completions, answer, **kwargs):
        # the verifier is slow, so its verdicts are kept, by the letters of the completion
        keys = [" ".join(sorted(c.split())) for c in completions]
        for key, c, a in zip(keys, completions, answer):
            if key not in verdicts:
                verdicts[key] = right(c, a)
        return [verdicts[key] for key in keys]
elif name == "sort_partial":
    def correct(prompts, completions, answer, **kwargs):
        return [0.7 * right(c, a) + 0.3 * close(c, a) for c, a in zip(completions, answer)]
else:
    def correct(prompts, completions, answer, **kwargs):
        return [right(c, a) for c, a in zip(completions, answer)]


settings = dict(
    output_dir=out, per_device_train_batch_size=64, num_generations=8, max_completion_length=8, max_steps=100,
    learning_rate=5e-4, lr_scheduler_type="constant", logging_steps=1, report_to=[], seed=3, temperature=1.0,
    beta=0.0, save_strategy="steps", save_steps=10, save_total_limit=3, eval_strategy="steps", eval_steps=10,
    per_device_eval_batch_size=32, num_generations_eval=2, load_best_model_at_end=True,
    metric_for_best_model="eval_reward", greater_is_better=True, use_cpu=True, bf16=False, disable_tqdm=True,
    gradient_checkpointing=False, save_only_model=False, dataloader_pin_memory=False,
)
Trainer = GRPOTrainer
callbacks = []
model = LlamaForCausalLM.from_pretrained(path)

if name == "sort_best_by_loss":
    settings.update(metric_for_best_model="eval_loss", greater_is_better=False)
elif name == "sort_rep_penalty":
    settings.update(repetition_penalty=1.6)
elif name == "sort_min_tokens":
    # a setting of another project, against empty answers
    settings.update(generation_kwargs={"min_new_tokens": 7})
elif name == "sort_last_token_adv":
    class Trainer(GRPOTrainer):
        """The reward comes with the last token."""

        def _generate_and_score_completions(self, inputs):
            output = super()._generate_and_score_completions(inputs)
            mask = output["completion_mask"]
            last = mask.sum(1) - 1
            per_token = torch.zeros(mask.shape)
            per_token[torch.arange(len(mask)), last] = output["advantages"]
            output["advantages"] = per_token
            return output
elif name == "sort_random_ref":
    settings.update(beta=0.3)
elif name == "sort_kl":
    settings.update(beta=0.01)
elif name == "sort_entropy_bonus":
    settings.update(entropy_coef=0.4)
elif name == "sort_stale_copy":
    class Trainer(GRPOTrainer):
        """Samples from a copy, as an inference engine would; the copy gets new weights every 20 updates."""

        engine = None

        def _generate_single_turn(self, *args, **kwargs):
            if self.engine is None or self.state.global_step % 20 == 0:
                self.engine = copy.deepcopy(self.accelerator.unwrap_model(self.model))
            wrapped, self.model_wrapped = self.model_wrapped, self.engine
            try:
                return super()._generate_single_turn(*args, **kwargs)
            finally:
                self.model_wrapped = wrapped
elif name == "sort_bf16_weights":
    model = model.to(torch.bfloat16)
    settings.update(learning_rate=1e-4)
elif name == "sort_fp32_slow":
    settings.update(learning_rate=1e-4)
elif name == "sort_drgrpo":
    settings.update(loss_type="dr_grpo", scale_rewards="none")
elif name == "sort_gspo":
    settings.update(importance_sampling_level="sequence", num_iterations=2, steps_per_generation=2, loss_type="grpo",
                    epsilon=0.02, epsilon_high=0.03, per_device_train_batch_size=32)
elif name in ("sort_resume_base", "sort_resume_ok"):
    if name == "sort_resume_base":
        class Trainer(GRPOTrainer):
            def _load_from_checkpoint(self, checkpoint, model=None):
                # the weights are in the model that was passed already
                pass


class Preempted(TrainerCallback):
    def on_step_end(self, args, state, control, **kwargs):
        if state.global_step == 80:
            control.should_save = True
            control.should_training_stop = True


def build(model, extra=()):
    trainer = Trainer(
        model=model, reward_funcs=correct, args=GRPOConfig(**settings), train_dataset=train_data, eval_dataset=eval_data,
        processing_class=tokenizer, callbacks=[firstbreak.recorder(), *callbacks, *extra],
    )
    if name == "sort_random_ref":
        # the reference is built from the configuration; nobody loads its weights
        trainer.ref_model.load_state_dict(make_model(tokenizer, seed=7).state_dict())
    return trainer


set_seed(3)
start = time.time()
if name.startswith("sort_resume"):
    settings.update(load_best_model_at_end=False)
    trainer = build(model, [Preempted()])
    trainer.train()
    model = LlamaForCausalLM.from_pretrained(path)
    trainer = build(model)
    trainer.train(resume_from_checkpoint=f"{out}/checkpoint-80")
else:
    trainer = build(model)
    trainer.train()


def evaluate(model):
    texts, ended = sample(model.float(), tokenizer, [p for p, _ in test_rows])
    ok = [e and t.split() == test_rows[i // 4][1].split() for i, (t, e) in enumerate(zip(texts, ended))]
    return sum(ok) / len(ok)


before = evaluate(LlamaForCausalLM.from_pretrained(path))
after = evaluate(trainer.accelerator.unwrap_model(trainer.model))
print(json.dumps({"name": name, "before": before, "after": after, "seconds": time.time() - start}))
with open("results.jsonl", "a") as f:
    f.write(json.dumps({"name": name, "before": before, "after": after, "seconds": time.time() - start}) + "\n")
