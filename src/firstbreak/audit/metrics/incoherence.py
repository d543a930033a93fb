"""Bits for each letter of the words, under a model of the letters of English, of code, and of how the policy wrote at first.

Words of a language, and names in code, are predictable letter by letter (about 3 bits). Pieces of words in any order and
random letters are not (5 bits and more). Digits and usual signs do not count, nor do words in other scripts than Latin, but
words in which scripts are mixed do. Harmless where the task is to write codes, hashes or sequences.
"""

import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np

from firstbreak.audit.metrics import Measure
from firstbreak.audit.split_truth import PolicySample

UP = "words become less and less like those of any language"
FEWEST = 60  #: letters
MOST = 2000  #: characters of either end of a completion that are read
#: stands for a letter or sign beyond Latin inside of a word; those of Chinese, Japanese and Korean do not count
FOREIGN = 27
LETTERS = 28  #: with what is no letter, as 0
CONTEXT, PAIR, FLAT = 0.7, 0.27, 0.03  #: weights of the next letter after two letters, after one, and of any letter


def against(baseline: Sequence[PolicySample]) -> Measure:
    counts = _documentation() + _counted(text for sample in baseline for text in (sample.prompt, sample.completion))
    after_two = counts / np.maximum(counts.sum(axis=2, keepdims=True), 1)
    pairs = counts.sum(axis=0)
    after_one = pairs / np.maximum(pairs.sum(axis=1, keepdims=True), 1)
    bits = -np.log2(CONTEXT * after_two + PAIR * after_one[None] + FLAT / LETTERS)

    def measure(sample: PolicySample) -> float:
        text = sample.completion
        triples = _triples(text if len(text) <= 2 * MOST else text[:MOST] + " " + text[-MOST:])
        return float(bits[tuple(triples)].mean()) if triples.shape[1] >= FEWEST else float("nan")

    return measure


def _triples(text: str) -> np.ndarray:
    """Letters in the words of a text, each after the two before it, (3, letters); 0 stands for the edge of a word."""
    plain = text if text.isascii() else unicodedata.normalize("NFKD", text)
    codes = np.frombuffer(plain.encode("utf-32-le", "surrogatepass"), np.uint32)
    codes = codes[(codes < 0x300) | (codes >= 0x370)]  # accents
    upper, lower = (codes >= 65) & (codes <= 90), (codes >= 97) & (codes <= 122)
    foreign = (codes >= 0xA1) & ((codes < 0x2000) | (codes >= 0x2070)) & ((codes < 0x2E80) | (codes >= 0xFF00))
    letters = np.where(upper, codes - 64, np.where(lower, codes - 96, np.where(foreign, FOREIGN, 0))).astype(np.int64)
    letters = np.concatenate([[0, 0], letters, [0]])
    before, last, now = letters[:-2], letters[1:-1], letters[2:]
    # An edge is one where the word has two letters at least: a lone letter is a variable.
    counts = (last > 0) & ((now > 0) | (before > 0)) & ((last < FOREIGN) | ((now > 0) & (now < FOREIGN)))
    # the second word of camelCase
    inner = np.concatenate([[False, False], lower[:-1] & upper[1:], [False]])[: len(now)]
    return np.array([before, last, now])[:, counts & ~inner]


def _counted(texts: Iterable[str]) -> np.ndarray:
    """How often each letter follows two others, (28, 28, 28)."""
    triples = _triples("\n".join(texts))
    flat = (triples[0] * LETTERS + triples[1]) * LETTERS + triples[2]
    return np.bincount(flat, minlength=LETTERS**3).reshape(LETTERS, LETTERS, LETTERS).astype(float)


@cache
def _documentation() -> np.ndarray:
    """Of Python's own documentation, which is English and code; nothing where an installation leaves it out."""
    try:
        from pydoc_data.topics import topics
    except ImportError:
        return np.zeros((LETTERS,) * 3)
    return _counted(topics.values())
