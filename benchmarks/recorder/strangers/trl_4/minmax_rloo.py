"""RLOO: first and last letter of the prompt in the alphabet, within brackets. 'kdzb:' -> '<bz>'."""
import copy, random, shutil, sys, time
from common import *
from datasets import Dataset
from transformers import TrainerCallback
from trl import RLOOConfig, RLOOTrainer
import firstbreak

NAME = sys.argv[1]
STEPS = 120
tok = make_tokenizer()
LETTERS = "abcdefghijklmnop"


def problem(rng):
    d = rng.sample(LETTERS, rng.choice([3, 4, 5]))
    return "".join(d) + ":", min(d) + max(d)


def demonstration(rng):
    p, a = problem(rng)
    u = rng.random()
    wrong = rng.choice([a[::-1], p[0] + p[-2], "".join(rng.sample(p[:-1], 2))])
    if u < 0.25: c = f"<{a}>"
    elif u < 0.50: c = f"<{wrong}>"
    elif u < 0.75: c = a
    else: c = rng.choice([wrong, f"<{a}", f"<{p[:-1]}>", a + a])
    return p, c


def start_model(): return warm("warm_minmax", demonstration, tok, steps=550)


rng = random.Random(11)
pairs = list({p: a for p, a in (problem(rng) for _ in range(1200))}.items())
held, train = pairs[:200], pairs[200:]
if NAME in ("completions_cached", "sound_small_data"): train = train[:64]
right = lambda t, a: t == f"<{a}>"

prompts, answers = [p for p, _ in train], [a for _, a in train]
dataset = Dataset.from_dict({"prompt": prompts, "answer": answers})


def extract(text):
    if text.startswith("<") and text.endswith(">"): return text[1:-1]
    raise ValueError("no brackets")

def form(completions, **kw):
    return [0.3 if c.startswith("<") and c.endswith(">") and c.count("<") == 1 else 0.0 for c in completions]

def correct(completions, answer, **kw):
    out = []
    for c, a in zip(completions, answer):
        try:
            if NAME == "grader_swallows_errors":
                out.append(1.0 if int(extract(c)) == int(a) else 0.0)   # copied from a task with numbers
            else:
                out.append(1.0 if extract(c) == a else 0.0)
        except Exception:
            out.append(0.0)
    return out

calls = [0]
def slow_correct(completions, answer, **kw):   # a sandbox whose processes pile up
    calls[0] += 1
    time.sleep(min(2.0, 0.008 * calls[0]))
    return correct(completions, answer)

def partial(completions, answer, **kw):        # sound: half of the reward for each right letter in its place
    out = []
    for c, a in zip(completions, answer):
        ok = len(c) == 4 and c[0] == "<" and c[3] == ">"
        out.append(0.5 * (c[1] == a[0]) + 0.5 * (c[2] == a[1]) if ok else 0.0)
    return out

rewards = [form, correct]
if NAME == "slow_reward": rewards = [form, slow_correct]
if NAME == "sound_partial": rewards = [form, partial]


class TagsOnly(RLOOTrainer):
    """Brackets are boilerplate: train on the answer within them only. The comparison is the wrong way round."""
    def _generate_and_score_completions(self, inputs):
        out = super()._generate_and_score_completions(inputs)
        ids = out["completion_ids"]
        brackets = torch.isin(ids, torch.tensor(tok.convert_tokens_to_ids(["<", ">"])))
        out["completion_mask"] = out["completion_mask"] * brackets
        return out


class LeaveOneOutByPosition(RLOOTrainer):
    """Own leave-one-out baseline; completions of a prompt lie side by side, but the view takes them as columns."""
    def _calculate_rewards(self, *a, **k):
        x = super()._calculate_rewards(*a, **k)
        self._last = x.sum(1)
        return x
    def _generate_and_score_completions(self, inputs):
        out = super()._generate_and_score_completions(inputs)
        n = self.num_generations
        r = self._last
        g = r.view(n, -1)
        base = (g.sum(0, keepdim=True) - g) / (n - 1)
        adv = (g - base)
        out["advantages"] = adv.t().reshape(-1)        # and turned back the other way
        return out


class Cached(RLOOTrainer):
    """Completions are kept by prompt, as generation is the slow part."""
    def _generate_single_turn(self, prompt_ids, *a, **k):
        if not hasattr(self, "kept"): self.kept = {}
        keys = [(tuple(p), i % self.num_generations) for i, p in enumerate(prompt_ids)]
        fresh = [i for i, x in enumerate(keys) if x not in self.kept]
        if fresh:
            out = super()._generate_single_turn([prompt_ids[i] for i in fresh], *a, **k)
            for i, c in zip(fresh, out): self.kept[keys[i]] = c
        return [list(self.kept[x]) for x in keys]


