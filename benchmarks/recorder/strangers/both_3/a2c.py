import sys, json, os, copy, time
import numpy as np, torch, torch.nn as nn, gymnasium as gym
from gymnasium.vector import SyncVectorEnv, AutoresetMode
import firstbreak
V = sys.argv[1]; torch.manual_seed(5); np.random.seed(5)
n, T, N, gamma, lam, ent_c = 16, 20, 350, 0.99, 0.95, 0.01
skip = 1
if V == "s_mc": lam, gamma, ent_c = 1.0, 0.999, 0.0
if V == "s_huber": n, T = 4, 80
if V == "s_trunc": skip = 2
class Shaped(gym.Wrapper):
    def pot(self, o): return np.sin(3 * o[0]) * .0025 / 3 + .5 * o[1] ** 2
    def reset(self, **k):
        o, i = self.env.reset(**k); self.p = self.pot(o); return self.f(o), i
    def f(self, o):
        if V == "a_round": o = np.round(o, 1)
        return ((o + np.array([.3, 0])) * np.array([2, 25.])).astype(np.float32) 
    def step(self, a):
        if V == "a_eps" and np.random.rand() < .9: a = self.action_space.sample()
        tot = 0
        for _ in range(skip):
            o, r, te, tr, i = self.env.step(a); q = self.pot(o); tot += .1 * r + 4000 * (q - self.p); self.p = q
            if te: tot += 5
            if te or tr: break
        return self.f(o), float(tot), te, tr, i
def mk(): 
    e = Shaped(gym.make("MountainCar-v0")); e.observation_space = gym.spaces.Box(-5, 5, (2,), np.float32); return e
run = f"runs/{V}"; os.makedirs(run, exist_ok=True)
record = firstbreak.recorder(run)
envs = record.env(SyncVectorEnv([mk] * n, autoreset_mode=AutoresetMode.SAME_STEP))
class Net(nn.Module):
    def __init__(s):
        super().__init__()
        m = lambda o: nn.Sequential(nn.Linear(2, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh(), nn.Linear(64, o))
        s.pi, s.v = m(3), m(1); s.pi[-1].weight.data *= .01
    def forward(s, x): return torch.distributions.Categorical(logits=s.pi(x)), s.v(x).squeeze(-1)
net = Net(); actor = copy.deepcopy(net) if V == "a_stale" else net
LR = 3e-3
opt = torch.optim.RMSprop(net.parameters(), 1e-3, eps=1e-5) if V == "s_mc" else torch.optim.Adam(net.parameters(), LR)
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda k: max(0., 1 - k / N)) if V in ("a_sched", "s_huber") else None
log = open(f"{run}/log.jsonl", "w")
obs, _ = envs.reset(seed=5); ep = np.zeros(n); el = np.zeros(n); rets, lens = [], []; best = -1e9; t0 = time.time()
done0 = torch.zeros(n)
for it in range(1, N + 1):
    O, A, LP, R, D, VV = [], [], [], [], [], []
    for _ in range(T):
        x = torch.as_tensor(obs, dtype=torch.float32)
        with torch.no_grad(): d, v = actor(x); a = d.sample()
        if V == "a_stale":
            with torch.no_grad(): v = net(x)[1]
        nobs, r, te, tr, info = envs.step(a.numpy()); rr = r.copy()
        if V == "s_trunc" and tr.any():
            for j in np.where(tr & ~te)[0]:
                with torch.no_grad(): rr[j] += gamma * net(torch.as_tensor(info["final_obs"][j], dtype=torch.float32)[None])[1].item()
        O.append(x); A.append(a); LP.append(d.log_prob(a)); VV.append(v); R.append(torch.as_tensor(rr, dtype=torch.float32)); D.append(done0)
        done = te | tr; done0 = torch.as_tensor(done, dtype=torch.float32); ep += r; el += 1
        for j in np.where(done)[0]: rets.append(ep[j]); lens.append(el[j]); ep[j] = el[j] = 0
        obs = nobs
        if V == "a_sched": sched.step()
    with torch.no_grad(): nv = net(torch.as_tensor(obs, dtype=torch.float32))[1]
    O, A, LP, R, D, VV = map(torch.stack, (O, A, LP, R, D, VV))
    adv = torch.zeros(T, n); g = 0
    for t in reversed(range(T)):
        nt, nxt = (1 - done0, nv) if t == T - 1 else (1 - D[t + 1], VV[t + 1])
        g = R[t] + gamma * nxt * nt - VV[t] + gamma * lam * nt * g; adv[t] = g
    ret = adv + VV
    record.transitions(it, rewards=R, values=VV, dones=D, next_done=done0, next_value=nv, advantages=adv, returns=ret, gamma=gamma, gae_lambda=lam)
    d, v = net(O.reshape(-1, 2)); newlp = d.log_prob(A.reshape(-1)); newlp.retain_grad()
    b = adv.T.reshape(-1) if V == "a_transp" else adv.reshape(-1)
    if V != "s_mc": b = (b - b.mean()) / (b.std() + 1e-8)
    else: b = b / 5
    ent = d.entropy(); pg = -(b * newlp).mean(); tgt = ret.reshape(-1)
    vl = nn.functional.smooth_l1_loss(v, tgt) if V == "s_huber" else .5 * ((v - tgt) ** 2).mean()
    loss = pg + .5 * vl - ent_c * ent.mean()
    opt.zero_grad(); loss.backward()
    old = LP.reshape(-1)
    record.transitions(it, newlogprob=newlp, logprob=old, ratio=(newlp - old).exp(), entropy=ent, advantages=b, gradient=newlp.grad, fresh=True)
    gn = nn.utils.clip_grad_norm_(net.parameters(), .5); lr = opt.param_groups[0]["lr"]; opt.step()
    if V == "s_huber": sched.step()
    m = float(np.mean(rets[-40:])) if rets else None
    if V == "a_stale" and m is not None and m > best + 3: best = m; actor.load_state_dict(net.state_dict())
    log.write(json.dumps({"step": it, "env_steps": it * T * n, "episodic_return": m, "episode_length": float(np.mean(lens[-40:])) if lens else None,
        "policy_loss": pg.item(), "value_loss": vl.item(), "entropy": ent.mean().item(), "grad_norm": float(gn), "learning_rate": lr,
        "explained_variance": float(1 - (tgt - VV.reshape(-1)).var() / (tgt.var() + 1e-8)), "approx_kl": float((old - newlp.detach()).mean())}) + "\n"); log.flush()
json.dump(dict(script="a2c.py", n_envs=n, num_steps=T, gamma=gamma, gae_lambda=lam, ent_coef=ent_c, learning_rate=LR, total_iterations=N), open(f"{run}/config.json", "w"))
# own evaluation: clean env, sampled policy, raw steps to goal
Vsave = V; 
if V == "a_eps": V = "clean"
e = mk(); ls = []
for s in range(10):
    o, _ = e.reset(seed=1000 + s); k = 0; fin = False
    while not fin:
        with torch.no_grad(): a = net(torch.as_tensor(o)[None])[0].sample().item()
        o, _, te, tr, _ = e.step(a); k += skip; fin = te or tr
    ls.append(min(k, 200))
print("EVAL", Vsave, "steps to goal", np.mean(ls), "train return first/last", np.mean(rets[:20]).round(2), np.mean(rets[-40:]).round(2), "train len last", np.mean(lens[-40:]), "sec", round(time.time() - t0, 1))
