"""Prompts are cut at the limit: the policy answers questions that it cannot read.

Looks for: The share of prompts that reach the prompt limit, on average over the second half of the run. Where it is not
logged: the tokens of a step are samples x (prompt + completion). If they are a whole number of samples, the same in
every step, times ({max_prompt_tokens} + the mean length), then every prompt has as many tokens as the limit allows.
Or the longest prompt of every step is as long as a limit at which, as the configuration says, longer ones are cut. For pairs:
a loss of ln 2 for each pair that is not told apart, and hardly more, beside a margin that has grown: these pairs are equal texts.
Why: A cut prompt has lost its question or its chat template. The reward still judges the answer to the whole prompt. At
best these rows are noise in the training signal, at worst the policy learns to guess.
False alarm: Every prompt of the task has the same length and the limit is exactly that. Some trainers count a prompt
that just fits as cut.
Fix:
- Raise {max_prompt_tokens} above the longest prompt of the data set.
- Or drop the prompts that do not fit, before training, instead of cutting them.
Experiment: Count the tokens of every prompt once, without training, and compare the largest count with
{max_prompt_tokens}. Then decode the first and last 50 tokens of three prompts that are longer.
References: https://verl.readthedocs.io/en/latest/examples/config.html https://huggingface.co/docs/trl/grpo_trainer
"""

import numpy as np

from firstbreak.engine import facts
from firstbreak.engine.checks import at, critical, graded, seen_in, seen_since, warning
from firstbreak.engine.families import Policy, only
from firstbreak.engine.stats.onset import first_sustained
from firstbreak.model import Confidence, Config, Expected, Finding, NotApplicable, NotMeasured, Role, Series, Severity
from firstbreak.patterns import pattern
from firstbreak.words import number, percent

ROLES = (Role.RELATION,)
_LIMIT = pattern(r"(?:.*[._])?max_(?:prompt_|input_|source_|seq_)?(?:length|len|tokens)")
CUTS = ("left", "right", "middle")  #: what verl is told to do with longer prompts, in place of an error
LEAST_EQUAL = 0.1  #: of the pairs: fewer may be labelled wrongly by people (convention)
FAMILIES = only(Policy.TEXT, why="only for policies that write text")


def detect(
    length_prompt_clipped_ratio: Series | None = None,
    length_prompt_min: Series | None = None,
    length_prompt_max: Series | None = None,
    tokens_total: Series | None = None,
    length_mean: Series | None = None,
    config: Config | None = None,
    rm_accuracy: Series | None = None,
    rm_margin: Series | None = None,
    pref_reward_accuracy: Series | None = None,
    pref_reward_margin: Series | None = None,
    loss_total: Series | None = None,
    *,
    share_warning: float = at(0.05, "share", "a few long prompts in a data set of short ones do little harm"),
    share_critical: float = at(0.5, "share", "most of the prompts"),
    above_equal: float = at(
        1.2, "ratio", "pairs in the wrong order cost more than ln 2 each, and right ones something"
    ),
    rounding: float = at(2e-4, "share", "of the tokens of a step: one token less a prompt makes ten times as much"),
    min_steps: int = at(10, "points", "with fewer steps the number of samples may be the same by chance"),
    min_points_sure: int = at(4, "points", "with fewer values in the second half of the run the confidence is medium"),
) -> Finding | Expected | NotApplicable | NotMeasured | None:
    pairs = (rm_accuracy, rm_margin) if rm_accuracy is not None else (pref_reward_accuracy, pref_reward_margin)
    equal = _equal_pairs(*pairs, loss_total, above_equal, min_steps)
    if equal is not None:
        return equal
    if length_prompt_clipped_ratio is None or not len(length_prompt_clipped_ratio.finite):
        if config is not None and (cut := _always_at_limit(config, length_prompt_max, length_prompt_min, min_steps)):
            return cut
        limit = None if config is None else config.recorded("max_prompt_tokens")
        if limit is None or tokens_total is None or length_mean is None:
            return NotMeasured("the share of prompts that are cut is not logged")
        return _all_at_limit(tokens_total.finite, length_mean.finite, limit, rounding, min_steps)
    late = length_prompt_clipped_ratio.finite.tail(0.5)
    share = float(np.mean(late.values))
    if share < share_warning:
        return None
    length = _only_length(length_prompt_min, length_prompt_max)
    given = {key.rpartition(".")[2]: value for key, value in config.raw.items()} if config is not None else {}
    if length and given.get("truncation") not in CUTS:
        return Expected(f"every prompt has {number(length)} tokens, and the limit is the same number: no prompt is cut")
    onset = first_sustained(length_prompt_clipped_ratio, lambda values: values >= share_warning)
    return graded(
        Severity.CRITICAL if share >= share_critical and not length else Severity.WARNING,
        "{share:%} of the prompts are {what} the limit: the policy {sees} the whole question; raise the prompt "
        "limit, or drop the prompts that do not fit",
        seen_since(length_prompt_clipped_ratio, f"{percent(share)} cut", onset, level=share_warning),
        share=facts.mean(late),
        what="exactly as long as" if length else "cut at",
        sees="may not see" if length else "does not see",
        confidence=Confidence.HIGH if len(late) >= min_points_sure else Confidence.MEDIUM,
        numbers={"share": share},
    )


