"""Data checks on real tokenizers, real TRL batches and real files."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firstbreak.cli import app
from firstbreak.model import Action, Severity, Status
from firstbreak.preflight import Report, ReportTable, data
from firstbreak.preflight.data import pairs, tokens
from firstbreak.readers import Unreadable
from tests.preflight.reports import message, outcome, page

CHATML = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEXT = "what is the sum of and it a b c d e f user assistant one two three four five : . ?\n"


@pytest.fixture(scope="module")
def make_tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """A small tokenizer built here, saved as a user's model folder holds it."""
    tokenizers = pytest.importorskip("tokenizers")
    transformers = pytest.importorskip("transformers")

    def make(template: str | None = CHATML, eos: str = "<|im_end|>") -> Path:
        core = tokenizers.Tokenizer(tokenizers.models.BPE(unk_token="<unk>"))
        core.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
        core.decoder = tokenizers.decoders.ByteLevel()
        specials = ["<unk>", "<pad>", "<s>", "<|im_start|>", "<|im_end|>", "<|endoftext|>"]
        alphabet = tokenizers.pre_tokenizers.ByteLevel.alphabet()
        trained = tokenizers.trainers.BpeTrainer(vocab_size=400, special_tokens=specials, initial_alphabet=alphabet)
        core.train_from_iterator([TEXT] * 3, trained)
        fast = transformers.PreTrainedTokenizerFast(
            tokenizer_object=core, eos_token=eos, pad_token="<pad>", unk_token="<unk>", chat_template=template
        )
        folder = tmp_path_factory.mktemp("tokenizer")
        fast.save_pretrained(folder)
        return folder

    return make


def write(folder: Path, rows: list[dict[str, Any]], name: str = "train.jsonl") -> str:
    (folder / name).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return str(folder / name)


def good_pairs(n: int = 60) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    return [
        {
            "prompt": f"what is {i} and {i}?",
            "chosen": f"it is {2 * i} " + "x" * int(rng.integers(0, 20)),
            "rejected": f"it is {2 * i + 1} " + "x" * int(rng.integers(0, 20)),
            "score_chosen": 0.9,
            "score_rejected": 0.2,
        }
        for i in range(n)
    ]


# --- preference pairs ------------------------------------------------------------------------------------------------


def test_sound_pairs_give_no_finding(tmp_path: Path) -> None:
    report = data.check(write(tmp_path, good_pairs()))
    assert report.findings == ()
    assert outcome(report, "data-swapped").status is Status.OK


def test_swapped_columns_are_found_by_the_scores_beside_them(tmp_path: Path) -> None:
    rows = [row | {"chosen": row["rejected"], "rejected": row["chosen"], "score_chosen": 0.2, "score_rejected": 0.9}
            for row in good_pairs()]  # fmt: skip
    report = data.check(write(tmp_path, rows))
    assert report.action is Action.STOP
    assert "Swap the columns" in message(report, "data-swapped")


def test_swapped_columns_are_found_by_a_judge(tmp_path: Path) -> None:
    (tmp_path / "judge.py").write_text(
        "def right(prompt, completion):\n    return float(int(completion.split()[2]) % 2 == 0)\n"
    )
    rows = [{"prompt": r["prompt"], "chosen": r["rejected"], "rejected": r["chosen"]} for r in good_pairs()]
    report = data.check(write(tmp_path, rows), judge=f"{tmp_path}/judge.py:right")
    assert "swapped" in message(report, "data-swapped")
    assert outcome(data.check(write(tmp_path, rows)), "data-swapped").status is Status.NOT_MEASURED


def test_pairs_that_contradict_each_other_are_critical(tmp_path: Path) -> None:
    rows = good_pairs()
    rows.append(rows[3] | {"chosen": rows[3]["rejected"], "rejected": rows[3]["chosen"]})
    report = data.check(write(tmp_path, rows))
    assert "row 61 against row 4" in message(report, "data-duplicates")


