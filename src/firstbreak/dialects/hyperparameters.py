"""The canonical hyperparameters, and how a trainer's recorded configuration becomes one `Config`.

A dialect says which of the trainer's options carries which name (`CONFIG`), what the trainer assumes where the run says
nothing (`DEFAULTS`), and what takes more than renaming (`refine`).
"""

import math
import re
from collections.abc import Collection, Mapping
from types import MappingProxyType, ModuleType
from typing import Any

from firstbreak import dialects
from firstbreak.model import Config, Run
from firstbreak.patterns import pattern
from firstbreak.values import dataclass


@dataclass(frozen=True)
class Hyperparameter:
    """One entry: what it sets, and its unit."""

    name: str
    meaning: str
    unit: str = ""


_ROWS: tuple[tuple[str, str, str], ...] = (
    # the step
    ("learning_rate", "step size of the policy's optimizer, at its peak", ""),
    ("value_learning_rate", "step size of the critic's optimizer", ""),
    ("lr_schedule", "how the learning rate changes: constant, linear, cosine, ...", ""),
    ("warmup_steps", "steps over which the learning rate rises to its peak", "steps"),
    ("weight_decay", "weight decay", ""),
    ("grad_clip", "largest gradient norm that is let through", ""),
    ("batch_size", "samples (completions or environment steps) of one batch of data", "samples"),
    ("minibatch_size", "samples of one optimizer step", "samples"),
    ("minibatches", "optimizer steps in one pass over a batch of data", "count"),
    ("epochs_per_batch", "passes over one batch of data", "count"),
    ("updates_per_batch", "optimizer steps on one batch of data", "count"),
    ("grad_accumulation", "backward passes of one optimizer step", "count"),
    ("total_steps", "planned length of training, in the trainer's own steps", "steps"),
    ("total_epochs", "planned passes over the data set", "epochs"),
    # the trust region
    ("clip_range", "half-width of the ratio clip (its lower side where the sides differ)", "ratio"),
    ("clip_range_high", "upper side of the ratio clip where the sides differ", "ratio"),
    ("clip_range_value", "half-width of the value clip", "reward"),
    ("dual_clip", "bound on the ratio of bad actions", "ratio"),
    ("target_kl", "divergence from the old policy at which the update stops or is adapted", "nats"),
    ("kl_coef", "weight of the divergence from the reference model, 0 for none", ""),
    ("kl_in_reward", "the KL penalty is part of the reward instead of the loss", "yes or no"),
    ("kl_estimator", "estimator of the divergence from the reference model", ""),
    ("loss_type", "how token losses become one number, or which loss it is", ""),
    ("importance_level", "what one importance ratio covers: a token or a sequence", ""),
    # reward and advantage
    ("group_size", "completions of one prompt", "count"),
    ("gamma", "discount of later rewards", ""),
    ("gae_lambda", "lambda of generalised advantage estimation", ""),
    ("advantage_estimator", "how advantages are made: gae, grpo, rloo, ...", ""),
    ("normalize_advantage", "advantages are brought to unit variance over the batch", "yes or no"),
    ("scale_rewards", "what group rewards are divided by: their spread in the group or batch, or nothing", ""),
    ("normalize_reward", "rewards are divided by a running spread", "yes or no"),
    ("normalize_observation", "observations are brought to unit variance", "yes or no"),
    ("reward_clip", "largest absolute reward", "reward"),
    ("reward_weights", "weights of the reward functions", ""),
    ("value_coef", "weight of the value loss", ""),
    ("mask_truncated", "completions cut at the limit are left out of the loss", "yes or no"),
    ("missing_eos_penalty", "reward deducted from a completion without an end", "reward"),
    ("dynamic_sampling", "prompts whose completions all score the same are replaced", "yes or no"),
    # exploration
    ("entropy_coef", "weight of the entropy bonus", ""),
    ("target_entropy", "entropy that the temperature of soft actor-critic is steered to", "nats"),
    ("exploration_fraction", "share of training over which epsilon falls", "fraction"),
    ("exploration_initial", "epsilon at the start", "fraction"),
    ("exploration_final", "epsilon at the end", "fraction"),
    ("action_noise", "spread of the noise added to actions", "action units"),
    # generation
    ("max_new_tokens", "length limit of a completion", "tokens"),
    ("max_prompt_tokens", "length limit of a prompt", "tokens"),
    ("max_total_tokens", "length limit of prompt and completion together", "tokens"),
    ("max_turns", "turn limit of a rollout", "turns"),
    ("temperature", "sampling temperature", ""),
    ("top_p", "nucleus sampling: probability kept", "fraction"),
    ("top_k", "candidates kept at a token, -1 or 0 for all", "tokens"),
    ("min_p", "least probability kept, relative to the likeliest token", "fraction"),
    ("repetition_penalty", "penalty on repeated tokens, 1 for none", ""),
    ("eval_temperature", "sampling temperature of the evaluation", ""),
    # freshness
    ("max_staleness", "most policy versions that data may be behind", "policy versions"),
    ("recompute_logprob", "log-probabilities are computed again by the trainer before the update", "yes or no"),
    ("use_decoupled_loss", "the clip is centred on a recomputed proximal policy", "yes or no"),
    ("behave_weight_cap", "largest proximal over behaviour ratio", "ratio"),
    ("is_correction", "the mismatch of engine and trainer is corrected by importance weights", ""),
    ("is_cap", "largest trainer over engine ratio", "ratio"),
    # environments and off-policy learning
    ("env_id", "environment", ""),
    ("n_envs", "environments side by side", "count"),
    ("n_steps", "steps of each environment in one batch", "environment steps"),
    ("n_step_returns", "steps of one bootstrapped return", "environment steps"),
    ("buffer_size", "capacity of the replay buffer", "environment steps"),
    ("learning_starts", "environment steps before the first update", "environment steps"),
    ("train_freq", "environment steps between updates", "environment steps"),
    ("gradient_steps", "updates each time there is an update", "count"),
    ("target_update_interval", "steps between copies to the target network", "environment steps"),
    ("tau", "share of the online network mixed into the target network", "fraction"),
    ("policy_delay", "critic updates for each policy update", "count"),
    # the run
    ("model", "the model in training", ""),
    ("reference_model", "the model that the KL penalty refers to", ""),
    ("dataset", "training data", ""),
    ("eval_dataset", "data of the evaluation", ""),
    ("max_prompts", "prompts of the training data that are used, at most", "count"),
    ("precision", "number format of the weights and activations", ""),
    ("seed", "seed of the random numbers", ""),
    ("log_interval", "steps between two points of a curve", "steps"),
    ("eval_interval", "steps between two evaluations", "steps"),
    ("eval_on_start", "an evaluation comes before the first update", "yes or no"),
    ("save_interval", "steps between two checkpoints", "steps"),
)

