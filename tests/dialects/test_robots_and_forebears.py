"""Trainers of robots and games, and the forebears of today's: what their names, options and printed lines mean."""

from pathlib import Path
from typing import Any

import pytest

from firstbreak import dialects
from firstbreak.dialects import Name
from firstbreak.dialects.hyperparameters import canonical_config
from firstbreak.readers import console
from firstbreak.readers.read import read


@pytest.mark.parametrize(
    ("names", "trainer", "method"),
    [
        ("Loss/value_function|Loss/surrogate|Policy/mean_noise_std|Train/mean_reward", "rsl_rl", "ppo"),
        ("Loss/value|Loss/surrogate|Policy/mean_std|Perf/collection_time", "rsl_rl", "ppo"),
        ("Environment/Cumulative Reward|Losses/Policy Loss|Policy/Beta|Policy/Entropy", "mlagents", "ppo"),
        ("Environment/Cumulative Reward|Losses/Q1 Loss|Policy/Continuous Entropy Coeff", "mlagents", "sac"),
        ("eprewmean|eplenmean|loss/approxkl|misc/nupdates", "baselines", "ppo"),
        ("ep_reward_mean|ep_len_mean|approxkl|serial_timesteps", "baselines", "ppo"),
        ("steps|episodes|mean 100 episode reward|% time spent exploring", "baselines", "dqn"),
        ("EpRewMean|EpLenMean|EpThisIter|ev_tdlam_before|meankl", "baselines", "trpo"),
        ("test/success_rate|test/mean_Q|stats_o/mean|train/success_rate|epoch", "baselines", "ddpg"),
        ("AverageReturn|NumTrajs|Entropy|MeanKL|Iteration", "garage", "trpo"),
        ("Evaluation/AverageReturn|Evaluation/NumEpisodes|GaussianMLPPolicy/KL|TotalEnvSteps", "garage", None),
        ("evaluation/Average Returns|trainer/QF1 Loss|trainer/Log Pis Mean|Epoch", "rlkit", "sac"),
        ("sim/train/return|sim/train/length|sim/episodes", "dreamer", "dreamer"),
        ("train/return|train/length|episodes", "dreamer", "dreamer"),
        ("train_return|train_length|eval_return|actor_entropy|kl", "dreamer", "dreamer"),
        ("test/reward|test/reward_std|test/length|test/length_std|test/env_step", "tianshou", None),
        ("return_mean|ep_length_mean|q_taken_mean|td_error_abs|grad_norm", "pymarl", "dqn"),
        ("act_loss|cri_loss|unsuper_loss|ppo_ep|average reward score", "deepspeed_chat", "ppo"),
        ("chosen_last_scores (higher is better)|acc (higher is better)", "deepspeed_chat", "reward"),
        ("return_mean|test_ep_length_mean|agent_grad_norm|pg_loss|pi_max", "pymarl", None),
    ],
)
def test_a_trainer_and_its_algorithm(names: str, trainer: str, method: str | None) -> None:
    logged = names.split("|")
    dialect = dialects.choose(logged, {})
    assert dialects.trainer_name(dialect) == trainer
    assert dialects.algorithm(dialect, logged, {}) == method


@pytest.mark.parametrize(
    ("trainer", "raw", "signal", "scale"),
    [
        ("rsl_rl", "Train/mean_reward", "reward.mean", 1.0),
        ("rsl_rl", "Episode_Reward/track_lin_vel_xy_exp", "reward.component.track_lin_vel_xy_exp.mean", 1.0),
        ("rsl_rl", "Episode/rew_torques", "reward.component.torques.mean", 1.0),
        ("rsl_rl", "Loss/entropy", "policy.entropy", 1.0),
        ("mlagents", "Policy/Curiosity Reward", "reward.component.Curiosity.mean", 1.0),
        ("mlagents", "Policy/Epsilon", "policy.clip_range", 1.0),
        ("baselines", "% time spent exploring", "epsilon", 0.01),
        ("baselines", "rollout/return_history", "reward.mean", 1.0),
        ("baselines", "rollout/return", "reward.mean@since the start", 1.0),
        ("baselines", "loss/approxkl", "kl.old.k2", 1.0),
        ("garage", "LinearFeatureBaseline/ExplainedVariance", "value.explained_variance", 1.0),
        ("rlkit", "trainer/Log Pis Mean", "policy.entropy", -1.0),
        ("pymarl", "return_mean", "reward.mean", 1.0),
        ("pymarl", "test_return_mean", "eval.reward", 1.0),
        ("pymarl", "test_battle_won_mean", "eval.success_rate", 1.0),
        ("pymarl", "agent_0_return_mean", "reward.mean@agent0", 1.0),
        ("dreamer", "sim/train/return", "reward.mean", 1.0),
        ("dreamer", "sim/test/length", "eval.episode_length", 1.0),
        ("deepspeed_chat", "average reward score", "reward.mean", 1.0),
        ("deepspeed_chat", "act_loss", "policy.loss", 1.0),
        ("deepspeed_chat", "acc (higher is better)", "eval.pref.reward.accuracy", 1.0),
        ("tianshou", "test/length_std", "eval.episode_length.std", 1.0),
    ],
)
def test_a_name_with_its_sign_and_scale(trainer: str, raw: str, signal: str, scale: float) -> None:
    found = dialects.translate(raw, dialects.dialects()[trainer])
    assert isinstance(found, Name)
    assert (found.signal, found.scale) == (signal, scale)


