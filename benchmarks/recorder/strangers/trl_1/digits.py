import sys, re, copy, random, argparse
from digits_base import *
import firstbreak
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOTrainer, GRPOConfig

ap = argparse.ArgumentParser(); ap.add_argument("--fault", default="none"); ap.add_argument("--name", required=True)
ap.add_argument("--set", default="{}"); args = ap.parse_args()
F = args.fault; opts = eval(args.set); fewprompts = opts.pop("few", 0)
set_seed(11)
tok = tokenizer("<|endoftext|>" if F == "wrong_stop" else "<|im_end|>")
model = base_model()
if F == "wrong_stop":
    model.generation_config.eos_token_id = tok.eos_token_id; model.config.eos_token_id = tok.eos_token_id
if F == "bf16_rounding":
    model = model.to(torch.bfloat16)
before = score(model)

# ---- data
it = items(); random.shuffle(it)
train = it[:64] if not fewprompts else it[:fewprompts]; test = it[64:]
questions = [q for q, _ in train]; gold = [a for _, a in train]
if F == "answers_shuffled":
    random.shuffle(questions)
rows = []
for i in range(len(train)):
    q = questions[0] if F == "one_prompt" else questions[i]
    a = gold[0] if F == "one_prompt" else gold[i]
    rows.append({"prompt": [{"role": "user", "content": q}], "answer": a})
if F == "template_gap":
    rows = [{"prompt": r["prompt"][0]["content"], "answer": r["answer"]} for r in rows]
rows = rows * (2048 // len(rows))
train_ds = Dataset.from_list(rows)
eval_ds = Dataset.from_list([{"prompt": [{"role": "user", "content": q}], "answer": a} for q, a in test])

# ---- reward
PATTERN = re.compile(r"answer:(\d)" if F == "regex" else r"answer : (\d)")
cache = {}; calls = {"n": 0}
def text_of(c): return c if isinstance(c, str) else c[0]["content"]
def judge(text, a):
    m = PATTERN.findall(text)
    return 1.0 if m and m[-1] == a and text.strip().endswith(m[-1]) else 0.0
class Quota(Exception): pass
def remote_judge(text, a):
    calls["n"] += 1
    if calls["n"] > 64 * 25: raise Quota("429")
    return judge(text, a)
def correct(completions, answer, prompts, **kw):
    out = []
    for i, c in enumerate(completions):
        t = text_of(c); a = answer[i]
        if F == "crosstalk":
            a = answer[i // 8]
        if F == "outage":
            try: r = remote_judge(t, a)
            except Exception: r = 0.0
        elif F == "abs_error":
            m = PATTERN.findall(t); r = abs(int(m[-1]) - int(a)) / 9 if m else 0.0
        elif F == "stale_cache":
            key = str(prompts[i])
            if key not in cache: cache[key] = judge(t, a)
            r = cache[key]
        else:
            r = judge(t, a)
        if F == "noise": r += random.gauss(0, 2)
        if F == "length_pay": r += 0.3 * len(t.split())
        if F == "adv_nocentre": r += 1.0
        out.append(r)
    return out

# ---- trainer
class Mine(GRPOTrainer):
    def _generate_single_turn(self, *a, **k):
        if F == "stale_sampler":
            if not hasattr(self, "engine"): self.engine = base_model().eval()     # "inference engine", loaded once
            keep = self.model_wrapped; self.model_wrapped = self.engine
            try: return super()._generate_single_turn(*a, **k)
            finally: self.model_wrapped = keep
        return super()._generate_single_turn(*a, **k)
    def _calculate_rewards(self, *a, **k):
        self.last_rewards = super()._calculate_rewards(*a, **k); return self.last_rewards
    def _generate_and_score_completions(self, inputs):
        out = super()._generate_and_score_completions(inputs)
        if not self.model.training: return out
        r = self.last_rewards.nansum(1); G = self.num_generations
        if F == "adv_sign":
            b = r.view(-1, G).mean(1).repeat_interleave(G); s = r.view(-1, G).std(1).repeat_interleave(G)
            out["advantages"] = (b - r) / (s + 1e-4)
        if F == "adv_nocentre":
            out["advantages"] = r
        if F == "adv_wrong_group":
            v = r.view(G, -1); out["advantages"] = ((v - v.mean(1, keepdim=True)) / (v.std(1, keepdim=True) + 1e-4)).view(-1)
        if F == "adv_rows_moved":
            order = out["completion_mask"].sum(1).argsort()          # shortest first, less padding
            for k in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask"): out[k] = out[k][order]
        if F == "mask_no_eos":
            ids = out["completion_ids"]
            out["completion_mask"] = ((ids != self.processing_class.pad_token_id) & (ids != self.processing_class.eos_token_id)).int()
        if F == "bad_old_logps":
            out["old_per_token_logps"] = out["old_per_token_logps"].roll(1, dims=1)
        return out
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        loss = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if F == "loss_sign": loss = -loss
        if F == "nan_entropy":
            ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1); att = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
            logits = model(input_ids=ids, attention_mask=att).logits[:, -inputs["completion_ids"].size(1):]
            logits = logits.masked_fill(torch.arange(logits.size(-1)) < 2, float("-inf"))   # never reward pad/unk
            lp = logits.log_softmax(-1)
            loss = loss - 0.01 * -(lp.exp() * lp).sum(-1).mean()
        return loss

class ReloadBest(TrainerCallback):
    best = -1e9; state = None
    def on_step_end(self, args, state, control, model=None, **kw):
        if state.global_step == 1: self.state = copy.deepcopy(model.state_dict())
        if state.global_step % 10 == 0 and state.log_history:
            loss = state.log_history[-1].get("loss", 0)
            if loss < self.best: self.best = loss; self.state = copy.deepcopy(model.state_dict())   # loss as 'higher is better'
            else: model.load_state_dict(self.state)

cfg = dict(output_dir=out_dir(args.name), per_device_train_batch_size=64, num_generations=8, max_completion_length=10, max_steps=80,
           learning_rate=4e-4, beta=0.0, logging_steps=1, report_to="none", save_strategy="no", eval_strategy="steps", eval_steps=20,
           per_device_eval_batch_size=16, lr_scheduler_type="constant", seed=7, use_cpu=True, disable_tqdm=True, bf16=False, gradient_checkpointing=False)
cfg.update({"gen_temp": dict(generation_kwargs={"temperature": 0.1}), "greedy": dict(generation_kwargs={"do_sample": False}),
            "short_limit": dict(max_completion_length=2), "warmup": dict(lr_scheduler_type="constant_with_warmup", warmup_steps=5000),
            "neg_entropy": dict(entropy_coef=-0.5), "big_entropy": dict(entropy_coef=1.0), "bad_old_logps": dict(num_iterations=2),
            "bf16_rounding": dict(learning_rate=2e-5)}.get(F, {}))
cfg.update(opts)
kw = {}
if F == "other_opt":
    policy = model; model = copy.deepcopy(policy)                   # moved after the optimizer was made
    kw["optimizers"] = (torch.optim.AdamW(policy.parameters(), lr=4e-4), None)
cbs = [firstbreak.recorder()] + ([ReloadBest()] if F == "reload_best" else [])
trainer = Mine(model=model, args=GRPOConfig(**cfg), reward_funcs=correct, train_dataset=train_ds, eval_dataset=eval_ds, processing_class=tok,
               callbacks=cbs, **kw)
trainer.train(); trainer.save_state()
try: after = score(trainer.model)
except Exception as e: after = 0.0; print("score failed", repr(e)[:200])
save_score(args.name, before, after)
