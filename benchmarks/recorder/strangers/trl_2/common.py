import itertools, random, os, sys, torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast, LlamaConfig, LlamaForCausalLM, Qwen2Config, Qwen2ForCausalLM
torch.set_num_threads(1)
HERE = "."
LET = list("abcdefgh"); OUT = list("stuvwxyz")
TABLE = dict(zip(LET, [OUT[i] for i in (3, 6, 0, 5, 1, 7, 2, 4)]))

def tokenizer():
    words = ["<pad>", "</s>", "<unk>", "sort", "tr", ":", "="] + LET + OUT
    t = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(tokenizer_object=t, pad_token="<pad>", eos_token="</s>", unk_token="<unk>", padding_side="left")

def sort_rows(n, seed, split):
    allp = list(itertools.permutations(LET, 4)); random.Random(0).shuffle(allp)
    pool = allp[:1300] if split == "train" else allp[1300:]
    r = random.Random(seed); xs = [r.choice(pool) for _ in range(n)]
    return [{"prompt": "sort : " + " ".join(x) + " =", "answer": " ".join(sorted(x))} for x in xs]

def tr_rows(n, seed, split):
    allp = list(itertools.product(LET, repeat=3)); random.Random(1).shuffle(allp)
    pool = allp[:400] if split == "train" else allp[400:]
    r = random.Random(seed); xs = [r.choice(pool) for _ in range(n)]
    return [{"prompt": "tr : " + " ".join(x) + " =", "answer": " ".join(TABLE[c] for c in x)} for x in xs]

def score(completion, answer):
    c, a = completion.split(), answer.split()
    s = sum(x == y for x, y in zip(c, a)) / len(a)
    return s if len(c) == len(a) else 0.5 * s

def held_out(model, tok, rows, limit=10):
    model.eval(); torch.manual_seed(5)
    rows = [r for r in rows for _ in range(2)]
    enc = tok([r["prompt"] for r in rows], return_tensors="pt", padding=True)
    from transformers import GenerationConfig
    try:
        with torch.no_grad():
            out = model.generate(input_ids=enc["input_ids"], attention_mask=enc["attention_mask"], generation_config=GenerationConfig(do_sample=True, temperature=1.0, top_k=0, top_p=1.0, max_new_tokens=limit, pad_token_id=0, eos_token_id=1))
        texts = tok.batch_decode(out[:, enc["input_ids"].shape[1]:], skip_special_tokens=True)
        return sum(score(t, r["answer"]) for t, r in zip(texts, rows)) / len(rows)
    except Exception as e:
        return 0.0

def warm(kind, steps, noise, seed=0):
    torch.manual_seed(seed); tok = tokenizer()
    kw = dict(vocab_size=len(tok), hidden_size=64, intermediate_size=128, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64, pad_token_id=0, eos_token_id=1, bos_token_id=None)
    m = (LlamaForCausalLM(LlamaConfig(**kw)) if kind == "sort" else Qwen2ForCausalLM(Qwen2Config(**kw)))
    rows = (sort_rows if kind == "sort" else tr_rows)(3000, 3, "train")
    opt = torch.optim.AdamW(m.parameters(), 2e-3); r = random.Random(1)
    for i in range(steps):
        b = r.sample(rows, 64); ids = []
        for x in b:
            a = [w if r.random() > noise else r.choice(LET if kind == "sort" else OUT) for w in x["answer"].split()]
            ids.append((tok(x["prompt"])["input_ids"], tok(" ".join(a) + " </s>")["input_ids"]))
        x = torch.tensor([p + c for p, c in ids]); y = x.clone(); y[:, :len(ids[0][0])] = -100
        loss = m(input_ids=x, labels=y).loss; opt.zero_grad(); loss.backward(); opt.step()
    print(kind, steps, loss.item(), held_out(m, tok, (sort_rows if kind == "sort" else tr_rows)(128, 9, "test")), flush=True)
    m.save_pretrained(f"{HERE}/warm_{kind}"); tok.save_pretrained(f"{HERE}/warm_{kind}")

if __name__ == "__main__":
    warm("sort", int(sys.argv[1]), 0.45); warm("tr", int(sys.argv[2]), 0.45)
