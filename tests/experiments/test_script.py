"""What can be changed in a script is read from its text, and the section [experiment] is written from it."""

import json
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from firstbreak.cli.experiment import command
from firstbreak.dialects import dialects
from firstbreak.dialects.hyperparameters import HYPERPARAMETERS, canonical_config
from firstbreak.engine.catalogue import catalogue
from firstbreak.experiments.init import NOT_CHANGED, prepare
from firstbreak.experiments.overrides import render
from firstbreak.experiments.settings import parse
from firstbreak.model import Run
from firstbreak.readers import Unreadable
from firstbreak.readers import _script as script
from firstbreak.readers._script import changed, read_script
from tests.command import printed

HEALTHY = str(Path(__file__).parents[1] / "data" / "trl_grpo_healthy")

SCRIPTS = Path(__file__).parent / "scripts"
LATER = Path(__file__).parent / "unseen_scripts"


def section(words: str, home: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads(prepare(words.split(), None, home).toml)["experiment"]
    return found


def test_an_option_is_known_by_the_argument_to_which_the_script_hands_it() -> None:
    made = section("sb3_dqn.py --lr 0.5", SCRIPTS)
    assert made["syntax"] == "flags"
    assert made["options"] == {
        "learning_rate": "lr",
        "minibatch_size": "batch",  # Stable-Baselines3's batch_size is one optimizer step
        "total_steps": "steps",
        "gamma": "discount",
        "seed": "seed",
        "eval_interval": "eval-every",
    }
    assert made["now"]["learning_rate"] == 0.5  # as given, and not the default
    assert made["now"]["gamma"] == 0.99


@pytest.mark.parametrize(
    ("words", "syntax", "options"),
    [
        ("verl_like.py", "hydra", {"learning_rate": "actor_rollout_ref.actor.optim.lr", "seed": "seed"}),
        ("cleanrl_ppo.py", "flags", {"learning_rate": "learning-rate", "total_steps": "total-timesteps"}),
        ("zoo_train.py", "zoo", {"total_steps": "--n-timesteps", "seed": "--seed"}),
        ("rllib_ppo.py", "flags", {"learning_rate": "lr", "gamma": "gamma", "total_steps": "stop-iters"}),
        ("sb3_ppo.py", "source", {"gamma": "PPO.gamma", "total_steps": "learn.total_timesteps"}),
        ("sb3_sac.py", "source", {"gamma": "GAMMA", "total_steps": "TOTAL_TIMESTEPS"}),
        ("trl_dpo.py", "source", {"kl_coef": "DPOConfig.beta", "total_steps": "DPOConfig.max_steps"}),
        ("custom_reinforce.py", "source", {"learning_rate": "config.learning_rate", "total_steps": "config.num_updates"}),
        ("absl_sac.py --discount=0.1", "flags", {"gamma": "discount", "learning_rate": "learning_rate"}),
        ("spinup_vpg.py --pi_lr 3.0", "flags", {"learning_rate": "pi_lr", "gamma": "gamma"}),
        ("omega_a2c.py --config omega_configs/a2c.yaml", "hydra", {"gamma": "algo.gamma", "total_steps": "train.iterations"}),
        ("env_variables.py", "source", {"learning_rate": "LR"}),
    ],
)  # fmt: skip
def test_the_frozen_scripts_are_read_without_being_started(words: str, syntax: str, options: dict[str, str]) -> None:
    home = SCRIPTS if (SCRIPTS / words.split()[0]).exists() else LATER
    made = section(words, home)
    assert made["syntax"] == syntax
    assert made["options"].items() >= options.items()
    parse(made, home / "firstbreak.toml")  # what is written can be read


def test_only_a_parser_whose_options_are_not_in_the_text_is_asked_for_help(tmp_path: Path) -> None:
    def started() -> str:
        raise AssertionError("a script without a parser would train")

    for path in SCRIPTS.glob("*.py"):
        if path.name != "trl_grpo.py":
            read_script(path, started)
    text = "  -h, --help  show this\n  --learning_rate LEARNING_RATE, --learning-rate LEARNING_RATE\n  --beta BETA\n"
    found = read_script(SCRIPTS / "trl_grpo.py", lambda: text).options
    assert {"learning_rate", "beta", "letter"} <= found.keys()
    assert "help" not in found


def test_a_copy_of_the_script_has_the_new_values_and_the_place_of_the_original(tmp_path: Path) -> None:
    text = (
        "import os\nHERE = os.path.dirname(__file__)\nLR = 3e-4  # ü\nconfig = {'gamma': 0.9, 'ü': 1}\n"
        "model = PPO('MlpPolicy', make('ü'), learning_rate=LR)\nmodel.learn(10 * 1000)\n"
    )
    values = {"LR": 1e-5, "config.gamma": 0.99, "PPO.ent_coef": 0.01, "learn.total_timesteps": 500}
    copy = changed(text, Path("/home/me/train.py"), values)
    assert copy == (
        "import os\nHERE = os.path.dirname('/home/me/train.py')\nLR = 1e-05  # ü\nconfig = {'gamma': 0.99, 'ü': 1}\n"
        "model = PPO('MlpPolicy', make('ü'), learning_rate=LR, ent_coef=0.01)\nmodel.learn(500)\n"
    )
    with pytest.raises(KeyError, match="NOWHERE"):
        changed(text, Path("train.py"), {"NOWHERE": 1})


@pytest.mark.parametrize(
    ("script", "words", "command"),
    [
        ("cfg = yaml.safe_load(open(sys.argv[1]))", "a.py a.yaml", "{config}"),
        ("cfg = yaml.safe_load(open(sys.argv[1]))", "a.py --config=a.yaml", "--config={config}"),
        (
            "p.add_argument('--config', default='a.yaml')\nc = yaml.safe_load(open(x.config))",
            "a.py",
            "--config {config}",
        ),
    ],
)
def test_a_configuration_file_is_changed_in_a_copy(script: str, words: str, command: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("optim: {lr: 0.1}\nsteps: 50\n")
    (tmp_path / "a.py").write_text(f"{script}\n")
    made = section(words, tmp_path)
    assert (made["syntax"], made["config"]) == ("yaml", "a.yaml")
    assert made["command"].endswith(f" {command}")
    assert made["options"] == {"learning_rate": "optim.lr", "total_steps": "steps"}


def test_what_follows_from_recorded_options_is_no_option(tmp_path: Path) -> None:
    """TRL's GRPO has no `num_mini_batches`: that an update has one minibatch follows from two sizes."""
    sizes = {"per_device_train_batch_size": 64, "generation_batch_size": 64}
    recorded = {"learning_rate": 1e-4, "num_iterations": 1, **sizes}
    run = Run(path=str(tmp_path), trainer="trl", algorithm="grpo", config=canonical_config(recorded, dialects()["trl"]))
    assert run.config.values["minibatches"] == 1
    (tmp_path / "train.py").write_text(
        "from trl import GRPOConfig\nargs = GRPOConfig(learning_rate=1e-4, num_iterations=1)\n"
    )
    options = tomllib.loads(prepare(["train.py"], run, tmp_path).toml)["experiment"]["options"]
    assert "minibatches" not in options
    assert options["minibatch_size"] == "GRPOConfig.per_device_train_batch_size"


def test_what_lies_beside_the_script_is_named_in_full_because_a_trial_starts_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("p.add_argument('--data')\np.add_argument('--lr', default=1)\n")
    (tmp_path / "my data.txt").write_text("x")
    made = prepare(["torchrun", "--nproc", "2", "train.py", "--data", "my data.txt"], None, tmp_path)
    settings = parse(tomllib.loads(made.toml)["experiment"], tmp_path / "firstbreak.toml")
    assert settings.command == (
        "torchrun", "--nproc", "2", str(tmp_path / "train.py"), "--data", str(tmp_path / "my data.txt"), "{overrides}",
    )  # fmt: skip
    assert settings.in_trial
    assert made.lacking[0].startswith('total_steps = "..."')


def test_init_keeps_the_other_sections_and_asks_before_it_replaces_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text("LEARNING_RATE = 0.1\nsteps = 100\n")
    Path("firstbreak.toml").write_text("[thresholds]\na = 1\n")
    first = printed(command, "init", "train.py")
    assert "learning_rate          LEARNING_RATE" in first
    written = tomllib.loads(Path("firstbreak.toml").read_text())
    assert written["thresholds"] == {"a": 1}
    assert written["experiment"]["syntax"] == "source"
    assert CliRunner().invoke(command, ["init", "train.py"]).exit_code == 2
    assert CliRunner().invoke(command, ["init", "--force", "train.py", "--x", "1"]).exit_code == 0
    again = tomllib.loads(Path("firstbreak.toml").read_text())
    assert again["thresholds"] == {"a": 1}
    assert again["experiment"]["command"] == "{python} {config} --x 1"


def test_a_plan_needs_no_file_and_says_what_comes_before_a_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [{"step": i, "reward": 0.1, "kl": 0.001, "entropy": 0.5} for i in range(1, 41)]
    Path("log.jsonl").write_text("\n".join(map(json.dumps, rows)))
    planned = printed(command, "plan", "log.jsonl")
    assert "Next: firstbreak experiment init --run log.jsonl SCRIPT" in planned


def test_a_run_in_which_nothing_is_accused_is_left_alone_unless_experiments_are_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    planned = printed(command, "plan", HEALTHY)
    assert "nothing is accused here" in planned
    assert not [name for name in catalogue() if name in planned]
    assert json.loads(CliRunner().invoke(command, ["plan", HEALTHY, "--json"]).output)["proposals"] == []
    assert "toy-reward" in CliRunner().invoke(command, ["plan", HEALTHY, "--all"]).output


def test_what_is_no_script_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Unreadable, match="names no Python script"):
        prepare(["train.sh"], None, tmp_path)
    (tmp_path / "a.py").write_text("def f(:\n")
    with pytest.raises(Unreadable, match="is not Python"):
        script.read_script(tmp_path / "a.py")


CLICK = """
import click
@click.command()
@click.option('--lr', 'learning_rate', default=1e-3)
@click.option('-n', '--total-steps', type=int, default=100)
@click.option('--discount', default=0.9)
@click.option('--fast/--slow', is_flag=True)
def main(learning_rate, total_steps, discount, fast): train(gamma=discount)
"""
ARGPARSE = """
p = argparse.ArgumentParser()
g = p.add_argument_group('training')
g.add_argument('-lr', type=float, default=1e-3)
g.add_argument('-g', dest='gamma', default=0.9)
g.add_argument('--total_steps', default=int(1e2))
g.add_argument('--fast', action='store_true')
"""
ABSL = """
flags.DEFINE_float('lr', 1e-3, '')
STEPS = flags.DEFINE_integer('total_steps', default=100, help='')
flags.DEFINE_float('gamma', 0.9, '')
"""
FIRE = """
def train(lr=1e-3, *, total_steps=100, gamma=0.9, fast=False): pass
"""
FIRE_CLASS = """
class Trainer:
    def __init__(self, lr=1e-3, gamma=0.9): pass
    def train(self, total_steps=100): pass
    def _hidden(self, epsilon=1): pass
fire.Fire(Trainer)
"""
TYPER = """
app = typer.Typer()
@app.command()
def train(learning_rate: float = typer.Option(1e-3, '--lr'), total_steps: int = 100,
          gamma: Annotated[float, typer.Option(help='discount')] = 0.9): pass
def helper(epsilon=1): pass
app()
"""
FIELDS = """
@dataclass
class Algorithm:
    lr: float = 1e-3
    gamma: float = 0.9
@dataclass
class Settings:
    algo: Algorithm
    total_steps: int = 100
"""
CONSTANTS = """
LR = 1e-3
GAMMA = 0.9
TOTAL_STEPS = 10 * 10
NAME = make()
"""
VARIABLES = """
lr = float(os.environ.get('LR', 1e-3))
gamma = float(os.getenv('GAMMA', '0.9'))
steps = int(os.environ.get('TOTAL_STEPS', 100))
os.environ['WANDB_MODE'] = 'offline'
"""
CLASS_PARSER = """
@dataclass
class Args:
    lr: float = 1e-3
    gamma: float = 0.9
    total_steps: int = 100
args = TrlParser(Args).parse_args()
"""


@pytest.mark.parametrize(
    ("text", "syntax", "names"),
    [
        (CLICK, "flags", ("lr", "total-steps", "discount")),
        (ARGPARSE, "flags", ("-lr", "total_steps", "-g")),
        (ABSL, "flags", ("lr", "total_steps", "gamma")),
        (FIRE + "fire.Fire(train)\n", "flags", ("lr", "total_steps", "gamma")),
        (FIRE + "fire.Fire()\n", "flags", ("lr", "total_steps", "gamma")),
        (FIRE + "Fire({'go': train})\n", "flags", ("lr", "total_steps", "gamma")),
        (FIRE_CLASS, "flags", ("lr", "total_steps", "gamma")),
        (TYPER, "flags", ("lr", "total-steps", "gamma")),
        (FIRE + "typer.run(train)\n", "flags", ("lr", "total-steps", "gamma")),
        (CLASS_PARSER, "flags", ("lr", "total_steps", "gamma")),
        (FIELDS + "c = OmegaConf.merge(OmegaConf.structured(Settings), OmegaConf.from_cli())\n",
         "hydra", ("algo.lr", "total_steps", "algo.gamma")),
        ("base = OmegaConf.create({'algo': {'lr': 1e-3, 'gamma': 0.9}, 'total_steps': 100})\n"
         "c = OmegaConf.merge(base, OmegaConf.from_cli())\n", "hydra", ("algo.lr", "total_steps", "algo.gamma")),
        (FIELDS + "@hydra.main(version_base=None, config_name='config')\ndef main(c): pass\n",
         "hydra", ("algo.lr", "total_steps", "algo.gamma")),
        (CONSTANTS, "source", ("LR", "TOTAL_STEPS", "GAMMA")),
        (VARIABLES, "source", ("LR", "TOTAL_STEPS", "GAMMA")),
    ],
    ids=["click", "argparse", "absl", "fire", "fire-bare", "fire-dict", "fire-class", "typer", "typer-run", "trl-parser",
         "omegaconf", "omegaconf-dict", "hydra", "constants", "environment"],
)  # fmt: skip
def test_a_script_of_any_parser_is_read_with_its_defaults(
    text: str, syntax: str, names: tuple[str, ...], tmp_path: Path
) -> None:
    (tmp_path / "train.py").write_text(text)
    made = section("train.py", tmp_path)
    assert made["syntax"] == syntax
    assert made["options"] == dict(zip(("learning_rate", "total_steps", "gamma"), names, strict=True))
    assert made["now"] == {"learning_rate": 1e-3, "total_steps": 100, "gamma": 0.9}


@pytest.mark.parametrize("spelled", [lambda name: name, lambda name: name.replace("_", "-")], ids=["snake", "kebab"])
@pytest.mark.parametrize("imports", ["", "import trl\n", "import verl\n"])
def test_an_option_spelled_as_the_hyperparameter_is_that_hyperparameter(
    imports: str, spelled: Callable[[str], str], tmp_path: Path
) -> None:
    names = [name for name in HYPERPARAMETERS if name not in NOT_CHANGED and name != "total_epochs"]
    options = "".join(f"p.add_argument('--{spelled(name)}')\n" for name in names)
    (tmp_path / "train.py").write_text(f"{imports}{options}")
    assert section("train.py", tmp_path)["options"] == {name: spelled(name) for name in names}


def test_a_trainers_own_meaning_of_a_name_comes_before_ours(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import stable_baselines3\np.add_argument('--batch_size', default=64)\n")
    assert section("train.py", tmp_path)["options"] == {"minibatch_size": "batch_size"}


def test_an_option_with_one_dash_is_set_as_it_is_spelled(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("p.add_argument('-lr', default=0.1)\np.add_argument('--gamma', default=0.9)\n")
    settings = parse(section("train.py -lr 0.5", tmp_path), tmp_path / "firstbreak.toml")
    assert settings.now == {"learning_rate": 0.5, "gamma": 0.9}
    rendered = render({"learning_rate": 0.01, "gamma": 0.99}, Run(path="run"), settings)
    assert rendered.arguments == ("-lr", "0.01", "--gamma", "0.99")


def test_a_variable_of_the_environment_is_changed_in_a_copy_or_set_before_the_command(tmp_path: Path) -> None:
    text = "import os\nlr = float(os.environ.get('LR', 0.1))\nsteps = int(os.environ['TOTAL_STEPS'])\n"
    (tmp_path / "a.py").write_text(text)
    made = section("LR=0.5 TOTAL_STEPS=40 python a.py", tmp_path)
    assert made["now"] == {"learning_rate": 0.5, "total_steps": 40}
    copy = changed(text, Path("a.py"), {"TOTAL_STEPS": 10, "LR": 0.01})
    assert copy == "import os\nlr = float('0.01')\nsteps = int('10')\n"
    (tmp_path / "a.py").write_text("p.add_argument('--lr', default=1)\n")
    made = section("CUDA_VISIBLE_DEVICES=1 python a.py", tmp_path)
    assert made["command"].startswith("env CUDA_VISIBLE_DEVICES=1 {python}")


@pytest.mark.parametrize("words", [["plan"], ["status"], ["init", "--run"]], ids=" ".join)
def test_two_runs_are_not_taken_for_one(words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for seed in (1, 2):
        said = "".join(f"step {i} reward: {(i * seed * 7919) % 101 / 100} kl: {i * seed / 999}\n" for i in range(40))
        Path(f"try{seed}.log").write_text(said)
    Path("train.py").write_text("steps = 100\n")
    refused = CliRunner().invoke(command, [*words, ".", *(["train.py"] if "init" in words else [])])
    assert isinstance(refused.exception, Unreadable)
    assert "holds 2 runs; name one of try1.log, try2.log" in str(refused.exception)
