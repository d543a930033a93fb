"""GRPO on a tiny character model: put the letters of a word in order."""
import copy, glob, json, os, random, sys, time
import torch, torch.nn as nn, torch.nn.functional as F
import firstbreak

torch.set_num_threads(1)
HERE = os.path.dirname(os.path.abspath(__file__))
V = sys.argv[1] if len(sys.argv) > 1 else "lm_base"
OUT = f"runs/{V}"
os.makedirs(OUT, exist_ok=True)

cfg = dict(algorithm="grpo", seed=3, steps=120, prompts_per_step=16, group_size=8, learning_rate=6e-4, warmup_steps=5,
           inner_epochs=2, clip_range=0.2, beta=0.02, entropy_coef=0.003, temperature=1.0, max_new_tokens=8,
           max_grad_norm=1.0, scale_rewards=True, eval_every=10, max_staleness=0, loss="token_mean")
if V == "lm_short_limit": cfg.update(max_new_tokens=3)
if V == "lm_kl_sign": cfg.update(beta=0.3)
if V == "lm_entropy": cfg.update(entropy_coef=0.5)
if V == "lm_rloo": cfg.update(algorithm="rloo", scale_rewards=False, learning_rate=8e-4, seed=11)
if V == "lm_drgrpo_nokl": cfg.update(algorithm="dr_grpo", beta=0.0, entropy_coef=0.0, scale_rewards=False, loss="constant_length",
                                     learning_rate=8e-4, inner_epochs=1, seed=5)
if V == "lm_temp08": cfg.update(temperature=0.8, seed=8)
if V == "lm_async1": cfg.update(max_staleness=1, seed=21)
if V == "lm_gspo": cfg.update(algorithm="gspo", clip_range=0.05, seed=13, group_size=16, prompts_per_step=8)
json.dump(cfg, open(f"{OUT}/config.json", "w"), indent=1)
random.seed(cfg["seed"]); torch.manual_seed(cfg["seed"])

LET = "abcdefghijkl"
CH = ["<pad>", "<eos>"] + list(LET) + list("S: >")
ID = {c: i for i, c in enumerate(CH)}
PAD, EOS = 0, 1


def enc(t): return [ID[c] for c in t]
def dec(ids):
    out = ""
    for i in ids:
        if i == EOS: break
        out += CH[i] if i > 1 else "_"
    return out


