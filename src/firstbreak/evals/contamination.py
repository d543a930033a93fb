"""Which problems of a split are in the training data: word for word, in long pieces, or reworded.

The split is indexed and held in memory. The training data is read once, in batches, whatever its size. Words are compared
without case, punctuation and spacing.

- *exact*: the same words in the same order.
- *pieces*: half of all 13-word sequences of a problem occur in the training data. (In the GPT-3 report, appendix C, one
  sequence was enough; many single sequences are quotations.)
- *reworded*: a training document shares 40 % of all 3-word sequences (Jaccard) and contains the same numbers: about one
  word in ten was changed. Candidates are found by MinHash and banding (Broder 1997) and then counted exactly, so there are
  no matches by chance. A document with other numbers is another problem of the same template, and is counted separately.

A problem of fewer than 13 words is searched for as a whole only, because one word can make it a different problem.
"""

import gzip
import hashlib
import itertools
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from firstbreak.readers import Unreadable
from firstbreak.readers._json import loads

PIECE = 13  #: words
SHINGLE = 3  #: words
COVERED = 0.5  #: of the pieces of a problem
ALIKE = 0.4  #: Jaccard similarity of shingles
PERMUTATIONS, BANDS, ROWS = 192, 64, 3  #: finds 98.5 % at a similarity of 0.4, 99.98 % at 0.5
SEED = 7
BATCH = 4096  #: training documents held at a time
VOCABULARY = 2_000_000  #: hashes of words that are remembered
NAMES = ("text", "prompt", "question", "problem", "input", "instruction", "content", "messages")

_WORD = re.compile(r"\w+")
_BASE = np.uint64(0x9E3779B97F4A7C15)


@dataclass
class Found:
    """The problems of one split that the training data contains: problem number -> document number in the training data."""

    documents: int
    exact: dict[int, int] = field(default_factory=dict)
    pieces: dict[int, float] = field(default_factory=dict)  #: share of its pieces that occur in the training data
    reworded: dict[int, tuple[int, float]] = field(default_factory=dict)  #: document number and similarity
    templates: dict[int, int] = field(default_factory=dict)  #: similar documents with other numbers
    trained: int = 0  #: number of training documents

    @property
    def contaminated(self) -> set[int]:
        """Every problem that the training data contains: exact, in pieces, or reworded."""
        return {*self.exact, *self.reworded, *(i for i, share in self.pieces.items() if share >= COVERED)}


class _Words:
    """Texts as arrays of word hashes. Each word is hashed once."""

    def __init__(self) -> None:
        self._known: dict[str, int] = {}

    def __call__(self, text: str) -> np.ndarray:
        if len(self._known) > VOCABULARY:
            self._known.clear()
        known = self._known
        words = _WORD.findall(text.lower() if text.isascii() else unicodedata.normalize("NFKC", text).casefold())
        return np.array([known.get(word) or self._hash(word) for word in words], dtype=np.uint64)

    def _hash(self, word: str) -> int:
        data = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        # The last bit says whether the word contains a digit: numbers distinguish problems of one template.
        value = int.from_bytes(data, "little") & ~1 | any(c.isdigit() for c in word)
        self._known[word] = value
        return value


