"""All audit rows: what each of them keeps. What one of them finds is in rows/test_<row>.py."""

import random
from functools import partial
from pathlib import Path

import pytest

from firstbreak.audit.audit import audit
from firstbreak.audit.rows import rows
from firstbreak.engine.checks import Check
from firstbreak.model import Confidence, Expected, Finding, Link, Sample, Severity, Status
from tests.audit.dumps import WORDS, dump, honest, plain, row, series
from tests.there import there

EVERY = pytest.mark.parametrize("checked", list(rows().values()), ids=lambda checked: checked.id)


@EVERY
def test_it_has_a_test(checked: Check) -> None:
    assert (Path(__file__).parent / "rows" / f"test_{checked.id.replace('-', '_')}.py").exists()


@EVERY
def test_it_explains_itself(checked: Check) -> None:
    title, _, told = checked.doc.partition("\n")
    assert title.endswith(".")
    assert len(title) < 90
    assert told.strip()  # when it is harmless, and what to do


def test_every_row_is_quiet_on_a_healthy_dump() -> None:
    found = audit(dump(plain, honest))
    assert not found.findings
    assert not [o for o in found.outcomes if o.status is Status.CRASHED]


@pytest.mark.parametrize("text", ["", " ", "\0", "\n" * 50, "word " * 2000, "🙂"])
def test_odd_samples_crash_no_row(text: str) -> None:
    found = audit(series(lambda rng, t: Sample(completion=text), steps=2))
    assert not [f"{o.detector}: {o.note}" for o in found.outcomes if o.status is Status.CRASHED]


def test_outputs_that_have_become_alike() -> None:
    found = audit(
        series(
            lambda rng, t: Sample(
                completion=" ".join(rng.choices(WORDS, k=9)) if rng.random() > 2 * t else "yes", reward=1.0
            )
        )
    )
    said = there(row(found, "outputs-alike").finding)
    assert said.interval is not None
    assert said.interval[1] < 20, "from step 15 on nothing else is written"
    assert found.diversity is not None
    assert found.diversity.strategies.values[0] > 4 > found.diversity.strategies.values[-1]


def test_strategies_that_become_one_are_found_though_no_text_is_repeated() -> None:
    def sample(rng: random.Random, t: float) -> Sample:
        opening = WORDS[rng.randrange(max(1, round(6 - 8 * t)))]
        return Sample(
            completion=f"{opening} {opening} " + " ".join(str(rng.randint(1, 9)) for _ in range(40)),
            reward=rng.random(),
        )

    said = there(row(audit(series(sample)), "outputs-alike").finding)
    assert "1 in effect" in said.message


def test_a_row_that_fails_costs_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(evidence: object) -> None:
        raise ZeroDivisionError("no")

    broken = {**rows(), "broken": Check(id="broken", link=Link.REWARD, ask=fail, needs=("evidence",))}
    monkeypatch.setattr("firstbreak.audit.audit.rows", lambda: broken)
    found = audit(dump(plain, honest, steps=5))
    assert row(found, "broken").status is Status.CRASHED
    assert "ZeroDivisionError" in row(found, "broken").note
    assert row(found, "repetition").status is Status.OK


@pytest.mark.parametrize("severity", list(Severity))
def test_nothing_of_the_reward_is_expected_beside_a_warning_about_it(
    severity: Severity, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = Finding(message="paid", severity=severity, confidence=Confidence.LOW)
    calm, warns = (
        Check(id=name, link=Link.REWARD, ask=partial(lambda answer, evidence: answer, answer), needs=("evidence",))
        for name, answer in (("calm", Expected("the reward agrees with the truth")), ("warns", found))
    )
    monkeypatch.setattr("firstbreak.audit.audit.rows", lambda: {**rows(), "calm": calm, "warns": warns})
    said = row(audit(dump(plain, honest, steps=5)), "calm")
    assert said.expected == (severity is Severity.NOTICE)
    assert ("agrees" in said.note) == said.expected


def test_rows_are_found_by_file() -> None:
    assert rows()["tool-hacking"].link is Link.REWARD
