"""Plain names that people give by hand: `reward`, `Average Return`, `val_em`, `approx_kl`, `Loss/policy`.

Case and separators are ignored, and so are words that say only where a number was made (`train`, `charts`, `metrics`);
`eval`, `val` and `test` turn a name into its counterpart on held-out data. Used where no trainer was recognised, and for
the names that the recognised trainer does not know.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Set
from functools import lru_cache
from typing import Any

from firstbreak.dialects import _meaning
from firstbreak.dialects._table import Name, Origin, entries, meanings, spelled, word_set, words
from firstbreak.dialects.signals import SIGNALS, STATISTICS, evaluation, lookup
from firstbreak.patterns import pattern
from firstbreak.values import replace

TITLE = "plain names"

MARKS: frozenset[str] = frozenset()

AXIS = words("""
    step Step steps _step global_step global_steps total_steps training_step train_step train/global_step timestep
    timesteps total_timesteps env_steps env_step num_env_steps t_env frames frame iteration Iteration iterations iter
    training_iteration update updates num_updates upd u it episode Episode episodes n_episode n_episodes n_epi epoch Epoch
    unnamed_0 version round generation game
""")

# Lower case, "_" between words; `mean_x`, `x_avg`, `max_x` and the like need no entry of their own.
_SPELLED = """
    reward.mean: reward rewards rew r score scores total_reward cumulative_reward raw_reward task_reward return returns
        reward_total proxy_reward proxy_score ep_return ep_ret ep_rew ep_reward episode_return episode_returns episodic_return
        episode_reward episode_rewards episodic_reward mean_100_episode_reward final_reward average_episode_rewards |
    reward.group_std: group_std group_reward_std reward_group_std within_group_std | reward.zero_std_frac:
        frac_reward_zero_std zero_std_frac frac_zero_std zero_variance_frac zero_std_groups |
    reward.mixed_frac: mixed pct_mixed | reward.solve_none_frac: all0 solve_none | reward.solve_all_frac: all1 solve_all |
    reward.shaped.mean: shaped_reward reward_shaped | reward.accuracy: acc accuracy correct correct_rate correctness
        outcome_correct solve_rate exact exact_match em pass_rate | reward.pass_at_k: pass_at_k pass_k | reward.kl_penalty:
        kl_reward kl_penalty_reward non_score_reward | success_rate: success_rate success succ solved win_rate winrate win
        success_ratio is_success | episode.length: episode_length episode_lengths episodic_length ep_len ep_length episode_len |
    length.mean: completion_length completion_len response_length response_len response_tokens generation_length gen_len
        gen_tokens output_length num_generated_tokens length | length.clipped_ratio: clipped_ratio truncated truncated_ratio
        truncated_frac truncation_rate truncation_ratio frac_truncated overlong_ratio trunc cut hit_max finish_length |
    length.terminated_frac: finish_stop | length.prompt.mean: prompt_length prompt_len | turns.mean: turns num_turns | kl.ref:
        kl_ref ref_kl kl_to_ref kl_with_ref kl_from_ref reference_kl kl_reference kl_div_ref kl_base kl_to_base kl_init |
    kl.old: approx_kl approxkl kl_old ppo_kl kl_update policy_kl kl_new_old | kl.coef: kl_coef kl_coeff kl_beta kl_weight
        kl_ctl | loss.total: loss total_loss loss_total training_loss train_loss kd_loss distill_loss distillation_loss |
    loss.aux: aux_loss | sft.nll: nll mean_nll | sft.ppl.mean: perplexity ppl | policy.loss: policy_loss loss_policy pg_loss
        actor_loss loss_actor pi_loss loss_pi action_loss surrogate_loss policy_gradient_loss | policy.clip_fraction:
        clip_fraction clipped_fraction fraction_clipped clipfrac clip_frac clip_ratio pg_clipfrac | policy.ratio.mean: ratio
        importance_ratio prob_ratio | policy.clip_range: clip_range clip_epsilon | policy.stop_iter: epochs_done
        num_epochs_done n_epochs_done stop_iter | grad.norm: grad_norm gradient_norm gradnorm global_norm grad_global_norm
        total_norm actor_grad_norm policy_grad_norm grad_gnorm gn | lr: lr learning_rate learningrate cur_lr current_lr
        actor_lr policy_lr | advantage.mean: advantage advantages adv | value.loss: value_loss loss_value critic_loss
        loss_critic vf_loss loss_vf v_loss loss_v q_loss loss_q qf_loss td_loss value_function_loss qf1_loss critic1_loss |
    value.mean: value values q q_value q_values vpred qf1_values q_data q_taken | value.target.mean: target_q q_target
        value_target | value.explained_variance: explained_variance explained_var vf_explained_var ev exp_var |
    value.clip_fraction: value_clip_fraction vf_clipfrac value_clipfrac | value.grad_norm: critic_grad_norm value_grad_norm |
    value.lr: critic_lr value_lr | td_error: td_error td_err | policy.entropy: entropy policy_entropy token_entropy
        action_entropy | entropy.coef: entropy_coef ent_coef entropy_coeff | alpha: alpha sac_alpha alpha_value | alpha.loss:
        alpha_loss ent_coef_loss loss_alpha | epsilon: epsilon eps ε exploration_rate exploration_epsilon | action.std:
        action_std policy_std std_action | diversity.distinct: distinct distinct_frac distinct_outputs unique_frac
        unique_outputs unique_completions | diversity.self_bleu: self_bleu | advantage.error: advantage_error |
    advantage.turned: advantage_turned | pref.loss: dpo_loss preference_loss | pref.reward.chosen: chosen_reward
        chosen_rewards reward_chosen rewards_chosen | pref.reward.rejected: rejected_reward rejected_rewards reward_rejected
        rewards_rejected | pref.reward.margin: reward_margin reward_margins rewards_margin rewards_margins margins
        preference_margin | pref.reward.accuracy: reward_accuracy reward_accuracies rewards_accuracies preference_accuracy |
    staleness.mean: staleness off_policy_steps policy_lag | rollout_train.masked_frac: icepop icepop_frac |
    rollout_train.kl: mismatch_kl rollout_kl vllm_kl kl_rollout_train |
    rollout_train.ratio.mean: is_ratio importance_weight importance_weights tis_weight | throughput.sps: sps
        steps_per_second steps_per_sec env_steps_per_second | throughput.fps: fps frames_per_second | throughput.tok_s:
        tokens_per_second tokens_per_sec tok_s throughput | time.step: step_time time_per_step iteration_time iter_time
        seconds_per_step | time.elapsed: time_elapsed elapsed elapsed_time runtime wall_time walltime time_total_s total_time
        total_secs total_seconds | time.unix: timestamp | memory.gpu: peak_memory_alloc gpu_memory gpu_mem gpu_memory_gb
        memory_allocated_gb | memory.gpu_reserved: peak_memory_reserved memory_reserved_gb gpu_memory_reserved | tokens.total:
        num_tokens total_tokens tokens | progress.step: step steps global_step global_steps training_step total_steps
        unnamed_0 | progress.env_steps: timestep timesteps total_timesteps env_step env_steps total_env_steps num_env_steps
        frames num_frames total_frames t_env | progress.iterations: iteration iterations iter iters it training_iteration
        generation round rounds | time.iteration: duration time_taken | progress.episodes: game episode episodes num_episodes
        episodes_total n_episode n_episodes n_epi | progress.epoch: epoch epochs | config.group_size: group_size
        num_generations | config.target_kl: target_kl | progress.updates: update updates num_updates n_updates upd |
    replay.is_beta: per_beta is_beta beta_per
