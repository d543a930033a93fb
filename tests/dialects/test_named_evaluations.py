"""A score of held-out data under the name that the run gives it."""

import pytest

from firstbreak.dialects import signals, trl, understand


def signal(raw: str) -> str | None:
    """What a curve of TRL's log means."""
    found = understand([raw], trl).get(raw)
    return None if found is None else found.signal


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        ("eval_gsm8k", "eval.named.gsm8k"),
        ("heldout/math", "eval.named.math"),
        ("held_out/math", "eval.named.math"),
        ("val/aime24/mean", "eval.named.aime24"),
        ("benchmark/humaneval", "eval.named.humaneval"),
        ("eval/win_rate_gpt4", "eval.named.win_rate_gpt4"),
    ],
)
def test_a_name_after_a_word_for_held_out_data_is_a_score(raw: str, name: str) -> None:
    assert signal(raw) == name
    assert signals.lookup(name) is not None


@pytest.mark.parametrize(
    "raw",
    [
        "eval_runtime", "eval_loss_std", "eval_samples_per_second", "eval_steps_per_second", "eval/response_length",
        "test/num_turns", "eval/entropy", "eval_7",
    ],
)  # fmt: skip
def test_what_an_evaluation_measures_beside_its_score_is_none(raw: str) -> None:
    assert not (signal(raw) or "").startswith("eval.named.")
