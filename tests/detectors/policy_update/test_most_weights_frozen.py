"""A filter by name that freezes nearly all weights."""

from pathlib import Path

import firstbreak
from tests.detectors.recorded import recorded
from tests.lazy import lazy

torch = lazy("torch")
nn = lazy("torch.nn")

ID = "most-weights-frozen"


def found(folder: Path, trained: str, head: int = 8) -> bool:
    """Whether it is proved where only the parameters with `trained` in their name are trainable."""
    model = nn.Sequential(nn.Linear(64, 64), nn.LayerNorm(64), nn.Linear(64, head))
    for name, p in model.named_parameters():
        p.requires_grad = trained in name
    optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    record = firstbreak.recorder(folder)
    record.weights(model, optimizer)
    for step in (1, 2, 3):
        optimizer.zero_grad()
        model(torch.randn(4, 64)).square().mean().backward()
        record.batch(step, rewards=torch.randn(8), advantages=torch.randn(8), group=4)
        optimizer.step()
    return any(o.detector == ID and o.finding is not None for o in firstbreak.check(firstbreak.read(folder)))


def test_norms_alone_are_proved(tmp_path: Path) -> None:
    assert found(tmp_path, "1.bias")


def test_a_small_head_on_a_frozen_model_and_a_whole_model_are_silent(tmp_path: Path) -> None:
    assert not found(tmp_path / "a", "2.", head=1)
    assert not found(tmp_path / "b", "")


def test_the_share_is_in_the_report(tmp_path: Path) -> None:
    finding = recorded(tmp_path, ID, {"trainable": 0.004}).finding
    assert finding is not None
    assert "0.40% of the weights are trainable, no matrix among them" in finding.message
