"""GRPO by hand on a tiny transformer-free policy, logged to wandb (offline)."""

import argparse
import dataclasses
import json
import pathlib

import torch
import wandb


def get_args():
    p = argparse.ArgumentParser(formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    model = p.add_argument_group("model")
    model.add_argument("--d-model", type=int, default=32)
    rl = p.add_argument_group("rl")
    rl.add_argument("--lr", type=float, default=5e-3)
    rl.add_argument("--kl-coef", type=float, default=0.01)
    rl.add_argument("--group-size", type=int, default=8)
    rl.add_argument("--prompts-per-step", type=int, default=8)
    rl.add_argument("--clip-eps", type=float, default=0.2)
    rl.add_argument("--inner-epochs", type=int, default=2)
    rl.add_argument("--temperature", type=float, default=1.0)
    run = p.add_argument_group("run")
    run.add_argument("--train-steps", type=int, default=80)
    run.add_argument("--seed", type=int, default=0)
    run.add_argument("--out", type=pathlib.Path, default=pathlib.Path("grpo_out"))
    return p.parse_args()


class TinyLM(torch.nn.Module):
    def __init__(self, vocab, d):
        super().__init__()
        self.emb = torch.nn.Embedding(vocab, d)
        self.rnn = torch.nn.GRU(d, d, batch_first=True)
        self.head = torch.nn.Linear(d, vocab)

    def forward(self, ids):
        return self.head(self.rnn(self.emb(ids))[0])


def logprobs(lm, ids, start):
    logits = lm(ids[:, :-1])[:, start - 1 :]
    return torch.log_softmax(logits, -1).gather(-1, ids[:, start:, None]).squeeze(-1), logits


def main():
    args = get_args()
    torch.manual_seed(args.seed)
    args.out.mkdir(parents=True, exist_ok=True)
    run = wandb.init(project="tiny-grpo", mode="offline", dir=args.out, config={k: str(v) if k == "out" else v for k, v in vars(args).items()})
    vocab, prompt_len, length = 12, 3, 8
    lm, ref = TinyLM(vocab, args.d_model), TinyLM(vocab, args.d_model)
    ref.load_state_dict(lm.state_dict())
    opt = torch.optim.AdamW(lm.parameters(), lr=args.lr)
    for step in range(args.train_steps):
        prompts = torch.randint(vocab, (args.prompts_per_step, prompt_len)).repeat_interleave(args.group_size, 0)
        ids = prompts
        with torch.no_grad():
            for _ in range(length):
                probs = torch.softmax(lm(ids)[:, -1] / args.temperature, -1)
                ids = torch.cat([ids, torch.multinomial(probs, 1)], 1)
            old, _ = logprobs(lm, ids, prompt_len)
            base, _ = logprobs(ref, ids, prompt_len)
        rewards = (ids[:, prompt_len:] == ids[:, :1]).float().mean(1)
        groups = rewards.view(-1, args.group_size)
        adv = ((groups - groups.mean(1, keepdim=True)) / (groups.std(1, keepdim=True) + 1e-4)).view(-1, 1)
        for _ in range(args.inner_epochs):
            new, logits = logprobs(lm, ids, prompt_len)
            ratio = (new - old).exp()
            clipped = ratio.clamp(1 - args.clip_eps, 1 + args.clip_eps)
            kl = (base - new).exp() - (base - new) - 1
            loss = (-torch.min(ratio * adv, clipped * adv) + args.kl_coef * kl).mean()
            opt.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(lm.parameters(), 1.0)
            opt.step()
        p = torch.softmax(logits, -1)
        run.log(
            {
                "reward/mean": rewards.mean().item(),
                "reward/std": groups.std(1).mean().item(),
                "policy/kl": kl.mean().item(),
                "policy/entropy": -(p * p.log()).sum(-1).mean().item(),
                "policy/clip_frac": ((ratio - 1).abs() > args.clip_eps).float().mean().item(),
                "optim/grad_norm": norm.item(),
                "optim/lr": args.lr,
                "loss": loss.item(),
            },
            step=step,
        )
    torch.save(lm.state_dict(), args.out / "model_final.pt")
    run.finish()


if __name__ == "__main__":
    main()
