# GRPO + LoRA on translating letters by a table
import argparse, copy, json, time, warnings
warnings.filterwarnings("ignore")
import torch
from datasets import Dataset
from peft import LoraConfig
from transformers import AutoModelForCausalLM, AutoTokenizer
from trl import GRPOConfig, GRPOTrainer
import firstbreak
from common import *
p = argparse.ArgumentParser(); p.add_argument("--fault", default="t_base"); F = p.parse_args().fault
OUTDIR = f"{HERE}/runs/{F}"
tok = PreTrainedTokenizerFast.from_pretrained(f"{HERE}/warm_tr"); model = AutoModelForCausalLM.from_pretrained(f"{HERE}/warm_tr")
rows = tr_rows(300, 21, "train")
if F == "t_ok_order": rows = [r for r in rows[:150] for _ in range(2)]
train = Dataset.from_list(rows)
def table_reward(prompts, completions, answer, **kw):
    return [score(c, a) for c, a in zip(completions, answer)]
func = table_reward
if F == "t_prompt_cache":
    cache = {}
    def cached_reward(prompts, completions, answer, **kw):
        out = []
        for q, c, a in zip(prompts, completions, answer):
            if q not in cache: cache[q] = score(c, a)
            out.append(cache[q])
        return out
    func = cached_reward
cfg = dict(output_dir=OUTDIR, max_steps=60, per_device_train_batch_size=24, gradient_accumulation_steps=2, num_generations=6, learning_rate=4e-3, max_completion_length=7,
           logging_steps=1, report_to="none", save_strategy="no", beta=0.02, lr_scheduler_type="constant_with_warmup", warmup_steps=3, seed=3, disable_tqdm=True, use_cpu=True, bf16=False)
lora = LoraConfig(r=32, lora_alpha=64, target_modules="all-linear", task_type="CAUSAL_LM")
if F == "t_kl_huge": cfg["beta"] = 5.0
if F == "t_greedy": cfg["top_k"] = 1
if F == "t_ok_syncref": cfg.update(sync_ref_model=True, ref_model_sync_steps=10, beta=0.1, learning_rate=1e-3); lora = None
if F == "t_ok_cispo": cfg.update(loss_type="cispo", epsilon_high=5.0, mask_truncated_completions=True, beta=0.0)
if F == "t_ok_order": cfg["shuffle_dataset"] = False
extra = {}
Trainer = GRPOTrainer
if F == "t_dead_optimizer":
    opt = torch.optim.AdamW([q for q in model.parameters()], lr=4e-3)
    extra["optimizers"] = (opt, None)
if F == "t_pad_is_eos":
    tok.pad_token = tok.eos_token
    model.config.pad_token_id = model.generation_config.pad_token_id = tok.eos_token_id
    class PadMask(GRPOTrainer):
        def _generate_and_score_completions(self, inputs):
            out = super()._generate_and_score_completions(inputs)
            out["completion_mask"] = (out["completion_ids"] != self.processing_class.pad_token_id).long()
            return out
    Trainer = PadMask
if F == "t_snapshot": engine = copy.deepcopy(model).eval()  # "fast engine" for sampling, made before LoRA
tr = Trainer(model=model, reward_funcs=func, args=GRPOConfig(**cfg), train_dataset=train, processing_class=tok, peft_config=lora, callbacks=[firstbreak.recorder()], **extra)
if F == "t_snapshot":
    tr.model.generate = engine.generate
t0 = time.time(); err = None
test = tr_rows(112, 9, "test")
before = held_out(AutoModelForCausalLM.from_pretrained(f"{HERE}/warm_tr"), tok, test, 7)
try: tr.train()
except Exception as e: err = repr(e)[:300]
if F == "t_snapshot": del tr.model.generate
after = held_out(tr.model, tok, test, 7)
json.dump({"fault": F, "before": before, "after": after, "error": err, "s": time.time() - t0}, open(f"{HERE}/scores/{F}.json", "w"))
print("RESULT", F, round(before, 3), round(after, 3), err, round(time.time() - t0, 1))
