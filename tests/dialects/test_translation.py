"""From raw names to signals: trainers recognised, signs turned, words with two meanings told apart by their company."""

from types import ModuleType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak import dialects
from firstbreak.dialects import Name, signals


def dialect(name: str) -> ModuleType:
    return dialects.dialects()[name]


def signal(raw: str, trainer: str) -> str | None:
    found = dialects.translate(raw, dialect(trainer))
    return found.signal if found else None


# --- which trainer ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("names", "trainer"),
    [
        ("Step|Training Loss|reward|reward_std|completion_length|kl", "trl"),
        ("Step|Training Loss|rewards / chosen|rewards / rejected|logps / chosen", "trl"),
        ("loss|grad_norm|learning_rate|reward|reward_std|completions/mean_length|epoch", "trl"),
        ("train/loss|train/reward|train/reward_std|train/completions/clipped_ratio|train/kl", "trl"),
        ("actor/pg_loss|actor/ppo_kl|critic/score/mean|response_length/clip_ratio", "verl"),
        ("train/loss|train/acc|train/loss_mean|train/acc_mean|train/chosen_reward|train/reject_reward", "openrlhf"),
        ("train/loss|train/acc|train/chosen_reward|train/reject_reward|train/lr", "openrlhf"),
        ("rollout/ep_rew_mean|time/total_timesteps|train/approx_kl", "sb3"),
        ("r|l|t", "sb3"),
        ("results/mean|ep_lengths/mean|results/std", "sb3"),
        ("charts/episodic_return|charts/SPS|losses/approx_kl|losses/entropy", "cleanrl"),
        ("environment/episode_return|losses/approx_kl|SPS|agent_steps", "pufferlib"),
        ("episode_reward_mean|episode_len_mean|info/learner/default_policy/learner_stats/kl", "rllib"),
        ("ray/tune/env_runners/episode_return_mean|ray/tune/learners/default_policy/vf_explained_var", "rllib"),
        ("AverageEpRet|LossPi|KL|Entropy|TotalEnvInteracts", "spinningup"),
        ("episode|timestep|reward", "ppo_pytorch"),
        ("value", "td3"),
        ("Value", "dopamine"),
        ("current_steps|total_steps|loss|lr|percentage|elapsed_time", "llamafactory"),
        ("step|epoch|num_tokens|num_loss_tokens|train_mean_nll|learning_rate|test/nll", "tinker"),
        ("Time|Reward|Throughput|Seq. Length|Async Level|Max. Off-Policy Level", "prime_rl"),
        ("reward|loss|kl|entropy", None),
        ("step|loss", None),
        ("episode|reward", None),
        ("", None),
    ],
)
def test_a_trainer_is_recognised_by_names_that_only_it_writes(names: str, trainer: str | None) -> None:
    logged = [name for name in names.split("|") if name]
    assert dialects.trainer_name(dialects.choose(logged, {})) == trainer


def test_options_are_marks_too() -> None:
    assert (
        dialects.trainer_name(dialects.choose(["loss"], {"num_generations": 8, "max_completion_length": 256})) == "trl"
    )
    assert dialects.trainer_name(dialects.choose([], {"n_timesteps": 1e6, "policy_kwargs": "dict()"})) == "sb3"


def test_the_user_may_name_the_trainer() -> None:
    assert dialects.trainer_name(dialects.choose(["r", "l", "t"], {}, "cleanrl")) == "cleanrl"
    with pytest.raises(ValueError, match=r"no trainer is called 'nope'; known: .*verl"):
        dialects.choose([], {}, "nope")


@given(st.sets(st.text(max_size=12), max_size=8))
def test_the_choice_does_not_depend_on_the_order(names: set[str]) -> None:
    forwards = dialects.choose(sorted(names), {})
    assert dialects.choose(sorted(names, reverse=True), {}) is forwards


