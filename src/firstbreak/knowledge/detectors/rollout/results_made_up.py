"""The policy writes the results of its tools itself.

Looks for: In dumped samples, the results of tools in a text (`<information>`, `<tool_response>`, `<result>`, ...) against its
calls: the number that the dump counts, else the tags that end one. A finding is more results than calls in `min_share` of
the samples.
Why: Generation is not stopped at the end of a call, so the policy goes on and makes up a result and an answer before the
tool has answered. It is then rewarded, and trained, on what no tool has said.
False alarm: Prompts that show examples of results inside of what is dumped as the completion.
Fix:
- Stop generation at the end of a call: `stop=["</search>"]` and the like, with the stop string kept in the text.
- Check that the stop string is a token boundary of this tokenizer.
Experiment: Generate one turn, and print what stands behind the end of the call.
References: https://arxiv.org/abs/2503.09516 https://github.com/THUDM/slime/pull/2036
"""

import re
from itertools import islice

from firstbreak.engine.checks import at, seen_as, warning
from firstbreak.engine.families import Policy, only
from firstbreak.model import Finding, NotMeasured, Role, Sample, Samples, Series
from firstbreak.patterns import pattern
from firstbreak.words import percent

ROLES = (Role.RELATION,)
FAMILIES = only(Policy.TEXT, why="only where texts call tools")
MOST_SAMPLES = 4000
RESULT = pattern(r"<(?:information|result|tool_response|tool_output|observation|output|interpreter|documents)>")
CALL = pattern(r"</(?:search|tool_call|code|python|tool|query|function_call|call)>")
COUNTED = pattern(r"(?:num|n)_?(?:search(?:es)?|(?:tool_?)?calls)|(?:tool|search)_?calls", re.IGNORECASE)


def detect(
    samples: Samples,
    score: Series | None = None,
    *,
    min_share: float = at(0.5, "share", "Single texts quote a result."),
    min_samples: int = at(5, "samples", "Fewer can be examples."),
) -> Finding | NotMeasured | None:
    calling = [(results, calls) for results, calls in map(_counts, islice(samples, MOST_SAMPLES)) if calls]
    if len(calling) < min_samples or not any(results for results, _ in calling):
        return NotMeasured("no samples with calls of tools and their results between tags")
    share = sum(results > calls for results, calls in calling) / len(calling)
    if share < min_share:
        return None
    results, calls = next(pair for pair in calling if pair[0] > pair[1])
    return warning(
        f"{percent(share)} of the texts hold more results of tools than calls (one has {results} for {calls}): the policy makes "
        "up results; stop generation at the end of a call",
        seen_as("samples", float(score.steps[0]) if score is not None and len(score) else None),
    )


def _counts(sample: Sample) -> tuple[int, int]:
    """Results of tools in a text, and calls: as the dump counts them, else as their tags say."""
    told = next((v for k, v in sample.meta.items() if COUNTED.fullmatch(k) and isinstance(v, int)), None)
    return len(RESULT.findall(sample.completion)), len(CALL.findall(sample.completion)) if told is None else told
