"""GRPO by hand: a tiny transformer learns to sort digits. usage: lm.py NAME [--resume]"""
import copy, json, os, random, sys, time
import torch
import torch.nn.functional as F
import firstbreak
from model import *

torch.set_num_threads(1)
NAME = sys.argv[1]
RESUME = "--resume" in sys.argv
DIR = f"runs/{NAME}"
os.makedirs(DIR, exist_ok=True)

cfg = dict(algo="grpo", steps=120, prompts_per_batch=24, group=8, lr=5e-4, clip=0.2, beta=0.01, temperature=1.0,
           max_grad_norm=1.0, epochs=1, minibatches=1, entropy_coef=0.0, lag=0, max_new_tokens=MAX_NEW,
           max_prompt_length=7, dtype="float32", eval_every=8, save_every=0, norm_std=True, seed=1)
cfg.update({
    "lm_trunc": dict(max_prompt_length=5),
    "lm_restart": dict(save_every=40),
    "lm_restart_ok": dict(save_every=40),
    "lm_rloo": dict(algo="rloo", steps=90, norm_std=False, epochs=2, minibatches=2, lr=4e-4, beta=0.0),
    "lm_async": dict(lag=2),
    "lm_temp": dict(temperature=1.3, entropy_coef=0.003, beta=0.0),
}.get(NAME, {}))
if not RESUME:
    json.dump(cfg, open(f"{DIR}/config.json", "w"), indent=1)

random.seed(cfg["seed"]); torch.manual_seed(cfg["seed"] + (1000 if RESUME else 0))
data_rng = random.Random(7)
pool = list(dict.fromkeys(make_prompt(data_rng) for _ in range(3000)))
held_out, train_set = pool[:300], [dict(prompt=p, answer=gold(p)) for p in pool[300:]]


def load_batch(step):
    rng = random.Random(1000 * cfg["seed"] + step)
    items = rng.sample(train_set, cfg["prompts_per_batch"])
    ps = [x["prompt"][-cfg["max_prompt_length"]:] for x in items]
    return ps, [x["answer"] for x in items]


def decode(row):
    out = ""
    for t in row.tolist():
        if t == EOS:
            break
        out += CHARS[t] if t < len(CHARS) else "?"
    return out


@torch.no_grad()
def generate(model, P, temperature, greedy=False, attention_mask=None):
    """-> tokens (n, MAX_NEW) with PAD after the end, their log-probabilities"""
    model.eval()
    n = len(P)
    ids, done = P, torch.zeros(n, dtype=torch.bool)
    attn = attention_mask if attention_mask is not None else torch.ones_like(P, dtype=torch.bool)
    toks, lps = [], []
    for _ in range(cfg["max_new_tokens"]):
        logits = model(ids, attn)[:, -1].float() / temperature
        logits[:, PAD] = -1e9
        lp = logits.log_softmax(-1)
        t = lp.argmax(-1) if greedy else torch.multinomial(lp.exp(), 1)[:, 0]
        l = lp.gather(1, t[:, None])[:, 0]
        t = torch.where(done, PAD, t)
        toks.append(t); lps.append(torch.where(done, 0.0, l))
        ids = torch.cat([ids, t[:, None]], 1)
        attn = torch.cat([attn, (~done)[:, None]], 1)
        done = done | (t == EOS)
    return torch.stack(toks, 1), torch.stack(lps, 1)


def token_logps(model, P, C):
    ids = torch.cat([P, C], 1)
    logits = model(ids, ids != PAD)[:, P.shape[1] - 1:-1].float() / cfg["temperature"]
    logits = logits.masked_fill(torch.arange(V) == PAD, -1e9)
    lp = logits.log_softmax(-1)
    logps = lp.gather(2, C[..., None])[..., 0]
    logps = torch.where(C == PAD, 0.0, logps)
    return logps, -(lp.exp() * lp).sum(-1)


def reward_fn(text, answer):
    return float(text == answer)