@pytest.mark.parametrize(
    ("change", "probe", "said"),
    [
        (lambda r: r | {"rejected": r["chosen"]}, "data-identical", "same text in 60 of 60"),
        (lambda r: r | {"chosen": " "}, "data-identical", "empty in 60 of 60"),
        (lambda r: r | {"chosen": r["chosen"] + "y" * 40}, "data-length-leak", "length alone"),
        (lambda r: {"chosen": r["chosen"], "rejected": r["rejected"]}, "data-pair-prompts", "no prompt"),
    ],
)
def test_faults_of_pairs(change: Callable[[Any], Any], probe: str, said: str, tmp_path: Path) -> None:
    report = data.check(write(tmp_path, [change(row) for row in good_pairs()]))
    assert said in message(report, probe)


def test_repeated_pairs_are_counted(tmp_path: Path) -> None:
    rows = good_pairs()
    assert "1 of 61 pairs are repeated" in message(data.check(write(tmp_path, [*rows, rows[0]])), "data-duplicates")


@given(st.lists(st.tuples(st.text(max_size=3), st.text(max_size=3), st.text(max_size=3)), min_size=1, max_size=30))
def test_swapping_every_pair_keeps_what_is_symmetric(texts: list[tuple[str, str, str]]) -> None:
    def found(flip: bool) -> list[pairs.TextPair]:
        return [pairs.TextPair(i, p, *((b, a) if flip else (a, b))) for i, (p, a, b) in enumerate(texts, 1)]

    one, two = pairs.duplicates(found(False)), pairs.duplicates(found(True))
    assert str(one if isinstance(one, str) else one.message) == str(two if isinstance(two, str) else two.message)  # type: ignore[union-attr]


# --- prompts ---------------------------------------------------------------------------------------------------------


def prompt_rows(n: int = 80) -> list[dict[str, Any]]:
    kinds = ["Find the area of a circle", "Name the capital of country", "Sort the list of names", "Explain the rule"]
    return [
        {"prompt": f"{kinds[i % 4]} number {i} with {i * i} details and {i % 7} hints given below"} for i in range(n)
    ]


def test_test_prompts_in_the_training_data_are_found_exact_and_reworded(tmp_path: Path) -> None:
    pytest.importorskip("rensa")
    rows = prompt_rows()
    exact = {"prompt": rows[5]["prompt"].upper() + "  "}
    reworded = {"prompt": rows[9]["prompt"] + " please"}
    clean = [{"prompt": f"Completely other question {i} about rivers"} for i in range(10)]
    report = data.check(write(tmp_path, rows), test=write(tmp_path, [*clean, exact, reworded], "test.jsonl"))
    said = message(report, "data-test-overlap")
    assert said.startswith("2 of 12 test prompts")
    assert "1 word for word, 1 reworded" in said
    sound = data.check(write(tmp_path, rows), test=write(tmp_path, clean, "test.jsonl"))
    assert outcome(sound, "data-test-overlap").status is Status.OK


def test_repeated_prompts_and_few_prompts(tmp_path: Path) -> None:
    rows = prompt_rows()
    assert "repetitions" in message(data.check(write(tmp_path, rows + rows[:20])), "data-repeated-prompts")
    assert "memorises so few" in message(data.check(write(tmp_path, rows[:10])), "data-repeated-prompts")
    assert data.check(write(tmp_path, rows)).findings == ()


def test_prompts_longer_than_the_limit_are_counted_in_tokens(
    tmp_path: Path, make_tokenizer: Callable[..., Path]
) -> None:
    folder = make_tokenizer()
    rows = [*prompt_rows(60), {"prompt": "what is the sum of " * 200}]
    report = data.check(write(tmp_path, rows), tokenizer=str(folder), max_prompt=200)
    assert "1 of 61 prompts" in message(report, "data-prompt-length")
    assert "first: row 61" in message(report, "data-prompt-length")
    roomy = data.check(write(tmp_path, rows), tokenizer=str(folder), max_prompt=20_000)
    assert outcome(roomy, "data-prompt-length").status is Status.OK


# --- the tokenizer and the loss --------------------------------------------------------------------------------------


def chats(n: int = 12) -> list[dict[str, Any]]:
    return [
        {
            "prompt": [{"role": "user", "content": f"what is the sum of {i} and one ?"}],
            "completion": [{"role": "assistant", "content": f"it is {i + 1} ."}],
        }
        for i in range(n)
    ]