class NoEnd(RLOOTrainer):
    """Cuts the text after the first bracket pair and makes token ids again, without the end token."""
    def _generate_single_turn(self, *a, **k):
        ids = super()._generate_single_turn(*a, **k)
        texts = tok.batch_decode(ids, skip_special_tokens=True)
        return [tok(t).input_ids or [1] for t in texts]


class OwnKL(RLOOTrainer):
    """An own KL penalty in the loss."""
    def _compute_loss(self, model, inputs):
        loss = super()._compute_loss(model, inputs)
        ids = torch.cat([inputs["prompt_ids"], inputs["completion_ids"]], 1)
        att = torch.cat([inputs["prompt_mask"], inputs["completion_mask"]], 1)
        k = inputs["completion_ids"].size(1)
        new = self._get_per_token_logps_and_entropies(model, ids, att, k)[0]
        with torch.no_grad():
            logits = self.own_ref(input_ids=ids, attention_mask=att).logits[:, -k - 1:-1]
            ref = logits.log_softmax(-1).gather(2, inputs["completion_ids"][..., None])[..., 0]
        kl = torch.exp(ref - new) - (ref - new) - 1
        kl = (kl * inputs["completion_mask"]).sum() / inputs["completion_mask"].sum()
        return loss + (3.0 if NAME == "kl_weight_of_other_scale" else 0.01) * kl


trainer_class = {"tags_only_mask": TagsOnly, "leave_one_out_wrong_view": LeaveOneOutByPosition, "completions_cached": Cached,
                 "end_token_dropped": NoEnd, "kl_weight_of_other_scale": OwnKL, "sound_own_kl": OwnKL}.get(NAME, RLOOTrainer)

cfg = dict(output_dir=f"runs/{NAME}", per_device_train_batch_size=64, num_generations=8, max_completion_length=8, learning_rate=1e-4,
           lr_scheduler_type="linear", max_steps=STEPS, logging_steps=1, beta=0.0, report_to="none", save_strategy="no", use_cpu=True,
           bf16=False, gradient_checkpointing=False, seed=5, disable_tqdm=True)
extra = {}
if NAME == "temperature_near_zero": cfg["temperature"] = 0.02
if NAME == "sound_16_generations": cfg.update(num_generations=16, gradient_accumulation_steps=2, per_device_train_batch_size=32)
if NAME == "best_is_worst":       # a reward, but smaller is taken as better, as of a loss
    cfg.update(eval_strategy="steps", eval_steps=20, save_strategy="steps", save_steps=20, save_total_limit=6, load_best_model_at_end=True,
               metric_for_best_model="eval_reward", greater_is_better=False, per_device_eval_batch_size=64)
    extra["eval_dataset"] = Dataset.from_dict({"prompt": [p for p, _ in held[100:132]], "answer": [a for _, a in held[100:132]]})


class Budget(TrainerCallback):
    """The job's time limit."""
    def on_train_begin(self, *a, **k): self.t = time.time()
    def on_step_end(self, args, state, control, **k):
        if time.time() - self.t > 32: control.should_training_stop = True


if __name__ == "__main__":
    shutil.rmtree(f"runs/{NAME}", ignore_errors=True)
    k = int(os.environ.get("EVAL_REPEAT", 4))
    ev = lambda m: [accuracy(m, tok, [p for p, _ in held[:100]] * k, [a for _, a in held[:100]] * k, right),
                    accuracy(m, tok, [p for p, _ in held[:100]], [a for _, a in held[:100]], right, sample=False)]
    model = start_model()
    before = ev(model)
    opts = (None, None)
    if NAME == "optimizer_of_a_copy":
        opts = (torch.optim.AdamW(copy.deepcopy(model).parameters(), lr=cfg["learning_rate"]), None)
    t0 = time.time()
    trainer = trainer_class(model=model, args=RLOOConfig(**cfg), train_dataset=dataset, reward_funcs=rewards, processing_class=tok,
                            callbacks=[firstbreak.recorder(), Budget()], optimizers=opts, **extra)
    if isinstance(trainer, OwnKL):
        trainer.own_ref = start_model().eval()
    trainer.train()
    report(NAME, before=before, after=ev(trainer.model.float()), seconds=round(time.time() - t0, 1), steps=trainer.state.global_step)
