"""Share of a completion's four-piece sequences that also occur in its prompt.

Pieces are words, or characters where there are hardly any words. Harmless where the task is to edit or to quote.
"""

from collections.abc import Sequence

from firstbreak.audit.metrics import Measure
from firstbreak.audit.metrics._units import FEW_WORDS
from firstbreak.audit.split_truth import PolicySample

UP = "completions copy their prompt"
MOST = 1000  #: pieces that are used


def against(baseline: Sequence[PolicySample]) -> Measure:
    return _copied


def _copied(sample: PolicySample) -> float:
    written, asked = sample.completion.split(), sample.prompt.split()
    if len(written) < FEW_WORDS or len(asked) < FEW_WORDS:
        return _share(sample.completion, sample.prompt)
    return _share(written, asked)


def _share(written: list[str] | str, asked: list[str] | str) -> float:
    mine, theirs = _fours(written), _fours(asked)
    return len(mine & theirs) / len(mine) if mine and theirs else float("nan")


def _fours(parts: list[str] | str) -> set[tuple[str, ...]]:
    parts = parts[:MOST]
    return set(zip(parts, parts[1:], parts[2:], parts[3:], strict=False))
