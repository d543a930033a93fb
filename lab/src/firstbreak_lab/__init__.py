"""Real training runs with a known answer: small trainers with one injected fault each, and healthy runs to compare with.

    lab.catalogue()                                       every fault and healthy variant, by name
    lab.run("reward-sign-flipped", seed=0, out=folder)    one real run, and a label that says what is wrong with it

Nothing here imports torch before a run begins. Running needs the extra `trainers`.
"""

from contextlib import suppress

from firstbreak_lab.catalogue import Variant, catalogue
from firstbreak_lab.running import Label, read_label, run

__all__ = ["Label", "Variant", "catalogue", "read_label", "run"]

#: module -> the module that changes it in a trial of `firstbreak experiment`, and the function there
TRIAL_HOOKS = {
    "firstbreak_lab.language.trainer": ("firstbreak_lab.trial_hooks", "language"),
    "firstbreak_lab.preference.reward_model": ("firstbreak_lab.trial_hooks", "preference"),
}
with suppress(ImportError):  # only in the process of a trial are the hooks on the path
    from firstbreak_hooks import CHANGES

    CHANGES.update(TRIAL_HOOKS)
