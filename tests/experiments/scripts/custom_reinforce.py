"""My own REINFORCE on a corridor, logs to log.jsonl."""

import json
import math
import os
import random

config = {
    "learning_rate": 0.1,
    "gamma": 0.95,
    "num_updates": 150,
    "batch_size": 16,
    "seed": 3,
    "length": 6,
}
out_dir = "corridor_run"


def play(theta, rng):
    place, steps = 0, []
    for _ in range(20):
        p = 1 / (1 + math.exp(-theta[place]))
        right = rng.random() < p
        steps.append((place, right, p))
        place = min(place + 1, config["length"]) if right else max(place - 1, 0)
        if place == config["length"]:
            return steps, 1.0
    return steps, 0.0


def main():
    rng = random.Random(config["seed"])
    os.makedirs(out_dir, exist_ok=True)
    with open(os.path.join(out_dir, "config.json"), "w") as f:
        json.dump(config, f)
    theta = [0.0] * (config["length"] + 1)
    baseline = 0.0
    with open(os.path.join(out_dir, "log.jsonl"), "w") as log:
        for update in range(1, config["num_updates"] + 1):
            grads, returns, lengths, entropy = [0.0] * len(theta), [], [], []
            for _ in range(config["batch_size"]):
                steps, final = play(theta, rng)
                returns.append(final)
                lengths.append(len(steps))
                for t, (place, right, p) in enumerate(steps):
                    g = final * config["gamma"] ** (len(steps) - 1 - t)
                    grads[place] += (g - baseline) * ((1 - p) if right else -p)
                    entropy.append(-(p * math.log(p + 1e-9) + (1 - p) * math.log(1 - p + 1e-9)))
            norm = math.sqrt(sum((g / config["batch_size"]) ** 2 for g in grads))
            for i, g in enumerate(grads):
                theta[i] += config["learning_rate"] * g / config["batch_size"]
            baseline += 0.1 * (sum(returns) / len(returns) - baseline)
            row = {
                "step": update,
                "reward": sum(returns) / len(returns),
                "episode_length": sum(lengths) / len(lengths),
                "entropy": sum(entropy) / len(entropy),
                "grad_norm": norm,
            }
            log.write(json.dumps(row) + "\n")


main()
