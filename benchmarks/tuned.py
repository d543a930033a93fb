"""The settings of RL Zoo and CleanRL for a task, in canonical names: src/firstbreak/engine/published_settings.csv.

    pip download --no-deps rl-zoo3 -d FOLDER && unzip FOLDER/rl_zoo3-*.whl -d FOLDER
    git clone https://github.com/vwxyzjn/cleanrl
    python -m benchmarks.tuned --zoo FOLDER --cleanrl cleanrl

Numbers and their place only: one row for an algorithm and a task, with the file that says so. Both projects are under the MIT
license. RL Zoo has a file for each algorithm with its tasks (`atari`: all of Atari); CleanRL has a script for each algorithm and
kind of task, whose arguments have the settings of its benchmark as defaults, here under the script's own task.
"""

from __future__ import annotations

import argparse
import ast
import csv
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from firstbreak.dialects import cleanrl, sb3
from firstbreak.dialects.hyperparameters import canonical_config
from firstbreak.engine.published_settings import COMPARED, TABLE
from firstbreak.model import Config

#: CleanRL's scripts for one machine and one policy, with a plain dataclass of arguments
SCRIPTS = (
    "c51", "c51_atari", "ddpg_continuous_action", "dqn", "dqn_atari", "ppo", "ppo_atari", "ppo_continuous_action",
    "rainbow_atari", "rpo_continuous_action", "sac_atari", "sac_continuous_action", "td3_continuous_action",
)  # fmt: skip

#: a random search, a buffer for several algorithms, and a policy with memory
LEFT_OUT = frozenset({"ars", "her", "ppo_lstm"})

Row = tuple[str, str, str, str, str]


def zoo(folder: Path) -> Iterator[Row]:
    """RL Zoo's tasks."""
    source = "RL Zoo " + next(folder.glob("rl_zoo3-*.dist-info")).stem.removeprefix("rl_zoo3-")
    for file in sorted((folder / "rl_zoo3" / "hyperparams").glob("*.yml")):
        if file.stem in LEFT_OUT:
            continue
        method = str(sb3.algorithm(set(), {"algo": file.stem}))
        for task, options in yaml.safe_load(file.read_text("utf-8")).items():
            if task != "default":
                settings = written(canonical_config({"algo": file.stem, **options}, sb3))
                yield source, f"hyperparams/{file.name}", method, task, settings


def clean(folder: Path) -> Iterator[Row]:
    """CleanRL's scripts."""
    commit = subprocess.check_output(["git", "-C", str(folder), "rev-parse", "--short=7", "HEAD"], text=True).strip()
    for script in SCRIPTS:
        place = f"cleanrl/{script}.py"
        text = subprocess.check_output(["git", "-C", str(folder), "show", f"HEAD:{place}"], text=True)
        options = arguments(text)
        task = "atari" if script.endswith("atari") else str(options["env_id"])
        options |= {name: value for name, value in products(options).items() if options.get(name) == 0}
        settings = written(canonical_config({"exp_name": script, **options}, cleanrl))
        yield f"CleanRL {commit}", place, script.partition("_")[0], task, settings


def arguments(text: str) -> dict[str, Any]:
    """The defaults of the script's class `Args`."""
    of = next(node for node in ast.parse(text).body if isinstance(node, ast.ClassDef) and node.name == "Args")
    found: dict[str, Any] = {}
    for line in of.body:
        if isinstance(line, ast.AnnAssign) and isinstance(line.target, ast.Name) and line.value is not None:
            value = line.value
            if isinstance(value, ast.Call) and len(value.args) == 1:  # int(1e6)
                value = value.args[0]
            try:
                found[line.target.id] = ast.literal_eval(value)
            except ValueError:
                continue
    return found


def products(options: Mapping[str, Any]) -> dict[str, Any]:
    """What a PPO script computes at its start, and writes as 0 before."""
    if "num_minibatches" not in options:
        return {}
    batch = options["num_envs"] * options["num_steps"]
    return {"batch_size": batch, "minibatch_size": batch // options["num_minibatches"]}


def written(config: Config) -> str:
    """`gamma=0.98 learning_rate=0.001`: the numbers among the compared settings, without the trainer's defaults."""
    stated = ((name, config.number(name)) for name in sorted(COMPARED) if name not in config.defaulted)
    return " ".join(f"{name}={value:.10g}" for name, value in stated if value is not None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--zoo", type=Path, required=True)
    parser.add_argument("--cleanrl", type=Path, required=True)
    given = parser.parse_args()
    rows = [row for row in (*zoo(given.zoo), *clean(given.cleanrl)) if row[-1]]
    with TABLE.open("w", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(("source", "place", "algorithm", "task", "settings"))
        writer.writerows(rows)
    print(f"{TABLE}: {len(rows)} rows")


if __name__ == "__main__":
    main()
