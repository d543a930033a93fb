"""A user's trainer that needs no library: its reward rises unless the learning rate or the discount is off."""

import argparse
import json
import random
import sys
import time
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--out", type=Path, required=True)
parser.add_argument("--learning_rate", type=float, default=1e-1)
parser.add_argument("--gamma", type=float, default=0.3)
parser.add_argument("--steps", type=int, default=200)
parser.add_argument("--seed", type=int, default=0)
parser.add_argument("--wait-at", type=int, default=0, help="the step at which to wait until it is stopped")
parser.add_argument("--fail", action="store_true")
parser.add_argument(
    "--evaluate", action="store_true", help="on held-out problems, before the first step and every fifth"
)
options = parser.parse_args()
if options.fail:
    sys.exit("out of memory")

rng = random.Random(options.seed)
options.out.mkdir(parents=True, exist_ok=True)
(options.out / "config.json").write_text(
    json.dumps(
        {"learning_rate": options.learning_rate, "gamma": options.gamma, "n_timesteps": options.steps, "algo": "ppo"}
    )
)
with (options.out / "metrics.jsonl").open("w") as lines:
    for step in range(1 - options.evaluate, options.steps + 1):
        skill = 0.2 + 0.004 * step * (options.gamma > 0.5)
        row = {"step": step, "reward": skill + rng.gauss(0, 0.02), "kl": 0.001, "time/time_elapsed": 60.0 * step}
        row |= {"eval/accuracy": skill} if options.evaluate and step % 5 == 0 else {}
        lines.write(json.dumps(row) + "\n")
        lines.flush()
        while step == options.wait_at > 0:
            time.sleep(1)
