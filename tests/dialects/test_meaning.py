"""Names that no list holds are read by their words, in the company of the others; a word too many, and nothing is read."""

import pytest

from firstbreak import dialects
from firstbreak.dialects import Origin
from firstbreak.dialects.hyperparameters import canonical_config
from tests.lazy import lazy

benchmarks = lazy("benchmarks")


def read(*names: str) -> dict[str, str]:
    """Raw name -> signal, of these names beside each other, where no trainer is recognised."""
    found = dialects.understand(names, dialects.dialects()["generic"])
    return {name: meaning.signal for name, meaning in found.items()}


@pytest.mark.parametrize(
    ("name", "signal"),
    [
        ("reward_latest", "reward.mean"),
        ("train/reverse_kl", "distill.reverse_kl"),
        ("mean_teacher_logprob", "policy.logp.teacher"),
        ("mean_advantage_magnitude", "advantage.abs.mean"),
        ("n_degenerate_filtered", "filter.dropped"),
        ("EVBefore", "value.explained_variance"),
        ("Total Epi", "progress.episodes"),
        ("elo", "eval.reward"),
        ("value_explained_variance", "value.explained_variance"),
        ("zero_variance_group_frac", "reward.zero_std_frac"),
        ("adv_zero_frac", "advantage.zero_frac"),
        ("max_len_hit_frac", "length.clipped_ratio"),
        ("generation_time_s", "time.rollout"),
        ("repetition_rate", "text.repetition_frac"),
        ("heldout_violation_rate", "eval.text.violation_frac"),
        ("always_refuse_rate", "text.refusal_frac"),
        ("tool_error_rate", "tool.failure_freq"),
        ("frac_truncated", "length.clipped_ratio"),
        ("mean_group_reward_std", "reward.group_std"),
        ("response_len_p95", "length.p95"),
        ("eval/pass@8", "eval.pass_at_k"),
        ("VLoss", "value.loss"),
        ("approxKL", "kl.old"),
        ("grad_scale", "optim.loss_scale"),
        ("total score", "reward.mean"),
        ("ho_em", "eval.accuracy"),
        ("ret20", "reward.mean"),
        ("avg_return_last_100", "reward.mean"),
        ("reward_ma100", "reward.mean"),
        ("max 100 episode reward", "reward.max"),
        ("Average sum of rewards per episode", "reward.mean"),
        ("shared_Reward", "reward.mean"),
        ("IS avg", "policy.ratio.mean"),
        ("KL between old and new distribution", "kl.old"),
        ("Baseline explained", "value.explained_variance"),
        ("EpisodeAveLength", "episode.length"),
        ("Total reward during evaluation", "eval.reward"),
        ("t_gen", "time.rollout"),
        ("r_grp_sd", "reward.group_std"),
        ("answer_ok", "reward.accuracy"),
        ("calls_per_ep", "tool.call_freq"),
        ("tools/wait_s_p95", "tool.runtime.p95"),
        ("Tokens/sec", "throughput.tok_s"),
        ("Lower/Policy_Loss", "policy.loss"),
        ("stability/degenerate_group_rate", "reward.zero_std_frac"),
        ("Train/mean_reward/robot_0", "reward.mean"),
        ("agent_0/policy_loss", "policy.loss"),
        ("eval_mean", "eval.reward"),
        ("vs_random_score", "eval.named.vs_random_score"),
        ("vf_loss_before", "value.loss"),
        ("recompute_logprob_time", "time.recompute_logprob"),
        ("eval_time", "time.eval"),
        ("optimizer_steps", "progress.updates"),
        ("env_train_steps", "progress.env_steps"),
        ("mean_step_reward", "reward.step.mean"),
        ("completions/max_length_terminated", "length.terminated_max"),
        ("group_size", "config.group_size"),
        ("vpredmean", "value.mean"),
        ("advstd", "advantage.std"),
        ("epcount", "progress.episodes"),
        ("policyentropy", "policy.entropy"),
        ("successrate", "success_rate"),
        ("vfn_loss", "value.loss"),
        ("ups", "throughput.updates"),
        ("total_secs", "time.elapsed"),
        ("batching time", "time.batching"),
        ("skipped_groups", "filter.dropped"),
        ("gt_match_rate", "reward.accuracy"),
        ("eval_success_once_mean", "eval.success_rate"),
        ("eval/best_episode_reward", "eval.reward.best"),
        ("Average step rewards", "reward.step.mean"),
        ("round", "progress.iterations"),
    ],
)
def test_words_compose_a_meaning(name: str, signal: str) -> None:
    assert read(name) == {name: signal}


