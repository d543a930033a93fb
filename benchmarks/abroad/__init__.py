"""The lab's test runs as a stranger would bring them, and what is said of them then: `python -m benchmarks.abroad`.

At home a diagnosis has everything that the lab records. A stranger's run has the curves that a public trainer logs by
default, no configuration, no samples, a length and a cadence of its own, and a trainer that no weight was counted in.

    default_curves.py  what each public trainer logs by default, and which trainer a run of the lab is shown as
    stranger.py        draws a length, a cadence and lost curves, and makes the run that a stranger would bring
    visible.py         whether a fault can be seen in such a run at all
    answers.py         what is said of each run, in steps from abroad to home; kept in a file, so that it can be resumed
    figures.py         the figures and the tables
"""
