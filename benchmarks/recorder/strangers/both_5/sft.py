"""Makes base.pt: a short supervised start of the tiny model (run once)."""
import torch, random, time
from model import *
torch.set_num_threads(1)
if __name__ == "__main__":
    random.seed(0); torch.manual_seed(0)
    m = TinyLM(); opt = torch.optim.AdamW(m.parameters(), lr=2e-3)
    rng = random.Random(1)
    import sys
    for i in range(int(sys.argv[1]) if len(sys.argv) > 1 else 500):
        ps = [make_prompt(rng) for _ in range(64)]
        P = encode_prompts(ps)
        ans = [gold(p) for p in ps]
        # noisy demonstrations: some are not sorted
        ans = ["".join(rng.sample(a, len(a))) if rng.random() < 0.35 else a for a in ans]
        C = torch.full((64, MAX_NEW), PAD)
        for k, a in enumerate(ans):
            t = [STOI[c] for c in a] + [EOS]
            C[k, :len(t)] = torch.tensor(t)
        ids = torch.cat([P, C], 1)
        logits = m(ids, ids != PAD)[:, P.shape[1] - 1:-1]
        loss = torch.nn.functional.cross_entropy(logits.reshape(-1, V), C.reshape(-1), ignore_index=PAD)
        opt.zero_grad(); loss.backward(); opt.step()
        if i % 100 == 0: print(i, loss.item(), flush=True)
    torch.save(m.state_dict(), "base.pt")
