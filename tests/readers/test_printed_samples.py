"""Samples that a script prints one a line: what is read, and what is left to other readers."""

from pathlib import Path

import pytest

from firstbreak.readers import printed_samples
from firstbreak.readers.read import read

PRINTED = {
    "between quotes, under headings": (
        "--- step 20 ---\n" + "prompt: '24+3='  response: 'it\\'s 27'  reward: 1\n" * 5,
        (20.0, "24+3=", "it\\'s 27", 1.0, None),
    ),
    "an arrow, and a step in each line": (
        "[step 40] 1 7 <sep> -> 1 7 <eos>  score=1.40\n" * 5,
        (40.0, "1 7 <sep>", "1 7 <eos>", 1.4, None),
    ),
    "wide spaces, and several numbers": (
        "--- iter 1\n" + "user: a+e?   >a![2]=3#   gold=3 reward=0 adv=-0.54\n" * 5,
        (1.0, "user: a+e?", ">a![2]=3#", 0.0, -0.54),
    ),
    "bars": ("=== step 1\n" + "8679> | ~. 9786<eos> | reward 0\n" * 5, (1.0, "8679>", "~. 9786<eos>", 0.0, None)),
}


@pytest.mark.parametrize("case", PRINTED)
def test_what_scripts_print(case: str, tmp_path: Path) -> None:
    text, expected = PRINTED[case]
    (tmp_path / "samples.txt").write_text(text)
    run = read(tmp_path)
    assert run.samples is not None
    found = list(run.samples)
    assert len(found) == 5
    assert (found[0].step, found[0].prompt, found[0].completion, found[0].reward, found[0].advantage) == expected
    assert not run.unknown


@pytest.mark.parametrize(
    "text",
    [
        "step 1 | loss 0.5 | reward 0.25\n" * 8,
        "epoch 1 -> loss 0.5 reward=1.0\n" * 8,
        "Reading the data -> done\n" * 8,
        "prompt: 'a' response: 'b'\n",
    ],
)
def test_lines_of_a_log_are_no_samples(text: str) -> None:
    assert not printed_samples.sniff(Path("log.txt"), text.encode())
