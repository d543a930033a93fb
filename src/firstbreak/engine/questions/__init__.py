"""What an experiment may ask of its arms. Each builder returns a function from the arms to an answer.

An answer is yes where the arms show it beyond chance, also in a run that has not ended; no where the arms have ended (or show
the opposite) and do not show it; and open where nothing could be measured. So "no" means "measured and not seen", as with a
detector that finds nothing, and P(yes | cause) says what a "no" is worth. A trial in which a change as large as the run's own
would probably not have shown is too short to tell: its answer is open, and names the number of points that would do.

`arms` holds the nouns, `ranks` the tests, `curves` what is asked of curves, `records` what is asked of everything else.
"""

# isort: skip_file
# fmt: off
from firstbreak.engine.questions.arms import (
    Answer, Arms, Asked, CONTROL, Question, TREATED, any_of, curve_of
)
from firstbreak.engine.questions.ranks import noise
from firstbreak.engine.questions.curves import (
    FEW_POINTS, MIN_POINTS, OfCurve, beats, collapses, ends_above, falls, jumps, moved, moves, outruns, rises, scores
)
from firstbreak.engine.questions.records import (
    TAKES_LONGER, both, breaks_again, drifts, grows, is_not_finite, is_off, is_set, lies_above, lies_apart,
    lies_apart_as_before, lies_below, never_clipped, rate_is, slows, spreads_as_the_original_moves, toy_rises, unless,
    was_unsteady, watched, weights_differ
)

__all__ = [  # noqa: RUF022
    "Answer", "Arms", "Asked", "CONTROL", "FEW_POINTS", "MIN_POINTS", "OfCurve", "Question", "TAKES_LONGER",
    "TREATED", "any_of", "beats", "both", "breaks_again", "collapses", "curve_of", "drifts", "ends_above", "falls",
    "grows", "is_not_finite", "is_off", "is_set", "jumps", "lies_above", "lies_apart", "lies_apart_as_before",
    "lies_below", "moved", "moves", "never_clipped", "noise", "outruns", "rate_is", "rises", "scores", "slows",
    "spreads_as_the_original_moves", "toy_rises", "unless", "was_unsteady", "watched", "weights_differ"
]
