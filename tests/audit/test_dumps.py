"""From a file to a report: real dumps of TRL, tables with columns of their own, and whatever is broken."""

import csv
import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner

from firstbreak.audit.audit import audit
from firstbreak.audit.columns import samples as table_samples
from firstbreak.audit.report import render_json, renderable
from firstbreak.cli.audit import command
from firstbreak.cli.demo import RUN
from firstbreak.model import Sample, Status
from firstbreak.readers import Unreadable, parquet, sample_dump
from firstbreak.readers import read as engine_read
from firstbreak.readers.read import read
from tests.audit.dumps import by_length, dump, longer_and_longer
from tests.lazy import lazy
from tests.there import there

firstbreak_lab_corpus = lazy("firstbreak_lab.corpus")
pa = lazy("pyarrow")
pq = lazy("pyarrow.parquet")

ROOT = Path(__file__).parent.parent.parent
HEALTHY = ROOT / "tests" / "data" / "trl_grpo_healthy"


def run(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(command, [str(a) for a in arguments], standalone_mode=True)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result.exit_code, result.output


# Real dumps -----------------------------------------------------------------------------------------------------------


def test_the_completions_of_a_real_run_of_trl_alone() -> None:
    """Without the trainer's log: 256 samples say that something pays for length, and since when."""
    code, said = run(RUN / "completions.jsonl", "--format", "json")
    found = json.loads(said)
    assert code == 1
    assert found["samples"] == 256
    hack = next(f for f in found["findings"] if f["id"] == "reward-hacking")
    assert hack["facts"]["payer"] == "thoroughness"
    assert hack["interval"][0] <= 60 <= hack["interval"][1]
    assert found["components"][0]["name"] == "thoroughness"


def test_a_healthy_run_of_trl_passes() -> None:
    assert run(HEALTHY)[0] == 0


@pytest.mark.thorough
def test_runs_of_the_labs_corpus() -> None:
    """One hack of each kind of trainer that is there, and its healthy twins."""
    corpus = ROOT / "corpus"
    every = firstbreak_lab_corpus.labels(corpus)
    for variant in ("pays-for-length", "reward-model-over-optimised", "length-grows-with-skill", "format-first"):
        grave = [a for a, label in every.items() if label.variant == variant and label.seed == 0]
        if not grave:
            continue
        archive = max(
            grave,
            key=lambda a: every[a].score if variant in ("length-grows-with-skill", "format-first") else -every[a].score,
        )
        with firstbreak_lab_corpus.opened(corpus, archive) as (path, label):
            run_ = read(path)
            assert run_.samples is not None
            found = audit(run_.samples, run=run_).outcomes[0]
        assert (found.status is Status.FOUND) is (label.link is not None), archive


def test_a_published_run_without_samples_says_what_to_log(shared: Path) -> None:
    with pytest.raises(Unreadable, match="holds no samples; log completions"):
        run(shared / "runs" / "uns-llama31-8b")


# Tables --------------------------------------------------------------------------------------------------------------


ROWS = [
    {"text": s.completion, "question": s.prompt, "points": s.reward, "iter": s.step, "correct": s.rewards["accuracy"],
     "len": s.rewards["thoroughness"]}
    for s in dump(longer_and_longer, by_length, skill=lambda t: 0.6 - 0.4 * t)
]  # fmt: skip
COLUMNS = {"completion": "text", "prompt": "question", "reward": "points", "step": "iter", "rewards": "correct,len"}


def write(path: Path) -> Path:
    match path.suffix:
        case ".csv":
            with path.open("w", newline="") as file:
                writer = csv.DictWriter(file, list(ROWS[0]))
                writer.writeheader()
                writer.writerows(ROWS)
        case ".jsonl":
            path.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        case ".parquet":
            pq.write_table(pa.Table.from_pylist(ROWS), path)
    return path


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet"])
def test_a_table_with_columns_of_its_own(tmp_path: Path, kind: str) -> None:
    path = write(tmp_path / f"mine.{kind}")
    options = [f"--column={role}={name}" for role, name in COLUMNS.items()]
    code, said = run(path, *options, "--format", "json")
    found = json.loads(said)
    assert code == 1
    assert found["samples"] == len(ROWS)
    assert found["findings"][0]["facts"]["payer"] == "len"


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"completion": "txt"}, "no column 'txt'; the columns are: text, question"),
        ({"completion": "text", "colour": "x"}, "'colour' is not a role of a column"),
    ],
)
def test_a_wrong_column_is_one_clear_line(tmp_path: Path, columns: dict[str, str], said: str) -> None:
    with pytest.raises(Unreadable, match=said):
        table_samples(write(tmp_path / "mine.csv"), columns)


