"""Strategies by what completions say: clusters of sentence embeddings, where a model lies on this machine.

The model is a folder of static embeddings as model2vec saves them: that library runs on numpy alone, reads safetensors (and
so executes nothing), and embeds thousands of texts in a second without torch. Nothing is ever fetched.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from firstbreak.readers import Unreadable

Embed = Callable[[Sequence[str]], np.ndarray]  #: n texts -> (n, dimensions)
SAME = (
    0.7  #: cosine, once what all texts of the beginning have in common is left out: a closer one is the same strategy
)


def load(path: Path) -> Embed:
    """The model in a folder. Raises Unreadable where it is none, or where model2vec is not installed."""
    if not path.is_dir():  # for model2vec, what is no folder is a name on the hub
        raise Unreadable(path, "is no folder", "give the folder of a model of sentence embeddings; none is downloaded")
    try:
        from model2vec import StaticModel
    except ImportError:
        raise Unreadable(path, "embeddings need model2vec", "pip install 'firstbreak[embeddings]'") from None
    try:
        model = StaticModel.from_pretrained(path)
    except Exception as error:  # whatever a broken file brings about in json, safetensors or tokenizers
        problem = f"is no model of sentence embeddings ({type(error).__name__})"
        remedy = "give a folder that model2vec saved: config.json, model.safetensors, tokenizer.json"
        raise Unreadable(path, problem, remedy) from None
    return lambda texts: np.asarray(model.encode(list(texts), use_multiprocessing=False), dtype=float)


def clusters(vectors: np.ndarray, baseline: int) -> np.ndarray:
    """The cluster of each row of (n, dimensions), in order: that of the nearest leader, or a new one that it leads
    (Hartigan, "Clustering Algorithms", 1975, ch. 3). The mean of the first `baseline` rows is left out of all."""
    centred = vectors - vectors[:baseline].mean(axis=0)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    units = np.divide(centred, length, out=np.zeros_like(centred), where=length > 1e-9)
    leaders, labels, led = np.empty_like(units), np.zeros(len(units), dtype=int), 0
    for i, unit in enumerate(units):
        alike = leaders[:led] @ unit
        if led and (alike.max() >= SAME or not unit.any()):
            labels[i] = int(alike.argmax())
        else:
            leaders[led], labels[i] = unit, led
            led += 1
    return labels
