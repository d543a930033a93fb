import argparse, copy
from pairs import *
import firstbreak
from datasets import Dataset
from trl import DPOTrainer, DPOConfig
ap = argparse.ArgumentParser(); ap.add_argument("--fault", default="none"); ap.add_argument("--name", required=True)
ap.add_argument("--set", default="{}"); args = ap.parse_args(); F = args.fault; opts = eval(args.set)
set_seed(2); tok = tokenizer(); model = base_model(); before = score(model)
rows = pairs(2000, 1)
if F == "swapped": rows = [{"prompt": r["prompt"], "chosen": r["rejected"], "rejected": r["chosen"]} for r in rows]
if F == "cut":
    for r in rows:
        for k in ("chosen", "rejected"): r[k] = [{"role": "assistant", "content": " ".join(r[k][0]["content"].split()[:2])}]   # "max answer length 2"
class T(DPOTrainer):
    def compute_loss(self, *a, **k):
        l = super().compute_loss(*a, **k)
        return -l if F == "loss_sign" else l
cfg = dict(output_dir=out_dir(args.name), per_device_train_batch_size=16, per_device_eval_batch_size=50, max_steps=80, learning_rate=5e-5, beta=0.2, logging_steps=1, report_to="none",
           save_strategy="no", eval_strategy="steps", eval_steps=20, seed=3, use_cpu=True, disable_tqdm=True, lr_scheduler_type="constant", bf16=False, gradient_checkpointing=False, max_length=64)
cfg.update({"smoothing": dict(label_smoothing=0.5), "ref_follows": dict(sync_ref_model=True, ref_model_mixup_alpha=1.0, ref_model_sync_steps=1)}.get(F, {})); cfg.update(opts)
ref = copy.deepcopy(model)
if F == "wrong_ref": ref = Qwen2ForCausalLM(model.config)
kw = {} if F == "ref_follows" and False else {"ref_model": ref}
tr = T(model=model, args=DPOConfig(**cfg), train_dataset=Dataset.from_list(rows), eval_dataset=Dataset.from_list(pairs(100, 9)), processing_class=tok, callbacks=[firstbreak.recorder()], **kw)
tr.train(); tr.save_state(); save_score(args.name, before, score(tr.model))
