"""Files that are whole or as they were before: written beside, then put in their place."""

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path


def write(path: Path, data: bytes, *, sync: bool = False) -> None:
    """Put `data` in the place of a file. A device or a pipe is written to. Raises OSError, which names the file.

    `sync`: wait until it lies on the disk.
    """
    real = Path(os.path.realpath(path))
    try:
        if real.exists() and not real.is_file():
            real.write_bytes(data)
            return
        handle, part = tempfile.mkstemp(dir=real.parent, prefix=".firstbreak-", suffix=".part")
        try:
            with open(handle, "wb") as file:
                file.write(data)
                if sync:
                    file.flush()
                    os.fsync(handle)
            if real.exists():
                shutil.copymode(real, part)
            else:
                os.umask(mask := os.umask(0))
                os.chmod(part, 0o666 & ~mask)
            os.replace(part, real)
        except BaseException:
            with suppress(OSError):
                os.unlink(part)
            raise
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
