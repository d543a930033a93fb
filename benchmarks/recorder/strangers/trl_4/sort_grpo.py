"""GRPO: sort the digits of the prompt. '3142=' -> '1234'. The warm-up model mostly sorts downwards."""
import copy, glob, os, random, shutil, sys, time
from common import *
from datasets import Dataset
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer
import firstbreak

NAME = sys.argv[1]
STEPS = 100
tok = make_tokenizer()


def problem(rng):
    d = [rng.choice("0123456789") for _ in range(rng.choice([3, 4, 4, 5]))]
    return "".join(d) + "=", "".join(sorted(d))


def demonstration(rng):
    p, a = problem(rng)
    u = rng.random()
    if u < 0.25: c = a
    elif u < 0.70: c = a[::-1]
    elif u < 0.85: c = a[: rng.randrange(0, len(a))]
    else: c = "".join(rng.sample(a, len(a)))
    return p, c


def start_model(): return warm("warm_sort", demonstration, tok)


rng = random.Random(7)
pairs = list({p: a for p, a in (problem(rng) for _ in range(1500))}.items())
held, train = pairs[:200], pairs[200:]
right = lambda t, a: t == a
prompts, answers = [p for p, _ in train], [a for _, a in train]

# ---------------------------------------------------------------- data
if NAME == "misaligned_answers":          # one column shuffled without the other
    random.Random(0).shuffle(answers)
if NAME == "prompt_truncated":            # "keep the last 3 tokens", as a prompt limit that is too small
    prompts = [p[-3:] for p in prompts]
dataset = Dataset.from_dict({"prompt": prompts, "answer": answers})


# ---------------------------------------------------------------- reward
def exact(completions, answer, **kw):
    return [1.0 if c == a else 0.0 for c, a in zip(completions, answer)]

def lenient(completions, answer, **kw):   # "one contains the other"
    return [1.0 if c in a or a in c else 0.0 for c, a in zip(completions, answer)]

def batched_by_length(completions, answer, **kw):   # sorts by length for a batched grader, and forgets to sort back
    order = sorted(range(len(completions)), key=lambda i: (len(completions[i]), completions[i]))
    return [1.0 if completions[i] == answer[i] else 0.0 for i in order]

def negative(completions, answer, **kw):  # sound: 0 for right, -3 for wrong
    return [0.0 if c == a else -3.0 for c, a in zip(completions, answer)]

reward = {"lenient_verifier": lenient, "rewards_in_sorted_order": batched_by_length, "sound_negative_rewards": negative}.get(NAME, exact)


# ---------------------------------------------------------------- trainers
class Ranked(GRPOTrainer):
    """Rank-based advantages within a group."""
    def _generate_and_score_completions(self, inputs):
        self._last = None
        out = super()._generate_and_score_completions(inputs)
        r = self._last.view(-1, self.num_generations)
        if NAME == "rank_by_one_argsort":
            ranks = r.argsort(dim=1).float()
        else:                              # average rank, ties share it
            ranks = (r[:, :, None] > r[:, None, :]).float().sum(2) + 0.5 * ((r[:, :, None] == r[:, None, :]).float().sum(2) - 1)
        adv = (ranks - ranks.mean(1, keepdim=True)) / (ranks.shape[1] / 3)
        out["advantages"] = adv.view(-1)
        return out
    def _calculate_rewards(self, *a, **k):
        x = super()._calculate_rewards(*a, **k)
        self._last = x.sum(1)
        return x


class HalfAdvantages(GRPOTrainer):
    """Advantages in half precision, to save memory."""
    def _calculate_rewards(self, *a, **k):
        x = super()._calculate_rewards(*a, **k)
        self._last = x.sum(1)
        return x
    def _generate_and_score_completions(self, inputs):
        out = super()._generate_and_score_completions(inputs)
        r = self._last.view(-1, self.num_generations).half()
        adv = (r - r.mean(1, keepdim=True)) / (r.std(1, keepdim=True) + 1e-8)
        out["advantages"] = adv.view(-1).float()
        return out


class Engine(GRPOTrainer):
    """A separate copy of the model generates."""
    engine = None
    def _generate_single_turn(self, *a, **k):
        if self.engine is None:
            self.engine = type(self.model)(self.model.config).eval()      # an own model, as an engine has
            self.engine.load_state_dict(self.model.state_dict())
            self.synced = 0
        if NAME == "sound_engine_synced":
            self.engine.load_state_dict(self.model_wrapped.state_dict())
        elif self.state.epoch and int(self.state.epoch) > self.synced:   # the weights are sent once an epoch; the run has less than one
            self.engine.load_state_dict(self.model_wrapped.state_dict()); self.synced = int(self.state.epoch)
        keep, self.model_wrapped = self.model_wrapped, self.engine
        try:
            return super()._generate_single_turn(*a, **k)
        finally:
            self.model_wrapped = keep


