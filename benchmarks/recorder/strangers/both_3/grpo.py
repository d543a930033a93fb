import sys, random, json, time
import numpy as np, torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, Qwen2Config, Qwen2ForCausalLM, TrainerCallback
from datasets import Dataset
from trl import GRPOConfig, GRPOTrainer
import firstbreak
V = sys.argv[1]; STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 120
torch.manual_seed(3); random.seed(3); np.random.seed(3)
L = "a b c d e f g h".split()
vocab = {w: i for i, w in enumerate(["<pad>", "<eos>", "<unk>", ">"] + L)}
t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>")); t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
tok = PreTrainedTokenizerFast(tokenizer_object=t, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>", padding_side="left")
model = Qwen2ForCausalLM(Qwen2Config(vocab_size=len(vocab), hidden_size=64, intermediate_size=128, num_hidden_layers=2,
    num_attention_heads=4, num_key_value_heads=2, max_position_embeddings=64, pad_token_id=0, eos_token_id=1, bos_token_id=None, tie_word_embeddings=False))
def sample(): return [random.choice(L) for _ in range(4)]
# warm-up
opt = torch.optim.AdamW(model.parameters(), 2e-3)
for i in range(260):
    rows = []
    for _ in range(64):
        x = sample(); y = x[::-1]
        y = [random.choice(L) if random.random() < .25 else c for c in y]
        rows.append([vocab[c] for c in x + [">"] + y] + [1])
    ids = torch.tensor(rows); lab = ids.clone(); lab[:, :5] = -100
    loss = model(input_ids=ids, labels=lab).loss; loss.backward(); opt.step(); opt.zero_grad()
def evaluate(n=200):
    st = random.getstate(); random.seed(99); xs = [sample() for _ in range(n)]; random.setstate(st)
    ids = torch.tensor([[vocab[c] for c in x] + [3] for x in xs]); model.eval()
    g = torch.random.get_rng_state()
    o = model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), do_sample=True, temperature=1.0, top_k=0, max_new_tokens=8)[:, 5:]
    torch.random.set_rng_state(g); model.train()
    return float(np.mean([tok.decode(r, skip_special_tokens=True).split() == x[::-1] for r, x in zip(o, xs)]))
ev0 = evaluate()
G = 8
def score(c, a):
    c, a = c.split(), a.split()
    if c == a: return 1.0
    return 0.5 * sum(p == q for p, q in zip(c, a)) / 4 * (len(c) == 4 or .6)
def reverse_reward(completions, answer, **kw):
    r = np.array([score(c, a) for c, a in zip(completions, answer)])
    if V == "t_rank": r = (np.argsort(r.reshape(-1, G), axis=1) / (G - 1)).reshape(-1)
    if V == "s_scale": r = r * 100
    return r.tolist()
def brevity(completions, **kw): return [-abs(len(c.split()) - 4) / 4 for c in completions]
data = [sample() for _ in range(600)]
def prompt(x):
    w = x + [">"]
    if V == "t_cut": w = w[-4:]
    return " ".join(w)
ds = Dataset.from_list([{"prompt": prompt(x), "answer": " ".join(x[::-1])} for x in data])
kw = dict(learning_rate=1e-3, num_generations=G, per_device_train_batch_size=64, max_completion_length=8, max_steps=STEPS, logging_steps=1,
    beta=0.0, temperature=1.0, use_cpu=True, bf16=False, report_to=[], output_dir=f"runs/{V}", save_strategy="no", seed=3, disable_tqdm=True, lr_scheduler_type="constant", gradient_checkpointing=False)
if V == "s_scale": kw.update(loss_type="dr_grpo", scale_rewards="none", beta=0.001)
if V == "s_iter": kw.update(num_iterations=3, importance_sampling_level="sequence", learning_rate=6e-4)
if V == "s_two": kw.update(reward_weights=[1.0, 0.1], temperature=1.3, mask_truncated_completions=True, optim="adafactor")
if V == "t_minlen": kw.update(generation_kwargs={"min_new_tokens": 7})
if V == "t_topp": kw.update(top_p=0.3)
cbs = [firstbreak.recorder()]
class EMA(TrainerCallback):
    def on_train_begin(self, *a, model=None, **k): self.s = {n: p.detach().clone() for n, p in model.named_parameters()}
    def on_step_end(self, *a, model=None, **k):
        with torch.no_grad():
            for n, p in model.named_parameters():
                self.s[n].mul_(.99).add_(p, alpha=.01); p.copy_(self.s[n])
if V == "t_ema": cbs.append(EMA())
if V == "s_scale": model.save_pretrained("m0"); tok.save_pretrained("m0"); model = Qwen2ForCausalLM.from_pretrained("m0")
tr = GRPOTrainer(model=model, reward_funcs=[reverse_reward, brevity] if V == "s_two" else reverse_reward, args=GRPOConfig(**kw), train_dataset=ds, processing_class=tok, callbacks=cbs)
t0 = time.time(); tr.train()
print("EVAL", V, "before", ev0, "after", evaluate(), "sec", round(time.time() - t0, 1))
