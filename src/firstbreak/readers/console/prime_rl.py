"""prime-rl: `SUCCESS Step 12 | 35.20s | Reward 0.4321 | Trainable 100/128 (78.1%) | Truncation 3.1%`

Evaluations (`Evaluated gsm8k (Step 10) | ... | Reward 0.51`) get the name of their environment: `eval/gsm8k/Reward`.
Percentages become fractions. Source: prime_rl/orchestrator/orchestrator.py, prime_rl/trainer/rl/train.py
"""

import re

from firstbreak.readers.console._reading import BARE, ParsedLine

_HEAD = re.compile(r"(?:Evaluated (?P<env>\S+) \()?\bStep (?P<step>\d+)\)? \| ")
#: `Step 12 | loss: 2.1 | lr: 1e-05`: another loop's, whose names are in lower case
_ANOTHER = re.compile(r"[a-z_]\w* ?[:=]")
_FIELD = re.compile(rf"(?P<name>[A-Z][A-Za-z.\- ]*?):? (?P<value>{BARE})(?P<total>/\d+)?(?P<percent>%)?s?(?:[\s(].*)?")


def read(line: str) -> ParsedLine | None:
    """A whole row per line."""
    if " | " not in line or (head := _HEAD.search(line)) is None:
        return None
    cells = line[head.end() :].split(" | ")
    if any(_ANOTHER.match(cell.strip()) for cell in cells):
        return None
    prefix = f"eval/{head['env']}/" if head["env"] else ""
    values = {}
    for cell in cells:
        if found := _FIELD.fullmatch(cell.strip()):
            values[prefix + found["name"]] = _fraction(found)
    return ParsedLine(values, float(head["step"]))


def _fraction(found: re.Match[str]) -> float:
    value = float(found["value"])
    if found["percent"]:
        return value / 100
    total = float(found["total"][1:]) if found["total"] else 1.0
    return value / total if total else value