def runs(flat: np.ndarray, ends: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of all sequences of `n` words within one document, and the document of each. Both of shape (sequences,)."""
    if len(flat) < n:
        return np.empty(0, np.uint64), np.empty(0, np.int64)
    hashes = np.zeros(len(flat) - n + 1, np.uint64)
    with np.errstate(over="ignore"):
        for j in range(n):
            hashes = hashes * _BASE + flat[j : len(flat) - n + 1 + j]
        hashes ^= hashes >> np.uint64(31)
        hashes *= np.uint64(0xBF58476D1CE4E5B9)
        hashes ^= hashes >> np.uint64(29)
    owner = np.searchsorted(ends, np.arange(len(hashes)), side="right")
    inside = np.arange(len(hashes)) + n <= ends[owner]
    return hashes[inside], owner[inside]


class Index:
    """A split, indexed for the search in training data."""

    def __init__(self, documents: Sequence[str]) -> None:
        self.words = _Words()
        self.size = len(documents)
        arrays = [self.words(text) for text in documents]
        flat, ends = _joined(arrays)
        self._whole = _Lookup(_whole(arrays), np.arange(len(arrays)))
        self._pieces = _Lookup(*runs(flat, ends, PIECE))
        self._covered = np.zeros(len(self._pieces.keys), bool)
        long = np.array([len(array) >= PIECE for array in arrays], bool)
        shingles, owner = runs(flat, ends, SHINGLE)
        shingles, owner = shingles[long[owner]], owner[long[owner]]
        self._shingles = np.split(shingles, np.searchsorted(owner, np.arange(1, self.size)))
        self._numbers = [_numbers(array) for array in arrays]
        signed, signatures = _signatures(shingles, owner)
        self._bands = [_Lookup(keys, signed) for keys in _bands(signatures)]

    def search(self, documents: Iterable[str], report: Callable[[int], None] = lambda done: None) -> Found:
        """Search the training data for the problems of the split. `report` is told how many texts are done."""
        found = Found(self.size)
        self._covered[:] = False
        iterator = iter(documents)
        while batch := list(itertools.islice(iterator, BATCH)):
            self._batch([self.words(text) for text in batch], found)
            found.trained += len(batch)
            report(found.trained)
        covered = np.bincount(self._pieces.owners, self._covered, minlength=self.size)
        total = np.bincount(self._pieces.owners, minlength=self.size)
        found.pieces = {int(i): float(covered[i] / total[i]) for i in np.flatnonzero(covered)}
        return found

    def _batch(self, arrays: list[np.ndarray], found: Found) -> None:
        flat, ends = _joined(arrays)
        for here, there in zip(*self._whole.pairs(_whole(arrays)), strict=True):
            found.exact.setdefault(int(there), found.trained + int(here))
        self._covered[self._pieces.known(runs(flat, ends, PIECE)[0])] = True
        shingles, owner = runs(flat, ends, SHINGLE)
        signed, signatures = _signatures(shingles, owner)
        candidates = {
            (int(signed[here]), int(there))
            for lookup, keys in zip(self._bands, _bands(signatures), strict=True)
            for here, there in zip(*lookup.pairs(keys), strict=True)
        }
        for here, there in sorted(candidates):
            start, end = np.searchsorted(owner, (here, here + 1))
            self._judge(here, there, shingles[start:end], arrays[here], found)

    def _judge(self, here: int, there: int, shingles: np.ndarray, words: np.ndarray, found: Found) -> None:
        if there in found.exact:
            return
        one, other = np.unique(shingles), np.unique(self._shingles[there])
        shared = len(np.intersect1d(one, other, assume_unique=True))
        similarity = shared / (len(one) + len(other) - shared)
        if similarity < ALIKE:
            return
        if not np.array_equal(_numbers(words), self._numbers[there]):
            found.templates.setdefault(there, found.trained + here)
        elif similarity > found.reworded.get(there, (0, 0.0))[1]:
            found.reworded[there] = (found.trained + here, similarity)


class _Lookup:
    """Hash -> documents with this hash, in two sorted arrays."""

    def __init__(self, keys: np.ndarray, owners: np.ndarray) -> None:
        order = np.argsort(keys, kind="stable")
        self.keys, self.owners = keys[order], owners[order]

    def pairs(self, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(index in `keys`, owner) of every match."""
        first, last = np.searchsorted(self.keys, keys, "left"), np.searchsorted(self.keys, keys, "right")
        hit = np.flatnonzero(last > first)
        counts = last[hit] - first[hit]
        places = np.repeat(hit, counts)
        within = np.arange(len(places)) - np.repeat(np.cumsum(counts) - counts, counts)
        return places, self.owners[np.repeat(first[hit], counts) + within]

    def known(self, keys: np.ndarray) -> np.ndarray:
        """A mask of the own entries that occur among `keys`."""
        if not len(self.keys):
            return np.zeros(0, bool)
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return np.isin(self.keys, keys[self.keys[place] == keys])


def _joined(arrays: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """All words in one array, and where each document ends."""
    ends = np.cumsum([len(array) for array in arrays], dtype=np.int64)
    return (np.concatenate(arrays) if arrays else np.empty(0, np.uint64)), ends


def _whole(arrays: Sequence[np.ndarray]) -> np.ndarray:
    """One hash for each document. Documents without a word get hashes that match nothing."""
    digests = [hashlib.blake2b(array.tobytes(), digest_size=8).digest() for array in arrays]
    keys = np.frombuffer(b"".join(digests), np.uint64).copy()
    empty = np.flatnonzero([len(array) == 0 for array in arrays])
    keys[empty] = np.random.default_rng().integers(0, 2**63, len(empty), dtype=np.uint64)
    return keys


def _numbers(words: np.ndarray) -> np.ndarray:
    """The words that contain digits, sorted."""
    return np.sort(words[(words & np.uint64(1)).astype(bool)])


def _signatures(shingles: np.ndarray, owner: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Documents that have shingles, and their MinHash signatures: uint32 of shape (documents, PERMUTATIONS)."""
    try:
        from rensa import RMinHash  # type: ignore[import-untyped]
    except ModuleNotFoundError:
        raise Unreadable("contamination", "MinHash needs rensa", "pip install 'firstbreak[eval]'") from None
    starts = np.flatnonzero(np.diff(owner, prepend=-1))
    signed = owner[starts]
    if not len(signed):
        return signed, np.empty((0, PERMUTATIONS), np.uint32)
    offsets = np.append(starts, len(shingles)).astype(np.uint64)
    matrix = RMinHash.digest_matrix_from_flat_token_hashes(shingles, offsets, PERMUTATIONS, SEED)
    return signed, np.array(matrix.to_rows(), np.uint32)


def _bands(signatures: np.ndarray) -> list[np.ndarray]:
    """One hash for each band of a signature. Documents that share a hash are compared exactly."""
    used = signatures[:, : BANDS * ROWS].astype(np.uint64).reshape(len(signatures), BANDS, ROWS)
    with np.errstate(over="ignore"):
        keys = (used[..., 0] * _BASE + used[..., 1]) * _BASE + used[..., 2]
    return list(keys.T)


# --- texts from files -----------------------------------------------------------------------------------------------


def documents(path: Path, names: Sequence[str] = ()) -> Iterator[str]:
    """The texts of a file, one after the other: JSON lines (also gzipped), Parquet, or one text a line.

    `names` are the fields that make up a text. Without them, the first of `NAMES` that a row contains is used. Raises
    Unreadable where a row contains none of them.
    """
    suffixes = [suffix for suffix in path.suffixes[-2:] if suffix != ".gz"]
    suffix = suffixes[-1] if suffixes else ""
    try:
        if suffix == ".parquet":
            yield from (_text(path, row, names, i) for i, row in enumerate(_parquet(path), 1))
            return
        with gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb") as file:
            for i, line in enumerate(file, 1):
                if suffix not in (".jsonl", ".json", ".ndjson"):
                    yield line.decode("utf-8", "replace")
                elif line.strip():
                    yield _text(path, _row(path, line, i), names, i)
    except (OSError, EOFError) as error:
        raise Unreadable(path, str(error), "give a file of texts: JSON lines, Parquet, or one text a line") from None


def rows_in(path: Path) -> int | None:
    """How many texts a file holds at most, where that is known without reading them: None of a packed file."""
    if path.suffix == ".gz":
        return None
    try:
        if path.suffix == ".parquet":
            import pyarrow.parquet as parquet  # type: ignore[import-untyped]

            return int(parquet.read_metadata(path).num_rows)
        with path.open("rb") as file:
            return sum(block.count(b"\n") for block in iter(partial(file.read, 1 << 20), b""))
    except Exception:  # `documents` says what is wrong with it
        return None


def _parquet(path: Path) -> Iterator[dict[str, Any]]:
    try:
        import pyarrow.parquet as parquet
    except ModuleNotFoundError:
        raise Unreadable(path, "Parquet needs pyarrow", "pip install 'firstbreak[parquet]'") from None
    with parquet.ParquetFile(path) as file:
        for batch in file.iter_batches(BATCH):
            yield from batch.to_pylist()


def _row(path: Path, line: bytes, place: int) -> dict[str, Any]:
    try:
        row = loads(line)
    except ValueError as error:
        raise Unreadable(path, f"is not JSON ({error})", "write one JSON object on each line", str(place)) from None
    return row if isinstance(row, dict) else {"text": row}


def _text(path: Path, row: dict[str, Any], names: Sequence[str], place: int) -> str:
    wanted = names or [name for name in NAMES if name in row][:1]
    if not wanted or not any(name in row for name in wanted):
        known = ", ".join(map(str, row))[:80]
        raise Unreadable(path, f"no text in a row with the fields {known}", "name the field with --field", str(place))
    return "\n".join(_flat(row.get(name)) for name in wanted)


def _flat(value: Any) -> str:
    """The text, or the contents of a list of messages."""
    if isinstance(value, list):
        return "\n".join(_flat(item.get("content") if isinstance(item, dict) else item) for item in value)
    return "" if value is None else str(value)


# --- from what a model writes ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Memorisation:
    """How many problems a model continues word for word, and how many it would continue by chance."""

    documents: int
    memorised: tuple[int, ...]  #: their numbers
    by_chance: float  #: share of problems that are continued with the words of another problem


def prefixes(texts: Iterable[str], share: float = 0.6) -> Iterator[tuple[str, str]]:
    """(beginning, rest) of every text that is long enough."""
    for text in texts:
        spaces = [match.end() for match in re.finditer(r"\s+", text.strip())]
        if len(spaces) >= PIECE:
            cut = spaces[int(share * len(spaces))]
            yield text.strip()[:cut], text.strip()[cut:]


def memorised(outputs: Iterable[tuple[str, str]], least: int = 8) -> Memorisation:
    """The (expected, written) pairs that agree word for word, for `least` words or to the end.

    Chance is measured on the same texts: each written text is compared with the expected text of another problem.
    """
    words = _Words()
    pairs = [(words(expected), words(written)) for expected, written in outputs]
    pairs = [pair for pair in pairs if len(pair[0])]
    hits = tuple(i for i, (expected, written) in enumerate(pairs) if _continues(expected, written, least))
    order = np.random.default_rng(SEED).permutation(len(pairs))
    crossed = sum(_continues(pairs[i][0], pairs[j][1], least) for i, j in itertools.pairwise([*order, *order[:1]]))
    return Memorisation(len(pairs), hits, crossed / len(pairs) if len(pairs) > 1 else 0.0)


def _continues(expected: np.ndarray, written: np.ndarray, least: int) -> bool:
    n = min(least, len(expected))
    return np.array_equal(expected[:n], written[:n])
