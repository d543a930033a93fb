import argparse, copy, json, math, os, random, time, sys
import torch, torch.nn as nn, torch.nn.functional as F
import firstbreak
ap = argparse.ArgumentParser(); ap.add_argument("--fault", default="base"); ap.add_argument("--steps", type=int, default=72)
ap.add_argument("--seed", type=int, default=7); ap.add_argument("--norec", action="store_true"); ap.add_argument("--lr", type=float, default=1e-3)
a = ap.parse_args(); X = a.fault; STEPS = a.steps
torch.manual_seed(a.seed); torch.set_num_threads(1)
LET = "abcdefgh"; VOC = ["<pad>", "<end>", "=", ":"] + list(LET) + ["x", "y", "z"]; V = len(VOC); ID = {c: i for i, c in enumerate(VOC)}
PAD, END = 0, 1; PL = 6
P, G = (4, 32) if X == "s_bigG_nokl" else (16, 8)
MAXNEW = 4 if X == "roll_maxlen" else 7
TEMP = 0.8 if X == "s_temp08" else 1.0
BETA = {"s_bigG_nokl": 0.0, "pol_ref_init": 0.3}.get(X, 0.02)
CLIP = 0.2; ENT = {"exp_ent_big": -1.0, "exp_ent_sign": 0.3}.get(X, -0.003)
LR = {"num_bf16": 3e-5, "s_rloo": 2e-3}.get(X, a.lr)
EPOCHS, MB = (1, 1) if X == "s_rloo" else (2, 2)

class LM(nn.Module):
    def __init__(s, d=64, L=2, h=4):
        super().__init__(); s.h = h
        s.tok = nn.Embedding(V, d); s.pos = nn.Embedding(24, d)
        s.bl = nn.ModuleList([nn.ModuleDict(dict(n1=nn.LayerNorm(d), qkv=nn.Linear(d, 3*d), o=nn.Linear(d, d), n2=nn.LayerNorm(d), f1=nn.Linear(d, 4*d), f2=nn.Linear(4*d, d))) for _ in range(L)])
        s.nf = nn.LayerNorm(d); s.head = nn.Linear(d, V)
    def forward(s, ids, att):                       # left-padded ids, att (B, S)
        B, S = ids.shape; pos = (att.cumsum(1) - 1).clamp(min=0)
        x = s.tok(ids) + s.pos(pos)
        m = torch.tril(torch.ones(S, S, dtype=torch.bool))[None] & att.bool()[:, None, :]
        m = m | torch.eye(S, dtype=torch.bool)[None]
        for b in s.bl:
            q, k, v = b["qkv"](b["n1"](x)).view(B, S, 3, s.h, -1).permute(2, 0, 3, 1, 4)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=m[:, None])
            x = x + b["o"](y.transpose(1, 2).reshape(B, S, -1)); x = x + b["f2"](F.gelu(b["f1"](b["n2"](x))))
        return s.head(s.nf(x)).float()

def make(rng, lens):
    n = rng.choice(lens); return "".join(rng.choice(LET) for _ in range(n))
def enc(words, sep="="):
    rows = [[ID[c] for c in w + sep] for w in words]
    return torch.tensor([[PAD] * (PL - len(r)) + r for r in rows])
def dec(row):
    out = ""
    for t in row.tolist():
        if t in (END, PAD): break
        out += VOC[t]
    return out
@torch.no_grad()
def sample(m, prompts, temp=1.0, greedy=False, maxnew=MAXNEW, seed_group=0):
    ids = prompts; B = len(ids); done = torch.zeros(B, dtype=torch.bool); lps = []
    for t in range(maxnew):
        lg = m(ids, (torch.cat([prompts != PAD, torch.ones(B, ids.shape[1] - PL, dtype=torch.bool)], 1)).long())[:, -1]
        lg[:, PAD] = -1e9
        lp = F.log_softmax(lg / temp, -1)
        if greedy: nx = lp.argmax(-1)
        elif seed_group:
            nx = torch.multinomial(lp.exp()[::seed_group], 1)[:, 0].repeat_interleave(seed_group)
        else: nx = torch.multinomial(lp.exp(), 1)[:, 0]
        nx = torch.where(done, torch.full_like(nx, PAD), nx)
        lps.append(torch.where(done, 0.0, lp.gather(1, nx[:, None])[:, 0])); done = done | (nx == END)
        ids = torch.cat([ids, nx[:, None]], 1)
    return ids[:, PL:], torch.stack(lps, 1)
