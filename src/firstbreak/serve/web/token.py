"""The token of a server: who has it may ask. It stays the same at each start, so that an open page goes on after one."""

import hashlib
import os
import re
import secrets
import stat
from pathlib import Path

_TOKEN = re.compile(r"[\w-]{43}\Z")


def new_token() -> str:
    """256 random bits, safe in a URL."""
    return secrets.token_urlsafe(32)


def kept_token(served: Path) -> str:
    """The token for what is served, made at the first start and kept in the user's state folder; delete its file for a new one.

    A token that cannot be kept, or that another user may have read, is a new one each time.
    """
    token = new_token()
    try:
        home = Path(os.environ.get("XDG_STATE_HOME") or Path.home() / ".local" / "state") / "firstbreak"
        place = str(served.resolve()).encode("utf-8", "surrogateescape")
        path = home / f"token-{hashlib.sha256(place).hexdigest()[:16]}"
        home.mkdir(parents=True, exist_ok=True, mode=0o700)
        if (kept := _kept(path)) is not None:
            return kept
        path.unlink(missing_ok=True)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
            file.write(token)
    except (OSError, RuntimeError):  # RuntimeError: a user without a home
        pass
    return token


def _kept(path: Path) -> str | None:
    """The token in a file that is this user's alone."""
    if not path.exists():
        return None
    state = path.lstat()
    if os.name == "posix" and (state.st_uid != os.getuid() or state.st_mode & 0o077):
        return None
    if not stat.S_ISREG(state.st_mode):
        return None
    token = path.read_text("ascii", errors="replace")
    return token if _TOKEN.match(token) else None
