"""The user's own things by name: `package.module:attribute`, as entry points write it."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from firstbreak.readers import Unreadable


def load(name: str) -> Any:
    """The object that `module:attribute` (or `path/to/file.py:attribute`) names.

    It is imported as Python would import it from the current folder. This runs the user's own code. Raises
    `Unreadable` where there is no such thing, with what the import said.
    """
    place, _, attribute = name.rpartition(":")
    if not place or not attribute:
        raise Unreadable(name, "is not of the form module:attribute", "write it like `my_package.rewards:score`")
    if place.endswith(".py") and not Path(place).is_file():
        raise Unreadable(name, f"there is no file {place}", "give its path from this folder")
    try:
        loaded: Any = _module(place)
    except (Exception, SystemExit) as error:  # whatever the module does when it is imported
        problem = f"cannot be imported: {type(error).__name__}: {error}"
        remedy = (
            f"run `python {place}` and correct the error"
            if place.endswith(".py")
            else f"try `python -c 'import {place}'` here"
        )
        raise Unreadable(name, problem, remedy) from error
    for part in attribute.split("."):
        try:
            loaded = getattr(loaded, part)
        except AttributeError as error:
            raise Unreadable(name, f"{place} has no {attribute}", "check the name after the colon") from error
    return loaded


def _module(place: str) -> ModuleType:
    """The module or file, with its folder on the path as `python -m module` or `python file.py` would put it there."""
    path = Path(place)
    folder = str((path.parent if path.suffix == ".py" else Path()).resolve())
    if folder not in sys.path:
        sys.path.insert(0, folder)
    if path.suffix != ".py":
        return importlib.import_module(place)
    spec = importlib.util.spec_from_file_location(f"_target_{path.stem}", path)
    assert spec is not None
    assert spec.loader is not None  # both are there for every name that ends in .py
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
