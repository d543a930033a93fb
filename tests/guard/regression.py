"""The smallest thing that trains: a linear fit with dropout, so that random numbers matter."""

from collections.abc import Callable, Iterator

import torch

Batch = dict[str, torch.Tensor]


def build() -> tuple[torch.nn.Module, torch.optim.Optimizer, Callable[[Batch], torch.Tensor]]:
    """Model, optimizer, and the loss of a batch."""
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Dropout(0.5), torch.nn.Linear(8, 1))
    return model, torch.optim.Adam(model.parameters(), lr=0.01), lambda batch: loss_of(model, batch)


def loss_of(model: torch.nn.Module, batch: Batch) -> torch.Tensor:
    """Mean squared error."""
    return torch.nn.functional.mse_loss(model(batch["x"]), batch["y"])


def batches(n: int, broken: set[int] | frozenset[int] = frozenset()) -> Iterator[Batch]:
    """Batches of 16; a broken one holds a NaN."""
    numbers = torch.Generator().manual_seed(0)
    for step in range(n):
        x = torch.randn(16, 5, generator=numbers)
        y = x.sum(1, keepdim=True)
        if step in broken:
            x[3, 2] = torch.nan
        yield {"x": x, "y": y}
