"""A real PostgreSQL server in a temporary folder, run by a user who may: the server refuses to be run by root."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def programs() -> Path | None:
    """The folder of initdb and pg_ctl: on PATH, or where Debian keeps them."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "pg_ctl").exists()), None)


@contextmanager
def postgresql(programs: Path) -> Iterator[str]:
    """The URL of an empty database that listens on a socket in a folder of its own, and on no port."""
    user = None if os.getuid() else _unprivileged()
    with tempfile.TemporaryDirectory(prefix="fbpg", dir="/tmp") as name:  # a socket's path must be short
        data, socket = f"{name}/data", name
        if user:
            os.chown(name, user.pw_uid, user.pw_gid)

        def call(*command: str) -> None:
            who = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
            subprocess.run(command, check=True, capture_output=True, cwd=name, **who)  # type: ignore[call-overload]

        call(str(programs / "initdb"), "-D", data, "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-c listen_addresses='' -c unix_socket_directories={socket} -c max_connections=100"
        call(str(programs / "pg_ctl"), "-D", data, "-l", f"{name}/log", "-w", "-o", options, "start")
        try:
            yield f"postgresql://tester@/postgres?host={socket}"
        finally:
            call(str(programs / "pg_ctl"), "-D", data, "-m", "immediate", "-w", "stop")


def _unprivileged() -> pwd.struct_passwd:
    """`postgres`, which the package makes, else `nobody`."""
    names = {entry.pw_name for entry in pwd.getpwall()}
    return pwd.getpwnam("postgres" if "postgres" in names else "nobody")
