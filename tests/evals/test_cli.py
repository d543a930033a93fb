"""`firstbreak eval` as a user types it: from the baseline to a private test that was evaluated twice."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from firstbreak.cli.eval import command
from firstbreak.evals.ledger import Ledger
from tests.compare.runs import write as make_run
from tests.there import there

DATA = Path(__file__).parent / "data"


@pytest.fixture(autouse=True)
def in_a_folder_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FIRSTBREAK_LEDGER", raising=False)


def eval_(*arguments: object) -> Result:
    return CliRunner().invoke(command, [str(a) for a in arguments])


def good(*arguments: object) -> str:
    result = eval_(*arguments)
    assert result.exit_code == 0, result.output + str(result.exception)
    return result.output


def rows() -> list[dict[str, object]]:
    with Ledger("firstbreak-ledger.db") as ledger:
        return [entry.data for entry in ledger if entry.data["kind"] == "evaluation"]


def test_the_baseline_is_the_first_row_of_a_run() -> None:
    run = make_run(Path("run"), seed=0)
    first = json.loads((run / "metrics.jsonl").read_text().splitlines()[0])["eval-rollout/reward"]
    good("split", "dev", "--kind", "dev", "--size", 100)
    assert "before training" in good("baseline", run, "--split", "dev")
    assert rows()[0]["scores"] == {"eval.reward": first}
    assert rows()[0]["use"] == "baseline"
    good("baseline", run, "--split", "dev")
    assert len(rows()) == 1  # again is once


def test_a_baseline_after_a_score_is_refused() -> None:
    run = make_run(Path("run"), seed=0)
    good("split", "dev", "--kind", "dev")
    good("record", "dev", "--use", "tune", "--score", "a=0.5", "--run", run)
    result = eval_("baseline", run, "--split", "dev")
    assert result.exit_code == 2
    assert "record the baseline first" in result.output


def test_a_run_that_was_not_evaluated_before_training_has_no_baseline() -> None:
    run = make_run(Path("run"), seed=0)
    lines = (run / "metrics.jsonl").read_text().splitlines()[10:]
    (run / "metrics.jsonl").write_text("\n".join(lines))
    good("split", "dev", "--kind", "dev")
    result = eval_("baseline", run, "--split", "dev")
    assert "was first evaluated at step 11, after training had begun" in str(result.exception)


def test_a_result_of_a_harness_is_recorded_once_with_its_protocol() -> None:
    good("split", "test", "--kind", "public_test", "--size", 8)
    for _ in range(2):
        good("record", "test", "--use", "observe", "--result", DATA / "lighteval.json")
    (row,) = rows()
    assert row["scores"] == {"em": 0.125}
    assert row["errors"] == {"em": 0.125}
    assert row["checkpoint"] == "constant"


def test_one_of_several_tasks_has_to_be_named() -> None:
    data = json.loads((DATA / "lighteval.json").read_text())
    for part in ("results", "config_tasks", "summary_tasks"):
        data[part]["other|0"] = data[part]["sums|0"]
    data["config_tasks"]["other|0"] = data["config_tasks"]["sums|0"] | {"name": "other"}
    data["results"]["other|0"] = {"em": 0.75}
    Path("two.json").write_text(json.dumps(data, indent=2))
    good("split", "test", "--kind", "public_test")
    result = eval_("record", "test", "--use", "observe", "--result", "two.json")
    assert "holds several evaluations (other, sums); name one: two.json#TASK" in str(result.exception)
    good("record", "test", "--use", "observe", "--result", "two.json#other")
    assert rows()[0]["scores"] == {"em": 0.75}


def test_misuse_is_said_when_it_happens_and_in_the_log() -> None:
    good("split", "final", "--kind", "private_test", "--size", 100)
    assert "opened" not in good("record", "final", "--use", "release", "--score", "0.7")
    said = " ".join(good("record", "final", "--use", "tune", "--score", "0.8", "--fed", "chose beta").split())
    assert "final was evaluated twice, and once is allowed" in said
    assert "chose beta" in said
    log = " ".join(good("log").split())
    assert "evaluated twice" in log
    assert "1 choice by score" in log


def test_an_undeclared_split_is_one_line() -> None:
    result = eval_("record", "dev", "--use", "tune", "--score", "a=1")
    assert result.exit_code == 2
    assert result.output.count("\n") == 1
    assert "firstbreak eval split dev" in result.output


def test_a_damaged_ledger_is_reported_with_its_row() -> None:
    good("split", "dev", "--kind", "dev")
    for i in range(3):
        good("record", "dev", "--use", "tune", "--score", f"a={i}")
    assert "4 rows, all intact" in good("verify")
    with Ledger("firstbreak-ledger.db") as ledger:
        ledger._connection.execute("UPDATE firstbreak_ledger SET body = replace(body, '2', '9') WHERE number = 3")
    result = eval_("verify")
    assert result.exit_code == 1
    assert "broken at row 3: row 3 was changed after it was written" in result.output


@pytest.mark.parametrize("asked", ["log", "verify"])
def test_reading_a_ledger_that_is_not_there_makes_none(asked: str) -> None:
    result = eval_(asked)
    assert result.exit_code == 2
    assert "firstbreak-ledger.db: no such ledger; name one with --ledger" in result.output
    assert not Path("firstbreak-ledger.db").exists()


def test_a_protocol_is_locked_and_names_what_is_missing() -> None:
    Path("p.yaml").write_text("task: sums\ntemperature: 0\n")
    printed = good("lock", "p.yaml", "-o", "locked.json")
    assert "2 fields" in printed
    assert "max_new_tokens" in printed
    assert json.loads(Path("locked.json").read_text())["fields"] == {"task": "sums", "temperature": 0}


def test_unlike_protocols_are_not_compared() -> None:
    other = json.loads((DATA / "lighteval.json").read_text())
    other["config_tasks"]["sums|0"]["generation_size"] = 64
    other["results"]["sums|0"]["em"] = 0.5
    Path("other.json").write_text(json.dumps(other, indent=2))
    result = eval_("compare", DATA / "lighteval.json", "other.json")
    assert result.exit_code == 1
    assert "max_new_tokens  32    64" in result.output
    assert "0.5" not in result.output
    accepted = good("compare", DATA / "lighteval.json", "other.json", "--accept", "max_new_tokens")
    assert "em      0.125  0.5    +0.375" in accepted
    assert "within noise" not in accepted


def test_rows_of_the_ledger_can_be_compared() -> None:
    Path("p.yaml").write_text("task: sums\n")
    good("split", "dev", "--kind", "dev")
    for score in (0.5, 0.6):
        good("record", "dev", "--use", "tune", "--score", f"a={score}", "--protocol", "p.yaml")
    assert "+0.1" in good("compare", "row:3", "row:4")
    assert eval_("compare", "row:1", "row:4").exit_code == 2


def test_contamination_names_the_problems_and_where_they_are() -> None:
    problem = "the quick brown fox jumps over the lazy dog and then it runs away from the farm as fast as it can"
    Path("train.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in ("other", problem)))
    Path("test.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in ("new", problem.upper())))
    result = eval_("contamination", "train.jsonl", "test.jsonl", "-o", "found.jsonl")
    assert result.exit_code == 1
    assert "1 (50.0 %)" in result.output
    (found,) = map(json.loads, Path("found.jsonl").read_text().splitlines())
    assert (found["problem"], found["exact"]) == (2, 2)
    Path("clean.jsonl").write_text('{"text": "nothing of the kind"}\n')
    assert eval_("contamination", "clean.jsonl", "test.jsonl").exit_code == 0


def test_what_a_model_knows_by_heart() -> None:
    texts = [" ".join(f"word{i}of{j}" for i in range(40)) for j in range(6)]
    Path("test.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts))
    assert "6 beginnings" in good("prefixes", "test.jsonl", "-o", "cut.jsonl")
    cut = [json.loads(line) for line in Path("cut.jsonl").read_text().splitlines()]
    written = [{**row, "completion": row["expected"] if i < 3 else "no idea at all"} for i, row in enumerate(cut)]
    Path("out.jsonl").write_text("".join(json.dumps(row) + "\n" for row in written))
    result = eval_("recited", "out.jsonl")
    assert result.exit_code == 1
    assert "3 of 6 problems are continued word for word (50.0 %), 0.0 % by chance" in result.output


def test_every_field_is_explained() -> None:
    printed = good("fields")
    assert "sticky_actions" in printed
    assert "probability that the last action is repeated" in printed


def test_a_return_has_a_range_of_its_own() -> None:
    """A return of 480 in a range of 0 to 1 had no room for luck."""
    good("split", "dev", "--kind", "dev", "--size", 20)
    for value in (480, 470, 455):
        good("record", "dev", "--use", "select", "--score", f"eval.reward={value}")
    said = " ".join(good("log").split())
    assert "3 choices by eval.reward, best 480: nothing is known of what luck adds" in said
    assert "`eval split` with --range LOW HIGH gives a bound" in said
    good("split", "dev", "--kind", "dev", "--size", 20, "--range", 0, 500)
    said = " ".join(good("log").split())
    found = there(re.search(r"luck alone raises the best score by about ([\d.]+)", said))
    assert 15 < float(found[1]) < 30  # the error of 20 episodes of 0 or 500, times 0.85 for the best of three


def test_scores_from_0_to_1_are_taken_for_shares_and_it_is_said() -> None:
    good("split", "dev", "--kind", "dev", "--size", 100)
    for value in (0.5, 0.55):
        good("record", "dev", "--use", "select", "--score", f"accuracy={value}")
    assert "for scores from 0 to 1, where all of them lie" in " ".join(good("log").split())


def test_a_score_outside_of_the_declared_range_is_refused_in_one_line() -> None:
    good("split", "dev", "--kind", "dev", "--range", 0, 500)
    refused = eval_("record", "dev", "--use", "observe", "--score", "mean_return=-1400", "--score", "mean_length=1000")
    assert refused.exit_code == 2
    assert "eval.reward -1400 lies outside of the range of dev, 0 to 500" in refused.output
    assert refused.output.strip().count("\n") == 0
    assert rows() == []
    good("record", "dev", "--use", "observe", "--score", "mean_return=480", "--score", "mean_length=1000")
    backwards = eval_("split", "other", "--kind", "dev", "--range", 500, 0)
    assert backwards.exit_code == 2
    assert "give the lowest first" in backwards.output


def test_the_return_of_an_npz_and_of_a_run_are_one_score() -> None:
    good("split", "dev", "--kind", "dev")
    for name in ("mean_return", "eval/mean_reward", "eval.reward"):
        good("record", "dev", "--use", "select", "--score", "mean_length=9", "--score", f"{name}=0.5")
    assert {frozenset(row["scores"]) for row in rows()} == {frozenset({"eval.reward", "eval.episode_length"})}
    assert "3 choices by eval.reward" in good("log")
    assert "eval.reward 0.5" in good("record", "dev", "--use", "observe", "--score", "mean_return=0.5")