def test_a_sound_template_is_right(tmp_path: Path, make_tokenizer: Callable[..., Path]) -> None:
    report = data.check(write(tmp_path, chats()), tokenizer=str(make_tokenizer()))
    for probe in ("data-template", "data-end-of-text", "data-special-tokens"):
        assert outcome(report, probe).status is Status.OK, probe


@pytest.mark.parametrize(
    ("template", "eos", "probe", "said"),
    [
        (None, "<|im_end|>", "data-template", "no chat template"),
        (CHATML, "<|endoftext|>", "data-end-of-text", "never learns to write the token"),
        (CHATML.replace("{% if add", "{% if false and add"), "<|im_end|>", "data-template", "adds no start"),
        (CHATML.replace("<|im_start|>assistant\n{% endif %}", "<|im_start|>assistant:{% endif %}"), "<|im_end|>",
         "data-template", "gives the prompt different tokens"),
        ("{{ raise_exception('no system turn') }}", "<|im_end|>", "data-template", "fails on the data"),
    ],
)  # fmt: skip
def test_faults_of_templates(
    template: str | None, eos: str, probe: str, said: str, tmp_path: Path, make_tokenizer: Callable[..., Path]
) -> None:
    report = data.check(write(tmp_path, chats()), tokenizer=str(make_tokenizer(template, eos)))
    assert said in message(report, probe)
    assert outcome(report, probe).finding.severity is Severity.CRITICAL or "adds no start" in said  # type: ignore[union-attr]


def test_special_tokens_written_into_the_data_are_found(tmp_path: Path, make_tokenizer: Callable[..., Path]) -> None:
    rows = [{"prompt": f"<|im_start|>user\nquestion {i}<|im_end|>"} for i in range(60)]
    report = data.check(write(tmp_path, rows), tokenizer=str(make_tokenizer()))
    assert "in the text of 60 of 60 rows" in message(report, "data-special-tokens")


def test_trl_masks_the_prompt_and_trains_the_end(tmp_path: Path, make_tokenizer: Callable[..., Path]) -> None:
    pytest.importorskip("trl")
    report = data.check(write(tmp_path, chats()), tokenizer=str(make_tokenizer()), trainer="sft")
    assert outcome(report, "data-loss-mask").status is Status.OK, outcome(report, "data-loss-mask")
    shown = next(e for e in report.exhibits if isinstance(e, ReportTable) and e.title.startswith("Which tokens"))
    by_mark = {row[2]: row[0] for row in shown.rows}
    assert "it is 1 ." in by_mark["loss"]
    assert "<|im_end|>" in by_mark["loss"]
    assert "sum" in by_mark["-"]


def test_trl_trained_on_everything_says_so(tmp_path: Path, make_tokenizer: Callable[..., Path]) -> None:
    pytest.importorskip("trl")
    settings = {"completion_only_loss": False}
    report = data.check(write(tmp_path, chats()), tokenizer=str(make_tokenizer()), trainer="sft", settings=settings)
    assert "covers prompts as well" in message(report, "data-loss-mask")


def test_trl_dpo_with_a_limit_that_cuts_the_answers(tmp_path: Path, make_tokenizer: Callable[..., Path]) -> None:
    pytest.importorskip("trl")
    rows = [{"prompt": r["prompt"], "chosen": r["completion"],
             "rejected": [{"role": "assistant", "content": "no"}]} for r in chats()]  # fmt: skip
    place, tokenizer = write(tmp_path, rows), str(make_tokenizer())
    sound = data.check(place, tokenizer=tokenizer, trainer="dpo")
    assert outcome(sound, "data-loss-mask").status is Status.OK
    cut = data.check(place, tokenizer=tokenizer, trainer="dpo", settings={"max_length": 8})
    assert "drops every row" in message(cut, "data-loss-mask")


