"""Lines that only say which step the lines after them belong to.

    ... StatsLogger INFO: Epoch 1/10 Step 3/100 Train step 3/1000 done.    AReaL, before its table
    ========================= Step 12/1000 =========================      NeMo-RL, before its results
    Step 12:      ─── Step 12 ───                                          SkyRL, titles of tables (tinker)
                      Learning iteration 12/1500                           rsl_rl, before its block

Where a line counts several things, the steps of the whole run count.
"""

import re

from firstbreak.readers.console._reading import LineKind, ParsedLine

_AREAL = re.compile(r"Train step (\d+)/\d+ done")
_TITLE = re.compile(r"[\W_]*(?:(?:global )?step|learning iteration):? (\d+)(?:/\d+)?[\W_]*", re.IGNORECASE)


def read(line: str) -> ParsedLine | None:
    """A break with the new step."""
    if len(line) > 400 or ("tep" not in line and "iteration" not in line):
        return None
    found = _TITLE.fullmatch(line) or _AREAL.search(line)
    return ParsedLine(step=float(found[1]), kind=LineKind.BREAK) if found else None
