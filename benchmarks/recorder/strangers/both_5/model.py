import torch, torch.nn as nn, torch.nn.functional as F
CHARS = "0123456789>"
PAD, EOS = 11, 12
V = 13
STOI = {c: i for i, c in enumerate(CHARS)}
MAX_NEW = 7          # up to 6 digits and the end


def make_prompt(rng):
    return "".join(rng.choice("0123456789") for _ in range(rng.randint(3, 6))) + ">"


def gold(prompt):
    return "".join(sorted(prompt[:-1]))


def encode_prompts(ps, width=None):
    width = width or max(map(len, ps))
    out = torch.full((len(ps), width), PAD)
    for i, p in enumerate(ps):
        out[i, width - len(p):] = torch.tensor([STOI[c] for c in p])
    return out


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 3 * d), nn.Linear(3 * d, d)

    def forward(self, x, bias):
        B, T, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(B, T, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + self.o(a.transpose(1, 2).reshape(B, T, d))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class TinyLM(nn.Module):
    def __init__(self, d=48, h=4, layers=2):
        super().__init__()
        self.tok, self.pos = nn.Embedding(V, d), nn.Embedding(20, d)
        self.blocks = nn.ModuleList(Block(d, h) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, V)

    def forward(self, ids, attn):
        """attn: (B, T) true where a token is no padding; positions are counted without padding."""
        pos = (attn.long().cumsum(1) - 1).clamp(min=0)
        x = self.tok(ids) + self.pos(pos)
        T = ids.shape[1]
        ok = torch.tril(torch.ones(T, T, dtype=torch.bool)) & attn[:, None, :]
        ok = ok | torch.eye(T, dtype=torch.bool)
        bias = torch.zeros(ok.shape, dtype=x.dtype).masked_fill(~ok, -1e4)[:, None]
        for b in self.blocks:
            x = b(x, bias)
        return self.head(self.norm(x))