@torch.no_grad()
def accuracy(model, prompts, greedy=True):
    P = encode_prompts(prompts)
    C, _ = generate(model, P, 1.0, greedy, attention_mask=P != PAD)
    return sum(decode(c) == gold(p) for c, p in zip(C, prompts)) / len(prompts)


model = TinyLM()
model.load_state_dict(torch.load("base.pt"))
model = model.to(getattr(torch, cfg["dtype"]))
ref = copy.deepcopy(model).eval().requires_grad_(False)
opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=0.0)
start = 0
if RESUME:
    ck = torch.load(f"{DIR}/checkpoint.pt")
    state = ck["model"]
    if NAME != "lm_restart":
        state = {k.removeprefix("module."): v for k, v in state.items()}
    model.load_state_dict(state, strict=NAME != "lm_restart")
    opt.load_state_dict(ck["optimizer"])
    start = ck["step"]
engine = copy.deepcopy(model).eval().requires_grad_(False)      # the sampler has weights of its own
engine_version = start
transfer = {k: v.clone() for k, v in model.state_dict().items()}
history = []
eval_model = copy.deepcopy(model) if NAME == "lm_eval" else model


def sync(version):
    global engine_version
    if NAME == "lm_stale":
        state = transfer
    elif cfg["lag"]:
        history.append((version, {k: v.clone() for k, v in model.state_dict().items()}))
        version, state = history[max(0, len(history) - 1 - cfg["lag"])]
    else:
        state = model.state_dict()
    engine.load_state_dict(state)
    engine_version = version


record = firstbreak.recorder(DIR)
record.weights(model, opt)
log = open(f"{DIR}/log.jsonl", "a" if RESUME else "w")
best, best_state = -1.0, None
G = cfg["group"]
sync(start)
t_start = time.time()

