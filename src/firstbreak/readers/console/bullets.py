"""NeMo-RL: results as bullets under a heading.

    📊 Training Results:
      • Loss: 0.0123
      • Total step time: 35.20s
    📊 Validation Results:
        • Accuracy: 0.51          becomes Validation/Accuracy

Source: nemo_rl/algorithms/grpo.py
"""

import re

from firstbreak.readers.console._reading import NOTHING, VALUE, LineKind, ParsedLine, scaled

_HEADING = re.compile(r"(Training|Validation) Results:")
_BULLET = re.compile(rf"\s*[•▶]\s*(?P<name>[A-Za-z_][\w /().-]*?):\s*{VALUE}")


class Bullets:
    """Bullets of one step; it remembers the heading."""

    def __init__(self) -> None:
        self.prefix = ""

    def read(self, line: str) -> ParsedLine | None:
        """A fragment of the step's row."""
        if "Results:" in line and (heading := _HEADING.search(line)):
            self.prefix = "Validation/" if heading[1] == "Validation" else ""
            return NOTHING
        if "•" not in line or (found := _BULLET.match(line)) is None:
            return None
        return ParsedLine({self.prefix + found["name"]: scaled(found)}, kind=LineKind.FRAGMENT)
