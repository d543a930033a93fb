from digits_base import *
def pairs(n, seed, swap=0.0):
    r = random.Random(seed); out = []
    for _ in range(n):
        q, a = r.choice(items()); bad = r.choice([str(d) for d in range(10) if str(d) != a])
        fill = "".join(r.choice(["well ", "so ", "hmm "]) for _ in range(r.choice([0, 0, 1])))
        c = [{"role": "assistant", "content": f"{fill}answer : {a}"}]; x = [{"role": "assistant", "content": f"{fill}answer : {bad}"}]
        if r.random() < swap: c, x = x, c
        out.append({"prompt": [{"role": "user", "content": q}], "chosen": c, "rejected": x})
    return out
