"""Samples of one prompt, or episodes of several workers, are copies.

Looks for: The share of distinct completions at the first steps, against the lowest share that is possible (one in each
group). A finding is a share of at most `max_ratio` times the lowest one, while the policy's entropy shows that several
answers are probable. Of dumped samples: in nearly all groups every completion is the same text.

The recorder proves it: pairs of a prompt's samples are equal more often than the policy's own probability of these texts says,
by more than `above` of the pairs; or by more than `small` of them on average and so many standard errors as `clear` says, where
single samples are as probable as the policy's entropy says.

For policies that act: the recorder compares the first steps of the environments that it wraps with each other. Without it:
rows of episodes with a column of the worker, or a monitor file for each environment. A finding is that all environments
have the same length and return in `alike` of the episodes that are not the most frequent one; or a logged spread across
workers that is 0 in the whole run.
Why: Samples of a policy with entropy differ. Where they do not, the engine does not sample: one seed for the whole
group, greedy decoding, or a cache that returns finished answers. Groups of copies have equal rewards, and give no
advantage to learn from. A batch of eight copies of one episode is a batch of one: the gradient is as noisy as with one
environment.
False alarm: A policy whose entropy is near 0 from the start, or prompts with one possible answer. An environment and a
policy without chance. What the recorder proves has no false alarm that is known: a policy that is sure of its text
expects equal samples.
Fix:
- text: Give each completion of a group its own seed, and check that all completions of a group are sampled, not copied.
- text: Check that the engine does not decode greedily ({temperature} 0), and that no prefix cache returns finished answers.
- control: Seed each environment, and the actions of each worker, with the seed plus its index.
Experiment: Sample one prompt 16 times from the engine, and count the distinct answers.
References: https://arxiv.org/abs/2402.03300
"""

import re
from itertools import islice

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, seen_in, warning
from firstbreak.engine.families import Policy
from firstbreak.knowledge.detectors._proof import on_average, proved, total
from firstbreak.model import Config, Finding, Message, NotMeasured, Role, Run, Samples, Series
from firstbreak.patterns import pattern
from firstbreak.values import replace

ROLES = (Role.RELATION, Role.PROOF)
PROVED = "{value:%} more of a prompt's samples are equal than the policy's probabilities say: sample each row by itself"
SAME_STEPS = (
    "{value:%} of the environments repeat another one: seed each environment, and its actions, with its own number"
)
MOST_SAMPLES = 20_000  #: samples that are looked through
MIN_GROUPS = 8
NEARLY_ALL = 0.9  #: of the groups (convention)
SEVERAL = 0.3  #: nats per token: four equal answers of a few tokens are then improbable (convention)
WORKER = pattern(r"(worker|env|actor|process|rank)(_?(id|idx|index|num))?", re.IGNORECASE)
ACROSS = pattern(r"std_?(across|between|over)_?(workers|envs|actors)", re.IGNORECASE)


def detect(
    config: Config,
    run: Run,
    diversity: dict[str, Series] | None = None,
    policy_entropy: Series | None = None,
    policy: Policy = Policy.CONTROL,
    proof_copies: Series | None = None,
    proof_sampling_z: Series | None = None,
    samples: Samples | None = None,
    *,
    max_ratio: float = at(1.15, "ratio", "of the lowest share that is possible"),
    min_entropy: float = at(0.1, "nats", "with less entropy one answer has nearly all of the probability"),
    min_group_size: int = at(4, "completions", "in smaller groups completions are equal by chance too often"),
    alike: float = at(0.9, "share", "of the episodes that are not the most frequent one: chance gives a few"),
    min_episodes: int = at(10, "episodes", "fewer agree by chance, where lengths are whole numbers"),
    above: float = at(0.6, "share", "A colder distribution gives up to half of the pairs; other checks see it."),
    small: float = at(0.1, "share", "Of the pairs: fewer copies cost little."),
    clear: float = at(6.0, "standard errors", "Six standard errors are one in a billion."),
    first_points: int = at(5, "points", "the first points show the sampler before the policy has changed"),
) -> Finding | NotMeasured | None:
    if proof_copies is not None and policy is not Policy.TEXT:
        return proved(proof_copies, config, SAME_STEPS, above=above)
    if proof_copies is not None:
        if found := proved(proof_copies, config, PROVED, above=above):
            return found
        if proof_sampling_z is None or not len(proof_sampling_z.finite) or total(proof_sampling_z).min() < -clear:
            return None
        return on_average(proof_copies, config, PROVED, above=small, clear=clear)
    if diversity is None and policy is not Policy.TEXT:
        return _episodes(run, alike, min_episodes)
    if (
        samples is not None
        and policy_entropy is not None
        and (dumped := _dumped(samples, policy_entropy, min_group_size))
    ):
        return dumped
    distinct = next((s.finite for s in (diversity or {}).values() if len(s.finite) >= first_points), None)
    group = config.number("group_size")
    if distinct is None or group is None or group < min_group_size:
        return NotMeasured("the share of distinct completions, or the size of a group, is not recorded")
    if policy_entropy is None or not len(policy_entropy.finite):
        return NotMeasured("the entropy of the policy is not logged")
    share = float(np.median(distinct.values[:first_points]))
    entropy = float(np.median(policy_entropy.finite.values[:first_points]))
    if share > max_ratio / group or entropy < min_entropy:
        return None
    return critical(
        "{share:%} of the completions are distinct in groups of {group}, although the policy has an entropy of {entropy}: "
        "the engine returns copies; sample one prompt 16 times, and count the distinct answers",
        seen_in(distinct, "distinct completions", level=1 / group),
        share=facts.median(distinct.head(first_points / len(distinct))),
        group=facts.setting(config, "group_size"),
        entropy=facts.median(policy_entropy.finite.head(first_points / len(policy_entropy.finite))),
        numbers={"share": share},
    )