def test_a_copy_over_seconds_does_not_lengthen_a_run_of_iterations() -> None:
    dialect = dialects.dialects()["rsl_rl"]
    assert dialects.translate("Train/mean_reward/time", dialect) is None
    assert "seconds" in str(dialects.not_converted("Train/mean_reward/time", dialect))


def meanings(trainer: str, names: set[str]) -> dict[str, str]:
    return {raw: name.signal for raw, name in dialects.understand(names, dialects.dialects()[trainer]).items()}


def test_the_score_of_self_play_is_the_rating() -> None:
    alone = meanings("mlagents", {"Environment/Cumulative Reward"})
    assert alone["Environment/Cumulative Reward"] == "reward.mean"
    scores = {"Environment/Cumulative Reward", "Environment/Group Cumulative Reward", "Self-play/ELO"}
    played = meanings("mlagents", scores)
    assert played["Self-play/ELO"] == "eval.reward"
    assert "reward.mean" not in played.values()


def test_the_divergence_of_a_world_model_is_none_of_the_policy() -> None:
    assert "kl" not in meanings("dreamer", {"kl", "train_return", "train_length"})


def test_a_plain_length_is_that_of_an_episode_beside_what_only_environments_have() -> None:
    played = meanings("generic", {"Episode", "Reward_Mean", "Length_Mean", "test/length"})
    assert (played["Length_Mean"], played["test/length"]) == ("episode.length", "eval.episode_length")
    assert meanings("generic", {"reward", "length", "kl"})["length"] == "length.mean"


def test_imitation_is_scored_by_the_environment() -> None:
    found = meanings("baselines", {"EpRewMean", "EpTrueRewMean"})
    assert found == {"EpTrueRewMean": "reward.mean", "EpRewMean": "reward.shaped.mean"}


def test_methods_of_stable_baselines_2_use_one_name_for_several_things() -> None:
    names = {"loss/entropy_loss", "loss/clip_factor", "loss/value_function_loss", "loss/approximate_kullback-leibler"}
    ppo2 = meanings("baselines", names | {"input_info/old_value_pred"})
    assert (ppo2["loss/entropy_loss"], ppo2["loss/clip_factor"]) == ("policy.entropy", "policy.clip_fraction")
    assert meanings("baselines", names)["loss/entropy_loss"] == "custom.loss/entropy_loss"
    trpo = meanings("baselines", names - {"loss/clip_factor"} | {"input_info/kl_clip_range"})
    assert trpo["loss/approximate_kullback-leibler"] == "kl.old"


def test_scores_of_chainerrl_are_evaluations() -> None:
    found = meanings("generic", {"steps", "elapsed", "mean", "median", "stdev", "max", "average_value", "rlen"})
    assert (found["mean"], found["stdev"], found["average_value"]) == ("eval.reward", "eval.reward.std", "value.mean")


def test_garage_calls_its_training_batch_evaluation_where_it_is_on_policy() -> None:
    assert meanings("garage", {"Evaluation/AverageReturn"}) == {"Evaluation/AverageReturn": "reward.mean"}
    replayed = meanings("garage", {"Evaluation/AverageReturn", "QF/Qf1Loss"})
    assert replayed["Evaluation/AverageReturn"] == "eval.reward"