# --- what a name means -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trainer", "raw", "meaning"),
    [
        # signs and scales
        ("sb3", "train/entropy_loss", Name("policy.entropy", -1.0)),
        ("acme", "loss_policy_entropy", Name("policy.entropy", -1.0)),
        ("spinningup", "AverageLogPi", Name("policy.entropy", -1.0)),
        ("verl", "actor/entropy_loss", Name("policy.entropy", 1.0)),
        ("tianshou", "update/ent_loss/mean", Name("policy.entropy", 1.0)),
        ("cleanrl", "losses/entropy", Name("policy.entropy", 1.0)),
        ("areal", "ppo_actor/update/approx_kl/avg", Name("kl.old.k1", -1.0)),
        ("areal", "ppo_actor/update/behave_approx_kl/avg", Name("behave.kl.k1", -1.0)),
        ("roll", "actor/policykl", Name("kl.old.k1", -1.0)),
        ("trl", "scoring_time_ms", Name("time.reward", 0.001)),
        ("nemo_rl", "train/baseline_reward/pct_0", Name("reward.baseline_zero_frac", 0.01)),
        ("rllib", "timers/learn_time_ms", Name("time.train", 0.001)),
        # names that mislead
        ("trl", "eps", Name("throughput.episodes_per_s")),
        ("trl", "val/clipfrac_avg", Name("value.clip_fraction")),
        ("trl", "objective/kl", Name("kl.ref.seq_sum")),
        ("verl", "actor/pg_clipfrac_lower", Name("policy.clip_fraction.dual")),
        ("verl", "critic/score/mean", Name("reward.mean")),
        ("verl", "actor/lr(1e-4)", Name("lr", 1e-4)),
        ("verl", "critic/kl", Name("kl.ref")),
        ("verl", "timing/gen", Name("time.rollout")),
        ("verl", "test_score/openai/gsm8k", Name("eval.accuracy@openai/gsm8k")),
        ("trl", "Rewards/margins", Name("eval.pref.reward.margin")),
        ("trl", "Runtime", Name("time.eval")),
        ("generic", "dpo_loss", Name("pref.loss")),
        ("sample_factory", "train/ratio_mean", Name("policy.ratio.absdev")),
        ("open_instruct", "objective/kl1_avg", Name("kl.ref.k2")),
        ("open_instruct", "global_step", Name("progress.episodes")),
        ("torchrl", "train/loss_entropy", Name("entropy.loss")),
        ("slime", "rollout/rewards", Name("reward.normalized.mean")),
        # prefixes of loggers
        ("trl", "train/kl", Name("kl.ref")),
        ("trl", "eval_reward", Name("eval.reward")),
        ("trl", "eval/rewards/format/mean", Name("eval.reward.component.format.mean")),
        ("trl", "eval_completions/mean_length", Name("eval.length.mean")),
        ("trl", "rewards / check_answer / std", Name("reward.component.check_answer.std")),
        ("rllib", "ray/tune/evaluation/env_runners/episode_return_mean", Name("eval.reward")),
        ("rllib", "evaluation/episode_reward_max", Name("eval.reward.max")),
        ("rllib", "info/learner/default_policy/learner_stats/entropy", Name("policy.entropy")),
        ("tinker", "test/env/all/reward/total", Name("eval.reward")),
        ("roll", "actor/pg_loss@sum", Name("policy.loss")),
        # parts of a batch
        ("verl", "val-core/openai/gsm8k/reward/mean@8", Name("eval.accuracy@openai/gsm8k")),
        ("verl", "val-core/openai/gsm8k/reward/mean_at_8", Name("eval.accuracy@openai/gsm8k")),
        ("rllib", "learners/prey/entropy", Name("policy.entropy@prey")),
        ("prime_rl", "train/agg/effective/solver/reward/mean", Name("reward.mean")),
        ("prime_rl", "train/math/all/solver/num_turns/p90", Name("turns.p90@math all")),
        ("roll", "math_rule/critic/score/mean", Name("reward.mean@math_rule")),
    ],
)
def test_a_name_with_its_sign_scale_and_part(trainer: str, raw: str, meaning: Name) -> None:
    found = dialects.translate(raw, dialect(trainer))
    assert found is not None
    assert (found.signal, found.scale) == (meaning.signal, meaning.scale)


def test_notes_say_what_changes_the_reading() -> None:
    floor = dialects.translate("ppo_actor/no_eos_ratios/avg", dialect("areal"))
    clamped = dialects.translate("learners/default_policy/vf_loss", dialect("rllib"))
    assert floor is not None
    assert "1 / sequences per rank" in floor.note
    assert clamped is not None
    assert "clamped" in clamped.note


