"""How numbers and their units are written: one way everywhere, so that two reports can be compared by eye."""

import enum
import math
from collections.abc import Sequence


def number(value: float | None) -> str:
    """Four significant digits, all those before the point: 12, 1250000, 24338, 0.3125, 1.2e-05; "?" for no number."""
    if value is None or not math.isfinite(value):
        return "?"
    value += 0.0  # -0.0 is 0
    whole = value == round(value) or abs(value) >= 1000
    return f"{value:.0f}" if whole and abs(value) < 1e15 else f"{value:.4g}"


LONGEST_NAME = 80  #: characters


def quoted(name: str) -> str:
    """A name that a log chose, in a sentence of ours: one short line between backticks, so that it cannot pass for ours."""
    line = "".join(c if c.isprintable() else "?" for c in name).replace("`", "'")
    return f"`{line if len(line) <= LONGEST_NAME else line[: LONGEST_NAME - 3] + '...'}`"


_AXIS = {"env_steps": "environment step"}


def axis_word(axis: str) -> str:
    """What one unit of an axis is called, as a label: "step", "environment step", "iteration", ..."""
    return _AXIS.get(axis, axis)


def step_word(axis: str) -> str:
    """What it is called inside a sentence, below a heading that says which steps they are: "step", "iteration", ..."""
    return axis_word(axis).rpartition(" ")[2]


def link_word(link: enum.Enum) -> str:
    """What a link of the loop is called: "policy update"."""
    return str(link.value).replace("_", " ")


def moment(axis: str, onset: float | None, interval: tuple[float, float] | None, last: float | None = None) -> str:
    """'step 212 of 400 (between 205 and 220)'. The limits are rounded to whole steps where the step is whole."""
    word, of = step_word(axis), "" if last is None else f" of {number(last)}"
    if interval is None or interval[0] == interval[1]:
        at = onset if onset is not None or interval is None else interval[0]
        return "" if at is None else f"{word} {number(at)}{of}"
    start, end = interval
    if onset is not None and onset == round(onset):
        start, end = math.floor(start), math.ceil(end) if math.isfinite(end) else end
    within = f"between {number(start)} and {number(end)}" if math.isfinite(end) else f"not before {number(start)}"
    return f"{word} {within}" if onset is None else f"{word} {number(onset)}{of} ({within})"


def joined(words: Sequence[str]) -> str:
    """Words in a sentence: "a", "a and b", "a, b and c"; nothing for none."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))


def first_few(words: Sequence[str], most: int, between: str = ", ") -> str:
    """The first `most` words, and how many there are besides: "a, b and 3 more"."""
    return between.join(words[:most]) + (f" and {len(words) - most} more" if len(words) > most else "")


def lowered(title: str) -> str:
    """A title inside a sentence: 'the updates are too large', 'KL is ...'."""
    return title if title[:2].isupper() else title[:1].lower() + title[1:]


def shortened(name: str, most: int) -> str:
    """A name of at most `most` characters: the middle is left out, since names differ at both ends."""
    if len(name) <= most:
        return name
    end = (most - 3) // 2
    return f"{name[: most - 3 - end]}...{name[len(name) - end :]}"


def percent(share: float) -> str:
    """0.347 as "35 %", 0.0042 as "0.4 %", 0.9998 as "99.9 %": what is not all is never said to be all."""
    if 0.99 < share < 1:
        return f"{math.floor(1000 * share) / 10:.1f} %"
    return f"{100 * share:.1f} %" if 0 < abs(share) < 0.01 else f"{100 * share:.0f} %"
