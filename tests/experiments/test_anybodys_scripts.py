"""Scripts as users write them, from a broken run to a close-out, without a line that a user had to write for it.

`scripts` were frozen before `experiment init` was written, `unseen_scripts` before anything was corrected for them.
"""

import json
from pathlib import Path

import pytest

from tests.experiments.journey import FROZEN, UNSEEN, WRITTEN, TooBusy, missing, scripts, walk

RESULT = Path(__file__).parent.parent.parent / "benchmarks" / "results" / "journeys.json"
EVERY = [(folder, name) for folder in (FROZEN, UNSEEN) for name in scripts(folder)]


@pytest.mark.thorough
@pytest.mark.trainer
@pytest.mark.slow
@pytest.mark.parametrize(("folder", "name"), EVERY, ids=[name for _, name in EVERY])
def test_a_broken_run_goes_all_the_way(folder: Path, name: str, tmp_path: Path) -> None:
    if lacking := missing(scripts(folder)[name]):
        pytest.skip(f"{', '.join(lacking)} is not installed")
    try:
        walk(folder, name, tmp_path / "home")
    except TooBusy:
        pytest.skip("the machine is too busy to start Ray")


def test_the_figures_are_of_these_scripts() -> None:
    assert [len(scripts(folder)) for folder in (FROZEN, UNSEEN)] == [10, 10]
    assert not WRITTEN, "a user writes no line"
    figures = json.loads(RESULT.read_text())
    assert set(figures["scripts"]) == {name for _, name in EVERY}