def test_the_four_divergences_never_merge() -> None:
    kinds = {
        "kl.ref": {
            ("trl", "kl"),
            ("verl", "actor/kl_loss"),
            ("verl", "actor/reward_kl_penalty"),
            ("slime", "train/kl_loss"),
        },
        "kl.old": {
            ("verl", "actor/ppo_kl"),
            ("sb3", "train/approx_kl"),
            ("rllib", "learners/default_policy/mean_kl_loss"),
        },
        "rollout_train.kl": {
            ("verl", "rollout_corr/kl"),
            ("openrlhf", "train/vllm_kl"),
            ("prime_rl", "mismatch_kl/all/mean"),
        },
        "behave.kl": {("areal", "ppo_actor/update/behave_approx_kl/avg")},
    }
    for kind, names in kinds.items():
        for trainer, raw in names:
            assert (signal(raw, trainer) or "").startswith(kind), raw


# --- company ---------------------------------------------------------------------------------------------------------


def test_one_word_means_what_its_company_says() -> None:
    def kl(*beside: str) -> str:
        return dialects.understand(["kl", *beside], dialect("trl"))["kl"].signal

    assert kl("reward", "reward_std") == "kl.ref"
    assert kl("rewards/chosen", "rewards/rejected") == "kl.ref_baseline"
    assert kl("reward", "weight_sync_time_s") == "kl.old"

    def mean_reward(*beside: str) -> str:
        return dialects.understand(["mean_reward", *beside], dialect("trl"))["mean_reward"].signal

    assert mean_reward("reward_std", "frac_reward_zero_std") == "reward.mean"  # a loop of the user's own
    assert mean_reward("min_reward", "margin") == "rm.reward.mean"

    def loss(*beside: str) -> str:
        return dialects.understand(["train/loss", *beside], dialect("sb3"))["train/loss"].signal

    assert loss("train/policy_gradient_loss", "train/value_loss") == "loss.total"
    assert loss("rollout/exploration_rate") == "value.loss"


def test_plain_names_beside_each_other() -> None:
    def plain(*names: str) -> dict[str, str]:
        return {raw: name.signal for raw, name in dialects.understand(names, dialect("generic")).items()}

    parts = plain("reward/mean", "reward/std", "reward/correctness", "train/rewards/format")
    assert parts["reward/correctness"] == "reward.component.correctness.mean"
    assert parts["train/rewards/format"] == "reward.component.format.mean"
    assert parts["reward/std"] == "reward.std"
    assert "reward/correctness" not in plain("loss", "reward/correctness")  # of which reward would it be a part?
    assert plain("proxy", "gold") == {"proxy": "reward.mean", "gold": "eval.reward"}
    assert plain("gold", "reward") == {"reward": "reward.mean"}  # what a game pays


def test_a_part_that_stands_alone_is_the_whole() -> None:
    one = ["val-core/openai/gsm8k/reward/mean@1"]
    two = [*one, "val-core/math/reward/mean@1"]
    assert [n.signal for n in dialects.understand(one, dialect("verl")).values()] == ["eval.accuracy"]
    assert {n.signal for n in dialects.understand(two, dialect("verl")).values()} == {
        "eval.accuracy@openai/gsm8k",
        "eval.accuracy@math",
    }


def test_a_part_called_all_is_the_whole() -> None:
    names = [
        "train/agg/all/solver/solved_none",
        "train/math/all/solver/solved_none",
        "train/code/all/solver/solved_none",
    ]
    found = dialects.understand(names, dialect("prime_rl"))
    assert found[names[0]].signal == "reward.solve_none_frac"
    assert found[names[1]].signal == "reward.solve_none_frac@math all"


def test_the_unclamped_value_loss_is_preferred_where_both_are_logged() -> None:
    both = dialects.understand(["vf_loss", "vf_loss_unclipped"], dialect("rllib"))
    assert both["vf_loss_unclipped"].signal == "value.loss"
    assert both["vf_loss"].signal != "value.loss"
    assert dialects.understand(["vf_loss"], dialect("rllib"))["vf_loss"].signal == "value.loss"


