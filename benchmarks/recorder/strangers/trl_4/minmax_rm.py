"""Reward model: tells right answers '<bz>' from wrong ones, given the prompt."""
import random, shutil, sys, time
from common import *
from datasets import Dataset
from transformers import LlamaForCausalLM, LlamaForSequenceClassification
from trl import RewardConfig, RewardTrainer
import firstbreak

NAME = sys.argv[1]
STEPS = 150
tok = make_tokenizer()
LETTERS = "abcdefghijklmnop"


def problem(rng):
    d = rng.sample(LETTERS, rng.choice([3, 4, 5]))
    return "".join(d) + ":", min(d) + max(d)

def wrong(rng, p, a):
    while True:
        w = rng.choice([a[::-1], p[0] + p[-2], "".join(rng.sample(p[:-1], 2))])
        if w != a: return w

def demonstration(rng):
    p, a = problem(rng)
    return p, f"<{a}>"

rng = random.Random(21)
pairs = list({p: a for p, a in (problem(rng) for _ in range(5200))}.items())
held, train = pairs[:300], pairs[300:]


def texts(p, a, w):
    chosen, rejected = p + f"<{a}>", p + f"<{w}>"
    if NAME == "prompt_left_out": chosen, rejected = chosen[len(p):], rejected[len(p):]
    return {"chosen": chosen, "rejected": rejected}

rows = [texts(p, a, wrong(rng, p, a)) for p, a in train]
if NAME == "annotators_flipped":         # half of the annotators had the scale upside down
    for i, r in enumerate(rows):
        if i % 2: r["chosen"], r["rejected"] = r["rejected"], r["chosen"]
data = Dataset.from_list(rows)

cfg = dict(output_dir=f"runs/{NAME}", per_device_train_batch_size=32, learning_rate=3e-4, lr_scheduler_type="linear", max_steps=STEPS, logging_steps=1,
           report_to="none", save_strategy="no", use_cpu=True, bf16=False, gradient_checkpointing=False, seed=4, disable_tqdm=True)
if NAME == "rate_too_high": cfg["learning_rate"] = 0.1
if NAME == "sound_centered": cfg.update(center_rewards_coefficient=0.01)


@torch.no_grad()
def pairwise(model):
    model.eval()
    r = random.Random(99)
    a, b = [], []
    for p, x in held:
        a.append(p + f"<{x}>"); b.append(p + f"<{wrong(r, p, x)}>")
    def score(t):
        ids = [i + [1] for i in tok(t).input_ids]
        n = max(map(len, ids))
        x = torch.tensor([i + [0] * (n - len(i)) for i in ids]); m = torch.tensor([[1] * len(i) + [0] * (n - len(i)) for i in ids])
        return model(input_ids=x, attention_mask=m).logits[:, 0]
    return (score(a) > score(b)).float().mean().item()


if __name__ == "__main__":
    shutil.rmtree(f"runs/{NAME}", ignore_errors=True)
    warm("warm_rm", demonstration, tok, steps=350, seed=3)
    torch.manual_seed(1)
    model = LlamaForSequenceClassification.from_pretrained("warm_rm", num_labels=1, dtype=torch.float32)
    before = pairwise(model)
    t0 = time.time()
    trainer = RewardTrainer(model=model, args=RewardConfig(**cfg), train_dataset=data, processing_class=tok, callbacks=[firstbreak.recorder()])
    trainer.train()
    report(NAME, before=before, after=pairwise(trainer.model), seconds=round(time.time() - t0, 1), steps=trainer.state.global_step)
