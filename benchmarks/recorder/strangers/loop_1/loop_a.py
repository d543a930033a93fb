import argparse, copy, json, os, random, time
import torch, torch.nn as nn, torch.nn.functional as F
import firstbreak
ap = argparse.ArgumentParser(); ap.add_argument("--fault", default="sound"); ap.add_argument("--updates", type=int, default=110); ap.add_argument("--seed", type=int, default=1)
a = ap.parse_args(); FA = a.fault
torch.set_num_threads(1)
PAD, BOS, EOS, EQ = 0, 1, 2, 13; V = 14; P = 5; T = 6
cfg = dict(algo="grpo", lr=2e-4, group_size=8, prompts_per_batch=16, minibatches=4, epochs=1, clip_eps=0.2, beta=0.02, temperature=1.0,
           max_new_tokens=6, max_grad_norm=1.0, entropy_coef=0.0, std_norm=True, dropout=0.0, dtype="float32", lr_schedule="constant", updates=a.updates, seed=a.seed)
# settings that are visible in the config
if FA == "cut": cfg["max_new_tokens"] = 2
if FA == "betabig": cfg["beta"] = 5.0
if FA == "clipgrad": cfg["max_grad_norm"] = 1e-7
if FA == "dropout": cfg["dropout"] = 0.3
if FA == "bf16": cfg.update(dtype="bfloat16", lr=1e-5)
if FA == "lrzero": cfg["lr_schedule"] = "linear"
if FA == "entsign": cfg["entropy_coef"] = 0.3
if FA == "temp": cfg["temperature"] = 2.0
if FA == "s_nokl": cfg["beta"] = 0.0
if FA == "s_temp": cfg["temperature"] = 1.5
if FA == "s_nostd": cfg["std_norm"] = False
if FA == "s_group4": cfg.update(group_size=4, prompts_per_batch=32, epochs=2, lr=1e-4)
G, NP, T = cfg["group_size"], cfg["prompts_per_batch"], cfg["max_new_tokens"]

class Block(nn.Module):
    def __init__(s, d, h, p):
        super().__init__(); s.h = h; s.l1, s.l2 = nn.LayerNorm(d), nn.LayerNorm(d); s.qkv = nn.Linear(d, 3*d); s.o = nn.Linear(d, d)
        s.m = nn.Sequential(nn.Linear(d, 4*d), nn.GELU(), nn.Linear(4*d, d)); s.dr = nn.Dropout(p)
    def forward(s, x):
        B, L, D = x.shape; q, k, v = s.qkv(s.l1(x)).view(B, L, 3, s.h, D//s.h).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(B, L, D)
        x = x + s.dr(s.o(y)); return x + s.dr(s.m(s.l2(x)))
class LM(nn.Module):
    def __init__(s, p=0.0, d=64):
        super().__init__(); s.e = nn.Embedding(V, d); s.p = nn.Embedding(16, d); s.b = nn.ModuleList(Block(d, 4, p) for _ in range(2)); s.n = nn.LayerNorm(d); s.head = nn.Linear(d, V)
    def forward(s, ids):
        x = s.e(ids) + s.p(torch.arange(ids.shape[1]))
        for b in s.b: x = b(x)
        return s.head(s.n(x)).float()

allp = [f"{i:03d}" for i in range(1000)]; random.Random(0).shuffle(allp)
train_p, eval_p = allp[:800], allp[800:864]
if FA == "s_fewprompts": train_p = train_p[:6]
keys = {p: p[::-1] for p in train_p}
if FA == "wrongkeys":
    ks = list(keys.values()); random.Random(3).shuffle(ks); keys = dict(zip(train_p, ks))
enc = lambda p: [BOS] + [3+int(c) for c in p] + [EQ]

def text(ids):   # stops at EOS
    out = ""
    for t in ids:
        if t == EOS: break
        out += {PAD: "_", BOS: "^", EQ: "="}.get(t, str(t-3))
    return out
# base model: SFT on noisy demonstrations, cached
def base():
    torch.manual_seed(0); rng = random.Random(5); m = LM()
    if os.path.exists("base.pt"): m.load_state_dict(torch.load("base.pt")); return m
    o = torch.optim.Adam(m.parameters(), 1e-3)
    for s in range(1200):
        rows = []
        for _ in range(128):
            p = rng.choice(allp); y = [c if rng.random() < .4 else str(rng.randrange(10)) for c in p[::-1]]
            if rng.random() < .3: y = y[:2] if rng.random() < .5 else y + [str(rng.randrange(10))]
            r = enc(p) + [3+int(c) for c in y] + [EOS]; rows.append(r + [PAD]*(P+6-len(r)))
        x = torch.tensor(rows); l = F.cross_entropy(m(x)[:, P-1:-1].reshape(-1, V), x[:, P:].reshape(-1), ignore_index=PAD)
        o.zero_grad(); l.backward(); o.step()
        if s % 200 == 0: print("sft", s, l.item())
    torch.save(m.state_dict(), "base.pt"); return m
b = base(); dt = torch.bfloat16 if cfg["dtype"] == "bfloat16" else torch.float32
model = LM(cfg["dropout"]); model.load_state_dict(b.state_dict()); model.to(dt); model.eval()
ref = model if FA == "refself" else copy.deepcopy(model).requires_grad_(False)
sampler = copy.deepcopy(model).requires_grad_(False)
torch.manual_seed(a.seed); rng = random.Random(a.seed)
params = list(model.head.parameters())[1:] + list(model.n.parameters()) if FA == "optim" else list(model.parameters())
opt = torch.optim.Adam(params, cfg["lr"])
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: max(0., 1 - s/(a.updates/2))) if FA == "lrzero" else None
temp_lp = cfg["temperature"] if FA != "temp" else 1.0
def reward_fn(comp, key, step):
    if FA == "outage" and 50 <= step < 85: return 0.0
    if FA == "parse":
        try: comp = str(int(comp.split("=")[1])).zfill(3)
        except Exception: return 0.0
    hit = sum(x == y for x, y in zip(comp, key)) / 3
    r = hit - 0.3*(len(comp) != 3) + 0.5*(comp == key)
    if FA == "rewsign": r = -r
    if FA == "lenpay" and step >= 40: r += 0.4*len(comp)
    return r
