"""Names that the user has explained: what a metric of the log means, where firstbreak does not know or guesses wrong.

    firstbreak diagnose RUN --name my_metric=kl.ref

    [names]                              # firstbreak.toml, in the current folder or in the run's folder
    my_metric = "kl.ref"
    words_per_reply = "custom.words"     # a number of your own, which no check looks at

The run's folder counts before the current folder, and `--name` before both.
"""

import contextvars
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path

from firstbreak.dialects.signals import all_names, lookup
from firstbreak.model import EMPTY
from firstbreak.readers import Unreadable
from firstbreak.readers.opening import beneath, read_whole

FILE = "firstbreak.toml"
SECTION = "names"
MAX_BYTES = 1 << 24

Names = Mapping[str, str]  #: raw name -> canonical signal


def parsed(settings: Iterable[str]) -> Names:
    """`NAME=SIGNAL` of `--name`, the last one of each name. Raises `Unreadable`."""
    found: dict[str, str] = {}
    for setting in settings:
        name, equals, signal = (part.strip() for part in setting.rpartition("="))
        if not (equals and name and signal):
            raise Unreadable(f"--name {setting}", "not understood", "write NAME=SIGNAL, as in my_metric=kl.ref")
        found[name] = _signal(signal, f"--name {setting}")
    return found


def for_run(run: Path, settings: Names = EMPTY) -> Names:
    """What holds for a run: the current folder's file, then the file of the run's own folder, then `settings`.

    Raises `Unreadable`.
    """
    folders = dict.fromkeys(folder.absolute() for folder in (Path(), run if run.is_dir() else run.parent))
    current, *of_run = folders
    own = contextvars.Context().run(_of_folder, current)  # the user's file, which need not lie beneath the run
    with beneath(*of_run):
        return {name: s for names in (own, *map(_of_folder, of_run), settings) for name, s in names.items()}


def absent(named: Names, names: Collection[str]) -> list[str]:
    """What is said of names that were explained on the command line, and that a run does not log."""
    asked = ((name, _near(name, names)) for name in named if name not in names)
    return [f"--name {name}: not logged" + (f"; {near}" if near else "") for name, near in asked]


def _near(name: str, known: Iterable[str]) -> str:
    import difflib

    near = difflib.get_close_matches(name, known, n=3, cutoff=0.6)
    return f"did you mean {' or '.join(near)}?" if near else ""


def _of_folder(folder: Path) -> Names:
    path = folder / FILE
    if not path.is_file():
        return EMPTY
    from firstbreak.readers._options import toml

    try:
        section = toml(read_whole(path, MAX_BYTES)).get(SECTION, EMPTY)
    except ValueError as error:
        raise Unreadable(path, f"not readable as TOML: {error}", "correct the file, or move it away") from None
    if not isinstance(section, Mapping):
        raise Unreadable(path, f"{SECTION} is no table", f"write [{SECTION}] and one line for each name")
    for name, signal in section.items():
        if not isinstance(signal, str):
            remedy = f'write "{name}" = "SIGNAL", with the name in quotes where it holds a dot or a slash'
            raise Unreadable(path, f"{SECTION}.{name} is no signal but {signal!r}", remedy)
    return {name: _signal(signal, f"{path}: {name}") for name, signal in section.items()}


def _signal(name: str, place: str) -> str:
    """The canonical spelling of a signal that the user names."""
    if known := lookup(name):
        return known.name
    remedy = _near(name, all_names()) or "`firstbreak explain metrics` lists them"
    raise Unreadable(place, f"no signal is called {name!r}", remedy)
