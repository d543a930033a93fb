"""tools-fail: calls that begin to fail."""

import random
import re
from collections.abc import Callable

from firstbreak.audit.audit import audit
from firstbreak.model import Sample, Status
from tests.audit.dumps import dump, honest, plain, row, series
from tests.there import there

ID = "tools-fail"


def tool(rate: Callable[[float], float]) -> Callable[..., Sample]:
    def make(rng: random.Random, t: float) -> Sample:
        messages = []
        for i in range(3):
            call = {"id": f"c{i}", "type": "function", "function": {"name": "f", "arguments": f'{{"x": {{"y": {i}}}}}'}}
            said = "Error: no connection" if rng.random() < rate(t) else f"{rng.random()}"
            messages += [{"role": "assistant", "content": "", "tool_calls": [call]},
                         {"role": "tool", "tool_call_id": f"c{i}", "content": said}]  # fmt: skip
        return Sample(completion=str(messages), messages=messages, reward=rng.random())

    return make


def test_an_outage_is_found_with_its_step() -> None:
    found = there(row(audit(series(tool(lambda t: 0.8 if t > 0.5 else 0.05))), ID).finding)
    assert found.onset is not None
    assert 12 <= found.onset <= 18


def test_tools_that_fail_now_and_then_are_left_alone() -> None:
    kept = row(audit(series(tool(lambda t: 0.1))), ID)
    assert kept.status is Status.OK
    assert re.fullmatch(
        r"early 0 % of the calls are illegal, \d+ % of the failures .*; late .* characters a call", kept.note
    )


def test_without_tools_it_does_not_apply() -> None:
    assert row(audit(dump(plain, honest)), ID).status is Status.NOT_APPLICABLE
