"""Lightning for real."""

from __future__ import annotations

import warnings
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from firstbreak.live.guard import bundle
from firstbreak.live.guard.adapters import lightning
from firstbreak.live.guard.decision import Act
from firstbreak.live.guard.guard import Guard
from firstbreak.live.guard.replay import replay
from tests.lazy import lazy

torch = lazy("torch")
regression = lazy("tests.guard.regression")
pl = lazy("pytorch_lightning")

pytestmark = pytest.mark.trainer


@cache
def module_class() -> Any:
    class Module(pl.LightningModule):  # type: ignore[misc, name-defined]
        """The regression as a module."""

        def __init__(self, seed: int = 0) -> None:
            super().__init__()
            self.save_hyperparameters()
            self.model, _, self.loss_of = regression.build()

        def training_step(self, batch: Any, batch_idx: int) -> torch.Tensor:
            loss = self.loss_of(batch)
            self.log("loss", loss)
            return loss

        def configure_optimizers(self) -> torch.optim.Optimizer:
            return torch.optim.Adam(self.parameters(), lr=0.01)

    return Module


def fit(guard: Guard, folder: Path, batches: list[Any]) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        trainer = pl.Trainer(
            max_epochs=1,
            accelerator="cpu",
            logger=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            default_root_dir=folder,
            callbacks=[
                lightning.callback(guard),
                pl.callbacks.ModelCheckpoint(folder, every_n_train_steps=5, save_top_k=-1),
            ],
        )
        trainer.fit(module_class()(), torch.utils.data.DataLoader(batches, batch_size=None))  # type: ignore[arg-type]
    return trainer


def test_from_the_fault_to_its_checkpoint(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path / "incidents", on_decision=lambda d: None)
    trainer = fit(guard, tmp_path, list(regression.batches(60, broken=set(range(30, 60)))))
    decision = guard.decision
    assert decision.act is Act.ROLLBACK
    assert trainer.global_step < 40
    assert all(p.isfinite().all() for p in trainer.model.parameters())
    assert decision.bundle is not None
    assert bundle.read(decision.bundle)["exact"]
    module = module_class()()
    assert all(one.equal for one in replay(decision.bundle, (module, [module.configure_optimizers()])))
    assert decision.rollback is not None
    assert 0 < decision.rollback.step <= 30
    assert Path(decision.rollback.path).exists()


def test_an_update_of_ordinary_numbers_comes_out_the_same(tmp_path: Path) -> None:
    guard = Guard("stop", folder=tmp_path, on_decision=lambda d: None)
    guard.stop("seen enough")
    fit(guard, tmp_path, list(regression.batches(5)))
    assert guard.decision.bundle is not None
    module = module_class()()
    compared = replay(guard.decision.bundle, (module, [module.configure_optimizers()]))
    assert [one.name for one in compared] == ["loss", "grad.norm"]
    assert all(one.equal and one.then > 0 for one in compared)


def test_a_crash_is_kept_without_a_with(tmp_path: Path) -> None:
    guard = Guard(folder=tmp_path / "incidents")
    wrong = {"x": torch.zeros(4, 3), "y": torch.zeros(4, 1)}
    with pytest.raises(RuntimeError, match="shapes cannot be multiplied"):
        fit(guard, tmp_path, [*regression.batches(3), wrong])
    (kept,) = bundle.complete(tmp_path / "incidents")
    assert "shapes cannot be multiplied" in bundle.read(kept)["crash"]
