"""How much memory this process holds."""

import resource
import sys
from pathlib import Path


def peak_gigabytes() -> float:
    """The largest memory that this process has used so far, in gigabytes."""
    unit = 1 if sys.platform == "darwin" else 2**10  # of ru_maxrss, in bytes
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**30


def resident_gigabytes() -> float:
    """The memory that this process uses now, in gigabytes. The peak, if the system does not report it."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return peak_gigabytes()
    return pages * resource.getpagesize() / 2**30