def test_a_table_without_a_column_of_completions_says_so(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("question,points\nq,1\n")
    with pytest.raises(Unreadable, match="no column has the role"):
        table_samples(path, {"prompt": "question"})


def test_a_column_that_is_called_what_it_is_need_not_be_named(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("step,prompt,text,reward,group\n" + "".join(f"{i},p,t{i},{i / 2},g\n" for i in range(4)))
    found = list(table_samples(path, {"completion": "text", "group": "prompt"}))
    assert [(s.step, s.reward, s.completion) for s in found[:2]] == [(0.0, 0.0, "t0"), (1.0, 0.5, "t1")]


# What is broken ------------------------------------------------------------------------------------------------------


NESTED: object = "x"
for _ in range(60):
    NESTED = [{"role": "user", "content": NESTED}]
BAD = [
    b'{"step": 1, "prompt": "caf\xe9", "completion": "\xff\xfe", "reward": 1.0}',
    json.dumps({"step": 2, "prompt": None, "completion": None, "reward": None}).encode(),
    json.dumps({"step": 2, "prompt": "p", "completion": "\x00\x1b[2J\x1b]0;title\x07", "reward": 0.5}).encode(),
    json.dumps({"step": 3, "prompt": "p", "completion": "word " * 300_000, "reward": 0.5}).encode(),
    json.dumps(
        {"step": 3, "prompt": [{"role": "user", "content": [{"type": "text", "text": "hi"}]}], "completion": NESTED}
    ).encode(),
    json.dumps(
        {"step": "four", "prompt": 1, "completion": 2, "reward": "much", "rewards": {"a": "b", "c": [1]}}
    ).encode(),
    b'{"step": 5, "prompt": "p", "completion": "<script>alert(1)</script>", "reward": NaN}',
    b'{"step": 1e308, "prompt": "p", "completion": "x", "reward": 1e308}',
    b'{"step": -1, "prompt": "p", "completion": "x", "reward": Infinity, "answer": {"deep": [1]}}',
    b'{"step": 6, "prompt": "p", "completion": "\\ud800", "reward": 0}',
    b'{"step": 7, "prompt": "p", "compl',
    b"not json at all",
]


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    path = tmp_path / "samples.jsonl"
    path.write_bytes(b"\n".join(BAD * 2))
    return path


@pytest.mark.parametrize("format_", ["terminal", "json", "html"])
def test_a_dump_full_of_bad_records_is_audited_all_the_same(broken: Path, format_: str) -> None:
    code, said = run(broken, "--format", format_)
    assert code in (0, 1)
    assert "Traceback" not in said
    assert "\x1b" not in said
    assert "\x00" not in said
    if format_ == "json":
        assert json.loads(said)["samples"] >= 18
        assert "NaN" not in said
    if format_ == "html":
        assert "<script>alert" not in said


def test_bad_columns_of_a_csv(tmp_path: Path) -> None:
    path = tmp_path / "bad.csv"
    path.write_bytes(b"text,points\n" + b"\xff\x00,1\n" + b'"' + b"y" * 2_000_000 + b'",nan\n' + b"only-one-cell\n,\n")
    found = audit(table_samples(path, {"completion": "text", "reward": "points"}))
    assert found.table.samples == 4
    assert found.table.without_reward == 3


def test_no_reward_and_no_step_are_said_and_not_guessed() -> None:
    found = audit(Sample(prompt="p", completion="x" * i) for i in range(20))
    assert found.outcomes[0].status is Status.NOT_MEASURED
    assert any("no step" in note for note in found.notes)
    assert any("no reward" in note for note in found.notes)


@pytest.mark.parametrize("content", [b"", b"\n\n", b"[]"])
def test_a_file_without_a_completion_is_one_clear_line(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "samples.jsonl"
    path.write_bytes(content)
    with pytest.raises(Unreadable) as refused:
        run(path)
    assert "\n" not in str(refused.value)


def test_samples_of_an_evaluation_are_no_evidence_of_training() -> None:
    with pytest.raises(Unreadable, match="no completion of training"):
        audit(Sample(completion="x", reward=1.0, meta={"split": "eval"}) for _ in range(3))


# Parts -----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [1, 7, 200, 5000, 1 << 30])
def test_the_parts_of_a_dump_are_the_whole(broken: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Wherever a file is cut, every line is in exactly one part, also what is broken, and a last one without a newline."""
    content = broken.read_bytes().replace(b"word " * 300_000, b"word " * 200)
    broken.write_bytes(content)
    monkeypatch.setattr(sample_dump, "PART", size)
    spans = sample_dump.parts(broken)
    assert len(spans) == -(-len(content) // size)
    apart = [line for span in spans for line in sample_dump.lines(broken, span)]
    assert apart == list(sample_dump.lines(broken)) == [line for line in content.split(b"\n") if line.strip()]


@pytest.mark.parametrize(
    "kind", ["jsonl", *(pytest.param(k, marks=pytest.mark.thorough) for k in ("csv", "parquet", "folder"))]
)
def test_several_processes_find_exactly_the_same(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    for module in (sample_dump, parquet, engine_read):
        monkeypatch.setattr(module, "PART", 10_000)
    hacked = dump(longer_and_longer, by_length, steps=16, skill=lambda t: 0.6 - 0.4 * t)
    rows = [
        {name: getattr(s, name) for name in ("step", "prompt", "completion", "reward", "rewards")} | dict(s.meta)
        for s in hacked
    ]
    match kind:
        case "jsonl":
            (tmp_path / "dump.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        case "parquet":
            pq.write_table(pa.Table.from_pylist(rows), tmp_path / "dump.parquet", row_group_size=20)
        case "csv":
            write(tmp_path / "dump.csv")
        case "folder":
            for step in range(16):
                lines = [json.dumps(row) + "\n" for row in rows if row["step"] == step]
                (tmp_path / f"completions_{step}.jsonl").write_text("".join(lines))
    samples = there(table_samples(tmp_path / "dump.csv", COLUMNS) if kind == "csv" else read(tmp_path).samples)
    assert len(list(samples.parts())) > 2 or kind == "csv"
    one, two = (audit(samples, processes=n) for n in (1, 2))
    assert one.findings
    assert render_json(one) == render_json(two)
    assert render_json(one) == render_json(audit(samples)), "and again"


# The report ------------------------------------------------------------------------------------------------------------


def test_the_report_fits_and_says_what_to_do() -> None:
    found = audit(dump(longer_and_longer, by_length, skill=lambda t: 0.6 - 0.4 * t), path="dump.jsonl")
    said = renderable(found).string()
    assert max(map(len, said.splitlines())) <= 80
    for part in (
        "CRITICAL reward-hacking",
        "the component thoroughness",
        "Behaviour over the run",
        "Read these",
        "--format html",
        "step 39, reward",
        "prompt: What is",
    ):
        assert part in said
    assert len(renderable(found).string(40)) > 0


def test_the_json_has_no_number_that_is_none() -> None:
    found = json.loads(render_json(audit(dump(longer_and_longer, by_length), path="dump.jsonl")))
    assert found["schema"] == "firstbreak.audit/1"

    def walk(value: object) -> None:
        if isinstance(value, dict):
            assert not {"answer", "gold", "human"} & set(value)
        if isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                walk(inner)
        assert not isinstance(value, float) or math.isfinite(value)

    walk(found)
    side = next(s for s in found["sides"] if s["id"] == "length")
    assert len(side["steps"]) == len(side["mean"]) == len(side["low"]) == len(side["high"]) == 40


def test_exit_codes_and_files(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert run(RUN, "--format", "html", "-o", page, "--fail-on", "never")[0] == 0
    assert page.read_text().startswith("<!DOCTYPE html>")
    assert run(RUN, "--fail-on", "critical")[0] == 1
    assert run(HEALTHY, "--fail-on", "warning")[0] == 0


def test_messages_of_a_script_need_only_the_column_that_has_another_name(tmp_path: Path) -> None:
    lines = [
        {
            "iteration": step,
            "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": f"hello {k}"}],
        }
        | {"reward": 0.1 * k, "length": k, "task": f"t{step}"}
        for step in range(3)
        for k in range(4)
    ]
    path = tmp_path / "episodes.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    found = list(table_samples(path, {"step": "iteration", "group": "task", "rewards": "length"}))
    assert [s.step for s in found] == [float(line["iteration"]) for line in lines]
    assert (found[1].prompt, found[1].completion, found[1].group) == ("Hi", "hello 1", "t0")
    assert found[3].rewards == {"length": 3.0}
    assert [s.meta["answer"] for s in table_samples(path, {"answer": "task"})][::4] == ["t0", "t1", "t2"]
    with pytest.raises(Unreadable, match="no column 'round'"):
        table_samples(path, {"step": "round"})


def test_a_csv_holds_scores_and_verdicts_as_text(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text("text,human_score,success,answer\nseven,0.75,True,007\n")
    (sample,) = table_samples(path, {"completion": "text"})
    assert sample.meta["human_score"] == 0.75
    assert sample.meta["success"] is True
    assert sample.meta["answer"] == "007"


def test_the_metrics_of_verifiers_are_the_parts_of_the_reward(tmp_path: Path) -> None:
    line = {
        "example_id": 4,
        "prompt": "2 + 2",
        "completion": "4",
        "reward": 1.2,
        "metrics": {"correct": 1.0, "form": 0.2},
    }
    path = tmp_path / "step_12" / "train_rollouts.jsonl"
    path.parent.mkdir()
    path.write_text(json.dumps(line) + "\n")
    (sample,) = sample_dump.samples(path)
    assert (sample.rewards, sample.group, sample.step) == ({"correct": 1.0, "form": 0.2}, "4", 12.0)
