"""Diagnoses as the engine makes them, one for every way a report can look. Curves are formulas: the same on every machine."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from firstbreak.model import (
    Action,
    BestCheckpoint,
    Checkpoint,
    Confidence,
    Config,
    Cost,
    Diagnosis,
    Evidence,
    Experiment,
    Finding,
    FirstBreak,
    Link,
    LinkStatus,
    LinkVerdict,
    Outcome,
    RankedCause,
    Run,
    Series,
    Severity,
    Status,
    Verdict,
    Weight,
    WeightKind,
)

#: Code that would give the page's root element the id "broken", tried in every way a log could try it.
HOSTILE = (
    "<script>document.documentElement.id='broken'</script><img src=x onerror=\"document.documentElement.id='broken'\">"
    "\"' onload=document.documentElement.id='broken' x='</style></svg></title>[bold red]|`**[x](javascript:alert(1))**`|"
    "\x1b[31m\x1b]0;owned\x07\r\n# heading\n\u202ereversed\u202c \x9b2J \udcff &amp; "
    "https://evil.example/x ```\u2028{{7*7}} 日本語"
)


def noise(n: int, seed: int = 1) -> np.ndarray:
    """Shape (n,): about standard normal, without a random number generator that a later numpy may change."""
    i = np.arange(n, dtype=float)
    uniform = [
        np.modf(np.abs(np.sin(i * a + seed * b)) * 43758.5453)[0] for a, b in ((12.9898, 78.233), (39.3468, 11.135))
    ]
    return np.sqrt(-2 * np.log(uniform[0] + 1e-12)) * np.cos(2 * np.pi * uniform[1])


def first(*told: Any, also: Link | None = None, or_earlier: bool = True) -> FirstBreak:
    """A first break: link, metric, step, interval and probability."""
    names = ("link", "metric", "step", "interval", "probability")
    return FirstBreak(**dict(zip(names, told, strict=True)), also=also, or_earlier=or_earlier)


def curve(name: str, values: np.ndarray, raw: str = "", every: float = 1, axis: str = "step", note: str = "") -> Series:
    """A curve logged every `every` steps from step 0 on."""
    steps = np.arange(len(values), dtype=float) * every
    return Series(
        name=name, steps=steps, values=values, raw=raw or name, source="trainer_state.json", axis=axis, note=note
    )


def sigmoid(n: int, middle: float, width: float) -> np.ndarray:
    return 1 / (1 + np.exp(-(np.arange(n) - middle) / width))


def links(default: LinkStatus = LinkStatus.OK, **given: tuple[LinkStatus, str]) -> Mapping[Link, LinkVerdict]:
    """All ten links; those not given are `default`."""
    why = {LinkStatus.OK: "looked, and saw nothing wrong", LinkStatus.NOT_MEASURED: "none of its signals is in the log"}
    verdicts = {link: LinkVerdict(status=default, why=why.get(default, "")) for link in Link}
    return verdicts | {Link(name): LinkVerdict(status=status, why=said) for name, (status, said) in given.items()}


def ok(detector: str, link: Link) -> Outcome:
    return Outcome(detector=detector, link=link, status=Status.OK)


def unseen(detector: str, link: Link, note: str, status: Status = Status.NOT_MEASURED) -> Outcome:
    return Outcome(detector=detector, link=link, status=status, note=note)


def weighs(finding: str, weight: float, text: str = "") -> Weight:
    return Weight(finding=finding, weight=weight, kind=WeightKind.FOUND, text=text)


def cause(id_: str, title: str, link: Link | None, probability: float, *evidence: Weight, **more: Any) -> RankedCause:
    return RankedCause(id=id_, title=title, link=link, probability=probability, evidence=evidence, **more)


def finding(message: str, metric: str, onset: float, interval: Any, *evidence: Evidence, **more: Any) -> Finding:
    """A critical one of high confidence, unless told otherwise."""
    usual = {"severity": Severity.CRITICAL, "confidence": Confidence.HIGH}
    return Finding(message=message, metric=metric, onset=onset, interval=interval, evidence=evidence, **usual | more)


def named(*series: Series) -> dict[str, Series]:
    return {s.name: s for s in series}


def grpo_truncation() -> Diagnosis:
    """GRPO whose completions grow into the cap: truncated answers get no reward, groups go flat, the signal is gone."""
    n = 500
    clipped = np.clip(0.04 + 0.93 * sigmoid(n, 225, 18) + 0.02 * noise(n, 2), 0, 1)
    length = np.minimum(180 + 75 * sigmoid(n, 200, 30) + 4 * noise(n, 3), 256)
    reward = np.clip(0.21 + 0.38 * sigmoid(n, 90, 35) - 0.52 * sigmoid(n, 245, 16) + 0.045 * noise(n, 4), 0, 1)
    zero_std = np.clip(0.22 + 0.74 * sigmoid(n, 252, 15) + 0.05 * noise(n, 5), 0, 1)
    kl = 0.002 + 0.05 * sigmoid(n, 150, 50) + 0.003 * np.abs(noise(n, 6))
    grad = np.abs(0.5 * (1 - 0.92 * sigmoid(n, 255, 15)) + 0.06 * noise(n, 7)) + 0.01
    series = named(
        curve("reward.mean", reward, "reward", note="mean of the weighted sum over reward functions"),
        curve("length.clipped_ratio", clipped, "completions/clipped_ratio", note="share whose last token is not EOS"),
        curve("length.mean", length, "completions/mean_length"),
        curve("reward.zero_std_frac", zero_std, "frac_reward_zero_std"),
        curve("kl.ref", kl, "kl", note="k3 estimator against the reference, per token"),
        curve("grad.norm", grad, "grad_norm", note="before clipping"),
    )
    run = Run(
        path="runs/grpo-qwen2.5-3b-math",
        formats=("trainer_state",),
        trainer="trl",
        algorithm="grpo",
        series=series,
        unknown=named(curve("my/format_bonus", reward), curve("gpu0/temp", length)),
        config=Config(
            values={"max_new_tokens": 256, "group_size": 8, "learning_rate": 1e-6},
            keys={"max_new_tokens": "max_completion_length", "group_size": "num_generations"},
        ),
        checkpoints=(Checkpoint(step=200, path="checkpoint-200"),),
        files=("trainer_state.json",),
        notes=("every 1st optimizer step was logged",),
    )
    clipped_finding = finding(
        "97 % of the completions hit max_completion_length = 256 (4 % before step 190): a truncated answer is scored as "
        "wrong however good its reasoning is. Raise max_completion_length to 1024 first.",
        "length.clipped_ratio",
        193,
        (184, 204),
        Evidence(text="share of truncated completions", series=series["length.clipped_ratio"], since=193, level=0.5),
        Evidence(text="mean length presses against the cap of 256 tokens", series=series["length.mean"], level=256),
        numbers={"before": np.float64(0.04), "after": 0.97, "cap": 256},
    )
    zero_std_finding = finding(
        "96 % of the prompts give eight equal rewards (22 % before): their advantage is 0, so they teach nothing. "
        "Look at the rewards of one prompt; if all are 0, the task has become too hard or the answers are cut off.",
        "reward.zero_std_frac",
        231,
        (218, 240),
        Evidence(text="groups without any spread of reward", series=series["reward.zero_std_frac"], since=231),
    )
    reward_finding = finding(
        "Reward peaked at 0.59 (step 187) and fell to 0.07: what the policy had learned is lost, not merely stalled.",
        "reward.mean",
        219,
        (205, 229),
        severity=Severity.WARNING,
        confidence=Confidence.MEDIUM,
        numbers={"peak": 0.59, "last": 0.07},
    )
    return Diagnosis(
        run=run,
        verdict=Verdict(
            action=Action.ROLLBACK,
            summary="Completions outgrew their limit at step 193: nearly all are cut off, get no reward and teach nothing.",
            upside="None as configured: 96 % of the groups have no gradient, so more steps cannot bring the reward back.",
            risk="The 4 % of the groups that still teach now reward whatever is short, and the policy drifts.",
            do_first="Set max_completion_length to 1024 and restart from checkpoint-200 (step 200, before the reward fell).",
        ),
        first_break=first(Link.ROLLOUT, "length.clipped_ratio", 193, (184, 204), 0.93),
        causes=(
            cause(
                "completion_limit_too_short",
                "The completion limit is too short for the answers",
                Link.ROLLOUT,
                0.86,
                weighs("prior", -2.30, "6 % of broken runs in the lab"),
                weighs("truncation", 3.81, "97 % truncated, before anything else moved"),
                weighs("config", 0.92, "max_completion_length = 256 is the trainer's default"),
                weighs("zero_std_groups", 0.74, "came 38 steps after the truncation, as this cause predicts"),
                weighs("kl_spike", -0.21, "measured and quiet"),
                fix=(
                    "max_completion_length = 1024 (the longest finished answer has 251 tokens: the limit binds)",
                    "or mask_truncated_completions = True, so that a cut-off answer is left out instead of punished",
                ),
                experiment=Experiment(
                    id="longer-limit",
                    text="Two runs of 40 steps from checkpoint-200, one with the longer limit.",
                    overrides={"max_new_tokens": 1024},
                    measure="length.clipped_ratio",
                    if_cause="falls below 0.1 within 10 steps with the longer limit, and stays above 0.4 without it",
                ),
            ),
            cause(
                "reward_pays_length",
                "The reward pays for length",
                Link.REWARD,
                0.08,
                weighs("prior", -2.10),
                weighs("truncation", 1.90, "long answers"),
                weighs("length_reward_correlation", -0.60, "no samples logged"),
            ),
            cause("none", "None of these", None, 0.035, weighs("prior", -1.2)),
            cause("kl_too_weak", "The KL penalty is too weak", Link.POLICY_UPDATE, 0.015),
            cause("healthy", "Healthy", None, 0.01),
        ),
        outcomes=(
            Outcome(detector="truncation", link=Link.ROLLOUT, status=Status.FOUND, finding=clipped_finding),
            Outcome(detector="zero_std_groups", link=Link.ADVANTAGE, status=Status.FOUND, finding=zero_std_finding),
            Outcome(detector="reward_collapse", link=Link.REWARD, status=Status.FOUND, finding=reward_finding),
            ok("kl_spike", Link.POLICY_UPDATE),
            ok("grad_explosion", Link.NUMERICS),
            unseen(
                "prompt_format",
                Link.ENVIRONMENT,
                "no prompts or completions were logged: set log_completions=True in GRPOConfig",
            ),
            unseen("eval_drift", Link.EVALUATION, "no evaluation was logged: pass eval_dataset and set eval_steps"),
            unseen("entropy_collapse", Link.EXPLORATION, "the entropy is not in the log: TRL 0.19 and later write it"),
            unseen("engine_mismatch", Link.FRESHNESS, "sampling/* is written only with use_vllm=True"),
            unseen("reward_component", Link.REWARD, "rewards/<function>/mean is not in the log"),
            unseen("slow_rollout", Link.SYSTEMS, "one process does everything", Status.NOT_APPLICABLE),
        ),
        links=links(
            environment=(LinkStatus.NOT_MEASURED, "no prompts or completions were logged"),
            evaluation=(LinkStatus.NOT_MEASURED, "no evaluation was logged"),
            rollout=(LinkStatus.BROKEN, "97 % of the completions are truncated since step 193"),
            reward=(LinkStatus.SUSPECT, "the reward fell after the truncation; the truncation explains it"),
            advantage=(LinkStatus.SUSPECT, "96 % of the groups carry no signal; the truncation explains it"),
            exploration=(LinkStatus.NOT_MEASURED, "the entropy was not logged"),
            freshness=(LinkStatus.NOT_MEASURED, "no probabilities of the sampling engine were logged"),
            systems=(LinkStatus.NOT_APPLICABLE, "one process does everything"),
        ),
        best_checkpoint=BestCheckpoint(step=187, metric="reward.mean", value=0.594, path="checkpoint-200", saved=200),
        cost=Cost(steps=306, fraction=0.613, hours=4.25, money=31.2),
        expected=(
            "GRPO's loss is about 0 by construction (ratio 1, centred advantages): it says nothing about progress.",
        ),
    )


def sb3_collapse() -> Diagnosis:
    """PPO on a continuous task: one oversized update, the return falls and does not come back; a checkpoint was saved."""
    n, every = 489, 2048.0
    fall = sigmoid(n, 302, 2)
    reward = -380 + 610 * sigmoid(n, 110, 38) - 700 * fall * (1 - 0.25 * sigmoid(n, 400, 40)) + 14 * noise(n, 11)
    kl = 0.009 + 0.002 * np.abs(noise(n, 12)) + 0.9 * np.exp(-(((np.arange(n) - 299) / 1.4) ** 2)) + 0.012 * fall
    clip = np.clip(0.11 + 0.02 * noise(n, 13) + 0.55 * np.exp(-(((np.arange(n) - 299) / 2.5) ** 2)), 0, 1)
    explained = np.clip(0.15 + 0.8 * sigmoid(n, 60, 18) - 0.9 * fall + 0.04 * noise(n, 14), -1, 1)
    std = 1.0 - 0.55 * sigmoid(n, 130, 40)

    def logged(name: str, values: np.ndarray, raw: str) -> Series:
        return curve(name, values, raw, every=every, axis="env_steps")

    series = named(
        logged("reward.mean", reward, "rollout/ep_rew_mean"),
        logged("kl.old", kl, "train/approx_kl"),
        logged("policy.clip_fraction", clip, "train/clip_fraction"),
        logged("value.explained_variance", explained, "train/explained_variance"),
        logged("action.std", std, "train/std"),
    )
    onset, interval = 299 * every, (297 * every, 301 * every)
    kl_finding = finding(
        "KL to the old policy jumped to 0.91 in one update (0.011 before): the step left the region where PPO's "
        "clipping holds.",
        "kl.old",
        onset,
        interval,
        Evidence(text="one spike, 80 times the usual size", series=series["kl.old"], level=0.05),
    )
    reward_finding = finding(
        "The return fell from 228 to -459 within 8 updates and stayed there for 380000 steps.",
        "reward.mean",
        302 * every,
        (300 * every, 304 * every),
        Evidence(text="episode return", series=series["reward.mean"], since=302 * every),
    )
    critic_finding = finding(
        "Explained variance fell from 0.95 to 0.05 after the collapse: the critic has to learn a new policy's values.",
        "value.explained_variance",
        303 * every,
        None,
        severity=Severity.NOTICE,
        confidence=Confidence.MEDIUM,
    )
    return Diagnosis(
        run=Run(
            path="logs/ppo/HalfCheetah-v4_1",
            formats=("csv", "tensorboard"),
            trainer="sb3",
            algorithm="ppo",
            series=series,
            config=Config(
                values={"learning_rate": 1e-3, "target_kl": None, "epochs": 20},
                keys={"learning_rate": "learning_rate", "target_kl": "target_kl", "epochs": "n_epochs"},
            ),
            checkpoints=(Checkpoint(step=600000, path="rl_model_600000_steps.zip"),),
            files=("progress.csv", "events.out.tfevents.1700000000.host"),
        ),
        verdict=Verdict(
            action=Action.ROLLBACK,
            summary="One oversized policy update at environment step 612352 destroyed the policy; it has not recovered since.",
            upside="Little: in 380000 steps after the fall the return regained a quarter of what was lost.",
            risk="Another such update: nothing in the configuration limits the size of a step.",
            do_first="Go back to rl_model_600000_steps.zip, set target_kl=0.03, and halve the learning rate.",
        ),
        first_break=first(Link.POLICY_UPDATE, "kl.old", onset, interval, 0.91, or_earlier=False),
        causes=(
            cause(
                "step_too_large",
                "Policy steps are too large",
                Link.POLICY_UPDATE,
                0.71,
                weighs("kl_spike", 2.9, "0.91 nats, three updates before the return fell"),
                weighs("config", 0.6, "n_epochs = 20 without target_kl"),
                weighs("prior", -1.4),
                weighs("grad_explosion", -0.35, "not measured: counts slightly against"),
                fix=("target_kl = 0.03", "learning_rate = 0.0005"),
                experiment=Experiment(
                    text="Continue from the checkpoint for 50 updates with and without target_kl, three seeds each.",
                    overrides={"target_kl": 0.03},
                    measure="kl.old",
                    if_cause="no update above 0.05 with target_kl; at least one without it",
                ),
            ),
            cause(
                "too_many_epochs",
                "Too many epochs on the same data",
                Link.POLICY_UPDATE,
                0.2,
                weighs("config", 1.1, "n_epochs = 20"),
                weighs("kl_spike", 0.7, "rather a slow rise than one spike"),
                fix=("n_epochs = 5",),
            ),
            cause("none", "None of these", None, 0.09),
        ),
        outcomes=(
            Outcome(detector="kl_spike", link=Link.POLICY_UPDATE, status=Status.FOUND, finding=kl_finding),
            Outcome(detector="return_collapse", link=Link.REWARD, status=Status.FOUND, finding=reward_finding),
            Outcome(detector="critic_blind", link=Link.ADVANTAGE, status=Status.FOUND, finding=critic_finding),
            ok("episode_length", Link.ENVIRONMENT),
            ok("eval_gap", Link.EVALUATION),
            ok("std_collapse", Link.EXPLORATION),
            unseen("staleness", Link.FRESHNESS, "PPO in one process trains on its own data", Status.NOT_APPLICABLE),
            unseen("throughput_drop", Link.SYSTEMS, "ValueError: time/fps is empty", Status.CRASHED),
        ),
        links=links(
            policy_update=(LinkStatus.BROKEN, "one update moved the policy by 0.91 nats"),
            reward=(LinkStatus.SUSPECT, "the return fell three updates later; the update explains it"),
            advantage=(LinkStatus.SUSPECT, "the critic lost track after the policy changed"),
            freshness=(LinkStatus.NOT_APPLICABLE, "PPO in one process trains on its own data"),
            systems=(LinkStatus.NOT_MEASURED, "its only check crashed"),
        ),
        best_checkpoint=BestCheckpoint(
            step=600000, metric="reward.mean", value=231.4, path="rl_model_600000_steps.zip"
        ),
        cost=Cost(steps=387072, fraction=0.387, hours=0.62),
    )


def healthy() -> Diagnosis:
    """DQN that has solved its task: the report is short, and says why the growing loss is fine."""
    n = 200
    reward = 20 + 470 * sigmoid(n, 60, 14) + 6 * noise(n, 21)
    loss = 0.02 + 0.4 * sigmoid(n, 70, 20) + 0.02 * np.abs(noise(n, 22))
    return Diagnosis(
        run=Run(
            path="logs/dqn/CartPole-v1_3",
            formats=("csv",),
            trainer="sb3",
            algorithm="dqn",
            series=named(
                curve("reward.mean", reward, "rollout/ep_rew_mean", every=250, axis="env_steps"),
                curve("value.loss", loss, "train/loss", every=250, axis="env_steps"),
            ),
            files=("progress.csv",),
        ),
        verdict=Verdict(
            action=Action.CONTINUE,
            summary="Nothing wrong was seen; the return is level at 490 of at most 500.",
            upside="Almost none: the task is solved.",
            risk="Low.",
            do_first="Stop when you like: keep the checkpoint of step 44000.",
        ),
        first_break=None,
        causes=(
            cause("healthy", "Healthy", None, 0.97, weighs("prior", 3.1)),
            cause("none", "None of these", None, 0.03),
        ),
        outcomes=(*(ok(f"check_{link.value}", link) for link in Link),),
        links=links(),
        best_checkpoint=BestCheckpoint(step=44000, metric="reward.mean", value=498.2),
        expected=("A DQN loss that grows with the return is expected: the targets grow with the values.",),
    )


def cannot_tell() -> Diagnosis:
    """Only a loss was logged: nothing was found because nothing could be seen."""
    n = 60
    unseen_links = {
        "environment": "log prompts or observations: log_completions=True",
        "evaluation": "evaluate every 50 steps on a held-out set",
        "rollout": "log completion lengths",
        "reward": "log the reward's mean and spread for each step",
        "advantage": "log the share of groups without spread",
        "exploration": "log the entropy",
        "freshness": "log the sampling engine's log-probabilities",
        "systems": "log the time of each phase",
    }
    return Diagnosis(
        run=Run(
            path="train.log",
            formats=("console",),
            series=named(curve("loss.total", 0.02 + 0.005 * noise(n, 31), "loss", every=10)),
            unknown=named(*(curve(f"aux_{i}", np.zeros(n)) for i in range(15))),
            files=("train.log",),
            damage=(
                "train.log:412: the line ends in the middle of a number; it was left out, the next one is read again",
            ),
        ),
        verdict=Verdict(
            action=Action.WATCH,
            summary="Cannot tell: 8 of 10 links were not measured, and a loss alone shows neither progress nor a break.",
            upside="Unknown: no reward and no evaluation in the log.",
            risk="Unknown, and nobody would notice.",
            do_first="Log the reward's mean and spread, the entropy and the KL at every step, then run this again.",
        ),
        first_break=None,
        causes=(cause("none", "None of these", None, 0.51), cause("healthy", "Healthy", None, 0.49)),
        outcomes=(
            ok("nan_loss", Link.NUMERICS),
            ok("loss_spike", Link.POLICY_UPDATE),
            unseen("kl_spike", Link.POLICY_UPDATE, "the KL is not in the log"),
            *(unseen(f"check_{link}", Link(link), note) for link, note in unseen_links.items()),
        ),
        links=links(
            policy_update=(LinkStatus.OK, "the loss has no spike"),
            numerics=(LinkStatus.OK, "every loss is finite"),
            **{link: (LinkStatus.NOT_MEASURED, "none of its signals is in the log") for link in unseen_links},
        ),
    )


def nan_ridden() -> Diagnosis:
    """Gradients explode over ten orders of magnitude, then everything is NaN."""
    n = 300
    grad = 0.8 + 0.1 * np.abs(noise(n, 41))
    grad[120] = 37.0
    grad[201:215] = 10.0 ** np.linspace(1, 10, 14)
    grad[215:] = np.nan
    grad[[40, 41, 90]] = np.inf, -np.inf, np.nan
    loss = 1.2 * np.exp(-np.arange(n) / 150) + 0.05 * noise(n, 42)
    loss[215:] = np.nan
    dead = np.full(n, np.nan)
    series = named(
        curve("grad.norm", grad, "grad_norm"),
        curve("loss.total", loss, "loss"),
        curve("value.loss", dead, "value_loss"),
    )
    found = finding(
        "The gradient norm grew from 0.9 to 1e10 between steps 201 and 214, and is NaN from step 215 on.",
        "grad.norm",
        201,
        (200, 203),
        Evidence(text="gradient norm", series=series["grad.norm"], since=201, until=215, level=1.0),
        Evidence(text="the loss follows", series=series["loss.total"], since=215),
        Evidence(text="never finite", series=series["value.loss"]),
        numbers={"peak": 1e10, "after": float("nan"), "ratio": float("inf"), "curve": np.array([1.0, np.nan])},
    )
    return Diagnosis(
        run=Run(
            path="out/run7", formats=("jsonl",), trainer="trl", algorithm="rloo", series=series, files=("log.jsonl",)
        ),
        verdict=Verdict(
            action=Action.STOP,
            summary="Gradients exploded at step 201; every weight has been NaN since step 215.",
            upside="None: a NaN weight never comes back.",
            risk="Only money.",
            do_first="Restart from a checkpoint before step 201 with max_grad_norm=1.0 and bf16 instead of fp16.",
        ),
        first_break=first(Link.NUMERICS, "grad.norm", 201, (200, float("inf")), 0.78, also=Link.POLICY_UPDATE),
        causes=(
            cause(
                "fp16_overflow",
                "fp16 overflows",
                Link.NUMERICS,
                0.62,
                weighs("grad_explosion", 2.0),
                weighs("config", 0.333, "fp16 = True"),
                weighs("prior", -1.111),
                fix=("bf16 = True",),
            ),
            cause(
                "lr_too_high",
                "The learning rate is too high",
                Link.POLICY_UPDATE,
                0.38,
                weighs("grad_explosion", 1.5),
                weighs("prior", -0.9),
                fix=("learning_rate = 1e-6",),
            ),
        ),
        outcomes=(Outcome(detector="grad_explosion", link=Link.NUMERICS, status=Status.FOUND, finding=found),),
        links=links(LinkStatus.NOT_MEASURED, numerics=(LinkStatus.BROKEN, "the gradient norm is NaN since step 215")),
        best_checkpoint=BestCheckpoint(step=200, metric="loss.total", value=float("nan")),
        cost=Cost(steps=98, fraction=float("nan")),
    )


def hostile() -> Diagnosis:
    """Every string that a log can bring is an attack."""
    values = np.linspace(0, 1, 50)
    series = Series(name=HOSTILE, steps=np.arange(50.0), values=values, raw=HOSTILE, source=HOSTILE, note=HOSTILE)
    attack = finding(
        HOSTILE,
        HOSTILE,
        25,
        (20, 30),
        Evidence(text=HOSTILE, series=series, since=25, level=0.5),
        confidence=Confidence.MEDIUM,
        numbers={HOSTILE: HOSTILE},
    )
    return Diagnosis(
        run=Run(
            path=HOSTILE,
            formats=(HOSTILE,),
            trainer=HOSTILE,
            algorithm=HOSTILE,
            series={HOSTILE: series},
            unknown={HOSTILE: series},
            config=Config(values={HOSTILE: HOSTILE}, keys={HOSTILE: HOSTILE}),
            files=(HOSTILE,),
            damage=(HOSTILE,),
            notes=(HOSTILE,),
        ),
        verdict=Verdict(action=Action.STOP, summary=HOSTILE, upside=HOSTILE, risk=HOSTILE, do_first=HOSTILE),
        first_break=first(Link.REWARD, HOSTILE, 25, (20, 30), 0.43, also=Link.ADVANTAGE),
        causes=(
            cause(
                "x",
                HOSTILE,
                Link.REWARD,
                1.0,
                weighs(HOSTILE, 1.0, HOSTILE),
                fix=(HOSTILE,),
                experiment=Experiment(
                    id=HOSTILE, text=HOSTILE, overrides={HOSTILE: HOSTILE}, measure=HOSTILE, if_cause=HOSTILE
                ),
            ),
        ),
        outcomes=(
            Outcome(detector="found", link=Link.REWARD, status=Status.FOUND, finding=attack),
            unseen("blind", Link.SYSTEMS, HOSTILE),
            Outcome(detector="crash", link=Link.NUMERICS, status=Status.CRASHED, note=HOSTILE),
        ),
        links=links(reward=(LinkStatus.BROKEN, HOSTILE), systems=(LinkStatus.NOT_MEASURED, HOSTILE)),
        best_checkpoint=BestCheckpoint(step=3, metric=HOSTILE, value=1.0, path=HOSTILE),
        expected=(HOSTILE,),
    )


ALL: dict[str, Callable[[], Diagnosis]] = {
    make.__name__: make for make in (grpo_truncation, sb3_collapse, healthy, cannot_tell, nan_ridden, hostile)
}
