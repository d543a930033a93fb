"""The answers of the pairs are swapped, or both are the same.

Looks for: The share of pairs whose chosen answer has the higher implicit reward, over the last quarter of the run. A
finding is a share clearly below one half, with a margin that is negative and has fallen. Held-out pairs are checked
first, because training on swapped labels drives the training accuracy up and the held-out accuracy down; three held-out
accuracies are enough where the number of pairs shows that each lies certainly below. Or such a share beside a margin
that is positive all along: then many margins are exactly 0, and both answers of such a pair are the same tokens.

And, in a data file beside the run, ratings of both answers (`rating_chosen` and `rating_rejected`, `chosen_score` and
`rejected_score`): the chosen answer must have the higher one in half of the pairs or more (upper bound, Wilson, 95 %). Or the
answers themselves, as JSON lines: in more than `refused` of the pairs (lower bound) the chosen one refuses, and the rejected one
is a short answer.

Or, on held-out data, a score that falls while the margin grows and the chosen answers become more probable: what the pairs teach
is not right.
Why: A coin reaches one half. To get below one half, training has to work, but against the labels: chosen and rejected
are swapped in the data or in the collator, or the sign of the loss is wrong. Where held-out pairs are swapped as well,
every curve looks fine, and only what the pairs hold shows it.
False alarm: The first points: an accuracy of 0 before the first update is a tie, not a preference. Methods without a
reference model (ORPO, CPO, SimPO) begin with the answers that the model finds more probable, and those may be the
rejected ones. For these methods the accuracy has to fall. Held-out pairs from another labeller who wants the opposite
(shorter answers, more refusals). Ratings of which a lower one is better. A score of something else than the pairs are
about. Data that teaches nothing but when not to answer.
Fix:
- Print ten pairs as the collator delivers them, and check which answer is called chosen.
- Check the mapping of the data set's columns, and whether another step swaps the columns again.
- Check the sign of {kl_coef}.
Experiment: Swap chosen and rejected for a tenth of the run: if the held-out accuracy now rises above one half, the
labels were swapped.
References: https://arxiv.org/abs/2305.18290 https://huggingface.co/docs/trl/dpo_trainer
"""

import re

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, graded, seen_as, seen_in, warning
from firstbreak.engine.families import Method, only
from firstbreak.engine.stats.granularity import problems
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.engine.stats.points import late_median
from firstbreak.engine.stats.proportion import wilson
from firstbreak.engine.stats.trend import trend
from firstbreak.model import (
    Confidence,
    Evidence,
    Finding,
    Message,
    NotApplicable,
    NotMeasured,
    Role,
    Run,
    Series,
    Severity,
)

ROLES = (Role.RELATION,)
RATED = re.compile(
    r"(?:rating|score|quality|gold_reward)s?[_.-]chosen|chosen[_.-](?:\w+_)?(?:rating|score|quality)s?", re.I
)
FEW = 3  #: evaluations, each of which is certain
FAMILIES = only(Method.PREFERENCE, why="no pairs of a chosen and a rejected answer")


def detect(
    pref_reward_accuracy: Series | None = None,
    pref_reward_margin: Series | None = None,
    eval_pref_reward_accuracy: Series | None = None,
    eval_pref_reward_margin: Series | None = None,
    eval_pref_logp_chosen: Series | None = None,
    eval_score: Series | None = None,
    pref_refusal_for_answer: Series | None = None,
    reference_free: bool = False,
    run: Run | None = None,
    *,
    accuracy_warning: float = at(0.45, "share", "a coin reaches one half, few pairs a little less"),
    accuracy_critical: float = at(0.35, "share", "so far below one half the policy has learned the rejected answers"),
    min_drop: float = at(0.15, "share", "without a reference, it may begin anywhere"),
    min_points: int = at(8, "points", "with fewer accuracies no level is known"),
    refused: float = at(0.7, "share", "data that also teaches not to answer holds answers too"),
    min_pairs: int = at(12, "pairs", "with fewer ratings that differ, the share has a wide interval"),
) -> Finding | NotApplicable | NotMeasured | None:
    if run is not None and (rated := _rated_against(run, min_pairs)) is not None:
        return rated
    if run is not None and pref_refusal_for_answer is not None:
        refusals = pref_refusal_for_answer.finite
        if len(refusals) >= min_pairs and wilson(int((refusals.values == 1).sum()), len(refusals))[0] > refused:
            return _refusals(run, refusals)
    if eval_score is not None and eval_pref_reward_margin is not None and eval_pref_logp_chosen is not None:
        learned = trend(eval_pref_reward_margin.finite).rising and trend(eval_pref_logp_chosen.finite).rising
        if learned and not eval_score.name.startswith("eval.pref.") and trend(eval_score.finite).falling:
            return _teach_wrong(eval_score.finite)
    pairs = ((eval_pref_reward_accuracy, eval_pref_reward_margin), (pref_reward_accuracy, pref_reward_margin))
    long_enough = [(a, m) for a, m in pairs if a is not None and _enough(a.finite, accuracy_critical, min_points)]
    if not long_enough:
        return NotMeasured(f"fewer than {min_points} accuracies are logged")
    tied = next((a for a, m in long_enough if m is not None and _tied(a, m)), None)
    if tied is not None:
        return _same_twice(tied)
    wrong = [(a, m) for a, m in long_enough if late_median(a) < accuracy_warning and (m is None or _against(m))]
    if reference_free:
        wrong = [(a, m) for a, m in wrong if late_median(a) < float(np.median(a.finite.head(0.25).values)) - min_drop]
    if not wrong:
        return None
    accuracy, margin = wrong[0]
    onset = first_sustained(accuracy, lambda values: values < 0.5)
    sure = late_median(accuracy) < accuracy_critical and margin is not None
    return graded(
        Severity.CRITICAL if sure else Severity.WARNING,
        "{name} is {late:%} in the last quarter, where a coin reaches 50 %{fell}: the policy learns to prefer the rejected "
        "answers; print ten pairs, and check which answer is called chosen",
        seen_as(
            accuracy.name,
            onset,
            drawn=(
                Evidence(text="share of pairs in the right order", series=accuracy, since=onset, level=0.5),
                *(
                    [Evidence(text="margin: chosen minus rejected", series=margin, level=0.0)]
                    if margin is not None
                    else []
                ),
            ),
        ),
        name=accuracy.name,
        late=facts.median(accuracy.finite.tail(0.25)),
        fell=facts.tell(", and the margin fell to {margin}", margin=facts.median(margin.finite.tail(0.25)))
        if margin is not None
        else "",
        confidence=Confidence.HIGH if sure else Confidence.MEDIUM,
        numbers={"accuracy": late_median(accuracy)},
    )


