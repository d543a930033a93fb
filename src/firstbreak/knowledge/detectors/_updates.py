"""How often a batch is used, as far as the run itself says so."""

from firstbreak.model import Config

PARTS = {"minibatches": ("batch_size", "minibatch_size"), "epochs_per_batch": ()}  #: and what each is worked out of


def recorded_updates(config: Config) -> float | None:
    """Optimizer steps on one batch; None where a trainer's default decides whether there are several.

    A product of a recorded and a default factor counts where the recorded one alone says that there are several.
    """
    updates = config.number("updates_per_batch")
    if updates is None or "updates_per_batch" in config.defaulted:
        return None
    factors = {name: config.number(name) for name in PARTS}
    guessed = {name for name in factors if config.defaulted & {name, *PARTS[name]}}
    if any((number or 1) > 1 for name, number in factors.items() if name not in guessed):
        return updates
    return None if guessed & {name for name, number in factors.items() if number is not None} else updates
