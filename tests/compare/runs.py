"""Runs on disk whose truth is known: a score that rises, and a divergence that a setting may bend."""

import json
from pathlib import Path

import numpy as np
import yaml


def write(
    folder: Path, *, seed: int, level: float = 0.8, kl_from: int | None = None, env: str | None = None, **config: object
) -> Path:
    """A run of 100 steps that comes to `level`; from step `kl_from` on its divergence grows three times as fast."""
    rng = np.random.default_rng(seed)
    folder.mkdir(parents=True)
    options = {"seed": seed, "actor": {"optimizer": {"lr": 1e-3}, "kl_ctl": 0.02}, **config}
    if env:
        options["train_dataset"] = {"path": env}
    (folder / "config.yaml").write_text(yaml.safe_dump(options))
    kl = 0.0
    with (folder / "metrics.jsonl").open("w") as rows:
        for step in range(1, 101):
            kl += 0.01 * (3 if kl_from is not None and step >= kl_from else 1) + 0.001 * rng.normal()
            row = {
                "step": step,
                "eval-rollout/reward": level * (1 - np.exp(-step / 20)) + 0.02 * rng.normal(),
                "kl.ref.k1": kl,
                "ppo_actor/update/actor_loss/avg": 0.01 * rng.normal(),
                "ppo_actor/task_reward/avg": 0.5 + 0.01 * rng.normal(),
                "policy.entropy": 1 - 0.005 * step + 0.01 * rng.normal(),
            }
            rows.write(json.dumps(row) + "\n")
    return folder