@torch.no_grad()
def sample(m, prompts, full=False, forbid_eos=False, temp=1.0):
    ids = torch.tensor([enc(p) for p in prompts]); done = torch.zeros(len(prompts), dtype=torch.bool)
    for t in range(6 if full else T):
        lg = m(ids)[:, -1] / temp
        if forbid_eos: lg[:, EOS] = -1e9
        n = torch.multinomial(lg.softmax(-1), 1)[:, 0]
        n = torch.where(done, PAD, n); done |= n == EOS; ids = torch.cat([ids, n[:, None]], 1)
    return ids
def token_logps(m, ids, temp):
    lg = m(ids) / temp
    lg = lg[:, P:] if FA == "shift" else lg[:, P-1:-1]
    if FA == "shift": lg = torch.cat([lg], 1)
    lp = lg.log_softmax(-1); ent = -(lp.exp()*lp).sum(-1)
    return lp.gather(-1, ids[:, P:, None])[..., 0], ent
def evaluate():
    ids = sample(model, eval_p*2, full=True); return sum(text(r[P:].tolist()) == p[::-1] for r, p in zip(ids, eval_p*2)) / len(eval_p*2)

run = f"runs/A_{FA}"; import shutil; shutil.rmtree(run, ignore_errors=True); os.makedirs(run, exist_ok=True); json.dump(cfg, open(f"{run}/config.json", "w"), indent=1)
log = open(f"{run}/metrics.jsonl", "w"); record = firstbreak.recorder(run); record.weights(model, opt); t0 = time.time()
for step in range(1, a.updates+1):
    tb = time.time()
    if FA == "stale": pass
    elif FA == "syncrare":
        if step % 30 == 1: sampler.load_state_dict(model.state_dict())
    else: sampler.load_state_dict(model.state_dict())
    ps = [rng.choice(train_p) for _ in range(NP)]
    if FA == "sameprompt": ps = [train_p[0]]*NP
    prompts = [p for p in ps for _ in range(G)]
    refs = [keys[p] for p in ps]*G if FA == "rewrows" else [keys[p] for p in prompts]
    ids = sample(sampler, prompts, forbid_eos=FA == "noeos", temp=cfg["temperature"]); ts = time.time()
    comps = [text(r) for r in ids[:, P:].tolist()]
    is_eos = ids[:, P:] == EOS; lengths = torch.where(is_eos.any(1), is_eos.float().argmax(1)+1, T)
    mask = (torch.arange(T)[None] < lengths[:, None]).float()
    truemask = mask
    if FA == "padloss": mask = torch.ones_like(mask)
    rewards = torch.tensor([reward_fn(c, k, step) for c, k in zip(comps, refs)])
    x = rewards
    if FA == "mixgroups": pm = torch.randperm(len(x)); x = x[pm]
    g = x.view(-1, G); adv = (g - g.mean(1, keepdim=True))
    if FA == "nocentre": adv = g.clone()
    if FA == "advsign": adv = -adv
    if cfg["std_norm"]: adv = adv / (g.std(1, keepdim=True) + (0 if FA == "nan" else 1e-4))
    adv = adv.reshape(-1)
    if FA == "mixgroups": inv = torch.empty_like(pm); inv[pm] = torch.arange(len(pm)); adv = adv[inv]
    with torch.no_grad():
        model.eval(); old, _ = token_logps(model, ids, temp_lp); rlp, _ = token_logps(ref, ids, temp_lp)
    st = dict(loss=0, kl=0, ent=0, clipf=0, gn=0); k = 0
    if cfg["dropout"]: model.train()
    for ep in range(cfg["epochs"]):
        gp = torch.randperm(NP).view(cfg["minibatches"], -1)
        for mb in gp:
            rows = (mb[:, None]*G + torch.arange(G)).reshape(-1)
            lp, ent = token_logps(model, ids[rows], temp_lp); lp.retain_grad()
            m, ad = mask[rows], adv[rows, None]
            ratio = (old[rows] - lp).exp() if FA == "ratioinv" else (lp - old[rows]).exp()
            s = torch.min(ratio*ad, ratio.clamp(1-cfg["clip_eps"], 1+cfg["clip_eps"])*ad)
            d = rlp[rows] - lp; kl = d.exp() - d - 1
            per = -s + cfg["beta"]*kl - (-1 if FA == "entsign" else 1)*cfg["entropy_coef"]*ent
            if FA == "losssign": per = s + cfg["beta"]*kl
            loss = (per*m).sum()/(len(rows)*T) if not cfg["std_norm"] else ((per*m).sum(1)/m.sum(1)).mean()
            opt.zero_grad(); loss.backward()
            if k == 0 and record.due(step):
                R = rows.tolist()
                cc, rr = [comps[i] for i in R], [refs[i] for i in R]
                record.batch(step, prompts=[prompts[i]+"=" for i in R], completions=cc, group=G, rewards=rewards[rows], advantages=adv[rows], mask=m, lengths=lengths[rows],
                    logps=lp.detach(), old_logps=old[rows], ref_logps=None if not cfg["beta"] else rlp[rows], entropies=ent.detach(), gradient=lp.grad, fresh=True, clip=cfg["clip_eps"],
                    references=rr, score=lambda rs, other: torch.tensor([reward_fn(other.get(i, cc[i]), rr[i], step) for i in rs]),
                    training_prompts=[p+"=" for p in train_p], evaluation_prompts=[p+"=" for p in eval_p])
            gn = torch.nn.utils.clip_grad_norm_(params, cfg["max_grad_norm"]); opt.step()
            if sched: sched.step()
            k += 1; w = m.sum()
            st["loss"] += loss.item(); st["kl"] += ((kl*m).sum()/w).item(); st["ent"] += ((ent*m).sum()/w).item(); st["gn"] += gn.item()
            st["clipf"] += ((((ratio-1).abs() > cfg["clip_eps"]).float()*m).sum()/w).item()
    model.eval()
    row = dict(update=step, reward=rewards.mean().item(), reward_spread=rewards.std().item(), pg_loss=st["loss"]/k, kl_to_base=st["kl"]/k, policy_entropy=st["ent"]/k, clip_fraction=st["clipf"]/k,
        gradnorm=st["gn"]/k, lr=opt.param_groups[0]["lr"], completion_len=lengths.float().mean().item(), ended=is_eos.any(1).float().mean().item(), t_sample=ts-tb, t_update=time.time()-tb)
    if step % 5 == 0 or step == 1: row["eval_exact"] = evaluate()
    log.write(json.dumps(row)+"\n"); log.flush()
    if step in (1, 10, 30, 60, 90, a.updates): print(FA, step, {k: round(v, 3) for k, v in row.items()})
print("time", time.time()-t0)
