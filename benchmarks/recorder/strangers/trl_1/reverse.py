import argparse, copy, random
from common import *
import firstbreak
from datasets import Dataset
from transformers import LlamaConfig, LlamaForCausalLM, TrainerCallback
from trl import GRPOTrainer, GRPOConfig, RLOOTrainer, RLOOConfig
ap = argparse.ArgumentParser(); ap.add_argument("--fault", default="none"); ap.add_argument("--name", required=True)
ap.add_argument("--algo", default="rloo"); ap.add_argument("--set", default="{}"); args = ap.parse_args()
F = args.fault; opts = eval(args.set)
L = "abcdefgh"; tok = char_tokenizer(L + ">|")
def fresh():
    return LlamaForCausalLM(LlamaConfig(vocab_size=len(tok), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4,
        num_key_value_heads=4, max_position_embeddings=64, pad_token_id=tok.pad_token_id, eos_token_id=tok.eos_token_id, bos_token_id=None, tie_word_embeddings=True))
def word(): return "".join(random.choice(L) for _ in range(random.choice([2, 3, 4])))
def base():
    p = f"{HERE}/base_reverse"
    if os.path.exists(p): return LlamaForCausalLM.from_pretrained(p, dtype=torch.float32)
    set_seed(3); m = fresh()
    def s():
        w = word(); t = list(w[::-1])
        for i in range(len(t)):
            if random.random() < .3: t[i] = random.choice(L)
        t = "".join(t)
        u = random.random()
        if u < .1: t = t[:-1]
        elif u < .3: t += random.choice(L)
        return f"|{w}>", t + "<eos>"
    print("pretrain", pretrain(m, tok, s, 1500)); m.save_pretrained(p); return m
def score(m):
    r = random.Random(0); ws = ["".join(r.choice(L) for _ in range(r.choice([2, 3, 4]))) for _ in range(200)]
    st = torch.get_rng_state(); torch.manual_seed(0)
    g = answers(m, tok, [f"|{w}>" for w in ws], [tok.eos_token_id], n=8, sample=True); torch.set_rng_state(st)
    return round(sum(value(a, w[::-1]) for a, w in zip(g, ws)) / len(ws), 3)
def value(c, t):
    return max(0.0, sum(x == y for x, y in zip(c, t)) / len(t) - 0.25 * abs(len(c) - len(t)))
set_seed(21)
model = base(); before = score(model)
ws = [word() for _ in range(1500)]
prompts = [f"|{w}>" for w in ws]
if F == "cut_prompts": prompts = [p[:2] for p in prompts]           # "max prompt length"
ds = Dataset.from_list([{"prompt": p, "solution": w[::-1]} for p, w in zip(prompts, ws)])

def positions(prompts, completions, solution, **kw):
    out = []
    for c, t in zip(completions, solution):
        if F == "off_by_one":
            t = t[1:] + " "                                           # skip the leading space that the tokenizer adds (it does not)
        out.append(value(c, t))
    return out
def contains(prompts, completions, **kw):
    gold = kw.get("target", [""] * len(completions))                  # the column is called solution
    return [1.0 if g in c else 0.0 for c, g in zip(completions, gold)]
reward = contains if F == "empty_gold" else positions

Base = RLOOTrainer if args.algo == "rloo" else GRPOTrainer
Config = RLOOConfig if args.algo == "rloo" else GRPOConfig
class T(Base):
    n = 0
    def _generate_single_turn(self, *a, **k):
        if F == "lag" and self.model.training:
            if self.n % 25 == 0: self.engine = fresh().eval(); self.engine.load_state_dict(self.model.state_dict())      # sync the engine
            self.n += 1
            keep = self.model_wrapped; self.model_wrapped = self.engine
            try: return super()._generate_single_turn(*a, **k)
            finally: self.model_wrapped = keep
        return super()._generate_single_turn(*a, **k)
cfg = dict(output_dir=out_dir(args.name), per_device_train_batch_size=32, gradient_accumulation_steps=2, num_generations=4, max_completion_length=8,
           max_steps=70, learning_rate=5e-4, beta=0.05, logging_steps=1, report_to="none", save_strategy="no", seed=5, use_cpu=True, disable_tqdm=True,
           lr_scheduler_type="linear", bf16=False, gradient_checkpointing=False, temperature=1.0)
cfg.update({"beta_huge": dict(beta=20.0), "wrong_ref": dict(beta=0.5), "reward_clip": dict(reward_clip_range=(2.0, 10.0)), "beta_neg": dict(beta=-0.5),
            "weight_decay": dict(weight_decay=20.0)}.get(F, {})); cfg.update(opts)
kw = {}
if F == "maximize": kw["optimizers"] = (torch.optim.AdamW(model.parameters(), lr=5e-4, maximize=True), None)
tr = T(model=model, args=Config(**cfg), reward_funcs=reward, train_dataset=ds, processing_class=tok, callbacks=[firstbreak.recorder()], **kw)
if F == "wrong_ref":
    tr.ref_model.load_state_dict(fresh().state_dict())      # "base" checkpoint, in fact an untrained one
tr.train(); tr.save_state()
try: after = score(tr.model)
except Exception as e: after = 0.0; print(repr(e)[:200])
save_score(args.name, before, after)
