"""firstbreak watch PATH"""

import math
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import click

from firstbreak.cli import _options
from firstbreak.cli._grouping import one_run
from firstbreak.cli._output import on_a_terminal, say, write
from firstbreak.engine.diagnose import diagnose
from firstbreak.engine.thresholds import Thresholds, for_run, parsed
from firstbreak.engine.verdict import has_its_planned_steps
from firstbreak.live.guard.notify import Notification, Notifier
from firstbreak.live.guard.schedule import ENDS, Suspicion
from firstbreak.model import EMPTY, Action, Diagnosis
from firstbreak.readers import Unreadable, names
from firstbreak.readers.follow import Follower
from firstbreak.words import number

STDIN = "-"
Diagnoses = Iterator[Diagnosis]
QUIET = 30.0  #: seconds without a new line, after which a run that has its planned steps has ended (convention)
LASTS = 3  #: diagnoses in a row that agree before a new verdict is told (convention)
NOTHING = ("no known training log was found", "give the file or folder to which the trainer writes its metrics")


class Time(click.ParamType):  # type: ignore[type-arg]
    """Seconds, as a number or with a unit."""

    name = "time"

    def convert(self, value: str | float, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip().lower()
        unit = {"s": 1.0, "m": 60.0, "h": 3600.0}.get(text[-1:])
        try:
            return float(text[:-1]) * unit if unit else float(text)
        except ValueError:
            return self.fail(f"{value!r} is no time: give 90, 90s, 5m or 2h", param, ctx)


@click.command("watch")
@click.argument("path")
@click.option("--every", type=click.FloatRange(0.1), default=5.0, show_default=True, help="Seconds between updates.")
@click.option("--for", "limit", type=Time(), metavar="TIME", help="Stop watching after this time: 90, 90s, 5m or 2h.")
@_options.trainer
@click.option(
    "--on-stop",
    metavar="CMD",
    help="Run this command once when the run should be stopped, with FIRSTBREAK_ACTION, _RUN, _STEP, _CHECKPOINT and "
    "_SUMMARY in its environment.",
)
@click.option(
    "--notify",
    "targets",
    multiple=True,
    metavar="TARGET",
    help="Send a message when the verdict changes: an https: webhook, Slack, Discord, mailto:NAME@HOST, trackio:PROJECT/RUN. "
    "May be repeated.",
)
@_options.thresholds
@_options.names
@_options.roots
def command(
    path: str,
    every: float,
    limit: float | None,
    trainer: str | None,
    on_stop: str | None,
    targets: tuple[str, ...],
    settings: tuple[str, ...],
    named: tuple[str, ...],
) -> None:
    """Follow a live run: read new data of the trainer, and update the diagnosis.

    PATH is a path as for `diagnose`, which may not exist yet, or - for the console output of a trainer: python train.py |
    firstbreak watch -. On a terminal the screen is updated in place; in a pipe each new verdict that lasts is one line. Stops
    with Ctrl-C, after --for, at the end of the console output, or when a run has its planned steps and nothing more is written.
    Exit code 1 means that the run should be stopped, as for `diagnose`.
    """
    thresholds, meanings = parsed(settings), names.parsed(named)
    notifier = Notifier(targets) if targets else None
    show = _on_screen if on_a_terminal() else _as_lines
    last: Diagnosis | None = None
    end = None if limit is None else time.monotonic() + limit
    try:
        _await(path, every, end)
        with _source(path) as (place, name, open_):
            follower = Follower(place, trainer=trainer, named=meanings)
            watched = _diagnoses(
                follower,
                name,
                every,
                lambda: open_() and (end is None or time.monotonic() + every <= end),
                for_run(Path() if path == STDIN else path, thresholds),
            )
            for dx in show(_notified(watched, name, on_stop, notifier), name):
                last = dx
    except KeyboardInterrupt:
        sys.exit(0)
    finally:
        if notifier is not None:
            notifier.close()
    if last is not None and last.verdict.action in ENDS:
        sys.exit(1)


def _await(path: str, every: float, end: float | None) -> None:
    """Wait for a path that does not exist yet, until the time is over. What does not exist then is said by who reads it."""
    if path == STDIN or "://" in path or Path(path).exists():
        return
    say(f"waiting: {path} does not exist yet; if the trainer writes elsewhere, end this with Ctrl-C")
    while not Path(path).exists() and (end is None or time.monotonic() + every <= end):
        time.sleep(every)


@contextmanager
def _source(path: str) -> Iterator[tuple[Path, str, Callable[[], bool]]]:
    """The path to follow, its name, and whether more can come. Console output is copied into a file, which is followed."""
    if path != STDIN:
        one_run(path, ", or use `firstbreak serve` to follow all of them")
        yield Path(path), path, lambda: True
        return
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "console.log"
        log.touch()
        copying = threading.Thread(target=_copy_stdin, args=(log,), daemon=True)
        copying.start()
        yield log, "console", copying.is_alive


def _copy_stdin(log: Path) -> None:
    with log.open("ab") as file:
        while chunk := os.read(sys.stdin.fileno(), 1 << 16):
            file.write(chunk)
            file.flush()


def _diagnoses(
    follower: Follower, name: str, every: float, more: Callable[[], bool], thresholds: Thresholds = EMPTY
) -> Diagnoses:
    """A diagnosis after each update with new data, and the last one when no more data can come, or the run has ended.

    Raises `Unreadable` where no more data can come and nothing was read.
    """
    unread: Unreadable | None = Unreadable(name, *NOTHING)
    ends = math.inf
    while True:
        coming = more()
        if follower.update():
            try:
                dx = diagnose(follower.run(), thresholds=thresholds)
                ends = time.monotonic() + max(QUIET, 5 * every) if has_its_planned_steps(dx.run) else math.inf
                yield dx
                unread = None
            except Unreadable as error:  # nothing readable yet: the trainer has just begun to write
                if unread is not None:
                    unread = Unreadable(name, error.problem, error.remedy)
                    say(f"waiting: {unread}")
        if not coming and unread is not None:
            raise unread
        if not coming:
            return
        if time.monotonic() > ends:
            return say("the run has its planned steps, and nothing more was written: it has ended")
        _pause(every, more)


def _pause(seconds: float, more: Callable[[], bool]) -> None:
    """Wait for `seconds`, or until no more data can come."""
    end = time.monotonic() + seconds
    while more() and (left := end - time.monotonic()) > 0:
        time.sleep(min(0.1, left))


def _notified(watched: Diagnoses, name: str, on_stop: str | None, notifier: Notifier | None) -> Diagnoses:
    """The same diagnoses. Sends messages, and runs the command once after a verdict of stop has lasted."""
    suspicion, acted = Suspicion(), False
    for dx in watched:
        lasts = suspicion.on(dx, max((len(s) for s in dx.run.series.values()), default=0))
        if notifier is not None and (lasts or dx.verdict.action is Action.WATCH):
            notifier.send(_message(dx, name))
        if lasts and on_stop is not None and not acted:
            acted = True
            _run(on_stop, dx, name)
        yield dx


def _message(dx: Diagnosis, name: str) -> Notification:
    about = dx.first_break.link.value if dx.first_break is not None else ""
    text = f"{dx.verdict.summary}\nDo this first: {dx.verdict.do_first}"
    return Notification(Path(name).name, dx.verdict.action.value, text, about, dx.run.last_step)


def _run(line: str, dx: Diagnosis, name: str) -> None:
    """Run the user's command. Data from the log is passed in environment variables and never in the shell command."""
    best = dx.best_checkpoint
    variables = {
        "FIRSTBREAK_ACTION": dx.verdict.action.value,
        "FIRSTBREAK_RUN": name,
        "FIRSTBREAK_STEP": number(dx.run.last_step),
        "FIRSTBREAK_CHECKPOINT": best.path if best is not None and best.path else "",
        "FIRSTBREAK_SUMMARY": dx.verdict.summary,
    }
    clean = {key: value.replace("\0", "") for key, value in variables.items()}
    # the command is the user's own
    done = subprocess.run(line, shell=True, env={**os.environ, **clean}, stdout=sys.stderr)
    if done.returncode:
        say(f"firstbreak: the command of --on-stop ended with exit code {done.returncode}")


def _on_screen(watched: Diagnoses, name: str) -> Diagnoses:
    from rich.live import Live

    from firstbreak.live.guard import view
    from firstbreak.reports.content import duration

    lasting, written = Lasting(), time.time()
    rows: tuple[str, ...] = ()

    def so_far() -> str:
        verdicts = ", ".join(said for _, said in lasting.past[-LASTS:])
        return f"last written {duration(max(round(time.time() - written), 0) / 3600)} ago; verdicts so far: {verdicts}"

    with Live(f"waiting for {name}", refresh_per_second=1, vertical_overflow="ellipsis") as live:
        for dx in watched:
            lasting.add(dx)
            rows, written = view.chosen(dx, rows), _written(dx)
            live.update(view.renderable(dx, rows, so_far), refresh=True)
            yield dx


def _written(dx: Diagnosis) -> float:
    """When a file of the run was last written, in unix seconds."""
    files = [Path(dx.run.path), *(Path(dx.run.path, name) for name in dx.run.files)]
    return max((file.stat().st_mtime for file in files if file.is_file()), default=time.time())


def _as_lines(watched: Diagnoses, name: str) -> Diagnoses:
    lasting, line, shown = Lasting(), "", ""
    for dx in watched:
        where, verdict = f"step {number(dx.run.last_step)}", dx.verdict
        line = f"{where}  {verdict.action.value}: {verdict.summary} Do this first: {verdict.do_first}"
        if lasting.add(dx):
            write(shown := line)
        yield dx
    if line != shown:
        write(line)


class Lasting:
    """The verdicts of a live run that last: so many diagnoses in a row agree in what to do, and in what broke first."""

    def __init__(self) -> None:
        self.past: list[tuple[object, str]] = []  #: (verdict, what is said of it), one after the other
        self._row: list[object] = []

    def add(self, dx: Diagnosis) -> bool:
        """Whether the verdict of one more diagnosis is new and lasts. The first one does, and the first that ends a run."""
        now = dx.verdict.action, dx.first_break.links if dx.first_break is not None else ()
        self._row = [*self._row, now] if now in self._row else [now]
        urgent = now[0] in ENDS and not (self.past and self.past[-1][1].startswith(tuple(ENDS)))  # waits for nothing
        new = not self.past or (now != self.past[-1][0] and (urgent or len(self._row) >= LASTS))
        if new:
            self.past.append((now, f"{now[0].value} (step {number(dx.run.last_step)})"))
        return new
