"""For which runs a cause is possible, beyond their family: each function is what the `applies` of a row may name."""

import re
from itertools import islice

from firstbreak.engine.common_settings import dropout_of
from firstbreak.engine.families import DECOUPLED, Method, Policy
from firstbreak.engine.inputs import Inputs, answer_parts
from firstbreak.engine.refutations import stored_right_at_first
from firstbreak.knowledge.detectors.rollout.results_made_up import RESULT
from firstbreak.patterns import pattern

SEEN = 50  #: samples that are looked through

#: trainers of one process, whose rollouts are sampled from the very network that is updated
ONE_COPY = frozenset(
    {
        *("baselines", "cleanrl", "dopamine", "ppo_pytorch", "pufferlib", "rl_games", "rlkit", "rsl_rl", "sb3", "skrl"),
        *("spinningup", "td3", "tianshou"),
    }
)
OF_A_MODEL = pattern(r"(^|[^a-z])(rm|prm|orm)([^a-z]|$)|reward.?model|preference", re.IGNORECASE)


def recorded_inside(inputs: Inputs) -> bool:
    """Where a recorder measured identities inside the trainer: some causes can be told by these alone."""
    return inputs.recorded("proof.")


def recorded_inside_or_pairs(inputs: Inputs) -> bool:
    """As `recorded_inside`, or where the rewards of pairs are logged, which are distances from the reference."""
    return recorded_inside(inputs) or inputs.recorded("pref.reward.")


def advantages_are_measured(inputs: Inputs) -> bool:
    """Where the recorder computes advantages again, or their spread stands beside that of the values."""
    return recorded_inside(inputs) or {"advantage.std", "value.std"} <= inputs.run.series.keys()


def recorded_inside_or_with_dropout(inputs: Inputs) -> bool:
    """As `recorded_inside`, or where the configuration switches dropout on."""
    return recorded_inside(inputs) or bool(dropout_of(inputs.run))


def tunes_a_temperature(inputs: Inputs) -> bool:
    """Soft actor-critics, which keep the entropy near a target."""
    return inputs.recorded("alpha")


def evaluated(inputs: Inputs) -> bool:
    """Where something is evaluated."""
    return inputs.eval_score is not None


def calls_tools(inputs: Inputs) -> bool:
    """Agents that call tools."""
    return inputs.recorded("tool.")


def tools_answer(inputs: Inputs) -> bool:
    """Agents whose dumped texts hold results of tools."""
    return any(RESULT.search(sample.completion) for sample in islice(inputs.run.samples or (), SEEN))


def data_from_elsewhere(inputs: Inputs) -> bool:
    """Policies that write text, and any whose data comes from elsewhere: a loop that collects its own rollout has no age."""
    run = inputs.run
    planned = run.config.number("max_staleness") is not None or (run.algorithm or "").lower() in DECOUPLED
    return inputs.policy is Policy.TEXT or planned or inputs.recorded("staleness", "behave", "rollout_train")


def weights_are_delivered(inputs: Inputs) -> bool:
    """Where workers or an engine have a copy of the weights."""
    return inputs.run.trainer not in ONE_COPY


def first_batch_was_right(inputs: Inputs) -> bool:
    """Where the recorder saw that the first batch was the learner's own, and later ones were not."""
    return stored_right_at_first(inputs) is not None


def learned_from_pairs(inputs: Inputs) -> bool:
    """Preference optimisation, and rewards of texts that a model has learned from pairs, as far as names tell."""
    if inputs.method is Method.PREFERENCE:
        return True
    return not answer_parts(inputs.reward_component_mean) and _has_a_reward_model(inputs)


def _has_a_reward_model(inputs: Inputs) -> bool:
    run = inputs.run
    logged = (*(inputs.reward_component_mean or {}), *(name for name in run.series if name.startswith("rm.")))
    recorded = (name for name, value in run.config.raw.items() if value)
    return any(OF_A_MODEL.search(name) for name in logged) or any(OF_A_MODEL.search(str(name)) for name in recorded)


def reward_is_an_opinion(inputs: Inputs) -> bool:
    """Where something independent of the reward can turn, or the reward itself is a model's opinion of a text."""
    return inputs.policy is Policy.TEXT or "reward.mean" in inputs.run.series