@pytest.mark.parametrize(("kind", "memory", "batch"), [("ppo", None, 40960), ("sac", 40960, None)])
def test_the_buffer_of_ml_agents_is_a_batch_or_a_memory(kind: str, memory: int | None, batch: int | None) -> None:
    options: dict[str, Any] = {"trainer_type": kind, "hyperparameters": {"batch_size": 1024, "buffer_size": 40960}}
    config = canonical_config({"behaviors": {"Walker": options}}, dialects.dialects()["mlagents"])
    assert (config.get("buffer_size"), config.get("batch_size"), config.get("minibatch_size")) == (memory, batch, 1024)


def block(iteration: int, reward: float) -> str:
    return f"""{"#" * 80}
                      Learning iteration {iteration}/1500

                       Computation: 13895 steps/s (collection: 6.968s, learning 0.107s)
             Mean action noise std: 1.00
          Mean value_function loss: 0.0511
               Mean surrogate loss: -0.0142
                       Mean reward: {reward:.2f}
               Mean episode length: 21.25
Episode_Reward/track_lin_vel_xy_exp: 0.0263
{"-" * 80}
                   Total timesteps: {98304 * (iteration + 1)}
                    Iteration time: 7.07s
"""


def test_the_console_of_rsl_rl_counts_iterations(tmp_path: Path) -> None:
    path = tmp_path / "train.log"
    path.write_text("".join(block(i, i - 2.5) for i in range(12)))
    run = read(path)
    assert (run.trainer, run.algorithm) == ("rsl_rl", "ppo")
    reward = run.series["reward.mean"]
    assert reward.steps.tolist() == list(range(12))
    assert reward.values.tolist() == [i - 2.5 for i in range(12)]
    assert run.series["time.iteration"].values[0] == 7.07


def test_a_summary_line_of_ml_agents_ends_each_number_with_a_full_stop(tmp_path: Path) -> None:
    path = tmp_path / "console.log"
    lines = [
        "INFO:mlagents.trainers: run-0: Ball: Step: 12000. Time Elapsed: 13.570 s Mean Reward: 2.254. "
        "Std of Reward: 0.691. Training.",
        "[INFO] Ball. Step: 24000. Time Elapsed: 27.375 s. Mean Reward: 3.5. Std of Reward: 0.75. Training.",
        "[INFO] Ball. Step: 36000. Time Elapsed: 40.1 s. No episode was completed since last summary. Training.",
    ]
    path.write_text("\n".join(lines) + "\n")
    run = read(path)
    assert run.trainer == "mlagents"
    assert run.series["reward.mean"].steps.tolist() == [12000, 24000]
    assert run.series["reward.mean"].values.tolist() == [2.254, 3.5]
    assert run.series["reward.std"].values.tolist() == [0.691, 0.75]


def test_a_table_after_a_long_preamble_is_found(tmp_path: Path) -> None:
    path = tmp_path / "out_of_job.txt"
    warnings = "WARNING: this call is deprecated and will be removed in a future version.\n" * 200
    rows = "".join(f"| epoch | {i} |\n| test/success_rate | 0.{i} |\n{'-' * 30}\n" for i in range(1, 9))
    path.write_text(warnings + rows)
    assert console.sniff(path, path.read_bytes()[:4096])
    essay = tmp_path / "essay.txt"
    essay.write_text("Nothing that a trainer would say, though once, reward: 3 is a number.\n" + "Words.\n" * 2000)
    assert not console.sniff(essay, essay.read_bytes()[:4096].replace(b"reward: 3", b""))


def test_evaluations_without_lengths_are_those_of_sb3() -> None:
    names = ["results/mean", "results/std", "results/min", "results/max", "results/count"]
    assert dialects.trainer_name(dialects.choose(names, {})) == "sb3"


PPO_LINES = """
epoch: 0|step: {step}|ppo_ep: 1|act_loss: inf|cri_loss: 0.25|unsuper_loss: 0.0
average reward score: {score}
-----------------------------------------------------------
"""


def test_the_printed_lines_of_deepspeed_chat_are_steps_of_ppo(tmp_path: Path) -> None:
    log = tmp_path / "training.log"
    log.write_text("".join(PPO_LINES.format(step=step, score=step / 2) for step in range(5)))
    run = read(log)
    assert (run.trainer, run.algorithm) == ("deepspeed_chat", "ppo")
    assert run.series["reward.mean"].values.tolist() == [0, 0.5, 1, 1.5, 2]
    assert run.series["reward.mean"].steps.tolist() == [0, 1, 2, 3, 4]
    assert set(run.series["policy.loss"].values) == {float("inf")}