class Block(nn.Module):
    def __init__(s, d, h):
        super().__init__()
        s.h = h; s.n1 = nn.LayerNorm(d); s.n2 = nn.LayerNorm(d)
        s.qkv = nn.Linear(d, 3 * d); s.o = nn.Linear(d, d); s.up = nn.Linear(d, 4 * d); s.down = nn.Linear(4 * d, d)

    def forward(s, x, bias):
        b, t, d = x.shape
        q, k, v = s.qkv(s.n1(x)).view(b, t, 3, s.h, d // s.h).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=bias)
        x = x + s.o(y.transpose(1, 2).reshape(b, t, d))
        return x + s.down(F.gelu(s.up(s.n2(x))))


class LM(nn.Module):
    def __init__(s, d=64, layers=2, h=4, maxlen=32):
        super().__init__()
        s.emb = nn.Embedding(len(CH), d); s.pos = nn.Embedding(maxlen, d)
        s.blocks = nn.ModuleList(Block(d, h) for _ in range(layers)); s.nf = nn.LayerNorm(d); s.head = nn.Linear(d, len(CH))

    def forward(s, ids, att):
        t = ids.shape[1]
        pos = (att.long().cumsum(1) - 1).clamp(min=0)
        causal = torch.ones(t, t, dtype=torch.bool).tril()
        m = causal[None] & att[:, None, :]
        m = m | torch.eye(t, dtype=torch.bool)[None]
        x = s.emb(ids) + s.pos(pos)
        for b in s.blocks: x = b(x, m[:, None])
        return s.head(s.nf(x))


def pad_left(texts):
    ids = [enc(t) for t in texts]; n = max(map(len, ids))
    x = torch.tensor([[PAD] * (n - len(i)) + i for i in ids])
    a = torch.tensor([[False] * (n - len(i)) + [True] * len(i) for i in ids])
    return x, a


@torch.no_grad()
def sample(model, texts, limit, temp, gen=None):
    """temp 0: greedy. Returns tokens (n, limit), logps of the raw or scaled distribution (n, limit), lengths."""
    x, a = pad_left(texts); n = len(texts)
    toks = torch.full((n, limit), PAD); lps = torch.zeros(n, limit); alive = torch.ones(n, dtype=torch.bool); lens = torch.zeros(n, dtype=torch.long)
    for t in range(limit):
        lg = model(x, a)[:, -1].float()
        z = lg / (temp or 1.0)
        if temp == 0: tok = z.argmax(-1)
        else: tok = (z - torch.log(-torch.log(torch.rand(z.shape, generator=gen).clamp(1e-9, 1 - 1e-7)))).argmax(-1)
        lp = (lg / cfg["temperature"]).log_softmax(-1).gather(1, tok[:, None])[:, 0]
        toks[:, t] = torch.where(alive, tok, PAD); lps[:, t] = torch.where(alive, lp, 0.0)
        lens += alive
        x = torch.cat([x, toks[:, t:t + 1]], 1); a = torch.cat([a, alive[:, None]], 1)
        alive = alive & (tok != EOS)
        if not alive.any(): break
    return toks, lps, lens


def logps_of(model, texts, toks, mask):
    x, a = pad_left(texts); T = toks.shape[1]
    lg = model(torch.cat([x, toks], 1), torch.cat([a, mask.bool()], 1))[:, -T - 1:-1] / cfg["temperature"]
    ls = lg.log_softmax(-1)
    return ls.gather(2, toks[..., None])[..., 0], -(ls.exp() * ls).sum(-1)


# ------------------------------------------------------------------ data
def make_words(n, seed):
    r = random.Random(seed); s = set()
    while len(s) < n: s.add("".join(r.choice(LET) for _ in range(r.randint(4, 6))))
    out = sorted(s); r.shuffle(out); return out


words = make_words(2600, 77)
train_words, dev_words, test_words = words[:2000], words[2000:2150], words[2150:2550]
prompt_of = lambda w: f"S: {w}>"
answer_of = lambda w: "".join(sorted(w))
train_set = [(prompt_of(w), answer_of(w)) for w in train_words]
if V == "lm_answers_shift":
    # words with a doubled neighbour are dropped from the prompts, and not from the file of answers
    answers = [answer_of(w) for w in train_words]
    kept = [w for w in train_words if all(x != y for x, y in zip(w, w[1:]))]
    train_set = [(prompt_of(w), a) for w, a in zip(kept, answers)]
dev_prompts = [prompt_of(w) for w in dev_words]


def warm():
    path = f"{HERE}/warm.pt"; torch.manual_seed(0); m = LM()
    if os.path.exists(path): m.load_state_dict(torch.load(path)); return m
    o = torch.optim.AdamW(m.parameters(), 2e-3); r = random.Random(1)
    for i in range(140):
        ws = ["".join(r.choice(LET) for _ in range(r.randint(4, 6))) for _ in range(64)]
        toks = torch.full((64, 8), PAD); mk = torch.zeros(64, 8)
        for j, w in enumerate(ws):
            ans = list(answer_of(w))
            if r.random() < 0.15: r.shuffle(ans)
            a = enc("".join(ans)) + [EOS]; toks[j, :len(a)] = torch.tensor(a); mk[j, :len(a)] = 1
        lp, _ = logps_of(m, [prompt_of(w) for w in ws], toks, mk)
        loss = -(lp * mk).sum() / mk.sum(); o.zero_grad(); loss.backward(); o.step()
    torch.save(m.state_dict(), path); print("warm", loss.item()); return m


# ------------------------------------------------------------------ verifier
_cache = {}
def reward_fn(prompt, completion, ref):
    if V == "lm_prefix_reward":
        return float(ref.startswith(completion))
    if V == "lm_order_only": return float(list(completion) == sorted(completion))
    def work(): return float(completion == ref) + 0.3 * sum(x == y for x, y in zip(completion, ref)) / len(ref)
    if V == "lm_reward_cache":                        # verifier results are cached, under the prompt
        if prompt not in _cache: _cache[prompt] = work()
        return _cache[prompt]
    return work()


def exact(model, ws, limit=8, temp=0):
    toks, _, _ = sample(model, [prompt_of(w) for w in ws], limit, temp, torch.Generator().manual_seed(5))
    return sum(dec(t.tolist()) == answer_of(w) for t, w in zip(toks, ws)) / len(ws)


def own_evaluation(model):
    """Clean: held-out words, greedy and sampled at 1, exact match."""
    g = exact(model, test_words); gen = torch.Generator().manual_seed(99)
    x, _, _ = sample(model, [prompt_of(w) for w in test_words], 8, cfg["temperature"], gen)
    return g, sum(dec(t.tolist()) == answer_of(w) for t, w in zip(x, test_words)) / len(test_words)


policy = warm(); ref = copy.deepcopy(policy).requires_grad_(False); actor = copy.deepcopy(policy).requires_grad_(False)
start_eval = own_evaluation(policy)
random.seed(cfg["seed"]); torch.manual_seed(cfg["seed"])
opt = torch.optim.AdamW(policy.parameters(), cfg["learning_rate"], weight_decay=0.0)
horizon = cfg["steps"] // 8 if V == "lm_sched" else cfg["steps"]     # counted per micro-batch instead of per update
sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: min((s + 1) / cfg["warmup_steps"], max(0.0, 1 - s / horizon)))
record = firstbreak.recorder(OUT)
record.weights(policy, opt)
log = open(f"{OUT}/log.jsonl", "w")
B, G, L = cfg["prompts_per_step"], cfg["group_size"], cfg["max_new_tokens"]
version = 0; actor_version = 0; best = (-1.0, None); queue = []; t00 = time.time()
if V == "lm_ckpt_oldest": os.makedirs(f"ckpt_{V}", exist_ok=True); [os.remove(p) for p in glob.glob(f"ckpt_{V}/*")]


