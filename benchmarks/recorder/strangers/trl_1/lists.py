import argparse, copy, random
from common import *
import firstbreak
from datasets import Dataset
from transformers import GPT2Config, GPT2LMHeadModel
from peft import LoraConfig
from trl import GRPOTrainer, GRPOConfig
ap = argparse.ArgumentParser(); ap.add_argument("--fault", default="none"); ap.add_argument("--name", required=True)
ap.add_argument("--set", default="{}"); args = ap.parse_args()
F = args.fault; opts = eval(args.set)
CATS = {"animals": "cat dog cow pig hen fox owl bee".split(), "colours": "red blue green pink grey black white brown".split(),
        "foods": "rice bread soup cake fish egg corn plum".split(), "tools": "saw axe drill file nail rope pump glue".split()}
ALL = sum(CATS.values(), []); MORE = "and also the or nice some list of give me three please : .".split()
tok = word_tokenizer(list(CATS) + ALL + MORE, ["<pad>", "<unk>", "<end>"], "<end>", "<pad>")
ASK = ["list {c} :", "give me some {c} :", "three {c} please :", "{c} :"]
def base():
    p = f"{HERE}/base_lists"
    if os.path.exists(p): return GPT2LMHeadModel.from_pretrained(p, dtype=torch.float32)
    set_seed(9)
    m = GPT2LMHeadModel(GPT2Config(vocab_size=len(tok), n_embd=64, n_layer=2, n_head=4, n_positions=64, resid_pdrop=0., embd_pdrop=0., attn_pdrop=0.,
                        bos_token_id=None, eos_token_id=tok.eos_token_id, pad_token_id=tok.pad_token_id))
    def s():
        c = random.choice(list(CATS)); n = random.choice([1, 2, 3, 3, 4, 5])
        w = [random.choice(CATS[c]) if random.random() < .5 else random.choice(ALL) for _ in range(n)]
        return random.choice(ASK).format(c=c) + " ", " ".join(w) + random.choice([" .", ""]) + " <end>"
    print("pretrain", pretrain(m, tok, s, 800)); m.save_pretrained(p); return m
def quality(text, c):
    w = [x for x in text.split() if x != "."]
    return len({x for x in w if x in CATS[c]}) / max(3, len(w))
def score(m):
    r = random.Random(0); cs = [r.choice(list(CATS)) for _ in range(160)]
    st = torch.get_rng_state(); torch.manual_seed(0)
    g = answers(m, tok, [r.choice(ASK).format(c=c) for c in cs], [tok.eos_token_id], n=10, sample=True); torch.set_rng_state(st)
    return round(sum(quality(a, c) for a, c in zip(g, cs)) / len(cs), 3)
set_seed(4); model = base(); before = score(model)
rows = [{"prompt": f.format(c=c), "category": c} for f in ASK for c in CATS] * 80
ds = Dataset.from_list(rows)
def in_category(completions, category, **kw):
    if F == "repeat_pay": return [0.25 * sum(x in CATS[c] for x in t.split()) for t, c in zip(completions, category)]
    return [quality(t, c) for t, c in zip(completions, category)]
def full_stop(completions, **kw):
    return [0.2 if t.strip().endswith(".") else 0.0 for t in completions]
class T(GRPOTrainer):
    def _generate_single_turn(self, prompt_ids, *a, **k):
        if F == "base_samples":
            with self.accelerator.unwrap_model(self.model).disable_adapter(): return super()._generate_single_turn(prompt_ids, *a, **k)
        if F == "copies":
            G = self.num_generations
            ids, lp = super()._generate_single_turn(prompt_ids[::G], *a, **k)       # generate once for each prompt ...
            return [list(x) for x in ids for _ in range(G)], lp                    # ... and "expand" to the group
        return super()._generate_single_turn(prompt_ids, *a, **k)
cfg = dict(output_dir=out_dir(args.name), per_device_train_batch_size=48, num_generations=6, max_completion_length=10, max_steps=70, learning_rate=3e-3,
           beta=0.02, logging_steps=1, report_to="none", save_strategy="no", seed=1, use_cpu=True, disable_tqdm=True, lr_scheduler_type="constant", bf16=False,
           gradient_checkpointing=False, reward_weights=[1.0, 1.0])
cfg.update({"weights": dict(reward_weights=[0.0, 1.0])}.get(F, {})); cfg.update(opts)
lora = LoraConfig(r=8, lora_alpha=0 if F == "lora_alpha0" else 16, target_modules=["c_attn", "c_proj", "c_fc"], task_type="CAUSAL_LM", lora_dropout=0.0, fan_in_fan_out=True)
tr = T(model=model, args=GRPOConfig(**cfg), reward_funcs=[in_category, full_stop], train_dataset=ds, processing_class=tok, peft_config=lora, callbacks=[firstbreak.recorder()])
tr.train(); tr.save_state()
save_score(args.name, before, score(tr.model))