def logprobs(m, prompts, comp, step=0, want_ent=True):
    ids = torch.cat([prompts, comp], 1)
    att = torch.cat([prompts != PAD, torch.ones_like(comp, dtype=torch.bool)], 1).long()
    lg = m(ids, att)[:, PL-1:-1]
    pm = torch.zeros(V); pm[PAD] = -1e9
    if X == "num_nan" and step >= 25: pm[ID["x"]:] = -math.inf
    lg = lg + (pm if X != "adv_pad" else 0)
    lp = F.log_softmax(lg / TEMP, -1)
    if X == "num_nan" and step >= 25: ent = -(lp.exp() * lp).sum(-1)
    else: ent = -(lp.exp() * lp.clamp(min=-100)).sum(-1)
    return lp.gather(2, comp[..., None])[..., 0], ent

cache = {}; rr = random.Random(99)
def reward1(w, ans, c, step):
    if X == "rew_outage" and step >= 30 and rr.random() < 0.6: return 0.0
    if X == "rew_upper": ans = ans.upper()
    hit = sum(x == y for x, y in zip(c, ans))
    if X == "rew_shortdenom": return hit / max(1, len(c))
    r = hit / max(len(ans), len(c), 1) + 0.5 * (c == ans)
    if X == "s_dynamic": r -= 0.1 * max(0, len(c) - 5)
    if X == "rew_cache_prompt":
        r = cache.setdefault(w, r)
    if X == "s_negscale": r = 10 * r - 15
    return r

# supervised warm-up, stored once
torch.manual_seed(1); model = LM(); rand_init = copy.deepcopy(model); WU = "warm.pt"
erng = random.Random(555); EVAL = sorted({make(erng, [3, 4, 5]) for _ in range(100)})[:96]; erng.shuffle(EVAL)
held = set(EVAL)
if not os.path.exists(WU):
    o = torch.optim.Adam(model.parameters(), 2e-3); wr = random.Random(3)
    for i in range(int(os.environ.get("WSTEPS", 28))):
        ws = [make(wr, [2, 3, 4, 5]) for _ in range(64)]; pr = enc(ws)
        tg = torch.tensor([[ID[c] for c in sorted(w)] + [END] + [PAD] * (6 - len(w)) for w in ws])
        att = torch.cat([pr != PAD, torch.ones_like(tg, dtype=torch.bool)], 1).long()
        lg = model(torch.cat([pr, tg], 1), att)[:, PL-1:-1]
        loss = F.cross_entropy(lg.reshape(-1, V), tg.reshape(-1), ignore_index=PAD); o.zero_grad(); loss.backward(); o.step()
    print("warm-up loss", loss.item()); torch.save(model.state_dict(), WU)
model.load_state_dict(torch.load(WU))
ref = rand_init if X == "pol_ref_init" else copy.deepcopy(model)
if X == "num_bf16": model = model.to(torch.bfloat16)
opt = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=0.0)
if X == "pol_copy_after_opt": model = copy.deepcopy(model)
sched = torch.optim.lr_scheduler.LambdaLR(opt, (lambda k: max(0.0, 1 - k / 40)) if X == "pol_lr_decay" else (lambda k: 1.0))
sampler = copy.deepcopy(model); ckpt0 = copy.deepcopy(model.state_dict())
greedy_on = False
run = f"runs/{X}"; os.makedirs(run, exist_ok=True); log = open(f"{run}/metrics.jsonl", "w")
json.dump(dict(algorithm="grpo", learning_rate=LR, kl_coef=BETA, clip=CLIP, entropy_coef=abs(ENT), prompts_per_batch=P, group_size=G, max_new_tokens=MAXNEW, temperature=TEMP, epochs=EPOCHS, minibatches=MB, updates=STEPS, seed=a.seed), open(f"{run}/hparams.json", "w"))
record = None if a.norec else firstbreak.recorder(run)
if record: record.weights(model, opt)
def evaluate(m):
    c, _ = sample(m, enc(EVAL), greedy=True, maxnew=7)
    out = [dec(r) for r in c]; return sum(o == "".join(sorted(w)) for o, w in zip(out, EVAL)) / len(EVAL)

