"""A trainable parameter is the optimizer's, has a gradient, changes in every update, and is changed by nothing else."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from firstbreak.live.recorder.measuring import Reading
from firstbreak.values import dataclass

CRITIC = re.compile(r"^v\.|(^|[._])(critic|value_?head|v_head|vf|value_fn|value)([._]|$)", re.IGNORECASE)
ATTENTION = re.compile(r"att|query|lora_", re.IGNORECASE)  #: such a layer has a value of its own
SHORT = 12  #: bits of a number: more than 16-bit floats keep, half as many as 32-bit floats


@dataclass(frozen=True, eq=False)
class Sampled:
    """A few elements of one parameter round an update."""

    name: str
    size: int  #: elements of the whole parameter
    trainable: bool
    owned: bool  #: by the optimizer
    gradient: np.ndarray | None  #: shape (k,), None where there is none
    before: np.ndarray  #: shape (k,), before the update
    after: np.ndarray
    last: np.ndarray | None = None  #: after the update before this one
    decay: float = 0.0  #: the optimizer's weight decay, where it acts beside Adam's step


def measure(parameters: Sequence[Sampled], rate: float) -> Mapping[str, Reading]:
    """Shares of the weights. `rate`: the largest learning rate of the optimizer's groups.

    untrained: trainable, and without a gradient or not in the optimizer; frozen: of an adapter, and not trainable; rounded: with
    a gradient that is not 0, and unchanged by the update; overwritten: changed between two updates; shortened: of these, those
    that have lost the last bits of their numbers and nothing else; critic_idle: of the critic's, where the optimizer holds most
    other weights: neither in it nor changed by anything else; decaying: of the sum of the weights' sizes, that of weights
    above 1 / decay, which shrink in each step, as Adam's step is about the learning rate at most.
    """
    trainable = [p for p in parameters if p.trainable]
    adapter = [p for p in parameters if "lora_" in p.name]
    found: dict[str, Reading] = {}
    if trainable:
        idle = [p for p in trainable if not p.owned or p.gradient is None]
        found["untrained"] = _share(
            idle, trainable, "is trainable, and the optimizer does not hold it or has no gradient"
        )
    critic = [p for p in trainable if CRITIC.search(p.name) and not ATTENTION.search(p.name) and p.last is not None]
    others = [p for p in trainable if p not in critic]
    if critic and sum(p.size for p in others if p.owned) > 0.5 * sum(p.size for p in others):
        idle = [p for p in critic if not p.owned and np.array_equal(p.before, np.asarray(p.last))]
        found["critic_idle"] = _share(idle, critic, "is the critic's, and the optimizer does not hold it")
    if adapter:
        found["frozen"] = _share([p for p in adapter if not p.trainable], adapter, "is an adapter's and is frozen")
    moving = [p for p in trainable if p.owned and p.gradient is not None and rate > 0]
    tried = sum(int((p.gradient != 0).sum()) for p in moving if p.gradient is not None)
    if tried:
        still = [(p, int(((p.gradient != 0) & (p.before == p.after)).sum())) for p in moving if p.gradient is not None]
        share = sum(n for _, n in still) / tried
        worst = max(still, key=lambda pair: pair[1])[0]
        found["rounded"] = (share, f"{worst.name} did not change in an update") if share > 0.5 else share
    decayed = [p for p in moving if p.decay > 0]
    if decayed:
        found["decaying"] = _decaying(decayed)
    known = [p for p in trainable if p.last is not None and p.owned]
    if known:
        written = [p for p in known if not np.array_equal(p.before, np.asarray(p.last), equal_nan=True)]
        short = [p for p in written if p.last is not None and shortened(p.before, p.last)]
        found["overwritten"] = _share(
            [p for p in written if p not in short], known, "was changed after the optimizer's step, by something else"
        )
        found["shortened"] = _share(short, known, "has lost bits after the optimizer's step")
    return found


def _decaying(parameters: Sequence[Sampled]) -> Reading:
    sizes = [p.size * np.abs(p.before) / max(len(p.before), 1) for p in parameters]
    every = sum(float(s.sum()) for s in sizes)
    pulled = [float(s[np.abs(p.before) * p.decay > 1].sum()) for p, s in zip(parameters, sizes, strict=True)]
    if not every or not np.isfinite(every):
        return 0.0
    share, most = sum(pulled) / every, parameters[int(np.argmax(pulled))]
    said = f"{most.name} has a weight decay of {most.decay:g}: above {1 / most.decay:.3g} it takes more than a step of Adam gives"
    return (share, said) if share > 0.1 else share


def shortened(now: np.ndarray, last: np.ndarray) -> bool:
    """Whether the numbers are those after the step, rounded to fewer bits."""
    here = last != 0
    if not here.any() or not np.isfinite(now).all():
        return False
    mantissa = np.frexp(now[here].astype(np.float32))[0] * 2.0**SHORT
    return bool((mantissa == np.round(mantissa)).all() and (np.abs(now - last) <= 2.0**-1 * np.abs(last)).all())


def _share(some: Sequence[Sampled], every: Sequence[Sampled], said: str) -> Reading:
    share = sum(p.size for p in some) / sum(p.size for p in every)
    return (share, f"{some[0].name} {said}") if some else 0.0
