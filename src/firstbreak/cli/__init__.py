"""The command line. Each command is one module of this package. A module is imported only when its command is called."""

import atexit
import errno
import gc
import importlib
import os
import signal
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import click

from firstbreak import __version__

#: section of `--help` -> command -> one line; the module with the name of a command holds a click command `command`
SECTIONS: Mapping[str, Mapping[str, str]] = {
    "Diagnose": {
        "diagnose": "Say which link of the loop broke first, when, why, and what to do.",
        "inspect": "Show what a log contains: format, trainer, metrics, configuration, samples, gaps.",
        "compare": "Compare runs: what differs, where curves first differ, and whether the difference is real.",
        "explain": "Explain a finding or cause of a run, a metric, a link, a hyperparameter or a trainer.",
        "serve": "Serve a local web page over the runs of a folder, with live updates.",
        "demo": "Diagnose a real broken run.",
    },
    "Before and during training": {
        "check": "Check environment, reward, critic, data, evaluation and memory before a run.",
        "watch": "Follow a live run, and report when the verdict changes.",
        "record": "Start verl, OpenRLHF, AReaL or RLlib with the recorder, which checks each update from inside.",
        "replay": "Repeat an update that the guard has saved when it stopped a run.",
    },
    "Find the cause, judge the result": {
        "experiment": "Run the smallest experiment that separates the most probable causes, on your own trainer.",
        "audit": "Find reward hacking in samples: what the policy has learned to do, since when, and what is rewarded.",
        "eval": "Lock evaluation protocols, record who evaluated on which split, find contamination.",
        "closeout": "Collect the results of a finished run in one folder, and list what is missing.",
    },
    "Extend": {
        "agents": "Write a guide for coding agents into a project: a skill, and a section of AGENTS.md.",
        "mcp": "Serve tools for coding agents, over the Model Context Protocol.",
        "new": "Create a new detector, cause, reader, trainer or fault, with its test.",
        "lab": "Train real runs with an injected fault, and benchmark diagnosers on these runs.",
    },
}
COMMANDS = {name: line for section in SECTIONS.values() for name, line in section.items()}
EXAMPLES = """\b
Examples:
  firstbreak diagnose outputs/run7          one run, of any trainer
  firstbreak diagnose outputs               a table of all runs below a folder
  firstbreak watch outputs/run7             a run that is still training
  firstbreak check reward rewards.py:score  before any training"""
#: commands of other distributions, from the entry-point group firstbreak.commands
ELSEWHERE = {"lab": "firstbreak-lab"}
FEW_COLLECTIONS = 200_000  #: objects: a start makes many, and leaves hardly any behind (700 is Python's own)
THREADS = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS")  #: of numpy's linear algebra
EXIT_BAD_INPUT = 2
EXIT_INTERNAL_ERROR = 3
EXIT_INTERRUPTED = 130
MOST_OF_AN_ERROR = 200  #: characters
REPORT_IT = "please report this line in the issues of the repository; FIRSTBREAK_TRACEBACK=1 shows where it comes from"


class Lazy(click.Group):
    """A group that imports a command only when it is called, so that `--help` is fast."""

    def __init__(self, *args: Any, sections: Mapping[str, Mapping[str, str]], package: str = "", **more: Any) -> None:
        super().__init__(*args, **more)
        self.package, self.sections = package, sections
        self.summaries = {name: line for section in sections.values() for name, line in section.items()}

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except (KeyboardInterrupt, click.Abort):  # click's own code for it, 1, means that the run should stop
            ctx.exit(EXIT_INTERRUPTED)
        except BrokenPipeError:  # `firstbreak ... | head` is not an error; to click it is 1 as well
            sys.stderr.close()
            ctx.exit(0)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.summaries)

    def get_command(self, ctx: click.Context, name: str) -> click.Command | None:
        if name not in self.summaries:
            import difflib

            if near := difflib.get_close_matches(name, self.summaries, n=1):
                ctx.fail(f"No such command {name!r}. Did you mean {near[0]!r}?")
            return None
        if name in ELSEWHERE:
            return _installed(name)
        if name in self.commands:
            return self.commands[name]
        with _one_thread():
            command: click.Command = importlib.import_module(f"{self.package}.{name}").command
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for title, lines in self.sections.items():
            with formatter.section(title):
                formatter.write_dl(list(lines.items()))


@contextmanager
def _one_thread() -> Iterator[None]:
    """numpy, imported in here, starts no threads of its own, which cost a quarter of its import and have too little to do.

    What this process starts later may have as many as it likes.
    """
    if any(name in os.environ for name in THREADS):
        yield
        return
    os.environ[THREADS[0]] = "1"
    try:
        yield
    finally:
        os.environ.pop(THREADS[0], None)


