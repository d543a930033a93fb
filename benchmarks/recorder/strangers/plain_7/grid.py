"""REINFORCE on a 5x5 grid with two walls: go from a random cell to the corner. usage: grid.py OUT FAULT"""
import csv, os, sys
import numpy as np
out, fault = sys.argv[1], sys.argv[2]
os.makedirs(out, exist_ok=True)
rng = np.random.default_rng(3)
N, GOAL, T, H = 5, 24, 30, 0.97
WALLS = {7, 12}
MOVES = [(-1, 0), (1, 0), (0, -1), (0, 1)]
def step(s, a, walls):
    r, c = divmod(s, N); dr, dc = MOVES[a]
    r2, c2 = min(max(r + dr, 0), N - 1), min(max(c + dc, 0), N - 1)
    n = r2 * N + c2
    return (s if n in walls else n)
def dist(s): r, c = divmod(s, N); return (N - 1 - r) + (N - 1 - c)
def play(theta, walls, greedy, train):
    s = int(rng.choice([i for i in range(24) if i not in WALLS])); traj = []; ret = 0
    for t in range(T):
        z = theta[s]; p = np.exp(z - z.max()); p /= p.sum()
        a = int(p.argmax()) if greedy else int(rng.choice(4, p=p))
        n = step(s, a, walls)
        shaped = 0.1 * (dist(s) - dist(n)) * (-1 if fault == "shaping" and train else 1)
        r = (1.0 if n == GOAL else -0.01) + shaped
        traj.append((s, a, r, p)); ret += r; s = n
        if s == GOAL: break
    return traj, ret, s == GOAL
theta = np.zeros((25, 4)); value = np.zeros(25)
lr0, updates = 0.5, 300
f = open(f"{out}/progress.csv", "w", newline=""); w = None
for u in range(1, updates + 1):
    lr = lr0 * max(0.0, 1 - u / (30 if fault == "decay" else 2 * updates))
    eps = [play(theta, WALLS, fault == "greedy", True) for _ in range(16)]
    grad, ent, vl, adv_all = np.zeros_like(theta), [], [], []
    g = 0.0
    for traj, _, _ in reversed(eps):
        if fault != "through": g = 0.0
        rows = []
        for s, a, r, p in reversed(traj):
            g = r + H * g; rows.append((s, a, g, p))
        for s, a, ret, p in rows:
            adv = ret - value[s]
            if fault == "sign": adv = value[s] - ret
            adv_all.append(adv); vl.append((ret - value[s]) ** 2); value[s] += 0.1 * (ret - value[s])
            e = -(p * np.log(p + 1e-12)).sum(); ent.append(e)
            d = -p.copy(); d[a] += 1
            coef = {"antientropy": -0.5, "entropy": 2.0}.get(fault, 0.01)
            de = -p * (np.log(p + 1e-12) + e)
            grad[s] += adv * d + coef * de
    grad /= 16
    if fault == "late" and u > 150: grad = -grad
    theta += lr * grad
    row = {"update": u, "train/return": np.mean([e[1] for e in eps]), "train/success": np.mean([e[2] for e in eps]), "train/length": np.mean([len(e[0]) for e in eps]),
           "policy_entropy": np.mean(ent), "value_loss": np.mean(vl), "advantage_mean": np.mean(adv_all), "grad_norm": np.linalg.norm(grad), "learning_rate": lr}
    if u % 10 == 0 or u == 1:
        ev = [play(theta, {7, 12, 17, 13, 19, 23} if fault == "evalwalls" else WALLS, True, False) for _ in range(50)]
        row["eval/return"] = np.mean([e[1] for e in ev]); row["eval/success"] = np.mean([e[2] for e in ev])
    if w is None:
        w = csv.DictWriter(f, [*row]); w.writeheader()
    w.writerow({k: f"{v:.5g}" for k, v in row.items()})
print(out, fault, "eval success", row["eval/success"], "train", row["train/success"])
