"""A few elements of each weight round the optimizer's steps: for every recorder that sees a torch model and its optimizer."""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from firstbreak.live.recorder.identities.parameters import Sampled, shortened
from firstbreak.live.recorder.measuring import Measurements, Price
from firstbreak.values import replace

ELEMENTS = 16  #: of each parameter
WATCHED = 8  #: parameters that are compared between any two steps
WAITING = 256  #: comparisons that may wait to be read
REMEMBERED = 2048  #: states that a change is looked for in


class Weights:
    """The weights of a model; `before` and `after` are called round a step that is measured, `stepped` after every step."""

    def __init__(self, model: Any, optimizer: Any) -> None:
        self.model, self.optimizer = model, optimizer
        self.updates = 0  #: made so far
        self._last: tuple[int, Mapping[str, np.ndarray]] = (0, {})  #: updates made then, and what they left
        # the rest may be another optimizer's
        owned = {id(p) for group in optimizer.param_groups for p in group["params"]}
        self.between = Between([p for _, p in self._parameters() if id(p) in owned])

    def stepped(self) -> None:
        """The optimizer made a step."""
        self.updates += 1

    @property
    def rate(self) -> float:
        """The largest learning rate of the optimizer's groups."""
        return max(float(group["lr"]) for group in self.optimizer.param_groups)

    def before(self) -> list[Sampled]:
        """The weights and gradients before a step."""
        named = self._parameters()
        owned = {id(p): self._decay(group) for group in self.optimizer.param_groups for p in group["params"]}
        before = elements(p for _, p in named)
        known = self._last[1] if self._last[0] == self.updates else {}
        gradients = iter(elements(p.grad for _, p in named if p.grad is not None))
        return [
            Sampled(
                name=name,
                size=p.numel(),
                trainable=p.requires_grad,
                owned=id(p) in owned,
                gradient=next(gradients) if p.grad is not None else None,
                before=values,
                after=values,
                last=known.get(name),
                decay=owned.get(id(p), 0.0),
            )
            for (name, p), values in zip(named, before, strict=True)
        ]

    @property
    def pending(self) -> bool:
        """The last step was measured: what the weights are now tells whether something else changed them."""
        return bool(self._last[1]) and self._last[0] == self.updates

    def after(self, sampled: list[Sampled], *, keep: bool = True) -> list[Sampled]:
        """The same elements after the step, which `stepped` has counted. `keep`: compare them before the next step."""
        after = elements(p for _, p in self._parameters())
        moved = [replace(p, after=values) for p, values in zip(sampled, after, strict=False)]
        if keep:
            self._last = self.updates, {p.name: p.after for p in moved}
        return moved

    @property
    def trainable(self) -> float | None:
        """The share of the weights that are trainable; None with adapters, or a matrix, that may be trained alone on purpose."""
        named = [(name, p) for name, p in self.model.named_parameters() if p.numel()]
        alone = any("lora_" in name or (p.requires_grad and p.ndim > 1) for name, p in named)
        if hasattr(self.model, "peft_config") or alone:
            return None
        sizes = [(int(p.numel()), bool(p.requires_grad)) for _, p in named]
        return sum(size for size, moves in sizes if moves) / max(sum(size for size, _ in sizes), 1)

    def _decay(self, group: Mapping[str, Any]) -> float:
        """The weight decay of a group where it acts beside Adam's step, else 0."""
        apart = group.get("decoupled_weight_decay", "adamw" in type(self.optimizer).__name__.lower())
        return float(group.get("weight_decay", 0.0)) if apart else 0.0

    def _parameters(self) -> list[tuple[str, Any]]:
        named = self.model.named_parameters()
        return [(name, p) for name, p in named if p.numel() and (p.requires_grad or "lora_" in name)]


class Between:
    """A few elements of some weights after each step and before the next. They are compared later: no step waits for a device."""

    def __init__(self, parameters: list[Any]) -> None:
        places = np.linspace(0, len(parameters) - 1, WATCHED).astype(int)
        self.parameters = [parameters[i] for i in sorted(set(places.tolist()))] if parameters else []
        self.changes = 0  #: times that the weights were not as a step had left them
        self.returns = 0  #: times that they were those of an earlier step instead
        self._places: dict[str, Any] = {}  #: of the last change and the last return
        self._open = False  #: the last step was looked at
        self._compared = False
        self._waiting: list[tuple[int, Any, Any]] = []
        self._states: deque[tuple[int, Any]] = deque([(0, self._now())], maxlen=REMEMBERED)

    def left(self, update: int) -> None:
        """This step was made."""
        self._open = True
        self._states.append((update, self._now()))

    def found(self) -> None:
        """The next step begins."""
        if not self._open:
            return
        self._open, self._compared = False, True
        self._waiting.append((*self._states[-1], self._now()))
        if len(self._waiting) > WAITING:
            self.read()

    def read(self) -> dict[str, Any]:
        """The input of the identity; empty before a comparison was made."""
        import torch

        waiting, self._waiting = self._waiting, []
        if waiting:
            left = torch.stack([then for _, then, _ in waiting]).cpu().numpy()
            found = torch.stack([now for _, _, now in waiting]).cpu().numpy()
            for i in np.flatnonzero((left != found).any(1) & ~np.isnan(left).any(1)):
                self._changed(waiting[i][0], left[i], found[i])
        counted = {"changes": float(self.changes), "returns": float(self.returns), "places": self._places}
        return counted if self._compared else {}

    def kept(self) -> list[float]:
        """The elements now."""
        return [float(value) for value in self._now().cpu()]

    def _changed(self, update: int, left: np.ndarray, found: np.ndarray) -> None:
        if shortened(found, left):
            return
        self.changes += 1
        self._places["changes"] = f"after update {update}"
        same = [u for u, state in self._states if u < update and np.array_equal(state.cpu().numpy(), found)]
        if same:
            self.returns += 1
            self._places["returns"] = f"after update {update} the weights are again those after update {same[-1]}"

    def _now(self) -> Any:
        import torch

        parts = [_few(p).float() for p in self.parameters]
        return torch.cat(parts) if parts else torch.zeros(0)


