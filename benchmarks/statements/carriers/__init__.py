"""What the guides ask to look at in samples, before training, in recorders and systems: one input on which firstbreak must
speak, and one healthy look-alike on which it must be silent, for each.

carrier.py      the declaration of a pair, and what counts as spoken and silent
texts.py        prose, worked answers, refusals, and episodes with tools, as models write them
dumps.py        the files in which trainers keep samples
samples.py, agents.py, environments.py, preflight.py, systems.py, recorders.py, runs.py
                the generators, written from the guides' words alone; one function makes both inputs of a pair
strangers*.py   inputs of another author, written before any detector or other input was read
"""
