"""Hyperparameter files."""

import pytest

from firstbreak.readers import Unreadable, config_file
from tests.readers.files import file_of, read

ZOO = """!!python/object/apply:collections.OrderedDict
- - - learning_rate
    - lin_0.001
  - - n_timesteps
    - 100000.0
  - - policy_kwargs
    - dict(net_arch=[256, 256])
"""


@pytest.mark.parametrize(
    ("name", "text", "config"),
    [
        ("params.json", '{"lr": 0.1, "model": {"dim": 42}}', {"lr": 0.1, "model.dim": 42}),
        ("training_args.json", '{"beta": NaN}', {"beta": None}),
        ("a2c.ini", "[optim]\nlr = 7e-4\nname = rmsprop\n", {"optim.lr": 7e-4, "optim.name": "rmsprop"}),
        ("dqn.gin", "DQNAgent.gamma = 0.99\n", {"DQNAgent.gamma": 0.99}),
        ("agent.yaml", "optim: {name: adam, lr: 3e-4}\n", {"optim.name": "adam", "optim.lr": "3e-4"}),
        (
            "launch.txt",
            "python -m x --lr 3e-4 --fp16 --out $OUT data.batch=8\n",
            {"data.batch": 8, "lr": 3e-4, "fp16": True},
        ),
        (
            "run_args.txt",
            "[09:41] trainer\n  lr: 0.1  # peak\n  agent.max_turns: 2\n",
            {"lr": 0.1, "agent.max_turns": 2},
        ),
        ("run_ppo.sh", "export N=1\ntorchrun \\\n  t.py \\\n  --gae-lambda=0.9; echo it\n", {"gae_lambda": 0.9}),
        ("run.sh.args", "actor.optim.lr=1e-6\n", {"actor.optim.lr": 1e-6}),
        ("overrides.yaml", "- data.batch=8\n- +trainer.nodes=1\n", {"data.batch": 8, "trainer.nodes": 1}),
        ("hyperparameters.md", "|param|value|\n|-|-|\n|gamma|0.99|\n", {"gamma": 0.99}),
        ("config.yml", "Reach-v1:\n  n_steps: 8\n", {"env": "Reach-v1", "n_steps": 8}),
        ("config.yaml", "algo:\n  lr: 1.0e-4\nnodes: [1, 2]\n", {"algo.lr": 1e-4, "nodes": [1, 2]}),
        (
            "config.yml",
            ZOO,
            {"learning_rate": "lin_0.001", "n_timesteps": 1e5, "policy_kwargs": "dict(net_arch=[256, 256])"},
        ),
        ("args.yml", "a: !!python/tuple [1, 2]\nb: !!python/name:os.system\n", {"a": [1, 2], "b": ""}),
        (
            "rl.toml",
            "seed = 1\n[trainer]\nlr = 1e-6\nbetas = [0.9, 0.99]\n",
            {"seed": 1, "trainer.lr": 1e-6, "trainer.betas": [0.9, 0.99]},
        ),
        ("run_settings.json", '{"lr": 0.1}', {"lr": 0.1}),
        ("qwen-grpo.yaml", "num_generations: 8\n", {"num_generations": 8}),
        ("recipe.yml", "lr: 0.1\n", {"lr": 0.1}),
        (".hydra/config.yaml", "algo: {lr: 0.1}\n", {"algo.lr": 0.1}),
        (
            "config.yaml",
            "gamma: {value: 0.5}\nlr: {desc: rate, value: 0.1}\n_wandb: {value: {t: 1}}\n",
            {"gamma": 0.5, "lr": 0.1},
        ),
        ("hparams.yaml", "base: &b {lr: 1}\nrun:\n  <<: *b\n  n: 2\n", {"base.lr": 1, "run.lr": 1, "run.n": 2}),
    ],
)
def test_values_by_dotted_names(name: str, text: str, config: dict[str, object]):
    recording = read(config_file, text, name)
    assert repr(recording.config).replace("nan", "None") == repr(config)
    assert not recording.curves


def test_python_tags_build_nothing(tmp_path):
    marker = tmp_path / "marker"
    text = f"a: !!python/object/apply:os.mkdir [{str(marker)!r}]\nb: !!python/object/new:os.system [true]\n"
    assert read(config_file, text, "config.yaml").config == {"a": [str(marker)], "b": [True]}
    assert not marker.exists()


@pytest.mark.parametrize(
    "name",
    [
        "tokenizer_config.json", "hydra.yaml", "metrics.json", "dataset.yaml", "config.txt", "train.txt", "train.json",
        "mkdocs.yml", "pyproject.toml",
    ],
)  # fmt: skip
def test_files_of_other_names_are_left_alone(name: str):
    with file_of("{}", name) as path:
        assert not config_file.sniff(path, b"{}")


LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 10)}]\n" for i in range(1, 10)
)
MERGES = "m0: &m0 {x: 1}\n" + "".join(f"m{i}: &m{i}\n  <<: [{', '.join([f'*m{i - 1}'] * 10)}]\n" for i in range(1, 10))


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("config.yaml", LAUGHS, "aliases are followed"),
        ("config.yaml", MERGES, "aliases are followed"),
        ("config.yaml", "a: &a [*a]\n", "aliases are followed"),
        # a library may have raised the limit of recursion, and then the parser gets to the end of the text
        pytest.param("config.yaml", "a: " + "[" * 3000, "nested too deeply|no YAML", marks=pytest.mark.slow),
        ("config.yaml", "a: [1\nb: 2\n", "no YAML"),
        ("config.yaml", "just text\n", "no hyperparameters"),
        ("config.yaml", "", "no hyperparameters"),
        ("params.json", '{"a": ' * 100_000, "cannot be read"),
        ("params.json", '{"a": 1', "cannot be read"),
        ("params.json", "[1]", "no hyperparameters"),
        ("config.yaml", "a: \x01\n", "cannot be read"),
        ("config.yaml", "? [a, b]\n: 1\n", "cannot be read|no YAML"),
        ("rl.toml", "a = [1\n", "cannot be read"),
        ("rl.toml", "a = " + "[" * 100_000, "nested too deeply|cannot be read"),
        ("rl.toml", "\xff = 1", "cannot be read"),
        ("config.yaml", "x" * (5 << 20), "larger than"),
    ],
)
def test_bad_files_end_in_one_line(name: str, text: str, problem: str):
    with file_of(text, name) as path, pytest.raises(Unreadable, match=problem) as caught:
        config_file.read(path)
    assert "\n" not in str(caught.value)
