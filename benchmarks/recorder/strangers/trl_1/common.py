import json, os, random, sys, warnings, logging
warnings.filterwarnings("ignore")
import torch
from tokenizers import Tokenizer, models, pre_tokenizers, Regex
from transformers import PreTrainedTokenizerFast, set_seed
torch.set_num_threads(1)
HERE = os.getcwd()
CHAT = ("{% for m in messages %}{{ '<|im_start|> ' + m['role'] + ' ' + m['content'] + ' <|im_end|> ' }}{% endfor %}"
        "{% if add_generation_prompt %}{{ '<|im_start|> assistant ' }}{% endif %}")

def word_tokenizer(words, specials, eos, pad, chat=None):
    vocab = {w: i for i, w in enumerate(specials + words)}
    t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tok = PreTrainedTokenizerFast(tokenizer_object=t, eos_token=eos, pad_token=pad, unk_token="<unk>",
                                  additional_special_tokens=[s for s in specials if s not in (eos, pad, "<unk>")])
    tok.padding_side = "left"
    if chat: tok.chat_template = chat
    return tok

def char_tokenizer(chars):
    vocab = {c: i for i, c in enumerate(["<pad>", "<unk>", "<eos>"] + list(chars))}
    t = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    t.pre_tokenizer = pre_tokenizers.Split(Regex("."), "isolated")
    from tokenizers import decoders
    t.decoder = decoders.Fuse()
    tok = PreTrainedTokenizerFast(tokenizer_object=t, eos_token="<eos>", pad_token="<pad>", unk_token="<unk>")
    tok.padding_side = "left"
    return tok

def pretrain(model, tok, sample, steps, lr=2e-3, bs=64):
    """teacher forcing on texts (prompt, completion incl. end token)"""
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    model.train()
    for s in range(steps):
        rows = [sample() for _ in range(bs)]
        P = [tok(p, add_special_tokens=False)["input_ids"] for p, _ in rows]
        C = [tok(c, add_special_tokens=False)["input_ids"] for _, c in rows]
        n = max(len(a) + len(b) for a, b in zip(P, C))
        ids = torch.tensor([[tok.pad_token_id] * (n - len(a) - len(b)) + a + b for a, b in zip(P, C)])
        att = torch.tensor([[0] * (n - len(a) - len(b)) + [1] * (len(a) + len(b)) for a, b in zip(P, C)])
        lab = torch.tensor([[-100] * (n - len(b)) + b for a, b in zip(P, C)])
        pos = (att.cumsum(1) - 1).clamp(min=0)
        loss = model(input_ids=ids, attention_mask=att, position_ids=pos, labels=lab).loss
        loss.backward(); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step(); opt.zero_grad()
        for g in opt.param_groups: g["lr"] = lr * (1 - s / steps)
    model.eval(); return loss.item()

@torch.no_grad()
def answers(model, tok, texts, eos_ids, n=14, sample=False):
    model.eval()
    P = [tok(p, add_special_tokens=False)["input_ids"] for p in texts]
    m = max(map(len, P))
    ids = torch.tensor([[tok.pad_token_id] * (m - len(a)) + a for a in P])
    att = torch.tensor([[0] * (m - len(a)) + [1] * len(a) for a in P])
    out = model.generate(input_ids=ids, attention_mask=att, max_new_tokens=n, do_sample=sample, top_k=0, eos_token_id=eos_ids,
                         pad_token_id=tok.pad_token_id)
    model.train()
    return tok.batch_decode(out[:, m:], skip_special_tokens=True)

def save_score(name, before, after, extra=None):
    os.makedirs(f"{HERE}/scores", exist_ok=True)
    json.dump({"before": before, "after": after, **(extra or {})}, open(f"{HERE}/scores/{name}.json", "w"))
    print(name, "score before", before, "after", after, flush=True)

def out_dir(name):
    import shutil
    d = f"{HERE}/runs/{name}"; shutil.rmtree(d, ignore_errors=True); return d
