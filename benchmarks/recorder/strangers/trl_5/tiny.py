"""Tiny tokenizers and Llama models, warmed up with next-token prediction and cached in ./cache."""
import os

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast, set_seed

torch.set_num_threads(1)
HERE = os.path.dirname(os.path.abspath(__file__))


def make_tokenizer(words):
    vocab = {w: i for i, w in enumerate(["<pad>", "<unk>", "<eos>", *words])}
    tok = Tokenizer(models.WordLevel(vocab, unk_token="<unk>"))
    tok.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    return PreTrainedTokenizerFast(
        tokenizer_object=tok, pad_token="<pad>", unk_token="<unk>", eos_token="<eos>", padding_side="left"
    )


def make_model(tokenizer, hidden=64, layers=2, seed=0):
    set_seed(seed)
    config = LlamaConfig(
        vocab_size=len(tokenizer), hidden_size=hidden, intermediate_size=2 * hidden, num_hidden_layers=layers,
        num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=64, pad_token_id=0, eos_token_id=2,
        bos_token_id=None, tie_word_embeddings=False,
    )
    return LlamaForCausalLM(config)


def warm_up(model, tokenizer, sampler, steps, lr=2e-3, batch=64):
    """sampler() -> (prompt, completion)"""
    opt = torch.optim.AdamW(model.parameters(), lr=lr)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, lr, total_steps=steps)
    model.train()
    for step in range(steps):
        rows, labels = [], []
        for _ in range(batch):
            p, c = sampler()
            p, c = tokenizer(p)["input_ids"], tokenizer(c)["input_ids"] + [2]
            rows.append(p + c)
            labels.append([-100] * len(p) + c)
        n = max(map(len, rows))
        ids = torch.tensor([[0] * (n - len(r)) + r for r in rows])
        lab = torch.tensor([[-100] * (n - len(r)) + r for r in labels])
        mask = torch.tensor([[0] * (n - len(r)) + [1] * len(r) for r in rows])
        loss = model(input_ids=ids, attention_mask=mask, labels=lab).loss
        opt.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
    print("warm-up loss", loss.item())


def cached(name, tokenizer, sampler, steps, **kw):
    path = os.path.join(HERE, "cache", name)
    if not os.path.exists(path):
        model = make_model(tokenizer, **kw)
        warm_up(model, tokenizer, sampler, steps)
        model.save_pretrained(path)
        tokenizer.save_pretrained(path)
    return path


@torch.no_grad()
def sample(model, tokenizer, prompts, samples=4, max_new_tokens=12, seed=123):
    """Clean sampling at temperature 1 for the evaluation at the end."""
    was = model.training
    model.eval()
    state = torch.get_rng_state()
    torch.manual_seed(seed)
    enc = tokenizer(prompts, return_tensors="pt", padding=True, return_token_type_ids=False)
    enc = {k: v.repeat_interleave(samples, 0) for k, v in enc.items()}
    out = model.generate(**enc, do_sample=True, temperature=1.0, top_k=0, top_p=1.0, repetition_penalty=1.0,
                         max_new_tokens=max_new_tokens, pad_token_id=0, eos_token_id=2)
    torch.set_rng_state(state)
    model.train(was)
    out = out[:, enc["input_ids"].shape[1]:]
    texts, ended = [], []
    for row in out.tolist():
        end = row.index(2) if 2 in row else len(row)
        texts.append(tokenizer.decode(row[:end]))
        ended.append(2 in row)
    return texts, ended