"""
_GROUPS: Mapping[str, str] = {
    **dict(entries(_SPELLED)),
    # what firstbreak's own recorder writes (live/guard/adapters/sb3_loop.py)
    **{
        f"env.{name}": name
        for name in words("""
        observation_constant observation_size observation_offset action_use action_shown_any episodes_ended
        episode_age start_spread action_shown action_shown_at_once action_effect action_effect_moved limits_early step_reward
        reward_size
    """)
    },
}
_FLIPPED = Name("policy.entropy", -1.0, "logged as minus the entropy")

# Words with two common meanings: used where no trainer was recognised, left alone beside a trainer's own names.
_KL = Name("kl.ref", note="plain `kl`: taken for the divergence from the reference model")
_GUESSES = {
    **dict.fromkeys(("kl", "kl_div", "kl_divergence"), _KL),
    **dict.fromkeys(("kl_loss", "kl_penalty"), Name("kl.ref", note="may hold its coefficient")),
}

NAMES: dict[str, str | Name] = {
    **spelled(**_GROUPS),
    **{"neg_entropy": _FLIPPED, "negative_entropy": _FLIPPED},
    # what firstbreak's own recorder writes (live/recorder/)
    **{signal.replace(".", "_"): signal for signal in SIGNALS if signal.startswith("proof.")},
    "bpb": Name("sft.nll", math.log(2), "bits per byte, shown in nats per byte"),
    **_GUESSES,
}

# A negative entropy hides behind this name in some trainers, and a positive one in others.
_SIGN_UNKNOWN = "minus the entropy in one trainer, plus the entropy in another, times a coefficient in a third"
NOT_CONVERTED = {
    **{"entropy_loss": _SIGN_UNKNOWN, "ent_loss": _SIGN_UNKNOWN, "loss_entropy": _SIGN_UNKNOWN},
    "max_grad_norm": "the limit of the gradient norm rather than a measurement",
}


_AMBIGUOUS = _GUESSES.keys() | word_set(
    "r q return returns value values ratio correct score scores eps alpha tokens truncated turns updates length total_score"
    " clip_ratio policy_kl total_reward reward_margin throughput"
)
_SCORES = word_set("correct return returns score scores total_reward")
_PLACES = word_set(
    "train training debug charts chart metrics metric loop rollout rollouts losses loss stats info actor agent global optim"
    " optimizer progress env environment update updates"
)
#: words of a panel that change what its names mean
_TELLING = word_set(
    "intrinsic extrinsic opponent opponents enemy adversary teacher student expert demo random target ref reference old best"
    " worst model world dynamics discriminator disc oracle human rm cost safety aux imagine imagined dream vae encoder"
    " decoder predictor forward inverse her buffer replay transition transitions eval evaluation val valid validation test"
    " heldout dev greedy sft bc rnd icm baseline critic value v q pi loss kl entropy accuracy acc clip length len advantage"
    " adv grad lr logp tool tools"
)
_OPTIMIZER = word_set("optim optimizer update updates")
_SHARES = word_set("frac fraction rate ratio share pct percent percentage")
_ROLLOUT = _OPTIMIZER | word_set("rollout rollouts")
_RETURNS, _OF_REWARDS, _REWARDED = (
    word_set("return returns ret rets"),
    word_set("reward rewards rew rews"),
    ("reward.mean", "reward.acc", "reward.shaped", "pref."),
)
#: what tells one of several of the same: a worker, a robot, or when in an update it was measured
_AGENT = pattern(
    r"(?:(.+?)[/_.])?((?:agent|player|team|robot|predator|prey|adversary)[_-]?\d+)[/_.](.+)", re.IGNORECASE
)
_NUMBERED = pattern(
    r"(.+)/([A-Za-z]+[_-]?\d+)|(.+?)(?:[_ /]|(?-i:(?=(?:Before|After)$)))(before|after|pre|post)(?:[_ ]update)?",
    re.IGNORECASE,
)
#: `rg (Success)`: an abbreviation, and what it stands for
_EXPLAINED = pattern(r"(?P<short>[A-Za-z]{1,4}) ?\((?P<meaning>[A-Za-z _]{4,})\)")
_HELD_OUT = word_set("eval evaluation val valid validation test heldout dev greedy")
_STATISTICS = spelled(mean="mean avg average", min="min", max="max", std="std", p50="median")


#: readings of the machine: those of wandb, which other readers name alike
_MACHINE = pattern(r"system\.gpu\.(\d+)\.(\w+)")
_READINGS: Mapping[str, tuple[str, float]] = {
    "gpu": ("gpu.util", 1.0),
    "powerWatts": ("gpu.power", 1.0),
    "memoryAllocated": ("gpu.memory_share", 1.0),
    "memoryAllocatedBytes": ("memory.gpu", 1 / 2**30),
    "memoryTotalBytes": ("gpu.memory_size", 1 / 2**30),
}


_PANEL = pattern(r"(?:real|sac|td3|dqn|ddpg|a2c)/")  #: the environment beside a model of it, and algorithms
#: `ratio/e0_mb0`: of the first minibatch, before anything was learned from the batch
_FIRST = pattern(
    r"[/._](?:(?P<first>(?:e(?:poch)?_?0[/._]?)?m(?:ini)?b(?:atch)?_?0|first_(?:minibatch|mb))|(?<=/)last)$"
)


@lru_cache(maxsize=65536)
def translate(raw: str, company: _meaning.Company = _meaning.Company()) -> Name | None:  # noqa: B008
    """What a plain name means, or None: what is listed here, else what its words say together, in this company."""
    if (reading := _MACHINE.fullmatch(raw)) and (known := _READINGS.get(reading[2])):
        return Name(f"{known[0]}@gpu {reading[1]}", known[1])
    if raw.endswith("]") and "=" in raw:
        return None  # a table's labels
    if first := _FIRST.search(raw):
        whole = translate(raw[: first.start()], company)
        return replace(whole, signal=f"{whole.signal}@first_minibatch") if whole and first["first"] else whole
    raw = raw.removeprefix("val/") if raw.startswith("val/ratio") else raw  # of TRL's PPO: values of the update
    words = _words(_PANEL.sub("", raw))
    if listed := _listed(words):
        return listed
    if any("_".join(words[start:]) in NOT_CONVERTED for start in range(len(words))):
        return None
    explained = _EXPLAINED.fullmatch(raw)
    if explained and not _meaning.knows(explained["short"]):
        return translate(explained["meaning"], company)
    return _meaning.read(words, company) or _beside_a_panel(raw, company)


def _beside_a_panel(raw: str, company: _meaning.Company) -> Name | None:
    """`Lower/Policy_Loss` without the panel, unless it says of what; `mean_reward/robot_0` as a slice."""
    if raw.count("/") > 4 or len(raw) > 200:
        return None  # no name that a person gave
    part = _NUMBERED.fullmatch(raw)
    whole = translate(part[1] or part[3], company) if part else None
    if part and whole and (part[1] or part.end(3) != part.start(4) or whole.signal.startswith(("value.", "policy."))):
        return replace(whole, signal=f"{whole.signal}@{(part[2] or part[4]).lower()}", origin=Origin.WORDS)
    if (part := _AGENT.fullmatch(raw)) and (whole := translate("/".join(filter(None, (part[1], part[3]))), company)):
        return replace(whole, signal=f"{whole.signal}@{part[2].lower()}", origin=Origin.WORDS)
    panel, _, rest = raw.partition("/" if "/" in raw else ".")
    own = frozenset(_words(panel))
    found = translate(rest, company) if rest and _TELLING.isdisjoint(own) else None
    if found and own & _OF_REWARDS and ("_" not in rest or found.signal.startswith(_REWARDED)):
        return None  # a part of the reward
    return found and replace(found, origin=Origin.WORDS)


def _listed(words: list[str]) -> Name | None:
    if words[:1] == ["valid"] and not _SHARES.isdisjoint(words):
        return Name("custom.valid")  # a share of what is valid, and none of held-out data
    held_out = bool(words) and not _HELD_OUT.isdisjoint((words[0], words[-1]))
    words = [word for i, word in enumerate(words) if not (i in (0, len(words) - 1) and word in _HELD_OUT)]
    if len(words) > 1 and words[-1] == "train":  # `loss/train`
        words = words[:-1]
    for start in range(len(words)):
        if name := _entry(words[start:]):
            elsewhere = _ROLLOUT if name.signal == "progress.epoch" else _OPTIMIZER
            if name.signal.startswith("progress.") and (held_out or not elsewhere.isdisjoint(words[:start])):
                return None  # how long the evaluation was; steps of the optimizer, passes over a rollout
            if "loss" in words[:start] and name.signal.startswith("reward."):
                return None
            if name.signal == "progress.step" and "env" in words[:start]:
                name = replace(name, signal="progress.env_steps")
            return replace(name, signal=evaluation(name.signal)) if held_out else name
        if words[start] not in _PLACES:
            return None
    return None


def context(names: Set[str]) -> dict[str, str | Name]:
    """What some names mean beside others: parts of a reward, the length of an episode, a proxy and what it stands for."""
    parts = (
        _tagged,
        _told_apart,
        _passes,
        _differences,
        _averages,
        _scores,
        _parts,
        _time_limits,
        _proxy,
        _losses,
        _versions,
        _temperature,
    )
    return {raw: meaning for part in parts for raw, meaning in part(names).items()}


#: of whom a number is: of an agent, if one of its numbers is one of these
_OF_AGENTS = ("reward.", "returns.", "value.mean", "advantage.", "episode.", "success_rate")
_NO_TAG = (
    _TELLING | _meaning.NO_PART | _STATISTICS.keys() | word_set("prev raw wm imag ext int change processed filtered")
)
_MOST_TAGGED = 300  #: names; a person gave fewer


def _tagged(names: Set[str]) -> dict[str, str | Name]:
    """`client_loss` beside `client_reward`, `advmean_idn` beside `advmean_nsn`: a word that says of which agent several are."""
    bare: dict[str, dict[str, str]] = {}  #: tag -> name -> the name without it
    for raw in sorted(names) if len(names) < _MOST_TAGGED else ():
        words = _words(raw) if "<" not in raw and "/" not in raw and translate(raw) is None else []
        for place, tag in enumerate(words if 1 < len(words) < 7 else ()):
            if len(tag) > 2 and tag.isalpha() and not _meaning.knows(tag) and tag not in _NO_TAG:
                bare.setdefault(tag, {})[raw] = "_".join([*words[:place], *words[place + 1 :]])
    bare = {tag: of for tag, of in bare.items() if len(of) > 1}
    told = _told_apart(names | {rest for of in bare.values() for rest in of.values()}) if bare else {}
    twins = Counter(frozenset(of.values()) for of in bare.values())
    returns = any(not (_OF_REWARDS | _RETURNS).isdisjoint(w := _words(raw)) and _OF_AN_EPISODE & {*w} for raw in names)
    found: dict[str, str | Name] = {}
    for tag, of in bare.items():
        meant = {raw: _signal(said) for raw, rest in of.items() if (said := told.get(rest) or translate(rest))}
        if returns:  # beside those of episodes, a mean reward may be one of steps
            meant = {raw: signal for raw, signal in meant.items() if not _mean_reward(of[raw])}
        stems = {_STEM.sub("", signal) for signal in meant.values()}
        twin = len(meant) > 1 and twins[frozenset(of.values())] > 1
        if (len(stems) > 1 or twin) and any(f"{stem}.".startswith(_OF_AGENTS) for stem in stems):
            found |= {raw: Name(f"{s}@{tag}", origin=Origin.WORDS) for raw, s in meant.items() if "@" not in s}
    return found


_PASS = pattern(r"(?:ep|epoch|pass)_?(\d{1,2})[/_. ](.+)", re.IGNORECASE)


def _passes(names: Set[str]) -> dict[str, str | Name]:
    """`ep0/ratio` beside `ep5/ratio`: the last pass over a batch stands for the update."""
    found: defaultdict[str, list[tuple[int, str]]] = defaultdict(list)
    for raw in names:
        if of := _PASS.fullmatch(raw):
            found[of[2]].append((int(of[1]), raw))
    meant: dict[str, str | Name] = {}
    for rest, passes in found.items():
        if len(passes) > 1 and (name := translate(rest)):
            *others, (_, last) = sorted(passes)
            meant |= {last: name} | {raw: replace(name, signal=f"{name.signal}@pass{i}") for i, raw in others}
    return meant


def _differences(names: Set[str]) -> dict[str, str | Name]:
    """`logp_diff_mean` beside `logp_absdiff_mean` has a sign, and is none of a size."""
    found = {raw: name for raw in names if "<" not in raw and (name := translate(raw)) and "absdiff" in name.signal}
    sized = {raw for raw in found if "abs" in raw.lower()}
    return {raw: f"custom.{raw}" for raw in found.keys() - sized} if sized else {}


_STEM = pattern(r"\.(?:mean|std|min|max|p50)$")


def _signal(meaning: str | Name) -> str:
    return meaning if isinstance(meaning, str) else meaning.signal


#: words of a mean over several episodes, and of nothing else
_AVERAGED = word_set("avg average ave ma moving running rolling recent last latest window")


_EPISODES = frozenset({"progress.episodes", "epsilon"})


def _averages(names: Set[str]) -> dict[str, str | Name]:
    """`Avg Reward` beside `Reward`, `Mean(100)` and `Avg` beside `Score`: the same over several episodes, and no other reward."""
    said = {raw: [re.sub(r"\d{2,4}$", "", word) for word in _words(raw)] for raw in names if "<" not in raw}
    bare = {
        raw
        for raw, of in said.items()
        if of and (of[:1] not in (["last"], ["mean"]) or raw[-1:].isdigit()) and (_AVERAGED | {"mean"}).issuperset(of)
    }
    found = {raw: meaning.signal for raw in said.keys() - bare if (meaning := translate(raw))}
    whole = {signal for raw, signal in found.items() if _AVERAGED.isdisjoint(said[raw])}
    spread = [raw for raw, of in said.items() if of == ["std"]]  # `Mean reward: -18 | Std: 5`
    alike = whole & {"reward.mean", "eval.reward", "episode.length"}
    averages: dict[str, str | Name] = {
        raw: f"{signal}@average"
        for raw, signal in found.items()
        if signal in alike and not _AVERAGED.isdisjoint(said[raw])
    }
    if "reward.mean" in found.values() and "reward.std" not in found.values():
        averages |= dict.fromkeys(spread[:1], "reward.std")
    if "reward.mean" in whole:
        averages |= dict.fromkeys(bare, "reward.mean@average")
    elif "eval.reward" in found.values() and "reward.mean" not in found.values():  # `reward_std` of it
        averages |= {raw: f"eval.{signal}" for raw, signal in found.items() if signal in _OF_EPISODES}
    elif _EPISODES & {*found.values()} and not any(signal.startswith("reward.") for signal in found.values()):
        averages |= dict.fromkeys(bare, "reward.mean")
    return averages


#: scores.txt of ChainerRL and PFRL: returns of an evaluation, and what the agent says of itself since the last one
_EVALUATED = """
    mean=eval.reward median=eval.reward.p50 stdev=eval.reward.std max=eval.reward.max min=eval.reward.min
    average_q=value.mean average_q1=value.mean average_loss=value.loss average_q_func1_loss=value.loss rlen=replay.size
    average_loss_value_func=value.loss average_q2=value.mean@q2 average_q_func2_loss=value.loss@q2 temperature=alpha
    steps=progress.env_steps cumulative_steps=progress.env_steps