def _installed(name: str) -> click.Command:
    """A command of another distribution. Exits with one line where it is not installed."""
    from importlib.metadata import entry_points

    for entry in entry_points(group="firstbreak.commands", name=name):
        command: click.Command = entry.load()
        return command
    click.echo(f"firstbreak: `{name}` is not installed; pip install {ELSEWHERE[name]}", err=True)
    sys.exit(EXIT_BAD_INPUT)


@click.group(
    cls=Lazy,
    package=__name__,
    sections=SECTIONS,
    epilog=EXAMPLES,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="firstbreak")
def app() -> None:
    """Find out which link of an RL training loop broke first, when, why, and which small experiment proves it."""


def program() -> None:
    """The process `firstbreak`: `main`, which then ends without taking apart what it made, a tenth of a start.

    What was registered to run at the end is run. Where other threads still work, the process ends as any other.
    """
    _open_streams()
    if signal.getsignal(signal.SIGINT) in (signal.SIG_DFL, signal.default_int_handler):  # nohup has it ignored
        signal.signal(signal.SIGINT, _interrupt)
    sys.unraisablehook = _unraisable
    code: Any = EXIT_INTERRUPTED
    try:
        main()
    except SystemExit as ended:
        code = ended.code
    except KeyboardInterrupt:
        pass
    if _interrupted and code:
        code = EXIT_INTERRUPTED
    if _interrupted or (isinstance(code, int) and threading.active_count() == 1):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with suppress(OSError, ValueError):  # a stream that is closed: the interpreter knows what to do
            atexit._run_exitfuncs()
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
    sys.exit(code)


ASKED_AGAIN, PATIENCE = 0.02, 50  #: seconds, and how often what is imported may go on
_interrupted = 0  #: how often Ctrl-C was heard


def _interrupt(number: int, frame: Any) -> None:
    global _interrupted
    _interrupted += 1
    caller = frame
    while caller and _interrupted < PATIENCE:  # what is imported swallows it, or crashes (orjson): asked again after it
        if caller.f_code.co_filename.startswith("<frozen importlib"):
            again = threading.Timer(ASKED_AGAIN, os.kill, (os.getpid(), number))
            again.daemon = True
            return again.start()
        caller = caller.f_back
    signal.default_int_handler(number, frame)


def _unraisable(hook: Any) -> None:
    """Ctrl-C in the middle of a destructor is no news."""
    if not issubclass(hook.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(hook)


def _open_streams() -> None:
    """Gives each closed stream a place, before a file of the run takes its number."""
    closed = [name for name in ("stdin", "stdout", "stderr") if getattr(sys, name) is None]
    for name in closed:
        setattr(sys, name, open(os.devnull, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115
    if "stdout" in closed:
        _complain("stdout is closed, so that nothing is shown; -o FILE writes to a file")


def main(arguments: Sequence[str] | None = None) -> None:
    """All of the command line.

    Exit codes: 0 continue or watch, 1 stop or rollback, 2 bad input or call, 3 a bug (one line on stderr), 130 Ctrl-C.
    """
    gc.set_threshold(FEW_COLLECTIONS)
    try:
        app.main(args=None if arguments is None else list(arguments), prog_name="firstbreak", standalone_mode=True)
    except OSError as error:  # no such folder to write to, no permission, no space
        _complain(_of_the_system(error))
        sys.exit(EXIT_BAD_INPUT)
    except Exception as error:  # 1, Python's own exit code, means that the run should stop
        if _interrupted:
            sys.exit(EXIT_INTERRUPTED)
        bad_input = isinstance(error, _of_the_input())
        _complain(error if bad_input else _bug(error))
        sys.exit(EXIT_BAD_INPUT if bad_input else EXIT_INTERNAL_ERROR)


def _of_the_system(error: OSError) -> str:
    """What is said of a system that refuses: the place, why, and the remedy."""
    try:
        os.getcwd()
    except OSError:
        return "the current folder was deleted; go to another one"
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    remedy = "free some space, or write elsewhere" if full else "check that the folder exists and you may write to it"
    return f"{error.filename or 'output'}: {error.strerror or error}; {remedy}"


def _of_the_input() -> tuple[type[Exception], ...]:
    """What a user can correct. Imported where something went wrong: `--version` waits for nothing."""
    from firstbreak.engine.thresholds import BadThreshold
    from firstbreak.readers import Unreadable

    return Unreadable, BadThreshold


def _complain(problem: object) -> None:
    from firstbreak.cli._output import complain

    complain(problem)


def _bug(error: Exception) -> str:
    import traceback

    if os.environ.get("FIRSTBREAK_TRACEBACK"):
        traceback.print_exception(error)
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{'/'.join(last.filename.replace(os.sep, '/').split('/')[-3:])}:{last.lineno}"
    what = " ".join(f"{type(error).__name__}: {error}".split())[:MOST_OF_AN_ERROR]
    return f"a bug of firstbreak, not of the run: {what} ({where}); {REPORT_IT}"
