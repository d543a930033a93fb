"""Actor-critic with linear features that keeps a cart near 0, plain numpy. usage: balance.py OUT FAULT SEED"""
import json, os, sys
import numpy as np
out, fault, seed = sys.argv[1], sys.argv[2], int(sys.argv[3])
os.makedirs(out, exist_ok=True); rng = np.random.default_rng(seed)
def feats(x):
    p, v = x; return np.array([1, p, v, p * p, v * v, p * v, np.sign(p), np.sign(v), np.tanh(3 * p), np.tanh(3 * v)])
D = 10; W = np.zeros((3, D)); V = np.zeros(D)
def dyn(x, a):
    p, v = x; v = 0.95 * v + 0.1 * p + 0.15 * (a - 1) + rng.normal(0, 0.02); p = p + 0.2 * v; return (p, v)
def episode(greedy=False, train=True):
    x = (rng.uniform(-.3, .3), rng.uniform(-.1, .1)); prev = x; tr = []; tot = 0
    for t in range(100):
        obs = prev if (fault == "delay" and train) else x
        f = feats(obs); z = W @ f; p = np.exp(z - z.max()); p /= p.sum()
        a = int(p.argmax()) if greedy else int(rng.choice(3, p=p))
        b = 2 - a if (fault == "swap" and train and t % 2) else a
        prev, x = x, dyn(x, b); done = abs(x[0]) > 1
        r = 1.0 - abs(x[0])
        if fault == "rewardsign" and train: r = abs(x[0])
        tot += 1.0 - abs(x[0]) if not (fault == "rewardsign" and train) else r
        tr.append((f, a, r, p, feats(x), done))
        if done: break
    return tr, tot, len(tr)
log = open(f"{out}/log.jsonl", "w")
lr = {"hot": 30.0, "cold": 1e-5}.get(fault, 0.05); gamma = 0.4 if fault == "short" else 0.97
for it in range(1, 401):
    eps = [episode() for _ in range(8)]; G = np.zeros_like(W); tds, ents = [], []
    for tr, _, _ in eps:
        for f, a, r, p, f2, done in tr:
            nv = V @ f2 * (1.0 if fault == "nomask" else (not done))
            td = r + gamma * nv - V @ f; tds.append(td); ents.append(-(p * np.log(p + 1e-12)).sum())
            if fault != "nocritic": V += 0.01 * td * f
            g = -np.outer(p, f); g[a] += f; G += td * g / (8 * 20)
    if fault == "flip" and it > 200: G = -G
    W += lr * G
    row = dict(iteration=it, episode_return=float(np.mean([e[1] for e in eps])), episode_length=float(np.mean([e[2] for e in eps])), entropy=float(np.mean(ents)), td_error=float(np.mean(np.square(tds))), grad_norm=float(np.linalg.norm(G)), lr=lr, gamma=gamma)
    if it % 20 == 0:
        row["eval_return"] = float(np.mean([episode(True, False)[1] for _ in range(20)]))
    log.write(json.dumps(row) + "\n")
print(out, fault, "eval", round(row["eval_return"], 1), "train", round(row["episode_return"], 1))
