"""Each command with Ctrl-C at random moments, and in surroundings that are not as usual; what `-o` is told to write over."""

import os
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any

from tests.make import write_jsonl

from benchmarks.attack import AttackTally
from firstbreak.evals.ledger import Ledger
from firstbreak.evals.splits import Split, declare

HEARD = partial(
    signal.signal, signal.SIGINT, signal.default_int_handler
)  #: a shell has it ignored in what runs behind it
LONGEST = 10.0  #: seconds until a command has ended after Ctrl-C
GOES_ON = 3.0  #: seconds until Ctrl-C, for commands that go on
WHICH_GO_ON = ("watch", "serve", "record")
PATIENCE = 120.0  #: seconds for the others
#: command -> what it is given
COMMANDS: Mapping[str, str] = {
    "diagnose": "RUN", "diagnose --recursive": "ALL", "inspect": "RUN", "explain": "RUN", "audit": "SAMPLES",
    "compare": "RUN OTHER", "closeout": "RUN -o OUT", "watch": "RUN", "serve": "ALL --port 0", "demo": "", "mcp": "--root ALL",
    "check reward": "REWARD SAMPLES", "check data": "SAMPLES", "check context": "RUN",
    "check memory": "--model mlp --algo sac --observation 8 --actions 2",
    "eval record": "dev --use tune --score accuracy=0.5 --ledger LEDGER", "eval log": "--ledger LEDGER",
    "eval verify": "--ledger LEDGER", "experiment plan": "RUN --all -o OUT", "experiment init": "--settings SETTINGS SCRIPT",
    "record": "-o OUT -- sleep 9", "agents install": "PROJECT", "new": "detector reward/my-check --into PROJECT",
}  # fmt: skip


PLACES = {
    "ALL": "all", "RUN": "all/run", "OTHER": "all/other", "LOG": "all/run/metrics.jsonl", "SAMPLES": "completions.jsonl",
    "REWARD": "train.py:score", "SCRIPT": "train.py", "LEDGER": "ledger.db", "SETTINGS": "firstbreak.toml",
    "PROJECT": "project", "OUT": "out", "REPORT": "report.txt", "PROTOCOL": "protocol.toml",
}  # fmt: skip


