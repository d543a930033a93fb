"""What a comparison says, in sentences: one source for the terminal, the HTML file and the page."""

from collections.abc import Sequence
from typing import Any

from firstbreak.compare.arms import Arm, ArmDifference, differences
from firstbreak.compare.first_difference import common
from firstbreak.compare.judge import Judgement, best, middle, other_task, unlike
from firstbreak.compare.statistics import Estimate
from firstbreak.reports.text import count
from firstbreak.values import replace
from firstbreak.words import joined, number

NOT_RECORDED = "not recorded"
FINAL = "mean of the last tenth"
INFERRED = "No run records its configuration; this was read off the names, the first lines of the logs and the curves."
FEW = 3  #: settings that only one side records and that are shown one by one
MOST_SCORES = 6  #: runs of a side whose scores are listed
ONE_SIDE = "Only seed and task differ: these are runs of one setting."
MOST_REASONS = 4  #: of why scores are not compared


def no_difference(compared: Sequence[Arm]) -> str:
    """What is said where no setting differs. Only what every run records is called the same."""
    members = [member for arm in compared for member in arm.members]
    if len(compared) == 1 and all(member.settings and member.seed is not None for member in members):
        return ONE_SIDE
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


def no_curve(left: Arm, right: Arm) -> str:
    """What is said where no curve differs, or none can be compared."""
    if other_task(left, right):
        return "The sides are trained on different tasks, so no curve is compared."
    if any(common([left, right])):
        return "No curve differs: no signal that both sides record stays outside its noise."
    return "The sides record no signal over the same kind of steps, so no curve is compared."


def single(left: Arm, right: Arm) -> str:
    """What curves of single runs cannot tell, where the sides have the same task and algorithm."""
    other = any(d.name in ("task", "algo") for d in differences([left, right]))
    alone = min(len(left.members), len(right.members)) == 1
    return "With one run on a side, two seeds of the same setting can differ like this." if alone and not other else ""


def parted(compared: Sequence[Arm]) -> tuple[list[ArmDifference], dict[str, list[ArmDifference]]]:
    """What differs; settings that only one side records, where they are more than a few, by what is said of them."""
    found = sorted(differences(compared), key=lambda d: None in d.values)  # what all sides record comes first
    only = dict[str, list[ArmDifference]]()
    for i, arm in enumerate(compared):
        alone = [d for d in found if [v is not None for v in d.values] == [j == i for j in range(len(compared))]]
        if len(alone) > FEW:
            only[f"Only recorded in {arm.name}: {len(alone)} settings"] = [
                replace(d, values=(d.values[i],)) for d in alone
            ]
            found = [d for d in found if d not in alone]
    return found, only


def finals(arm: Arm) -> str:
    """The final scores of the runs of a side; of many their interquartile mean and how far apart they are."""
    known = [member.final for member in arm.members if member.final is not None]
    if len(arm.members) > MOST_SCORES and known:
        return f"{number(middle(arm))} ({number(min(known))} to {number(max(known))})"
    return "  ".join(number(member.final) for member in arm.members)


def best_of(compared: Sequence[Arm]) -> str:
    """Which of several sides is best, and whether it is known to be better than the next; empty for two sides."""
    if (found := best(compared)) is None:
        return ""
    first, second, judged = found
    sure = ", by more than seeds explain" if judged.real else "; the runs cannot show that it is better"
    return f"Best: {first.name}, {number(judged.difference.value)} above the next ({second.name}){sure}."


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
        return shown, "no interval from fewer than 3 runs"
    return shown, f"{number(value.interval[0])}, {number(value.interval[1])}"


def verdicts(first: Arm, others: Sequence[tuple[Arm, Judgement | None]]) -> list[str]:
    """What is said of each other side, once. Sides that are not compared share one sentence with their reasons."""
    why = list(dict.fromkeys(filter(None, (unlike(first, other) for other, judged in others if judged is None))))
    if len(why) < 2:
        return list(dict.fromkeys(verdict(first, other, judged) for other, judged in others))
    more = f"; and {len(why) - MOST_REASONS} more" if len(why) > MOST_REASONS else ""
    compared = [(other, judged) for other, judged in others if judged is not None or not unlike(first, other)]
    return [f"{_UNCOMPARED}: {'; '.join(why[:MOST_REASONS])}{more}.", *verdicts(first, compared)]


_UNCOMPARED = "The scores are not compared, so it is unknown which side is better"


def verdict(left: Arm, right: Arm, judgement: Judgement | None) -> str:
    """Whether the difference is real, or what would show it."""
    if judgement is None:
        why = unlike(left, right)
        said = f"The scores are not compared: {why}" if why else "The sides record no common score on the same task"
        return f"{said}, so it is unknown which side is better."
    few = min(judgement.runs)
    if judgement.real is None:
        one, other = judgement.runs
        runs = f"{count(one, 'run')} on each side" if one == other else f"{count(one, 'run')} against {other}"
        return f"{runs} cannot show whether the setting or the seed causes the difference. Train at least two more seeds of each."
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