def _enough(accuracy: Series, certain: float, min_points: int) -> bool:
    """Whether so many accuracies tell a level: a few do where each is a share of so many pairs that it is certainly low."""
    if len(accuracy) >= min_points:
        return True
    pairs = problems(accuracy.values)
    worst = float(np.max(accuracy.values, initial=0.0))
    return len(accuracy) >= FEW and pairs is not None and wilson(round(worst * pairs), pairs)[1] < certain


def _rated_against(run: Run, min_pairs: int) -> Finding | None:
    """The finding that the rejected answers of a data file have the higher ratings."""
    for name, chosen in run.unknown.items():
        rejected = run.unknown.get(name.replace("chosen", "rejected"))
        if not RATED.fullmatch(name) or rejected is None or not np.array_equal(chosen.steps, rejected.steps):
            continue
        apart = chosen.values - rejected.values
        right, all_ = int((apart > 0).sum()), int((apart != 0).sum())
        if all_ >= min_pairs and wilson(right, all_)[1] < 0.5:
            told = facts.tell(
                "in {right} of {all} pairs of {source} the chosen answer has the higher {name}: chosen and rejected are "
                "swapped; read ten pairs, and check the mapping of the columns",
                right=str(right),
                all=str(all_),
                source=chosen.source,
                name=name,
            )
            return _in_data(run, told, f"{name}, pair by pair", chosen, right / all_)
    return None


def _refusals(run: Run, wrong: Series) -> Finding:
    told = facts.tell(
        "in {share:%} of the pairs of {source} the chosen answer refuses, and the rejected one answers: they seem to be "
        "swapped; read ten pairs, and check the mapping of the columns",
        share=facts.mean(wrong),
        source=wrong.source,
    )
    return _in_data(run, told, "refusals that are preferred, pair by pair", wrong, 1 - float(np.mean(wrong.values)))


def _in_data(run: Run, message: Message, text: str, pairs: Series, share: float) -> Finding:
    """The finding in a data file beside the run, which holds since its first step."""
    first = run.first_step
    return critical(message, seen_as(onset=first, drawn={text: pairs}), numbers={"share": share})


def _teach_wrong(score: Series) -> Finding:
    return warning(
        "{name} fell to {late} while the chosen answers of held-out pairs became more probable: the chosen answers are not "
        "the right ones; read ten pairs",
        seen_in(score, "score on held-out data"),
        name=score.name,
        late=facts.median(score.tail(0.5)),
    )


def _tied(accuracy: Series, margin: Series) -> bool:
    """Certainly less than half of the chosen answers have the higher reward, and the mean margin is positive all along: many
    margins are 0."""
    late, margins = accuracy.finite.tail(0.5).values, margin.finite.values
    highest = np.mean(late) + 2 * np.std(late) / len(late) ** 0.5 if len(late) else 1.0
    return bool(len(margins) and highest < 0.5 and np.min(margins) > 0)


def _same_twice(accuracy: Series) -> Finding:
    return warning(
        "{name} is {late:%} beside a margin above 0: in many pairs both answers have the same reward, as after a cut at "
        "a length limit that leaves no difference; print ten pairs as the collator delivers them",
        seen_in(accuracy.finite, "share of pairs in the right order", level=0.5),
        name=accuracy.name,
        late=facts.median(accuracy.finite.tail(0.25)),
    )


def _against(margin: Series) -> bool:
    """Negative, and below where it began."""
    points = margin.finite
    return len(points) > 0 and late_median(points) < min(0.0, float(np.median(points.head(0.25).values)))