def _dumped(samples: Samples, entropy: Series, min_group_size: int) -> Finding | None:
    """In nearly all groups of the dumped samples every completion is one text, and the entropy makes several probable."""
    groups: dict[tuple[float | None, str], list[str]] = {}
    for sample in islice(samples, MOST_SAMPLES):
        groups.setdefault((sample.step, sample.group or sample.prompt), []).append(sample.completion)
    whole = [texts for texts in groups.values() if len(texts) >= min_group_size]
    same = sum(len(set(texts)) == 1 for texts in whole)
    level = float(np.median(entropy.finite.values)) if len(entropy.finite) else 0.0
    if len(whole) < MIN_GROUPS or same < NEARLY_ALL * len(whole) or level < SEVERAL:
        return None
    return critical(
        "in {same} of {n} groups all completions are one text, although the policy has an entropy of {entropy}: the engine "
        "returns copies; sample one prompt 16 times, and count the distinct answers",
        seen_in(entropy.finite, "entropy of the policy"),
        same=f"{same}",
        n=f"{len(whole)}",
        entropy=facts.median(entropy.finite),
    )


def _episodes(run: Run, alike: float, min_episodes: int) -> Finding | NotMeasured | None:
    """All environments have the same episodes, one by one."""
    across = [s.finite for name, s in run.unknown.items() if ACROSS.search(name) and len(s.finite) >= min_episodes]
    found = _by_worker(run)
    if found is None and not across:
        return NotMeasured("no rows of episodes name their worker, and there are not several monitor files")
    if found is not None:
        curve, rows = found
        same = (rows == rows[:, :1]).all((1, 2))
        levels, counts = np.unique(rows[:, 0], axis=0, return_counts=True)
        other = (rows != levels[np.argmax(counts)]).any((1, 2))
        if other.sum() >= min_episodes and same[other].mean() >= alike:
            said = "in {same} of {n} episodes, all {workers} environments have the same length and return"
            return _copies(curve, facts.tell(said, same=f"{same.sum()}", n=f"{len(same)}", workers=f"{rows.shape[1]}"))
    if (flat := next((s for s in across if not s.values.any()), None)) is not None:
        said = "{name} is {level} in the whole run, so that all workers do the same"
        return _copies(flat, facts.tell(said, name=flat.name, level=facts.highest(flat)))
    return None


def _by_worker(run: Run) -> tuple[Series, np.ndarray] | None:
    """A curve of the episodes, and their lengths and returns (episode, worker, what); None where their workers are not known."""
    names = ("episode.length", "reward.episode", "reward.mean")
    curves = [s for name in names if (s := run.series.get(name)) is not None and len(s)]
    column = next((s for name, s in run.unknown.items() if WORKER.fullmatch(name.rpartition("/")[2])), None)
    files = [name for name in run.files if name.endswith("monitor.csv")]
    if column is None and len(files) > 1 and curves:  # episodes that are copies end together
        longest = max(curves, key=len)
        column = replace(longest, values=np.arange(len(longest)) % len(files))
    curves = [s for s in curves if column is not None and s.source == column.source]
    if column is None or not curves or not 1 < len(workers := np.unique(column.finite.values)) < len(column) / 2:
        return None
    # a curve without its repetitions has the value of the last point that was kept
    beside = [s.values[np.maximum(np.searchsorted(s.steps, column.steps, "right") - 1, 0)] for s in curves]
    own = [np.stack([values[column.values == worker] for values in beside], axis=1) for worker in workers]
    n = min(len(rows) for rows in own)
    return curves[0], np.stack([rows[:n] for rows in own], axis=1)


def _copies(curve: Series, said: Message) -> Finding:
    return warning(
        "{said}: they have one seed, and the batch holds one episode several times; add the index of the worker to the seed",
        seen_in(curve, "episodes"),
        said=said,
    )
