"""GRPO with TRL: reverse a word of 4 letters. Usage: grpo_reverse.py OUT [FAULT]"""
import random, sys, time, json, os
import torch
torch.set_num_threads(1)
from datasets import Dataset
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, TrainerCallback
from trl import GRPOConfig, GRPOTrainer
import firstbreak

out, fault = sys.argv[1], (sys.argv[2] if len(sys.argv) > 2 else "none")
random.seed(0); torch.manual_seed(0)
LETTERS = list("abcdefgh")
vocab = {t: i for i, t in enumerate(["<pad>", "<eos>", "rev", "="] + LETTERS)}
tok = PreTrainedTokenizerFast(
    tokenizer_object=(lambda t: (setattr(t, "pre_tokenizer", pre_tokenizers.Whitespace()), t)[1])(
        Tokenizer(models.WordLevel(vocab, unk_token="<pad>"))),
    pad_token="<pad>", eos_token="<eos>", padding_side="left")

def make(n, seed):
    r = random.Random(seed)
    rows = []
    for _ in range(n):
        w = [r.choice(LETTERS) for _ in range(r.choice([3, 4]))]
        rows.append({"prompt": "rev " + " ".join(w) + " =", "answer": " ".join(reversed(w))})
    return rows

train, held = make(2000, 1), make(96, 2)
model = LlamaForCausalLM(LlamaConfig(
    vocab_size=len(vocab), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
    max_position_embeddings=64, pad_token_id=0, eos_token_id=1, bos_token_id=None))

# supervised warm-up on a few words
opt = torch.optim.AdamW(model.parameters(), lr=3e-3)
warm = make(3000, 3)
for i in range(int(os.environ.get("WARM", 90))):
    rows = random.sample(warm, 32)
    full = [r["prompt"] + " " + r["answer"] + " <eos>" for r in rows]
    enc = tok(full, return_tensors="pt", padding=True)
    labels = enc["input_ids"].clone()
    for j, r in enumerate(rows):
        eq = (enc["input_ids"][j] == vocab["="]).nonzero()[0, 0]
        labels[j, : eq + 1] = -100
    loss = model(input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], labels=labels).loss
    opt.zero_grad(); loss.backward(); opt.step()

@torch.no_grad()
def exact_match(model):
    was = model.training
    model.eval()
    enc = tok([r["prompt"] for r in held], return_tensors="pt", padding=True)
    enc.pop("token_type_ids", None)
    gen = model.generate(**enc, max_new_tokens=7, do_sample=False)
    texts = tok.batch_decode(gen[:, enc["input_ids"].shape[1]:], skip_special_tokens=True)
    model.train(was)
    return sum(t.strip() == r["answer"] for t, r in zip(texts, held)) / len(held)

class Evaluate(TrainerCallback):
    def on_step_begin(self, args, state, control, **kw):
        if state.global_step % 20 == 0:
            self.trainer.log({"eval_exact_match": exact_match(self.trainer.model)})
    def on_train_end(self, args, state, control, **kw):
        self.trainer.log({"eval_exact_match": exact_match(self.trainer.model)})

def exact(completions, answer, **kw):
    return [float(c.strip() == a) for c, a in zip(completions, answer)]

def letters(completions, answer, **kw):
    scores = []
    for c, a in zip(completions, answer):
        c, a = c.split(), a.split()
        if fault == "prefix":       # only as many positions as the completion has
            n = len(c)
        else:
            n = max(len(c), len(a))
        scores.append(sum(x == y for x, y in zip(c, a)) / max(n, 1) if c else float(fault == "prefix"))
    return scores

if fault == "prefix":
    def exact(completions, answer, **kw):      # startswith the wrong way round
        return [float(a.startswith(c.strip())) for c, a in zip(completions, answer)]
if fault == "labels":                          # answers of the unsorted frame beside prompts of the sorted one
    order = sorted(range(len(train)), key=lambda i: len(train[i]["prompt"]))
    answers = [r["answer"] for r in train]
    train = [{"prompt": train[i]["prompt"], "answer": answers[k]} for k, i in enumerate(order)]

kw = dict(learning_rate=5e-4, temperature=1.0)
if fault == "repetition": kw["repetition_penalty"] = 1.5
if fault == "norepeat": kw["generation_kwargs"] = {"no_repeat_ngram_size": 1}
if fault == "temperature": kw["temperature"] = 0.05
if fault == "lr": kw["learning_rate"] = 3e-2

class Trainer(GRPOTrainer):
    def _generate_and_score_completions(self, inputs):
        o = super()._generate_and_score_completions(inputs)
        if fault == "sorted":    # long completions first, so that minibatches have little padding; advantages forgotten
            order = o["completion_mask"].sum(1).argsort(descending=True, stable=True)
            for k in ("prompt_ids", "prompt_mask", "completion_ids", "completion_mask"):
                o[k] = o[k][order]
            for k in ("old_per_token_logps", "ref_per_token_logps"):
                if o.get(k) is not None: o[k] = o[k][order]
        return o

args = GRPOConfig(
    output_dir=out, per_device_train_batch_size=64, num_generations=8, max_completion_length=7,
    max_steps=int(os.environ.get("STEPS", 200)), logging_steps=1, save_strategy="no", report_to="none", beta=0.0,
    lr_scheduler_type="constant", bf16=False, use_cpu=True, disable_tqdm=True, seed=0, **kw)
ev = Evaluate()
t = time.time()
trainer = Trainer(model=model, reward_funcs=[exact, letters], args=args, train_dataset=Dataset.from_list(train),
                  processing_class=tok, callbacks=[firstbreak.recorder(), ev])
ev.trainer = trainer
first = exact_match(model)
trainer.train()
trainer.save_state()
rew = [h["reward"] for h in trainer.state.log_history if "reward" in h]
print("RESULT", out, fault, "eval", first, "->", exact_match(model), "reward", sum(rew[:5]) / 5, "->", sum(rew[-5:]) / 5, f"{time.time()-t:.0f}s")
