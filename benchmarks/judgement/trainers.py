"""The names and files of each trainer: signals of a world -> the files that this trainer would have written.

`names` says for each signal under which name a trainer logs it. Where the logged number is not the canonical one, the entry
is (name, factor): logged = factor * canonical. What is not logged by default and needs one option (a validation set, a
reference model, log-probabilities of the rollout) is included; what a trainer cannot log is left out.
"""

import csv
import json
import struct
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType, ModuleType
from typing import Any

import numpy as np
import yaml

from benchmarks.judgement.worlds import LOGGED_NAN, World
from firstbreak import dialects
from firstbreak.dialects import signals
from firstbreak.readers._crc32c import crc32c, masked

Curves = Mapping[str, np.ndarray]
Logged = str | tuple[str, float]
Row = dict[str, float]
Names = Mapping[str, Logged]

WALL_TIME = 1.7e9  #: of the first event, seconds since 1970


@dataclass(frozen=True, kw_only=True)
class Trainer:
    """One trainer: its methods, names and files."""

    id: str  #: the dialect
    family: str  #: "text" or "control"
    methods: Mapping[str, Names]  #: method -> signal -> name
    write: Callable[[Path, World, Mapping[str, np.ndarray], bool], None]
    steps_per_row: int = 1  #: what its step axis grows by between two logged rows

    def names(self, method: str) -> Names:
        """signal -> name, for one method."""
        return self.methods[method]

    def logs(self, method: str, signal: str) -> bool:
        """Whether a run of this method can show a signal: one of its world's, or else one that its dialect has a name for."""
        return signal in self.names(method) or (signal not in worldly(self.family) and bool(_other(self.id, signal)))

    def logged(self, method: str, signal: str) -> tuple[str, float] | None:
        """Name and factor of a signal; None where the trainer has no name for it."""
        found = self.names(method).get(signal)
        if found is None:
            return _other(self.id, signal) if self.logs(method, signal) else None
        return (found, 1.0) if isinstance(found, str) else found


@cache
def worldly(family: str) -> frozenset[str]:
    """Signals that worlds of this family have, for any of their trainers."""
    return frozenset(s for t in TRAINERS.values() if t.family == family for names in t.methods.values() for s in names)


@cache
def _other(trainer: str, signal: str) -> tuple[str, float] | None:
    """A name that the dialect knows for a signal that no world has: as it stands, or filled in for a member of a family."""
    known = signals.lookup(signal)
    if known is None:
        return None
    dialect = dialects.dialects()[trainer]
    for raw in dialects.spellings(signal).get(trainer, ()):
        name = raw.replace("<func>", known.member) if known.member else raw
        meaning = dialects.translate(name, dialect) if "<" not in name else None
        if meaning is not None and meaning.signal == known.name:
            return name, 1.0 / meaning.scale
    return None


def write(folder: Path, world: World, curves: Curves, config: bool = True) -> None:
    """Write what the world's trainer would have written of these curves into `folder`, with its configuration if asked."""
    trainer = TRAINERS[world.trainer]
    columns: dict[str, np.ndarray] = {}
    for signal, values in curves.items():
        if (logged := trainer.logged(world.method, signal)) is not None:
            name, factor = logged
            columns[name] = np.where(values == LOGGED_NAN, LOGGED_NAN, np.asarray(values, float) * factor)
    folder.mkdir(parents=True, exist_ok=True)
    trainer.write(folder, world, columns, config)


def read_back(world: World, curves: Curves) -> dict[str, str]:
    """signal -> the canonical name under which the run that `write` writes is read again."""
    trainer = TRAINERS[world.trainer]
    raw = {s: logged[0] for s in curves if (logged := trainer.logged(world.method, s))}
    understood = dialects.understand(list(raw.values()), _dialect(world.trainer))
    return {signal: understood[name].signal for signal, name in raw.items() if name in understood}


def _dialect(trainer: str) -> ModuleType:
    return dialects.dialects()[trainer]


def _rows(columns: Mapping[str, np.ndarray], n: int) -> list[Row]:
    """For each step what was logged at it, NaN where "nan" was logged."""
    rows: list[Row] = [{} for _ in range(n)]
    for name, values in columns.items():
        for i in np.flatnonzero(~np.isnan(values)):
            rows[i][name] = float("nan") if values[i] == LOGGED_NAN else float(values[i])
    return rows