COLLATORS = """
import torch
def rows_of(rows, tokenizer):
    texts = [r["prompt"] + " " + r["answer"] for r in rows]
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    batch["labels"] = batch["input_ids"].clone()
    return batch
def padding_trained(rows, tokenizer):
    return rows_of(rows, tokenizer)
def no_end(rows, tokenizer):
    batch = rows_of(rows, tokenizer)
    batch["labels"][batch["attention_mask"] == 0] = -100
    return batch
def nothing(rows, tokenizer):
    batch = rows_of(rows, tokenizer)
    batch["labels"][:] = -100
    return batch
def fails(rows, tokenizer):
    return rows[0]["missing"]
"""


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("padding_trained", "padding gets loss"),
        ("no_end", "never learns to stop"),
        ("nothing", "no token gets loss"),
        ("fails", "KeyError"),
    ],
)
def test_faults_of_collators(name: str, said: str, tmp_path: Path, make_tokenizer: Callable[..., Path]) -> None:
    (tmp_path / "mine.py").write_text(COLLATORS)
    rows = [{"prompt": f"what is {i}" + " and" * (i % 5), "answer": "it is five"} for i in range(60)]
    report = data.check(write(tmp_path, rows), tokenizer=str(make_tokenizer()), collate=f"{tmp_path}/mine.py:{name}")
    assert said in message(report, "data-loss-mask")


def test_a_tokenizer_json_alone_is_enough(make_tokenizer: Callable[..., Path]) -> None:
    loaded = tokens.load(str(make_tokenizer() / "tokenizer.json"))
    assert tokens.encode(loaded, "what is it") == loaded("what is it")["input_ids"]


# --- recorded transitions --------------------------------------------------------------------------------------------


def transitions(episodes: int = 30, length: int = 40) -> dict[str, np.ndarray]:
    """A point that is pushed about; the reward is its closeness to the goal, and episodes end at different times."""
    rng = np.random.default_rng(0)
    rows: dict[str, list[Any]] = {
        k: [] for k in ("observations", "actions", "rewards", "terminals", "next_observations")
    }
    for _ in range(episodes):
        state, steps = rng.normal(size=3), length - int(rng.integers(0, 20))
        for t in range(steps):
            action = rng.normal(size=2)
            after = state * 0.9 + 0.1 * np.concatenate([action, [0.3]]) + 0.3 * rng.normal(size=3)
            for name, value in zip(rows, (state, action, after[0] + action[1], t == steps - 1, after), strict=True):
                rows[name].append(value)
            state = after
    return {name: np.array(values) for name, values in rows.items()}


def offline(tmp_path: Path, arrays: dict[str, np.ndarray]) -> Report:
    np.savez(tmp_path / "steps.npz", **arrays)  # type: ignore[arg-type]
    return data.check(str(tmp_path / "steps.npz"))


def test_sound_transitions_give_no_finding(tmp_path: Path) -> None:
    report = offline(tmp_path, transitions())
    assert report.findings == ()
    assert {o.status for o in report.outcomes} == {Status.OK}


def shifted(name: str, by: int) -> Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]]:
    return lambda arrays: arrays | {name: np.roll(arrays[name], by)}


@pytest.mark.parametrize(
    ("change", "probe", "said"),
    [
        (shifted("terminals", 1), "offline-ends", "one row late"),
        (shifted("terminals", -1), "offline-ends", "one row early"),
        (lambda a: a | {"terminals": np.zeros(len(a["rewards"]), bool)}, "offline-ends", "no episode ends"),
        (lambda a: a | {"terminals": a["terminals"] & (np.arange(len(a["rewards"])) < 500)}, "offline-ends", "have no end flag"),
        (shifted("rewards", 1), "offline-rewards", "the next step"),
        (shifted("rewards", -1), "offline-rewards", "the step before"),
        (lambda a: a | {"rewards": a["rewards"][:-1]}, "offline-arrays", "different lengths"),
        (lambda a: a | {"rewards": np.where(np.arange(len(a["rewards"])) == 7, np.nan, a["rewards"])}, "offline-arrays",
         "first: row 7"),
    ],
)  # fmt: skip
def test_faults_of_transitions(
    change: Callable[[dict[str, np.ndarray]], dict[str, np.ndarray]], probe: str, said: str, tmp_path: Path
) -> None:
    assert said in message(offline(tmp_path, change(transitions())), probe)


def test_time_limits_recorded_as_terminal_are_found(tmp_path: Path) -> None:
    arrays = transitions()
    ends = np.zeros(len(arrays["rewards"]), bool)
    ends[24::25] = True
    found = offline(tmp_path, {k: v for k, v in arrays.items() if k != "next_observations"} | {"terminals": ends})
    assert "that is a time limit" in message(found, "offline-time-limits")