@pytest.mark.parametrize(
    "name",
    [
        "vae_kl", "cost_value_loss", "reward_bound", "grad_norm_clip", "num_valid_things", "kl_target",
        "best_reward_threshold", "world_model/reward_std_head", "opponent/policy_loss", "random/q_loss",
        "stepsize", "time/total",
        "rollout_epochs", "Evaluation/NumEpisodes", "Evaluation/TerminationRate", "eval_avg_wait", "reward_gap",
    ],
)  # fmt: skip
def test_a_word_that_is_not_accounted_for_leaves_the_name_alone(name: str) -> None:
    assert read(name, "reward") == {"reward": "reward.mean"}


@pytest.mark.parametrize("name", ["valid_ratio", "valid_pct"])
def test_a_share_of_what_is_valid_is_no_validation(name: str) -> None:
    assert read(name)[name].startswith("custom.")


def test_an_evaluation_of_what_is_unknown_in_training_is_no_score() -> None:
    assert "eval/Market Return" not in read("eval/Market Return", "Market Return", "Score")
    assert read("eval/gsm8k", "reward")["eval/gsm8k"] == "eval.named.gsm8k"


def test_a_name_without_end_is_no_name() -> None:
    assert read("a/" * 5000 + "b1", "x_before" + "_before" * 5000) == {}


def test_a_sign_that_is_unknown_stays_unknown() -> None:
    assert "mean_entropy_loss" not in read("mean_entropy_loss", "reward")


@pytest.mark.parametrize(
    ("company", "signal"),
    [
        ("ep_ret v_loss pi_loss", "kl.old"),
        ("episode_return value_loss", "kl.old"),
        ("reward completion_length", "kl.ref"),
        ("reward response_length value_loss", "kl.ref"),
        ("kl_ref value_loss response_length", "kl.old"),
    ],
)
@pytest.mark.parametrize("name", ["kl", "mean_kl", "kl_mean"])
def test_the_divergence_is_told_by_the_names_beside_it(name: str, company: str, signal: str) -> None:
    assert read(name, *company.split())[name] == signal


@pytest.mark.parametrize(
    ("names", "name", "signal"),
    [
        ("vf_loss tps eplen eprew", "tps", "throughput.sps"),
        ("completion_length tps reward", "tps", "throughput.tok_s"),
        ("episode IS_max value_loss policy_gradient_loss", "IS_max", "policy.ratio.max"),
        ("episode IS_max q_loss epsilon", "IS_max", "replay.is_weight.max"),
        ("loss reward n_groups q_gen_valid_rate", "loss", "loss.total"),
        ("Reward KL_ref Correct Avg_Len LR", "Avg_Len", "length.mean"),
        ("eval_reward reward_std epsilon", "reward_std", "eval.reward.std"),
        ("eval_reward reward_std reward", "reward_std", "reward.std"),
        ("Episode Score Average_Score Epsilon", "Average_Score", "reward.mean@average"),
        ("Episode Avg Best Epsilon", "Avg", "reward.mean"),
        ("iter reward avg100", "avg100", "reward.mean@average"),
        ("step actor critic ep_rew", "critic", "value.loss"),
        ("agent0_reward agent1_reward", "agent1_reward", "reward.mean@agent1"),
        ("reward_total reward_format reward_correct", "reward_format", "reward.component.format.mean"),
        ("client_loss client_avg_reward round", "client_avg_reward", "reward.mean"),
        ("client_loss client_avg_reward epsilon", "client_loss", "value.loss"),
        ("retmean_idn advmean_idn retmean_nsn advmean_nsn advmean vf_loss eprew", "retmean_nsn", "returns.mean@nsn"),
        ("total_prey_reward avg_prey_reward total_fox_reward avg_fox_reward", "total_fox_reward", "reward.mean@fox"),
    ],
)
def test_names_beside_a_name_say_what_it_is_of(names: str, name: str, signal: str) -> None:
    assert read(*names.split())[name] == signal


