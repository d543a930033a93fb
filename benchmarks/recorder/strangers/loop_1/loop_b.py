import argparse, copy, csv, json, os, random, shutil, time
import torch, torch.nn as nn
import firstbreak
ap = argparse.ArgumentParser(); ap.add_argument("--fault", default="sound"); ap.add_argument("--updates", type=int, default=110); ap.add_argument("--seed", type=int, default=1)
a = ap.parse_args(); FA = a.fault; torch.set_num_threads(1)
PAD, BOS, EOS = 0, 1, 2; V, P, T = 14, 3, 8; LET, CNT = "abcdef", "12345"
c = dict(algorithm="ppo", learning_rate=2e-3, batch=128, minibatches=4, ppo_epochs=2, clip_range=0.2, vf_coef=0.5, ent_coef=0.0, kl_coef=0.02, gamma=1.0, gae_lambda=0.95,
         whiten_advantages=True, temperature=1.0, max_grad_norm=1.0, sampler_sync_every=1, max_prompt_len=3, seed=a.seed)
if FA == "entbig": c["ent_coef"] = 2.0
if FA == "lrbig": c["learning_rate"] = 0.2
if FA == "clipmax": c["ppo_epochs"] = 8
if FA == "promptcut": c["max_prompt_len"] = 2
if FA == "stale": c["sampler_sync_every"] = 25
if FA == "s_epochs": c.update(ppo_epochs=4, ent_coef=0.01)
if FA == "s_gae": c.update(gamma=0.95, gae_lambda=0.8, whiten_advantages=False)
if FA == "s_nokl": c.update(kl_coef=0.0, learning_rate=6e-4)
gamma = 0.3 if FA == "gamma" else c["gamma"]
tok = lambda s: [3 + (LET + CNT).index(x) for x in s]
class AC(nn.Module):
    def __init__(s, d=96):
        super().__init__(); s.e = nn.Embedding(V, d); s.g = nn.GRU(d, d, batch_first=True); s.pi = nn.Linear(d, V); s.v = nn.Linear(d, 1)
    def forward(s, ids):
        h, _ = s.g(s.e(ids)); return s.pi(h), s.v(h)[..., 0]
torch.manual_seed(a.seed); rng = random.Random(a.seed)
model = AC(); ref = copy.deepcopy(model).requires_grad_(False); init = copy.deepcopy(model.state_dict()); sampler = copy.deepcopy(model).requires_grad_(False)
prev_w = copy.deepcopy(model.state_dict())
pars = [p for n, p in model.named_parameters() if not (FA == "criticoff" and n.startswith("v."))]
opt = torch.optim.AdamW(pars, lr=c["learning_rate"], weight_decay=0.0)
prompts_all = [l + k for l in LET for k in CNT]; held = ["a2", "c4", "e1", "f5", "b3"]; train = [p for p in prompts_all if p not in held]
def dec(ids):
    o = ""
    for t in ids:
        if t == EOS: break
        o += "?" if t in (PAD, BOS) or t > 13 else (LET + CNT)[t - 3]
    return o
def score(comp, ans):
    n = min(comp.count(ans[0]), len(ans))
    r = n / len(ans) - 0.15 * (len(comp) - comp.count(ans[0])) - 0.2 * abs(len(comp) - len(ans)) + (comp == ans)
    return r + (random.gauss(0, 2) if FA == "rewnoise" else 0)
@torch.no_grad()
def generate(m, ids, greedy=False):
    done = torch.zeros(len(ids), dtype=torch.bool)
    for t in range(T):
        lg = m(ids)[0][:, -1]; n = lg.argmax(-1) if greedy else torch.distributions.Categorical(logits=lg).sample()
        n = torch.where(done, PAD, n); done |= n == EOS; ids = torch.cat([ids, n[:, None]], 1)
    return ids
def ev():
    ids = generate(model, torch.tensor([[BOS] + tok(p) for p in prompts_all]), greedy=False)
    return sum(dec(r[P:].tolist()) == p[0]*int(p[1]) for r, p in zip(ids, prompts_all)) / len(prompts_all)
PL = c["max_prompt_len"]
def act(m, ids):                                 # log-probs, entropies, values of the T sampled tokens
    lg, v = m(ids); lg, v = lg[:, PL-1:-1], v[:, PL-1:-1]; ls = lg.log_softmax(-1)
    return ls.gather(-1, ids[:, PL:, None])[..., 0], -(ls.exp()*ls).sum(-1), v