# --- what is not understood ------------------------------------------------------------------------------------------


def test_a_number_that_says_nothing_is_refused_with_the_reason() -> None:
    assert signal("rollout/accepted", "areal") is None
    assert "always 1.0" in (dialects.not_converted("rollout/accepted", dialect("areal")) or "")
    assert signal("train/train_runtime", "trl") is None
    assert dialects.not_converted("train/train_runtime", dialect("trl"))
    assert dialects.not_converted("reward", dialect("trl")) is None


@pytest.mark.parametrize("trainer", sorted(dialects.dialects()))
def test_an_unknown_name_stays_unknown(trainer: str) -> None:
    for raw in ("", "zzz", "zzz_quux", "/", "//", "<x>", "qqq-1"):
        assert signal(raw, trainer) is None


def test_plain_names_fill_in_only_where_they_have_one_meaning() -> None:
    assert signal("explained_variance", "trl") == "value.explained_variance"
    assert signal("charts/my_grad_norm", "cleanrl") is None
    assert signal("kl", "cleanrl") is None  # from the reference, or from the old policy?
    assert signal("kl", "generic") == "kl.ref"


@given(st.text(max_size=60), st.sampled_from(sorted(dialects.dialects())))
def test_any_text_can_be_a_name(raw: str, trainer: str) -> None:
    found = dialects.translate(raw, dialect(trainer))
    if found is not None:
        assert signals.lookup(found.signal) is not None
        assert found.scale != 0


_PART = st.sampled_from(
    ["train", "eval", "actor", "critic", "reward", "mean", "max", "loss", "kl", "a", "@", "x/y", "1", "_"]
)


@given(st.lists(_PART, max_size=6).map("/".join), st.sampled_from(sorted(dialects.dialects())))
def test_any_path_can_be_a_name(raw: str, trainer: str) -> None:
    found = dialects.understand([raw], dialect(trainer))
    assert all(signals.lookup(meaning.signal) for meaning in found.values())


# --- plain names -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("raw", "meaning"),
    [
        ("reward", "reward.mean"),
        ("Average Return", "reward.mean"),
        ("episode_reward_mean", "reward.mean"),
        ("return_std", "reward.std"),
        ("meanReward", "reward.mean"),
        ("Loss/policy", "policy.loss"),
        ("policy/loss", "policy.loss"),
        ("loss/train", "loss.total"),
        ("train.loss.value_loss", "value.loss"),
        ("approx_kl", "kl.old"),
        ("kl-ref", "kl.ref"),
        ("val_em", "eval.accuracy"),
        ("optim/lr", "lr"),
        ("reward/total", "reward.mean"),
        ("train/nll", "sft.nll"),
        ("val/nll", "eval.loss"),
        ("val/bpb", "eval.loss"),
        ("test/accuracy", "eval.accuracy"),
        ("reward/eval", "eval.reward"),
        ("eval/return_std", "eval.reward.std"),
        ("max_response_length", "length.max"),
        ("neg_entropy", "policy.entropy"),
        ("grad_norm", "grad.norm"),
        ("max_grad_norm", None),
        ("entropy_loss", None),
        ("gpu_0", None),
        ("the_loss_of_life", None),
    ],
)
def test_plain_names(raw: str, meaning: str | None) -> None:
    assert signal(raw, "generic") == meaning


@pytest.mark.parametrize(
    ("axis", "kind"),
    [
        ("time/total_timesteps", "env_steps"),
        ("timesteps_total", "env_steps"),
        ("TotalEnvInteracts", "env_steps"),
        ("training_iteration", "iteration"),
        ("episode", "episode"),
        ("Epoch", "epoch"),
        ("Step", "step"),
        ("trainer/global_step", "step"),
        ("train/global_step", "step"),
    ],
)
def test_what_a_step_is(axis: str, kind: str) -> None:
    assert dialects.axis_kind(axis) == kind


def test_a_trainer_knows_its_own_axis_better() -> None:
    assert dialects.axis_kind("global_step") == "step"
    assert dialects.axis_kind("global_step", dialect("cleanrl")) == "env_steps"
    assert dialects.axis_kind("Iteration", dialect("dopamine")) == "iteration"


