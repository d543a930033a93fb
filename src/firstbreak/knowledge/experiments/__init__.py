"""An experiment is a row of catalogue.toml; _table.py says what the keys mean.

One of a third party is a module that it names under the entry-point group `firstbreak.experiments`: the file name is the id, the
docstring is its page, and the rest is data.

OVERRIDES: dict[str, Any]        canonical option or intervention -> what it becomes (see overrides.py)
QUESTIONS: tuple[Question, ...]  what is asked of the arms, with P(yes | cause)
LENGTH: float                    share of the original run's steps (default 0.1)
SEEDS: int                       least seeds of each arm (default 1)
CONTROL: dict[str, Any]          the overrides of a second arm of the same length (default: no such arm)
THEN: dict[str, tuple[str, ...]] "yes" or "no" to the first question -> experiments that come next
DO: dict[str, str]               "yes" or "no" to the first question -> what the verdict says to do first
CODE: dict[str, str]             trainer -> code for the user's script, where the trainer has no option for it
FAMILIES: Families               for which runs it makes sense (see families.py; default: all)

An option whose name ends in "?" changes only where the trainer has it. A question may hold for fewer families than its
experiment does (`families` of Question).

`measured.json` here holds how often each question was answered with yes in the lab's training split, per cause:
experiment -> question -> cause -> [yes, runs]. `python -m benchmarks.experiments learn` writes it.
"""