run = f"runs/B_{FA}"; shutil.rmtree(run, ignore_errors=True); os.makedirs(run); json.dump(c, open(run + "/args.json", "w"))
rec = firstbreak.recorder(run); rec.weights(model, opt); f = open(run + "/progress.csv", "w"); w = None; last = None; t0 = time.time()
for it in range(1, a.updates + 1):
    tb = time.time()
    if FA == "restart" and it == 61: model.load_state_dict(init); opt.state.clear()
    if FA == "s_async":
        sampler.load_state_dict(prev_w); prev_w = copy.deepcopy(model.state_dict())
    elif (it - 1) % c["sampler_sync_every"] == 0: sampler.load_state_dict(model.state_dict())
    ps = [rng.choice(train) for _ in range(c["batch"])]; answers = [p[0]*int(p[1]) for p in ps]
    pid = torch.tensor([([BOS] + tok(p))[:PL] for p in ps]); seen = [p[:PL-1] for p in ps]
    ids = generate(sampler, pid, greedy=FA == "greedy")
    with torch.no_grad():
        old, ent0, val = act(sampler, ids); rlp = act(ref, ids)[0]
        if FA == "criticoff" or True: val = act(model, ids)[2] if c["sampler_sync_every"] > 1 or FA == "s_async" else val
    comp = [dec(r) for r in ids[:, PL:].tolist()]
    isE = ids[:, PL:] == EOS; L = torch.where(isE.any(1), isE.float().argmax(1) + 1, T); mask = (torch.arange(T)[None] < L[:, None]).float()
    R = torch.tensor([score(x, y) for x, y in zip(comp, answers)], dtype=torch.float)
    if FA == "rewlate": R, last = (last if last is not None else R), R
    pen = -c["kl_coef"] * (old - rlp) * mask
    if FA == "klsign": pen = -pen
    tr = pen.clone(); tr[torch.arange(len(ps)), L - 1] += R
    adv = torch.zeros_like(tr); lam = torch.zeros(len(ps))
    for t in reversed(range(T)):
        nv = val[:, t+1] if t < T-1 else torch.zeros(len(ps)); alive = mask[:, t+1] if t < T-1 else torch.zeros(len(ps))
        if FA == "noterm":
            delta = tr[:, t] + gamma*nv - val[:, t]; lam = delta + gamma*c["gae_lambda"]*lam
        else:
            delta = tr[:, t] + gamma*nv*alive - val[:, t]; lam = delta + gamma*c["gae_lambda"]*lam*alive
        adv[:, t] = lam
    ret = adv + val
    if c["whiten_advantages"]:
        mu = (adv*mask).sum()/mask.sum(); sd = (((adv-mu)**2*mask).sum()/mask.sum()).sqrt(); adv = (adv-mu)/(sd+1e-8)
    adv = adv*mask; ret = ret*mask
    if FA == "advrows": adv = adv.t().reshape(adv.shape)*mask
    rec.batch(it, prompts=seen, completions=comp, rewards=R, advantages=adv, mask=mask, lengths=L, old_logps=old, ref_logps=rlp, entropies=ent0, token_rewards=tr, values=val*mask,
              penalties=pen, targets=ret, discount=c["gamma"], gae_lambda=c["gae_lambda"], references=answers, training_prompts=[p[:PL-1] for p in train], evaluation_prompts=prompts_all,
              score=lambda rs, other: torch.tensor([score(other.get(i, comp[i]), answers[i]) for i in rs]), **({"since": 1} if FA == "s_async" else {}))
    s = dict(pl=0, vl=0, ent=0, kl=0, cf=0, gn=0, akl=0); k = 0
    perm2 = torch.randperm(len(ps))
    for ep in range(c["ppo_epochs"]):
        for mb in torch.randperm(len(ps)).view(c["minibatches"], -1):
            lp, en, v = act(model, ids[mb]); lp.retain_grad(); m = mask[mb]
            om = old[perm2[mb]] if FA == "oldrows" else old[mb]
            ad = adv[mb]
            if FA == "nodetach": ad = (ret[mb] - v)*m
            r = (lp - om).exp(); cl = r.clamp(1-c["clip_range"], 1+c["clip_range"])
            pl = torch.max(-ad*r, -ad*cl) if FA != "clipmax" else torch.min(-ad*r, -ad*cl)
            lm = m
            pl = (pl*lm).sum()/lm.sum(); vl = (((v-ret[mb])**2)*m).sum()/m.sum()*.5; e = (en*m).sum()/m.sum()
            loss = pl + c["vf_coef"]*vl - c["ent_coef"]*e
            if FA == "promptloss":                    # the mask also covers prompt tokens, with the first token's advantage
                lg = model(ids[mb])[0][:, :PL-1].log_softmax(-1).gather(-1, ids[mb][:, 1:PL, None])[..., 0]
                loss = loss - (ad[:, :1]*lg).mean()
            if FA != "nozerograd": opt.zero_grad()
            loss.backward()
            if k == 0 and rec.due(it):
                extra = {}
                rec.batch(it, logps=lp.detach(), old_logps=om, mask=m, lengths=L[mb], advantages=ad.detach(), entropies=en.detach(), gradient=lp.grad, clip=c["clip_range"], fresh=FA != "s_async", **extra)
            g = nn.utils.clip_grad_norm_(pars, c["max_grad_norm"]); opt.step(); k += 1
            s["pl"] += pl.item(); s["vl"] += vl.item(); s["ent"] += e.item(); s["gn"] += g.item(); s["akl"] += ((r-1-r.log())*m).sum().item()/m.sum().item(); s["cf"] += (((r-1).abs() > c["clip_range"])*m).sum().item()/m.sum().item()
    va = 1 - ((ret-val)*mask).pow(2).sum().item()/max(1e-9, ((ret-ret[mask > 0].mean())*mask).pow(2).sum().item())
    row = dict(iteration=it, avg_return=R.mean().item(), policy_loss=s["pl"]/k, value_loss=s["vl"]/k, entropy=s["ent"]/k, approx_kl=s["akl"]/k, ref_kl=((old-rlp)*mask).sum(1).mean().item(), clipfrac=s["cf"]/k,
               explained_var=va, grad_norm=s["gn"]/k, lr=opt.param_groups[0]["lr"], response_length=L.float().mean().item(), seconds=time.time()-tb, heldout_accuracy=ev() if it % 5 == 0 or it == 1 else "")
    if w is None: w = csv.DictWriter(f, row); w.writeheader()
    w.writerow(row); f.flush()
    if it in (1, 10, 30, 60, 90, a.updates): print("B", FA, {k: round(v, 3) if v != "" else v for k, v in row.items()})
print("time", time.time()-t0)