def _places(folder: Path, rows: int) -> dict[str, str]:
    """The files that the commands are given, by the words above."""
    write_jsonl(folder / "all" / "run" / "metrics.jsonl", rows)
    write_jsonl(folder / "all" / "other" / "metrics.jsonl", 60)
    line = '{"step": %d, "prompt": "2 + 2?", "completion": "It is %d.", "reward": 0.5}\n'
    (folder / "completions.jsonl").write_text("".join(line % (i // 4, i % 7) for i in range(60)))
    (folder / "train.py").write_text("lr = 1e-4\ndef score(completions, **_):\n    return [0.5 for _ in completions]\n")
    (folder / "project").mkdir()
    (folder / "project" / "pyproject.toml").write_text('[project]\nname = "mine"\n')
    (folder / "firstbreak.toml").touch()
    (folder / "report.txt").write_text("an older report\n")
    (folder / "protocol.toml").write_text('dataset = "gsm8k"\n')
    with Ledger(folder / "ledger.db") as ledger:
        declare(ledger, Split(name="dev", kind="dev", allowed=None))
    return {word: str(folder / place) for word, place in PLACES.items()}


def _line(command: str, given: str, places: Mapping[str, str]) -> list[str]:
    words = [places.get(word, word) for word in given.split()]
    return [sys.executable, "-m", "firstbreak", *command.split(), *words]


# --- Ctrl-C -----------------------------------------------------------------------------------------------------------


def signals(count: int, seed: int = 0) -> AttackTally:
    """Each command in turn, so many moments in all: it ends at once, without a traceback, and never says to stop the run."""
    tally, rng, slowest, most = AttackTally(), random.Random(seed), 0.0, dict.fromkeys(COMMANDS, GOES_ON)
    usual = dict.fromkeys(COMMANDS, 0)  #: the code that it ends with by itself, which may be in the moment of Ctrl-C
    HEARD()
    began = time.monotonic()
    subprocess.run([sys.executable, "-c", "import firstbreak, click"], check=True)
    started = 1.5 * (time.monotonic() - began)  # until then it is Python that starts, and says where Ctrl-C found it
    for number in range(-min(count, len(COMMANDS)), count):  # below 0: let go on, to see how long it takes
        name = list(COMMANDS)[number % len(COMMANDS)]
        after = rng.uniform(started, max(2 * started, most[name])) if number >= 0 else GOES_ON
        with tempfile.TemporaryDirectory() as scratch:
            began = time.monotonic()
            took, code, problems = _interrupted(name, _line(name, COMMANDS[name], _places(Path(scratch), 1000)), after)
        if number < 0:
            usual[name] = code
            most[name] = min(GOES_ON, max(0.5, time.monotonic() - began))
            continue
        slowest = max(slowest, took)
        if code not in (0, usual[name], 130, -signal.SIGINT):
            problems.append(f"{name}: ends with {code}")
        tally.add(f"{name} after {after:.3f} s", *problems)
    tally.measured = {"slowest_end_s": round(slowest, 2)}
    return tally


def _interrupted(name: str, command: list[str], after: float) -> tuple[float, int, list[str]]:
    """Seconds from Ctrl-C to the end, the exit code, and what was wrong with it. The whole group gets it, as from a terminal."""
    with subprocess.Popen(command, text=True, start_new_session=True, stdin=-1, stdout=-3, stderr=-1) as process:
        with suppress(subprocess.TimeoutExpired):
            process.wait(after)
        began = time.monotonic()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGINT)
        try:
            _, said = process.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            return LONGEST, -signal.SIGKILL, [f"{name}: goes on after Ctrl-C"]
        return time.monotonic() - began, process.returncode, [f"{name}: a traceback"] if _falls(said) else []


def _falls(said: str) -> bool:
    return any(mark in said for mark in ("Traceback", "bug of firstbreak", "Exception ignored", "lost sys.stderr"))


# --- surroundings -----------------------------------------------------------------------------------------------------

#: runs as a user who is in no table, and who may read everything and write nothing
NOBODY = "setpriv --reuid=54321 --clear-groups --inh-caps=+dac_read_search --ambient-caps=+dac_read_search"
Kind = Mapping[str, Any]  #: what a process is started with


def _closed(*streams: int) -> Kind:
    return {"preexec_fn": lambda: [os.close(stream) for stream in streams]}


def _limited(what: int, most: int) -> Kind:
    return {"preexec_fn": partial(resource.setrlimit, what, (most, most))}


def _deleted() -> None:
    folder = tempfile.mkdtemp()
    os.chdir(folder)
    os.rmdir(folder)


def _variable(name: str, value: str) -> Kind:
    return {"env": {**os.environ, name: value}}


def _broken_pipe() -> int:
    ours, theirs = os.pipe()
    os.close(ours)
    return theirs


USUAL = "nothing odd"  #: what the others are compared with
SURROUNDINGS: Mapping[str, Callable[[], Kind]] = {
    "stdin closed": lambda: _closed(0),
    "stdout closed": lambda: _closed(1),
    "stderr closed": lambda: _closed(2),
    "all streams closed": lambda: _closed(0, 1, 2),
    "stdout full": lambda: {"stdout": os.open("/dev/full", os.O_WRONLY)},
    "stdout without a reader": lambda: {"stdout": _broken_pipe()},
    "a deleted folder": lambda: {"preexec_fn": _deleted},
    "no room on the disk": lambda: _limited(resource.RLIMIT_FSIZE, 0),
    "few open files": lambda: _limited(resource.RLIMIT_NOFILE, 24),
    "a user without a name, who may write nothing": lambda: {"by": NOBODY.split(), "env": _homeless()},
    "no home": lambda: {"env": _homeless()},
    **{
        f"{name}={value}": partial(_variable, name, value)
        for name, value in (
            ("FIRSTBREAK_MEMORY", "much"), ("FIRSTBREAK_MEMORY", "-1"), ("FIRSTBREAK_MEMORY", "nan"), ("FIRSTBREAK_MEMORY", ""),
            ("FIRSTBREAK_ALLOW_ROOT", "/nothing"), ("FIRSTBREAK_LEDGER", "/nothing/ledger.db"), ("FIRSTBREAK_DOCS", "nothing"),
            ("COLUMNS", "wide"), ("COLUMNS", "-3"), ("COLUMNS", "3"), ("PYTHONIOENCODING", "ascii"), ("LC_ALL", "xx_XX"),
            ("TERM", "odd"), ("OPENBLAS_NUM_THREADS", "many"), ("XDG_STATE_HOME", "/dev/null"), ("TMPDIR", "/nothing"),
        )
    },
}  # fmt: skip


def _homeless() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in ("HOME", "USER", "LOGNAME")}


def surroundings(count: int) -> AttackTally:
    """Each command in each of them: as ever, or one line that names the place and the remedy; what lies there stays."""
    HEARD()
    tally, usual = AttackTally(), dict[str, int]()
    asked = list(product(SURROUNDINGS, COMMANDS))
    random.Random(0).shuffle(asked)
    for what, name in [*((USUAL, name) for name in COMMANDS), *asked[:count]]:
        if "may write nothing" in what and (os.getuid() or not shutil.which("setpriv")):
            continue
        with tempfile.TemporaryDirectory() as scratch:
            os.chmod(scratch, 0o755)
            places = _places(Path(scratch), 40)
            before = _contents(Path(scratch))
            code, said = _ended(_line(name, COMMANDS[name], places), SURROUNDINGS.get(what, dict)())
            quiet = "closed" in what or "without" in what
            problems = list(_wrong(name, code, said, usual.setdefault(name, code), quiet))
            lost = [file for file, data in before.items() if not _kept(Path(scratch) / file, data)]
            tally.add(f"{name}, {what}: {said[-300:]}", *problems, *(f"{name} destroys {file}" for file in lost))
    return tally


def _ended(command: list[str], kind: Kind) -> tuple[int, str]:
    """The exit code, and what was said on stderr; Ctrl-C ends what goes on."""
    started: dict[str, Any] = {"stdin": -3, "stdout": -3, "stderr": -1, **kind}  # nowhere, nowhere, a pipe
    command = [*started.pop("by", ()), *command]
    with subprocess.Popen(command, text=True, errors="replace", **started) as process:
        if isinstance(started["stdout"], int) and started["stdout"] >= 0:
            os.close(started["stdout"])
        try:
            goes_on = any(word in command for word in WHICH_GO_ON) and "eval" not in command
            _, said = process.communicate(timeout=GOES_ON if goes_on else PATIENCE)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                _, said = process.communicate(timeout=LONGEST)
            except subprocess.TimeoutExpired:
                process.kill()
                return -signal.SIGKILL, process.communicate()[1]
    return process.returncode, said


_PROGRESS = re.compile(r"(?m)^\[\d+/\d+\].*\n")


def _wrong(name: str, code: int, said: str, usual: int, quiet: bool) -> Iterator[str]:
    if _falls(said):
        yield f"{name}: a traceback"
    elif code not in {usual, 0, 2, 130, -signal.SIGINT}:
        yield f"{name}: ends with {code}"
    elif code == 2 != usual and not quiet and not ((told := _PROGRESS.sub("", said)).count("\n") == 1 and ";" in told):
        yield f"{name}: says no place and remedy in one line"


def _contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _kept(path: Path, before: bytes) -> bool:
    """Whether a file holds what it held. A ledger and a section of settings may have grown."""
    if not path.is_file():
        return False
    if path.suffix == ".db":
        with Ledger(path) as ledger:
            return ledger.verify() is None and len(list(ledger)) >= 1
    return path.read_bytes().startswith(before) or path.name == "pyproject.toml"


# --- what is written over ---------------------------------------------------------------------------------------------

#: command -> what it is given; THIS is the file that it is told to write, which holds something
WRITERS: Mapping[str, str] = {
    "diagnose": "RUN -o THIS", "diagnose --recursive": "ALL --store THIS", "audit": "SAMPLES -o THIS",
    "audit --format html": "SAMPLES -o THIS --marks THIS", "compare": "RUN OTHER -o THIS", "compare --plot": "THIS RUN OTHER",
    "check reward": "REWARD SAMPLES -o THIS", "check data": "SAMPLES -o THIS", "check context": "RUN -o THIS",
    "closeout": "RUN -o THIS", "record": "-o THIS -- true", "eval record": "dev --use tune --score accuracy=0.5 --ledger THIS",
    "eval lock": "PROTOCOL -o THIS", "eval contamination": "SAMPLES SAMPLES -o THIS", "experiment plan": "RUN --all -o THIS",
    "experiment init": "--settings THIS SCRIPT", "new": "detector reward/my-check --into THIS", "agents install": "THIS",
}  # fmt: skip
#: what is written over -> the words of a command that reads it; of the rest, each may be replaced, and only by what is whole
TARGETS = {
    "LOG": {"RUN", "ALL"}, "SAMPLES": {"SAMPLES"}, "SCRIPT": {"SCRIPT", "REWARD"}, "PROTOCOL": {"PROTOCOL"}, "REPORT": set[str](),
}  # fmt: skip
WAYS = ("itself", "by a link", "without room")


def outputs(count: int) -> AttackTally:
    """Each command that writes is told to write over a log, samples, a script and an older report, on a full disk as well."""
    tally = AttackTally()
    for name, target, way in list(product(WRITERS, TARGETS, WAYS))[:count]:
        with tempfile.TemporaryDirectory() as scratch:
            places = _places(Path(scratch), 40)
            before = _contents(Path(scratch))
            places["THIS"] = places[target]
            if way == "by a link":
                places["THIS"] = f"{scratch}/link"
                os.symlink(places[target], places["THIS"])
            kind = _limited(resource.RLIMIT_FSIZE, 20) if way == "without room" else {}
            code, said = _ended(_line(name, WRITERS[name], places), kind)
            problems = [f"{name}: a traceback"] if _falls(said) else []
            may = way != "without room" and TARGETS[target].isdisjoint(WRITERS[name].split())
            lost = [file for file, data in before.items() if not _kept(Path(scratch) / file, data)]
            lost = [file for file in lost if not may or Path(scratch) / file != Path(places[target])]
            problems += [f"{name} destroys {file}, {way}" for file in lost]
            tally.add(f"{name} over {target}, {way}: {code} {said[-300:]}", *problems)
    return tally
