"""prompt-truncation: the share of prompts that are cut."""

from dataclasses import replace

import numpy as np
import pytest

from firstbreak.model import Config, Severity, Status
from tests.detectors.look import expected, found, look, silent
from tests.make import noise, run

ID = "prompt-truncation"
CUT = "length.prompt.clipped_ratio"


@pytest.mark.parametrize(("share", "severity"), [(0.12, Severity.WARNING), (0.7, Severity.CRITICAL)])
def test_cut_prompts_are_found(share: float, severity: Severity) -> None:
    finding = found(ID, run({CUT: share + noise(40, 0.01)}))
    assert finding.severity is severity
    assert finding.onset == 1


def test_the_onset_is_where_longer_prompts_begin() -> None:
    share = np.where(np.arange(60) < 30, 0.0, 0.3) + np.abs(noise(60, 0.005))
    assert found(ID, run({CUT: share})).onset == 31


def test_a_few_long_prompts_are_no_news() -> None:
    assert silent(ID, run({CUT: np.abs(noise(40, 0.01))}))


def test_prompts_of_one_length_that_just_fit_are_not_cut() -> None:
    made = run({CUT: [1.0] * 20, "length.prompt.min": [128] * 20, "length.prompt.max": [128] * 20})
    assert "128" in expected(ID, made)
    said = replace(made, config=Config(raw={"data.truncation": "left"}))
    assert "exactly as long as the limit" in found(ID, said, Severity.WARNING).message


def test_policies_that_write_no_text_have_no_prompts() -> None:
    assert look(ID, run({"episode.length": [10.0] * 5}, algorithm="ppo")).status is Status.NOT_APPLICABLE


@pytest.mark.parametrize("curves", [{"length.mean": [100.0] * 5}, {CUT: [np.nan] * 5}])
def test_without_a_number_nothing_is_said(curves: dict[str, list[float]]) -> None:
    assert look(ID, run(curves)).status is Status.NOT_MEASURED
