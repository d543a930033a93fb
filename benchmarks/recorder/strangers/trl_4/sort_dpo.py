"""DPO on pairs: digits sorted upwards are preferred to what the warm-up model writes. '3142=' -> '1234'."""
import copy, random, shutil, sys, time
from common import *
from datasets import Dataset
from transformers import LlamaForCausalLM
from trl import DPOConfig, DPOTrainer
import firstbreak

NAME = sys.argv[1]
STEPS = 70
tok = make_tokenizer()


def problem(rng):
    d = [rng.choice("0123456789") for _ in range(rng.choice([4, 4, 5]))]
    return "".join(d) + "=", "".join(sorted(d))


def demonstration(rng):
    p, a = problem(rng)
    u = rng.random()
    if u < 0.3: c = a
    elif u < 0.85: c = a[::-1]
    else: c = "".join(rng.sample(a, len(a)))
    return p, c


def start_model(): return warm("warm_dpo", demonstration, tok, steps=600, seed=2)


rng = random.Random(5)
pairs = list({p: a for p, a in (problem(rng) for _ in range(2600))}.items())
held, train = pairs[:200], pairs[200:]
right = lambda t, a: t == a


def inversions(text):       # number of neighbours in the wrong order: smaller is better
    return sum(x > y for x, y in zip(text, text[1:]))

rows = []
for p, a in train:
    bad = a[::-1] if rng.random() < 0.7 else "".join(rng.sample(a, len(a)))
    if bad == a: continue
    two = sorted([a, bad], key=inversions)
    if NAME == "score_is_a_penalty": two.reverse()          # takes the larger number of inversions as the better text
    rows.append({"prompt": p, "chosen": two[0], "rejected": two[1]})
if NAME == "rejected_off_by_one_row":     # chosen and rejected come from two files, of which one has a header that was counted as a row
    good = [r["chosen"] for r in rows]
    for i, r in enumerate(rows): r["chosen"] = good[i - 1]
data = Dataset.from_list(rows)

cfg = dict(output_dir=f"runs/{NAME}", per_device_train_batch_size=32, learning_rate=1e-4, lr_scheduler_type="linear", max_steps=STEPS, beta=0.1,
           logging_steps=1, report_to="none", save_strategy="no", use_cpu=True, bf16=False, gradient_checkpointing=False, seed=4, disable_tqdm=True)
if NAME == "sound_ipo": cfg.update(loss_type="ipo", beta=0.2)




if __name__ == "__main__":
    shutil.rmtree(f"runs/{NAME}", ignore_errors=True)
    ev = lambda m: [accuracy(m, tok, [p for p, _ in held] * 2, [a for _, a in held] * 2, right),
                    accuracy(m, tok, [p for p, _ in held], [a for _, a in held], right, sample=False)]
    model = start_model()
    before = ev(model)
    ref = None
    if NAME == "reference_from_config":   # AutoModel.from_config instead of from_pretrained
        torch.manual_seed(0)
        ref = LlamaForCausalLM(model.config)
    if NAME == "only_norms_train":        # a filter of names for an adapter, which this model does not have
        for n, p in model.named_parameters(): p.requires_grad = "lora" in n or "norm" in n
    t0 = time.time()
    trainer = DPOTrainer(model=model, ref_model=ref, args=DPOConfig(**cfg), train_dataset=data, processing_class=tok, callbacks=[firstbreak.recorder()])
    trainer.train()
    report(NAME, before=before, after=ev(trainer.model.float()), seconds=round(time.time() - t0, 1), steps=trainer.state.global_step)