def _equal_pairs(
    share_right: Series | None, margins: Series | None, total: Series | None, above: float, least: int
) -> Finding | None:
    """Pairs that are not told apart cost ln 2 each, as two equal texts do, while the others are far apart."""
    if share_right is None or margins is None or total is None:
        return None
    accuracy, margin, loss = share_right.finite, margins.finite, total.finite
    if len(accuracy) < least or not (np.array_equal(accuracy.steps, loss.steps) and len(margin.tail(0.5))):
        return None
    late, missed = loss.tail(0.5), 1.0 - accuracy.tail(0.5).values
    share = float(missed.mean())
    if (
        share < LEAST_EQUAL
        or float(margin.tail(0.5).values.mean()) < 1
        or late.values.mean() > above * share * np.log(2)
    ):
        return None
    first = float(accuracy.steps[0])
    return warning(
        "{share} of the pairs are not told apart, and the loss ({loss}) is ln 2 for each of these and next to nothing for "
        "the others: they are equal texts after the tokeniser, cut at the limit; compare the tokens of twenty pairs, and "
        "raise the limit or cut at the other end",
        seen_in(accuracy, "accuracy on pairs", first, (first, first), beside={"loss": loss, "margin": margin}),
        share=percent(share),
        loss=facts.mean(late),
        numbers={"share": share},
    )


def _always_at_limit(config: Config, longest: Series | None, shortest: Series | None, least: int) -> Finding | None:
    """The longest prompt of every step is as long as a limit at which longer ones are cut."""
    if (
        longest is None
        or len(points := longest.finite) < least
        or np.ptp(points.values)
        or _only_length(shortest, longest)
    ):
        return None
    limits = [key for key, value in config.raw.items() if _LIMIT.fullmatch(key) and value == points.values[0]]
    cuts = any("truncation" in key and value in CUTS for key, value in config.raw.items())
    if not limits or not cuts:
        return None
    first = float(points.steps[0])
    return warning(
        "the longest prompt of each of the {n} steps has {length} tokens, which is {option}: longer ones are cut, and the "
        "policy does not see the whole question; raise it, and read three prompts of that length",
        seen_in(longest, "longest prompt", first, (first, first), level=float(points.values[0])),
        n=facts.count(points),
        length=facts.last(points),
        option=limits[0],
    )


def _all_at_limit(
    total: Series, length: Series, limit: float, rounding: float, least: int
) -> Finding | NotMeasured | None:
    """The finding that the tokens of the steps leave each prompt exactly as many as the limit."""
    if not np.array_equal(total.steps, length.steps) or len(total) <= least:
        return NotMeasured("tokens and lengths are not logged at the same steps")
    samples = np.diff(total.values) / (limit + length.values[1:])
    number_of = max(round(float(np.median(samples))), 1)
    if float(np.quantile(np.abs(samples / number_of - 1), 0.9)) > rounding:
        return None
    first = float(total.steps[0])
    return critical(
        "the tokens of every step are {n} x ({limit} + the mean length): every prompt is as long as the limit, "
        "so prompts are cut; raise the prompt limit, and read the first words of three prompts",
        seen_in(total, "tokens", first, (first, first)),
        n=str(number_of),
        limit=number(limit),
        numbers={"share": 1.0},
    )


def _only_length(shortest: Series | None, longest: Series | None) -> float | None:
    """The length of all prompts, where they have only one."""
    if shortest is None or longest is None or not (len(shortest.finite) and len(longest.finite)):
        return None
    low, high = float(np.min(shortest.finite.values)), float(np.max(longest.finite.values))
    return low if low == high else None
