# GRPO on sorting letters (full fine-tune), also with RLOO: python sort_grpo.py --fault NAME
import argparse, copy, json, random, time, math, sys, warnings
warnings.filterwarnings("ignore")
from concurrent.futures import ThreadPoolExecutor, as_completed
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer, RLOOConfig, RLOOTrainer
import firstbreak
from common import *
p = argparse.ArgumentParser(); p.add_argument("--fault", default="s_base"); F = p.parse_args().fault
rloo = F.startswith("r_")
OUTDIR = f"{HERE}/runs/{F}"
tok = PreTrainedTokenizerFast.from_pretrained(f"{HERE}/warm_sort"); model = AutoModelForCausalLM.from_pretrained(f"{HERE}/warm_sort")
rows = sort_rows(400, 11, "train")
train = Dataset.from_list(rows); evals = Dataset.from_list(sort_rows(16, 12, "test"))
if F == "s_cut_prompt":
    MAX_PROMPT = 5
    def prep(ex):
        ids = tok(ex["prompt"], truncation=True, max_length=MAX_PROMPT)["input_ids"]
        return {"prompt": tok.decode(ids)}
    tok.truncation_side = "right"
    train = train.map(prep)
if F == "s_answers_shuffled":
    prompts = Dataset.from_dict({"prompt": train["prompt"]}).shuffle(seed=42)
    train = prompts.add_column("answer", list(train["answer"]))

def correctness(completions, answer, **kw):
    return [score(c, a) for c, a in zip(completions, answer)]
funcs = [correctness]; weights = None
if F == "s_order_blind":
    def correctness_set(completions, answer, **kw):
        return [1.0 if sorted(c.split()) == sorted(a.split()) else 0.1 * len(set(c.split()) & set(a.split())) for c, a in zip(completions, answer)]
    funcs = [correctness_set]
if F == "s_spaces":
    train = train.map(lambda ex: {"answer": ex["answer"].replace(" ", "")})
    def exact(completions, answer, **kw):
        return [1.0 if c.strip() == a else 0.0 for c, a in zip(completions, answer)]
    funcs = [exact]
if F == "s_as_completed":
    pool = ThreadPoolExecutor(4)
    def judge(c, a):
        time.sleep(random.Random(c + a).random() * 0.004)
        return score(c, a)
    def judged(completions, answer, **kw):
        jobs = [pool.submit(judge, c, a) for c, a in zip(completions, answer)]
        return [j.result() for j in as_completed(jobs)]
    funcs = [judged]
if F == "r_length_weight":
    def brevity(completions, completion_ids, **kw):
        return [len(c) / 10 for c in completion_ids]
    funcs = [correctness, brevity]; weights = [0.3, 5.0]
if F == "s_slow":
    seen = []
    def novelty_and_correct(completions, answer, **kw):
        out = []
        for c, a in zip(completions, answer):
            dup = sum(sum(x == y for x, y in zip(c.split(), s.split())) > 3 for s in seen)  # only for my statistics
            seen.extend([c] * 3)
            out.append(score(c, a))
        return out
    funcs = [novelty_and_correct]
if F == "s_ok_negreward":
    def negative(completions, answer, **kw):
        return [100 * (score(c, a) - 1) for c, a in zip(completions, answer)]
    funcs = [negative]

cfg = dict(output_dir=OUTDIR, max_steps=60, per_device_train_batch_size=64, num_generations=8, learning_rate=1e-3, max_completion_length=10,
           logging_steps=1, report_to="none", save_strategy="no", beta=0.0, lr_scheduler_type="constant", seed=7, disable_tqdm=True,
           eval_strategy="steps", eval_steps=20, per_device_eval_batch_size=32, use_cpu=True, bf16=False)
if rloo:
    cfg.update(num_generations=4, beta=0.02); 
if F == "s_gen_temp": cfg["generation_kwargs"] = {"temperature": 0.3}
if F == "r_min_new": cfg["generation_kwargs"] = {"min_new_tokens": 10}
if F == "s_weight_decay": cfg["weight_decay"] = 30.0
if F == "s_entropy_negative": cfg["entropy_coef"] = -0.3
if F == "s_reuse": cfg["steps_per_generation"] = 40
if weights: cfg["reward_weights"] = weights
if F == "s_ok_drgrpo": cfg.update(loss_type="dr_grpo", scale_rewards="none", learning_rate=2e-3)
if F == "s_ok_iter2": cfg.update(num_iterations=2, importance_sampling_level="sequence", loss_type="grpo")
if F == "s_ok_temp13": cfg.update(temperature=1.3)
if F == "s_ok_entropy": cfg.update(use_adaptive_entropy=True, entropy_target=0.3, entropy_coef=0.001)
if F == "r_ok_norm": cfg.update(normalize_advantages=True, reward_clip_range=(-0.9, 0.9))

Base, Conf = (RLOOTrainer, RLOOConfig) if rloo else (GRPOTrainer, GRPOConfig)
class MyTrainer(Base):
    def _calculate_rewards(self, inputs, prompts, completions, completion_ids_list):
        r = super()._calculate_rewards(inputs, prompts, completions, completion_ids_list)
        self._last_rewards = r
        return r
    if F == "s_transposed":
        def _generate_and_score_completions(self, inputs):
            out = super()._generate_and_score_completions(inputs)
            r = self._last_rewards.sum(1); G = self.num_generations if self.model.training else (self.num_generations_eval or self.num_generations)
            grouped = r.view(G, -1)  # my own advantage, without dividing by std
            base = grouped.mean(0, keepdim=True).expand_as(grouped).reshape(-1)
            out["advantages"] = (r - base) / (r.std() + 1e-4)
            return out
    if F == "s_mask_shift":
        def _generate_and_score_completions(self, inputs):
            out = super()._generate_and_score_completions(inputs)
            m = out["completion_mask"]  # labels are shifted by one
            out["completion_mask"] = torch.cat([torch.zeros_like(m[:, :1]), m[:, :-1]], 1)
            return out
Trainer = MyTrainer if F in ("s_transposed", "s_mask_shift") else Base
extra = {}
if F == "s_half":
    model.half()
    extra["optimizers"] = (torch.optim.AdamW(model.parameters(), lr=1e-3, eps=1e-8), None)
t0 = time.time()
tr = Trainer(model=model, reward_funcs=funcs, args=Conf(**cfg), train_dataset=train, eval_dataset=evals, processing_class=tok, callbacks=[firstbreak.recorder()], **extra)
test = sort_rows(128, 9, "test")
before = held_out(AutoModelForCausalLM.from_pretrained(f"{HERE}/warm_sort"), tok, test)
err = None
try: tr.train()
except Exception as e: err = repr(e)[:300]
after = held_out(model.float(), tok, test)
json.dump({"fault": F, "before": before, "after": after, "error": err, "s": time.time() - t0}, open(f"{OUTDIR}/../../scores/{F}.json", "w"))
print("RESULT", F, round(before, 3), round(after, 3), err, round(time.time() - t0, 1))
