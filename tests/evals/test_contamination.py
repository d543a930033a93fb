"""What training data gives away of a split, and what it does not."""

import gzip
import json
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firstbreak.evals.contamination import Found, Index, documents, memorised, prefixes
from firstbreak.readers import Unreadable

WORDS = [f"{a}{b}{c}" for a in "bdfgklmnprst" for b in "aeiou" for c in "bdgklmnrst"]
texts = st.lists(st.text(alphabet="ab 12.\n", max_size=60), max_size=8)


def text(rng: random.Random, n: int = 60) -> str:
    return " ".join(rng.choices(WORDS, k=n))


def reworded(rng: random.Random, words: str, rate: float) -> str:
    """Some words replaced, left out or added; letters in another case, other punctuation."""
    out = []
    for word in words.split():
        kind = rng.random() / rate
        out += [] if kind < 1 / 3 else [rng.choice(WORDS)] if kind < 2 / 3 else [word]
        out += [rng.choice(WORDS)] if 2 / 3 < kind < 1 else []
    return ", ".join(out).capitalize()


def look(split: list[str], train: list[str]) -> Found:
    return Index(split).search(train)


def test_planted_rewordings_are_found_and_nothing_else() -> None:
    rng = random.Random(0)
    split = [text(rng, rng.randint(40, 90)) for _ in range(600)]
    train = [text(rng, rng.randint(40, 90)) for _ in range(3000)]
    planted = set(range(0, 600, 2))
    for i in planted:
        train[5 * i] = reworded(rng, split[i], 0.06)
    found = look(split, train)
    assert len(found.contaminated & planted) >= 0.99 * len(planted)
    assert found.contaminated - planted == set()
    assert all(train[place] == train[5 * i] for i, (place, _) in found.reworded.items())


def test_case_spacing_and_punctuation_do_not_hide_a_copy() -> None:
    found = look(["What is the capital of France?"], ["noise", "WHAT is  the capital,\nof france"])
    assert found.exact == {0: 1}


def test_a_problem_inside_a_long_document_is_found_by_its_pieces() -> None:
    rng = random.Random(1)
    problem = text(rng, 40)
    found = look([problem, text(rng, 40)], [f"{text(rng, 500)} {problem} {text(rng, 500)}"])
    assert found.contaminated == {0}
    assert found.pieces == {0: 1.0}
    assert found.reworded == {}


def test_a_quotation_is_not_contamination() -> None:
    rng = random.Random(2)
    problem = text(rng, 60)
    found = look([problem], [f"{text(rng, 60)} {' '.join(problem.split()[:15])}"])
    assert found.contaminated == set()
    assert 0 < found.pieces[0] < 0.1


def test_the_same_template_with_other_numbers_is_another_problem() -> None:
    template = "A farmer has {} cows and buys {} more cows at the market, how many cows does the farmer have now"
    found = look([template.format(3, 5)], [template.format(7, 2), template.format(4, 4)])
    assert found.contaminated == set()
    assert found.templates == {0: 0}
    again = look([template.format(3, 5)], [template.format(3, 5).replace("now", "today")])
    assert again.contaminated == {0}


def test_short_problems_are_compared_whole() -> None:
    found = look(["12+34=", "58+67="], ["58+67=", "58+68=", "a 12+34= b"])
    assert found.exact == {1: 0}


def test_one_word_makes_a_short_problem_another_one() -> None:
    found = look(["What is the capital of France?"], ["What is the capital of Spain?"])
    assert found.contaminated == set()


@settings(max_examples=60)
@given(texts, texts)
def test_any_texts_can_be_looked_at(split: list[str], train: list[str]) -> None:
    found = look(split, train)
    assert found.trained == len(train)
    assert found.contaminated <= set(range(len(split)))
    copies = {i for i, problem in enumerate(split) if problem.strip(" .\n") and problem in train}
    assert copies <= set(found.exact)


def test_batches_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(3)
    split = [text(rng) for _ in range(20)]
    train = [reworded(rng, problem, 0.05) for problem in split] + [text(rng) for _ in range(30)]
    whole = look(split, train)
    monkeypatch.setattr("firstbreak.evals.contamination.BATCH", 3)
    assert look(split, train) == whole


def test_texts_come_from_json_lines_gzip_parquet_and_lines(tmp_path: Path) -> None:
    rows = [{"id": "a", "question": "one two"}, {"id": "b", "question": "three"}]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (tmp_path / "a.jsonl").write_text(lines)
    with gzip.open(tmp_path / "a.jsonl.gz", "wt") as file:
        file.write(lines)
    (tmp_path / "a.txt").write_text("one two\nthree\n")
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as parquet

    parquet.write_table(pa.Table.from_pylist(rows), tmp_path / "a.parquet")
    for name in ("a.jsonl", "a.jsonl.gz", "a.txt", "a.parquet"):
        assert [t.strip() for t in documents(tmp_path / name)] == ["one two", "three"]
    assert list(documents(tmp_path / "a.jsonl", ["id", "question"])) == ["a\none two", "b\nthree"]


def test_messages_are_read_as_their_contents(tmp_path: Path) -> None:
    row = {"messages": [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "there"}]}
    (tmp_path / "a.jsonl").write_text(json.dumps(row))
    assert list(documents(tmp_path / "a.jsonl")) == ["hello\nthere"]


def test_a_row_without_text_is_refused_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").write_text('{"text": "x"}\n{"label": 3}\n')
    with pytest.raises(
        Unreadable, match=r"a\.jsonl:2: no text in a row with the fields label; name the field with --field"
    ):
        list(documents(tmp_path / "a.jsonl"))


def test_a_model_that_knows_the_problems_goes_on_with_them() -> None:
    rng = random.Random(4)
    cut = list(prefixes(text(rng) for _ in range(50)))
    assert all(f"{start}{rest}".split() for start, rest in cut)
    knows = [(rest, rest if i < 20 else text(rng)) for i, (_, rest) in enumerate(cut)]
    found = memorised(knows)
    assert (found.documents, found.memorised, found.by_chance) == (50, tuple(range(20)), 0.0)


def test_answers_that_all_sound_alike_are_chance() -> None:
    common = "the answer to this is that there are exactly as many as before"
    found = memorised([(common, common)] * 10)
    assert len(found.memorised) == 10
    assert found.by_chance == 1.0
