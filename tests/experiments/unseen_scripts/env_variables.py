"""Policy gradient on a bandit with contexts. LR=0.1 STEPS=300 python env_variables.py 2>&1 | tee train.log"""

import os

import numpy as np

LR = float(os.environ.get("LR", "0.5"))
STEPS = int(os.environ.get("STEPS", 200))
BATCH_SIZE = int(os.getenv("BATCH_SIZE", "64"))
ENTROPY_COEF = float(os.getenv("ENTROPY_COEF", "0.01"))
SEED = int(os.environ.get("SEED", 0))
OUT = os.environ.get("OUT", "bandit_out")

os.makedirs(OUT, exist_ok=True)
rng = np.random.default_rng(SEED)
n_contexts, n_actions = 8, 6
best = rng.integers(n_actions, size=n_contexts)
theta = np.zeros((n_contexts, n_actions))
log = open(os.path.join(OUT, "train.log"), "w")

for step in range(STEPS):
    contexts = rng.integers(n_contexts, size=BATCH_SIZE)
    logits = theta[contexts]
    probs = np.exp(logits - logits.max(1, keepdims=True))
    probs /= probs.sum(1, keepdims=True)
    actions = np.array([rng.choice(n_actions, p=p) for p in probs])
    rewards = (actions == best[contexts]) + 0.1 * rng.normal(size=BATCH_SIZE)
    advantages = rewards - rewards.mean()
    onehot = np.eye(n_actions)[actions]
    entropy = -(probs * np.log(probs + 1e-12)).sum(1)
    grad = np.zeros_like(theta)
    np.add.at(grad, contexts, (onehot - probs) * advantages[:, None])
    np.add.at(grad, contexts, -ENTROPY_COEF * probs * (np.log(probs + 1e-12) + entropy[:, None]))
    theta += LR * grad / BATCH_SIZE
    print(
        f"step={step} reward={rewards.mean():.4f} loss={-(advantages * np.log(probs[range(BATCH_SIZE), actions])).mean():.4f} "
        f"entropy={entropy.mean():.4f} grad_norm={np.linalg.norm(grad / BATCH_SIZE):.4f}",
        file=log, flush=True,
    )
np.save(os.path.join(OUT, "theta.npy"), theta)
