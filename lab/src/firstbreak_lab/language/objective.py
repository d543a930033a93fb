"""From rewards to a loss: KL penalty, normalisation, advantages, and the (decoupled) PPO objective.

GRPO is PPO with all values zero and with rewards normalised within the group, so both use the same code.
All per-token tensors have the shape (sequences, new tokens). `mask` is True for tokens that count.
"""

from dataclasses import dataclass

import torch
from torch import Tensor


def normalize_in_group(rewards: Tensor, group: int, eps: float = 1e-6) -> Tensor:
    """Rewards (sequences,) with zero mean and unit variance over the completions of each prompt (GRPO)."""
    grouped = rewards.view(-1, group)
    deviation = grouped - grouped.mean(1, keepdim=True)
    return (deviation / (grouped.std(1, correction=0, keepdim=True) + eps)).flatten()


def token_rewards(rewards: Tensor, kl_rewards: Tensor, mask: Tensor) -> Tensor:
    """The reward of each token: its KL penalty, plus the outcome reward at the last token."""
    last = (mask * torch.arange(mask.shape[1])).argmax(1)
    outcome = torch.zeros_like(kl_rewards)
    outcome[torch.arange(len(rewards)), last] = rewards
    return (kl_rewards + outcome) * mask


def gae(rewards: Tensor, values: Tensor, mask: Tensor, discount: float, gae_lambda: float) -> Tensor:
    """Generalised advantage estimates (Schulman et al., 2016); the episode ends at the last token.

    Tokens outside the mask are not steps. Rewards after an environment's answer are credited to the policy's tokens
    before it.
    """
    advantages = torch.zeros_like(rewards)
    running, next_value = torch.zeros(len(rewards)), torch.zeros(len(rewards))
    for t in reversed(range(rewards.shape[1])):
        delta = rewards[:, t] + discount * next_value - values[:, t]
        running = torch.where(mask[:, t], delta + discount * gae_lambda * running, running)
        next_value = torch.where(mask[:, t], values[:, t], next_value)
        advantages[:, t] = running * mask[:, t]
    return advantages


def normalize(advantages: Tensor, mask: Tensor, eps: float = 1e-8) -> Tensor:
    """Zero mean and unit variance over the tokens that count."""
    counted = advantages[mask]
    return (advantages - counted.mean()) / (counted.std() + eps) * mask


@dataclass
class PolicyLoss:
    """The loss, and its parts per token for the log."""

    loss: Tensor  #: scalar: mean over the tokens that count
    per_token: Tensor
    ratio: Tensor  #: theta over proximal: `importance_weight`
    clipped: Tensor  #: True where the clip sets the gradient to zero
    behave_weight: Tensor  #: proximal over behaviour, before any cap: `behave_imp_weight`
    kept: Tensor  #: the mask, without the tokens whose behaviour weight is above the cap


def policy_loss(
    logp: Tensor,
    proximal_logp: Tensor,
    behave_logp: Tensor,
    advantages: Tensor,
    mask: Tensor,
    *,
    eps_clip: float,
    decoupled: bool,
    behave_imp_weight_cap: float | None,
) -> PolicyLoss:
    """The clipped surrogate around the proximal policy (Schulman et al., 2017).

    Decoupled (Hilton et al., 2022; AReaL, 2025): every token is also weighted by proximal over behaviour probability.
    Tokens with a weight above the cap are left out.
    """
    ratio = (logp - proximal_logp).exp()
    surrogate, pessimist = -advantages * ratio, -advantages * ratio.clamp(1 - eps_clip, 1 + eps_clip)
    per_token = torch.maximum(surrogate, pessimist)
    clipped = (pessimist > surrogate) & mask
    behave_weight, kept = (proximal_logp - behave_logp).exp(), mask
    if decoupled:
        if behave_imp_weight_cap is not None:
            kept = mask & (behave_weight <= behave_imp_weight_cap)
        per_token = per_token * behave_weight
    loss = torch.where(kept, per_token, 0.0).sum() / mask.sum().clamp(min=1)
    return PolicyLoss(loss, per_token, ratio, clipped, behave_weight, kept)


def critic_loss(values: Tensor, old_values: Tensor, returns: Tensor, mask: Tensor, eps_clip: float) -> Tensor:
    """Squared error of the values, clipped to `eps_clip` around the old values; mean over tokens."""
    limited = old_values + (values - old_values).clamp(-eps_clip, eps_clip)
    errors = torch.maximum((values - returns).square(), (limited - returns).square())
    return 0.5 * (errors * mask).sum() / mask.sum()
