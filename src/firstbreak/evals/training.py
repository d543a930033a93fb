"""The evaluations inside a training run, and the protocol that the configuration of the run describes."""

from firstbreak.engine.inputs import Inputs
from firstbreak.evals.importers import made
from firstbreak.evals.protocol import Protocol
from firstbreak.model import Run
from firstbreak.readers import Unreadable

FIRST = 1  #: an evaluation at this step or before it scores the model before training
#: settings of generation that a training configuration holds under the same names
SETTINGS = ("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "max_new_tokens", "max_total_tokens", "max_turns",
            "env_id", "n_envs", "precision")  # fmt: skip


def protocol_of(run: Run) -> Protocol:
    """The protocol of the run's own evaluation, from the run's configuration.

    An evaluation inside a training run uses the rollout workflow. It uses the settings of the rollout where it has no
    settings of its own. Options that the run left at the trainer's defaults are unknown, and are left out.
    """
    config = run.config
    known = {n: config.values[n] for n in SETTINGS if config.get(n) is not None and n not in config.defaulted}
    if config.get("eval_temperature") is not None:
        known["temperature"] = config.get("eval_temperature")
    score = Inputs(run).eval_score
    fields = {
        "dataset": config.get("dataset"),
        "metric": score.name if score is not None else None,
        "harness": f"training workflow of {run.trainer}" if run.trainer else "training workflow",
        **known,
    }
    return made(run.path, fields, "lock a protocol of your own with `firstbreak eval lock`")


def before_training(run: Run) -> tuple[str, float]:
    """(metric, score) before training. Raises Unreadable where the run was not evaluated before its first step."""
    score = Inputs(run).eval_score
    if score is None or not len(score):
        raise Unreadable(run.path, "has no evaluation", "evaluate before the first step, with the training workflow")
    if score.steps[0] > FIRST:
        raise Unreadable(
            run.path,
            f"was first evaluated at step {score.steps[0]:g}, after training had begun",
            "evaluate once before the first step (TRL: eval_on_start), or give the result of the base model",
        )
    return score.name, float(score.values[0])
