"""`firstbreak record -- COMMAND`: what the command starts is looked at, in processes of its own, and runs as it would without."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import firstbreak
from firstbreak.live import hooks
from tests.command import FIRSTBREAK
from tests.recorder.trainers_code import TRACKERS, needs_tracker, proved

ROOT = Path(__file__).parent.parent.parent


def record(folder: Path, *command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `firstbreak record` in a process of its own."""
    start = [*FIRSTBREAK, "record", "-o", str(folder), "--"]
    path = os.pathsep.join([environment.pop("first", ""), str(ROOT / "src"), str(ROOT), str(TRACKERS)])
    env = {**os.environ, "PYTHONPATH": path.strip(os.pathsep), **environment}
    return subprocess.run([*start, *command], capture_output=True, text=True, env=env, cwd=ROOT, check=False)


def written(folder: Path, text: str) -> str:
    script = folder / "script.py"
    script.write_text(textwrap.dedent(text))
    return str(script)


#: verl's own estimator in a process of its own, its result turned round by the script where an argument says so
VERL = """
    import sys

    from tests.recorder.trainers_code import absent
    from tests.recorder.test_verl import NEEDS, Driver, batch, modules

    absent(NEEDS)
    verl = modules()
    if "turned" in sys.argv:
        right = verl.core.compute_grpo_outcome_advantage

        def turned(*given, **named):
            advantages, returns = right(*given, **named)
            return -advantages, returns

        verl.core.compute_grpo_outcome_advantage = turned
    driver = Driver()
    for seed in range(3):
        print(float(driver.step(verl, batch(verl, seed), "grpo").batch["advantages"].abs().sum()))
    sys.exit(7)
"""


@pytest.mark.thorough
@pytest.mark.trainer
def test_verl_in_a_process_of_its_own_is_recorded_and_gives_what_it_gives_without(tmp_path: Path) -> None:
    needs_tracker("verl")
    script = written(tmp_path, VERL)
    sound, broken = tmp_path / "sound", tmp_path / "broken"
    with_it = record(sound, sys.executable, script)
    assert with_it.returncode == 7, with_it.stderr
    assert firstbreak.read(sound).series["proof.advantage_error"].steps.tolist()[:2] == [
        1,
        2,
    ]  # later ones if there is time
    assert proved(sound) == set()
    without = subprocess.run(
        [sys.executable, script],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT / "src"), str(ROOT), str(TRACKERS)])},
        check=False,
    )
    assert (without.returncode, without.stdout) == (7, with_it.stdout)
    record(broken, "sh", "-c", f"{sys.executable} {script} turned")  # a process that a process starts
    assert proved(broken) == {"advantages-negated"}


def test_a_command_that_knows_no_trainer_runs_as_it_would_without(tmp_path: Path) -> None:
    script = written(tmp_path, "import sys; print(sys.argv[1:]); sys.stderr.write('said'); sys.exit(3)")
    done = record(tmp_path / "run", sys.executable, script, "--steps", "5", "-o", "x")
    assert (done.returncode, done.stdout, done.stderr) == (3, "['--steps', '5', '-o', 'x']\n", "said")
    assert not (tmp_path / "run").exists()


def test_a_sitecustomize_of_ones_own_runs_as_well(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text("import os; 'FIRSTBREAK_RECORDER' in os.environ and print('mine')")
    done = record(tmp_path / "run", sys.executable, "-c", "print('script')", first=str(tmp_path))
    assert done.stdout == "mine\nscript\n"


def test_a_trainer_that_cannot_be_recorded_trains_and_says_so(tmp_path: Path) -> None:
    """An interpreter without firstbreak's packages, here: a package of its name that has nothing in it."""
    for name in ("firstbreak", "verl"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
    done = record(tmp_path / "run", sys.executable, written(tmp_path, "import verl; print('trained')"))
    assert (done.returncode, done.stdout) == (0, "trained\n")
    assert done.stderr.startswith("firstbreak: verl is not recorded: ModuleNotFoundError")


def test_a_command_that_is_not_there_is_said_in_one_line(tmp_path: Path) -> None:
    done = record(tmp_path / "run", "no-such-command")
    assert done.returncode == 2
    assert "no-such-command: no such command" in done.stderr


def test_processes_that_ray_starts_get_what_is_needed(tmp_path: Path) -> None:
    hooked = """
        import json
        from firstbreak.live.recorder.start import in_ray
        print(json.dumps(in_ray({"env_vars": {"MINE": "1"}, "working_dir": None})))
    """
    done = record(tmp_path / "run", sys.executable, written(tmp_path, hooked))
    made = json.loads(done.stdout)
    assert made["working_dir"] is None
    assert made["env_vars"]["MINE"] == "1"
    assert made["env_vars"]["FIRSTBREAK_RECORDER"] == str(tmp_path / "run")
    assert made["env_vars"]["PYTHONPATH"].partition(os.pathsep)[0] == str(hooks.FOLDER)