class Added:
    """What backward passes give to one weight's gradient between two steps of the optimizer, of which the first is measured."""

    def __init__(self, parameters: list[Any]) -> None:
        self._weight = next((p for p in reversed(parameters) if p.numel() >= ELEMENTS), None)
        self._kept: list[Any] = []  #: of the gradient: what the first step left, and what was given since
        self._hook: Any = None

    def left(self) -> None:
        """A step was made."""
        if self._hook is None and self._weight is not None and self._weight.grad is not None:
            self._kept = [_few(self._weight.grad).clone()]
            self._hook = self._weight.register_hook(lambda gradient: self._kept.append(_few(gradient).clone()))

    def found(self) -> dict[str, Any]:
        """The input of the identity at the next step; empty where nothing was added up."""
        if self._hook is None or self._weight is None:
            return {}
        self._hook.remove()
        (left, *given), held, self._hook = self._kept, self._weight.grad, None
        return {"kept": elements([left, sum(given), held])} if given and held is not None else {}


def watch(recorder: Measurements, model: Any, optimizer: Any) -> None:
    """Look at the weights round the optimizer's steps: of a loop's step all, and the first one of the next."""
    weights = Weights(model, optimizer)
    configured = float(optimizer.defaults["lr"])
    recorder.numbers |= recorder.measure(recorder.step, {"trainable": weights.trainable})
    still = {} if dropouts(model) else {"dropout": 0.0}  # nothing in a pass is random
    added = Added(weights.between.parameters)
    measured: list[Sampled] = []
    step: int | None = None
    open_ = False

    def note(given: Mapping[str, Any]) -> None:
        found = recorder.measure(recorder.step, given)
        recorder.numbers |= {name: max(value, recorder.numbers.get(name, value)) for name, value in found.items()}

    def before(*_: Any) -> None:
        nonlocal step, open_, measured
        with recorder.measuring(Price.GLANCE, recorder.step):
            weights.between.found()
        if recorder.step != step:
            step, open_ = recorder.step, recorder.due(recorder.step, Price.WORK)
            with recorder.measuring(Price.LOOK, recorder.step):
                between = weights.between.read() if recorder.due(recorder.step) else {}
                note({"rate": weights.rate, "configured_rate": configured} | between)
                recorder.numbers |= still
        if open_ or weights.pending:
            with recorder.measuring(Price.WORK, recorder.step):
                measured = weights.before()
        with recorder.measuring(Price.GLANCE, recorder.step):
            note(added.found())

    def after(*_: Any) -> None:
        nonlocal measured
        weights.stepped()
        if recorder.due(recorder.step, Price.GLANCE):
            with recorder.measuring(Price.GLANCE, recorder.step):
                weights.between.left(weights.updates)
        if measured:
            with recorder.measuring(Price.WORK, recorder.step):
                added.left()
                after = weights.after(measured, keep=open_)
                note({"parameters": after, "rate": weights.rate, "stages": stages(after)})
            measured = []

    optimizer.register_step_pre_hook(before)
    optimizer.register_step_post_hook(after)


def dropouts(model: Any) -> list[str]:
    """The names of the layers that drop something in training mode."""
    return [name for name, m in model.named_modules() if "Dropout" in type(m).__name__ and m.p > 0]


def elements(tensors: Iterable[Any]) -> list[np.ndarray]:
    """A few elements of each tensor, in one transfer."""
    import torch

    parts = [_few(tensor) for tensor in tensors]
    if not parts:
        return []
    flat = torch.cat([part.float() for part in parts]).cpu().numpy()
    return list(np.split(flat, np.cumsum([len(part) for part in parts])[:-1]))


def stages(sampled: Iterable[Sampled]) -> dict[str, bool]:
    """Weight -> whether it is finite after an update."""
    return {f"{p.name} after the update": finite(p.after) for p in sampled}


def finite(values: np.ndarray | None) -> bool:
    """Whether no number of a gradient is infinite or NaN."""
    return values is None or bool(np.isfinite(values).all())


def _few(tensor: Any) -> Any:
    values = tensor.detach()
    if hasattr(values, "to_local"):  # a sharded weight: the shard that lies here
        values = values.to_local()
    flat = values.reshape(-1)
    return flat[:: max(1, len(flat) // ELEMENTS)][:ELEMENTS]