# --- what to tell the user -------------------------------------------------------------------------------------------


def test_how_to_log_what_is_missing() -> None:
    assert "beta > 0" in dialects.how_to_log("trl", "kl.ref")
    assert "EvalCallback" in dialects.how_to_log("sb3", "eval.reward")
    assert "calculate_log_probs" in dialects.how_to_log("verl", "rollout_train.kl.k3")
    assert "critic/vf_loss" in dialects.how_to_log("verl", "value.loss")  # no option: the name itself
    assert dialects.how_to_log(None, "kl.old")
    assert dialects.how_to_log("verl", "action.std") == ""
    assert dialects.how_to_log(None, "reward.std") == ""  # the mean, logged by hand, brings no spread along
    assert dialects.how_to_log("nope", "kl.ref") == ""


def test_what_trainers_call_a_signal() -> None:
    called = dialects.spellings("value.explained_variance")
    assert called["verl"] == ("critic/vf_explained_var",)
    assert "train/explained_variance" in called["sb3"]
    assert "MaxEpRet" in dialects.spellings("reward.max")["spinningup"]
    assert "rewards/<func>/mean" in dialects.spellings("reward.component.<func>.mean")["trl"]
    assert dialects.spellings("nothing.of.the.kind") == {}


@pytest.mark.parametrize(
    ("trainer", "names", "config", "algorithm"),
    [
        ("trl", "reward|reward_std", {}, "grpo"),
        ("trl", "reward_std|mean_reward", {}, "grpo"),
        ("trl", "mean_reward|min_reward|accuracy|margin", {}, "reward"),
        ("trl", "rewards/chosen|logps/chosen", {}, "dpo"),
        ("trl", "rewards/chosen|kl", {}, "kto"),
        ("trl", "ppo/mean_scores", {}, "ppo"),
        ("verl", "critic/score/mean", {"algorithm.adv_estimator": "AdvantageEstimator.GRPO"}, "grpo"),
        ("verl", "critic/score/mean|critic/vf_loss", {}, "ppo"),
        ("sb3", "r|l|t", {"algo": "TQC"}, "tqc"),
        ("sb3", "train/clip_fraction|train/policy_gradient_loss", {}, "ppo"),
        ("sb3", "rollout/exploration_rate", {}, "dqn"),
        ("cleanrl", "charts/SPS", {"exp_name": "sac_continuous_action"}, "sac"),
        ("rllib", "info/learner/default_policy/cur_kl_coeff", {}, "ppo"),
        ("spinningup", "LossPi|ClipFrac", {}, "ppo"),
        ("tinker", "train_mean_nll|num_loss_tokens", {}, "sft"),
        ("tinker", "env/all/reward/total", {}, "grpo"),
        ("generic", "loss", {"algo": "my-GRPO-v2"}, "grpo"),
        ("generic", "loss", {}, None),
    ],
)
def test_the_algorithm(trainer: str, names: str, config: dict[str, str], algorithm: str | None) -> None:
    assert dialects.algorithm(dialect(trainer), names.split("|"), config) == algorithm


def test_canonical_names_are_understood_whoever_writes_them() -> None:
    areal = dialects.dialects()["areal"]
    assert dialects.translate("kl.old.k3", areal) == dialects.Name("kl.old.k3")
    assert dialects.translate("kl.nothing", areal) is None


def test_labels_that_a_reader_adds_are_parts() -> None:
    curves = ["rew[Agent=dqn,seed=1]", "rew[Agent=ppo,seed=1]"]
    found = dialects.understand(curves, dialects.choose(curves, {}))
    assert found[curves[0]].signal == "reward.mean@Agent=dqn,seed=1"
    assert dialects.translate("something[Agent=dqn]", dialects.dialects()["generic"]) is None


@pytest.mark.parametrize("raw", ["Env/Episode_Reward", "environment/reward", "Final Reward", "average_episode_rewards"])
def test_plain_rewards_of_an_environment(raw: str) -> None:
    name = dialects.translate(raw, dialects.dialects()["generic"])
    assert name is not None
    assert name.signal == "reward.mean"
