"""retokenisation-drift: a turn that does not begin with the tokens that were sampled."""

from firstbreak.audit.audit import audit
from firstbreak.model import Sample, Status
from tests.audit.dumps import dump, honest, plain, row, series
from tests.there import there

ID = "retokenisation-drift"


def episode(sampled: int) -> Sample:
    turns = [
        {"prompt_ids": [1, 2], "completion_ids": [3, 4]},
        {"prompt_ids": [1, 2, sampled, 4, 5], "completion_ids": [6]},
    ]
    return Sample(completion="x", reward=1.0, meta={"turns": turns})


def test_a_token_that_became_another_is_found() -> None:
    found = there(row(audit(series(lambda rng, t: episode(9))), ID).finding)
    assert "token 2" in found.message


def test_turns_that_append_what_was_sampled_are_left_alone() -> None:
    assert row(audit(series(lambda rng, t: episode(3))), ID).status is Status.OK


def test_without_token_ids_it_is_not_measured() -> None:
    assert row(audit(dump(plain, honest)), ID).status is Status.NOT_MEASURED
