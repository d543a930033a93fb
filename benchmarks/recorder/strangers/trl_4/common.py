"""Tokenizer, tiny model, warm-up and evaluation, shared by the scripts."""
import json, os, random, sys
import torch
torch.set_num_threads(1)
from tokenizers import Tokenizer, Regex, models, pre_tokenizers, decoders
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CHARS = "0123456789abcdefghijklmnop<>=:+ "


def make_tokenizer():
    vocab = {t: i for i, t in enumerate(["<pad>", "<eos>", "<unk>"] + list(CHARS))}
    t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Split(Regex("[\\s\\S]"), "isolated")
    t.decoder = decoders.Fuse()
    return PreTrainedTokenizerFast(tokenizer_object=t, pad_token="<pad>", eos_token="<eos>", unk_token="<unk>",
                                   padding_side="left", clean_up_tokenization_spaces=False)


def make_config(tok, layers=2, hidden=64):
    return LlamaConfig(vocab_size=len(tok), hidden_size=hidden, intermediate_size=2 * hidden, num_hidden_layers=layers,
                       num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64,
                       initializer_range=0.08, pad_token_id=0, eos_token_id=1, bos_token_id=None,
                       tie_word_embeddings=False)


def warm(path, draw, tok, steps=700, lr=3e-3, seed=0):
    """Short supervised warm-up on imperfect demonstrations; cached in the folder."""
    if not os.path.exists(path + "/config.json"):
        torch.manual_seed(seed)
        rng = random.Random(seed)
        model = LlamaForCausalLM(make_config(tok))
        opt = torch.optim.AdamW(model.parameters(), lr=lr, weight_decay=0.01)
        for s in range(steps):
            for g in opt.param_groups:
                g["lr"] = lr * min(1, (s + 1) / 50) * (1 - s / steps)
            rows = [draw(rng) for _ in range(96)]
            ids = [tok(p).input_ids + tok(c).input_ids + [1] for p, c in rows]
            lab = [[-100] * len(p) + i[len(p):] for (p, c), i in zip(rows, ids)]
            n = max(map(len, ids))
            x = torch.tensor([[0] * (n - len(i)) + i for i in ids])
            y = torch.tensor([[-100] * (n - len(i)) + i for i in lab])
            m = torch.tensor([[0] * (n - len(i)) + [1] * len(i) for i in ids])
            loss = model(input_ids=x, attention_mask=m, labels=y).loss
            opt.zero_grad(); loss.backward(); opt.step()
            if s % 100 == 0:
                print("warm", s, round(loss.item(), 3), flush=True)
        model.save_pretrained(path)
    return LlamaForCausalLM.from_pretrained(path, dtype=torch.float32)


@torch.no_grad()
def generate(model, tok, prompts, limit=10, sample=True, seed=1):
    was = model.training
    model.eval()
    b = tok(prompts, return_tensors="pt", padding=True, padding_side="left")
    if sample:
        torch.manual_seed(seed)
    out = model.generate(input_ids=b["input_ids"], attention_mask=b["attention_mask"], max_new_tokens=limit, top_k=0,
                         do_sample=sample, remove_invalid_values=True, pad_token_id=0, eos_token_id=1)
    model.train(was)
    return tok.batch_decode(out[:, b["input_ids"].shape[1]:], skip_special_tokens=True)


def accuracy(model, tok, prompts, answers, right, **kw):
    texts = generate(model, tok, prompts, **kw)
    return sum(bool(right(t, a)) for t, a in zip(texts, answers)) / len(texts)


def report(name, **numbers):
    os.makedirs("evals", exist_ok=True)
    json.dump(numbers, open(f"evals/{name}.json", "w"))
    print("EVALUATION", name, numbers, flush=True)
