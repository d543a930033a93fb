# DPO and a reward model on pairs of sorted / unsorted letters
import argparse, json, random, time, warnings
warnings.filterwarnings("ignore")
import torch
from datasets import Dataset
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification, AutoTokenizer
from trl import DPOConfig, DPOTrainer, RewardConfig, RewardTrainer
import firstbreak
from common import *
p = argparse.ArgumentParser(); p.add_argument("--fault", default="d_base"); F = p.parse_args().fault
OUTDIR = f"{HERE}/runs/{F}"; dpo = F.startswith("d_")
tok = PreTrainedTokenizerFast.from_pretrained(f"{HERE}/warm_sort")
def pair(r, rng):
    a = r["answer"].split(); b = list(a)
    if r.get("sample") and r["sample"].split() != a: b = r["sample"].split()
    while b == a:
        b = [rng.choice(LET) if rng.random() < 0.45 else x for x in a]
    return {"prompt": r["prompt"], "good": " " + " ".join(a), "bad": " " + " ".join(b)}
def pairs(n, seed, split):
    rng = random.Random(seed); rs = sort_rows(n, seed, split)  # rejected: samples of the policy before training, where wrong
    m = AutoModelForCausalLM.from_pretrained(f"{HERE}/warm_sort"); torch.manual_seed(seed)
    e = tok([r["prompt"] for r in rs], return_tensors="pt", padding=True)
    with torch.no_grad(): o = m.generate(**{k: e[k] for k in ("input_ids", "attention_mask")}, do_sample=True, top_k=0, max_new_tokens=8, pad_token_id=0, eos_token_id=1)
    for r, t in zip(rs, tok.batch_decode(o[:, e["input_ids"].shape[1]:], skip_special_tokens=True)): r["sample"] = t
    return [pair(r, rng) for r in rs]
rows, held = pairs(1200, 31, "train"), pairs(128, 32, "test")
def fmt(r):
    d = {"prompt": r["prompt"], "chosen": r["good"], "rejected": r["bad"]}
    if F == "d_swapped": d["chosen"], d["rejected"] = r["bad"], r["good"]
    if F == "m_same_text": d["rejected"] = r["good"]
    return d
train, ev = Dataset.from_list([fmt(r) for r in rows]), Dataset.from_list([fmt(r) for r in held[:32]])
cfg = dict(output_dir=OUTDIR, max_steps=60, per_device_train_batch_size=32, logging_steps=1, report_to="none", save_strategy="no", seed=5, disable_tqdm=True, use_cpu=True, bf16=False,
           eval_strategy="steps", eval_steps=20, lr_scheduler_type="constant", learning_rate=3e-4, max_length=32)
t0 = time.time(); err = None
if dpo:
    model = AutoModelForCausalLM.from_pretrained(f"{HERE}/warm_sort"); ref = None
    cfg.update(beta=1.0, learning_rate=1e-4)
    if F == "d_ref_random": ref = AutoModelForCausalLM.from_config(model.config)
    if F == "d_ref_rows":
        def lp(prompt, c):
            i = tok(prompt)["input_ids"]; j = i + tok(c)["input_ids"] + [1]
            with torch.no_grad(): l = model(input_ids=torch.tensor([j])).logits.log_softmax(-1)[0, :-1]
            return sum(l[k - 1, j[k]].item() for k in range(len(i), len(j)))
        model.eval()
        refs = [(lp(r["prompt"], r["good"]), lp(r["prompt"], r["bad"])) for r in rows]
        train = train.shuffle(seed=1)
        cfg["precompute_ref_log_probs"] = True
    if F == "d_ok_precompute": cfg.update(precompute_ref_log_probs=True, label_smoothing=0.1)
    tr = DPOTrainer(model=model, ref_model=ref, args=DPOConfig(**cfg), train_dataset=train, eval_dataset=ev, processing_class=tok, callbacks=[firstbreak.recorder()])
    if F == "d_ref_rows":  # values of my cache file, worked out for the rows before the shuffle
        ds = tr.train_dataset.remove_columns(["ref_chosen_logps", "ref_rejected_logps"])
        tr.train_dataset = ds.add_column("ref_chosen_logps", [x for x, _ in refs]).add_column("ref_rejected_logps", [y for _, y in refs])
    test = sort_rows(128, 9, "test")
    before = held_out(AutoModelForCausalLM.from_pretrained(f"{HERE}/warm_sort"), tok, test)
    try: tr.train()
    except Exception as e: err = repr(e)[:300]
    after = held_out(model, tok, test)
else:
    torch.manual_seed(0)
    model = AutoModelForSequenceClassification.from_pretrained(f"{HERE}/warm_sort", num_labels=1)
    model.config.pad_token_id = tok.pad_token_id
    if F == "m_center": cfg["center_rewards_coefficient"] = 10.0
    cfg["learning_rate"] = 1e-3
    tr = RewardTrainer(model=model, args=RewardConfig(**cfg), train_dataset=train, eval_dataset=ev, processing_class=tok, callbacks=[firstbreak.recorder()])
    def acc():
        model.eval(); tok.padding_side = "right"; s = []
        for k in ("good", "bad"):
            e = tok([r["prompt"] + r[k] + " </s>" for r in held], return_tensors="pt", padding=True)
            with torch.no_grad(): s.append(model(input_ids=e["input_ids"], attention_mask=e["attention_mask"]).logits[:, 0])
        return (s[0] > s[1]).float().mean().item()
    before = acc()
    try: tr.train()
    except Exception as e: err = repr(e)[:300]
    after = acc()
json.dump({"fault": F, "before": before, "after": after, "error": err, "s": time.time() - t0}, open(f"{HERE}/scores/{F}.json", "w"))
print("RESULT", F, round(before, 3), round(after, 3), err, round(time.time() - t0, 1))
