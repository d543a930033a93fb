"""A small causal transformer over characters: about 10^5 parameters, trained in seconds on one core."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from firstbreak_lab.language.tasks import ALPHABET

PAD, EOS = 0, 1
VOCABULARY = 2 + len(ALPHABET)
CONTEXT = 64

_CODES = {character: code for code, character in enumerate(ALPHABET, start=2)}

Cache = list[tuple[Tensor, Tensor]]  #: keys and values of each layer, each (batch, heads, length, width / heads)


def encode(texts: list[str]) -> Tensor:
    """Texts of equal length as tokens, shape (batch, length)."""
    return torch.tensor([[_CODES[c] for c in text] for text in texts])


def decode(tokens: Tensor) -> list[str]:
    """The text of each row up to its end-of-sequence token."""
    texts = []
    for row in tokens.tolist():
        end = row.index(EOS) if EOS in row else len(row)
        texts.append("".join(ALPHABET[code - 2] for code in row[:end] if code != PAD))
    return texts


class Block(nn.Module):
    """Attention, then a two-layer perceptron, each on a normalised residual stream."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor, past: tuple[Tensor, Tensor] | None) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        batch, length, width = x.shape
        q, k, v = (
            part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
            for part in self.qkv(self.norm_attention(x)).chunk(3, dim=-1)
        )
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        # A single new token may attend to everything before it. Several new tokens need the causal mask.
        attended = F.scaled_dot_product_attention(q, k, v, is_causal=length > 1)
        x = x + self.out(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.norm_mlp(x)), (k, v)


class Transformer(nn.Module):
    """tokens (batch, length) -> (batch, length, outputs): logits of the next token, or one value."""

    def __init__(self, outputs: int = VOCABULARY, width: int = 64, layers: int = 2, heads: int = 4) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(VOCABULARY, width), nn.Embedding(CONTEXT, width)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, outputs)

    def with_outputs(self, outputs: int) -> Transformer:
        """A model with another head on a copy of this trunk: a critic, a reward model."""
        model = Transformer(outputs)
        trunk = {name: tensor for name, tensor in self.state_dict().items() if not name.startswith("head")}
        model.load_state_dict(trunk, strict=False)
        return model

    def forward(self, tokens: Tensor, cache: Cache | None = None) -> Tensor:
        """With a `cache`, `tokens` continue the cached sequence, and the cache is extended."""
        start = cache[0][0].shape[2] if cache else 0
        x = self.token(tokens) + self.position(torch.arange(start, start + tokens.shape[1]))
        extended: Cache = []
        for i, block in enumerate(self.blocks):
            x, keys_values = block(x, cache[i] if cache else None)
            extended.append(keys_values)
        if cache is not None:
            cache[:] = extended
        return cast(Tensor, self.head(self.norm(x)))


def log_probs(
    model: Transformer, tokens: Tensor, prompt_length: int, temperature: float = 1.0
) -> tuple[Tensor, Tensor]:
    """Log-probability of each completion token, and entropy of the distribution it came from; both (batch, new), nats."""
    logits = model(tokens[:, :-1])[:, prompt_length - 1 :] / temperature
    logp = F.log_softmax(logits, dim=-1)
    entropy = -(logp.exp() * logp).sum(-1)
    return logp.gather(-1, tokens[:, prompt_length:, None]).squeeze(-1), entropy


@torch.no_grad()
def extend(
    model: Transformer,
    tokens: Tensor,
    n: int,
    *,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_p: float = 1.0,
    respond: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Up to `n` more tokens for every row, with padding after its end. `temperature` 0 takes the most probable token.

    `respond` maps the tokens so far to the next token of the environment in each row, or to padding if the policy continues.
    """
    cache: Cache = []
    ended = (tokens == EOS).any(1)
    fed = tokens
    for _ in range(n):
        logits = model(fed, cache)[:, -1]
        fed = _choose(logits, temperature, top_p, generator)
        if respond is not None:
            answer = respond(tokens)
            fed = torch.where(answer == PAD, fed, answer)
        fed = fed.masked_fill(ended, PAD)[:, None]
        tokens = torch.cat([tokens, fed], dim=1)
        ended = ended | (fed[:, 0] == EOS)
        if ended.all():
            break
    return tokens


def _choose(logits: Tensor, temperature: float, top_p: float, generator: torch.Generator) -> Tensor:
    if temperature == 0:
        return logits.argmax(-1)
    probabilities = (logits / temperature).softmax(-1)
    if top_p < 1:
        ordered, order = probabilities.sort(-1, descending=True)
        ordered = ordered.masked_fill(ordered.cumsum(-1) - ordered > top_p, 0)
        probabilities = torch.zeros_like(probabilities).scatter(-1, order, ordered)
    return torch.multinomial(probabilities, 1, generator=generator).squeeze(-1)
