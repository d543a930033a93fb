"""A critic that the optimizer does not hold."""

from pathlib import Path
from typing import Any

import firstbreak
from tests.detectors.look import look
from tests.detectors.recorded import proof
from tests.lazy import lazy

torch = lazy("torch")

ID = "critic-left-out"


def trained(folder: Path, *held: str, names: tuple[str, str] = ("policy", "value")) -> Any:
    """Updates of a model with two heads, of which the optimizer holds some."""
    model = torch.nn.ModuleDict({name: torch.nn.Linear(8, 8) for name in names})
    optimizer = torch.optim.Adam([p for name in held for p in model[name].parameters()], 0.01)
    record = firstbreak.recorder(folder, share=1)
    record.weights(model, optimizer)
    for step in range(1, 6):
        record.batch(step, rewards=[0.0, 1.0], advantages=[-1.0, 1.0])
        sum(head(torch.ones(8)).square().sum() for head in model.values()).backward()
        optimizer.step()
        optimizer.zero_grad()
    return look(ID, firstbreak.read(folder))


def test_a_value_head_that_no_optimizer_holds_is_proved_and_named(tmp_path: Path) -> None:
    assert "value.weight is the critic's" in proof(trained(tmp_path, "policy"))


def test_a_value_head_that_is_trained_is_silent(tmp_path: Path) -> None:
    assert trained(tmp_path, "policy", "value").finding is None


def test_values_of_an_attention_layer_are_no_critic(tmp_path: Path) -> None:
    assert trained(tmp_path, "policy", names=("policy", "attention_value")).finding is None