# --- files -----------------------------------------------------------------------------------------------------------


def test_every_format_gives_the_same_rows(tmp_path: Path) -> None:
    pytest.importorskip("datasets")
    from datasets import Dataset

    rows = [{"prompt": f"q{i}", "answer": f"a{i}"} for i in range(5)]
    table = Dataset.from_list(rows)
    table.save_to_disk(str(tmp_path / "saved"))
    table.to_parquet(str(tmp_path / "rows.parquet"))
    table.to_csv(str(tmp_path / "rows.csv"))
    (tmp_path / "rows.json").write_text(json.dumps({"data": rows}))
    for place in (
        write(tmp_path, rows),
        *(str(tmp_path / n) for n in ("saved", "rows.parquet", "rows.csv", "rows.json")),
    ):
        assert data.rows.rows(place) == rows, place


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("a.jsonl", b'{"prompt": 1}\n{', "a.jsonl:2"),
        ("a.jsonl", b"[1]", "is a list"),
        ("a.jsonl", b"", "holds no rows"),
        ("a.parquet", b"PAR1 no", "no Parquet"),
        ("a.xyz", b"x", "holds no rows that firstbreak knows"),
        ("a.npz", b"PK no", "cannot be read"),
    ],
)
def test_a_bad_file_is_one_clear_line(name: str, content: bytes, said: str, tmp_path: Path) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(Unreadable, match=said):
        data.check(str(tmp_path / name))


def test_pickles_are_not_opened(tmp_path: Path) -> None:
    np.savez(tmp_path / "steps.npz", rewards=np.array([object()]), observations=np.zeros(1))
    with pytest.raises(Unreadable, match="plain arrays"):
        data.check(str(tmp_path / "steps.npz"))


def test_on_the_command_line(tmp_path: Path) -> None:
    rows = [row | {"chosen": row["rejected"], "rejected": row["chosen"]} for row in good_pairs()]
    for row in rows:
        row["score_chosen"], row["score_rejected"] = row["score_rejected"], row["score_chosen"]
    assert "data-swapped" in page(app, "check", "data", write(tmp_path, rows), code=1)


# --- episodes with tools ----------------------------------------------------------------------------------------------


def recorded(path: Path, failed: float, **reward: Callable[[bool], float]) -> Path:
    """Sixty episodes with one call each, some of which fail; `reward` says what an episode is worth."""
    with path.open("w") as out:
        for i in range(60):
            broke = i < 60 * failed
            use = {"type": "tool_use", "id": "a", "name": "look", "input": {"order": {"id": i}}}
            told = {"type": "tool_result", "tool_use_id": "a", "content": "x", "is_error": broke}
            messages = [{"role": "user", "content": f"Ship order {i}."}, {"role": "assistant", "content": [use]},
                        {"role": "user", "content": [told]}, {"role": "assistant", "content": "Done."}]  # fmt: skip
            out.write(json.dumps({"messages": messages, **{name: f(broke) for name, f in reward.items()}}) + "\n")
    return path


def test_failed_calls_that_are_kept_as_successes_are_found(tmp_path: Path) -> None:
    paid = data.check(str(recorded(tmp_path / "a.jsonl", 0.3, reward=lambda broke: 1.0 if broke else 0.4)))
    assert "graded as success" in outcome(paid, "data-failed-calls").finding.message  # type: ignore[union-attr]
    unsaid = data.check(str(recorded(tmp_path / "b.jsonl", 0.3)))
    assert "18 of 60" in outcome(unsaid, "data-failed-calls").finding.message  # type: ignore[union-attr]


def test_failed_calls_that_count_as_failures_are_left_alone(tmp_path: Path) -> None:
    right = data.check(str(recorded(tmp_path / "a.jsonl", 0.3, reward=lambda broke: float(not broke))))
    assert outcome(right, "data-failed-calls").finding is None
    fine = data.check(str(recorded(tmp_path / "b.jsonl", 0.0)))
    assert outcome(fine, "data-failed-calls").finding is None
