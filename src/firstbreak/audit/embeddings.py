"""Strategies by meaning: clusters of sentence embeddings, with a local model.

The model is a folder of static embeddings, as saved by model2vec. This library needs only numpy, reads safetensors (which
execute nothing), and embeds thousands of texts per second without torch. Nothing is downloaded.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from firstbreak.readers import Unreadable

Embed = Callable[[Sequence[str]], np.ndarray]  #: n texts -> (n, dimensions)
#: cosine similarity after the mean of the early texts is subtracted; from this value on, the strategy is the same
SAME = 0.7


def load(path: Path) -> Embed:
    """The model in a folder. Raises Unreadable where there is no model, or model2vec is not installed."""
    if not path.is_dir():  # model2vec takes any other name as a name on the hub
        raise Unreadable(path, "is not a folder", "give the folder of a sentence-embedding model; none is downloaded")
    try:
        from model2vec import StaticModel
    except ImportError:
        raise Unreadable(path, "embeddings need model2vec", "pip install 'firstbreak[embeddings]'") from None
    try:
        model = StaticModel.from_pretrained(path)
    except Exception as error:  # any error of json, safetensors or tokenizers on a broken file
        problem = f"is not a sentence-embedding model ({type(error).__name__})"
        remedy = "give a folder that model2vec saved: config.json, model.safetensors, tokenizer.json"
        raise Unreadable(path, problem, remedy) from None
    return lambda texts: np.asarray(model.encode(list(texts), use_multiprocessing=False), dtype=float)


def clusters(vectors: np.ndarray, baseline: int) -> np.ndarray:
    """The cluster of each row of (n, dimensions), in order: the cluster of the nearest leader, or a new cluster
    (Hartigan, "Clustering Algorithms", 1975, ch. 3). The mean of the first `baseline` rows is subtracted from all rows."""
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