"""


def _scores(names: Set[str]) -> dict[str, str | Name]:
    pairs = (pair.split("=") for pair in _EVALUATED.split())
    return {raw: signal for raw, signal in pairs if {raw, "elapsed", "mean", "median", "stdev"} <= names}


#: of a loop that calls its losses by what they train, the best first
_NLL = frozenset({"nll tok", "nll per tok", "nll token", "nll per token"})
_POLICY, _CRITIC = ("pg", "pi", "surr", "actor", "policy"), ("vf", "bl", "baseline", "v", "critic", "value")


def _losses(names: Set[str]) -> dict[str, str | Name]:
    """`pg` and `vf`, `pi` and `V` beside each other are losses, `H` is the entropy, `scale` with `skipped` a loss scale."""
    bare = {raw.lower(): raw for raw in sorted(names)}
    known = {meaning.signal for raw in names if "<" not in raw and (meaning := translate(raw))}
    policy, critic = (next((bare[word] for word in of if word in bare), None) for of in (_POLICY, _CRITIC))
    found: dict[str, str | Name] = {"scale": "optim.loss_scale"} if {"scale", "skipped"} <= names else {}
    sampled = [raw for raw in sorted(names) if " ".join(_words(raw)) in _NLL]
    if "H" in names and (policy or sampled or any("kl" in _words(raw) for raw in names)):
        found["H"] = "policy.entropy"
    if sampled and "reward.mean" in known:  # of what was sampled, and not of given text
        found[sampled[0]] = Name("policy.logp.mean", -1.0, "logged as minus the log-probability of a sampled token")
    if policy and "policy.loss" not in known and (critic or policy.lower() not in ("actor", "policy")):
        found[policy] = "policy.loss"
    if policy and critic and "value.loss" not in known:
        found[critic] = "value.loss"
    found |= {"W": "success_rate"} if {"W", "L"} <= names else {}  # shares of games won and lost
    return found | ({"r": "reward.episode", "l": "episode.length"} if {"r", "l"} <= names else {})  # of a monitor


def _temperature(names: Set[str]) -> dict[str, str | Name]:
    """`alpha` without an actor or a critic is the step size of a table."""
    found = {raw: meaning.signal for raw in names if "<" not in raw and (meaning := translate(raw))}
    if any(signal.startswith(("policy.", "value.", "alpha.", "action.")) for signal in found.values()):
        losses = [raw for raw, signal in found.items() if signal == "alpha.loss" and "temp" in raw.lower()]
        soft = bool(losses) and "alpha" not in found.values()
        return {raw: "alpha" for raw in sorted(names) if soft and _words(raw)[-1:] in (["temp"], ["temperature"])}
    return {raw: f"custom.{raw}" for raw, signal in found.items() if signal == "alpha" and len(names) > 1}


_ACTORS = pattern(
    r"(?:actors?|gen|generator|rollout|sampler|workers?|behaviou?r)_(?:w|weights?_|policy_|model_)?(?:v|ver|version)(?:_(?P<statistic>min|mean|max))?",
    re.IGNORECASE,
)


def _versions(names: Set[str]) -> dict[str, str | Name]:
    """`actor_v`, `actor_wver` or `gen_v`, beside `v` or not: the version of the weights that sample, and of those in training."""
    found = {raw: f"policy_version.{of['statistic'] or 'mean'}" for raw in names if (of := _ACTORS.fullmatch(raw))}
    own = next((raw for raw in ("v", "version", "learner_v", "learner_version") if raw in names), None)
    queue = {"q": "custom.q"} if found and "q" in names else {}
    return {**found, **queue, **({own: "policy_version.train"} if found and own else {})}


#: names of the whole reward that are something else where a reward is logged: of a game, of what a critic is fitted to
_BESIDE_REWARDS = dict.fromkeys(("score", "scores", "episode_score"), ("game", "score")) | dict.fromkeys(
    _RETURNS, ("fitted", "returns")
)
_OF_AN_EPISODE = word_set("ep eps episode episodes episodic")
_SECOND = pattern(r"(?<!\d)2(?!\d)")
_OF_EPISODES = frozenset(f"reward.{statistic}" for statistic in STATISTICS)


def _told_apart(names: Set[str]) -> dict[str, str | Name]:
    """Names that are not listed, and those with two meanings, read in the company of the others."""
    company = _meaning.company(_words(raw) for raw in names)
    plain = {raw: translate(raw) for raw in sorted(names) if "<" not in raw and not raw.endswith("]")}
    known = {meaning.signal for meaning in plain.values() if meaning}
    rewards = any(
        m and m.signal in _OF_EPISODES and not (_OF_REWARDS | _OF_AN_EPISODE).isdisjoint(_words(raw))
        for raw, m in plain.items()
    )
    found: dict[str, str | Name] = {}
    for raw, meaning in plain.items():
        guess = _plain(raw) in _GUESSES or not _listed(_words(raw))
        meaning = (_meaning.read(_words(raw), company) or _beside_a_panel(raw, company) if guess else None) or meaning
        signal = _meaning.beside(meaning.signal, company) if meaning else ""
        where, what = _BESIDE_REWARDS.get(_plain(raw), ("", ""))
        if raw == "return" and rewards and "length" in names:
            signal = "reward.episode"  # a row of each episode
        elif rewards and where and getattr(company, where) and signal in _OF_EPISODES:
            signal = signal.replace("reward", what)
        first = plain.get(_SECOND.sub("1", raw, count=1)) if _SECOND.search(raw) else None
        if meaning and first and first.signal == meaning.signal:
            signal += "@2"  # of two critics, say
        if meaning and (signal not in known or "loss" not in signal or meaning != plain[raw]):
            found[raw] = replace(meaning, signal=signal)
    return found


#: of reward over-optimisation (https://arxiv.org/abs/2210.10760); alone, gold is what a game pays
_PROXY = word_set("proxy proxy_reward proxy_score proxy_rm")
_GOLD = word_set("gold gold_reward gold_score gold_rm true_reward")


def _proxy(names: Set[str]) -> dict[str, str | Name]:
    """`proxy` and `gold` beside each other: the reward that is optimised, and the one that it stands for."""
    trained = [raw for raw in names if (_words(raw) or [""])[0] not in _HELD_OUT]
    optimised, meant = ({raw for raw in trained if _plain(raw) in words} for words in (_PROXY, _GOLD))
    if not optimised or not meant:
        rewards = {raw for raw in trained if "<" not in raw and (of := translate(raw)) and of.signal == "reward.mean"}
        optimised = {raw for raw in rewards if f"true_{raw}" in names}
        meant = {f"true_{raw}" for raw in optimised}
    return {**dict.fromkeys(sorted(optimised), "reward.mean"), **dict.fromkeys(sorted(meant), "eval.reward")}


_UNPAID = pattern(
    r"^(?:loss|steps?|updates|kl_.*|variance.*)$|_(?:length|rate|frac|ratio|loss|steps?|updates|count|time|tokens)$"
)
_PART = pattern(r"(?:train/)?rewards?[/_](?:[rR]_)?(\w+?)(?:_(mean|avg|std|min|max))?")
_NAMED = word_set(
    "gap weight margin hack hacking clip entropy range spread count change trend slope rate variance valid samples"
)


def _parts(names: Set[str]) -> dict[str, str | Name]:
    """`reward/format` beside `reward` or `reward/mean` is a part of it, whatever it is called; `reward_format` beside another."""
    meanings = {raw: translate(raw) for raw in names}
    if not any(meaning and meaning.signal == "reward.mean" for meaning in meanings.values()):
        return {}
    parts = {raw: match for raw in names if meanings[raw] is None and (match := _PART.fullmatch(raw))}
    loose = {raw for raw in parts if "/" not in raw.removeprefix("train/")}
    named = {raw for raw in loose if (_meaning.NO_PART | _NAMED).isdisjoint(_words(raw)[1:])}
    parts = {raw: part for raw, part in parts.items() if raw not in loose or (raw in named and len(named) > 1)}
    return {
        raw: f"reward.component.{part[1]}.{_STATISTICS.get(part[2] or '', 'mean')}"
        for raw, part in parts.items()
        if part[1] not in STATISTICS and not _UNPAID.search(part[1])
    }


#: of episodes of an environment, which are no texts: how they end is no signal of ours, and a batch is one of single steps
_ENDS = frozenset({"length.clipped_ratio", "length.terminated_frac"})
_OF_A_BATCH = word_set("batch_reward batch_rewards batch_rew")


def _time_limits(names: Set[str]) -> dict[str, str | Name]:
    """Where episodes of an environment are logged and no texts, what is truncated is an episode."""
    company = _meaning.company(_words(raw) for raw in names)
    if company.language or not (company.control or company.values or company.critic):
        return {}
    found = {raw: meaning.signal for raw in sorted(names) if "<" not in raw and (meaning := translate(raw))}
    ends: dict[str, str | Name] = {raw: f"custom.{raw}" for raw, signal in found.items() if signal in _ENDS}
    of_episodes = (
        raw for raw, signal in found.items() if signal == "reward.mean" and not _RETURNS.isdisjoint(_words(raw))
    )
    returns = not all(company.fitted and _plain(raw) in _RETURNS for raw in of_episodes)  # not those of a critic
    of_steps = {raw for raw in found if _plain(raw) in _OF_A_BATCH or (returns and _mean_reward(raw))}
    rewards = {raw: f"reward.step.{found[raw][7:]}" for raw in sorted(of_steps) if found[raw].startswith("reward.m")}
    return ends | rewards


def _mean_reward(raw: str) -> bool:
    """Whether a name is the mean of rewards and says of nothing else: beside returns, it is of steps."""
    return _plain(raw) in _OF_REWARDS and not _STATISTICS.keys().isdisjoint(_words(raw))


def ambiguous(raw: str) -> bool:
    """Whether a plain name has two common meanings, so that it says nothing beside the names of a known trainer."""
    plain, words = _plain(raw), _words(raw)
    if plain in ("value", "values") and words[-1] in _STATISTICS:
        return False  # `value_mean`: of a column of other values nobody logs the statistics
    if words[0] in _HELD_OUT and plain in _SCORES:
        return False  # `eval/mean_return`: the score of an evaluation, whatever the training calls so
    return plain in _AMBIGUOUS


def _plain(raw: str) -> str:
    """The name without places and statistics around it."""
    words = _words(raw)
    while len(words) > 1 and words[0] in _PLACES | _HELD_OUT | _STATISTICS.keys():
        words = words[1:]
    while len(words) > 1 and words[-1] in _STATISTICS:
        words = words[:-1]
    return "_".join(words)


def _entry(words: list[str]) -> Name | None:
    """The entry of these words, or a statistic of one: `reward_mean`, `max_advantage`."""
    if "_".join(words) in NOT_CONVERTED:
        return None
    if found := NAMES.get("_".join(words)):
        return Name(found) if isinstance(found, str) else found
    for statistic, rest in ((words[-1], words[:-1]), (words[0], words[1:])):
        if statistic in _STATISTICS and (found := NAMES.get("_".join(rest))):
            name = Name(found) if isinstance(found, str) else found
            if name.signal.startswith(("progress.", "env.", "tokens.")):
                return None  # `mean_steps` is no progress of the run, and `mean_tokens` those of a completion
            stem = name.signal.removesuffix(".mean")
            signal = lookup(f"{stem}.{_STATISTICS[statistic]}")
            return Name(signal.name, name.scale, name.note) if signal else None
    return None


_PER_SECOND = pattern(
    r"(?:(?<=\bit)|(?<=iter)|(?<=steps)|(?<=frames)|(?<=tokens)|(?<=tok)|(?<=toks)|(?<=ticks))[/_]s(?:ec)?$",
    re.IGNORECASE,
)
_CAMEL = pattern(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])|(?<=\d)(?=[A-Z][a-z])")
_SEPARATOR = pattern(r"[\W_]+")


#: names as formulas are written: `H(pi)`, `|g|`, `E[Q]`, `P(clip)`, `KL(new||old)`, `V [nats]`
_FORMULAS = (
    (pattern(r"(?<![A-Za-z])H(?=$|[\[(_/])"), "entropy "),
    (pattern(r"\b(?:eps|epsilon)_?(?:greedy|Greedy)\b"), "epsilon"),
    (pattern(r"\|{1,2}\s*(?:g|grad|∇\w*)\s*\|{1,2}(?:_?2)?(?!\w)"), "grad norm"),
    (pattern(r"(?<![A-Za-z|])\|([A-Za-z][^|]{0,30})\|(?!\|)"), r"abs \1"),
    (pattern(r"\bE\[([^\[\]]{1,30})\]"), r"\1 mean"),
    (pattern(r"\bP\((\w{1,20})\)"), r"\1 frac"),
    (pattern(r"[\[(](?:nats?|bits|1|-)[\])]$"), ""),
    (pattern(r"(?<=[\w)\]])\s?[\[(]?%[\])]?$"), " pct"),
)


def _words(raw: str) -> list[str]:
    """`meanReward`, `Mean Reward`, `meanreward` and `mean/reward` are the same words, and `steps/s` is no time."""
    raw = _PER_SECOND.sub(" per s", raw).replace("iB", "ib")
    if len(raw) < 60:
        for formula, said in _FORMULAS:
            raw = formula.sub(said, raw)
    return [part for word in _SEPARATOR.split(_CAMEL.sub(" ", raw).lower()) if word for part in _meaning.apart(word)]


#: what the authors of a loop of their own call its options
_OPTIONS = """
    learning_rate: learning_rate lr policy_lr lr_policy actor_lr lr_actor pi_lr peak_lr lr_a | value_learning_rate: value_lr
        lr_value critic_lr lr_critic vf_lr lr_c qf_lr q_lr | lr_schedule: lr_schedule lr_scheduler | warmup_steps:
        warmup_steps lr_warmup_steps num_warmup_steps | grad_clip: max_grad_norm grad_clip clip_grad_norm clip_grad
        grad_norm_clip gradient_clip clip_norm max_norm | kl_coef: kl_coef beta kl_beta beta_kl kl_coeff kl_weight kl |
        clip_range:
        clip_range clip_coef clip_eps epsilon clip_epsilon clip_ratio ratio_clip eps_clip clip_param cliprange ppo.clip
        clip_low clip_eps_low clip_ratio_low | clip_range_high: clip_high clip_eps_high clip_ratio_high | clip_range_value:
        clip_range_vf cliprange_value vf_clip value_clip | target_kl: target_kl kl_target max_kl | group_size: group_size
        num_generations group_num samples_per_prompt n_samples_per_prompt completions_per_prompt completions_per_group G
        rollouts_per_prompt responses_per_prompt | batch_size: batch_size batch bsz train_batch_size bs | minibatch_size:
        minibatch_size mini_batch_size | minibatches: minibatches num_minibatches n_minibatches | epochs_per_batch: epochs
        n_epochs ppo_epochs update_epochs inner_epochs num_inner_epochs epochs_per_batch | max_new_tokens: max_new_tokens
        max_completion_length max_response_length max_completion_tokens max_gen_len max_new max_tokens max_tok | temperature:
        temperature sampling_temperature temp | entropy_coef: ent_coef entropy_coef entropy_coeff ent_weight entropy_weight
        entropy_cost | value_coef: vf_coef value_coef vf_coeff value_loss_coef critic_coef critic_cost baseline_cost |
    gamma: gamma discount | gae_lambda: gae_lambda lam lmbda lambda_gae | buffer_size: buffer_size replay_size memory_size
        replay_capacity buffer_capacity replay_buffer_size buffer buffer.size replay.size buffer_cap | learning_starts:
        learning_starts start_steps random_steps min_replay_size replay_start_size learn_start start_timesteps | train_freq:
        train_freq train_every train_frequency update_every update_freq update_frequency | target_update_interval:
        target_update_interval target_update_every target_update_freq target_update_frequency target_network_frequency
        target_sync target_sync_every sync_target_every target_update_period | policy_delay: policy_delay policy_freq
        policy_frequency update_actor_freq | action_noise: exploration_noise expl_noise | n_step_returns: n_step n_step_return
        n_step_returns | normalize_advantage: norm_adv normalize_advantage normalize_advantages | normalize_reward:
        norm_reward normalize_reward normalize_rewards | normalize_observation: norm_obs normalize_obs obs_norm
        normalize_observations | reward_clip: reward_clip clip_reward | eval_interval: eval_every eval_freq eval_interval
        test_interval | save_interval: save_every save_freq save_interval | log_interval: log_every log_freq log_interval |
    exploration_initial: eps_start epsilon_start start_e eps_init epsilon_init initial_epsilon | exploration_final: eps_end
        epsilon_end end_e eps_min epsilon_min eps_final epsilon_final final_epsilon epsilon_finish | n_envs: n_envs num_envs |
    n_steps: n_steps num_steps rollout_len rollout_length rollout_steps unroll_length | total_steps: total_timesteps max_steps
        total_steps total_env_steps max_train_steps train_steps n_timesteps | env_id: env_id env | model: model model_name
