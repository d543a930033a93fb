"""The budget of each package: what is counted, and what is said of a package that is too large."""

from pathlib import PurePosixPath

from benchmarks import size_budget

from tests.lazy import lazy

docs = lazy("benchmarks.docs")

PAGE = size_budget.BUDGET.read_text("utf-8")


def test_a_package_above_its_budget_without_one_or_gone_is_named_in_one_line() -> None:
    most = size_budget.budgets("| `lab` | 1,200 | |\n| `tests` | 10 | more detectors |\n| docs (words) | 5 | |\n")
    assert most == {"lab": 1200, "tests": 10, "docs (words)": 5}
    said = size_budget.complaints({"lab": 1201, "docs (words)": 5, "src": 3}, most)
    assert [line.partition(":")[0] for line in said] == ["lab", "src", "tests"]
    assert "1,201, 1 above its budget of 1,200" in said[0]


def test_tables_count_and_what_a_program_wrote_does_not() -> None:
    own = ["src/firstbreak/words.py", "src/firstbreak/knowledge/causes/measured.json", "README.md", "tests/conftest.py"]
    assert size_budget.counted(own).keys() == {"src/firstbreak", "tests"}


def test_every_package_has_a_row() -> None:
    packages = {
        f"src/firstbreak/{p.name}" for p in (size_budget.ROOT / "src/firstbreak").glob("*/") if p.name[0] != "_"
    }
    assert packages | {"src", "lab", "benchmarks", "tests", size_budget.WORDS} <= size_budget.budgets(PAGE).keys()


def test_words_are_counted_of_pages_that_people_write() -> None:
    whole = {f"docs/{name}" for name in docs.PAGES if name.endswith(".md")}
    whole = {name for name in whole if "<!-- made:" not in (size_budget.ROOT / name).read_text("utf-8")}
    assert {name for name in whole if not size_budget._any(PurePosixPath(name), size_budget.MADE)} == set()
