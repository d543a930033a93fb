"""What a comparison says, in sentences: one source for the terminal, the HTML file and the page."""

from collections.abc import Sequence
from typing import Any

from firstbreak.compare.arms import Arm
from firstbreak.compare.judge import Judgement
from firstbreak.compare.statistics import Estimate
from firstbreak.words import joined, number

NOT_RECORDED = "not recorded"
NO_CURVE = "No curve differs: no signal that both sides record stays outside its noise."
NO_SCORE = "The sides record no common score on the same task, so it is unknown which side is better."
SINGLE = "With one run on a side, two seeds of the same setting can differ like this."
INFERRED = "No run records its configuration; this was read off the names, the first lines of the logs and the curves."
ONE_SIDE = "Only seed and task differ: these are runs of one setting."


def no_difference(compared: Sequence[Arm]) -> str:
    """What is said where no setting differs. Only what every run records is called the same."""
    members = [member for arm in compared for member in arm.members]
    recorded = {
        "configuration": all(member.settings for member in members),
        "code": all(m.context and (m.context.code.commit or m.context.code.digest) for m in members),
        "data": all(member.task for member in members),
        "seeds": all(member.seed is not None for member in members),
    }
    if not any(member.settings for member in members):
        return "No run records its configuration, so it is unknown what differs."
    same = [part for part, is_recorded in recorded.items() if is_recorded and part != "seeds"]
    unknown = [part for part, is_recorded in recorded.items() if not is_recorded]
    alike = f": {joined(same)} {'is' if same in (['configuration'], ['code']) else 'are'} the same" if same else ""
    return f"No recorded setting differs{alike}." + (f" Not recorded by all: {joined(unknown)}." if unknown else "")


def is_inferred(compared: Sequence[Arm]) -> bool:
    """Whether no run records its configuration."""
    return not any(member.settings for arm in compared for member in arm.members)


def seeds(arm: Arm) -> list[str]:
    """The seeds of a side, in the order of its runs."""
    return list(dict.fromkeys(str(member.seed) for member in arm.members if member.seed is not None))


def cell(value: Any) -> str:
    """A setting of one side."""
    return NOT_RECORDED if value is None else number(value) if isinstance(value, float) else str(value)


def estimate(value: Estimate, sign: bool = False) -> tuple[str, str]:
    """A number, and its interval or why there is none."""
    shown = f"{'+' if sign and value.value > 0 else ''}{number(value.value)}"
    if value.interval is None:
        return shown, "no interval from single runs"
    return shown, f"{number(value.interval[0])}, {number(value.interval[1])}"


def verdict(right: Arm, judgement: Judgement | None) -> str:
    """Whether the difference is real, or what would show it."""
    if judgement is None:
        return NO_SCORE
    few = min(judgement.runs)
    if judgement.real is None:
        return (
            f"{few} run{'' if few == 1 else 's'} on each side cannot show whether the setting or the seed causes the difference. "
            "Train at least two more seeds of each."
        )
    if judgement.real:
        better = "better" if judgement.difference.value > 0 else "worse"
        return f"The difference is real: {right.name} is {better}, by more than seeds explain."
    few_seeds = f"{few} seeds are not enough to decide."
    if judgement.needed is None:
        return f"{few_seeds} A possible difference is so small that showing it would take more than 10,000 runs."
    return (
        f"{few_seeds} If the difference is as large as observed, about {judgement.needed} runs on each side would show it "
        f"(normal theory, 80 % power). {few} runs show a difference of {number(judgement.visible)} or more."
    )
