"""The loss falls where a token of a good completion becomes more probable, and where one of a bad one becomes less so."""

from collections.abc import Mapping

import numpy as np

from firstbreak.live.recorder.identities._rows import row
from firstbreak.live.recorder.identities._rows import sampled as sampled_in
from firstbreak.live.recorder.measuring import Reading

TURNED = 0.5  #: of the gradient's weight: a penalty on the divergence pulls single tokens the other way
NOTHING = 0.01  #: advantages of groups whose rewards are all equal: rounding, divided by a spread of 0
CLEAR = 1e-3  #: of the largest advantage: smaller ones need no gradient
OUTSIDE = 1e-3  #: of the gradient's weight
MIN_TOKENS = 8  #: of either sign
UNCLIPPED = 0.05  #: nats from the stored log-probability: no usual clip range is as narrow
NEARLY_ALL = 0.95  #: of the tokens of the other sign


def measure(
    gradient: np.ndarray,
    advantages: np.ndarray,
    lengths: np.ndarray | None = None,
    exempt: np.ndarray | None = None,
    fresh: bool = False,
    logps: np.ndarray | None = None,
    old_logps: np.ndarray | None = None,
    mask: np.ndarray | None = None,
    tool_mask: np.ndarray | None = None,
) -> Mapping[str, Reading]:
    """`gradient` (n, T) is that of the loss by the log-probability of each token; any positive factor is right.

    With both log-probabilities, tokens whose ratio is not 1 may lack a gradient: they are clipped.
    """
    wanted = advantages.reshape(len(gradient), -1)
    if not np.isfinite(gradient).all():
        return {}
    if float(np.abs(wanted).max()) < NOTHING:
        wanted = np.zeros_like(wanted)
    weight = np.abs(gradient) * (np.abs(wanted) > CLEAR * max(float(np.abs(wanted).max()), 1e-12))
    found: dict[str, Reading] = {}
    if weight.sum() > 0:
        wrong = weight * (np.sign(gradient) == np.sign(wanted))
        share, i = float(wrong.sum() / weight.sum()), int(np.argmax(wrong.sum(1)))
        said = row(i, None, f": advantage {wanted[i].ravel()[0]:.4g}, and the loss rises with its log-probability")
        found["gradient_turned"] = (share, said) if share > TURNED else share
    if lengths is not None and np.abs(gradient).sum() > 0:
        used = gradient != 0 if mask is None or mask.shape != gradient.shape else mask != 0
        sampled, known = sampled_in(lengths, used, tool_mask)
        sampled = sampled if known else used
        outside = np.abs(gradient) * ~sampled
        if exempt is not None:
            outside = outside * (exempt == 0).reshape(-1, 1)
        share = float(outside.sum() / np.abs(gradient).sum())
        i, t = map(int, np.unravel_index(int(np.argmax(outside)), outside.shape))
        said = f"row {i}: token {t}, after the end of {sampled[i].sum()} tokens or in the prompt, has a gradient"
        found["gradient_outside"] = (share, said) if share > OUTSIDE else share
        if fresh and weight.sum() > 0:
            inside = sampled & (np.abs(wanted) > CLEAR * np.abs(wanted).max())
            if logps is not None and old_logps is not None and logps.shape == gradient.shape == old_logps.shape:
                inside &= np.abs(logps - old_logps) < UNCLIPPED
            none = inside & (gradient == 0)
            share = float(none.sum() / max(inside.sum(), 1))
            i, t = map(int, np.unravel_index(int(np.argmax(none)), none.shape))
            said = f"row {i}: token {t} of {sampled[i].sum()} was sampled and has no gradient"
            found["gradient_missing"] = (share, said) if share > OUTSIDE else share
            found |= _one_sided(gradient, np.broadcast_to(wanted, gradient.shape), sampled)
    return found


def _one_sided(gradient: np.ndarray, wanted: np.ndarray, sampled: np.ndarray) -> dict[str, Reading]:
    """gradient_one_sided: whether all tokens of one sign of the advantage have no gradient, and those of the other have one."""
    clear = sampled & (np.abs(wanted) > CLEAR * np.abs(wanted).max())
    good, bad = clear & (wanted > 0), clear & (wanted < 0)
    if min(good.sum(), bad.sum()) < MIN_TOKENS:
        return {}
    for none, others, name in ((good, bad, "above"), (bad, good, "below")):
        if not gradient[none].any() and (gradient[others] != 0).mean() > NEARLY_ALL:
            said = f"none of the {int(none.sum())} tokens with an advantage {name} 0 has a gradient"
            return {"gradient_one_sided": (1.0, f"{said}, and those of the other sign have one")}
    return {"gradient_one_sided": 0.0}