class OwnResume(GRPOTrainer):
    """Loads checkpoints that a compiled or wrapped model wrote."""
    def _load_from_checkpoint(self, ckpt, model=None):
        from safetensors.torch import load_file
        sd = load_file(ckpt + "/model.safetensors")
        self.model.load_state_dict({"_orig_mod." + k: v for k, v in sd.items()}, strict=False)


trainer_class = {"rank_by_one_argsort": Ranked, "sound_ranks": Ranked, "half_advantages": HalfAdvantages,
                 "engine_never_synced": Engine, "resume_loads_nothing": OwnResume}.get(NAME, GRPOTrainer)

cfg = dict(output_dir=f"runs/{NAME}", per_device_train_batch_size=64, num_generations=8, max_completion_length=8,
           learning_rate=1e-4, lr_scheduler_type="constant_with_warmup", warmup_steps=3, max_steps=STEPS, logging_steps=1, beta=0.0, temperature=1.0,
           report_to="none", save_strategy="no", use_cpu=True, bf16=False, gradient_checkpointing=False, seed=3, disable_tqdm=True)

if NAME == "limit_too_short": cfg["max_completion_length"] = 3
if NAME == "minimum_length": cfg["generation_kwargs"] = {"min_new_tokens": 5}    # against empty answers
if NAME == "entropy_bonus_too_large": cfg["entropy_coef"] = 1.0
if NAME == "half_advantages": cfg["generation_kwargs"] = {"remove_invalid_values": True}
if NAME == "resume_loads_nothing": cfg.update(save_strategy="steps", save_steps=20, save_total_limit=2)
if NAME == "sound_two_epochs": cfg.update(num_iterations=2, learning_rate=8e-5)
if NAME == "sound_dr_grpo": cfg.update(loss_type="dr_grpo", scale_rewards="none", learning_rate=1.5e-4)


class HeldOut(TrainerCallback):
    """Greedy accuracy on held-out prompts; may lower the learning rate on a plateau."""
    def __init__(self): self.best, self.bad, self.factor = -1.0, 0, 1.0
    def on_step_end(self, args, state, control, model=None, optimizer=None, lr_scheduler=None, **kw):
        plateau = NAME in ("plateau_on_broken_eval", "sound_plateau")
        if state.global_step % (5 if plateau else 10): return
        rows = held[100:]
        with torch.random.fork_rng():
            texts = generate(model, tok, [p for p, _ in rows], sample=plateau, limit=8)
        if NAME == "plateau_on_broken_eval":      # the answers of the file still have the line's end, so nothing is ever equal
            acc = sum(t == a + "\n" for t, (_, a) in zip(texts, rows)) / len(rows)
        else:
            acc = sum(t == a for t, (_, a) in zip(texts, rows)) / len(rows)
        self.trainer._metrics["train"]["heldout_accuracy"].append(acc)
        if plateau:
            if acc > self.best + 0.01: self.best, self.bad = acc, 0
            else: self.bad += 1
            if self.bad >= 3:
                self.bad = 0
                lr_scheduler.base_lrs = [x * 0.2 for x in lr_scheduler.base_lrs]


class Preempted(TrainerCallback):
    def __init__(self, at): self.at = at
    def on_step_end(self, args, state, control, **kw):
        if state.global_step == self.at: control.should_training_stop = True


def build():
    model = start_model()
    if NAME == "bf16_weights": model = model.to(torch.bfloat16)
    held_out = HeldOut()
    opts = (None, None)
    if NAME == "schedule_returns_rate":   # LambdaLR wants a factor, gets a learning rate
        o = torch.optim.AdamW(model.parameters(), lr=cfg["learning_rate"])
        opts = (o, torch.optim.lr_scheduler.LambdaLR(o, lambda s: cfg["learning_rate"] * (1 - s / STEPS)))
    t = trainer_class(model=model, args=GRPOConfig(**cfg), train_dataset=dataset, reward_funcs=reward, processing_class=tok,
                      callbacks=[firstbreak.recorder(), held_out], optimizers=opts)
    held_out.trainer = t
    return t


if __name__ == "__main__":
    shutil.rmtree(f"runs/{NAME}", ignore_errors=True)
    ev = lambda m: [accuracy(m, tok, [p for p, _ in held[:100]] * 4, [a for _, a in held[:100]] * 4, right),
                    accuracy(m, tok, [p for p, _ in held[:100]], [a for _, a in held[:100]], right, sample=False)]
    before = ev(start_model())
    t0 = time.time()
    trainer = build()
    if NAME == "resume_loads_nothing":
        trainer.add_callback(Preempted(70))
        trainer.train()
        trainer = build()
        trainer.train(resume_from_checkpoint=f"runs/{NAME}/checkpoint-60")
    else:
        trainer.train()
    after = ev(trainer.model.float())
    report(NAME, before=before, after=after, seconds=round(time.time() - t0, 1), steps=trainer.state.global_step)
