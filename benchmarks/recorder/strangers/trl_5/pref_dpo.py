"""DPO: pairs of a right and a wrong sorting."""
import json, random, sys, time

import torch
from datasets import Dataset
from transformers import LlamaForCausalLM, set_seed
from trl import DPOConfig, DPOTrainer

import firstbreak
from tiny import cached, make_tokenizer, sample

name = sys.argv[1]
out = f"runs/{name}"
COLOURS = "red blue green black white pink grey brown".split()
tokenizer = make_tokenizer([*COLOURS, "reverse", ":", ">", "now"])
rng = random.Random(0)


def problem(r):
    words = r.choices(COLOURS, k=r.choice([3, 4]))
    return f"{r.choice(['reverse', 'now reverse'])} : {' '.join(words)} >", " ".join(reversed(words))


def spoil(r, answer):
    words = answer.split()
    u = r.random()
    if u < 0.4:
        words[r.randrange(len(words))] = r.choice(COLOURS)
    elif u < 0.7:
        i = r.randrange(len(words) - 1)
        words[i], words[i + 1] = words[i + 1], words[i]
    elif u < 0.85:
        words.pop()
    else:
        words.append(r.choice(COLOURS))
    return " ".join(words)


def noisy():
    p, a = problem(rng)
    return p, spoil(rng, a) if rng.random() < 0.6 else a


path = cached("colours", tokenizer, noisy, 600)

data_rng = random.Random(1)
rows = []
for _ in range(1600):
    p, a = problem(data_rng)
    b = spoil(data_rng, a)
    while b == a:
        b = spoil(data_rng, a)
    rows.append((p, a, b))
seen = {p for p, _, _ in rows}
held_out = []
while len(held_out) < 128:
    p, a = problem(data_rng)
    if p not in seen:
        b = spoil(data_rng, a)
        if a != b:
            held_out.append((p, a, b))


def dataset(rows):
    return Dataset.from_list([{"prompt": p, "chosen": " " + a, "rejected": " " + b} for p, a, b in rows])


settings = dict(
    output_dir=out, per_device_train_batch_size=16, max_steps=80, learning_rate=3e-4, lr_scheduler_type="cosine",
    logging_steps=1, report_to=[], seed=4, beta=0.3, save_strategy="no", eval_strategy="steps", eval_steps=20,
    per_device_eval_batch_size=32, use_cpu=True, bf16=False, disable_tqdm=True, gradient_checkpointing=False,
    dataloader_pin_memory=False, max_length=64,
)
model = LlamaForCausalLM.from_pretrained(path)
ref = None

if name == "pref_max_length":
    settings.update(max_length=8)
elif name == "pref_smoothing":
    settings.update(label_smoothing=0.5)
elif name == "pref_swapped":
    # the annotators' A and B were exchanged for one of the two files
    rows = [(p, b, a) if p.startswith("now") else (p, a, b) for p, a, b in rows]
elif name == "pref_ipo":
    settings.update(loss_type=["ipo"], beta=0.1)
elif name == "pref_hinge_small_beta":
    settings.update(loss_type=["hinge"], beta=0.05)

set_seed(4)
start = time.time()
trainer = DPOTrainer(
    model=model, ref_model=ref, args=DPOConfig(**settings), train_dataset=dataset(rows), eval_dataset=dataset(held_out[:32]),
    processing_class=tokenizer, callbacks=[firstbreak.recorder()],
)
trainer.train()


def evaluate(model):
    test = held_out[32:]
    texts, ended = sample(model, tokenizer, [p for p, _, _ in test])
    ok = [e and t.split() == test[i // 4][1].split() for i, (t, e) in enumerate(zip(texts, ended))]
    return sum(ok) / len(ok)


result = {"name": name, "before": evaluate(LlamaForCausalLM.from_pretrained(path)),
          "after": evaluate(trainer.accelerator.unwrap_model(trainer.model)), "seconds": time.time() - start}
print(json.dumps(result))
with open("results.jsonl", "a") as f:
    f.write(json.dumps(result) + "\n")