def _whole(step: float) -> int | float:
    return int(step) if float(step).is_integer() else step


# --- configurations ----------------------------------------------------------------------------------------------------


def _options(world: World, prefix: Callable[[str], str] = lambda key: key) -> dict[str, Any]:
    """The world's hyperparameters in the trainer's own options, nested where they have dots."""
    own: dict[str, str] = {}
    for key, canonical in _dialect(world.trainer).CONFIG.items():
        own.setdefault(canonical, key)
    tree: dict[str, Any] = {}
    for canonical, value in world.config.items():
        if canonical not in own:
            continue
        *path, last = prefix(own[canonical]).split(".")
        place = tree
        for part in path:
            place = place.setdefault(part, {})
        place[last] = value
    return tree


def _yaml(path: Path, tree: Mapping[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(dict(tree), sort_keys=False))


# --- files -------------------------------------------------------------------------------------------------------------


def _trl(folder: Path, world: World, columns: Mapping[str, np.ndarray], config: bool) -> None:
    """trainer_state.json of the last checkpoint: training and evaluation entries of one step are separate."""
    history: list[dict[str, Any]] = []
    for step, row in zip(world.steps, _rows(columns, world.n), strict=True):
        epoch = float(step) / world.n
        held_out = {name: value for name, value in row.items() if name.startswith("eval_")}
        trained = {name: value for name, value in row.items() if name not in held_out}
        history += [{"epoch": epoch, **part, "step": _whole(step)} for part in (trained, held_out) if part]
    state = {
        "best_metric": None,
        "best_model_checkpoint": None,
        "epoch": 1.0,
        "global_step": _whole(world.steps[-1]),
        "is_hyper_param_search": False,
        "is_world_process_zero": True,
        "log_history": history,
    }
    if config:
        state |= {"logging_steps": 1, "max_steps": world.n, "num_train_epochs": 1, "eval_steps": world.eval_every}
    (folder / "trainer_state.json").write_text(json.dumps(state))


def _verl(folder: Path, world: World, columns: Mapping[str, np.ndarray], config: bool) -> None:
    """The file logger, one line per step, and hydra's resolved configuration."""
    lines = (
        json.dumps({"step": _whole(step), "data": row})
        for step, row in zip(world.steps, _rows(columns, world.n), strict=True)
    )
    (folder / "experiment.jsonl").write_text("\n".join(lines) + "\n")
    if config:
        groups = ("actor.", "rollout.")
        options = _options(world, lambda key: f"actor_rollout_ref.{key}" if key.startswith(groups) else key)
        estimator = {"ppo": "gae"}.get(world.method, world.method)
        options.setdefault("algorithm", {})["adv_estimator"] = estimator
        if world.config.get("kl_coef"):
            options["actor_rollout_ref"]["actor"]["use_kl_loss"] = True
        _yaml(folder / ".hydra" / "config.yaml", options)


def _areal(folder: Path, world: World, columns: Mapping[str, np.ndarray], config: bool) -> None:
    """TensorBoard with the names as they are, and config.yaml of the experiment."""
    _tensorboard(folder / "tensorboard", world, columns)
    if config:
        _yaml(folder / "config.yaml", _options(world))


def _openrlhf(folder: Path, world: World, columns: Mapping[str, np.ndarray], config: bool) -> None:
    """TensorBoard only: OpenRLHF saves no configuration."""
    _tensorboard(folder, world, columns)


def _sb3(folder: Path, world: World, columns: Mapping[str, np.ndarray], config: bool) -> None:
    """progress.csv of the logger, evaluations.npz of EvalCallback, and config.yml as rl-zoo saves it."""
    spread = columns.get("results/std")
    plain = {name: values for name, values in columns.items() if name != "results/std"}
    names = ["time/total_timesteps", *sorted(plain)]
    with (folder / "progress.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, names)
        table.writeheader()
        for step, row in zip(world.steps, _rows(plain, world.n), strict=True):
            held_out = {name: value for name, value in row.items() if name.startswith("eval/")}
            trained = {name: value for name, value in row.items() if name not in held_out}
            for part in (held_out, trained):  # EvalCallback writes a row of its own
                if part:
                    table.writerow({"time/total_timesteps": _whole(step)} | part)
    scores = plain.get("eval/mean_reward")
    if scores is not None and not np.isnan(scores).all():
        at = np.flatnonzero(~np.isnan(scores))
        mean = np.where(scores[at] == LOGGED_NAN, np.nan, scores[at])
        sd = spread[at] if spread is not None else 0.1 * np.abs(mean)
        episodes = mean[:, None] + np.where(np.isnan(sd), 0.0, sd)[:, None] * EPISODES
        arrays = {"timesteps": world.steps[at].astype(np.int64), "results": episodes}
        if (lengths := plain.get("eval/mean_ep_length")) is not None:
            arrays["ep_lengths"] = np.repeat(lengths[at][:, None], len(EPISODES), axis=1)
        np.savez(folder / "evaluations.npz", **arrays)  # type: ignore[arg-type]
    if config:
        options = _options(world)
        if "n_steps" not in options:
            options.pop("n_envs", None)
        _yaml(folder / "config.yml", options)
        _yaml(folder / "args.yml", {"algo": world.method, "env": "HalfCheetah-v4", "seed": world.config.get("seed", 0)})


#: returns of the five episodes of one evaluation, in standard deviations from their mean; of mean 0 and deviation 1
EPISODES = np.array([-1.5, -0.5, 0.0, 0.5, 1.5])


def _cleanrl(folder: Path, world: World, columns: Mapping[str, np.ndarray], config: bool) -> None:
    """TensorBoard, with the options as a table of text."""
    options = _options(world) | {"exp_name": world.method} if config else {}
    table = "|param|value|\n|-|-|\n" + "\n".join(f"|{key}|{value}|" for key, value in options.items())
    _tensorboard(folder, world, columns, {"hyperparameters": table} if options else {})


def _rllib(folder: Path, world: World, columns: Mapping[str, np.ndarray], config: bool) -> None:
    """progress.csv and params.json of Tune."""
    names = ["training_iteration", "num_env_steps_sampled_lifetime", *sorted(columns)]
    with (folder / "progress.csv").open("w", newline="") as file:
        table = csv.DictWriter(file, names)
        table.writeheader()
        for i, (step, row) in enumerate(zip(world.steps, _rows(columns, world.n), strict=True), 1):
            table.writerow({"training_iteration": i, "num_env_steps_sampled_lifetime": _whole(step)} | row)
    if config:
        (folder / "params.json").write_text(json.dumps(_options(world)))


# --- TensorBoard -------------------------------------------------------------------------------------------------------


def _tensorboard(
    folder: Path, world: World, columns: Mapping[str, np.ndarray], texts: Mapping[str, str] = MappingProxyType({})
) -> None:
    """An event file as SummaryWriter writes it: one record for each scalar."""
    payloads = [_double(1, WALL_TIME) + _field(3, b"brain.Event:2")]
    for tag, text in texts.items():
        tensor = _number(1, 7) + _field(8, text.encode())
        plugin = _field(1, _field(1, b"text"))
        value = _field(1, f"{tag}/text_summary".encode()) + _field(8, tensor) + _field(9, plugin)
        payloads.append(_double(1, WALL_TIME) + _field(5, _field(1, value)))
    heads = {name: _scalar(name) for name in columns}
    for step, row in zip(world.steps, _rows(columns, world.n), strict=True):
        begin = _double(1, WALL_TIME + float(step)) + _number(2, int(step))
        payloads += [begin + heads[name] + struct.pack("<f", np.float32(value)) for name, value in row.items()]
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "events.out.tfevents.1700000000.host.1.0").write_bytes(_records(payloads))


def _scalar(tag: str) -> bytes:
    """A summary of one scalar, up to the four bytes of its value."""
    empty = bytes(4)
    return _field(5, _field(1, _field(1, tag.encode()) + b"\x15" + empty)).removesuffix(empty)


def _records(payloads: list[bytes]) -> bytes:
    lengths = [len(payload).to_bytes(8, "little") for payload in payloads]
    sums = _checksums([*lengths, *payloads])
    n = len(payloads)
    parts = zip(lengths, sums[:n], payloads, sums[n:], strict=True)
    return b"".join(piece for record in parts for piece in record)


def _checksums(strings: list[bytes]) -> list[bytes]:
    """The masked CRC of each; a string that is no multiple of 8 long needs a few bytes before it."""
    sizes = np.array([len(s) for s in strings], np.int64)
    ends = 8 + np.cumsum(sizes)
    buffer = np.frombuffer(bytes(8) + b"".join(strings), np.uint8)
    sums = masked(crc32c(buffer, ends - sizes, ends)).astype("<u4").tobytes()
    return [sums[i : i + 4] for i in range(0, len(sums), 4)]


def _varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def _field(number: int, content: bytes) -> bytes:
    return _varint(number << 3 | 2) + _varint(len(content)) + content


def _number(number: int, value: int) -> bytes:
    return _varint(number << 3) + _varint(value)


def _double(number: int, value: float) -> bytes:
    return _varint(number << 3 | 1) + struct.pack("<d", value)


# --- names -------------------------------------------------------------------------------------------------------------

_TRL_TRAINER: Names = {
    "loss.total": "loss",
    "grad.norm": "grad_norm",
    "lr": "learning_rate",
    "tokens.total": "num_tokens",
}
_TRL_ONLINE: Names = {
    **_TRL_TRAINER,
    "reward.mean": "reward",
    "reward.std": "reward_std",
    "reward.component.accuracy_reward.mean": "rewards/accuracy_reward/mean",
    "reward.component.accuracy_reward.std": "rewards/accuracy_reward/std",
    "reward.zero_std_frac": "frac_reward_zero_std",
    "eval.reward": "eval_reward",
    "eval.length.mean": "eval_completions/mean_length",
    "length.mean": "completions/mean_length",
    "length.max": "completions/max_length",
    "length.min": "completions/min_length",
    "length.clipped_ratio": "completions/clipped_ratio",
    "length.terminated_mean": "completions/mean_terminated_length",
    "kl.ref": "kl",
    "policy.entropy": "entropy",
    "policy.clip_fraction": "clip_ratio/region_mean",
    "policy.clip_fraction.low": "clip_ratio/low_mean",
    "policy.clip_fraction.high": "clip_ratio/high_mean",
    "rollout_train.logp_absdiff.mean": "sampling/sampling_logp_difference/mean",
    "rollout_train.logp_absdiff.max": "sampling/sampling_logp_difference/max",
    "rollout_train.ratio.mean": "sampling/importance_sampling_ratio/mean",
    "time.step": "step_time",
}
_TRL_PPO: Names = {
    "throughput.episodes_per_s": "eps",
    "kl.ref.seq_sum": "objective/kl",
    "policy.entropy_proxy.seq_sum": "objective/entropy",
    "reward.kl_penalty": "objective/non_score_reward",
    "reward.shaped.mean": "objective/rlhf_reward",
    "reward.mean": "objective/scores",
    "kl.old": "policy/approxkl_avg",
    "policy.clip_fraction": "policy/clipfrac_avg",
    "policy.loss": "loss/policy_avg",
    "value.loss": "loss/value_avg",
    "value.clip_fraction": "val/clipfrac_avg",
    "policy.entropy": "policy/entropy_avg",
    "policy.ratio.mean": "val/ratio",
    "lr": "lr",
}
_PREFERENCE: Names = {
    "pref.reward.chosen": "rewards/chosen",
    "pref.reward.rejected": "rewards/rejected",
    "pref.reward.margin": "rewards/margins",
    "pref.reward.accuracy": "rewards/accuracies",
    "pref.logp.chosen": "logps/chosen",
    "pref.logp.rejected": "logps/rejected",
    "pref.logits.chosen": "logits/chosen",
    "pref.logits.rejected": "logits/rejected",
}
_TRL_DPO: Names = {
    **_TRL_TRAINER,
    **_PREFERENCE,
    "policy.token_accuracy": "mean_token_accuracy",
    "eval.loss": "eval_loss",
    **{f"eval.{s}": f"eval_{name}" for s, name in _PREFERENCE.items() if "reward" in s},
}
_VERL: Names = {
    "reward.mean": "critic/score/mean",
    "reward.max": "critic/score/max",
    "reward.min": "critic/score/min",
    "reward.shaped.mean": "critic/rewards/mean",
    "advantage.mean": "critic/advantages/mean",
    "advantage.max": "critic/advantages/max",
    "advantage.min": "critic/advantages/min",
    "returns.mean": "critic/returns/mean",
    "eval.reward": "val-core/openai/gsm8k/acc/mean@1",
    "policy.loss": "actor/pg_loss",
    "policy.clip_fraction": "actor/pg_clipfrac",
    "policy.clip_fraction.dual": "actor/pg_clipfrac_lower",
    "kl.old": "actor/ppo_kl",
    "kl.ref": "actor/kl_loss",
    "kl.coef": "actor/kl_coef",
    "policy.entropy": "actor/entropy",
    "grad.norm": "actor/grad_norm",
    "lr": "actor/lr",
    "length.mean": "response_length/mean",
    "length.max": "response_length/max",
    "length.min": "response_length/min",
    "length.clipped_ratio": "response_length/clip_ratio",
    "length.non_aborted.mean": "response_length_non_aborted/mean",
    "length.non_aborted.clipped_ratio": "response_length_non_aborted/clip_ratio",
    "length.aborted_frac": "response/aborted_ratio",
    "length.prompt.mean": "prompt_length/mean",
    "length.prompt.clipped_ratio": "prompt_length/clip_ratio",
    "rollout_train.kl": "rollout_corr/kl",
    "rollout_train.prob_absdiff.mean": "training/rollout_probs_diff_mean",
    "time.step": "timing_s/step",
    "time.rollout": "timing_s/gen",
    "time.train": "timing_s/update_actor",
    "time.update_weights": "timing_s/update_weights",
    "time.old_logp": "timing_s/old_log_prob",
    "time.ref_logp": "timing_s/ref",
    "time.eval": "timing_s/testing",
    "throughput.tok_s_gpu": "perf/throughput",
    "tokens.step": "perf/total_num_tokens",
    "perf.mfu.actor": "perf/mfu/actor",
    "memory.gpu": "perf/max_memory_allocated_gb",
    "memory.gpu_reserved": "perf/max_memory_reserved_gb",
    "memory.cpu": "perf/cpu_memory_used_gb",
    "progress.epoch": "training/epoch",
}
_VERL_CRITIC: Names = {
    "value.loss": "critic/vf_loss",
    "value.explained_variance": "critic/vf_explained_var",
    "value.mean": "critic/values/mean",
    "value.pred.mean": "critic/vpred_mean",
    "value.clip_fraction": "critic/vf_clipfrac",
    "value.grad_norm": "critic/grad_norm",
    "value.lr": "critic/lr",
    "time.train_critic": "timing_s/update_critic",
}
_AREAL: Names = {
    "reward.mean": "ppo_actor/task_reward/avg",
    "reward.max": "ppo_actor/task_reward/max",
    "reward.min": "ppo_actor/task_reward/min",
    "reward.rollout.mean": "rollout/reward",
    "eval.reward": "eval-rollout/reward",
    "reward.kl_penalty": "ppo_actor/kl_rewards/avg",
    "advantage.mean": "ppo_actor/advantages/avg",
    "advantage.max": "ppo_actor/advantages/max",
    "advantage.min": "ppo_actor/advantages/min",
    "length.total.mean": "ppo_actor/seq_len/avg",
    "length.prompt.mean": "ppo_actor/prompt_len/avg",
    "length.correct.mean": "ppo_actor/correct_seq_len/avg",
    "length.incorrect.mean": "ppo_actor/incorrect_seq_len/avg",
    "length.clipped_ratio": "ppo_actor/no_eos_ratios/avg",
    "samples.step": "ppo_actor/n_seqs",
    "tokens.step": "ppo_actor/n_tokens",
    "tokens.train": "ppo_actor/n_valid_tokens",
    "policy.ratio.mean": "ppo_actor/update/importance_weight/avg",
    "kl.old": ("ppo_actor/update/approx_kl/avg", -1.0),
    "policy.clip_fraction": "ppo_actor/update/clip_ratio/avg",
    "policy.clip_fraction.dual": "ppo_actor/update/dual_clip_ratio/avg",
    "policy.loss": "ppo_actor/update/actor_loss/avg",
    "policy.entropy": "ppo_actor/update/entropy/avg",
    "grad.norm": "ppo_actor/update/grad_norm",
    "optim.update_ok": "ppo_actor/update/update_successful",
    "lr": "ppo_actor/update/lr",
    "time.rollout": "timeperf/rollout",
    "time.train": "timeperf/train_step",
    "time.update_weights": "timeperf/update_weights",
    "time.old_logp": "timeperf/recompute_logp",
    "time.ref_logp": "timeperf/ref_logp",
    "time.eval": "timeperf/eval",
}
_AREAL_ASYNC: Names = {
    "behave.ratio.mean": "ppo_actor/update/behave_imp_weight/avg",
    "behave.ratio.max": "ppo_actor/update/behave_imp_weight/max",
    "behave.kl": ("ppo_actor/update/behave_approx_kl/avg", -1.0),
    "behave.ratio_cap_frac": "ppo_actor/update/behave_filtered_ratio/avg",
    "staleness.mean": "ppo_actor/update/version_stats/sample_staleness_theta_avg",
    "staleness.max": "ppo_actor/update/version_stats/sample_staleness_theta_max",
    "policy_version.train": "ppo_actor/update/version_stats/v_theta",
}
_AREAL_CRITIC: Names = {
    "value.loss": "ppo_critic/critic_loss/avg",
    "value.pred.mean": "ppo_critic/new_value/avg",
    "value.target.mean": "ppo_critic/target_value/avg",
    "value.clip_fraction": "ppo_critic/clip_ratio/avg",
    "value.grad_norm": "ppo_critic/grad_norm",
    "value.lr": "ppo_critic/lr",
    "value.update_ok": "ppo_critic/update_successful",
    "time.train_critic": "timeperf/critic_train_step",
}
_OPENRLHF: Names = {
    "reward.mean": "train/rollout/reward_mean",
    "reward.std": "train/rollout/reward_std",
    "returns.mean": "train/return",
    "length.mean": "train/rollout/response_length_mean",
    "length.clipped_ratio": "train/rollout/truncated_rate",
    "length.total.mean": "train/total_length",
    "samples.step": "train/rollout/num_samples",
    "kl.ref": "train/kl",
    "kl.old": "train/ppo_kl",
    "rollout_train.kl": "train/vllm_kl",
    "policy.loss": "train/policy_loss",
    "policy.clip_fraction": "train/ppo_clip_ratio",
    "policy.entropy": "train/entropy_loss",
    "grad.norm": "train/actor_grad_norm",
    "lr": "train/actor_lr",
    "eval.reward": "eval/eval_gsm8k_pass1",
    "eval.length.mean": "eval/eval_response_length_mean",
    "time.step": "train/timing/step_total",
    "time.rollout": "train/timing/generation",
    "time.train": "train/timing/ppo_train",
    "time.update_weights": "train/timing/broadcast",
}
_OPENRLHF_DPO: Names = {
    "pref.loss": "train/loss",
    "pref.loss@running": "train/loss_mean",
    "pref.reward.accuracy": "train/acc",
    "pref.reward.accuracy@running": "train/acc_mean",
    "pref.reward.chosen": "train/chosen_reward",
    "pref.reward.rejected": "train/reject_reward",
    "grad.norm": "train/grad_norm",
    "lr": "train/lr",
    "eval.pref.loss": "eval/eval_loss",
    "eval.pref.reward.accuracy": "eval/acc_eval",
}
_SB3: Names = {
    "reward.mean": "rollout/ep_rew_mean",
    "episode.length": "rollout/ep_len_mean",
    "eval.reward": "eval/mean_reward",
    "eval.reward.std": "results/std",
    "eval.episode_length": "eval/mean_ep_length",
    "throughput.fps": "time/fps",
    "time.elapsed": "time/time_elapsed",
    "lr": "train/learning_rate",
    "progress.updates": "train/n_updates",
}
_SB3_ON_POLICY: Names = {
    **_SB3,
    "progress.iterations": "time/iterations",
    "policy.entropy": ("train/entropy_loss", -1.0),
    "value.loss": "train/value_loss",
    "value.explained_variance": "train/explained_variance",
    "action.std": "train/std",
}
_SB3_PPO: Names = {
    **_SB3_ON_POLICY,
    "kl.old": "train/approx_kl",
    "policy.clip_fraction": "train/clip_fraction",
    "policy.clip_range": "train/clip_range",
    "policy.loss": "train/policy_gradient_loss",
    "loss.total": "train/loss",
}
_SB3_OFF_POLICY: Names = {**_SB3, "progress.episodes": "time/episodes"}
_CLEANRL: Names = {
    "reward.mean": "charts/episodic_return",
    "episode.length": "charts/episodic_length",
    "throughput.sps": "charts/SPS",
}
_CLEANRL_PPO: Names = {
    **_CLEANRL,
    "lr": "charts/learning_rate",
    "policy.loss": "losses/policy_loss",
    "policy.entropy": "losses/entropy",
    "kl.old": "losses/approx_kl",
    "kl.old.k1": "losses/old_approx_kl",
    "policy.clip_fraction": "losses/clipfrac",
    "value.loss": "losses/value_loss",
    "value.explained_variance": "losses/explained_variance",
}
_LEARNER = "learners/default_policy/"
_RLLIB_PPO: Names = {
    "reward.mean": "env_runners/episode_return_mean",
    "reward.max": "env_runners/episode_return_max",
    "reward.min": "env_runners/episode_return_min",
    "episode.length": "env_runners/episode_len_mean",
    "eval.reward": "evaluation/env_runners/episode_return_mean",
    "eval.episode_length": "evaluation/env_runners/episode_len_mean",
    "loss.total": f"{_LEARNER}total_loss",
    "policy.loss": f"{_LEARNER}policy_loss",
    "kl.old": f"{_LEARNER}mean_kl_loss",
    "kl.coef": f"{_LEARNER}curr_kl_coeff",
    "lr": f"{_LEARNER}default_optimizer_learning_rate",
    "grad.norm": f"{_LEARNER}gradients_default_optimizer_global_norm",
    "value.loss": f"{_LEARNER}vf_loss_unclipped",
    "value.explained_variance": f"{_LEARNER}vf_explained_var",
    "policy.entropy": f"{_LEARNER}entropy",
    "time.iteration": "time_this_iter_s",
    "time.elapsed": "time_total_s",
    "time.step": "timers/training_iteration",
    "time.rollout": "timers/env_runner_sampling_timer",
    "time.train": "timers/learner_update_timer",
    "time.update_weights": "timers/synch_weights",
    "perf.cpu_util": ("perf/cpu_util_percent", 100.0),
    "perf.ram_util": ("perf/ram_util_percent", 100.0),
}

TRAINERS: Mapping[str, Trainer] = MappingProxyType(
    {
        trainer.id: trainer
        for trainer in (
            Trainer(
                id="trl",
                family="text",
                methods={"grpo": _TRL_ONLINE, "rloo": _TRL_ONLINE, "ppo": _TRL_PPO, "dpo": _TRL_DPO},
                write=_trl,
            ),
            Trainer(id="verl", family="text", methods={"grpo": _VERL, "ppo": {**_VERL, **_VERL_CRITIC}}, write=_verl),
            Trainer(
                id="areal",
                family="text",
                methods={"grpo": {**_AREAL, **_AREAL_ASYNC}, "ppo": {**_AREAL, **_AREAL_CRITIC}},
                write=_areal,
            ),
            Trainer(
                id="openrlhf",
                family="text",
                methods={
                    "grpo": {**_OPENRLHF, "reward.group_std": "train/group_reward_std"},
                    "ppo": {
                        **_OPENRLHF,
                        "value.loss": "train/critic_loss",
                        "value.lr": "train/critic_lr",
                        "value.mean": "train/values",
                    },
                    "dpo": _OPENRLHF_DPO,
                },
                write=_openrlhf,
            ),
            Trainer(
                id="sb3",
                family="control",
                methods={
                    "ppo": _SB3_PPO,
                    "a2c": {**_SB3_ON_POLICY, "policy.loss": "train/policy_loss"},
                    "dqn": {**_SB3_OFF_POLICY, "value.loss": "train/loss", "epsilon": "rollout/exploration_rate"},
                    "sac": {
                        **_SB3_OFF_POLICY,
                        "policy.loss": "train/actor_loss",
                        "value.loss": "train/critic_loss",
                        "alpha": "train/ent_coef",
                        "alpha.loss": "train/ent_coef_loss",
                    },
                },
                write=_sb3,
                steps_per_row=16_384,
            ),
            Trainer(
                id="cleanrl",
                family="control",
                methods={
                    "ppo": _CLEANRL_PPO,
                    "dqn": {**_CLEANRL, "value.loss": "losses/td_loss", "value.mean": "losses/q_values"},
                },
                write=_cleanrl,
                steps_per_row=2048,
            ),
            Trainer(id="rllib", family="control", methods={"ppo": _RLLIB_PPO}, write=_rllib, steps_per_row=4000),
        )
    }
)
SETTINGS: tuple[tuple[str, str], ...] = tuple((t.id, method) for t in TRAINERS.values() for method in t.methods)