@pytest.mark.parametrize(
    "names",
    ["shaped_reward_x true_reward_x loss_x", "ext_reward ext_reward_std", "wm_loss wm_reward", "vae_kl vae_reward"],
)
def test_a_word_that_changes_a_reward_is_no_agent(names: str) -> None:
    assert not {name for name, signal in read(*names.split()).items() if signal.startswith("reward.mean")}


def test_a_unit_scales_the_number() -> None:
    found = dialects.understand(["learn_time_ms", "truncated_pct"], dialects.dialects()["generic"])
    assert (found["learn_time_ms"].signal, found["learn_time_ms"].scale) == ("time.train", 0.001)
    assert (found["truncated_pct"].signal, found["truncated_pct"].scale) == ("length.clipped_ratio", 0.01)


def test_a_part_of_the_reward_needs_the_whole_beside_it() -> None:
    assert read("politeness_reward", "reward_mean")["politeness_reward"] == "reward.component.politeness.mean"
    assert "politeness_reward" not in read("politeness_reward", "loss")
    assert read("col_rew_mean", "reward")["col_rew_mean"] == "reward.component.col.mean"
    assert (
        read("r1_int_reward_func std", "reward")["r1_int_reward_func std"] == "reward.component.r1_int_reward_func.std"
    )
    both = read("reward_step_reward_func", "reward")["reward_step_reward_func"]
    assert both == "reward.component.step_reward_func.mean"  # as TRL calls that function


def test_the_accuracy_of_a_discriminator_makes_no_language_model() -> None:
    names = ("kl", "agent acc", "demo acc", "num episodes", "policy loss", "value loss")
    assert read(*names)["kl"] == "kl.old"


def test_the_bars_of_tianshou_are_known() -> None:
    names = ["loss/clip", "loss/ent", "loss/vf", "n/ep", "n/st", "rew", "len", "test_reward"]
    dialect = dialects.choose(names, {})
    found = dialects.understand(names, dialect)
    assert dialects.trainer_name(dialect) == "tianshou"
    assert (found["loss/ent"].signal, found["test_reward"].signal) == ("policy.entropy", "eval.reward")


def test_a_reading_says_that_it_is_one() -> None:
    found = dialects.understand(["kl_vs_sft", "approx_kl"], dialects.dialects()["generic"])
    assert found["kl_vs_sft"].origin is Origin.WORDS
    assert found["approx_kl"].origin is Origin.DIALECT


def test_two_names_of_half_of_all_loops_make_no_trainer() -> None:
    assert dialects.trainer_name(dialects.choose(["loss", "grad_norm", "learning_rate", "mean_reward"], {})) is None
    assert dialects.trainer_name(dialects.choose(["loss", "grad_norm", "learning_rate", "epoch"], {})) == "trl"


@pytest.mark.parametrize("part", benchmarks.names.PARTS)
def test_nine_of_ten_names_of_strangers_are_understood_and_hardly_one_is_misread(part: str) -> None:
    verdicts = [v for v in benchmarks.names.judge(benchmarks.names.rows()) if v.row.part == part]
    measured = benchmarks.names.figures(verdicts)
    assert measured["with_a_signal"] >= 50
    assert measured["understood_share"] >= 0.9
    assert measured["wrong_share"] <= 0.02


def test_an_abbreviation_is_what_its_brackets_say() -> None:
    generic = dialects.dialects()["generic"]
    assert generic.translate("rg (Success)").signal == "success_rate"
    assert generic.translate("yaw (deg)") is None
    assert dialects.translate("Epoch_reward", generic).signal == "reward.mean"


