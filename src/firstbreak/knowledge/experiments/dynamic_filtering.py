"""Train only on groups with different rewards

## What is done
A prompt whose completions all get the same reward is replaced by another prompt (DAPO's dynamic sampling). The control
arm keeps the original settings.

## What it tells
If the score is better now, zero-variance groups had reduced the training signal. If most groups still have zero variance,
almost no prompt has completions with different rewards: change the data or the sampling.

## When it misleads
Each update needs several rollouts. A small gain at the same number of updates is no gain in the same time.

## References
https://arxiv.org/abs/2503.14476
https://github.com/areal-project/AReaL (best practices: diagnosing performance)
"""

from firstbreak.engine.families import UNKNOWN, Method, only
from firstbreak.engine.questions import lies_above
from firstbreak.knowledge.experiments._asked import ask, better_score

FAMILIES = only(Method.GROUP_RELATIVE, UNKNOWN)  # only groups of completions per prompt
OVERRIDES = {"dynamic_sampling": True, "eval_interval?": 1}
CONTROL = {"eval_interval?": 1}
LENGTH = 0.25
CODE = {
    "areal": """\
def should_accept_fn(trajectory):  # keep a prompt only if its answers got different rewards
    rewards = trajectory["rewards"]
    return bool(rewards.max() > rewards.min())

batch = actor.prepare_batch(train_dataloader, workflow=workflow, should_accept_fn=should_accept_fn)
"""
}
QUESTIONS = (
    better_score(
        "groups-carry-no-signal 0.7, sampling-too-cold 0.8, prompts-too-hard 0.2, healthy 0.15, otherwise 0.08"
    ),
    ask(
        "do most groups still have zero variance although such groups are replaced?",
        lies_above("reward_zero_std_frac", 0.5),
        "prompts-too-hard 0.9, samples-without-variety 0.8, answers-misaligned answers-beside-other-prompts 0.5, "
        "healthy 0.02, otherwise 0.05",
    ),
)
