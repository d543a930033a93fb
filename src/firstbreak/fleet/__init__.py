"""Thousands of runs: which of them need attention first.

    survey(["runs/"], store=path, processes=2) -> [Row], sorted

The same reading and the same diagnosis as of a single run; of each only a line is kept, in a file to go on from.
"""

from firstbreak.fleet import table
from firstbreak.fleet.runs import Row, find, survey

__all__ = ["Row", "find", "survey", "table"]
