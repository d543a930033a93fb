"""What the debugging guides say of a curve, as runs: does firstbreak say it, and is it silent on the healthy look-alike?

statement.py      what a statement is, and the declaration of one
worlds.py         healthy runs with the noise of real ones, which a generator changes
trainers.py       the names and files of each trainer
quantiles.py      how noisy real healthy runs are, written to noise.json
guides/*.py       the generators, one function for each statement, with the guide's words above it
suite.py          the grid, and what counts as right
"""