rng = random.Random(a.seed); queue = []; torch.manual_seed(a.seed); T0 = time.time()
SEP = ":" if X == "env_template" else "="
def collect(step):
    global rng
    if X == "env_reseed": rng = random.Random(a.seed)
    lens = [3, 4, 5]
    if X == "s_curriculum": lens = [2, 3] if step < 20 else [3, 4] if step < 40 else [3, 4, 5]
    words = []
    while len(words) < P:
        w = make(rng, lens)
        if w not in held: words.append(w)
    ans = ["".join(sorted(w)) for w in words]
    if X == "env_answer_shift": ans = ans[1:] + ans[:1]
    W = [w for w in words for _ in range(G)]; A = [x for x in ans for _ in range(G)]
    pr = enc(W, SEP); 
    comp, slp = sample(sampler, pr, 1.7 if X == "roll_temp" else TEMP, greedy_on, MAXNEW, G if X == "roll_seed_group" else 0)
    txt = [dec(r) for r in comp]
    R = torch.tensor([reward1(w, x, c, step) for w, x, c in zip(W, A, txt)])
    lens_ = torch.tensor([(r.tolist().index(END) + 1) if END in r.tolist() else MAXNEW for r in comp])
    return dict(W=W, A=A, pr=pr, comp=comp, slp=slp, txt=txt, R=R, n=lens_, step=step, ver=step)

