"""verl: `step:12 - actor/pg_loss:0.01 - critic/score/mean:np.float64(0.4) - ...`

Up to 0.4 all numbers have three decimals, so that a learning rate of `0.000` may be any below 0.0005: it is left out.

Source: verl/utils/logger/aggregate_logger.py (concat_dict_to_str)
"""

import re

from firstbreak.readers._literal import number
from firstbreak.readers.console._reading import ParsedLine

_STEP = re.compile(r"(?:^|\s)step:(\d+) - ")


def read(line: str) -> ParsedLine | None:
    """A whole row per line."""
    if "step:" not in line or (found := _STEP.search(line)) is None:
        return None
    values = {}
    for pair in line[found.end() :].split(" - "):
        name, _, text = pair.rpartition(":")
        value = number(text)
        if name and value is not None and not (name.endswith("/lr") and text.strip() == "0.000"):
            values[name.strip()] = value
    return ParsedLine(values, float(found[1]))
