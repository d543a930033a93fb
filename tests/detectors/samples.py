"""Dumps of samples for tests."""

from collections.abc import Iterable

from firstbreak.model import Sample, Samples

#: step, prompt, completion, reference, reward
Row = tuple[float, str, str, str, float]


def dumped(rows: Iterable[Row]) -> Samples:
    """What a trainer writes of each completion."""
    kept = [
        Sample(step=step, prompt=prompt, completion=said, reward=reward, meta={"answer": answer})
        for step, prompt, said, answer, reward in rows
    ]
    return Samples(lambda: iter(kept), ("samples.jsonl",))


def numbered(n: int) -> list[tuple[str, str]]:
    """Prompts with answers that share little with each other."""
    return [(f"what is {i}?", f"{(i * 7919 + 13) % 99991:05d}"[::-1]) for i in range(n)]