HYPERPARAMETERS: Mapping[str, Hyperparameter] = MappingProxyType({row[0]: Hyperparameter(*row) for row in _ROWS})

#: the option that names the wrappers which, in a script, only the training environment has
TRAINING_WRAPPERS = "wrappers_of_training_only"
#: sections in which hydra and others keep the options of the algorithm
_SECTION = pattern(
    r"(?:algo|algorithm|rl|rlhf|method|agent|learner|train|training|trainer|args|arguments|cfg|config|params|parameters|hparams"
    r"|hyper_?param(eter)?s|ppo|sac|dqn|td3|a2c|ddpg|trpo|grpo|rloo|dpo|optim|optimi[sz]er|loss|generation|sampling|rollouts?|sampler|replay"
    r"|exploration|update)"
    r"(?:_?(?:config|cfg|args|arguments|kwargs|params))?",
    re.IGNORECASE,
)
_COUNTS = frozenset(
    name for name, _, unit in _ROWS if unit in ("count", "steps", "samples", "tokens", "environment steps")
)
#: options of an agent loop of one's own, whichever trainer runs it
OF_AGENTS: Mapping[str, str] = dict.fromkeys(
    ("max_turns", "max_rollout_turns", "max_assistant_turns", "turn_limit"), "max_turns"
)
LARGEST_COUNT = 10**30  #: a larger "count" is damage
_NUMBER = pattern(r"[+-]?(\d+(_\d+)*\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_WHOLE = pattern(r"[+-]?\d{1,30}", re.ASCII)
_SCHEDULED = pattern(r"(?:lin|linear|const|constant)_(.+)", re.IGNORECASE)
_WORDS: Mapping[str, Any] = {"true": True, "false": False, "none": None, "null": None, "": None, "~": None}


def canonical_config(raw: Mapping[str, Any], dialect: ModuleType, names: Collection[str] = ()) -> Config:
    """The recorded options in canonical names, completed by the trainer's defaults.

    `raw` may be nested or have keys joined with "."; `names` are the logged names, which tell versions and algorithms
    apart. An option is found by its full key or by the end of one: `optim.lr` in `actor_rollout_ref.actor.optim.lr`.
    """
    flat = {key: plain(value) for key, value in _flatten(raw)}
    own: Mapping[str, str] = getattr(dialect, "CONFIG", {})
    options = {**OF_AGENTS, **own}
    by_end = _by_end(flat, options)
    values: dict[str, Any] = {}
    keys: dict[str, str] = {}
    for option, name in options.items():
        key = by_end.get(_bare(option))
        value = None if key is None else _typed(name, flat[key])
        if key is not None and value is not None and name not in values:
            values[name], keys[name] = value, key
        if option in own:
            keys.setdefault(name, option)
    defaults = {name: value for name, value in dialects.defaults(dialect, names, flat).items() if value is not None}
    defaulted = frozenset(defaults.keys() - values.keys())
    values |= {name: defaults[name] for name in defaulted}
    refine = getattr(dialect, "refine", None)
    values |= refine(values, set(names), flat) if refine else {}
    values = {name: typed for name, value in values.items() if (typed := _typed(name, value)) is not None}
    return Config(values=_with_products(values), raw=dict(raw), defaulted=defaulted & values.keys(), keys=keys)


def completed(
    raw: Mapping[str, Any], fallback: Mapping[str, Any], dialect: ModuleType, names: Collection[str] = ()
) -> Config:
    """The recorded options, and of `fallback` those that `raw` does not record, by whatever name."""
    recorded = canonical_config(raw, dialect, names)
    if not fallback:
        return recorded
    known = {name for name in recorded.values if name not in recorded.defaulted}
    other = canonical_config(fallback, dialect, names)
    missing = {
        key: v
        for key, v in fallback.items()
        if key not in raw and not known & {n for n, k in other.keys.items() if k == key}
    }
    return canonical_config({**raw, **missing}, dialect, names)


#: (trainer, hyperparameter) -> the algorithms whose options hold it, where a dialect knows options of several
_ONLY: Mapping[tuple[str, str], frozenset[str]] = {
    **{
        ("trl", name): frozenset({"ppo"})
        for name in ("gamma", "gae_lambda", "minibatches", "normalize_reward", "target_kl")
    },
    ("trl", "max_staleness"): frozenset({"async_grpo"}),
    **{("sb3", name): frozenset({"ppo"}) for name in ("epochs_per_batch", "clip_range", "clip_range_value")},
    ("sb3", "minibatch_size"): frozenset({"ppo", "trpo", "dqn", "qrdqn", "sac", "tqc", "td3", "ddpg", "crossq"}),
}
_RELATIVE = pattern(r"([/x])\s*(\d+(?:\.\d+)?)")
#: units of options that are counts
_WHOLE_UNITS = frozenset(
    {"count", "steps", "samples", "tokens", "turns", "epochs", "environment steps", "policy versions"}
)


def own_option(name: str, run: Run) -> str | None:
    """What the run's trainer calls a hyperparameter, as an option that can be set; None where it has none.

    An option that the run did not record is one of the trainer's only where the trainer is known, and the algorithm has it.
    """
    key = run.config.keys.get(name)
    if key is None or (key.startswith("_") and run.trainer is None):
        return None
    if name not in run.config.values or name in run.config.defaulted:
        only = _ONLY.get((run.trainer or "", name))
        if run.trainer is None or (only is not None and run.algorithm not in only):
            return None
    if key.startswith("_"):  # recorded under a name that is no option
        options = getattr(dialects.dialects()[str(run.trainer)], "CONFIG", {})
        return next((o for o, of in options.items() if of == name and not o.startswith("_")), None)
    return key


def relative(name: str, wanted: Any, now: float | None) -> Any:
    """A wanted value as a plain one: `"/10"` and `"x4"` are changes of the current value. None where that is not known."""
    change = _RELATIVE.fullmatch(wanted) if isinstance(wanted, str) else None
    if change is None:
        return wanted
    if now is None:
        return None
    factor = float(change[2])
    value = now / factor if change[1] == "/" else now * factor
    return max(1, round(value)) if HYPERPARAMETERS[name].unit in _WHOLE_UNITS else float(f"{value:.6g}")


def spoken(name: str, option: str, value: Any) -> Any:
    """A value as the option takes it: a precision is a switch of one trainer and a data type of another."""
    if name != "precision":
        return value
    if option.rpartition(".")[2] in ("bf16", "fp16"):
        return value == option.rpartition(".")[2]
    return {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}.get(value, value) if "dtype" in option else value


def recorded_as(keys: Collection[str], options: Mapping[str, str]) -> dict[str, str]:
    """Canonical name -> the one of these keys that carries it: the same option, or one with the option as its end.

    `options`: option -> canonical name, as in a dialect's `CONFIG`.
    """
    by_end = _by_end(dict.fromkeys(keys), options)
    found: dict[str, str] = {}
    for option, name in options.items():
        if _bare(option) in by_end:
            found.setdefault(name, by_end[_bare(option)])
    return found


def plain(value: Any) -> Any:
    """A recorded value as plain data: `"2.5e-4"` -> 0.00025, `"lin_3e-4"` -> 0.0003 (the start), `"False"` -> False.

    What is not finite is no setting: None.
    """
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if not isinstance(value, str):
        return value
    text = value.strip().strip("'\"")
    if text.lower() in _WORDS:
        return _WORDS[text.lower()]
    scheduled = _SCHEDULED.fullmatch(text)
    number = scheduled[1] if scheduled else text
    if _WHOLE.fullmatch(number):
        return int(number)
    return plain(float(number)) if _NUMBER.fullmatch(number) else value


def _flatten(raw: Mapping[str, Any], before: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in raw.items():
        if isinstance(value, Mapping) and value.keys() == {"value"}:  # wandb's config.yaml wraps every option
            value = value["value"]
        if isinstance(value, Mapping):
            flat += _flatten(value, f"{before}{key}.")
        else:
            flat.append((f"{before}{key}", value))
    return flat


def _bare(option: str) -> str:
    """`--eps-clip` and `eps_clip` are one option."""
    return option.lstrip("-").replace("-", "_").replace("/", ".")


def _by_end(flat: Mapping[str, Any], options: Collection[str]) -> dict[str, str]:
    """Option -> recorded key: the same key, or the one whose last parts are the option's."""
    wanted = {_bare(option) for option in options}
    found: dict[str, str] = {}
    for key in sorted(flat, key=lambda k: (k.count("."), k)):
        parts = _bare(key).split(".")
        for start in range(len(parts)):
            end = ".".join(parts[start:])
            if end in wanted and (start == 0 or "." in end):
                found.setdefault(end, key)
    return {**_in_sections(flat, wanted), **found}


def _in_sections(flat: Mapping[str, Any], wanted: Collection[str]) -> dict[str, str]:
    """`gamma` of `algo.gamma`: options of one word in the section of the algorithm, unless two sections say different things."""
    found: dict[str, list[str]] = {}
    for key in flat:
        *sections, last = _bare(key).split(".")
        if last in wanted and sections and _SECTION.fullmatch(sections[-1]):
            found.setdefault(last, []).append(key)
    return {last: keys[0] for last, keys in found.items() if all(flat[key] == flat[keys[0]] for key in keys)}


def _typed(name: str, value: Any) -> Any:
    """A count as an integer (a YAML file says `n_timesteps: !!float 1e6`), None where it is none ("auto")."""
    if name not in _COUNTS:
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or abs(value) > LARGEST_COUNT:
        return None
    return int(value) if float(value).is_integer() else value


def _with_products(values: dict[str, Any]) -> dict[str, Any]:
    """Adds `minibatches` and `updates_per_batch` where other options imply them."""
    values = dict(values)

    def number(name: str) -> float | None:
        value = values.get(name)
        return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None

    batch, minibatch = number("batch_size"), number("minibatch_size")
    if batch and minibatch and "minibatches" not in values:
        values["minibatches"] = max(1, round(batch / minibatch))
    epochs, minibatches = number("epochs_per_batch"), number("minibatches")
    if epochs and minibatches and "updates_per_batch" not in values:
        values["updates_per_batch"] = round(epochs * minibatches)
    return values