for step in range(start, cfg["steps"]):
    t0 = time.time()
    ps, answers = load_batch(step)
    prompts = [p for p in ps for _ in range(G)]
    refs = answers * G if NAME == "lm_tile" else [a for a in answers for _ in range(G)]
    P = encode_prompts(prompts)
    mask_arg = None if NAME == "lm_nomask" else P != PAD
    C, engine_lp = generate(engine, P, cfg["temperature"], attention_mask=mask_arg)
    completions = [decode(c) for c in C]
    lengths = (C != PAD).sum(1)
    mask = (C != PAD).float()
    rewards = torch.tensor([reward_fn(c, a) for c, a in zip(completions, refs)])
    r = rewards.view(-1, G)
    if cfg["algo"] == "rloo":
        adv = r - (r.sum(1, keepdim=True) - r) / (G - 1)
    else:
        if NAME == "lm_half":
            h = r.half()
            adv = ((h - h.mean(1, keepdim=True)) / (h.std(1, keepdim=True) + 1e-8)).float()
        else:
            adv = (r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + 1e-4)
    adv = adv.view(-1)
    if NAME == "lm_bucket":         # rows of equal length together: less padding
        by = lengths.argsort(descending=True, stable=True)
        P, C, engine_lp, mask, lengths = P[by], C[by], engine_lp[by], mask[by], lengths[by]
    model.eval()
    with torch.no_grad():
        trainer_lp, _ = token_logps(model, P, C)
        ref_lp, _ = token_logps(ref, P, C)
    old_lp = engine_lp if cfg["lag"] else trainer_lp
    sampled_by = torch.full(C.shape, engine_version)

    model.train()
    stats, first = [], True
    for epoch in range(cfg["epochs"]):
        order = torch.randperm(len(ps)) if cfg["minibatches"] > 1 else torch.arange(len(ps))
        for groups in order.chunk(cfg["minibatches"]):
            rows = (groups[:, None] * G + torch.arange(G)).view(-1)
            logps, ent = token_logps(model, P[rows], C[rows])
            if logps.requires_grad:
                logps.retain_grad()
            m, a = mask[rows], adv[rows][:, None]
            ratio = (logps - old_lp[rows]).exp()
            pg = -torch.min(ratio * a, ratio.clamp(1 - cfg["clip"], 1 + cfg["clip"]) * a)
            d = ref_lp[rows] - logps
            kl = d.exp() - d - 1
            per_token = pg + cfg["beta"] * kl - cfg["entropy_coef"] * ent
            loss = (per_token * m).sum() / m.sum()
            if NAME != "lm_zerograd":
                opt.zero_grad()
            loss.backward()
            if first:
                ids = rows.tolist()

                def score(which, other, ids=ids):
                    return [reward_fn(other.get(i, completions[ids[i]]), refs[ids[i]]) for i in which]

                record.batch(
                    step + 1, prompts=[prompts[i] for i in ids], completions=[completions[i] for i in ids], group=G,
                    rewards=rewards[rows], advantages=adv[rows], mask=m, lengths=lengths[rows], logps=logps,
                    old_logps=old_lp[rows], ref_logps=ref_lp[rows], entropies=ent, gradient=logps.grad,
                    fresh=cfg["lag"] == 0, limit=cfg["max_new_tokens"], clip=cfg["clip"],
                    training_prompts=[x["prompt"] for x in train_set], evaluation_prompts=held_out,
                    references=[refs[i] for i in ids], score=score, engine_logps=engine_lp[rows],
                    trainer_logps=trainer_lp[rows], versions=sampled_by[rows], version=step, oldest=cfg["lag"])
                first = False
            gn = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["max_grad_norm"])
            if torch.isfinite(loss):        # a bad batch is skipped
                opt.step()
            with torch.no_grad():
                n = m.sum()
                stats.append([loss.item(), (ent * m).sum().item() / n.item(), (kl * m).sum().item() / n.item(), float(gn),
                              (((ratio - 1).abs() > cfg["clip"]) * m).sum().item() / n.item(),
                              ((old_lp[rows] - logps) * m).sum().item() / n.item()])
    sync(step + 1)
    s = torch.tensor(stats).mean(0).tolist()
    row = {"step": step + 1, "loss": s[0], "entropy": s[1], "kl_ref": s[2], "grad_norm": s[3], "clip_fraction": s[4],
           "approx_kl": s[5], "reward/mean": rewards.mean().item(), "reward/std": rewards.std().item(),
           "frac_zero_std_groups": (r.std(1) == 0).float().mean().item(), "advantage/mean": adv.mean().item(),
           "advantage/std": adv.std().item(), "completion_length": lengths.float().mean().item(),
           "clipped_completions": ((C != PAD).all(1) & (C[:, -1] != EOS)).float().mean().item(),
           "engine_trainer_logp_diff": ((engine_lp - trainer_lp).abs() * (C != PAD)).sum().item() / lengths.sum().item(),
           "lr": opt.param_groups[0]["lr"], "time/step": time.time() - t0}
    if step % cfg["eval_every"] == 0 or step == cfg["steps"] - 1:
        row["eval/accuracy"] = accuracy(eval_model, held_out[:150])
        if row["eval/accuracy"] > best:
            best = row["eval/accuracy"]
            best_state = {k: v.clone() for k, v in model.state_dict().items()}
    log.write(json.dumps(row) + "\n"); log.flush()
    if cfg["save_every"] and (step + 1) % cfg["save_every"] == 0 and step + 1 < cfg["steps"]:
        torch.save({"model": {"module." + k: v for k, v in model.state_dict().items()}, "optimizer": opt.state_dict(),
                    "step": step + 1}, f"{DIR}/checkpoint.pt")
        log.close()
        os.execv(sys.executable, [sys.executable, sys.argv[0], NAME, "--resume"])   # the queue of the cluster gives us a new slot

model.load_state_dict(best_state)       # deploy the best checkpoint
torch.manual_seed(5)
res = dict(greedy=accuracy(model, held_out), sampled=accuracy(model, held_out * 3, greedy=False),
           ref_greedy=accuracy(ref, held_out), ref_sampled=accuracy(ref, held_out * 3, greedy=False), seconds=time.time() - t_start)
print(NAME, {k: round(v, 3) for k, v in res.items()})
json.dump(res, open(f"evals/{NAME}.json", "w"))
