"""The settings of the language trainer. Options that AReaL has, have the same name as in AReaL."""

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from firstbreak.live.recorder.batch import BatchRecorder
from firstbreak_lab.language import tasks
from firstbreak_lab.language.tasks import Task, TaskProblem

RewardFunction = Callable[[TaskProblem, str], float]
AcceptFunction = Callable[[list[float]], bool]


def mixed_rewards(rewards: list[float]) -> bool:
    """Accept a group only if its rewards differ: equal rewards give no gradient (dynamic sampling in DAPO)."""
    return max(rewards) > min(rewards)


@dataclass(kw_only=True)
class LanguageSettings:
    """The settings of one run. The defaults are a healthy synchronous GRPO run that sorts five digits."""

    task: Task = field(default_factory=tasks.sort)
    algorithm: str = "grpo"  #: "grpo": group baseline; "ppo": critic
    seed: int = 0
    total_train_steps: int = 120
    #: accuracy of the samples at which the supervised warm-up ends and the recorded run begins
    warmup_accuracy: float = 0.35

    # reward: total = sum of weight x component
    rewards: dict[str, RewardFunction] = field(default_factory=lambda: {"accuracy": tasks.accuracy})
    reward_weights: dict[str, float] = field(default_factory=lambda: {"accuracy": 1.0})

    # rollout
    batch_size: int = 32  #: prompts per step
    n_samples: int = 8  #: completions per prompt
    max_new_tokens: int = 12
    temperature: float = 1.0
    top_p: float = 1.0
    max_head_offpolicyness: int = 0  #: most policy versions between the start of a rollout and its use; 0: synchronous
    should_accept_fn: AcceptFunction | None = None  #: rewards of a group -> whether the group is used for training
    dynamic_sampling: bool = False  #: the same from the command line: accept only groups whose rewards differ

    # actor
    lr: float = 1e-3
    lr_warmup_steps: int = 5
    gradient_clipping: float = 1.0
    ppo_n_minibatches: int = 2
    precision: str = ""  #: "fp32": weights are stored in fp32, even if a fault would round them
    eps_clip: float = 0.2
    recompute_logprob: bool = False  #: the trainer computes the proximal log-probabilities, not the rollout
    #: clip around the proximal policy, weight tokens by proximal over behaviour probability
    use_decoupled_loss: bool = False
    behave_imp_weight_cap: float | None = 5.0  #: tokens with a larger proximal / behaviour weight are left out
    kl_ctl: float = 0.02  #: weight of the divergence from the reference model, inside the reward
    entropy_coef: float = 0.0
    adv_norm: bool = False  #: advantages to zero mean and unit variance over the batch
    reward_norm: bool = True  #: rewards to zero mean and unit variance within the group
    discount: float = 1.0
    gae_lambda: float = 1.0

    # critic
    critic_lr: float = 1e-3
    critic_eps_clip: float = 0.5

    # evaluation
    eval_every: int = 5  #: steps
    eval_problems: int = 128
    eval_temperature: float = 1.0  #: of the sampled evaluation; a greedy evaluation is also logged

    # records
    samples_every: int = 10  #: steps between two dumps of completions
    samples_kept: int = 16  #: completions of each dump

    recorder: Callable[[Path], BatchRecorder] | None = None  #: `firstbreak.recorder`: see inside, and change nothing

    changes: dict[int, dict[str, Any]] = field(default_factory=dict)  #: step -> options that change at its start
    patches: list[Callable[[Any], None]] = field(
        default_factory=list
    )  #: functions that change the trainer before step 1

    @property
    def steps(self) -> int:
        """Length of the run; the first step is 1."""
        return self.total_train_steps

    def change(self, step: int, **options: Any) -> None:
        """Set options from `step` on. Step 1 is a wrong config; a later step is a schedule or a restart with another config."""
        if step <= 1:
            vars(self).update(options)
        else:
            self.changes.setdefault(step, {}).update(options)

    def config(self) -> dict[str, Any]:
        """The options for config.yaml, nested as in AReaL."""
        groups = {
            "gconfig": ("n_samples", "max_new_tokens", "temperature", "top_p"),
            "rollout": ("max_head_offpolicyness",),
            "actor": (
                *("gradient_clipping", "ppo_n_minibatches", "eps_clip", "kl_ctl", "entropy_coef"),
                *("recompute_logprob", "use_decoupled_loss", "behave_imp_weight_cap"),
                *("adv_norm", "reward_norm", "discount", "gae_lambda"),
            ),
        }
        nested: dict[str, Any] = {group: {k: getattr(self, k) for k in keys} for group, keys in groups.items()}
        nested["actor"]["optimizer"] = {"lr": self.lr, "warmup_steps": self.lr_warmup_steps}
        nested["rollout"]["should_accept_fn"] = getattr(self.should_accept_fn, "__name__", None)
        nested["train_dataset"] = {"path": self.task.name, "batch_size": self.batch_size}
        nested["eval_gconfig"] = {"temperature": self.eval_temperature}
        nested["evaluator"] = {"freq_steps": self.eval_every}
        if self.algorithm == "ppo":
            nested["critic"] = {"optimizer": {"lr": self.critic_lr}, "eps_clip": self.critic_eps_clip}
        return nested | {
            "reward_weights": self.reward_weights,
            "total_train_steps": self.total_train_steps,
            "seed": self.seed,
        }


def from_step(trainer: Any, onset: int, healthy: Callable[..., Any], broken: Callable[..., Any]) -> Callable[..., Any]:
    """A function of the loop that is healthy before step `onset` and broken from this step on."""
    return lambda *args, **options: (broken if trainer.step >= onset else healthy)(*args, **options)


def grpo(task: Task | None = None) -> LanguageSettings:
    """Synchronous GRPO."""
    return LanguageSettings(task=task or tasks.sort())


def ppo(task: Task | None = None) -> LanguageSettings:
    """Synchronous PPO with a critic: rewards are not normalised, advantages are normalised over the batch."""
    return LanguageSettings(
        task=task or tasks.sort(), algorithm="ppo", reward_norm=False, adv_norm=True, gae_lambda=0.95
    )


def asynchronous(task: Task | None = None) -> LanguageSettings:
    """GRPO on rollouts that are up to two policy versions old, with the decoupled loss."""
    return LanguageSettings(
        task=task or tasks.sort(), max_head_offpolicyness=2, recompute_logprob=True, use_decoupled_loss=True, lr=5e-4
    )