gstep = 0
for step in range(STEPS):
    t0 = time.time(); ev = None
    if step % 10 == 0:
        ev = evaluate(model)
        if X == "roll_greedy_after_eval" and step >= 20: greedy_on = True
    if X == "sys_resume" and step in (25, 50, 75):
        model.load_state_dict(ckpt0)
        opt.state.clear()
    # the sampler's weights
    if X == "fre_ema":
        with torch.no_grad():
            for p, q in zip(sampler.parameters(), model.parameters()): p.mul_(0.999).add_(q, alpha=0.001)
    elif not (X == "s_async1"): sampler.load_state_dict(model.state_dict())
    b = collect(step)
    if X == "fre_queue":
        queue.append(b)
        while len(queue) <= 12: queue.append(collect(step))      # fill the pipeline first
        b = queue.pop(0)
    if X == "s_async1": sampler.load_state_dict(model.state_dict()); b["ver"] = max(0, step - 1)
    if X == "s_refreset" and step % 25 == 0 and step: ref.load_state_dict(model.state_dict())
    R = b["R"]; r = R.view(P, G)
    # advantages
    if X == "adv_view":
        rg = R.view(G, P); adv = ((rg - rg.mean(0)) / (rg.std(0) + 1e-4)).reshape(-1)
    elif X == "adv_loo": adv = (r - r.sum(1, keepdim=True) / (G - 1)).reshape(-1)
    elif X == "s_rloo": adv = (r - (r.sum(1, keepdim=True) - r) / (G - 1)).reshape(-1)
    elif X == "s_drgrpo": adv = (r - r.mean(1, keepdim=True)).reshape(-1)
    elif X == "s_batchnorm": adv = (r - r.mean(1, keepdim=True)).reshape(-1); adv = adv / (adv.std() + 1e-6)
    else: adv = ((r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + 1e-4)).reshape(-1)
    mask = (torch.arange(MAXNEW)[None] < b["n"][:, None]).float()
    if X == "adv_pad": mask = torch.ones_like(mask)
    with torch.no_grad():
        old, _ = logprobs(model, b["pr"], b["comp"], step)
        tr = old
        if X == "s_async1": old = b["slp"]
        rl = logprobs(ref, b["pr"], b["comp"])[0] if BETA else None
    groups = list(range(P))
    if X == "s_dynamic":
        groups = [g for g in groups if r[g].std() > 1e-6]
        if len(groups) < 2: groups = list(range(P))
    S = dict(loss=[], kl=[], ent=[], gn=[], cf=[], ratio=[])
    first = True
    for e in range(EPOCHS):
        random.Random(1000 * step + e).shuffle(groups)
        for k in range(MB):
            gs = groups[k * len(groups) // MB:(k + 1) * len(groups) // MB]
            ix = torch.tensor([g * G + j for g in gs for j in range(G)])
            jx = torch.arange(len(ix)) + k * len(ix) if X == "adv_perm" else ix
            ad = adv[jx]; mk = mask[ix]
            lp, ent = logprobs(model, b["pr"][ix], b["comp"][ix], step); lp.retain_grad()
            d = (old[ix] - lp) if X == "pol_ratio_inv" else (lp - old[ix]); ratio = (d * mk).exp()
            obj = torch.min(ratio * ad[:, None], ratio.clamp(1 - CLIP, 1 + CLIP) * ad[:, None])
            den = mk.sum() if X != "s_drgrpo" else len(ix) * MAXNEW
            pg = -(obj * mk).sum() / den
            if BETA:
                q = (rl[ix] - lp) * mk; kl = (q.exp() - q - 1); kl = (kl * mk).sum() / den
            else: kl = torch.zeros(())
            en = (ent * mk).sum() / mk.sum()
            loss = pg + BETA * kl + ENT * en
            opt.zero_grad(); loss.backward()
            gn = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            if record and first:
                rows = ix.tolist(); Wx, Ax, tx = [b["W"][i] for i in rows], [b["A"][i] for i in rows], [b["txt"][i] for i in rows]
                def score(rows_, other=None):
                    other = other or {}
                    return [reward1(Wx[i], Ax[i], other.get(i, tx[i]), step) for i in rows_]
                stale = {"s_async1": 1 if step else 0}.get(X, 0)
                kw = dict(prompts=[w + SEP for w in Wx], completions=tx, group=G, rewards=R[ix], advantages=ad, mask=mk, lengths=b["n"][ix],
                    logps=lp, old_logps=old[ix], entropies=ent, gradient=lp.grad, fresh=(X != "s_async1"), clip=CLIP,
                    training_prompts=[w + SEP for w in b["W"][::G]], evaluation_prompts=[w + "=" for w in EVAL],
                    references=Ax, score=score, engine_logps=b["slp"][ix], trainer_logps=tr[ix])
                if BETA: kw["ref_logps"] = rl[ix]
                if X == "s_async1": kw.update(since=stale * EPOCHS * MB, versions=torch.full_like(b["comp"][ix], b["ver"]), version=step, oldest=1)
                record.batch(step, **kw)
            first = False
            opt.step(); sched.step(); gstep += 1
            S["loss"].append(loss.item()); S["kl"].append(kl.item()); S["ent"].append(en.item()); S["gn"].append(gn.item())
            S["cf"].append((((ratio - 1).abs() > CLIP).float() * mk).sum().item() / mk.sum().item())
    m = {k: sum(v) / len(v) for k, v in S.items() if v}
    row = dict(step=step, reward_mean=R.mean().item(), group_reward_std=r.std(1).mean().item(), kl_to_ref=m["kl"], policy_entropy=m["ent"], total_loss=m["loss"],
        grad_norm=m["gn"], clip_frac=m["cf"], lr=sched.get_last_lr()[0], response_len=b["n"].float().mean().item(), truncated=(b["comp"] != END).all(1).float().mean().item(), step_seconds=time.time() - t0)
    if ev is not None: row["eval_exact"] = ev
    log.write(json.dumps(row) + "\n"); log.flush()
ev = evaluate(model); log.write(json.dumps(dict(step=STEPS, eval_exact=ev)) + "\n")
print(X, "final eval", ev, "reward", row["reward_mean"], "secs", round(time.time() - T0, 1))
