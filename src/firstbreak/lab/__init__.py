"""Real training runs with a known answer: small trainers, faults planted one at a time, and their healthy twins.

    lab.catalogue()                                       every fault and healthy variant, by name
    lab.run("reward-sign-flipped", seed=0, out=folder)    one real run, and a label that tells the truth about it

Nothing here imports torch before a run begins; running needs the extra `trainers`.
"""

from firstbreak.lab.plants import Plant, catalogue
from firstbreak.lab.running import Label, read_label, run

__all__ = ["Label", "Plant", "catalogue", "read_label", "run"]
