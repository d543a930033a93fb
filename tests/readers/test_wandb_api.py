import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from firstbreak.readers import Unreadable, wandb_api

ROWS: list[dict[str, Any]] = [
    {"_step": 0, "loss": 0.5, "nest": {"k": 1}, "h": {"_type": "histogram", "bins": [1]}},
    {"_step": 1, "loss": "NaN", "kl": None, "stage": "a"},
    {"_step": 5, "loss": "Infinity", "kl": 0.25, "stage": "a"},
]


class Api:
    """The part of wandb.Api that is used."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows, self.asked = rows, ""

    def run(self, path: str) -> Any:
        self.asked = path
        return SimpleNamespace(
            config={"lr": 0.1, "model": {"layers": 2}, "_wandb": {"v": 1}},
            state="crashed",
            created_at="2026-01-01T00:00:00Z",
            scan_history=lambda page_size, min_step: [row for row in self.rows if row["_step"] >= min_step],
        )


@pytest.mark.parametrize(
    "address",
    [
        "wandb:me/ppo/ab12",
        "wandb://me/ppo/ab12",
        "https://wandb.ai/me/ppo/runs/ab12",
        str(Path("https://wandb.ai/me/ppo/runs/ab12")),
        "https://w.org/me/ppo/runs/ab12?nw=x",
    ],
)
def test_addresses(address):
    api = Api(ROWS)
    assert wandb_api.is_address(address)
    wandb_api.read(address, api=api)
    assert api.asked == "me/ppo/ab12"


@pytest.mark.parametrize("address", ["wandb:me/ppo", "runs/ppo/ab12", "me/ppo/ab12", "wandb:"])
def test_what_is_no_address(address):
    assert not wandb_api.is_address(address)
    with pytest.raises(Unreadable, match="wandb:entity/project/run"):
        wandb_api.read(address, api=Api(ROWS))


def test_history_and_config(monkeypatch):
    monkeypatch.setattr(wandb_api, "_BATCH", 2)
    recording = wandb_api.read("wandb:me/ppo/ab12", api=Api(ROWS))
    np.testing.assert_array_equal(recording.curves["loss"].values, [0.5, np.nan, np.inf])
    assert recording.curves["nest.k"].values.tolist() == [1]
    assert recording.curves["kl"].index.tolist() == [2]
    assert recording.curves["_step"].values.tolist() == [0, 1, 5]
    assert recording.config == {"stage": "a", "lr": 0.1, "model.layers": 2}
    assert recording.order == 1767225600
    assert recording.notes == ["not numbers, left out: h", "wandb's state of the run: crashed"]


def test_a_live_run():
    api = Api(ROWS[:2])
    first = wandb_api.read("wandb:me/ppo/ab12", api=api)
    api.rows = ROWS
    second = wandb_api.read("wandb:me/ppo/ab12", resume=first.resume, api=api)
    assert second.curves["_step"].values.tolist() == [5]


def test_without_the_package(monkeypatch):
    monkeypatch.setitem(sys.modules, "wandb", None)
    with pytest.raises(Unreadable, match="install wandb"):
        wandb_api.read("wandb:me/ppo/ab12")


def test_a_run_that_cannot_be_reached():
    class Refusing:
        def run(self, path: str) -> None:
            raise ConnectionError(f"no such run: {path}\nand a page of details")

    with pytest.raises(Unreadable, match="no such run") as refused:
        wandb_api.read("wandb:me/ppo/ab12", api=Refusing())
    assert "wandb login" in str(refused.value)
    assert "\n" not in str(refused.value)