@pytest.mark.parametrize(
    ("names", "signals"),
    [
        (
            ("ratio_mean/e0_mb0", "ratio_mean/last", "clip_frac/first_minibatch"),
            ("policy.ratio.mean@first_minibatch", "policy.ratio.mean", "policy.clip_fraction@first_minibatch"),
        ),
        (("pi", "V", "H"), ("policy.loss", "value.loss", "policy.entropy")),
        (("pg", "bl", "gn"), ("policy.loss", "value.loss", "grad.norm")),
        (("gen_v", "u", "q"), ("policy_version.mean", None, "custom.q")),
        (
            ("return_std", "ep_return_mean", "adv_std", "value_mean", "value_loss", "explained_variance"),
            ("returns.std", "reward.mean", "advantage.std", "value.mean", "value.loss", "value.explained_variance"),
        ),
        (("actor_wver", "ent"), ("policy_version.mean", "policy.entropy")),
        (("sampling/logp_diff_mean", "kl_ref"), ("rollout_train.logp_absdiff.mean", "kl.ref")),
        (("actor_v_min", "v", "lag"), ("policy_version.min", "policy_version.train", "staleness.mean")),
        (("kl_mu_pi", "ret_tgt_max", "amp_scale"), ("behave.kl", "returns.max", "optim.loss_scale")),
        (("scale", "skipped", "win_rate_vs_random"), ("optim.loss_scale", None, "eval.named.win_rate_vs_random")),
        (("winrate_vs_latest_pool", "eval/result_0", "eval_num_episodes"), (None, None, None)),
        (("rollout/return", "rollout/len", "wall_h"), ("reward.mean", "episode.length", "time.elapsed")),
        (("reward", "buf_reward", "transitions/reward"), ("reward.mean", None, None)),
        (("env_steps", "terminated", "truncated"), ("progress.env_steps", "custom.terminated", "custom.truncated")),
        (("ep_reward", "batch_reward_mean"), ("reward.mean", "reward.step.mean")),
        (("steps/s", "env_steps/s", "update/s"), ("throughput.sps", "throughput.sps", "time.train")),
        (("alpha", "eps", "greedy"), ("custom.alpha", "epsilon", None)),
        (("loss", "acc", "chosen_reward"), ("pref.loss", "pref.reward.accuracy", "pref.reward.chosen")),
        (
            ("loss", "accuracy", "reward_accuracy", "tokens"),
            ("loss.total", "reward.accuracy", "reward.accuracy", "tokens.total"),
        ),
        (("reward/loss", "reward/accuracy", "acc"), ("rm.loss", "rm.accuracy", "rm.accuracy")),
        (("loss", "epsilon", "buffer_size"), ("value.loss", "epsilon", "replay.size")),
        (("loss", "td_loss", "epsilon"), ("loss.total", "value.loss", "epsilon")),
        (("epsilon", "beta", "completion_length"), ("policy.clip_range", "kl.coef", "length.mean")),
        (("throughput", "avg_waiting_time", "episode_reward"), ("custom.throughput", "custom.wait", "reward.mean")),
        (("throughput", "wait_time", "response_len"), ("throughput.tok_s", "time.wait_batch", "length.mean")),
        (("Score", "Total_Reward", "epsilon"), ("score.mean", "reward.mean", "epsilon")),
        (
            ("mean_reward", "mean_return", "mean_advantage", "v_loss"),
            ("reward.mean", "returns.mean", "advantage.mean", "value.loss"),
        ),
        (("rollout/mean_reward", "episodic_return"), ("reward.step.mean", "reward.mean")),
        (
            ("reward", "reward/resp_len", "reward/length"),
            ("reward.mean", "length.mean", "reward.component.length.mean"),
        ),
        (
            ("rewards/advantage_mean", "reward/R_acc_mean", "reward"),
            ("advantage.mean", "reward.component.acc.mean", "reward.mean"),
        ),
        (
            ("rollout/ans_reward", "rollout/format_reward"),
            ("reward.component.ans.mean", "reward.component.format.mean"),
        ),
        (("losses/q1_loss", "losses/q2_loss"), ("value.loss", "value.loss@2")),
        (("duration", "response_len"), ("time.step", "length.mean")),
    ],
)
def test_short_names_of_loops_beside_each_other(names: tuple[str, ...], signals: tuple[str | None, ...]) -> None:
    found = read(*names)
    assert tuple(found.get(name) for name in names) == signals


@pytest.mark.parametrize("section", ["algo", "rl", "rlhf", "method", "ppo_config"])
def test_options_in_the_section_of_the_algorithm_are_read(section: str) -> None:
    recorded = {section: {"kl_coef": 0.02, "epochs_per_batch": 2}, "eval": {"n": 8}}
    values = canonical_config(recorded, dialects.dialects()["generic"]).values
    assert (values["kl_coef"], values["epochs_per_batch"]) == (0.02, 2)
