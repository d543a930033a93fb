import argparse, copy
from pairs import *
import firstbreak
from datasets import Dataset
from transformers import Qwen2ForSequenceClassification
from trl import RewardTrainer, RewardConfig
ap = argparse.ArgumentParser(); ap.add_argument("--fault", default="none"); ap.add_argument("--name", required=True)
ap.add_argument("--set", default="{}"); args = ap.parse_args(); F = args.fault; opts = eval(args.set)
set_seed(2); tok = tokenizer(); base_model()
model = Qwen2ForSequenceClassification.from_pretrained(f"{HERE}/base_digits", num_labels=1, dtype=torch.float32)
rows = pairs(3000, 1, swap=0.5 if F == "half_swapped" else 0.0)
if F == "same_pair":
    for r in rows:
        r["rejected"] = r["chosen"]; r["rejected"][0]["content"] = r["chosen"][0]["content"]      # meant to be a corrupted copy
class T(RewardTrainer):
    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):
        l = super().compute_loss(model, inputs, return_outputs, num_items_in_batch)
        if F == "loss_sign": return (-l[0], l[1]) if return_outputs else -l
        return l
def acc(m):
    good = 0; m.eval(); ev = pairs(200, 9)
    for r in ev:
        ids = [tok(tok.apply_chat_template(r["prompt"] + r[k], tokenize=False), add_special_tokens=False, return_tensors="pt")["input_ids"] for k in ("chosen", "rejected")]
        with torch.no_grad(): a, b = (m(input_ids=i).logits.item() for i in ids)
        good += a > b
    m.train(); return good / 200
before = acc(model)
cfg = dict(output_dir=out_dir(args.name), per_device_train_batch_size=32, per_device_eval_batch_size=50, max_steps=80, learning_rate=1e-3, logging_steps=1, report_to="none", save_strategy="no",
           eval_strategy="steps", eval_steps=20, seed=3, use_cpu=True, disable_tqdm=True, lr_scheduler_type="linear", bf16=False, gradient_checkpointing=False, max_length=64)
cfg.update(opts); kw = {}
if F == "other_opt":
    first = model; model = copy.deepcopy(first); kw["optimizers"] = (torch.optim.AdamW(first.parameters(), lr=1e-3), None)
tr = T(model=model, args=RewardConfig(**cfg), train_dataset=Dataset.from_list(rows), eval_dataset=Dataset.from_list(pairs(100, 9)), processing_class=tok, callbacks=[firstbreak.recorder()], **kw)
tr.train(); tr.save_state(); save_score(args.name, before, acc(tr.model))
