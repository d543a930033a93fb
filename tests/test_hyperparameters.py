"""A recorded configuration in canonical names, whichever trainer wrote it."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak import dialects
from firstbreak.dialects.hyperparameters import HYPERPARAMETERS, canonical_config, plain
from firstbreak.model import Config
from tests.every import every


def config(trainer: str, raw: dict[str, Any], names: tuple[str, ...] = ()) -> Config:
    return canonical_config(raw, dialects.dialects()[trainer], names)


@pytest.mark.parametrize(
    ("recorded", "value"),
    [
        ("2.5e-4", 2.5e-4),
        ("lin_0.0003", 3e-4),
        ("linear_3e-4", 3e-4),
        ("1e6", 1e6),
        ("1_000", 1000.0),
        ("False", False),
        ("true", True),
        ("None", None),
        ("'0.1'", 0.1),
        ("auto_0.1", "auto_0.1"),
        ("MlpPolicy", "MlpPolicy"),
        ("nan", "nan"),
        (3, 3),
        ([1, 2], [1, 2]),
    ],
)
def test_a_recorded_value_as_plain_data(recorded: Any, value: Any) -> None:
    assert plain(recorded) == value


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_a_number_written_as_text_is_that_number(number: float) -> None:
    assert plain(repr(number)) == number


@given(st.text(max_size=30))
def test_any_text_can_be_a_value(text: str) -> None:
    plain(text)


def test_options_of_a_nested_configuration_are_found_by_their_end() -> None:
    nested = {
        "actor_rollout_ref": {
            "actor": {"optim": {"lr": "1e-6"}, "clip_ratio": 0.2, "use_kl_loss": True, "kl_loss_coef": 0.001},
            "rollout": {"n": 8, "temperature": 1.0},
        },
        "critic": {"optim": {"lr": 1e-5}},
        "data": {"train_batch_size": 1024, "max_response_length": 2048},
    }
    found = config("verl", nested)
    assert found.number("learning_rate") == 1e-6
    assert found.number("value_learning_rate") == 1e-5
    assert found.number("kl_coef") == 0.001
    assert found.get("group_size") == 8
    assert found.get("max_new_tokens") == 2048
    assert found.option("learning_rate") == "actor_rollout_ref.actor.optim.lr"
    joined = {
        "actor_rollout_ref.actor.optim.lr": 1e-6,
        "critic.optim.lr": 1e-5,
        "actor_rollout_ref.rollout.n": 8,
        "data.max_response_length": 2048,
    }
    for name in ("learning_rate", "value_learning_rate", "group_size", "max_new_tokens"):
        assert config("verl", joined).get(name) == found.get(name)


def test_a_penalty_that_is_switched_off_has_no_weight() -> None:
    off = {"actor_rollout_ref.actor.use_kl_loss": False, "actor_rollout_ref.actor.kl_loss_coef": 0.001}
    assert config("verl", off).number("kl_coef") == 0.0
    in_reward = {"algorithm.use_kl_in_reward": True, "algorithm.kl_ctrl.kl_coef": 0.02, **off}
    assert config("verl", in_reward).number("kl_coef") == 0.02
    assert config("skyrl", {"trainer.algorithm.use_kl_loss": False}).number("kl_coef") == 0.0


def test_defaults_fill_in_and_are_marked() -> None:
    found = config("trl", {"num_generations": 4, "learning_rate": 5e-6})
    assert found.get("group_size") == 4
    assert found.number("kl_coef") == 0.0
    assert "kl_coef" in found.defaulted
    assert "group_size" not in found.defaulted
    assert found.option("kl_coef") == "beta"


def test_defaults_follow_the_version_that_the_log_shows() -> None:
    names = ("reward", "reward_std", "completion_length", "kl")
    assert config("trl", {"num_generations": 4}, names).number("kl_coef") == 0.04
    assert config("trl", {"num_generations": 4}, ("reward", "completions/mean_length")).number("kl_coef") == 0.0
    assert config("trl", {"num_generations": 4, "beta": 0.1}, names).number("kl_coef") == 0.1


def test_defaults_follow_the_algorithm() -> None:
    ppo = config("sb3", {"algo": "ppo"})
    dqn = config("sb3", {"algo": "dqn"})
    assert (ppo.number("learning_rate"), dqn.number("learning_rate")) == (3e-4, 1e-4)
    assert ppo.get("clip_range") == 0.2
    assert dqn.get("clip_range") is None


def test_the_zoo_writes_schedules_and_floats() -> None:
    raw = {"algo": "ppo", "learning_rate": "lin_7e-4", "n_timesteps": 1e6, "n_envs": 8, "n_steps": 32, "batch_size": 64}
    found = config("sb3", {**raw, "n_epochs": 10, "normalize": True})
    assert found.number("learning_rate") == 7e-4
    assert found.get("total_steps") == 1_000_000
    assert isinstance(found.get("total_steps"), int)
    assert found.get("batch_size") == 256
    assert found.get("minibatches") == 4
    assert found.get("updates_per_batch") == 40
    assert found.get("normalize_reward") is True
    assert config("sb3", {"algo": "ppo", "n_timesteps": -1}).get("total_steps") is None


def test_a_batch_is_prompts_times_completions() -> None:
    found = config("slime", {"n_samples_per_prompt": 8, "rollout_batch_size": 32, "global_batch_size": 64})
    assert found.get("batch_size") == 256
    assert found.get("minibatches") == 4
    assert config("slime", {"eps_clip": 0.3}).number("clip_range") == 0.3  # written as --eps-clip on the command line


def test_wandb_wraps_every_option() -> None:
    found = config(
        "cleanrl", {"exp_name": {"value": "ppo"}, "clip_coef": {"value": 0.1}, "num_envs": {"desc": None, "value": 8}}
    )
    assert found.number("clip_range") == 0.1


def test_a_dialect_speaks_of_known_hyperparameters_only() -> None:
    def known(trainer: str) -> None:
        module = dialects.dialects()[trainer]
        named = set(getattr(module, "CONFIG", {}).values())
        named |= {name for defaults in getattr(module, "DEFAULTS", {}).values() for name in defaults}
        assert named - HYPERPARAMETERS.keys() == set()
        filled = canonical_config({}, module)
        assert filled.values.keys() - HYPERPARAMETERS.keys() == set()
        assert filled.defaulted <= filled.values.keys()
        assert set(filled.keys) == set(getattr(module, "CONFIG", {}).values())

    every(dialects.dialects(), known)


@given(
    st.dictionaries(
        st.text(max_size=20),
        st.recursive(
            st.none() | st.booleans() | st.floats() | st.text(max_size=10),
            lambda inner: st.dictionaries(st.text(max_size=8), inner, max_size=3) | st.lists(inner, max_size=3),
            max_leaves=6,
        ),
        max_size=5,
    ),
    st.sampled_from(sorted(dialects.dialects())),
)
def test_any_recorded_configuration_is_read(raw: dict[str, Any], trainer: str) -> None:
    found = config(trainer, raw)
    assert found.raw == raw
    assert all(value is not None for value in found.values.values())


@given(st.sampled_from(sorted(dialects.dialects())), st.data())
def test_an_option_of_any_type_is_read(trainer: str, data: st.DataObject) -> None:
    options = sorted(getattr(dialects.dialects()[trainer], "CONFIG", {}) or {"seed": "seed"})
    values = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6) | st.just([1]) | st.just({})
    config(trainer, data.draw(st.dictionaries(st.sampled_from(options), values, max_size=6)))


GRPO = ("reward", "reward_std", "clip_ratio/region_mean", "completions/mean_length", "train/grad_norm")


@pytest.mark.parametrize(
    ("trainer", "names", "raw", "expected"),
    [
        ("trl", ("reward_std", "train/completion_length"), {}, {"kl_coef": 0.04, "loss_type": "grpo"}),
        ("trl", GRPO, {}, {"kl_coef": 0.04, "temperature": 0.9, "loss_type": "bnpo", "max_new_tokens": 256}),
        ("trl", GRPO, {"beta": 0.01}, {"kl_coef": 0.01, "temperature": 0.9}),
        ("trl", (*GRPO, "frac_reward_zero_std"), {}, {"kl_coef": None, "temperature": 1.0, "loss_type": "bnpo"}),
        ("trl", (*GRPO, "frac_reward_zero_std", "entropy"), {}, {"kl_coef": 0.0, "loss_type": "dapo", "is_cap": 3.0}),
        ("trl", (*GRPO, "weight_sync_time_s"), {}, {"kl_coef": 0.0, "temperature": 1.0}),
        ("verl", ("actor/pg_clipfrac", "actor/entropy"), {}, {"entropy_coef": 0.0, "dual_clip": 3.0, "kl_coef": 0.0}),
        ("verl", ("actor/pg_clipfrac", "actor/entropy_loss"), {}, {"entropy_coef": 0.001, "dual_clip": None}),
        ("verl", ("val/test_score/openai/gsm8k",), {}, {"entropy_coef": 0.001, "kl_in_reward": False}),
        ("verl", ("critic/kl_coeff",), {}, {"entropy_coef": 0.001, "kl_in_reward": True, "kl_coef": 0.001}),
        (
            "verl",
            ("critic/kl_coeff",),
            {"actor_rollout_ref.actor.use_kl_loss": False, "algorithm.kl_ctrl.kl_coef": 0.05},
            {"kl_in_reward": True, "kl_coef": 0.05},
        ),
        ("openrlhf", ("train/kl",), {}, {"clip_range_value": 0.5, "gae_lambda": 1.0, "eval_temperature": 0.6}),
        (
            "openrlhf",
            ("train/total_length", "train/response_length"),
            {},
            {"clip_range_value": None, "max_new_tokens": 1024, "gae_lambda": 1.0},
        ),
        (
            "openrlhf",
            ("perf/experience_maker/generate_time",),
            {},
            {"clip_range_value": 0.2, "gae_lambda": None, "eval_temperature": None},
        ),
        ("areal", (), {"actor": {"behave_imp_weight_mode": "token_mask"}}, {"behave_weight_cap": 5.0}),
        ("areal", (), {"actor": {"group_reward_norm": True}}, {"learning_rate": 2e-5}),
        ("areal", (), {"actor": {"eps_clip": 0.2}}, {"learning_rate": 1e-3, "behave_weight_cap": None}),
        ("sb3", ("rollout/exploration_rate", "time/total_timesteps"), {}, {"learning_starts": 100}),
        ("sb3", ("rollout/exploration_rate", "time/total timesteps"), {}, {"learning_starts": 50_000, "tau": 1.0}),
        ("sb3", ("train/actor_loss", "time/total timesteps"), {}, {"minibatch_size": 100, "gradient_steps": None}),
    ],
)
def test_the_defaults_are_those_of_the_version_that_the_log_shows(
    trainer: str, names: tuple[str, ...], raw: dict[str, Any], expected: dict[str, Any]
) -> None:
    found = config(trainer, raw, names)
    assert {name: found.get(name) for name in expected} == expected


def test_defaults_of_versions_are_hyperparameters() -> None:
    for dialect in dialects.dialects().values():
        for older in getattr(dialect, "OLDER", ()):
            assert older.names or older.options, "nothing tells this version"
            assert {name for table in older.defaults.values() for name in table} <= HYPERPARAMETERS.keys()


def test_options_of_one_word_are_found_in_the_section_of_the_algorithm() -> None:
    found = config("sb3", {"algo": {"gamma": 0.5, "n_steps": 128}, "env": {"gamma": 7}, "policy": {"n_epochs": 3}})
    assert (found.get("gamma"), found.get("n_steps")) == (0.5, 128)
    assert found.get("epochs_per_batch") is None  # `policy` is no section of options
    assert config("sb3", {"gamma": 0.9, "algo": {"gamma": 0.5}}).get("gamma") == 0.9
    assert config("sb3", {"ppo": {"gamma": 0.5}, "sac": {"gamma": 0.9}}).get("gamma") is None  # which one is in force?


def test_a_loop_of_ones_own_calls_its_options_by_usual_names() -> None:
    raw = {"rollout": {"temperature": 0.7, "group_size": 8}, "trainer": {"clip_eps": 0.2, "ppo_epochs": 4}, "lam": 0.95}
    found = config("generic", raw)
    assert {name: found.get(name) for name in ("temperature", "group_size", "clip_range", "epochs_per_batch", "gae_lambda")} == {
        "temperature": 0.7, "group_size": 8, "clip_range": 0.2, "epochs_per_batch": 4, "gae_lambda": 0.95,
    }  # fmt: skip
    dqn = config("generic", {"eps_start": 1.0, "eps_min": 0.05, "target_update_every": 500, "memory_size": 10_000})
    assert (dqn.get("exploration_final"), dqn.get("target_update_interval"), dqn.get("buffer_size")) == (
        0.05,
        500,
        10_000,
    )
