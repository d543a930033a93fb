"""GRPO for a small table policy, configured like verl: python verl_like.py actor_rollout_ref.actor.optim.lr=0.05"""

import json
from pathlib import Path

import hydra
import torch
from omegaconf import DictConfig, OmegaConf

LETTERS, TARGET = 8, 3


@hydra.main(config_path="verl_like_config", config_name="trainer", version_base=None)
def main(config: DictConfig) -> None:
    torch.manual_seed(config.seed)
    actor = config.actor_rollout_ref.actor
    out = Path(config.trainer.default_local_dir)
    out.mkdir(parents=True, exist_ok=True)
    OmegaConf.save(config, out / "config.yaml", resolve=True)
    length = config.data.max_response_length
    logits = torch.zeros(length, LETTERS, requires_grad=True)
    optimizer = torch.optim.Adam([logits], lr=actor.optim.lr)
    with (out / "metrics.jsonl").open("w") as lines:
        for step in range(1, config.trainer.total_training_steps + 1):
            policy = torch.distributions.Categorical(logits=logits / config.actor_rollout_ref.rollout.temperature)
            groups = config.data.train_batch_size // config.actor_rollout_ref.rollout.n
            actions = policy.sample((groups, config.actor_rollout_ref.rollout.n))
            scores = (actions == TARGET).float().mean(-1)
            advantages = (scores - scores.mean(1, keepdim=True)) / (scores.std(1, keepdim=True) + 1e-6)
            old = policy.log_prob(actions).detach()
            for _ in range(2):
                now = torch.distributions.Categorical(logits=logits)
                ratio = (now.log_prob(actions) - old).exp()
                clipped = ratio.clamp(1 - actor.clip_ratio, 1 + actor.clip_ratio)
                loss = -torch.min(ratio * advantages[..., None], clipped * advantages[..., None]).mean()
                loss = loss - actor.entropy_coeff * now.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                norm = torch.nn.utils.clip_grad_norm_([logits], 1.0)
                optimizer.step()
            row = {
                "critic/score/mean": scores.mean().item(),
                "critic/rewards/mean": scores.mean().item(),
                "actor/entropy": now.entropy().mean().item(),
                "actor/pg_loss": loss.item(),
                "actor/pg_clipfrac": ((ratio - 1).abs() > actor.clip_ratio).float().mean().item(),
                "actor/ppo_kl": (old - now.log_prob(actions)).mean().item(),
                "actor/grad_norm": float(norm),
                "actor/lr": optimizer.param_groups[0]["lr"],
                "response_length/mean": float(length),
                "training/global_step": step,
            }
            if step % config.trainer.test_freq == 0:
                row["val-core/letters/acc/mean@1"] = torch.softmax(logits, -1)[:, TARGET].mean().item()
            lines.write(json.dumps({"step": step, "data": row}) + "\n")
            if step % config.trainer.save_freq == 0:
                place = out / f"global_step_{step}" / "actor"
                place.mkdir(parents=True, exist_ok=True)
                torch.save(logits, place / "model_world_size_1_rank_0.pt")


if __name__ == "__main__":
    main()