"""
CONFIG = spelled("weight_decay top_p top_k gradient_steps tau target_entropy exploration_fraction seed") | meanings(
    _OPTIONS
)

LOG = {
    "reward.mean": "log the mean reward of each batch as `reward`",
    "kl.ref": "log the divergence from the reference model as `kl_ref`",
    "kl.old": "log the divergence from the old policy as `approx_kl`",
    "policy.entropy": "log the mean entropy as `entropy`",
    "grad.norm": "log what clip_grad_norm_ returns as `grad_norm`",
    "eval.reward": "log an evaluation as `eval/reward`",
    "eval.accuracy": "text: log an evaluation as `eval/accuracy`",
    "length.mean": "text: log the mean completion length as `response_length`",
    "length.clipped_ratio": "text: log the share of truncated completions as `truncated_ratio`",
    "value.explained_variance": "log 1 - Var(return - value) / Var(return) as `explained_variance`",
}

#: what learns from advantages of given data: its temperature and its beta weigh them, and its tau is an expectile
_WEIGHTED = word_set("iql awr awac crr")


def refine(values: Mapping[str, Any], names: Set[str], config: Mapping[str, Any]) -> dict[str, Any]:
    """What an option means beside others: a warm-up of the replay buffer, weights of advantages, the clip of the ratio."""
    found: dict[str, Any] = {}
    warmup = config.get("warmup", values.get("warmup_steps"))
    if warmup and "buffer_size" in values:
        found = {"warmup_steps": None, "learning_starts": values.get("learning_starts", warmup)}
    if any(f"{name}_tau" in config or config.get("algo") == name for name in _WEIGHTED):
        found |= {"temperature": None, "kl_coef": None}
        found |= {} if values.get("tau", 0) < 0.5 else {"tau": None}
    if "grad_clip" in values and "clip_range" not in values and isinstance(config.get("clip"), float):
        found["clip_range"] = config["clip"]
    return found


_ALGORITHMS = (
    *("grpo", "rloo", "dapo", "gspo", "ppo", "a2c", "a3c", "trpo", "dqn", "sac", "td3", "ddpg", "tqc"),
    *("dpo", "kto", "reinforce", "impala"),
)


def algorithm(names: Set[str], config: Mapping[str, Any]) -> str | None:
    """Where the configuration says it."""
    named = ("algorithm", "algo", "algo_name", "agent", "trainer", "method")
    ends = (key for name in named for key in config if key.rpartition(".")[2] == name or key == f"{name}.name")
    for key in (*named, *ends):
        text = str(config.get(key, "")).lower()
        found = next((a for a in _ALGORITHMS if re.search(rf"(?<![a-z]){a}(?![a-z])", text.replace("_", " "))), None)
        if found:
            return found
    return None
