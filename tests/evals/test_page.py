"""What the page on evaluation shows is what the commands print: the blocks that need no training are run again."""

from pathlib import Path

import pytest

from tests.lazy import lazy

walkthrough = lazy("benchmarks.walkthrough")

PAGE = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()


@pytest.mark.parametrize("heading", ["## Different protocols are not compared", "## Test problems in training data"])
def test_the_commands_print_what_the_page_shows(heading: str, tmp_path: Path) -> None:
    section = PAGE.partition(heading)[2].partition("\n## ")[0]
    blocks = [match[0] for match in walkthrough.BLOCK.finditer(section)]
    assert blocks
    assert [walkthrough._block(block, tmp_path, trained=True) for block in blocks] == blocks