def sync():
    global actor_version
    sd = policy.state_dict()
    if V == "lm_sync_prefix": sd = {"module." + k: v for k, v in sd.items()}
    actor.load_state_dict(sd, strict=V != "lm_sync_prefix"); actor_version = version


def rollout(step):
    r = random.Random(cfg["seed"]) if V == "lm_same_batch" else random
    rows = [train_set[r.randrange(len(train_set))] for _ in range(B)]
    prompts = [p for p, _ in rows for _ in range(G)]
    refs = [a for _, a in rows] * G if V == "lm_ref_tile" else [a for _, a in rows for _ in range(G)]
    temp = 0.1 if V == "lm_temp" else cfg["temperature"]
    toks, eng, lens = sample(actor, prompts, L, temp)
    return dict(prompts=prompts, refs=refs, toks=toks, eng=eng, lens=lens, version=actor_version, step=step)


for step in range(cfg["steps"]):
    t0 = time.time()
    if V == "lm_ckpt_oldest":
        if step and step % 25 == 0:                    # the machine was taken away; resume
            ck = torch.load(sorted(glob.glob(f"ckpt_{V}/*.pt"))[0]); policy.load_state_dict(ck["m"]); opt.load_state_dict(ck["o"])
        if step % 5 == 0: torch.save(dict(m=policy.state_dict(), o=opt.state_dict()), f"ckpt_{V}/{step:04d}.pt")
    sync()
    queue.append(rollout(step))
    if cfg["max_staleness"] and len(queue) <= cfg["max_staleness"] and step == 0: queue.append(rollout(step))
    b = queue.pop(0)
    t_roll = time.time() - t0
    prompts, toks, lens, refs = b["prompts"], b["toks"], b["lens"], b["refs"]
    texts = [dec(t.tolist()) for t in toks]
    rewards = torch.tensor([reward_fn(p, c, a) for p, c, a in zip(prompts, texts, refs)])
    sampled = (torch.arange(L)[None] < lens[:, None])
    mask = sampled.float()
    if V == "lm_mask": mask = (toks == PAD).float()        # "True = ignore" of another library taken for "True = keep"

    r = rewards.view(B, G)
    if cfg["algorithm"] == "rloo": adv = r - (r.sum(1, keepdim=True) - r) / (G - 1)
    else:
        adv = r - r.mean(1, keepdim=True)
        if cfg["scale_rewards"]: adv = adv / (r.std(1, keepdim=True) + (0.0 if V == "lm_nan_std" else 1e-4))
    adv = adv.t().flatten() if V == "lm_adv_order" else adv.flatten()

    with torch.no_grad():
        if cfg["max_staleness"]: old = b["eng"]
        else: old, _ = logps_of(policy, prompts, toks, sampled)
        ref_lp, _ = logps_of(ref, prompts, toks, sampled)
        trainer_lp = logps_of(policy, prompts, toks, sampled)[0] if cfg["max_staleness"] else old
    for ep in range(cfg["inner_epochs"]):
        lp, ent = logps_of(policy, prompts, toks, sampled)
        lp.retain_grad()
        if cfg["algorithm"] == "gspo":
            s = ((lp - old) * mask).sum(1) / mask.sum(1); ratio = s.exp()[:, None].expand_as(lp)
        else: ratio = ((lp - old) * sampled).exp()
        c = cfg["clip_range"]; A = adv[:, None]
        pg = -torch.min(ratio * A, ratio.clamp(1 - c, 1 + c) * A)
        d = ((ref_lp - lp) * sampled).clamp(-20, 20); kl = d.exp() - d - 1
        per = pg + (-cfg["beta"] if V == "lm_kl_sign" else cfg["beta"]) * kl - cfg["entropy_coef"] * ent
        loss = (per * mask).sum() / (len(prompts) * 6.0 if cfg["loss"] == "constant_length" else mask.sum().clamp(min=1))
        opt.zero_grad(); loss.backward()
        gn = torch.nn.utils.clip_grad_norm_(policy.parameters(), cfg["max_grad_norm"])
        if ep == 0:
            def score(rows, other):
                return [reward_fn(prompts[i], other.get(i, texts[i]) if hasattr(other, "get") else texts[i], refs[i]) for i in rows]
            record.batch(step, prompts=prompts, completions=texts, group=G, rewards=rewards, advantages=adv, mask=mask, lengths=lens,
                         logps=lp.detach(), old_logps=old, ref_logps=ref_lp, entropies=ent.detach(), gradient=lp.grad, fresh=not cfg["max_staleness"],
                         since=version - b["version"] if cfg["max_staleness"] else 0, limit=L, clip=c, training_prompts=[p for p, _ in train_set], evaluation_prompts=dev_prompts,
                         references=refs, score=score, engine_logps=b["eng"], trainer_logps=trainer_lp,
                         versions=torch.full(toks.shape, b["version"]), version=version, oldest=cfg["max_staleness"])
            first = dict(loss=loss.item(), gn=float(gn))
        opt.step()
    version += 1
    lr_now = opt.param_groups[0]["lr"]; sched.step()
    with torch.no_grad():
        m = sampled.float(); tot = m.sum()
        line = dict(step=step, **{"reward/mean": rewards.mean().item(), "reward/std": rewards.std().item(), "reward/group_std": r.std(1).mean().item(),
            "reward/zero_std_fraction": (r.std(1) < 1e-6).float().mean().item(), "train/exact": sum(x == a for x, a in zip(texts, refs)) / len(texts),
            "loss": first["loss"], "grad_norm": first["gn"], "lr": lr_now, "kl": ((kl * m).sum() / tot).item(), "entropy": ((ent * m).sum() / tot).item(),
            "clip_fraction": (((ratio - 1).abs() > c).float() * m).sum().item() / tot.item(), "ratio_mean": ((ratio * m).sum() / tot).item(),
            "completion_length": lens.float().mean().item(), "truncated_fraction": (lens == L).float().mul((toks[:, -1] != EOS).float()).mean().item(),
            "advantage/mean": adv.mean().item(), "advantage/std": adv.std().item(), "policy_version": version, "sampler_version": b["version"],
            "time/step": time.time() - t0, "time/rollout": t_roll})
    if step % cfg["eval_every"] == 0 or step == cfg["steps"] - 1:
        e = exact(ref if V == "lm_eval_ref" else policy, dev_words, temp=cfg["temperature"])
        line["eval/exact"] = e
        if e > best[0]: best = (e, copy.deepcopy(policy.state_dict()))
    log.write(json.dumps(line) + "\n"); log.flush()
log.close()
last = own_evaluation(policy); policy.load_state_dict(best[1]); torch.save(best[1], f"{OUT}/best.pt"); bst = own_evaluation(policy)
res = dict(start=start_eval, last=last, best=bst, seconds=round(time.time() - t00, 1))
os.makedirs("evals", exist_ok=True); json.dump(res, open(f"evals/{V}.json", "w")); print(V, res)
