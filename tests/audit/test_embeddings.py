"""Strategies by meaning, with a tiny real model that is made on the spot: synonyms have the same vector."""

import random
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.audit.audit import audit
from firstbreak.audit.embeddings import clusters, load
from firstbreak.cli.audit import command
from firstbreak.cli.demo import RUN
from firstbreak.model import Sample
from firstbreak.readers import Unreadable
from tests.command import printed
from tests.lazy import lazy

model2vec = lazy("model2vec")
tokenizers = lazy("tokenizers")

MEANINGS = (("add", "sum", "plus"), ("sorry", "cannot", "refuse"), ("guess", "maybe", "perhaps"))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with static embeddings of nine words of three meanings."""
    words = ["[UNK]", *(word for meaning in MEANINGS for word in meaning)]
    tokenizer = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({word: i for i, word in enumerate(words)}, unk_token="[UNK]")
    )
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    vectors = np.vstack([np.zeros(3), np.repeat(np.eye(3), 3, axis=0)]).astype(np.float32)
    folder = tmp_path_factory.mktemp("model")
    model2vec.StaticModel(vectors, tokenizer).save_pretrained(folder)
    return folder


def samples() -> list[Sample]:
    """Every text is different; from the middle on all mean the same."""
    rng = random.Random(0)
    return [
        Sample(step=float(step), prompt=str(i), completion=" ".join(rng.choices(MEANINGS[kind], k=rng.randint(3, 20))))
        for step in range(20)
        for i in range(12)
        for kind in [0 if step >= 10 else i % 3]
    ]


def test_what_means_the_same_is_one_strategy(model: Path) -> None:
    by_meaning, by_form = audit(samples(), embed=load(model)).diversity, audit(samples()).diversity
    assert by_meaning is not None
    assert by_form is not None
    assert by_meaning.strategies.values[0] == pytest.approx(3)
    assert by_meaning.strategies.values[-1] == pytest.approx(1)
    assert by_meaning.share == 1
    assert by_form.strategies.values[-1] > 3, "the form alone does not tell"


def test_the_command_takes_a_folder(model: Path) -> None:
    result = printed(command, RUN, "--embeddings", model, "--fail-on", "never")
    assert "effective number of strategies" in result


def test_what_is_no_model_is_refused_in_a_line(tmp_path: Path, model: Path) -> None:
    with pytest.raises(Unreadable, match="is not a folder"):
        load(Path("minishlab/potion-base-8M"))
    with pytest.raises(Unreadable, match="is not a sentence-embedding model"):
        load(tmp_path)
    for file in model.iterdir():
        if file.is_file():
            (tmp_path / file.name).write_bytes(file.read_bytes())
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 40)
    with pytest.raises(Unreadable, match="is not a sentence-embedding model"):
        load(tmp_path)


def test_without_the_extra_it_says_what_to_install(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "model2vec", None)
    with pytest.raises(Unreadable, match="model2vec") as refused:
        load(model)
    assert "firstbreak[embeddings]" in str(refused.value)


@given(st.integers(0, 2**32 - 1))
def test_clusters_are_numbered_as_they_appear_and_copies_share_one(seed: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(9, 3))
    labels = clusters(vectors, baseline=4)
    assert labels[0] == 0
    assert (np.diff(np.maximum.accumulate(labels)) <= 1).all()
    assert (clusters(np.repeat(vectors, 2, axis=0), baseline=8) == np.repeat(labels, 2)).all()
