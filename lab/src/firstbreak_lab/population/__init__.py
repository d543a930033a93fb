"""The population: runs of real trainers, each drawn from one seed: family, task, settings, logger, fault, severity, onset.

family.py           what a trainer family is: the protocol of a file in families/
faults.py           the faults that several families share, by name
draw.py             draws the run of a seed, trains it and its healthy twin, and labels it
build.py            makes many seeds, and stores them in packs
families/<name>.py  one trainer family each

Add a family: write families/<name>.py (`trl-grpo` is families/trl_grpo.py) with NAME, FAULTS, CANNOT, `draw` and `train`, and
put its name into FAMILIES in draw.py if it is not there. A family whose libraries are not installed is left out.
"""
